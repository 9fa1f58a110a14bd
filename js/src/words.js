/** Words as numbers: vocabulary, characters and sub-words, and the arrays of a batch. */

import { ModelError, messageOf } from "./errors.js";
import { ANY_DIGIT } from "./languages/patterns.js";
import { first, size, split } from "./strings.js";

/** @typedef {import("./model.js").Model} Model */

const WORD_START = "▁"; // stands for the space in front of a word
const MAX_PIECES = 64; // per token; the others are ignored
const UNKNOWN_PIECE = 0;
const UNKNOWN_CHAR = 1;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}]/gu;
const ALPHANUMERIC = /[\p{L}\p{N}]/u;

/**
 * Sub-word pieces, their log-probabilities and their vectors. The vectors of pieces that words of the language hardly have
 * lie in a file of their own, which is loaded when a text has one of them: few sentences do.
 */
export class Subwords {
  /** @type {Promise<void> | undefined} */
  #others;

  /**
   * @param {Uint8Array<ArrayBuffer>} bytes a safetensors file @param {string} where
   * @param {() => Promise<Uint8Array<ArrayBuffer>>} loadOthers loads the file with the remaining vectors
   */
  constructor(bytes, where, loadOthers) {
    this.where = where;
    this.loadOthers = loadOthers;
    const tensors = readTensors(bytes, where);
    const pieces = new TextDecoder().decode(tensors.get("pieces", "U8")).split("\n");
    /** @type {ArrayLike<number>} */
    this.scores = tensors.float32("scores");
    this.scale = tensors.float32("scale");
    this.values = tensors.int8("values");
    const count = pieces.length;
    const known = this.scale.length; // pieces that have their vectors here
    this.size = this.values.length / known;
    if (this.scores.length !== count || known > count || !Number.isInteger(this.size) || !this.size) {
      throw new ModelError(`${where}: the numbers of pieces, scores and vectors differ`);
    }
    this.ids = new Map(pieces.map((piece, id) => [piece, id]));
    this.ids.delete(""); // the unknown piece
    this.longest = pieces.reduce((longest, piece) => Math.max(longest, size(piece)), 0);
    this.unknownScore = Array.from(this.scores).reduce((least, score) => Math.min(least, score), Infinity) - 10;
  }

  /** Load the remaining vectors if some words need them. @param {string[][]} sentences */
  async prepare(sentences) {
    const isRare = (/** @type {number} */ piece) => piece >= this.scale.length;
    if (sentences.some((forms) => forms.some((form) => this.pieces(form).some(isRare)))) await this.complete();
  }

  /** Load the remaining vectors, if there are any. */
  complete() {
    if (this.scale.length === this.scores.length) return Promise.resolve();
    this.#others ??= this.loadOthers()
      .then((bytes) => this.#add(bytes))
      .catch((error) => {
        this.#others = undefined; // the next text tries again
        throw error;
      });
    return this.#others;
  }

  /** @param {Uint8Array<ArrayBuffer>} bytes */
  #add(bytes) {
    const tensors = readTensors(bytes, this.where);
    const [scale, values] = [tensors.float32("scale"), tensors.int8("values")];
    if (this.scale.length + scale.length !== this.scores.length || values.length !== scale.length * this.size) {
      throw new ModelError(`${this.where}: the numbers of pieces and vectors differ`);
    }
    const [allScales, allValues] = [new Float32Array(this.scores.length), new Int8Array(this.scores.length * this.size)];
    allScales.set(this.scale);
    allScales.set(scale, this.scale.length);
    allValues.set(this.values);
    allValues.set(values, this.values.length);
    this.scale = allScales;
    this.values = allValues;
  }

  /** Return the most probable pieces of a token, at least one. @param {string} form */
  pieces(form) {
    let text = first(form, MAX_PIECES * this.longest).normalize("NFKC").replace(HIDDEN, "");
    text = split(text).join(WORD_START);
    if (ALPHANUMERIC.test(text)) text = WORD_START + text; // punctuation follows a word without a space
    const pieces = this.#best(Array.from(text)).slice(0, MAX_PIECES);
    return pieces.length ? pieces : [UNKNOWN_PIECE];
  }

  /** Find the most probable pieces by dynamic programming over their ends. @param {string[]} text */
  #best(text) {
    const n = text.length;
    const score = new Float64Array(n + 1).fill(-Infinity);
    const start = new Int32Array(n + 1); // of the last piece
    const last = new Int32Array(n + 1); // its id
    score[0] = 0;
    for (let begin = 0; begin < n; begin++) {
      const before = score[begin];
      if (before + this.unknownScore > score[begin + 1]) {
        score[begin + 1] = before + this.unknownScore;
        start[begin + 1] = begin;
        last[begin + 1] = UNKNOWN_PIECE;
      }
      let piece = "";
      for (let end = begin + 1; end <= n && end <= begin + this.longest; end++) {
        piece += text[end - 1];
        const id = this.ids.get(piece);
        if (id !== undefined && before + this.scores[id] > score[end]) {
          score[end] = before + this.scores[id];
          start[end] = begin;
          last[end] = id;
        }
      }
    }
    const pieces = [];
    for (let end = n; end > 0; end = start[end]) pieces.push(last[end]);
    return pieces.reverse();
  }

  /**
   * Write the features of a word: the vector of its first piece, and the mean over all pieces.
   * @param {string} form @param {Float32Array} target @param {number} at
   */
  write(form, target, at) {
    const { size: width, values, scale } = this;
    const pieces = this.pieces(form);
    for (let k = 0; k < width; k++) {
      let sum = 0;
      for (const piece of pieces) sum += Math.fround(values[piece * width + k] * scale[piece]);
      target[at + k] = values[pieces[0] * width + k] * scale[pieces[0]];
      target[at + width + k] = sum / pieces.length;
    }
  }
}

/** @param {Uint8Array<ArrayBuffer>} bytes @param {string} where */
function readTensors(bytes, where) {
  /** @type {Record<string, {dtype?: unknown, data_offsets?: unknown} | undefined>} */
  let header;
  let start = 0;
  try {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    start = 8 + Number(view.getBigUint64(0, true));
    if (start > bytes.length) throw new Error("the file is cut off");
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  } catch (error) {
    throw new ModelError(`${where}: not a safetensors file: ${messageOf(error)}`);
  }
  /** @param {string} name @param {string} dtype */
  const get = (name, dtype) => {
    const entry = header?.[name];
    const [begin, end] = Array.isArray(entry?.data_offsets) ? entry.data_offsets : [];
    const inside = Number.isInteger(begin) && Number.isInteger(end) && 0 <= begin && begin <= end;
    if (entry?.dtype !== dtype || !inside || start + end > bytes.length) {
      throw new ModelError(`${where}: ${name}: expected an array of ${dtype}`);
    }
    return bytes.subarray(start + begin, start + end);
  };
  /** @param {string} name */
  const float32 = (name) => {
    const part = get(name, "F32");
    if (part.length % 4) throw new ModelError(`${where}: ${name}: the file is cut off`);
    const floats = new Float32Array(part.slice().buffer); // a copy, because it may not be aligned
    if (!floats.every(Number.isFinite)) throw new ModelError(`${where}: ${name}: expected finite numbers`);
    return floats;
  };
  /** @param {string} name */
  const int8 = (name) => {
    const part = get(name, "I8");
    return new Int8Array(part.buffer, part.byteOffset, part.length);
  };
  return { get, float32, int8 };
}

/**
 * @typedef {object} Batch
 * @property {number} sentences B
 * @property {number} words N, of the longest sentence
 * @property {Record<string, {type: "int64" | "float32", data: BigInt64Array | Float32Array, dims: number[]}>} inputs
 */

/**
 * Return the input of the network for some sentences, padded on the right.
 * @param {string[][]} sentences @param {Model} model @param {Subwords | undefined} subwords
 * @returns {Batch}
 */
export function makeBatch(sentences, model, subwords) {
  const count = sentences.length;
  const longest = sentences.reduce((most, forms) => Math.max(most, forms.length), 0);
  /** @type {Map<string, number>} */
  const distinct = new Map();
  const lengths = integers(count);
  const words = integers(count * longest);
  const form = integers(count * longest);
  const features = new Float32Array(subwords ? count * longest * 2 * subwords.size : 0);
  const written = new Map();
  sentences.forEach((forms, row) => {
    lengths.set(row, forms.length);
    forms.forEach((surface, column) => {
      const word = surface.normalize("NFC");
      const cell = row * longest + column;
      let number = distinct.get(word);
      if (number === undefined) distinct.set(word, (number = distinct.size));
      form.set(cell, number);
      words.set(cell, model.words.get(word.replace(ANY_DIGIT, "0")) ?? 0);
      if (!subwords) return;
      const width = 2 * subwords.size;
      const same = written.get(number);
      if (same === undefined) {
        subwords.write(word, features, cell * width);
        written.set(number, cell);
      } else {
        features.copyWithin(cell * width, same * width, (same + 1) * width);
      }
    });
  });
  /** @type {Batch["inputs"]} */
  const inputs = { lengths: lengths.tensor(count) };
  if (model.wordVectors) inputs.words = words.tensor(count, longest);
  if (model.characters) {
    const rows = Array.from(distinct.keys(), (word) => Array.from(first(word, model.maxChars)));
    const widest = rows.reduce((most, row) => Math.max(most, row.length), 1);
    const chars = integers(rows.length * widest);
    rows.forEach((row, number) => {
      row.forEach((char, k) => chars.set(number * widest + k, model.chars.get(char) ?? UNKNOWN_CHAR));
    });
    inputs.chars = chars.tensor(rows.length, widest);
    inputs.form = form.tensor(count, longest);
  }
  if (subwords) {
    inputs.subwords = { type: "float32", data: features, dims: [count, longest, 2 * subwords.size] };
  }
  return { sentences: count, words: longest, inputs };
}

/** Return an array of 64-bit integers that is written by its lower halves, which is faster than BigInt. @param {number} length */
function integers(length) {
  const data = new BigInt64Array(length);
  const halves = new Int32Array(data.buffer);
  return {
    /** @param {number} index @param {number} value */
    set: (index, value) => {
      halves[2 * index] = value;
    },
    /** @param {number[]} dims */
    tensor: (...dims) => ({ type: /** @type {const} */ ("int64"), data, dims }),
  };
}

/**
 * Return the numbers of sentences in batches of similar length, at most `most` words each with padding.
 * @param {number[]} lengths @param {number} most
 */
export function byLength(lengths, most) {
  const order = lengths.map((_, number) => number).sort((a, b) => lengths[a] - lengths[b] || a - b);
  /** @type {number[][]} */
  const batches = [];
  let batch = /** @type {number[]} */ ([]);
  for (const number of order) {
    if (batch.length && (batch.length + 1) * lengths[number] > most) {
      batches.push(batch);
      batch = [];
    }
    batch.push(number);
  }
  if (batch.length) batches.push(batch);
  return batches;
}
