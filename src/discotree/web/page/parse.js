// The tab that parses text. The hash of its link holds its whole state.

import * as backend from "./backend.js";
import { $, attempt, count, make } from "./common.js";
import { copyText, makeDownloadAll } from "./tree_downloads.js";
import { confidenceLevel, corrected, hasUnsaved, hideDetails, makeFigure, markSaved } from "./trees.js";

const SENTENCES_PER_STEP = 10;
const FIELDS = ["text", "model", "decode", "k"];
const TYPING_PAUSE = 200; // milliseconds without a key after which a text is parsed

let models = [];
let examples = []; // lists of a language, a phenomenon and a sentence
let response = null; // the latest trees, with their model
let requests = 0; // a response to an older request is dropped
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
  const first = exampleLanguages()[0];
  if (!first) return;
  $("text").value = examplesOf(first.language)[0][2];
  await parse(false);
}

function saveLink() {
  const state = new URLSearchParams(FIELDS.map((name) => [name, $(name).value]).filter(([, value]) => value && value !== "0"));
  state.set("view", view());
  history.replaceState(null, "", `#${state}`);
}

const examplesOf = (wanted) => examples.filter(([language]) => language === wanted);

/** Return one model for each language with examples. */
const exampleLanguages = () => models.filter((one, k) =>
  examplesOf(one.language).length && !one.needs_tags && models.findIndex(({ language }) => language === one.language) === k);

/** Make the gallery: a card for each phenomenon of the chosen language. */
function showGallery(language) {
  const languages = exampleLanguages();
  const choice = make("select", { ariaLabel: "Language of the examples", onchange: () => {
    showGallery(choice.value);
    $("gallery").firstChild.focus();
  } }, ...languages.map((one) => make("option", { value: one.language, selected: one.language === language }, one.title)));
  const cards = examplesOf(language).map(([, phenomenon, sentence]) => make("button", { type: "button", lang: language, onclick: () => {
    $("text").value = sentence;
    if (model()?.language !== language) $("model").value = "";
    parse();
  } }, make("b", { lang: "en" }, phenomenon), make("span", {}, sentence)));
  $("gallery").replaceChildren(...(languages.length ? [choice, ...cards] : []));
}

function showModelFacts() {
  $("decode").disabled = $("k").value !== "0"; // k-best parsing always decodes exactly
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
    clear();
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
    const latest = await backend.parse(body).catch((error) => {
      if (mine === requests) clear();
      throw error;
    });
    if (mine !== requests) return; // the reader has parsed again
    response = latest;
    showModelFacts();
    if (isLinked) saveLink();
    render();
    const sentences = new Set(response.trees.map((tree) => tree.sentence)).size;
    const took = `${((performance.now() - start) / 1000).toFixed(1)} s`;
    $("parse-status").textContent = `${count(sentences, "sentence")}, ${count(response.trees.length, "tree")} in ${took}`;
    for (const text of [response.notice, response.warning]) if (text) $("parse-status").textContent += ` · ${text}`;
  });
}

/** Remove the trees of an earlier text. */
function clear() {
  hideDetails(details);
  response = null;
  requests += 1;
  $("parse-status").textContent = "";
  for (const id of ["parse-tools", "download-all", "arcs-hint", "network-hint"]) $(id).hidden = true;
  $("results").replaceChildren();
}

function render() {
  hideDetails(details);
  for (const id of ["parse-tools", "download-all"]) $(id).hidden = false;
  for (const name of ["arcs", "network"]) $(`${name}-hint`).hidden = view() !== name;
  $("results").replaceChildren();
  extend([...Map.groupBy(response.trees, (tree) => tree.sentence).values()]);
}

function extend(rest) {
  const { inventory, head_rules: headRules } = models.find(({ name }) => name === response.model);
  const options = { view: view(), model: response.model, details, inventory, headRules };
  $("results").append(...rest.slice(0, SENTENCES_PER_STEP).map((trees) => makeArticle(trees, options)));
  if (rest.length > SENTENCES_PER_STEP) {
    const more = make("button", { type: "button", onclick: () => {
      more.remove();
      extend(rest.slice(SENTENCES_PER_STEP));
    } }, `Show more (${rest.length - SENTENCES_PER_STEP} sentences left)`);
    $("results").append(more);
  }
}

function makeArticle(trees, options) {
  const isKBest = trees.length > 1;
  const figures = [];
  for (const [rank, tree] of trees.entries()) {
    const expected = tree.confidence === undefined ? "" : `expected F1 ${(100 * tree.confidence).toFixed(0)} %${confidenceLevel(tree.confidence) === "low" ? " (low)" : ""}`;
    const others = isKBest ? { alternatives: trees, against: rank ? trees[0] : null } : backend.HAS_SERVER && { loadAlternatives: () => kBest(tree, options.model) };
    const reparse = backend.HAS_SERVER ? (body) => backend.reparse({ ...body, model: options.model }) : null;
    figures.push(makeFigure(tree, { ...options, ...others, reparse }, isKBest ? `${rank + 1}. ${expected}` : expected));
  }
  const words = trees[0].tokens.map((token) => token.form).join(" ");
  return make("article", { className: `panel sentence${isKBest ? " k-best" : ""}` },
    make("h2", {}, make("small", {}, String(trees[0].sentence)), " ", words),
    make("div", { className: "trees" }, ...figures));
}

/** Parse the words of a tree again, for its most probable trees. */
async function kBest(tree, model) {
  const body = { tokens: tree.tokens.map(({ form }) => form), model, k: 5 };
  return (await backend.parse(body)).trees;
}

export function setUp(servedModels, sentences) {
  models = servedModels;
  examples = sentences;
  showGallery(exampleLanguages()[0]?.language);
  $("model").append(...models.map(({ name, title }) => make("option", { value: name }, title === name ? name : `${title} (${name})`)));
  for (const name of ["model", "decode", "k"]) $(name).addEventListener("change", () => {
    showModelFacts();
    if (response || $("parse-problem").textContent) parse();
  });
  $("parse-form").addEventListener("submit", (event) => {
    event.preventDefault();
    parse();
  });
  $("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) parse();
  });
  let waiting = 0;
  $("text").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => backend.parsesWhileTyping($("text").value) && !hasUnsaved() && parse(), TYPING_PAUSE);
  });
  for (const button of document.querySelectorAll("input[name=view]")) button.addEventListener("change", () => {
    saveLink();
    if (response) render();
  });
  $("copy-link").addEventListener("click", async () => {
    saveLink();
    await copyText(location.href);
    $("parse-status").textContent = "Link copied.";
  });
  const all = ({ trees, model: parser } = response) => ({ records: trees.map(corrected), model: parser, name: "trees", onSaved: () => markSaved(trees) });
  $("copy-link").after(Object.assign(makeDownloadAll(all, $("parse-problem")), { id: "download-all", hidden: true }));
}
