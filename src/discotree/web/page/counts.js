// Counts of a search: all hits, and a chart of those by a feature. The server counts in steps, the page adds up.

import { request } from "./backend.js";
import { $, attempt, count, draw as drawElement, make, save } from "./common.js";
import { shownName } from "./variables.js";

const FEATURES = ["label", "word", "lemma", "pos", "morph", "cat", "edge", "text", "gaps", "words"];
const MAX_BARS = 30;

let search = null; // body, is_current
let charts = 0;
let table = null; // the chart's rows, for its download

export function clear() {
  search = null;
  charts += 1;
  $("search-chart").replaceChildren();
  $("chart-save").hidden = true;
  $("search-download-status").textContent = "";
}

/** Count all hits of a search that has begun with a page of them. */
export async function start(body, page, is_current) {
  search = { body, is_current };
  showKeys(page.variables);
  if (!page.hits.length && !page.next) {
    $("search-status").textContent = [`No hits in ${count(page.size, "tree")}`, ...page.explanation].join("; ");
    return;
  }
  if (!page.next) {
    showTotal({ matches: page.hits.length, trees: new Set(page.hits.map(({ number }) => number)).size, searched: page.size, size: page.size });
    return;
  }
  await attempt($("search-problem"), null, () => addUp({ ...body, group_by: [] }, is_current, showTotal));
}

function showTotal(total) {
  $("search-status").textContent = describeTotal(total);
}

/** Return the number of hits in words. */
export function describeTotal({ matches, trees, searched, size }) {
  const found = `${count(matches, "hit")} in ${trees.toLocaleString("en")} of ${count(size, "tree")}`;
  return searched < size ? `${found}; counting, ${Math.floor((100 * searched) / size)} % done …` : found;
}

/** Ask for counts until the treebank ends; show them at every step. */
export async function addUp(body, isCurrent, show) {
  const total = { matches: 0, trees: 0, others: 0, groups: new Map() };
  for (let cursor = { start: 1 }; cursor;) {
    const part = await (await request("api/search/counts", { ...body, start: cursor.start })).json();
    if (!isCurrent()) return;
    for (const name of ["matches", "trees", "others"]) total[name] += part[name];
    for (const { values, matches } of part.groups) total.groups.set(values[0], (total.groups.get(values[0]) ?? 0) + matches);
    show({ ...total, searched: part.searched, size: part.size });
    cursor = part.next;
  }
}

function showKeys(variables) {
  const chosen = $("chart-variable").value;
  $("chart-variable").replaceChildren(...variables.map((name) => make("option", { value: name }, shownName(name))));
  if (variables.includes(chosen)) $("chart-variable").value = chosen;
  $("chart-form").hidden = !variables.length;
}

async function chart() {
  if (!search) return;
  const { body, is_current: isCurrentSearch } = search;
  const mine = (charts += 1);
  const key = `${$("chart-variable").value}.${$("chart-feature").value}`;
  await attempt($("search-problem"), document.querySelector("#chart-form button"), () =>
    addUp({ ...body, group_by: [key] }, () => mine === charts && isCurrentSearch(), (total) => draw(key, total)));
}

/** Draw bars: a table whose numbers say what its bars show. */
function draw(key, { groups, others, matches, searched, size }) {
  const rows = [...groups].toSorted(([a, m], [b, n]) => n - m || a.localeCompare(b, "en", { numeric: true }));
  const most = rows[0]?.[1] ?? 1;
  const shown = rows.slice(0, MAX_BARS);
  const rest = rows.slice(MAX_BARS).reduce((sum, [, number]) => sum + number, 0) + others;
  table = { key, rows };
  const bodyRows = shown.map(([value, number]) => make("tr", {},
    make("th", { scope: "row" }, value || "(none)"),
    make("td", {}, number.toLocaleString("en")),
    make("td", {}, `${((100 * number) / matches).toFixed(1)} %`),
    make("td", { className: "bar-cell" }, bar(number / most))));
  if (rest) {
    bodyRows.push(make("tr", {}, make("th", { scope: "row" }, `${(rows.length - shown.length).toLocaleString("en")} others`),
      make("td", {}, rest.toLocaleString("en")), make("td", {}, `${((100 * rest) / matches).toFixed(1)} %`), make("td", {})));
  }
  const partly = searched < size ? `, ${Math.floor((100 * searched) / size)} % of the trees so far` : "";
  $("search-chart").replaceChildren(make("table", { className: "chart" },
    make("caption", {}, `Hits by ${key}${partly}`),
    make("thead", {}, make("tr", {}, ...[key, "Hits", "Share"].map((name) => make("th", { scope: "col" }, name)), make("td", {}))),
    make("tbody", {}, ...bodyRows)));
  $("chart-save").hidden = false;
}

function bar(share) {
  return drawElement("svg", { class: "bar", "aria-hidden": "true" },
    drawElement("rect", { width: `${(100 * share).toFixed(2)}%`, height: "100%", rx: 2 }));
}

const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export function setUp() {
  $("chart-feature").append(...FEATURES.map((name) => make("option", { value: name }, name)));
  $("chart-form").addEventListener("submit", (event) => {
    event.preventDefault();
    chart();
  });
  $("chart-save").addEventListener("click", () => {
    const lines = [[table.key, "matches"], ...table.rows.map(([value, number]) => [value, String(number)])];
    save("counts.csv", "text/csv", lines.map((row) => `${row.map(cell).join(",")}\n`).join(""));
  });
}
