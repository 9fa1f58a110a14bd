/**
 * Scores → heads and labels: the most probable tree with one word on the root. The functions are those of
 * src/discotree/decoding/decode.py, for one sentence each. They are generators because labels are scored only where they
 * can matter: a generator yields the arcs whose labels it needs, and continues when `ArcWeights.store` has got them.
 *
 * A sentence has n words. An arc is a number, word · (n + 1) + column; column 0 is the dummy root, column j + 1 word j.
 */

import { rerank } from "./gaps.js";

/** @typedef {Generator<number[], T, void>} Search @template T */

const IMPOSSIBLE = -1e9; // the weight of an arc to avoid at all costs: far below any sum of log-probabilities
const MAX_SEARCHES = 6; // before the labels of all arcs of a sentence are scored
const RIVAL = 0.25; // a head this much less probable, in log-probability, may still win because of its label
const MAX_KEPT = 1 << 14; // most arcs of one request whose scores of all labels are stored

/** Replace infinity and NaN, so that scores can be added and compared. @param {number} score */
export function finite(score) {
  return Math.abs(score) < -IMPOSSIBLE ? score : IMPOSSIBLE;
}

/** Return a finite score as a log-probability again. @param {number} score */
export function logOf(score) {
  return score > IMPOSSIBLE ? score : -Infinity;
}

/** The weights of all arcs of a sentence: log p(head) + log p(best label | head), or log p(head) as an upper bound. */
export class ArcWeights {
  /**
   * @param {number} n
   * @param {(word: number, column: number) => number} arc log-probabilities of heads
   */
  constructor(n, arc) {
    this.n = n;
    this.columns = n + 1;
    const size = n * this.columns;
    this.arcs = new Float64Array(size); // finite, but -Infinity for a word on itself
    for (let word = 0, k = 0; word < n; word++) {
      for (let column = 0; column <= n; column++, k++) {
        this.arcs[k] = column === word + 1 ? -Infinity : finite(arc(word, column));
      }
    }
    this.bounds = this.arcs.slice();
    this.known = new Uint8Array(size); // whether labels were scored
    this.labels = new Float64Array(size); // log-probability of the best label
    this.names = new Int32Array(size); // the best label
    /** @type {Map<number, Float32Array>} */
    this.rows = new Map(); // by arc: the scores of all labels
    this.keeps = true;
  }

  /**
   * Store the scores of all labels of an arc; the array belongs to the caller.
   * @param {number} arc @param {Float32Array} row
   */
  store(arc, row) {
    let best = 0;
    for (let label = 1; label < row.length; label++) if (row[label] > row[best]) best = label;
    if (!this.known[arc]) {
      this.known[arc] = 1;
      this.names[arc] = best;
      this.labels[arc] = finite(row[best]);
      this.bounds[arc] = this.arcs[arc] + this.labels[arc];
    }
    if (this.keeps) this.rows.set(arc, row.map(finite));
  }

  /** Score the labels of arcs that have not been scored yet. @param {number[]} arcs @returns {Search<void>} */
  *score(arcs) {
    const unknown = arcs.filter((arc) => !this.known[arc]);
    if (!unknown.length) return;
    this.keeps = unknown.length <= MAX_KEPT;
    yield unknown;
    this.keeps = true;
  }

  /** Return the finite scores of all labels of arcs. @param {number[]} arcs @returns {Search<Float32Array[]>} */
  *rowsOf(arcs) {
    const missing = [...new Set(arcs)].filter((arc) => !this.rows.has(arc));
    if (missing.length) yield missing;
    return arcs.map((arc) => /** @type {Float32Array} */ (this.rows.get(arc)));
  }

  /** Return the first column of the largest bound of a word, from a column on. @param {number} word @param {number} from */
  bestColumn(word, from) {
    const row = word * this.columns;
    let best = from;
    for (let column = from + 1; column < this.columns; column++) {
      if (this.bounds[row + column] > this.bounds[row + best]) best = column;
    }
    return best;
  }
}

/**
 * @typedef {object} Decoded
 * @property {Int32Array} heads positions, -1 for the dummy root
 * @property {Int32Array} labels
 * @property {Float64Array} arcProbability p(head) of the chosen heads
 * @property {Float64Array} labelProbability p(label | head) of the chosen labels
 */

/**
 * Find the best tree.
 * @param {ArcWeights} weights @param {import("./model.js").Model} model @returns {Search<Decoded>}
 */
export function* decode(weights, model) {
  const { n, columns } = weights;
  let heads = yield* exact(weights);
  /** @param {Int32Array} chosen */
  const arcsOf = (chosen) => Array.from(chosen, (column, word) => word * columns + column);
  yield* weights.score(arcsOf(heads));
  /** @type {Int32Array} */
  let labels = Int32Array.from(arcsOf(heads), (arc) => weights.names[arc]);
  if (model.consistent) yield* agree(weights, heads, labels, model.levels);
  const arcScores = new Float64Array(n);
  const labelScores = new Float64Array(n);
  const scoreChosen = function* () {
    const arcs = arcsOf(heads);
    const others = arcs.filter((arc, word) => labels[word] !== weights.names[arc]);
    yield* weights.rowsOf(others);
    arcs.forEach((arc, word) => {
      arcScores[word] = weights.arcs[arc];
      const row = labels[word] === weights.names[arc] ? undefined : weights.rows.get(arc);
      labelScores[word] = row ? row[labels[word]] : weights.labels[arc];
    });
  };
  yield* scoreChosen();
  if (model.penalties.some((penalty) => penalty)) {
    const scores = arcScores.map((score, word) => score + labelScores[word]);
    const tree = yield* rerank(weights, heads.map((column) => column - 1), labels, scores, model);
    heads = tree.heads.map((head) => head + 1);
    labels = tree.labels;
    yield* weights.score(arcsOf(heads));
    yield* scoreChosen();
  }
  return {
    heads: heads.map((column) => column - 1),
    labels,
    arcProbability: arcScores.map((score) => Math.exp(logOf(score))),
    labelProbability: labelScores.map((score) => Math.exp(logOf(score))),
  };
}

/**
 * Let all dependents that join the same phrase agree on one label: the one of their level with the largest sum.
 * @param {ArcWeights} weights @param {Int32Array} heads columns @param {Int32Array} labels are changed
 * @param {import("./model.js").Level[]} levels
 * @returns {Search<void>}
 */
function* agree(weights, heads, labels, levels) {
  /** @type {Map<string, number[]>} */
  const phrases = new Map();
  for (let word = 0; word < weights.n; word++) {
    if (heads[word] === 0) continue; // the root's labels name no phrase
    const key = `${heads[word]} ${levels[labels[word]].level}`;
    const members = phrases.get(key);
    if (members) members.push(word);
    else phrases.set(key, [word]);
  }
  for (const members of phrases.values()) {
    if (members.every((word) => labels[word] === labels[members[0]])) continue;
    const rows = yield* weights.rowsOf(members.map((word) => word * weights.columns + heads[word]));
    const { level } = levels[labels[members[0]]];
    let best = -1;
    let most = -Infinity;
    for (let label = 0; label < levels.length; label++) {
      if (levels[label].level !== level) continue;
      const votes = rows.reduce((sum, row) => sum + row[label], 0);
      if (best < 0 || votes > most) [best, most] = [label, votes];
    }
    for (const word of members) labels[word] = best;
  }
}

/**
 * Find the tree of the largest weight with one word on the root; returns columns.
 *
 * A search over upper bounds that ends in a tree without any guess has found the best one.
 * @param {ArcWeights} weights @returns {Search<Int32Array>}
 */
function* exact(weights) {
  const { n, columns, bounds } = weights;
  let heads = yield* bestHeads(weights);
  if (isAcyclic(heads)) return heads;
  for (let search = 0; search <= MAX_SEARCHES; search++) {
    heads = arborescence(bounds, n);
    const guessed = [];
    for (let word = 0; word < n; word++) if (!weights.known[word * columns + heads[word]]) guessed.push(word);
    if (!guessed.length) break;
    const arcs = [];
    if (search === MAX_SEARCHES - 1) {
      for (let arc = 0; arc < bounds.length; arc++) if (weights.arcs[arc] > -Infinity) arcs.push(arc);
    } else {
      for (const word of guessed) {
        // Score more and more of the arcs that may replace a wrong guess.
        const least = bounds[word * columns + heads[word]] - RIVAL * 4 ** search;
        for (let column = 0; column < columns; column++) {
          if (bounds[word * columns + column] >= least) arcs.push(word * columns + column);
        }
      }
    }
    yield* weights.score(arcs);
  }
  return heads;
}

/**
 * Return the best heads of all words but the one that gains most from the root. If they form a tree, it is the best.
 * @param {ArcWeights} weights @returns {Search<Int32Array>}
 */
function* bestHeads(weights) {
  const { n, columns, arcs, bounds } = weights;
  const choose = () => {
    const heads = new Int32Array(n);
    let onRoot = 0;
    let most = -Infinity;
    for (let word = 0; word < n; word++) {
      heads[word] = weights.bestColumn(word, 1);
      const gain = bounds[word * columns] - bounds[word * columns + heads[word]];
      if (gain > most) [onRoot, most] = [word, gain];
    }
    heads[onRoot] = 0;
    return { heads, onRoot };
  };
  // First score the labels of the arcs that are best without labels. The word on the root needs no other arc.
  const { heads, onRoot } = choose();
  yield* weights.score(Array.from(heads, (column, word) => word * columns + column));
  // Then score those of all arcs that may still be better, or as good.
  const least = Array.from(heads, (column, word) => bounds[word * columns + column]);
  const leastGain = least[onRoot] - bounds[onRoot * columns + weights.bestColumn(onRoot, 1)];
  const wanted = [];
  let isDisputed = false;
  for (let word = 0; word < n; word++) {
    if (word === onRoot) continue;
    const row = word * columns;
    if (bounds[row] - least[word] >= leastGain) {
      isDisputed = true;
      wanted.push(row);
    }
    for (let column = 1; column < columns; column++) {
      if (bounds[row + column] >= least[word] && arcs[row + column] > -Infinity) wanted.push(row + column);
    }
  }
  if (isDisputed) {
    for (let column = 0; column < columns; column++) {
      if (arcs[onRoot * columns + column] > -Infinity) wanted.push(onRoot * columns + column);
    }
  }
  yield* weights.score(wanted);
  return choose().heads;
}

/** Return whether all heads lead to the root. @param {Int32Array} heads columns */
function isAcyclic(heads) {
  return !findCycles([0, ...heads]).length;
}

/**
 * Return the heads, as columns, of the best tree with one word on the root: Chu-Liu/Edmonds without recursion.
 *
 * Every node takes its best arc from another word; its gain is the difference to hanging on the root. No tree with one
 * root child is better than all the best arcs together plus the largest gain, so if these arcs form a tree, it is the
 * best one. If not, each cycle is contracted into one node, and the search continues. Words count from 1 in here.
 * @param {Float64Array} weights n · (n + 1) @param {number} n
 */
export function arborescence(weights, n) {
  const size = n + 1;
  const table = new Float64Array(size * size); // weights of arcs between the remaining nodes, a row per dependent
  table.set(weights, size);
  for (let k = 0; k < size; k++) table[k * size + k] = -Infinity;
  const arcs = Int32Array.from(table, (_, index) => index); // the words' arc behind each weight
  const heads = new Int32Array(size); // the best heads other than the root
  const best = new Float64Array(size);
  const gain = new Float64Array(size);
  /** @param {number} row */
  const takeBest = (row) => {
    let head = 1;
    for (let column = 2; column < size; column++) {
      if (table[row * size + column] > table[row * size + head]) head = column;
    }
    heads[row] = head;
    best[row] = table[row * size + head];
    gain[row] = table[row * size] - best[row];
  };
  for (let row = 1; row < size; row++) takeBest(row);
  gain[0] = -Infinity;

  const node = Array.from({ length: size }, (_, row) => row); // in each row: a word, or a contracted cycle
  const parent = new Array(size).fill(0); // by node: the node that it was contracted into
  const chosen = new Array(size).fill(0); // by node: the arc between words that it took
  let pointers;
  for (;;) {
    pointers = Array.from(heads);
    let top = 0;
    for (let row = 1; row < size; row++) if (gain[row] > gain[top]) top = row;
    pointers[top] = 0;
    const cycles = findCycles(pointers);
    if (!cycles.length) break;
    for (const cycle of cycles) {
      for (const row of cycle) {
        chosen[node[row]] = arcs[row * size + pointers[row]];
        parent[node[row]] = parent.length;
      }
      const row = cycle[0]; // the contracted cycle takes this row
      node[row] = parent.length;
      parent.push(0);
      chosen.push(0);
      // Entering the cycle costs the arc that closed it.
      const entering = new Float64Array(size);
      const enteringArcs = new Int32Array(size);
      for (let column = 0; column < size; column++) {
        let at = cycle[0];
        let most = table[at * size + column] - best[at];
        for (const other of cycle) {
          const weight = table[other * size + column] - best[other];
          if (weight > most) [at, most] = [other, weight];
        }
        entering[column] = most;
        enteringArcs[column] = arcs[at * size + column];
      }
      table.set(entering, row * size);
      arcs.set(enteringArcs, row * size);
      for (let other = 0; other < size; other++) {
        let at = cycle[0];
        for (const column of cycle) if (table[other * size + column] > table[other * size + at]) at = column;
        table[other * size + row] = table[other * size + at];
        arcs[other * size + row] = arcs[other * size + at];
      }
      table[row * size + row] = -Infinity;
      const isGone = new Set(cycle.slice(1));
      for (const column of isGone) for (let other = 0; other < size; other++) table[other * size + column] = -Infinity;
      for (let other = 0; other < size; other++) if (isGone.has(heads[other])) heads[other] = row;
      for (const gone of isGone) [heads[gone], gain[gone]] = [0, -Infinity];
      takeBest(row);
    }
  }
  if (parent.length === size) return Int32Array.from(pointers.slice(1));
  for (let row = 1; row < size; row++) if (!parent[node[row]]) chosen[node[row]] = arcs[row * size + pointers[row]];
  return expand(size, parent, chosen);
}

/**
 * Return the cycles of a function over 0..n, where 0 is the end of every path.
 * @param {number[]} pointers @returns {number[][]}
 */
function findCycles(pointers) {
  const cycles = [];
  const seen = new Int32Array(pointers.length);
  seen[0] = -1;
  for (let start = 1; start < pointers.length; start++) {
    let node = start;
    while (!seen[node]) {
      seen[node] = start;
      node = pointers[node];
    }
    if (seen[node] !== start) continue;
    const cycle = [node];
    for (let next = pointers[node]; next !== node; next = pointers[next]) cycle.push(next);
    cycles.push(cycle);
  }
  return cycles;
}

/**
 * Return the heads of the words. An arc into a contracted cycle replaces those of the nodes around its word.
 * @param {number} size @param {number[]} parent @param {number[]} chosen
 */
function expand(size, parent, chosen) {
  const heads = new Int32Array(size);
  const entered = new Uint8Array(parent.length);
  for (let node = parent.length - 1; node > 0; node--) {
    if (entered[node]) continue; // contracted last, expanded first
    let word = Math.floor(chosen[node] / size);
    heads[word] = chosen[node] % size;
    while (word !== node) {
      entered[word] = 1;
      word = parent[word];
    }
  }
  return heads.slice(1);
}
