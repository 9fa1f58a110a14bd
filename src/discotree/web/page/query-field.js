// The query field: it checks the query, marks the first wrong character, and completes labels of the treebank.

import { send } from "./backend.js";
import { $, make } from "./common.js";

const PAUSE = 400; // milliseconds without a key before the query is checked

const MAX_COMPLETIONS = 8;
const ROOTS = /^(V?ROOT|TOP|--)$/i;
const value = (name) => new RegExp(`\\b${name}\\s*!?=\\s*\\(?(?:"[^"]*"\\s*\\|\\s*)*"([^"]*)$`);
const COMPLETED = [["labels", value("cat")], ["tags", value("pos")], ["functions", value("edge")], ["functions", /[\w\]]\s*!?>~?([^\W\d][\w-]*)$/]];

let inventory = { labels: [], tags: [], functions: [] }; // of the treebank
let chosen = -1; // the completion that Enter takes
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
  const { offset, message } = error?.fields ?? {};
  const isWrong = Number.isInteger(offset);
  const query = $("query");
  query.setAttribute("aria-invalid", String(isWrong));
  for (const id of ["query-error", "query-marks"]) $(id).replaceChildren();
  if (!isWrong) return false;
  const characters = [...query.value]; // the server counts characters, not UTF-16 units
  const [before, at, after] = [[0, offset], [offset, offset + 1], [offset + 1]].map((range) => characters.slice(...range).join(""));
  $("query-marks").append(before, make("mark", {}, at.trim() ? at : " "), (at.trim() ? "" : at) + after, "\n");
  $("query-error").append(make("button", { type: "button", className: "link", onclick: () => {
    query.focus();
    query.setSelectionRange(before.length, before.length + at.length);
  } }, `Character ${offset + 1}`), `: ${message}`);
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

/** Complete the labels, tags and functions of a treebank, and use them in the example. */
export function complete(its) {
  inventory = its;
  const [label, other] = its.labels.filter((name) => !ROOTS.test(name));
  const [edge] = its.functions.filter((name) => /^[a-z]\w*$/i.test(name));
  const child = edge ? `>${edge} #b` : `> #b:[cat="${other ?? label ?? "NP"}"]`;
  $("query-example").textContent = `#a:[cat="${label ?? "NP"}"] ${child} & discontinuous(#a)`;
}

/** List what may complete the value before the caret. */
function suggest() {
  const before = get().slice(0, $("query").selectionStart);
  const [typed, values] = COMPLETED.map(([kind, pattern]) => [before.match(pattern)?.[1], inventory[kind]]).find(([text]) => text !== undefined) ?? ["", []];
  const fitting = values.filter((one) => one !== typed && one.toLowerCase().startsWith(typed.toLowerCase())).slice(0, MAX_COMPLETIONS);
  offer(...fitting.map((text, k) => make("li", { id: `completion-${k}`, role: "option", onclick: () => insert(text, typed.length) }, text)));
}

function insert(text, typed) {
  const query = $("query");
  const [start, end] = [query.selectionStart - typed, query.selectionStart];
  const closing = query.value[start - 1] === '"' && query.value[end] !== '"' ? '"' : "";
  query.setRangeText(text + closing, start, end, "end");
  query.dispatchEvent(new Event("input"));
}

/** Show completions. */
function offer(...items) {
  $("query-completions").replaceChildren(...items);
  $("query-completions").hidden = !items.length;
  choose(-1);
}

/** Mark a completion as the one that Enter takes; -1 for none. */
function choose(number) {
  const options = [...$("query-completions").children];
  chosen = number;
  options.forEach((option, k) => { option.ariaSelected = String(k === number); });
  $("query").setAttribute("aria-activedescendant", options[number]?.id ?? "");
}

function onKey(event) {
  const { children } = $("query-completions");
  if (!children.length || event.ctrlKey || event.metaKey) return;
  if (event.key === "ArrowDown") choose((chosen + 1) % children.length);
  else if (event.key === "ArrowUp") choose((Math.max(chosen, 0) + children.length - 1) % children.length);
  else if (event.key === "Enter" && chosen >= 0) children[chosen].click();
  else if (event.key === "Escape") offer();
  else return;
  event.preventDefault();
}

export function setUp() {
  const query = $("query");
  query.addEventListener("keydown", onKey);
  query.addEventListener("blur", () => offer());
  $("query-completions").addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
  query.addEventListener("input", () => {
    suggest();
    point(null);
    clearTimeout(timer);
    timer = setTimeout(check, PAUSE);
  });
  query.addEventListener("scroll", () => {
    $("query-marks").scrollTop = query.scrollTop;
  });
}
