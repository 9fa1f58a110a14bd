/** The network: two graphs that ONNX Runtime runs, and the scores that come out of them. */

import { decode, ArcWeights } from "./decode.js";
import { ModelError, messageOf } from "./errors.js";
import { makeBatch } from "./words.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./words.js").Subwords} Subwords */
/** @typedef {import("onnxruntime-common").InferenceSession} Session */
/** @typedef {import("onnxruntime-common").Tensor} Tensor */
/** @typedef {Pick<typeof import("onnxruntime-common"), "InferenceSession" | "Tensor" | "env">} Runtime */

/**
 * @typedef {object} Scored
 * @property {ArcWeights} weights
 * @property {import("./decode.js").Decoded} decoded
 * @property {import("./trees.js").Auxiliary} auxiliary
 */

const PROJECTED = 1 << 21; // most numbers that the labeler returns at once

/**
 * Let ONNX Runtime load a graph.
 * @param {Runtime} runtime @param {Uint8Array} bytes @param {string} name @param {string} where
 */
export async function openSession(runtime, bytes, name, where) {
  try {
    return await runtime.InferenceSession.create(bytes, { logSeverityLevel: 3 });
  } catch (error) {
    throw new ModelError(`${where}: ONNX Runtime cannot load the ${name}: ${messageOf(error)}`);
  }
}

export class Network {
  /**
   * @param {Runtime} runtime @param {Session} network @param {Session} labeler @param {Model} model
   * @param {Subwords | undefined} subwords
   */
  constructor(runtime, network, labeler, model, subwords) {
    this.runtime = runtime;
    this.network = network;
    this.labeler = labeler;
    this.model = model;
    this.subwords = subwords;
  }

  /** Free the memory of the graphs. */
  async release() {
    await this.network.release();
    await this.labeler.release();
  }

  /**
   * Run a graph, and check the type and the shape of what is used of its outputs.
   * @param {Session} session @param {string} name @param {import("./words.js").Batch["inputs"]} inputs
   */
  async #run(session, name, inputs) {
    /** @type {Record<string, Tensor>} */
    const feeds = {};
    for (const input of session.inputNames) {
      const array = inputs[input];
      if (!array) throw new ModelError(`the ${name} has an unknown input ${input}`);
      feeds[input] = new this.runtime.Tensor(array.type, array.data, array.dims);
    }
    let outputs;
    try {
      outputs = await session.run(feeds);
    } catch (error) {
      throw new ModelError(`ONNX Runtime cannot run the ${name}: ${messageOf(error)}`);
    }
    /** @param {string} output @param {"float32" | "int64"} type @param {number[]} dims */
    const get = (output, type, dims) => {
      const tensor = outputs[output];
      if (tensor?.type !== type || tensor.dims.join() !== dims.join()) {
        const found = tensor ? `${tensor.type} ${tensor.dims.join(" · ")}` : "nothing";
        throw new ModelError(`the ${name} gives ${found} as ${output}, expected ${type} ${dims.join(" · ")}`);
      }
      return tensor.data;
    };
    return {
      /** @param {string} output @param {number[]} dims */
      floats: (output, ...dims) => /** @type {Float32Array} */ (get(output, "float32", dims)),
      /** @param {string} output @param {number[]} dims */
      integers: (output, ...dims) => /** @type {BigInt64Array} */ (get(output, "int64", dims)),
    };
  }

  /**
   * Find the best trees of some sentences.
   * @param {string[][]} sentences @returns {Promise<Scored[]>}
   */
  async parse(sentences) {
    const { model } = this;
    await this.subwords?.prepare(sentences);
    const { inputs, words } = makeBatch(sentences, model, this.subwords);
    const count = sentences.length;
    const size = model.labelSize;
    const outputs = await this.#run(this.network, "network", inputs);
    const arcs = outputs.floats("arcs", count, words, words + 1);
    const dependents = outputs.floats("dependents", count, words, size);
    const heads = outputs.floats("heads", count, words + 1, size);
    const auxiliary = Array.from(model.outputs, ([head, names]) => ({
      head,
      classes: outputs.integers(`${head}.classes`, count, words),
      logProbability: outputs.floats(`${head}.log_probability`, count, words),
      most: names.length,
    }));
    const searches = sentences.map((forms, row) => {
      const n = forms.length;
      const start = row * words;
      const weights = new ArcWeights(n, (word, column) => arcs[(start + word) * (words + 1) + column]);
      return {
        weights,
        search: decode(weights, model),
        dependents: dependents.subarray(start * size, (start + n) * size),
        heads: heads.subarray(row * (words + 1) * size, (row * (words + 1) + n + 1) * size),
        /** @type {Map<number, Float32Array>} */
        projected: new Map(), // by column: the weights that labels give the features of a dependent
        auxiliary: new Map(
          auxiliary.map(({ head, classes, logProbability, most }) => [
            head,
            {
              classes: Int32Array.from(classes.subarray(start, start + n), (value) => {
                const number = Number(value);
                if (number < 0 || number >= most) throw new ModelError(`the network gives an unknown class of ${head}`);
                return number;
              }),
              logProbability: Float64Array.from(logProbability.subarray(start, start + n)),
            },
          ]),
        ),
        decoded: /** @type {import("./decode.js").Decoded | undefined} */ (undefined),
      };
    });
    let active = searches.map((search) => ({ search, wanted: /** @type {number[]} */ ([]) }));
    const row = new Float32Array(model.levels.length);
    while (active.length) {
      active = active.filter((each) => {
        const step = each.search.search.next();
        if (step.done) each.search.decoded = step.value;
        else each.wanted = step.value;
        return !step.done;
      });
      await this.#project(active);
      for (const { search, wanted } of active) {
        const { weights, projected } = search;
        for (const arc of wanted) {
          const column = arc % weights.columns;
          const word = (arc - column) / weights.columns;
          const features = search.dependents.subarray(word * size, (word + 1) * size);
          scoreLabels(features, /** @type {Float32Array} */ (projected.get(column)), row);
          weights.store(arc, row);
        }
      }
    }
    return searches.map(({ weights, decoded, auxiliary: own }) => {
      if (!decoded) throw new Error("a search has not ended");
      return { weights, decoded, auxiliary: own };
    });
  }

  /**
   * Compute the weights of all heads that arcs are wanted of, for all sentences together.
   * @param {{search: {weights: ArcWeights, heads: Float32Array, projected: Map<number, Float32Array>}, wanted: number[]}[]} active
   */
  async #project(active) {
    const size = this.model.labelSize;
    const width = size * this.model.levels.length;
    const missing = active.flatMap(({ search, wanted }) => {
      const columns = new Set(wanted.map((arc) => arc % search.weights.columns));
      return [...columns].filter((column) => !search.projected.has(column)).map((column) => ({ search, column }));
    });
    const step = Math.max(1, Math.floor(PROJECTED / width));
    for (let begin = 0; begin < missing.length; begin += step) {
      const part = missing.slice(begin, begin + step);
      const features = new Float32Array(part.length * size);
      part.forEach(({ search, column }, k) => {
        features.set(search.heads.subarray(column * size, (column + 1) * size), k * size);
      });
      const outputs = await this.#run(this.labeler, "labeler", {
        heads: { type: "float32", data: features, dims: [part.length, size] },
      });
      const weights = outputs.floats("weights", part.length, width);
      part.forEach(({ search, column }, k) => {
        search.projected.set(column, weights.subarray(k * width, (k + 1) * width));
      });
    }
  }
}

/**
 * Write the log-probabilities of all labels of one arc.
 * @param {Float32Array} features of the dependent @param {Float32Array} weights features · labels @param {Float32Array} row
 */
function scoreLabels(features, weights, row) {
  const count = row.length;
  const scores = new Float64Array(count);
  for (let k = 0, at = 0; k < features.length; k++) {
    const feature = features[k];
    for (let label = 0; label < count; label++, at++) scores[label] += feature * weights[at];
  }
  let most = -Infinity;
  for (let label = 0; label < count; label++) if (scores[label] > most) most = scores[label];
  let sum = 0;
  for (let label = 0; label < count; label++) sum += Math.exp(scores[label] - most);
  const rest = most + Math.log(sum);
  for (let label = 0; label < count; label++) row[label] = scores[label] - rest;
}
