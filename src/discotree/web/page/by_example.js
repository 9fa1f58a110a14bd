// Search by example: the reader selects nodes of a tree and ticks what matters, and the server writes the query for them.

import { request } from "./backend.js";
import { $, attempt, make } from "./common.js";
import { addUp, describeTotal } from "./counts.js";
import { describe } from "./describe.js";
import { listTreebanks, run, source } from "./search.js";
import { markTree, unmarkTree } from "./variables.js";

const ASPECTS = {
  label: "The label of a constituent, the tag of a word",
  function: "The function of each node",
  word: "The form of each word",
  lemma: "The lemma of each word",
  order: "The order of the nodes",
  distance: "The number of words or levels between the nodes",
  gap: "Whether a constituent is discontinuous",
};
const ticked = new Set(["label", "function"]); // stays for the next tree

/** Make the panel for a tree and its picture. Returns its element, and `pick`, which selects a node or deselects it. */
export function openExample(picture, record) {
  const chosen = new Set(); // addresses
  let written = ""; // the query
  let requests = 0; // what belongs to an older one is dropped

  const hint = make("p", { className: "hint" }, "Select words and constituents of the tree: click them, or move to them with ",
    make("kbd", {}, "Tab"), " and press ", make("kbd", {}, "Enter"), ". Click again to deselect.");
  const query = make("pre", { tabIndex: 0, hidden: true, ariaLabel: "Query" });
  const status = make("p", { className: "status", role: "status" });
  const problem = make("p", { className: "problem", role: "alert" });
  const treebank = make("select", { onchange: () => {
    $("search-treebank").value = treebank.value;
    count();
  } });
  const search = make("button", { type: "button", className: "primary", hidden: true, onclick: () => {
    element.closest("dialog")?.close();
    run(written);
  } }, "Edit and search");
  const ticks = Object.entries(ASPECTS).map(([aspect, title]) => make("label", { className: "check", title }, make("input", {
    type: "checkbox", checked: ticked.has(aspect), onchange: ({ target }) => {
      if (target.checked) ticked.add(aspect);
      else ticked.delete(aspect);
      write();
    },
  }), aspect));
  const element = make("section", { className: "by-example panel", ariaLabel: "Search by example" }, hint,
    make("fieldset", { className: "fields" }, make("legend", {}, "Hits have the same"), ...ticks), query,
    make("div", { className: "fields" }, make("label", { className: "wide" }, "Treebank", treebank), search), status, problem);

  listTreebanks();
  treebank.append(...[...$("search-treebank").options].map((option) => option.cloneNode(true)));
  treebank.value = $("search-treebank").value;
  const elementOf = (address) => picture.querySelector(address < record.tokens.length
    ? `.word[data-position="${address}"]` : `.node[data-node="${address - record.tokens.length}"]`);
  unmarkTree(picture);
  for (const position of record.tokens.keys()) {
    const attributes = { role: "button", tabindex: 0, "aria-pressed": "false", "aria-label": describe(record, position) };
    for (const [name, value] of Object.entries(attributes)) elementOf(position)?.setAttribute(name, value);
  }

  /** Ask for the query, mark its nodes, and count its hits. */
  async function write() {
    const mine = (requests += 1);
    hint.hidden = chosen.size > 0;
    if (!chosen.size) {
      for (const part of [query, search]) part.hidden = true;
      unmarkTree(picture);
      written = "";
      status.textContent = "";
      return;
    }
    await attempt(problem, null, async () => {
      const body = { tree: record, nodes: [...chosen], same: [...ticked] };
      const answer = await (await request("api/query-from", body)).json();
      if (mine !== requests) return;
      written = answer.query;
      query.textContent = written;
      for (const part of [query, search]) part.hidden = false;
      unmarkTree(picture);
      markTree(picture, Object.fromEntries(Object.entries(answer.variables).map(([name, address]) => [name, boundNode(address)])), Object.keys(answer.variables));
      await count();
    });
  }

  const boundNode = (address) => (address < record.tokens.length
    ? { node: null, positions: [address] }
    : { node: address - record.tokens.length, positions: record.constituents[address - record.tokens.length].positions });

  /** Count the hits of the query in the chosen treebank, and show the number as it grows. */
  async function count() {
    const mine = (requests += 1);
    if (!written) return;
    status.textContent = "Counting …";
    const body = { query: written, punctuation: $("search-punctuation").checked, ...source() };
    const isCurrent = () => mine === requests && element.isConnected; // stops when the panel is closed
    await attempt(problem, null, () => addUp(body, isCurrent, (total) => {
      status.textContent = describeTotal(total);
    }));
  }

  function pick(address) {
    if (!chosen.delete(address)) chosen.add(address);
    elementOf(address)?.setAttribute("aria-pressed", String(chosen.has(address)));
    return write();
  }

  return { element, pick };
}
