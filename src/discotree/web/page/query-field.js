// The query field: what is typed is checked, and the character that is wrong is marked.

import { $, make, send } from "./common.js";

const PAUSE = 400; // milliseconds without a key before the query is checked

let timer = 0;
let checks = 0;

export const get = () => $("query").value;

export function set(query) {
  clearTimeout(timer);
  checks += 1;
  $("query").value = query;
  $("query").rows = Math.max(2, query.split("\n").length);
  point(null);
}

/** Mark the character that an error of the server names; return whether there is one. */
export function point(error) {
  const problem = error?.fields ?? {};
  const isWrong = Number.isInteger(problem.offset);
  const query = $("query");
  query.setAttribute("aria-invalid", String(isWrong));
  $("query-error").replaceChildren();
  if (!isWrong) {
    $("query-marks").replaceChildren();
    return false;
  }
  const characters = [...query.value]; // the server counts characters, not UTF-16 units
  const [before, at, after] = [characters.slice(0, problem.offset), characters.slice(problem.offset, problem.offset + 1), characters.slice(problem.offset + 1)];
  $("query-marks").replaceChildren(before.join(""), make("mark", {}, at.join("").trim() ? at.join("") : " "), (at.join("").trim() ? "" : at.join("")) + after.join(""), "\n");
  const start = before.join("").length;
  const go = make("button", { type: "button", className: "link", onclick: () => {
    query.focus();
    query.setSelectionRange(start, start + at.join("").length);
  } }, `Character ${problem.offset + 1}`);
  $("query-error").append(go, `: ${problem.message}`);
  return true;
}

async function check() {
  const mine = (checks += 1);
  const query = get();
  if (!query.trim()) {
    point(null);
    return;
  }
  const response = await send("api/query", JSON.stringify({ query })).catch(() => null);
  const fields = response?.status === 422 ? await response.json() : null;
  if (mine === checks && query === get()) point(fields && { fields });
}

export function setUp() {
  const query = $("query");
  query.addEventListener("input", () => {
    point(null);
    clearTimeout(timer);
    timer = setTimeout(check, PAUSE);
  });
  query.addEventListener("scroll", () => {
    $("query-marks").scrollTop = query.scrollTop;
  });
}
