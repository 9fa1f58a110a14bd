/**
 * Parse text into discontinuous constituent trees, in browsers and Node.
 *
 *     import { load } from "discotree";
 *     const parser = await load("models/nl");
 *     const trees = await parser.parse("Ik heb het hem niet kunnen zeggen.");
 */

import { calibrate } from "./confidence.js";
import { InputError, ModelError, messageOf } from "./errors.js";
import { ModelFolder } from "./files.js";
import { INDEX, LABELER, NETWORK, RARE_SUBWORDS, SUBWORDS, readModel } from "./model.js";
import { Network, openSession } from "./network.js";
import { Language } from "./text.js";
import { buildTree, joinTrees, toRecord } from "./trees.js";
import { Subwords, byLength } from "./words.js";

export { InputError, ModelError };

/** @typedef {import("./trees.js").TreeRecord} TreeRecord */
/** @typedef {import("./trees.js").InputToken} InputToken */
/** @typedef {import("./text.js").Word} Word */

/**
 * @typedef {object} LoadOptions
 * @property {(progress: import("./files.js").Progress) => void} [onProgress] is told how many bytes have arrived
 * @property {import("./network.js").Runtime} [ort] onnxruntime-web or onnxruntime-node; by default, onnxruntime-web
 * @property {string | import("onnxruntime-common").Env.WasmFilePaths} [wasmPaths] where onnxruntime-web finds its
 *   WebAssembly files
 */

/** @typedef {{signal?: AbortSignal}} ParseOptions */

const BATCH_WORDS = 500; // parsed together
const MAX_WORDS = 10_000; // per sentence
const WHOLE_WORDS = 1000; // a longer sentence is parsed in parts
const PART_WORDS = 250;
const LAST_WORDS = new Set(".?!;:…"); // good ends of a part
const CARD = "card.json";

/**
 * Load a model from a folder that `discotree export MODEL --web FOLDER` made.
 * @param {string | URL} location the folder's path in Node, or its address
 * @param {LoadOptions} [options]
 */
export async function load(location, options = {}) {
  const folder = new ModelFolder(location);
  const model = readModel(await folder.json(INDEX), `${folder.location}/${INDEX}`);
  const names = [NETWORK, LABELER, ...(model.subwords ? [SUBWORDS] : [])];
  const infoOf = (/** @type {string} */ name) => /** @type {import("./files.js").FileInfo} */ (model.files.get(name));
  const total = names.reduce((sum, name) => sum + infoOf(name).bytes, 0);
  let loaded = 0;
  const onBytes = (/** @type {number} */ bytes) => {
    loaded = Math.min(loaded + bytes, total); // a server may send files uncompressed
    options.onProgress?.({ loaded, total });
  };
  const read = (/** @type {string} */ name) => folder.binary(name, infoOf(name), onBytes);
  const loadRare = () => folder.binary(RARE_SUBWORDS, infoOf(RARE_SUBWORDS), () => {});
  const runtime = openRuntime(options);
  const open = async (/** @type {Promise<Uint8Array>} */ bytes, /** @type {string} */ name) =>
    openSession(await runtime, await bytes, name, folder.location);
  const [network, table] = [read(NETWORK), model.subwords ? read(SUBWORDS) : undefined];
  // The labeler is small: ONNX Runtime starts with it while the other files are downloaded.
  const [sessions, subwords, card, language] = await Promise.all([
    open(read(LABELER), "labeler").then(async (labeler) => ({ labeler, network: await open(network, "network") })),
    table?.then((bytes) => new Subwords(bytes, `${folder.location}/${SUBWORDS}`, loadRare)),
    folder.json(CARD).catch(() => undefined), // a model works without its card
    Language.load(model.language),
    network, // awaited here too, so that its failure is never unhandled
  ]);
  options.onProgress?.({ loaded: total, total });
  // Visitors who return get the remaining vectors, so that they can go offline.
  if (folder.wasCached) subwords?.complete().catch(() => {});
  const graphs = new Network(await runtime, sessions.network, sessions.labeler, model, subwords);
  return new Parser(model, graphs, language, card);
}

/** @param {LoadOptions} options @returns {Promise<import("./network.js").Runtime>} */
async function openRuntime({ ort, wasmPaths }) {
  let runtime = ort;
  if (!runtime) {
    try {
      runtime = await import("onnxruntime-web");
    } catch (error) {
      throw new ModelError(`onnxruntime-web is missing: install it, or pass it as ort: ${messageOf(error)}`);
    }
  }
  const { wasm } = runtime.env;
  if (wasm) {
    wasm.numThreads ||= 1; // several threads need a page that is isolated from other origins
    if (wasmPaths) wasm.wasmPaths = wasmPaths;
  }
  return runtime;
}

/** A model that has been loaded. */
export class Parser {
  #model;
  #network;
  #language;
  /** @type {Promise<unknown>} */
  #busy = Promise.resolve();

  /**
   * @param {import("./model.js").Model} model @param {Network} network @param {Language | undefined} language
   * @param {unknown} card
   */
  constructor(model, network, language, card) {
    this.#model = model;
    this.#network = network;
    this.#language = language;
    /** The name of the model, such as "nl". */
    this.name = model.name;
    /** The code of its language. */
    this.language = model.language;
    /** Its card: data, licence and scores; undefined if it has none. */
    this.card = card;
    /** The labels, tags and functions that it knows, frequent ones first. */
    this.inventory = model.inventory;
  }

  /**
   * Split a text into sentences and tokens.
   * @param {string} text @returns {Word[][]}
   */
  splitSentences(text) {
    if (typeof text !== "string") throw new TypeError(`expected a text, got ${describe(text)}`);
    if (!this.#language) {
      throw new InputError(`this model has no rules for the language "${this.language}"; pass words to parseTokens`);
    }
    return this.#language.sentences(text);
  }

  /**
   * Split a text into sentences and return the records of their trees.
   * @param {string} text @param {ParseOptions} [options] an abort signal ends parsing after the current batch
   * @returns {Promise<TreeRecord[]>}
   */
  async parse(text, options = {}) {
    return this.#parse(this.splitSentences(text), options);
  }

  /**
   * Return the records of the trees of sentences that are lists of words.
   * @param {string[][]} sentences @param {ParseOptions} [options]
   * @returns {Promise<TreeRecord[]>}
   */
  async parseTokens(sentences, options = {}) {
    if (!Array.isArray(sentences)) throw new TypeError(`expected a list of sentences, got ${describe(sentences)}`);
    const tokens = sentences.map((words) => {
      if (!Array.isArray(words)) throw new TypeError(`expected a sentence as a list of words, got ${describe(words)}`);
      return words.map((form) => {
        if (typeof form !== "string") throw new TypeError(`expected a word, got ${describe(form)}`);
        return { form };
      });
    });
    return this.#parse(tokens, options);
  }

  /** Free the memory of the model; it cannot parse any more. */
  async release() {
    await this.#busy;
    await this.#network.release();
  }

  /**
   * @param {InputToken[][]} sentences @param {ParseOptions} options
   * @returns {Promise<TreeRecord[]>}
   */
  async #parse(sentences, { signal }) {
    sentences.forEach(checkSentence);
    const split = sentences.map(splitLong);
    const parts = split.flat();
    /** @type {import("./trees.js").Tree[]} */
    const trees = new Array(parts.length);
    const lengths = parts.map((tokens) => tokens.length);
    for (const [number, batch] of byLength(lengths, BATCH_WORDS).entries()) {
      if (number && signal) await new Promise((resolve) => setTimeout(resolve)); // lets a worker receive messages
      signal?.throwIfAborted();
      const forms = batch.map((part) => parts[part].map((token) => token.form));
      const scored = await this.#alone(() => this.#network.parse(forms));
      scored.forEach(({ weights, decoded, auxiliary }, k) => {
        const tree = buildTree(parts[batch[k]], decoded, auxiliary, this.#model, this.#language);
        const { calibration } = this.#model;
        if (calibration) calibrate(tree, decoded, weights, auxiliary, this.#model, calibration);
        trees[batch[k]] = tree;
      });
    }
    let next = 0;
    return split.map((own, number) => toRecord(joinTrees(own.map(() => trees[next++])), String(number + 1)));
  }

  /**
   * Wait until the graphs are free: a session of ONNX Runtime runs one batch at a time.
   * @template T @param {() => Promise<T>} run @returns {Promise<T>}
   */
  #alone(run) {
    const result = this.#busy.then(run);
    this.#busy = result.catch(() => undefined);
    return result;
  }
}

/** @param {InputToken[]} tokens @param {number} number */
function checkSentence(tokens, number) {
  const name = `sentence ${number + 1}`;
  if (!tokens.length) throw new InputError(`${name} has no words`);
  if (tokens.length > MAX_WORDS) {
    throw new InputError(`${name} has ${tokens.length} words, expected at most ${MAX_WORDS}; split it`);
  }
  const empty = tokens.findIndex((token) => !token.form);
  if (empty >= 0) throw new InputError(`${name} has an empty word at position ${empty}; leave it out`);
}

/**
 * Split a long sentence into parts; the end of a part is punctuation if possible.
 * @param {InputToken[]} tokens @returns {InputToken[][]}
 */
function splitLong(tokens) {
  if (tokens.length <= WHOLE_WORDS) return [tokens];
  const parts = [];
  for (let begin = 0; begin < tokens.length; ) {
    let end = begin + PART_WORDS;
    if (end < tokens.length) {
      let candidate = end;
      while (candidate > end - PART_WORDS / 2 && !LAST_WORDS.has(tokens[candidate - 1].form)) candidate--;
      if (candidate > end - PART_WORDS / 2) end = candidate;
    }
    parts.push(tokens.slice(begin, end));
    begin = end;
  }
  return parts;
}

/** @param {unknown} value */
function describe(value) {
  return value === null ? "null" : Array.isArray(value) ? "a list" : typeof value;
}
