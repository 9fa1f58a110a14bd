/** Calibrated confidences of constituents and trees: src/discotree/decoding/trees.py explains the features. */

import { DECISIVE, FEATURES, LOGARITHM_COUNT } from "./model.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./model.js").Calibration} Calibration */
/** @typedef {import("./trees.js").Tree} Tree */
/** @typedef {import("./decode.js").Decoded} Decoded */
/** @typedef {import("./decode.js").ArcWeights} ArcWeights */

const LEAST = 1e-6; // smaller probabilities are set to this one
const LOG_LEAST = Math.log(LEAST);
const MAX_LOGIT = 30;
const MARGIN = 1e-3; // between a probability and 0 or 1

/** Return the bounded logarithm of a probability; NaN counts as improbable. @param {number} probability */
function log(probability) {
  return Math.log(Math.min(probability > LEAST ? probability : LEAST, 1));
}

/** @param {number} logarithm */
function bounded(logarithm) {
  return Math.min(logarithm > LOG_LEAST ? logarithm : LOG_LEAST, 0);
}

/**
 * Set the confidences of a tree to calibrated ones.
 * @param {Tree} tree @param {Decoded} decoded @param {ArcWeights} weights
 * @param {import("./trees.js").Auxiliary} auxiliary @param {Model} model @param {Calibration} calibration
 */
export function calibrate(tree, decoded, weights, auxiliary, model, calibration) {
  const { n, columns } = weights;
  const { heads } = decoded;
  const arcs = weights.arcs.map((score) => Math.exp(Math.min(score, 0)));
  const chosen = Array.from(heads, (head, word) => arcs[word * columns + head + 1]);
  const label = Array.from(decoded.labelProbability, log);
  const levels = Array.from(decoded.labels, (each) => model.levels[each].level);
  const isCounted = tree.tokens.map(
    ({ tag, form }) => !(tag !== undefined && model.uncountedTags.has(tag)) && !model.uncountedWords.has(form),
  );
  const counted = isCounted.filter(Boolean).length;
  const sentence =
    chosen.reduce((sum, probability, word) => (isCounted[word] ? sum + log(probability) : sum), 0) /
    Math.max(counted, 1);
  const ofFunction = auxiliary.get("function")?.logProbability;
  const ofUnary = auxiliary.get("unary")?.logProbability;
  const covered = new Uint8Array(n);
  /** @type {number[]} */
  const confidences = [];
  for (const node of tree.nodes.slice(1)) {
    covered.fill(0);
    for (const position of node.positions) covered[position] = 1;
    // Of several words whose head is outside, the leftmost is the head of the phrase.
    const top = node.positions.find((word) => heads[word] < 0 || !covered[heads[word]]) ?? node.positions[0];
    /** @type {Record<string, number>} */
    const values = Object.fromEntries(FEATURES.map((name) => [name, 0]));
    const inner = node.positions.filter((word) => isCounted[word]);
    let highest = -1;
    for (const word of inner) if (word !== top && heads[word] === top) highest = Math.max(highest, levels[word]);
    for (let word = 0; word < n; word++) {
      const isMember = covered[word] === 1;
      if (!isCounted[word] && word !== top) continue;
      let inside = 0; // the probability to hang on a word inside
      for (const position of node.positions) inside += arcs[word * columns + position + 1];
      const isUpper = !isMember && heads[word] === top;
      if (word === top) {
        values.head = log(1 - inside);
      } else if (isMember) {
        const held = log(inside);
        values.held = Math.min(values.held, held);
        values.held_all += held;
        if (heads[word] === top && levels[word] === highest) values.label = Math.min(values.label, label[word]);
      } else {
        const closed = log(1 - (isUpper ? inside - chosen[word] : inside));
        values.closed = Math.min(values.closed, closed);
        values.closed_all += closed;
        if (isUpper) values.upper = Math.min(values.upper, label[word]);
      }
    }
    values.outer = label[top];
    values.function = bounded(ofFunction ? ofFunction[top] : 0);
    values.unary = bounded(ofUnary ? ofUnary[top] : 0);
    values.sentence = sentence;
    if (inner.length) {
      for (let word = inner[0]; word < inner[inner.length - 1]; word++) {
        if (isCounted[word] && !covered[word]) values.gap = 1;
      }
    }
    values.size = Math.log(node.positions.length);
    values.words = Math.log(n);
    values.single = node.positions.length === 1 ? 1 : 0;
    values.chain = node.children.length === 1 ? 1 : 0;
    node.confidence = sigmoid(curve(logitOf(values, node.label, calibration), calibration.curve));
    confidences.push(node.confidence);
  }
  tree.nodes[0].confidence = 1; // the root covers all words, so it is always correct
  tree.confidence = expectedF1(confidences, calibration);
}

/** @param {Record<string, number>} values @param {string} label @param {Calibration} calibration */
function logitOf(values, label, calibration) {
  const weakest = Math.exp(Math.min(...DECISIVE.map((name) => values[name])));
  let sum = (calibration.labels.get(label) ?? 0) + calibration.bias + logit(weakest) * calibration.weights.weakest;
  FEATURES.forEach((name, k) => {
    if (k >= LOGARITHM_COUNT) {
      sum += values[name] * calibration.weights[name];
    } else {
      const logarithm = Math.min(values[name], 0);
      sum += logarithm * calibration.weights[name] - Math.sqrt(-logarithm) * calibration.weights[`${name}_root`];
    }
  });
  return sum;
}

/** @param {number[]} confidences @param {Calibration} calibration */
function expectedF1(confidences, calibration) {
  const count = confidences.length;
  if (!count) return calibration.empty;
  const { mean, least, mean_log: meanLog, count: ofCount } = calibration.treeWeights;
  const average = confidences.reduce((sum, each) => sum + each, 0) / count;
  const logs = confidences.reduce((sum, each) => sum + Math.log(Math.max(each, MARGIN)), 0) / count;
  const lowest = confidences.reduce((lower, each) => Math.min(lower, each), 1);
  const sum =
    logit(average) * mean +
    Math.log(Math.max(lowest, MARGIN)) * least +
    logs * meanLog +
    Math.log(count) * ofCount;
  return sigmoid(sum + calibration.treeBias);
}

/** Map a logit by an increasing piecewise linear curve, which continues with a slope of 1 at both ends.
 * @param {number} logit @param {[number, number][]} pairs */
function curve(logit, pairs) {
  const within = Math.min(Math.max(logit, pairs[0][0]), pairs[pairs.length - 1][0]);
  let k = 1;
  while (k < pairs.length - 1 && pairs[k][0] < within) k++;
  const [[x0, y0], [x1, y1]] = [pairs[k - 1], pairs[k]];
  return y0 + ((y1 - y0) * (within - x0)) / (x1 - x0) + (logit - within);
}

/** @param {number} probability */
function logit(probability) {
  const clipped = Math.min(Math.max(probability, MARGIN), 1 - MARGIN);
  return Math.log(clipped / (1 - clipped));
}

/** @param {number} logit */
function sigmoid(logit) {
  return 1 / (1 + Math.exp(-Math.min(Math.max(logit, -MAX_LOGIT), MAX_LOGIT)));
}
