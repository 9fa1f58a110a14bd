// The part that compares two files with the evaluator's figures.

import { $, ask, attempt, count, make, markCurrent, percent, showList, svgOf, uploadOf } from "./common.js";

const FIGURES = [
  ["Precision", "precision"],
  ["Recall", "recall"],
  ["F1", "f1"],
  ["Exact match", "exact_match"],
  ["Tags", "pos_accuracy"],
  ["Functions", "function_accuracy"],
];
const OF_WORDS = new Set(["pos_accuracy", "function_accuracy"]);
let chosen = null;

async function compare() {
  await attempt($("compare-problem"), document.querySelector("#compare-form .primary"), async () => {
    for (const id of ["figures", "compare-list", "compare-tree"]) $(id).replaceChildren();
    $("compare-status").textContent = "Comparing …";
    try {
      const [gold, predicted] = await Promise.all(["gold", "predicted"].map((side) =>
        uploadOf($(`${side}-file`).files[0], $(`${side}-format`).value)));
      const params = $("params").value;
      const score = await (await ask("/api/evaluate", { gold, predicted, params })).json();
      const [ours, theirs] = await Promise.all([gold, predicted].map(async (file) =>
        (await (await ask("/api/treebank", file)).json()).rows));
      render(score, ours, theirs);
    } catch (error) {
      $("compare-status").textContent = "";
      throw error;
    }
  });
}

function render(score, gold, predicted) {
  const wrong = (row) => row.gold + row.predicted - 2 * row.matched;
  const rows = score.sentences.toSorted((a, b) => wrong(b) - wrong(a));
  const differing = rows.filter((row) => wrong(row)).length;
  $("compare-status").textContent = `${count(rows.length, "sentence")}, ${differing.toLocaleString("en")} of them with different constituents; the worst come first.`;
  $("figures").replaceChildren(make("div", { className: "panel" }, table(score)));
  showList($("compare-list"), rows, (row) => {
    const pair = [gold[row.gold_tree], predicted[row.predicted_tree]];
    const button = make("button", { type: "button", onclick: () => {
      markCurrent($("compare-list"), button);
      attempt($("compare-problem"), null, () => show(row, ...pair));
    } },
    make("span", { className: "said" }, words(pair[0])),
    make("small", {}, make("b", {}, row.id), make("span", {}, `${row.matched} of ${row.gold} found, ${row.predicted - row.matched} spurious`)));
    return button;
  });
}

function table(score) {
  const head = make("tr", {}, ...["Percent", "all", "discontinuous"].map((name) => make("th", { scope: "col" }, name)));
  const rows = FIGURES.map(([name, key]) => make("tr", {}, make("th", { scope: "row" }, name),
    make("td", {}, percent(score.all[key], 2)),
    make("td", {}, OF_WORDS.has(key) ? "" : percent(score.discontinuous[key], 2))));
  const brackets = make("tr", {}, make("th", { scope: "row" }, "Constituents (gold, predicted, both)"),
    ...["all", "discontinuous"].map((part) => make("td", {}, ["gold", "predicted", "matched"].map((key) => score[part][key].toLocaleString("en")).join(", "))));
  return make("table", { className: "numbers" }, make("thead", {}, head), make("tbody", {}, ...rows, brackets));
}

const words = (record) => record.tokens.map((word) => word.form).join(" ");

async function show(row, gold, predicted) {
  chosen = row;
  const svg = svgOf(await (await ask("/api/draw", { tree: gold, against: predicted, style: false })).text());
  if (row !== chosen) return;
  const picture = make("div", { className: "picture" }, svg);
  $("compare-tree").replaceChildren(make("article", { className: "panel sentence" },
    make("h2", {}, make("small", {}, row.id), " ", words(gold)), picture));
}

export function setUp() {
  $("compare-form").addEventListener("submit", (event) => {
    event.preventDefault();
    compare();
  });
}
