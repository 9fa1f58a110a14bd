// The part that shows a treebank. The file is sent once; choosing among its trees happens here.

import { $, ask, attempt, count, make, markCurrent, showList, uploadOf } from "./common.js";
import { figureOf, hide } from "./trees.js";

let rows = [];
let about = "";
let chosen = null;
const details = document.querySelector("#treebank .details");

/** What the filter looks at. */
function prepared(record) {
  return {
    record,
    said: record.tokens.map((word) => word.form).join(" "),
    length: record.tokens.length,
    gaps: Math.max(...record.constituents.map(({ positions }) => positions.filter((at, k) => k && at > positions[k - 1] + 1).length)),
    labels: new Set(record.constituents.map(({ label }) => label)),
  };
}

async function load() {
  const file = $("treebank-file").files[0];
  if (!file) return;
  await attempt($("treebank-problem"), null, async () => {
    $("treebank-status").textContent = `Reading ${file.name} …`;
    rows = [];
    $("filters").hidden = true;
    $("treebank-list").replaceChildren();
    $("treebank-tree").replaceChildren();
    hide(details);
    try {
      const answer = await (await ask("/api/treebank", await uploadOf(file, $("treebank-format").value))).json();
      rows = answer.rows.map(prepared);
      about = ` of ${count(rows.length, "tree")} (${answer.format})`;
      if (answer.broken) about += `; ${count(answer.broken, "tree")} could not be read: ${answer.problems[0]}`;
      if (!answer.is_complete) about += "; the rest of the file was left out";
    } catch (error) {
      $("treebank-status").textContent = "";
      throw error;
    }
    const labels = [...new Set(rows.flatMap((row) => [...row.labels]))].sort();
    $("labels").replaceChildren(...labels.map((value) => make("option", { value })));
    $("filters").hidden = false;
    filter();
  });
}

function filter() {
  const label = $("filter-label").value.trim();
  const words = $("filter-words").value.toLowerCase();
  const gaps = Number($("filter-gaps").value);
  const shortest = Number($("filter-shortest").value);
  const longest = Number($("filter-longest").value) || Infinity;
  const found = rows.filter((row) => row.gaps >= gaps && row.length >= shortest && row.length <= longest
    && (!label || row.labels.has(label)) && (!words || row.said.toLowerCase().includes(words)));
  $("treebank-status").textContent = `${found.length.toLocaleString("en")}${about}`;
  showList($("treebank-list"), found, item);
}

function item(row) {
  const button = make("button", { type: "button", onclick: () => {
    markCurrent($("treebank-list"), button);
    attempt($("treebank-problem"), null, () => show(row));
  } },
  make("span", { className: "said" }, row.said),
  make("small", {}, make("b", {}, row.record.id), make("span", {}, `${count(row.length, "word")}${row.gaps ? `, ${count(row.gaps, "gap")}` : ""}`)));
  return button;
}

async function show(row) {
  const { record, said } = row;
  chosen = row;
  hide(details);
  const figure = await figureOf(record, { view: "svg", details });
  if (row !== chosen) return;
  $("treebank-tree").replaceChildren(make("article", { className: "panel sentence" },
    make("h2", {}, make("small", {}, record.id), " ", said), figure));
}

export function setUp() {
  $("treebank-file").addEventListener("change", load);
  $("treebank-format").addEventListener("change", load);
  $("filters").addEventListener("input", filter);
  for (const id of ["filters", "treebank-form"]) $(id).addEventListener("submit", (event) => event.preventDefault());
}
