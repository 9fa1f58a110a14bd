/** Functions over strings that give the same results as those of Python, which counts characters where JavaScript counts
 * UTF-16 code units. */

import { DIGIT, SPACES } from "./languages/patterns.js";

const ASTRAL = /[\ud800-\udfff]/;
const LETTER = /^\p{L}$/u;
const LOWER = /\p{Lowercase}/u;
const UPPER = /\p{Uppercase}/u;
const TITLE = /\p{Lt}/u;
const BLANK = new RegExp(`^${SPACES.source}$`, "u");
const NOT_BLANK = new RegExp(`[^${SPACES.source.slice(1, -2)}]`, "u");

/** Return the number of characters. @param {string} text */
export function size(text) {
  return ASTRAL.test(text) ? Array.from(text).length : text.length;
}

/** Return the first characters of a text. @param {string} text @param {number} count */
export function first(text, count) {
  return text.length > count && ASTRAL.test(text) ? Array.from(text).slice(0, count).join("") : text.slice(0, count);
}

/** Return the last characters of a text. @param {string} text @param {number} count */
export function last(text, count) {
  return text.length > count && ASTRAL.test(text) ? Array.from(text).slice(-count).join("") : text.slice(-count);
}

/**
 * Return the index of the character that is `count` characters after an index, or before it if negative.
 * @param {string} text @param {number} index @param {number} count
 */
export function move(text, index, count) {
  if (count < 0) return index - last(text.slice(Math.max(0, index + 2 * count), index), -count).length;
  return index + first(text.slice(index, index + 2 * count), count).length;
}

/** Return the words between whitespace. @param {string} text */
export function split(text) {
  return text.split(SPACES).filter((word) => word);
}

/** Return whether all characters are whitespace, and there are any. @param {string} text */
export function isSpace(text) {
  return BLANK.test(text);
}

/** Return the index of the first character that is not whitespace, or -1. @param {string} text */
export function firstVisible(text) {
  return text.search(NOT_BLANK);
}

/** @param {string} text @param {string} characters */
export function stripStart(text, characters) {
  let begin = 0;
  while (begin < text.length && characters.includes(text[begin])) begin++;
  return text.slice(begin);
}

/** @param {string} text @param {string} characters */
export function stripEnd(text, characters) {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1])) end--;
  return text.slice(0, end);
}

/** Return a text without distinctions of case. @param {string} text */
export function casefold(text) {
  let folded = "";
  for (const character of text) folded += character === "ı" ? character : character.toUpperCase().toLowerCase();
  return folded;
}

/** Return the first character, or "". @param {string} text */
export function head(text) {
  const code = text.codePointAt(0);
  return code === undefined ? "" : String.fromCodePoint(code);
}

/** Return whether a character is a letter. @param {string} character */
export function isLetter(character) {
  return LETTER.test(character);
}

/** Return whether a text has cased characters, all of them lowercase. @param {string} text */
export function isLower(text) {
  return LOWER.test(text) && !UPPER.test(text) && !TITLE.test(text);
}

/** Return whether a text has cased characters, all of them uppercase. @param {string} text */
export function isUpper(text) {
  return UPPER.test(text) && !LOWER.test(text) && !TITLE.test(text);
}

/** Return whether a text contains a digit. @param {string} text */
export function hasDigit(text) {
  return DIGIT.test(text);
}
