/** Lemmas by the tag and the ending of a word: src/discotree/encoding/lemmas.py documents the rules and their scripts. */

import { first, isUpper, head, size, stripEnd, stripStart } from "./strings.js";

/** @typedef {Map<string, number>} Endings the number of a rule by an ending, or by ^ and the whole word */
/** @typedef {{scripts: string[][], endings: Map<string, [Endings, Endings]>, particles: Set<string>}} LemmaRules */

const SCRIPT = /^(?:=[^]+|[lck][0-9]{1,4}\+[^;]*(?:;(?:[^;<>]+>[^;<>]*|[^;<>]+<[^;<>]*))*)$/u;
const MAX_ENDING = 8;
const PARTICLE_TAG = "PTKVZ";
const PARTICLE_FUNCTIONS = ["svp", "SVP"];

/** Return whether a string is a script. @param {string} script */
export function isScript(script) {
  return SCRIPT.test(script);
}

/** @param {string} form */
function baseOf(form) {
  return (stripStart(stripEnd(form, "$"), "$") || form).normalize("NFC");
}

/** @param {string} text */
function capitalised(text) {
  const initial = head(text);
  return initial.toUpperCase() + text.slice(initial.length);
}

/**
 * Return the lemma that a script makes of a word; "" if it does not fit.
 * @param {string} script @param {string} form
 */
function applyScript(script, form) {
  if (script.startsWith("=")) return script.slice(1);
  const [ending, ...edits] = script.slice(1).split(";");
  const plus = ending.indexOf("+");
  const cut = Number(ending.slice(0, plus));
  let stem = baseOf(form);
  if (script[0] !== "k") stem = stem.toLowerCase();
  const length = size(stem);
  if (cut > length) return "";
  stem = first(stem, length - cut);
  for (const edit of edits) {
    const isLast = edit.includes(">");
    const sign = edit.indexOf(isLast ? ">" : "<");
    const old = edit.slice(0, sign);
    const start = isLast ? stem.lastIndexOf(old) : stem.indexOf(old);
    if (start < 0) return "";
    stem = stem.slice(0, start) + edit.slice(sign + 1) + stem.slice(start + old.length);
  }
  const lemma = stem + ending.slice(plus + 1);
  return script[0] === "c" ? capitalised(lemma) : lemma;
}

/**
 * Return the script of a rule that holds for a word, and the lemma that it makes, "" if it does not fit.
 * @param {string[]} scripts @param {string} form @param {Map<string, number>} known
 */
function choose(scripts, form, known) {
  const lemma = applyScript(scripts[0], form);
  const base = baseOf(form);
  const same = [base, base.toLowerCase()];
  if (!known.has(lemma) && !same.includes(lemma)) {
    for (const script of scripts.slice(1)) {
      const other = applyScript(script, form);
      if (known.has(other) && !same.includes(other)) return { script, lemma: other };
    }
  }
  return { script: scripts[0], lemma };
}

/**
 * Return the lemma of a word, without its separated particle.
 * @param {LemmaRules} rules @param {string} form @param {string} tag @param {Map<string, number>} known
 */
function lemmaOf(rules, form, tag, known) {
  const base = baseOf(form);
  const own = rules.endings.get(tag);
  if (!own) return base;
  const [small, capital] = own;
  const isCapital = isUpper(head(form));
  const endings = isCapital ? (capital.size ? capital : small) : small.size ? small : capital;
  const word = base.toLowerCase();
  let number = endings.get(`^${word}`);
  const characters = Array.from(word);
  for (let start = Math.max(0, characters.length - MAX_ENDING); number === undefined; start++) {
    number = endings.get(characters.slice(start).join("")); // "" is an ending of every word
  }
  const { script, lemma } = choose(rules.scripts[number], form, known);
  return lemma || (script[0] === "l" ? word : base);
}

/**
 * Return the lemmas of a sentence; verbs have those of their separated particles in front.
 * @param {LemmaRules} rules @param {string[]} forms @param {string[]} tags @param {string[]} functions
 * @param {Int32Array} heads @param {Map<string, number>} known the words of the vocabulary
 */
export function lemmasOf(rules, forms, tags, functions, heads, known) {
  const lemmas = forms.map((form, word) => lemmaOf(rules, form, tags[word], known));
  const joined = new Set();
  forms.forEach((form, word) => {
    const verb = heads[word];
    const isParticle = tags[word] === PARTICLE_TAG || PARTICLE_FUNCTIONS.includes(functions[word]);
    if (verb < 0 || !isParticle || joined.has(verb) || !(tags[verb] === "ww" || tags[verb].startsWith("V"))) return;
    joined.add(verb); // of several particles, only the first counts
    const particle = form.toLowerCase();
    if (rules.particles.has(particle)) lemmas[verb] = particle + lemmas[verb];
  });
  return lemmas;
}
