import assert from "node:assert/strict";
import { test } from "node:test";

import { Language } from "../src/text.js";

/** @param {string} code @param {string} text */
async function tokens(code, text) {
  const language = await Language.load(code);
  assert(language);
  return language.sentences(text).map((words) => words.map((word) => word.form).join(" "));
}

test("sentences and tokens follow the treebank of the language", async () => {
  assert.deepEqual(await tokens("nl", "Hij komt a.s. dinsdag. 't Wordt zo'n 20 graden."), [
    "Hij komt a.s. dinsdag .",
    "'t Wordt zo'n 20 graden .",
  ]);
  assert.deepEqual(await tokens("de", "Am 3. Oktober geht's los. Wer kommt?"), [
    "Am 3. Oktober geht 's los .",
    "Wer kommt ?",
  ]);
  assert.deepEqual(await tokens("en", 'He cannot (really) say "no". Don\'t.'), [
    "He can not -LRB- really -RRB- say `` no '' .",
    "Do n't .",
  ]);
  assert.deepEqual(await tokens("is", "Hann kom 17. júní. Hvað sagði hún?"), ["Hann kom 17. júní .", "Hvað sagði hún ?"]);
});

test("offsets count UTF-16 code units, and invisible characters belong to no form", async () => {
  const text = "👍🏽 Go\u00adud 😀! Ja.";
  const language = await Language.load("nl");
  const words = language?.sentences(text).flat() ?? [];
  assert.deepEqual(
    words.map(({ start, end }) => text.slice(start, end)),
    ["👍🏽", "Go\u00adud", "😀", "!", "Ja", "."],
  );
  assert.equal(words[1].form, "Goud");
});

test("marks that Unicode treats as equivalent to others end sentences, and direction marks are invisible", async () => {
  assert.deepEqual(await tokens("grc", "τί λέγεις\u037e ἔρχομαι\u0387 σὺ \u2067μένεις\u2069."), [
    "τί λέγεις ;",
    "ἔρχομαι ·",
    "σὺ μένεις .",
  ]);
});

test("pictures, addresses and foreign words have tags of their own", async () => {
  const language = await Language.load("nl");
  const tags = ["😀", "www.voorbeeld.nl", "Привет", "•", "huis", "x"].map((form) => language?.tagOf(form));
  assert.deepEqual(tags, ["spec", "spec", "spec", "let", "", ""]);
});

test("an unknown language has no rules, whatever its name", async () => {
  for (const code of ["xx", "", "../index", "patterns"]) assert.equal(await Language.load(code), undefined);
});

test("time grows with the length of the text, not with its square", async () => {
  const language = await Language.load("en");
  for (const unit of ["a. ", "(", '" ', "a.b.", "😀", "- ", "!?", "1 000 ", "a\n", ":) "]) {
    const begin = performance.now();
    language?.sentences(unit.repeat(40_000));
    assert(performance.now() - begin < 20_000, JSON.stringify(unit));
  }
});
