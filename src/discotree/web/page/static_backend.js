// The backend of a page without a server: parsers run in workers of the browser. The static page has this module as backend.js.

import { load as loadParser } from "../parser/index.js";
import { $ } from "./common.js";

export const HAS_SERVER = false;
const MAX_TYPED = 1000; // characters of a text that is parsed while the reader types
const NEEDS_PYTHON = "This needs the Python package: discotree serve.";
const address = (path) => new URL(`../${path}`, import.meta.url);

let site = null; // what `discotree page` has written: models, examples with their trees, words of the languages
let latest = ""; // name of the model that parsed last
const loading = new Map(); // promises of parsers by the names of their models
const ready = new Set(); // names of those that are there

/** Return the models, that of the reader's language first, and the examples. */
export async function load() {
  site = await (await fetch(address("site.json"))).json();
  const rank = ({ language }) => (navigator.languages.findIndex((wanted) => wanted.split("-")[0] === language) + 1) || Infinity;
  site.models.sort((a, b) => Math.sign(rank(a) - rank(b)) || 0);
  navigator.serviceWorker?.register(address("service-worker.js"));
  return site;
}

let runtime = null; // promise of the address of ONNX Runtime's binary

/** Return the address of the binary of ONNX Runtime, which is compressed because many hosts do not compress it. */
async function loadRuntime() {
  const bytes = new Uint8Array(await (await fetch(address("runtime/ort-wasm-simd-threaded.wasm.gz"))).arrayBuffer());
  const isCompressed = bytes[0] === 0x1f && bytes[1] === 0x8b; // some hosts send such a file decompressed
  const stream = new Blob([bytes]).stream();
  const headers = { "Content-Type": "application/wasm" };
  const body = isCompressed ? stream.pipeThrough(new DecompressionStream("gzip")) : stream;
  return URL.createObjectURL(await new Response(body, { headers }).blob());
}

/** Return the parser of a model. It is downloaded once; a bar shows how far that is. */
function parserOf(name) {
  const { folder, title } = site.models.find((model) => model.name === name);
  if (!loading.has(name)) {
    const [text, bar] = [$("loading").querySelector("span"), $("loading").querySelector("progress")];
    text.textContent = `Loading the ${title} model`;
    bar.removeAttribute("value");
    $("loading").hidden = false;
    const done = () => void ($("loading").hidden = true);
    const onProgress = ({ loaded, total }) => void (bar.value = loaded / total);
    runtime ??= loadRuntime();
    runtime.catch(() => void (runtime = null)); // the next attempt begins again
    loading.set(name, runtime.then((wasm) => loadParser(address(folder).href, { onProgress, wasmPaths: { wasm } })));
    loading.get(name).then(() => ready.add(name), () => loading.delete(name)).finally(done);
  }
  return loading.get(name);
}

/** Return the name of the model for a text: by its language, or else the one before. */
function choose(text) {
  const example = site.examples.find(([, , sentence]) => sentence === text);
  const language = example?.[0] ?? recognise(text, site.recognition);
  const modelFor = (wanted) => site.models.find((model) => model.language === wanted)?.name;
  return modelFor(language) ?? (latest || site.models[0].name);
}

export const parsesWhileTyping = (text) => text.trim() !== "" && text.length <= MAX_TYPED && ready.has($("model").value || choose(text));

export async function parse({ text, model }) {
  const name = model || choose(text);
  latest = name;
  const stored = site.examples.find(([, , sentence, trees]) => sentence === text && trees?.[name])?.[3][name];
  if (stored && !ready.has(name)) {
    parserOf(name).catch(() => {}); // for the reader's own sentences; an error is shown when there is one
    return { trees: stored, model: name, notice: "parsed when this page was made" };
  }
  const parser = await parserOf(name);
  const trees = await parser.parse(text);
  if (!trees.length) throw new Error("The text contains no words.");
  return { trees: trees.map((tree, k) => ({ ...tree, id: String(k + 1), sentence: k + 1 })), model: name };
}

export async function render() {
  throw new Error(NEEDS_PYTHON);
}

export const convert = render;

/** Return the code of the language of a text among those of the models, "" if it is not certain: text/recognition.py. */
export function recognise(text, { words: tables, unlisted, margin }) {
  const words = [...text.slice(0, 4096).replaceAll("’", "'").matchAll(/\p{L}+(?:'\p{L}+)*/gu)].slice(0, 600).map(([word]) => word.toLowerCase());
  const scores = Object.entries(tables).map(([code, table]) =>
    [code, words.reduce((sum, word) => sum + (Object.hasOwn(table, word) ? table[word] : unlisted), 0)]).sort(([, a], [, b]) => b - a);
  const isCertain = words.length > 0 && scores.length > 0 && (scores.length === 1 || scores[0][1] - scores[1][1] >= margin);
  return isCertain ? scores[0][0] : "";
}
