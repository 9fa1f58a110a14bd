// The tab that evaluates one treebank against another.

import { request } from "./backend.js";
import { $, attempt, count, make, markCurrent, parseSvg, percent, showList, toUpload } from "./common.js";
import { makeZoom } from "./tree_zoom.js";

const METRICS = [
  ["Precision", "precision"],
  ["Recall", "recall"],
  ["F1", "f1"],
  ["Exact match", "exact_match"],
  ["Tags", "pos_accuracy"],
  ["Functions", "function_accuracy"],
  ["Lemmas", "lemma_accuracy"],
];
const PER_TOKEN = new Set(["pos_accuracy", "function_accuracy", "lemma_accuracy"]);
const OPTIONAL = "lemma_accuracy"; // most treebanks have no lemmas
let selected = null;

async function compare() {
  await attempt($("compare-problem"), document.querySelector("#compare-form .primary"), async () => {
    for (const id of ["metrics", "compare-list", "compare-tree"]) $(id).replaceChildren();
    $("compare-status").textContent = "Comparing …";
    try {
      const [gold, predicted] = await Promise.all(["gold", "predicted"].map((side) =>
        toUpload($(`${side}-file`).files[0], $(`${side}-format`).value)));
      const params = $("params").value;
      const score = await (await request("api/evaluate", { gold, predicted, params })).json();
      const [goldTrees, predictedTrees] = await Promise.all([gold, predicted].map(async (file) =>
        (await (await request("api/treebank", file)).json()).rows));
      render(score, goldTrees, predictedTrees);
    } catch (error) {
      $("compare-status").textContent = "";
      throw error;
    }
  });
}

function render(score, gold, predicted) {
  const errors = (row) => row.gold + row.predicted - 2 * row.matched;
  const rows = score.sentences.toSorted((a, b) => errors(b) - errors(a));
  const differing = rows.filter((row) => errors(row)).length;
  $("compare-status").textContent = `${count(rows.length, "sentence")}, ${differing.toLocaleString("en")} with differences; most errors first.`;
  $("metrics").replaceChildren(make("div", { className: "panel" }, table(score)));
  showList($("compare-list"), rows, (row) => {
    const pair = [gold[row.gold_tree], predicted[row.predicted_tree]];
    const button = make("button", { type: "button", onclick: () => {
      markCurrent($("compare-list"), button);
      attempt($("compare-problem"), null, () => show(row, ...pair));
    } },
    make("span", { className: "text" }, words(pair[0])),
    make("small", {}, make("b", {}, row.id), make("span", {}, `${row.matched} of ${row.gold} matched, ${row.predicted - row.matched} spurious`)));
    return button;
  });
}

function table(score) {
  const head = make("tr", {}, ...["Metric (%)", "All", "Discontinuous"].map((name) => make("th", { scope: "col" }, name)));
  const measured = METRICS.filter(([, key]) => key !== OPTIONAL || score.all[key] !== null);
  const rows = measured.map(([name, key]) => make("tr", {}, make("th", { scope: "row" }, name),
    make("td", {}, percent(score.all[key], 2)),
    make("td", {}, PER_TOKEN.has(key) ? "" : percent(score.discontinuous[key], 2))));
  const brackets = make("tr", {}, make("th", { scope: "row" }, "Constituents (gold, predicted, matched)"),
    ...["all", "discontinuous"].map((set) => make("td", {}, ["gold", "predicted", "matched"].map((key) => score[set][key].toLocaleString("en")).join(", "))));
  return make("table", { className: "numbers" }, make("thead", {}, head), make("tbody", {}, ...rows, brackets));
}

const words = (record) => record.tokens.map((token) => token.form).join(" ");

async function show(row, gold, predicted) {
  selected = row;
  $("compare-tree").replaceChildren();
  const svg = parseSvg(await (await request("api/draw", { tree: gold, against: predicted, style: false })).text());
  if (row !== selected) return;
  const picture = make("div", { className: "picture" }, svg);
  const figure = make("figure", {}, picture);
  figure.append(make("figcaption", { className: "actions" }, makeZoom(figure, picture).element));
  $("compare-tree").replaceChildren(make("article", { className: "panel sentence" },
    make("h2", {}, make("small", {}, row.id), " ", words(gold)), figure));
}

export function setUp() {
  $("compare-form").addEventListener("submit", (event) => {
    event.preventDefault();
    compare();
  });
}
