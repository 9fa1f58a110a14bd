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

/** Set up the list; `choose` is called with the number of a sentence. Returns functions to refresh it, and one row of it. */
export function setUpList(choose) {
  let rows = 0; // how many are shown
  const more = make("button", { type: "button", className: "more", onclick: () => attempt($("problem"), more, () => load(false)) });

  function makeRow({ sentence, id, text, confidence, status, comments }) {
    const state = make("span", { className: "state" });
    setState(state, status, comments);
    const facts = [`${sentence}${id && id !== String(sentence) ? ` (${id})` : ""}`];
    if (confidence !== undefined) facts.push(`${(100 * confidence).toFixed(0)} %`);
    return make("li", {}, make("button", { type: "button", "data-sentence": sentence, onclick: () => choose(sentence) },
      make("span", { className: "text" }, text), make("small", {}, make("b", {}, facts.join(" · ")), state)));
  }

  async function load(isNew) {
    const offset = isNew ? 0 : rows;
    const body = { who: $("who").value.trim(), order: $("order").value, status: $("filter").value || null, offset, limit: STEP };
    const found = await (await request("api/annotate/rows", body)).json();
    const items = found.rows.map(makeRow);
    if (isNew) $("list").replaceChildren(make("ol", {}, ...items), more);
    else $("list").querySelector("ol").append(...items);
    rows = offset + items.length;
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
