import assert from "node:assert/strict";
import { test } from "node:test";

import { isScript, lemmasOf } from "../src/lemmas.js";

const RULES = {
  scripts: ["l0+", "l3+s", "l1+len;ge>", "l2+;ö>a", "k2+;ä>a", "=zijn", "c0+", "l1+len", "k0+"].map((script) => [script]),
  endings: new Map([
    ["n", [new Map([["", 0], ["zen", 1], ["dum", 3]]), new Map([["", 8], ["user", 4], ["^den", 6]])]],
    ["ww", [new Map([["", 0], ["eld", 2], ["^ben", 5], ["elt", 7]]), new Map()]],
  ]),
  particles: new Set(["op"]),
};
const KNOWN = new Map([["maken", 1]]);

/** @param {string} sentence words with tags and functions: "belt/ww/hd" @param {number[]} [heads] */
function lemmas(sentence, heads) {
  const tokens = sentence.split(" ").map((token) => token.split("/"));
  const column = (/** @type {number} */ k) => tokens.map((token) => token[k] ?? "--");
  const rules = /** @type {import("../src/lemmas.js").LemmaRules} */ (RULES);
  return lemmasOf(rules, column(0), column(1), column(2), Int32Array.from(heads ?? tokens.map(() => -1)), KNOWN);
}

test("a script makes the lemma of a word", () => {
  assert(RULES.scripts.flat().every(isScript));
  for (const wrong of ["", "x1+", "l", "l1", "=", "l1+a;b", "l99999+"]) assert(!isScript(wrong), wrong);
  assert.deepEqual(lemmas("huizen/n Häuser/n löndum/n opgebeld/ww ben/ww"), ["huis", "Haus", "land", "opbellen", "zijn"]);
});

test("of several scripts, one whose lemma is known holds", () => {
  RULES.scripts.push(["l2+en", "l3+ken"]);
  RULES.endings.get("ww")?.[0].set("akte", RULES.scripts.length - 1);
  assert.deepEqual(lemmas("maakte/ww raakte/ww"), ["maaken", "raaken"]);
  RULES.scripts[RULES.scripts.length - 1] = ["l2+en", "l4+ken"];
  assert.deepEqual(lemmas("maakte/ww raakte/ww"), ["maken", "raaken"]);
});

test("a word without a rule, or one that its script does not fit, is its own lemma", () => {
  assert.deepEqual(lemmas("Huizen/x $um/x dum/n eld/ww Den/n"), ["Huizen", "um", "dum", "eld", "Den"]);
});

test("a separated particle belongs to the lemma of its verb", () => {
  assert.deepEqual(lemmas("Zij/vnw belt/ww hem/vnw op/vz/svp", [1, -1, 1, 1])[1], "opbellen");
  assert.deepEqual(lemmas("Zij/vnw belt/ww hem/vnw af/vz/svp op/vz/svp", [1, -1, 1, 1, 1])[1], "bellen");
  assert.deepEqual(lemmas("Zij/vnw belt/ww hem/vnw op/vz/mod", [1, -1, 1, 1])[1], "bellen");
});
