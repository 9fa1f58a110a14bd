// The tab that parses text. The hash of its link holds its whole state.

import { $, attempt, count, make, request } from "./common.js";
import { copyText, makeDownloadAll } from "./tree_downloads.js";
import { corrected, hideDetails, makeFigure, markSaved } from "./trees.js";

const SENTENCES_PER_STEP = 10;
const EXAMPLES = {
  nl: "Die film heb ik nog nooit gezien. Ik heb iemand gezien die op je lijkt.",
  de: "Darauf haben wir uns lange gefreut. Wir haben Freunde besucht, die am Meer wohnen.",
  en: "The dog that we found was very hungry. It is possible that the train is late.",
  is: "Þá bók hefur hún aldrei lesið. Þessu trúi ég ekki.",
};
const FIELDS = ["text", "model", "decode", "k"];

let models = [];
let response = null; // the latest one from /api/parse
let requests = 0; // a response to an older request is dropped …
let renderings = 0; // … and so is an older rendering
const details = document.querySelector("#parse .details");
export const parsedTrees = () => response?.trees ?? []; // the Search tab searches them
const view = () => document.querySelector("input[name=view]:checked").value;
const model = () => models.find(({ name }) => name === ($("model").value || response?.model)); // chosen, or recognised

/** Restore the state of a link, and parse its text if there is one. */
export async function restore(state) {
  for (const name of FIELDS) if (state.has(name)) $(name).value = state.get(name);
  if ($("model").selectedIndex < 0) $("model").selectedIndex = 0;
  for (const name of ["decode", "k"]) if ($(name).selectedIndex < 0) $(name).selectedIndex = 0;
  const button = document.querySelector(`input[name=view][value="${CSS.escape(state.get("view") ?? "svg")}"]`);
  if (button) button.checked = true;
  showModelFacts();
  if ($("text").value.trim()) await parse();
  else if (!state.size) await showExample();
}

/** Fill a new page with an example, so that it shows what it does. */
async function showExample() {
  if (!exampleLanguage() || models.some(({ needs_tags: needsTags }) => needsTags)) return;
  $("text").value = EXAMPLES[exampleLanguage()];
  await parse(false);
}

function saveLink() {
  const state = new URLSearchParams(FIELDS.map((name) => [name, $(name).value]).filter(([, value]) => value && value !== "0"));
  state.set("view", view());
  history.replaceState(null, "", `#${state}`);
}

/** Return the language of the chosen model, or of the first model with an example. */
function exampleLanguage() {
  const languages = (model() ? [model()] : models).map(({ language }) => language);
  return languages.find((language) => EXAMPLES[language]);
}

function showModelFacts() {
  $("decode").disabled = $("k").value !== "0"; // k-best parsing always decodes exactly
  $("example").hidden = !exampleLanguage();
  if (!model()) {
    $("model-facts").textContent = "";
    return;
  }
  const { title, language, licence, quality, needs_tags: needsTags } = model();
  const facts = [];
  if (quality) facts.push(`${title}: F1 ${quality.f1 ?? "–"} on the test split, ${quality.discontinuous_f1 ?? "–"} on discontinuous constituents.`);
  if (licence) facts.push(`Licence: ${licence}.`);
  if (!language || needsTags) facts.push("This model does not accept plain text: use the API.");
  $("model-facts").textContent = facts.join(" ");
}

async function parse(isLinked = true) {
  const text = $("text").value;
  if (!text.trim()) {
    $("parse-problem").textContent = "Enter a text first.";
    $("text").focus();
    return;
  }
  await attempt($("parse-problem"), document.querySelector("#parse-form .primary"), async () => {
    const k = Number($("k").value);
    const body = { text, model: $("model").value, k, ...(!k && $("decode").value && { decode: $("decode").value }) };
    const start = performance.now();
    $("parse-status").textContent = "One moment …";
    const mine = (requests += 1);
    const latest = await request("api/parse", body).then((answer) => answer.json()).catch((error) => {
      if (mine === requests) $("parse-status").textContent = "";
      throw error;
    });
    if (mine !== requests) return; // the reader has parsed again
    response = latest;
    showModelFacts();
    if (isLinked) saveLink();
    await render();
    const sentences = new Set(response.trees.map((tree) => tree.sentence)).size;
    const took = `${((performance.now() - start) / 1000).toFixed(1)} s`;
    $("parse-status").textContent = `${count(sentences, "sentence")}, ${count(response.trees.length, "tree")} in ${took}`;
    for (const text of [response.notice, response.warning]) if (text) $("parse-status").textContent += ` · ${text}`;
  });
}

async function render() {
  hideDetails(details);
  $("parse-tools").hidden = false;
  $("arcs-hint").hidden = view() !== "arcs";
  renderings += 1;
  $("results").replaceChildren();
  await extend([...Map.groupBy(response.trees, (tree) => tree.sentence).values()]);
}

async function extend(rest) {
  const mine = renderings;
  const inventory = models.find(({ name }) => name === response.model)?.inventory;
  const options = { view: view(), model: response.model, details, inventory };
  const drawn = await Promise.all(rest.slice(0, SENTENCES_PER_STEP).map((trees) => makeArticle(trees, options)));
  if (mine !== renderings) return; // the reader has changed the view
  $("results").append(...drawn);
  if (rest.length > SENTENCES_PER_STEP) {
    const more = make("button", { type: "button", onclick: async () => {
      more.remove();
      await extend(rest.slice(SENTENCES_PER_STEP));
    } }, `Show more (${rest.length - SENTENCES_PER_STEP} sentences left)`);
    $("results").append(more);
  }
}

async function makeArticle(trees, options) {
  const isKBest = trees.length > 1;
  const figures = [];
  for (const [rank, tree] of trees.entries()) {
    const expected = tree.confidence === undefined ? "" : `expected F1 ${(100 * tree.confidence).toFixed(0)} %`;
    const others = isKBest ? { alternatives: trees, against: rank ? trees[0] : null } : { loadAlternatives: () => kBest(tree, options.model) };
    figures.push(await makeFigure(tree, { ...options, ...others }, isKBest ? `${rank + 1}. ${expected}` : expected));
  }
  const words = trees[0].tokens.map((token) => token.form).join(" ");
  return make("article", { className: `panel sentence${isKBest ? " k-best" : ""}` },
    make("h2", {}, make("small", {}, String(trees[0].sentence)), " ", words),
    make("div", { className: "trees" }, ...figures));
}

/** Parse the words of a tree again, for its most probable trees. */
async function kBest(tree, model) {
  const body = { tokens: tree.tokens.map(({ form }) => form), model, k: 5 };
  return (await (await request("api/parse", body)).json()).trees;
}

export function setUp(servedModels) {
  models = servedModels;
  $("model").append(...models.map(({ name, title }) => make("option", { value: name }, title === name ? name : `${title} (${name})`)));
  $("model").addEventListener("change", () => {
    showModelFacts();
    if (response) parse();
  });
  for (const name of ["decode", "k"]) $(name).addEventListener("change", () => {
    showModelFacts();
    if (response) parse();
  });
  $("parse-form").addEventListener("submit", (event) => {
    event.preventDefault();
    parse();
  });
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) parse();
  });
  $("example").addEventListener("click", () => {
    $("text").value = EXAMPLES[exampleLanguage()];
    parse();
  });
  for (const button of document.querySelectorAll("input[name=view]")) button.addEventListener("change", () => {
    saveLink();
    attempt($("parse-problem"), null, render);
  });
  $("copy-link").addEventListener("click", async () => {
    saveLink();
    await copyText(location.href);
    $("parse-status").textContent = "Link copied.";
  });
  const all = () => {
    const { trees, model: parser } = response;
    return { records: trees.map(corrected), model: parser, name: "trees", onSaved: () => markSaved(trees) };
  };
  $("copy-link").after(makeDownloadAll(all, (message) => { $("parse-problem").textContent = message; }));
}
