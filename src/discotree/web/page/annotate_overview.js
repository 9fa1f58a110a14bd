// How far the annotation is, and how the scores of models changed.

import { request } from "./backend.js";
import { $, FORMATS, attempt, draw, make, percent, save, setUpTheme } from "./common.js";

const SECONDS_WHILE_PARSING = 4;
const SECONDS = 20;
const SUFFIXES = { tigerxml: "tiger.xml", alpino: "alpino.xml", folia: "folia.xml", discbracket: "dbr", penn: "mrg", json: "jsonl" };
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 220, 40, 90, 15, 40];

const number = (value) => value.toLocaleString("en");

/** Draw a line for each metric over the models, in the order in which they were scored. */
function makeChart(scores) {
  const metrics = [["f1", "first", "F1"], ["discontinuous_f1", "second", "disc. F1"]];
  const values = scores.flatMap((one) => metrics.map(([key]) => one[key])).filter((value) => value !== null);
  const low = Math.max(0, Math.floor(Math.min(...values) / 5) * 5 - 5);
  const high = Math.min(100, Math.ceil(Math.max(...values) / 5) * 5);
  const x = (k) => LEFT + (WIDTH - LEFT - RIGHT) * (k / (scores.length - 1));
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / Math.max(high - low, 1));
  const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": "Scores of the models one after the other; the table has the numbers" });
  for (const value of [low, (low + high) / 2, high]) {
    svg.append(draw("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
      draw("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, percent(value, 0)));
  }
  for (const [k, { finished }] of scores.entries()) {
    svg.append(draw("text", { x: x(k), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, number(finished)));
  }
  svg.append(draw("text", { x: LEFT, y: HEIGHT - 4 }, "sentences annotated when the model was scored"));
  for (const [key, kind, label] of metrics) {
    const points = scores.map((one, k) => [x(k), one[key]]).filter(([, value]) => value !== null);
    if (!points.length) continue;
    svg.append(draw("polyline", { class: kind, points: points.map(([at, value]) => `${at},${y(value)}`).join(" ") }));
    for (const [at, value] of points) svg.append(draw("circle", { class: kind, cx: at, cy: y(value), r: 3.5 }));
    svg.append(draw("text", { class: kind, x: points.at(-1)[0] + 8, y: y(points.at(-1)[1]) + 4 }, label));
  }
  return svg;
}

function showScores(all) {
  const gold = all.at(-1)?.gold; // scores on other trees cannot be compared
  const scores = all.filter((one) => one.gold === gold);
  const isFirst = $("scores").hidden;
  $("scores").hidden = !scores.length;
  if (!scores.length) return;
  if (isFirst) $("scores").open = scores.length > 1;
  const first = scores[0];
  const change = (one, key) => (one === first || one[key] === null || first[key] === null ? "" : ` (${one[key] >= first[key] ? "+" : "−"}${Math.abs(one[key] - first[key]).toFixed(1)})`);
  const cell = (one, key) => make("td", {}, `${percent(one[key])}${change(one, key)}`);
  $("scores-chart").replaceChildren(...(scores.length > 1 && scores.some(({ f1 }) => f1 !== null) ? [makeChart(scores)] : []));
  $("scores-table").replaceChildren(make("table", { className: "numbers" },
    make("thead", {}, make("tr", {}, ...["Model", "Annotated", "F1", "Disc. F1", "Exact", "Tags"].map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...scores.map((one) => make("tr", {}, make("th", { scope: "row" }, one.model), make("td", {}, number(one.finished)),
      ...["f1", "discontinuous_f1", "exact", "tags"].map((key) => cell(one, key)))))),
  make("p", { className: "hint" }, `${number(first.sentences)} sentences of ${first.held_out}; changes are against the first model.`));
}

function show(project) {
  const { counts, sentences } = project;
  const finished = counts.accepted + counts.corrected + counts.adjudicated;
  $("title").textContent = project.title;
  document.title = `${finished} of ${sentences} – ${project.title} – discotree`;
  const parts = [`${number(finished)} of ${number(sentences)} finished`, `${number(counts.corrected)} corrected`];
  if (counts.adjudicated) parts.push(`${number(counts.adjudicated)} adjudicated`);
  if (counts.skipped) parts.push(`${number(counts.skipped)} skipped`);
  if (counts.failed) parts.push(`${number(counts.failed)} unreadable`);
  if (project.is_parsing) parts.push("still parsing");
  parts.push(`model ${project.model}`);
  $("progress-text").textContent = parts.join(" · ");
  $("progress").max = sentences || 1;
  $("progress").value = finished;
  $("adjudicate").textContent = `Adjudicate (${number(counts.differing)})`;
  $("adjudicate").hidden = !counts.differing && $("adjudicate").ariaPressed !== "true";
  $("overview-problem").textContent = project.problems.join("\n");
  showScores(project.scores);
}

/** Set up the overview; `onLatest` gets every new one. Returns functions to refresh it, and to follow the parser. */
export function setUpOverview(onLatest) {
  let latest = null;
  const refresh = async () => {
    latest = await (await request("api/annotate")).json();
    onLatest(latest);
    show(latest);
  };
  setUpTheme();
  $("download-format").append(...FORMATS.map((value) => make("option", { value }, value)));
  $("download").addEventListener("click", () => attempt($("problem"), $("download"), async () => {
    const format = $("download-format").value;
    const text = await (await request("api/annotate/trees", { format })).text();
    save(`annotated.${SUFFIXES[format] ?? format}`, "text/plain", text);
  }));

  function follow(onParsed, onIdle) {
    setTimeout(async () => {
      const before = latest?.sentences;
      try {
        await refresh();
        if (latest.sentences !== before) await onParsed();
        await onIdle();
      } catch {
        // the next step tells what is wrong
      }
      follow(onParsed, onIdle);
    }, 1000 * (latest?.is_parsing ? SECONDS_WHILE_PARSING : SECONDS));
  }
  return { refresh, follow };
}
