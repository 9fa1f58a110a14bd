// The backend of a page without a server: the parser runs in a worker of the browser. The static page has this module as backend.js.

import { $ } from "./common.js";

export const HAS_SERVER = false;
const MAX_TYPED = 1000; // characters of a text that is parsed while the reader types
const NEEDS_PYTHON = "This needs the Python package: discotree serve.";
const address = (path) => new URL(`../${path}`, import.meta.url);

let site = null; // what `discotree page` has written: models, examples with their trees, words of the languages
let latest = ""; // name of the model that parsed last
const started = new Set(); // names of models that are loaded or being loaded
const ready = new Set(); // names of those that are there

/** Return the models, that of the reader's language first, and the examples. */
export async function load() {
  site = await (await fetch(address("site.json"))).json();
  const rank = ({ language }) => (navigator.languages.findIndex((wanted) => wanted.split("-")[0] === language) + 1) || Infinity;
  site.models.sort((a, b) => Math.sign(rank(a) - rank(b)) || 0);
  navigator.serviceWorker?.register(address("service-worker.js"));
  return site;
}

const worker = new Worker(new URL("parser_worker.js", import.meta.url), { type: "module" });
const waiting = new Map(); // what to do with the answers of the worker, by number
worker.addEventListener("message", ({ data: { id, ...answer } }) => waiting.get(id)(answer));
worker.addEventListener("error", ({ message }) => { // its modules cannot be loaded
  for (const answer of waiting.values()) answer({ error: `The parser cannot be loaded${message ? `: ${message}` : ""}.` });
});
let questions = 0;

/** Ask the worker for the trees of a text; without one, only load the model. */
function ask(name, text) {
  const { folder } = site.models.find((model) => model.name === name);
  const id = (questions += 1);
  if (!ready.has(name)) showLoading(name, 0);
  started.add(name);
  return new Promise((resolve, reject) => {
    waiting.set(id, ({ trees, error, progress }) => {
      if (progress !== undefined) showLoading(name, progress);
      else {
        waiting.delete(id);
        $("loading").hidden = true;
        if (error) reject(new Error(error));
        else resolve(trees);
      }
    });
    worker.postMessage({ id, model: address(folder).href, text });
  }).then((trees) => {
    ready.add(name);
    return trees;
  }, (error) => {
    started.delete(name);
    throw error;
  });
}

/** Show how much of a model has been downloaded. */
function showLoading(name, share) {
  const { title } = site.models.find((model) => model.name === name);
  $("loading").hidden = false;
  $("loading").querySelector("span").textContent = `Loading the ${title} model`;
  $("loading").querySelector("progress").value = share;
}

/** Return the name of the model for a text: by its language, or else the one before. */
function choose(text) {
  const example = site.examples.find(([, , sentence]) => sentence === text);
  const language = example?.[0] ?? recognise(text, site.recognition);
  const modelFor = (wanted) => site.models.find((model) => model.language === wanted)?.name;
  return modelFor(language) ?? (latest || site.models[0].name);
}

/** Return whether a text is parsed while the reader types. Another model is downloaded only on demand. */
export const parsesWhileTyping = (text) => text.trim() !== "" && text.length <= MAX_TYPED && started.has($("model").value || choose(text));

export async function parse({ text, model }) {
  const name = model || choose(text);
  latest = name;
  const stored = site.examples.find(([, , sentence, trees]) => sentence === text && trees?.[name])?.[3][name];
  if (stored && !ready.has(name)) {
    ask(name).catch(() => {}); // for the reader's own sentences; an error is shown when there is one
    return { trees: stored, model: name, notice: "parsed when this page was made" };
  }
  const trees = await ask(name, text);
  if (!trees.length) throw new Error("The text contains no words.");
  return { trees: trees.map((tree, k) => ({ ...tree, id: String(k + 1), sentence: k + 1 })), model: name };
}

export async function render() {
  throw new Error(NEEDS_PYTHON);
}

export const convert = render;

/** Return the code of the language of a text among those of the models, "" if it is not certain: text/recognition.py. */
export function recognise(text, { words: tables, unlisted, margin, yields }) {
  const sample = text.slice(0, 4096).replaceAll("’", "'").normalize("NFC").replace(/\S*\ufffd\S*/g, "");
  const words = [...sample.matchAll(/\p{L}+(?:'\p{L}+)*/gu)].slice(0, 600).map(([word]) => word.toLowerCase());
  const scores = Object.entries(tables).map(([code, table]) =>
    [code, words.reduce((sum, word) => sum + (Object.hasOwn(table, word) ? table[word] : unlisted), 0)]).sort(([, a], [, b]) => b - a);
  if (!words.length || !scores.length) return "";
  const isModern = ([code]) => !yields.includes(code);
  const leads = ([, score], others) => others.every(([, other]) => score - other >= margin);
  let best = scores[0];
  if (!leads(best, scores.slice(1))) best = scores.find(isModern) ?? best;
  const others = scores.filter((other) => other !== best && (isModern(other) || !isModern(best)));
  return leads(best, others) ? best[0] : "";
}
