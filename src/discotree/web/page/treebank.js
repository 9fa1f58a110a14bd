// The tab that browses a treebank. The file is uploaded once; filtering happens in the browser.

import { request } from "./backend.js";
import { $, attempt, count, make, markCurrent, showList, toUpload } from "./common.js";
import { inventoryOf } from "./describe.js";
import { makeDownloadAll } from "./tree_downloads.js";
import { corrected, hideDetails, makeFigure, markSaved } from "./trees.js";

let rows = [];
let summary = ""; // of the file, shown after the number of matching trees
let selected = null;
let opened = null; // the upload, which the Search tab searches
export const openedTreebank = () => opened;
let matching = []; // rows that pass the filter
let inventory = null; // of the file, for its editor and for queries
export const openedInventory = () => (inventory ??= inventoryOf(rows.map(({ record }) => record)));
const details = document.querySelector("#treebank .details");

/** Compute what the filter looks at. */
function toRow(record) {
  return {
    record,
    text: record.tokens.map((token) => token.form).join(" "),
    length: record.tokens.length,
    gaps: record.gaps,
    allGaps: record.constituents.map(({ positions }) => positions.filter((at, k) => k && at > positions[k - 1] + 1).length),
    mostGaps: record.gaps.reduce((most, gaps) => Math.max(most, gaps), 0),
    labels: new Set(record.constituents.map(({ label }) => label)),
    hits: [],
  };
}

/** Read the chosen file. */
export async function load() {
  const file = $("treebank-file").files[0];
  if (!file) return;
  await attempt($("treebank-problem"), null, async () => {
    $("treebank-status").textContent = `Reading ${file.name} …`;
    rows = [];
    inventory = null;
    $("filters").hidden = true;
    $("treebank-list").replaceChildren();
    $("treebank-tree").replaceChildren();
    selected = null;
    hideDetails(details);
    try {
      const upload = await toUpload(file, $("treebank-format").value);
      const response = await (await request("api/treebank", upload)).json();
      opened = upload;
      rows = response.rows.map(toRow);
      summary = ` of ${count(rows.length, "tree")} (${response.format})`;
      if (response.broken) summary += `; ${count(response.broken, "tree")} cannot be shown: ${response.problems[0]}`;
      if (!response.is_complete) summary += "; the file has more trees than the server reads";
    } catch (error) {
      $("treebank-status").textContent = "";
      throw error;
    }
    const labels = [...new Set(rows.flatMap((row) => [...row.labels]))].sort();
    $("labels").replaceChildren(...labels.map((value) => make("option", { value })));
    $("filters").hidden = false;
    filter();
    $("treebank-list").querySelector("button")?.click(); // a picture comes first
  });
}

function filter() {
  const label = $("filter-label").value.trim();
  const contains = $("filter-contains").value.toLowerCase();
  const minGaps = Number($("filter-min-gaps").value);
  const minWords = Number($("filter-min-words").value);
  const maxWords = Number($("filter-max-words").value) || Infinity;
  matching = rows.filter((row) => {
    row.hits = findHits(row, label, minGaps);
    return row.hits && row.length >= minWords && row.length <= maxWords && (!contains || row.text.toLowerCase().includes(contains));
  });
  $("treebank-status").textContent = `${matching.length.toLocaleString("en")}${summary}`;
  showList($("treebank-list"), matching, makeButton);
  markHits();
}

/** Return the constituents with this label and that many gaps, null if there are none; without either, none are looked for. */
function findHits(row, label, minGaps) {
  if (!label && !minGaps) return [];
  if (label && !row.labels.has(label)) return null;
  const gaps = $("filter-punctuation").checked ? row.allGaps : row.gaps; // gaps of only punctuation count if the box is ticked
  const hits = [...gaps.keys()].filter((k) => gaps[k] >= minGaps && (!label || row.record.constituents[k].label === label));
  return hits.length ? hits : null;
}

/** Highlight the hits in the tree that is shown, and their words. */
function markHits() {
  for (const element of $("treebank-tree").querySelectorAll(".hit")) element.classList.remove("hit");
  if (selected && corrected(selected.record) !== selected.record) return; // its constituents have other numbers
  for (const number of selected?.hits ?? []) {
    $("treebank-tree").querySelector(`.node[data-node="${number}"]`)?.classList.add("hit");
    for (const position of selected.record.constituents[number].positions) {
      $("treebank-tree").querySelector(`.word[data-position="${position}"]`)?.classList.add("hit");
    }
  }
}

function makeButton(row) {
  const button = make("button", { type: "button", onclick: () => {
    markCurrent($("treebank-list"), button);
    show(row);
  } },
  make("span", { className: "text" }, row.text),
  make("small", {}, make("b", {}, row.record.id), make("span", {}, `${count(row.length, "word")}${row.mostGaps ? `, ${count(row.mostGaps, "gap")}` : ""}`)));
  return button;
}

function show(row) {
  const { record, text } = row;
  if (row === selected) return;
  selected = row;
  hideDetails(details);
  const figure = makeFigure(record, { view: "svg", details, inventory: openedInventory(), origin: "the treebank", mark: markHits });
  $("treebank-tree").replaceChildren(make("article", { className: "panel sentence" },
    make("h2", {}, make("small", {}, record.id), " ", text), figure));
  markHits();
}

/** Return the trees that the list shows, as the reader has corrected them, without what the filter found in them. */
function listed() {
  const originals = matching.map(({ record }) => record);
  const records = originals.map(corrected).map(({ gaps, hits, ...tree }) => tree);
  return { records, name: "trees", onSaved: () => markSaved(originals) };
}

export function setUp() {
  $("filters").querySelector("fieldset").append(makeDownloadAll(listed, $("treebank-problem")));
  $("treebank-file").addEventListener("change", load);
  $("treebank-format").addEventListener("change", load);
  $("filters").addEventListener("input", filter);
  for (const id of ["filters", "treebank-form"]) $(id).addEventListener("submit", (event) => event.preventDefault());
}
