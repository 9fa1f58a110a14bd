import assert from "node:assert/strict";
import { test } from "node:test";

import { ArcWeights, arborescence, decode } from "../src/decode.js";

/** Return a function that gives the same numbers between 0 and 1 for the same seed. @param {number} seed */
function random(seed) {
  return () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed / 2147483648;
  };
}

/** Yield all trees over n words with one word on the root, as columns. @param {number} n @returns {Generator<number[]>} */
function* trees(n) {
  const heads = new Array(n).fill(0);
  const isTree = () => {
    if (heads.filter((head) => head === 0).length !== 1) return false;
    return heads.every((_, word) => {
      let column = word + 1;
      for (let step = 0; step <= n && column; step++) column = heads[column - 1];
      return column === 0;
    });
  };
  for (let code = 0; code < (n + 1) ** n; code++) {
    for (let word = 0, left = code; word < n; word++, left = Math.floor(left / (n + 1))) heads[word] = left % (n + 1);
    if (isTree()) yield heads.slice();
  }
}

test("the best tree is the best of all trees", () => {
  const next = random(1);
  for (let round = 0; round < 300; round++) {
    const n = 1 + (round % 5);
    const weights = Float64Array.from({ length: n * (n + 1) }, () => -10 * next() ** 2);
    /** @param {ArrayLike<number>} heads */
    const weight = (heads) => Array.from(heads).reduce((sum, column, word) => sum + weights[word * (n + 1) + column], 0);
    const best = Math.max(...Array.from(trees(n), weight));
    assert(Math.abs(weight(arborescence(weights, n)) - best) < 1e-9);
  }
});

test("labels are scored only where they matter, and the tree is still the best one", () => {
  const next = random(2);
  const levels = [1, 1, 2].map((level, label) => ({ labels: [`L${label}`], level }));
  const model = /** @type {import("../src/model.js").Model} */ (
    /** @type {unknown} */ ({ levels, consistent: false, penalties: [0, 0, 0] })
  );
  for (let round = 0; round < 300; round++) {
    const n = 1 + (round % 5);
    const arcs = Float64Array.from({ length: n * (n + 1) }, () => -6 * next() ** 2);
    const rows = Array.from(arcs, () => Float32Array.from(levels, () => -3 * next()));
    const weights = new ArcWeights(n, (word, column) => arcs[word * (n + 1) + column]);
    let asked = 0;
    const search = decode(weights, model);
    let step = search.next();
    for (; !step.done; step = search.next()) {
      for (const arc of step.value) weights.store(arc, rows[arc]);
      asked += step.value.length;
    }
    const { heads } = /** @type {import("../src/decode.js").Decoded} */ (step.value);
    /** @param {ArrayLike<number>} columns */
    const weight = (columns) =>
      Array.from(columns).reduce((sum, column, word) => {
        const arc = word * (n + 1) + column;
        return sum + arcs[arc] + Math.max(...rows[arc]);
      }, 0);
    const best = Math.max(...Array.from(trees(n), weight));
    assert(Math.abs(weight(heads.map((head) => head + 1)) - best) < 1e-5);
    assert(asked <= n * n);
  }
});

test("scores that are infinite or not a number still give a tree", () => {
  const weights = new ArcWeights(3, (word) => [NaN, Infinity, -Infinity][word]);
  const found = arborescence(weights.bounds, 3);
  assert.equal(Array.from(found).filter((column) => column === 0).length, 1);
});
