// The part that parses text. Everything it shows follows from what the link to it says.

import { $, ask, attempt, count, make } from "./common.js";
import { figureOf, hide } from "./trees.js";

const STEP = 10; // sentences that are drawn at once
const EXAMPLES = {
  nl: "Dat boek heeft zij gisteren niet gelezen. Wie denk je dat de prijs zal winnen?",
  de: "Das Buch hat sie gestern nicht gelesen. Es kam nichts Interessantes.",
  en: "What did the mice eat that were treated? A hypothesis was proposed that explains these results.",
  is: "Þá bók hefur hún aldrei lesið.",
};
const FIELDS = ["text", "model", "decode", "k"];

let models = [];
let parsed = null; // the last answer
let asked = 0; // how often the server was asked to parse …
let turn = 0; // … and how often its answer was shown
const details = document.querySelector("#parse .details");
const view = () => document.querySelector("input[name=view]:checked").value;
const model = () => models.find(({ name }) => name === $("model").value);

/** Fill in what the link says, and parse if it has a text. */
export async function restore(state) {
  for (const name of FIELDS) if (state.has(name)) $(name).value = state.get(name);
  if (!$("model").value) $("model").value = models[0].name;
  for (const name of ["decode", "k"]) if ($(name).selectedIndex < 0) $(name).selectedIndex = 0;
  const chosen = document.querySelector(`input[name=view][value="${CSS.escape(state.get("view") ?? "svg")}"]`);
  if (chosen) chosen.checked = true;
  about();
  if ($("text").value.trim()) await parse();
}

function remember() {
  const state = new URLSearchParams(FIELDS.map((name) => [name, $(name).value]).filter(([, value]) => value && value !== "0"));
  state.set("view", view());
  history.replaceState(null, "", `#${state}`);
}

function about() {
  const { title, language, licence, quality, needs_tags: needsTags } = model();
  const facts = [];
  if (quality) facts.push(`${title}: F1 ${quality.f1 ?? "–"} on its test set, ${quality.discontinuous_f1 ?? "–"} for discontinuous constituents.`);
  if (licence) facts.push(`Licence: ${licence}.`);
  if (!language || needsTags) facts.push("This model cannot take plain text: use the API.");
  $("model-about").textContent = facts.join(" ");
  $("example").hidden = !EXAMPLES[language];
  $("decode").disabled = $("k").value !== "0"; // several trees are searched for exactly
}

async function parse() {
  const text = $("text").value;
  if (!text.trim()) {
    $("parse-problem").textContent = "Type or paste a text first.";
    $("text").focus();
    return;
  }
  await attempt($("parse-problem"), document.querySelector("#parse-form .primary"), async () => {
    const k = Number($("k").value);
    const wanted = { text, model: $("model").value, k, ...(!k && $("decode").value && { decode: $("decode").value }) };
    const start = performance.now();
    const mine = (asked += 1);
    const answer = await (await ask("/api/parse", wanted)).json();
    if (mine !== asked) return; // somebody was quicker to ask again
    parsed = answer;
    remember();
    await render();
    const sentences = new Set(parsed.trees.map((tree) => tree.sentence)).size;
    const took = `${((performance.now() - start) / 1000).toFixed(1)} s`;
    $("parse-status").textContent = `${count(sentences, "sentence")}, ${count(parsed.trees.length, "tree")} in ${took}`;
  });
}

async function render() {
  hide(details);
  $("parse-tools").hidden = false;
  turn += 1;
  $("results").replaceChildren();
  await extend([...Map.groupBy(parsed.trees, (tree) => tree.sentence).values()]);
}

async function extend(rest) {
  const mine = turn;
  const options = { view: view(), model: parsed.model, details };
  const drawn = await Promise.all(rest.slice(0, STEP).map((trees) => article(trees, options)));
  if (mine !== turn) return; // meanwhile something else is to be shown
  $("results").append(...drawn);
  if (rest.length > STEP) {
    const more = make("button", { type: "button", onclick: async () => {
      more.remove();
      await extend(rest.slice(STEP));
    } }, `Show more (${rest.length - STEP} sentences left)`);
    $("results").append(more);
  }
}

async function article(trees, options) {
  const several = trees.length > 1;
  const figures = [];
  for (const [rank, tree] of trees.entries()) {
    const sure = tree.confidence === undefined ? "" : `probability ${(100 * tree.confidence).toPrecision(3)} %`;
    figures.push(await figureOf(tree, options, several ? `${rank + 1}. ${sure}` : sure));
  }
  const words = trees[0].tokens.map((word) => word.form).join(" ");
  return make("article", { className: `panel sentence${several ? " several" : ""}` },
    make("h2", {}, make("small", {}, String(trees[0].sentence)), " ", words),
    make("div", { className: "trees" }, ...figures));
}

export function setUp(given) {
  models = given;
  $("model").append(...models.map(({ name, title }) => make("option", { value: name }, title === name ? name : `${title} (${name})`)));
  $("model").addEventListener("change", () => {
    about();
    if (parsed) parse();
  });
  for (const name of ["decode", "k"]) $(name).addEventListener("change", () => {
    about();
    if (parsed) parse();
  });
  $("parse-form").addEventListener("submit", (event) => {
    event.preventDefault();
    parse();
  });
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) parse();
  });
  $("example").addEventListener("click", () => {
    $("text").value = EXAMPLES[model().language];
    parse();
  });
  for (const button of document.querySelectorAll("input[name=view]")) button.addEventListener("change", () => {
    remember();
    attempt($("parse-problem"), null, render);
  });
  $("copy-link").addEventListener("click", async () => {
    remember();
    try {
      await navigator.clipboard.writeText(location.href);
      $("parse-status").textContent = "The link is on the clipboard.";
    } catch {
      window.prompt("The link:", location.href);
    }
  });
}
