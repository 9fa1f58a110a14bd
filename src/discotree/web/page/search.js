// The tab that searches treebanks: the query, its hits and their trees. Counts are in counts.js.

import { request } from "./backend.js";
import { $, attempt, count, make, save } from "./common.js";
import * as counts from "./counts.js";
import * as field from "./query-field.js";
import { inventoryOf } from "./describe.js";
import { parsedTrees } from "./parse.js";
import { hideDetails, makeFigure } from "./trees.js";
import { openedInventory, openedTreebank } from "./treebank.js";
import { colorOf, highlighted, legend, markTree, shownName, wordClasses } from "./variables.js";

const PER_PAGE = 20;
const MAX_EMPTY_PAGES = 50; // searched in vain before the reader is asked to go on
const OPENED = "upload:opened";
const PARSED = "upload:parsed";
const DOWNLOADS = {
  csv: ["hits.csv", "text/csv", "Concordance, CSV"],
  tsv: ["hits.tsv", "text/tab-separated-values", "Concordance, TSV"],
  concordance: ["hits.txt", "text/plain", "Concordance, text"],
  export: ["hits.export", "text/plain", "Trees, export"],
  discbracket: ["hits.dbr", "text/plain", "Trees, discbracket"],
  tigerxml: ["hits.xml", "application/xml", "Trees, TigerXML"],
  jsonl: ["hits.jsonl", "application/jsonl", "Trees, JSON"],
};
const MAX_DOWNLOADED = 10000;

let served = []; // treebanks of the server
let listed = ""; // for which treebank the examples are
let current = null; // the search that is shown: query, source, variables
let searches = 0; // what belongs to an older search is dropped
const details = document.querySelector("#search .details");

/** Search for a query that was written elsewhere; here it can be edited. */
export async function run(query) {
  field.set(query);
  $("tab-search").click();
  $("query").focus();
  await search();
}

/** Return what is searched: the name of a treebank of the server, or an upload. */
export function source() {
  const chosen = $("search-treebank").value;
  if (chosen === OPENED) return { upload: openedTreebank() };
  if (chosen === PARSED) {
    return { upload: { content: parsedTrees().map((tree) => `${JSON.stringify(tree)}\n`).join(""), name: "parsed", format: "json" } };
  }
  return { treebank: chosen };
}

/** List what can be searched. A file or a text that is opened later joins the list. */
export function listTreebanks() {
  const select = $("search-treebank");
  const chosen = select.value;
  const own = [];
  if (openedTreebank()) own.push([OPENED, `Opened file: ${openedTreebank().name}`]);
  if (parsedTrees().length) own.push([PARSED, `Parsed text: ${count(parsedTrees().length, "tree")}`]);
  const options = [
    ...served.filter((one) => !one.is_sample).map((one) => [one.name, `${one.name} (${count(one.trees, "tree")})`]),
    ...own,
    ...served.filter((one) => one.is_sample).map((one) => [one.name, `${one.name} (${count(one.trees, "tree")})`]),
  ];
  select.replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}

/** List treebanks and examples again, if there is something new. */
async function refresh() {
  listTreebanks();
  const now = `${$("search-treebank").value} ${openedTreebank()?.name} ${parsedTrees().length}`;
  if (now === listed) return;
  listed = now;
  const chosen = $("search-treebank").value;
  const own = chosen === OPENED ? openedInventory : () => inventoryOf(parsedTrees());
  field.complete(served.find(({ name }) => name === chosen)?.inventory ?? own());
  const isListed = await attempt($("search-problem"), null, listExamples);
  if (!isListed && listed === now) listed = ""; // the next look at the tab tries again
}

async function listExamples() {
  const chosen = $("search-treebank").value;
  $("search-examples").replaceChildren();
  const found = await (await request("api/examples", source())).json();
  if (chosen !== $("search-treebank").value) return true;
  const buttons = found.map(({ construction, description, query }) => make("button", {
    type: "button", className: "example", title: description, onclick: () => {
      field.set(query);
      search();
    },
  }, construction));
  $("search-examples").replaceChildren(...(buttons.length ? [make("span", {}, "Examples"), ...buttons] : []));
  return true;
}

function saveLink() {
  const state = new URLSearchParams({ query: field.get(), in: $("search-treebank").value });
  if ($("search-punctuation").checked) state.set("gaps", "all");
  history.replaceState(null, "", `#${state}`);
}

/** Restore the state of a link, and search. */
export async function restore(state) {
  field.set(state.get("query"));
  $("search-punctuation").checked = state.get("gaps") === "all";
  if ([...$("search-treebank").options].some(({ value }) => value === state.get("in"))) $("search-treebank").value = state.get("in");
  await Promise.all([search(), refresh()]);
}

async function search(focus = "") {
  const query = field.get();
  if (!query.trim()) {
    $("search-problem").textContent = "Enter a query first, or take an example.";
    $("query").focus();
    return;
  }
  await attempt($("search-problem"), document.querySelector("#search-form .primary"), async () => {
    const mine = (searches += 1);
    clear();
    saveLink();
    const searched = { query, punctuation: $("search-punctuation").checked, ...source() }; // the reader may choose another treebank meanwhile
    const body = { ...searched, focus };
    const is_current = () => mine === searches;
    let page;
    try {
      page = await nextPage(body, { start: 1, skip: 0 }, is_current);
    } catch (error) {
      if (is_current() && field.point(error)) $("query").focus();
      throw error;
    }
    if (!page) return;
    current = { body, variables: page.variables };
    $("search-legend").replaceChildren(...legend(page.variables));
    showFocus(page.variables, focus);
    $("search-tools").hidden = !page.hits.length;
    if (focus) $("search-focus").focus(); // it was hidden with the hits
    showPage(page, mine);
    counts.start(searched, page, is_current);
  });
}

/** Offer the variables of a query as key words: the words in the middle of each line, in the colour of the variable. */
function showFocus(variables, focus) {
  $("search-focus").replaceChildren(...variables.map((name) => make("option", { value: name }, shownName(name))));
  $("search-focus").value = focus || variables[0];
  $("search-hits").className = colorOf(variables, focus || variables[0]);
}

function clear() {
  field.point(null);
  hideDetails(details);
  for (const id of ["search-hits", "search-legend"]) $(id).replaceChildren();
  counts.clear();
  $("search-tools").hidden = true;
  $("search-status").textContent = "Searching …";
}

/** Return the next hits. The server stops when the time of a request is spent: go on until there is something to show. */
async function nextPage(body, cursor, is_current) {
  for (let pages = 0; ; pages += 1) {
    let page;
    try {
      page = await (await request("api/search", { ...body, ...cursor, limit: PER_PAGE })).json();
    } catch (error) {
      if (is_current()) $("search-status").textContent = "";
      throw error;
    }
    if (!is_current()) return null;
    if (page.hits.length || !page.next || pages === MAX_EMPTY_PAGES) return page;
    $("search-status").textContent = `Searching … ${page.searched.toLocaleString("en")} of ${count(page.size, "tree")}, nothing yet`;
    cursor = page.next;
  }
}

function showPage(page, mine) {
  const list = $("search-hits").querySelector("ol") ?? make("ol", { className: "hits" });
  if (!list.isConnected) $("search-hits").append(list);
  const items = page.hits.map((hit) => makeItem(hit, page.trees[hit.tree], page.variables));
  list.append(...items);
  if (!list.children.length) list.remove();
  if (!page.next) return items;
  const more = make("button", { type: "button", className: "more", onclick: () => attempt($("search-problem"), more, async () => {
    const { body } = current;
    const next = await nextPage(body, page.next, () => mine === searches);
    if (!next) return;
    more.remove();
    const added = showPage(next, mine);
    added[0]?.querySelector("button").focus();
  }) }, "Show more hits");
  $("search-hits").append(more);
  return items;
}

/** Make the line of a hit: a button that opens its tree below. */
function makeItem(hit, record, variables) {
  const tree = make("div", { className: "hit-tree", hidden: true });
  const words = hit.words.flatMap(({ text, is_gap: isGap }, k) => [k ? " " : "", make(isGap ? "span" : "b", { className: isGap ? "gap" : "" }, text)]);
  const button = make("button", { type: "button", className: "hit-line", ariaExpanded: "false", onclick: () => toggle() },
    make("span", { className: "left" }, make("bdi", {}, hit.left)), " ",
    make("span", { className: "rest" }, ...words, " ", make("span", { className: "right" }, hit.right)),
    make("small", {}, hit.id));
  function toggle() {
    const opens = tree.hidden;
    button.ariaExpanded = String(opens);
    tree.hidden = !opens;
    if (!opens) hideDetails(details);
    if (!opens || tree.firstChild) return;
    if (!record) {
      tree.append(make("p", { className: "hint" }, "This tree is too large to show."));
      return;
    }
    const mark = (shown) => markTree(shown, hit.bindings, variables);
    const figure = makeFigure(record, { view: "svg", details, highlight: highlighted(record, hit.bindings, variables), mark });
    tree.replaceChildren(sentence(record, hit.bindings, variables), figure);
    mark(figure);
  }
  return make("li", {}, button, tree);
}

/** Make the whole sentence of a hit, with the words of its nodes in their colours. */
function sentence(record, bindings, variables) {
  const classes = wordClasses(bindings, variables);
  return make("p", { className: "sentence-text" }, ...record.tokens.flatMap(({ form }, at) => [
    classes.has(at) ? make("span", { className: classes.get(at) }, form) : form, " "]));
}

async function download() {
  const output = $("search-download-format").value;
  const [name, type] = DOWNLOADS[output];
  await attempt($("search-problem"), $("search-download"), async () => {
    const response = await request("api/search", { ...current.body, output, limit: MAX_DOWNLOADED });
    save(name, type, await response.text());
    const isPart = response.headers.has("X-Discotree-Next");
    $("search-download-status").textContent = isPart
      ? "Only the first hits: all of them would be too many for one file. Use discotree search on the command line." : "Downloaded.";
  });
}

export async function setUp() {
  served = await (await request("api/treebanks")).json();
  listTreebanks();
  for (const kind of ["click", "focus"]) $("tab-search").addEventListener(kind, refresh);
  $("search-treebank").addEventListener("change", refresh);
  $("search-download-format").append(...Object.entries(DOWNLOADS).map(([value, [, , text]]) => make("option", { value }, text)));
  $("search-focus").addEventListener("change", () => search($("search-focus").value));
  $("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  $("query").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) search();
  });
  $("search-download").addEventListener("click", download);
  field.setUp();
  counts.setUp();
}
