// The list of sentences on the annotation page.

import { request } from "./backend.js";
import { $, attempt, count, make, markCurrent } from "./common.js";

const STEP = 100; // rows at a time
const STATES = { differing: "to adjudicate" }; // where the name of a status is not enough

let shownNumber = 0; // the sentence that is open

const buttonOf = (sentence) => $("list").querySelector(`[data-sentence="${sentence}"]`);

/** Mark the row of the sentence that is open. */
export function markRow(sentence) {
  shownNumber = sentence;
  const button = buttonOf(sentence);
  if (button) {
    markCurrent($("list"), button);
    button.scrollIntoView({ block: "nearest" });
  } else $("list").querySelector('[aria-current="true"]')?.removeAttribute("aria-current");
}

function setState(element, status, comments) {
  element.dataset.status = status;
  element.textContent = `${STATES[status] ?? status}${comments ? `, ${count(comments, "comment")}` : ""}`;
}

function fillRow(button, { sentence, id, text, confidence, status, comments }) {
  const facts = [`${sentence}${id && id !== String(sentence) ? ` (${id})` : ""}`];
  if (confidence !== undefined) facts.push(`${(100 * confidence).toFixed(0)} %`);
  button.querySelector(".text").textContent = text;
  button.querySelector("b").textContent = facts.join(" · ");
  setState(button.querySelector(".state"), status, comments);
}

/** Set up the list; `choose` is called with the number of a sentence. Returns functions to refresh it, and one row of it. */
export function setUpList(choose) {
  let rows = 0; // how many are shown
  const list = make("ol");
  const more = make("button", { type: "button", className: "more", onclick: () => attempt($("problem"), more, () => load(false)) });

  /** Show a row at a position. The row of the same sentence keeps its elements: a click on a replaced button would be lost. */
  function showRow(position, row) {
    const old = list.children[position]?.firstChild;
    const isSame = old?.dataset.sentence === String(row.sentence);
    const button = isSame ? old : make("button", { type: "button", "data-sentence": row.sentence, onclick: () => choose(row.sentence) },
      make("span", { className: "text" }), make("small", {}, make("b"), make("span", { className: "state" })));
    fillRow(button, row);
    if (old && !isSame) old.replaceWith(button);
    else if (!old) list.append(make("li", {}, button));
  }

  async function load(isNew) {
    const offset = isNew ? 0 : rows;
    const body = { who: $("who").value.trim(), order: $("order").value, status: $("filter").value || null, offset, limit: STEP };
    const found = await (await request("api/annotate/rows", body)).json();
    if (!list.isConnected) $("list").replaceChildren(list, more);
    found.rows.forEach((row, k) => showRow(offset + k, row));
    rows = offset + found.rows.length;
    while (list.children.length > rows) list.lastChild.remove();
    more.hidden = rows >= found.matching;
    more.textContent = `Show more (${(found.matching - rows).toLocaleString("en")} left)`;
    if (shownNumber && isNew) {
      const button = buttonOf(shownNumber);
      if (button) markCurrent($("list"), button);
    }
  }

  const refresh = () => load(true);
  for (const id of ["order", "filter"]) $(id).addEventListener("change", () => attempt($("problem"), null, refresh));
  return {
    refresh,
    /** Refresh the list unless the reader is in it: new sentences must not take away the focus, or rows that were asked for. */
    async follow() {
      if (rows <= STEP && !$("list").contains(document.activeElement)) await refresh();
    },
    update({ sentence, status, history }) {
      const state = buttonOf(sentence)?.querySelector(".state");
      if (state) setState(state, status, history.filter(({ action }) => action === "comment").length);
    },
  };
}
