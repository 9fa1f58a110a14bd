/**
 * The content of a model's folder, checked: every value that the rest of the package relies on. A folder may come from
 * anywhere, so a wrong value is a ModelError and never a crash later on.
 */

import { ModelError } from "./errors.js";
import { splitChain, splitLevel } from "./labels.js";
import { isScript } from "./lemmas.js";

/** @typedef {import("./files.js").FileInfo} FileInfo */
/** @typedef {{labels: string[], level: number}} Level */
/** @typedef {{labels: string[], tags: string[], functions: string[]}} Inventory */

/**
 * @typedef {object} Calibration
 * @property {number} bias
 * @property {Record<string, number>} weights
 * @property {Map<string, number>} labels
 * @property {[number, number][]} curve
 * @property {number} treeBias
 * @property {Record<string, number>} treeWeights
 * @property {number} empty
 */

/**
 * @typedef {object} Model
 * @property {string} name
 * @property {string} language
 * @property {Inventory} inventory
 * @property {number} maxChars
 * @property {boolean} characters whether the network reads the characters of words
 * @property {boolean} wordVectors whether it reads words as a whole
 * @property {boolean} subwords whether it reads sub-words
 * @property {Map<string, number>} words
 * @property {Map<string, number>} chars
 * @property {Level[]} levels the phrases and the level that each arc label stands for
 * @property {number} labelSize the number of label features, with the constant 1
 * @property {Map<string, string[]>} outputs the classes of the auxiliary heads
 * @property {string[][]} unaries the phrases of each class of the head "unary", from top to bottom
 * @property {Map<string, string>} headFunctions
 * @property {string} root
 * @property {import("./lemmas.js").LemmaRules | undefined} lemmas
 * @property {boolean} consistent
 * @property {number[]} penalties the gap penalty of each arc label
 * @property {Calibration | undefined} calibration
 * @property {Set<string>} uncountedTags
 * @property {Set<string>} uncountedWords
 * @property {Map<string, FileInfo>} files
 */

const FORMAT = 1;
export const INDEX = "model.json";
export const NETWORK = "network.onnx.gz";
export const LABELER = "labeler.onnx.gz";
export const SUBWORDS = "subwords.safetensors.gz";
export const RARE_SUBWORDS = "rare-subwords.safetensors.gz";
const MAX_SYMBOL = 1000; // characters of a label, tag, function or morphology
const MAX_CHAIN = 100; // phrases that one label may stand for
const MAX_FILE = 1 << 30;
const LOGARITHMS = "closed closed_all held held_all head label outer upper function unary sentence".split(" ");
const OTHERS = "gap size words single chain".split(" ");
export const FEATURES = [...LOGARITHMS, ...OTHERS];
export const LOGARITHM_COUNT = LOGARITHMS.length;
export const DECISIVE = "closed held head label unary".split(" "); // a constituent is wrong if one is wrong
const CONSTITUENT = [...LOGARITHMS, ...LOGARITHMS.map((name) => `${name}_root`), "weakest", ...OTHERS];
const TREE = ["mean", "least", "mean_log", "count"];

/**
 * Check the content of model.json.
 * @param {unknown} value @param {string} where @returns {Model}
 */
export function readModel(value, where) {
  const check = new Check(where);
  const table = check.object(value, "the file");
  const { format } = table;
  if (format !== FORMAT) {
    throw new ModelError(`${where}: format ${String(format).slice(0, 20)}, but this version of discotree reads ${FORMAT}`);
  }
  const root = check.symbol(table.root, "root");
  if (!root) throw check.error("root", "a label");
  const labels = check.symbols(table.labels, "labels");
  if (!labels.length) throw check.error("labels", "at least one label");
  /** @type {Map<string, string[]>} */
  const outputs = new Map();
  for (const [head, symbols] of Object.entries(check.object(table.outputs, "outputs"))) {
    outputs.set(head, check.symbols(symbols, `outputs.${head}`));
  }
  const unaries = outputs.get("unary") ?? [];
  for (const symbol of [...labels, ...unaries]) {
    if (symbol.split("+").length > MAX_CHAIN) throw check.error("labels", `chains of at most ${MAX_CHAIN} phrases`);
  }
  const levels = labels.map((label) => splitLevel(label, root));
  const penalties = check.numbers(table.gap_penalties, "gap_penalties");
  const files = new Map();
  for (const [name, entry] of Object.entries(check.object(table.files, "files"))) {
    const file = check.object(entry, `files.${name}`);
    const sha256 = check.string(file.sha256, `files.${name}.sha256`);
    if (!/^[0-9a-f]{64}$/.test(sha256)) throw check.error(`files.${name}.sha256`, "64 hexadecimal digits");
    files.set(name, { bytes: check.integer(file.bytes, `files.${name}.bytes`, 1, MAX_FILE), sha256 });
  }
  const needed = [NETWORK, LABELER, ...(files.has(SUBWORDS) ? [RARE_SUBWORDS] : [])];
  for (const name of needed) if (!files.has(name)) throw check.error("files", name);
  const inventory = check.object(table.inventory, "inventory");
  return {
    name: check.string(table.name, "name"),
    language: check.string(table.language, "language"),
    inventory: {
      labels: check.symbols(inventory.labels, "inventory.labels"),
      tags: check.symbols(inventory.tags, "inventory.tags"),
      functions: check.symbols(inventory.functions, "inventory.functions"),
    },
    maxChars: check.integer(table.max_chars, "max_chars", 1, 1000),
    characters: check.boolean(table.characters, "characters"),
    wordVectors: check.boolean(table.word_vectors, "word_vectors"),
    subwords: files.has(SUBWORDS),
    words: numbered(check.strings(table.words, "words"), 1),
    chars: numbered(Array.from(check.string(table.chars, "chars")), 2),
    levels,
    labelSize: check.integer(table.label_size, "label_size", 1, 10_000) + 1,
    outputs,
    unaries: unaries.map((chain) => (chain ? splitChain(chain, root) : [])),
    headFunctions: new Map(
      Object.entries(check.object(table.head_functions, "head_functions")).map(([pair, name]) => [
        pair,
        check.symbol(name, "head_functions"),
      ]),
    ),
    root,
    lemmas: table.lemmas === undefined ? undefined : readLemmas(table.lemmas, check),
    consistent: check.boolean(table.consistent, "consistent"),
    penalties: levels.map((level) => level.labels.reduce((sum, label) => sum + (penalties.get(label) ?? 0), 0)),
    calibration: table.calibration === null ? undefined : readCalibration(table.calibration, check),
    uncountedTags: new Set(check.strings(table.uncounted_tags, "uncounted_tags")),
    uncountedWords: new Set(check.strings(table.uncounted_words, "uncounted_words")),
    files,
  };
}

/** @param {unknown} value @param {Check} check @returns {import("./lemmas.js").LemmaRules} */
function readLemmas(value, check) {
  const table = check.object(value, "lemmas");
  const scripts = check.array(table.scripts, "lemmas.scripts").map((rule) => check.symbols(rule, "lemmas.scripts"));
  if (!scripts.every((rule) => rule.length && rule.every(isScript))) throw check.error("lemmas.scripts", "edit scripts");
  /** @param {unknown} rules @param {string} name */
  const endingsOf = (rules, name) => {
    const endings = check.numbers(rules, name);
    const isValid = (/** @type {number} */ number) => Number.isInteger(number) && number >= 0 && number < scripts.length;
    if (endings.size && !(endings.has("") && [...endings.values()].every(isValid))) {
      throw check.error(name, 'numbers of scripts, also for ""');
    }
    return endings;
  };
  /** @type {import("./lemmas.js").LemmaRules["endings"]} */
  const endings = new Map();
  for (const [tag, pair] of Object.entries(check.object(table.endings, "lemmas.endings"))) {
    const name = `lemmas.endings.${tag}`;
    const [small, capital, ...more] = check.array(pair, name);
    const rules = [endingsOf(small, name), endingsOf(capital, name)];
    if (more.length || !(rules[0].size + rules[1].size)) throw check.error(name, "two objects, not both empty");
    endings.set(tag, [rules[0], rules[1]]);
  }
  return { scripts, endings, particles: new Set(check.strings(table.particles, "lemmas.particles")) };
}

/** @param {unknown} value @param {Check} check @returns {Calibration} */
function readCalibration(value, check) {
  const table = check.object(value, "calibration");
  const pairs = check.array(table.curve, "calibration.curve").map((pair) => {
    const [before, after, ...more] = check.array(pair, "calibration.curve");
    if (more.length) throw check.error("calibration.curve", "pairs of numbers");
    /** @type {[number, number]} */
    const numbers = [check.number(before, "calibration.curve"), check.number(after, "calibration.curve")];
    return numbers;
  });
  const rises = pairs.every(([x, y], k) => k === 0 || (pairs[k - 1][0] < x && pairs[k - 1][1] <= y));
  if (pairs.length < 2 || !rises) throw check.error("calibration.curve", "increasing numbers");
  return {
    bias: check.number(table.bias, "calibration.bias"),
    weights: check.named({ weakest: 0, ...check.object(table.weights, "calibration.weights") }, "calibration.weights", CONSTITUENT),
    labels: check.numbers(table.labels, "calibration.labels"),
    curve: pairs,
    treeBias: check.number(table.tree_bias, "calibration.tree_bias"),
    treeWeights: check.named(table.tree_weights, "calibration.tree_weights", TREE),
    empty: check.number(table.empty, "calibration.empty"),
  };
}

/** @param {string[]} symbols @param {number} first */
function numbered(symbols, first) {
  return new Map(symbols.map((symbol, index) => [symbol, first + index]));
}

class Check {
  /** @param {string} where */
  constructor(where) {
    this.where = where;
  }

  /** @param {string} name @param {string} expected */
  error(name, expected) {
    return new ModelError(`${this.where}: ${name}: expected ${expected}`);
  }

  /** @param {unknown} value @param {string} name @returns {Record<string, unknown>} */
  object(value, name) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw this.error(name, "an object");
    return /** @type {Record<string, unknown>} */ (value);
  }

  /** @param {unknown} value @param {string} name @returns {unknown[]} */
  array(value, name) {
    if (!Array.isArray(value)) throw this.error(name, "a list");
    return value;
  }

  /** @param {unknown} value @param {string} name */
  string(value, name) {
    if (typeof value !== "string") throw this.error(name, "a string");
    return value;
  }

  /** @param {unknown} value @param {string} name */
  symbol(value, name) {
    const symbol = this.string(value, name);
    if (symbol.length > MAX_SYMBOL) throw this.error(name, `at most ${MAX_SYMBOL} characters`);
    return symbol;
  }

  /** @param {unknown} value @param {string} name */
  strings(value, name) {
    return this.array(value, name).map((item) => this.string(item, name));
  }

  /** @param {unknown} value @param {string} name */
  symbols(value, name) {
    return this.array(value, name).map((item) => this.symbol(item, name));
  }

  /** @param {unknown} value @param {string} name */
  boolean(value, name) {
    if (typeof value !== "boolean") throw this.error(name, "true or false");
    return value;
  }

  /** @param {unknown} value @param {string} name */
  number(value, name) {
    if (typeof value !== "number" || !Number.isFinite(value)) throw this.error(name, "a number");
    return value;
  }

  /** @param {unknown} value @param {string} name @param {number} least @param {number} most */
  integer(value, name, least, most) {
    const number = this.number(value, name);
    if (!Number.isInteger(number) || number < least || number > most) {
      throw this.error(name, `a whole number from ${least} to ${most}`);
    }
    return number;
  }

  /** @param {unknown} value @param {string} name */
  numbers(value, name) {
    const entries = Object.entries(this.object(value, name));
    return new Map(entries.map(([key, number]) => [key, this.number(number, `${name}.${key}`)]));
  }

  /** @param {unknown} value @param {string} name @param {string[]} keys */
  named(value, name, keys) {
    const numbers = this.numbers(value, name);
    if (numbers.size !== keys.length || !keys.every((key) => numbers.has(key))) {
      throw this.error(name, `the keys ${keys.join(", ")}`);
    }
    return Object.fromEntries(numbers);
  }
}
