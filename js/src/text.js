/**
 * Sentence boundaries and tokens, by the conventions of a language: the same rules as `discotree.text` in Python, whose
 * modules segmentation.py and streams.py explain them. Offsets count UTF-16 code units: a token is
 * `text.slice(start, end)`.
 */

import * as p from "./languages/patterns.js";
import {
  casefold,
  firstVisible,
  hasDigit,
  head,
  isLetter,
  isLower,
  isSpace,
  isUpper,
  last,
  move,
  size,
  split,
  stripEnd,
  stripStart,
} from "./strings.js";

/**
 * @typedef {object} Convention
 * @property {string} treebank
 * @property {string[]} nonFinalAbbreviations
 * @property {string[]} finalAbbreviations
 * @property {string[]} abbreviationsBeforeNumbers
 * @property {string[]} sentenceOpeners
 * @property {boolean} capitalNouns
 * @property {boolean} ordinals
 * @property {string} marksBeforeLowercase
 * @property {string[]} unfinishedWords
 * @property {number} colonMinWords
 * @property {string} colonMarks
 * @property {boolean} colonBeforeLowercase
 * @property {boolean} splitHyphens
 * @property {string} contractionMark
 * @property {boolean} pennQuotes
 * @property {Record<string, string>} forms
 * @property {string} pictureTag
 * @property {string} addressTag
 * @property {string} foreignTag
 * @property {string} bulletTag
 * @property {string[]} kinds
 * @property {RegExp} token
 */

/** @typedef {{form: string, start: number, end: number}} Word */

const LANGUAGES = ["de", "de-early", "en", "en-wsj", "es", "fo", "fro", "grc", "is", "nl", "nl-alpino", "yi"];
const MAX_PARAGRAPH = 1 << 18; // characters; longer paragraphs are split
const BLOCK = 1 << 16;
const WORD_REACH = 40; // characters of a word that are looked at
const SENTENCE_REACH = 400; // characters that are searched for a bracket or a quote
const MAX_TITLE_SHARE = 0.6;
const MAX_HEADLINE = 50;
const MAX_ENTRY_WORDS = 3;
const MAX_GREETING_WORDS = 4;

const BULLETS = new Set(p.BULLETS);
const MARKERS = new Set(p.MARKERS);
const FINAL = new Set(p.FINAL);
const ALPHABETIC = /^\p{L}+$/u;
const ASCII = /^[\0-\x7f]*$/;
const ASCII_WORD = /^[0-9A-Za-z]+$/;

/**
 * Yield the matches of a global expression in `text.slice(0, end)` from `start` on; it may look back before `start`.
 * @param {RegExp} pattern @param {string} text @param {number} [start] @param {number} [end]
 * @returns {Generator<RegExpExecArray>}
 */
function* matches(pattern, text, start = 0, end = text.length) {
  const part = end < text.length ? text.slice(0, end) : text;
  for (let from = start; ; ) {
    pattern.lastIndex = from; // set every time: others may use the expression between two matches
    const match = pattern.exec(part);
    if (!match) return;
    from = pattern.lastIndex;
    yield match;
  }
}

/**
 * Match a sticky expression at an index.
 * @param {RegExp} pattern @param {string} text @param {number} index
 */
function matchAt(pattern, text, index) {
  pattern.lastIndex = index;
  return pattern.exec(text);
}

/** The rules of one language. */
export class Language {
  /** @param {Convention} convention */
  constructor(convention) {
    this.rules = convention;
    this.nonFinal = new Set(convention.nonFinalAbbreviations);
    this.final = new Set(convention.finalAbbreviations);
    this.beforeNumbers = new Set(convention.abbreviationsBeforeNumbers);
    this.openers = new Set(convention.sentenceOpeners);
    this.unfinished = new Set(convention.unfinishedWords);
  }

  /**
   * Return the rules of a language, or undefined if there are none.
   * @param {string} code
   */
  static async load(code) {
    if (!LANGUAGES.includes(code)) return undefined;
    const module = await import(`./languages/${code}.js`);
    return new Language(module.default);
  }

  /**
   * Return the sentences of a text.
   * @param {string} text
   * @returns {Word[][]}
   */
  sentences(text) {
    const result = [];
    for (const [begin, end] of paragraphs(text)) {
      for (const words of this.#sentences(text.slice(begin, end), begin)) if (words.length) result.push(words);
    }
    return result;
  }

  /**
   * Split a text as if it had no invisible characters; the offsets are those of the text as it is.
   * @param {string} text @param {number} start
   * @returns {Generator<Word[]>}
   */
  *#sentences(text, start) {
    if (!p.INVISIBLE.test(text)) {
      yield* this.#visibleSentences(text, start);
      return;
    }
    /** @type {number[]} */
    const offsets = [];
    let visible = "";
    for (let offset = 0; offset < text.length; offset++) {
      if (p.INVISIBLE.test(text[offset])) continue;
      offsets.push(offset);
      visible += text[offset];
    }
    for (const words of this.#visibleSentences(visible, 0)) {
      yield words.map((word) => ({
        form: word.form,
        start: start + offsets[word.start],
        end: start + offsets[word.end - 1] + 1,
      }));
    }
  }

  /** @param {string} text @param {number} start @returns {Generator<Word[]>} */
  *#visibleSentences(text, start) {
    text = text.replaceAll("\u037e", ";").replaceAll("\u0387", "·"); // Greek marks that Unicode says are the same
    for (const [begin, end] of this.#standaloneLines(text)) {
      const part = text.slice(begin, end);
      let from = 0;
      for (const stop of [...this.#boundaries(part), part.length]) {
        yield this.#tokens(part, from, stop, start + begin);
        from = stop;
      }
    }
  }

  // Tokens

  /**
   * Return the tokens of the sentence `text.slice(start, end)`, with `offset` added to their offsets.
   * @param {string} text @param {number} start @param {number} end @param {number} offset
   */
  #tokens(text, start, end, offset) {
    const { token, kinds, forms, contractionMark } = this.rules;
    /** @type {Word[]} */
    const result = [];
    let mark = "";
    for (const match of matches(token, text, start, end)) {
      let form = mark + match[0];
      const begin = match.index;
      const stop = begin + match[0].length;
      const kind = kinds.find((_, index) => match[index + 1] !== undefined);
      mark = kind === "half" ? contractionMark : "";
      const before = result.at(-1);
      if (kind === "stop") {
        if (before && before.end === begin + offset && this.#isAbbreviation(result, text, stop, end)) {
          result[result.length - 1] = { form: before.form + form, start: before.start, end: stop + offset };
          continue;
        }
      } else if (kind === "quote") {
        form = begin === 0 || isSpace(text[begin - 1]) || "([{-–—/".includes(text[begin - 1]) ? "``" : "''";
      } else if (kind === "half") {
        form += mark;
      } else if (kind === "form") {
        form = forms[form];
      } else if (kind === "number") {
        form = split(form).join("");
      }
      result.push({ form, start: begin + offset, end: stop + offset });
    }
    return result;
  }

  /**
   * Return whether the full stop that ends at `stop` belongs to the word before it.
   * @param {Word[]} before @param {string} text @param {number} stop @param {number} end
   */
  #isAbbreviation(before, text, stop, end) {
    const word = before[before.length - 1].form.normalize("NFC");
    const key = casefold(word);
    if (this.final.has(word) || this.final.has(key) || p.DOTTED.test(word)) return true;
    if (matchAt(p.AT_END, text.slice(0, end), stop)) return false;
    if (this.nonFinal.has(word) || this.nonFinal.has(key)) return true;
    return text[stop] === ")" && before.length > 1 && ["(", "-LRB-"].includes(before[before.length - 2].form);
  }

  /**
   * Return the tag of a picture, an address, a bullet or a word in another script; "" for all other tokens.
   * @param {string} form
   */
  tagOf(form) {
    const { foreignTag, bulletTag, pictureTag, addressTag } = this.rules;
    if (ASCII.test(form)) {
      if (form.length === 1 || ASCII_WORD.test(form)) return ""; // nearly all tokens
    } else if (p.FOREIGN.test(form)) {
      return foreignTag;
    } else if (ALPHABETIC.test(form)) {
      return "";
    } else if (BULLETS.has(form)) {
      return bulletTag;
    }
    if (p.PICTURE.test(form)) return pictureTag;
    return p.ADDRESS.test(form) ? addressTag : "";
  }

  // Sentence boundaries

  /**
   * Yield the end of every sentence of a text but the last; whitespace after it belongs to the next sentence.
   * @param {string} text @returns {Generator<number>}
   */
  *#boundaries(text) {
    let start = 0;
    for (const match of matches(this.rules.colonMinWords > 0 ? p.CANDIDATES_WITH_COLONS : p.CANDIDATES, text)) {
      let stop = match.index + match[0].length;
      if (stop <= start) continue; // part of the previous sentence already
      let stray = matchAt(p.STRAY_CLOSING, text, stop);
      if (!stray) {
        const quote = matchAt(p.STRAY_QUOTE, text, stop);
        if (quote && quoteIsOpen(text, stop, quote[1])) stray = quote;
      }
      if (stray) stop += stray[0].length;
      const faces = matchAt(p.STRAY_FACES, text, stop);
      if (faces) stop += faces[0].length;
      const following = matchAt(p.FOLLOWING, text, stop);
      if (following && following[2] && this.#endsSentence(text, start, match, following)) {
        yield stop;
        start = stop;
      }
    }
  }

  /** @param {string} text @param {number} start @param {RegExpExecArray} match @param {RegExpExecArray} following */
  #endsSentence(text, start, match, following) {
    const { capitalNouns, colonBeforeLowercase, colonMarks, colonMinWords, marksBeforeLowercase } = this.rules;
    const [mark] = match;
    const at = match.index;
    const opening = following[1];
    const word = following[2].normalize("NFC");
    const initial = head(word);
    const isLowerCase = isLower(initial) && !(opening.includes("(") && matchAt(p.ITEM, word, 0));
    if (p.INNER.includes(initial) && !MARKERS.has(opening.slice(-1)) && !word.startsWith(",,")) return false;
    if (inBrackets(text, start, following.index)) return false;
    const sentence = text.slice(Math.max(start, move(text, at, -SENTENCE_REACH)), at);
    const before = split(sentence);
    if (":;·".includes(mark)) {
      if (!colonMarks.includes(mark)) return false;
      if (isLowerCase && mark === ":" && !colonBeforeLowercase) return false;
      return before.length >= colonMinWords;
    }
    const kind = head(mark);
    if (!p.STOPS.includes(kind)) return before.length > 0 && isUpper(initial); // a face
    if (
      mark.includes(")") && // mid-sentence (really!)
      ("!?".includes(kind) || capitalNouns || !isUpper(initial)) &&
      !afterSpace(text.slice(start, move(text, start, WORD_REACH))).startsWith("(")
    ) {
      return false;
    }
    const final = before.at(-1);
    const word_before =
      final === undefined ? "" : stripStart(last(final, WORD_REACH), "([{¿¡" + p.QUOTES).normalize("NFC");
    if (before.length < 2 && (!word_before || p.LABEL.test(word_before))) return false;
    if (isLowerCase && [...mark].some((character) => p.CLOSING.includes(character))) return false; // "Ja!" riep hij
    const isCareless = isLowerCase && isLower(head(before[0])); // a writer who uses no capitals
    if (!word_before || kind !== "." || mark[1] === "." || isSpace(sentence.slice(-1))) {
      if (!isLowerCase) return true;
      const isName = mark === "!" && isUpper(head(word_before)); // Yahoo! is
      return "!?".includes(kind) && !isName && (isCareless || marksBeforeLowercase.includes(kind));
    }
    if (isCareless && !this.#isListed(word_before) && !p.SHORTENED.test(word_before)) return true;
    return this.#isFullStop(word_before, word, opening, isLowerCase);
  }

  /** Return whether a word is any abbreviation. @param {string} word */
  #isListed(word) {
    const sets = [this.nonFinal, this.final, this.beforeNumbers];
    const key = casefold(word);
    return sets.some((set) => set.has(word) || set.has(key));
  }

  /**
   * Return whether the full stop after `final` ends the sentence rather than an abbreviation or ordinal.
   * @param {string} final @param {string} word @param {string} opening @param {boolean} isLowerCase
   */
  #isFullStop(final, word, opening, isLowerCase) {
    const { capitalNouns, marksBeforeLowercase, ordinals } = this.rules;
    const key = casefold(final);
    const digit = hasDigit(word);
    const initial = head(word);
    if ([key, final, key.split(/[-–/]/).at(-1) ?? ""].some((each) => this.nonFinal.has(each))) return false;
    if (this.beforeNumbers.has(key) && digit) return false;
    const isFinal = this.final.has(key) || this.final.has(final);
    if (isLowerCase) {
      // Names such as mRNA and p53 begin sentences, and some writers use no capitals at all.
      const isName = size(key) > 1 && (digit || !isLower(word));
      const mayBegin = marksBeforeLowercase.includes(".") && !opening;
      return !isFinal && (isName || (mayBegin && isLower(final) && p.FULL_WORD.test(final)));
    }
    const opens = isUpper(initial) && this.openers.has(casefold(stripEnd(word, ".,;:!?" + p.CLOSING)));
    if (isFinal) return capitalNouns ? opens : isUpper(initial) && ![...opening].some((c) => MARKERS.has(c));
    const isInitial = p.INITIALS.test(final) && (isUpper(head(final)) || capitalNouns);
    return isInitial || (ordinals && p.ORDINAL.test(final)) ? opens : true;
  }

  // Lines

  /**
   * Yield the parts of a paragraph that sentences do not cross; whitespace belongs to the next part.
   * @param {string} text @returns {Generator<[number, number]>}
   */
  *#standaloneLines(text) {
    let begin = 0;
    if (text.includes("\n")) {
      const lines = [...matches(p.LINE, text)].map((match) => new Line(match));
      for (const number of this.#breaks(lines)) {
        yield [begin, lines[number].end];
        begin = lines[number].end;
      }
    }
    yield [begin, text.length];
  }

  /**
   * Yield the numbers of the lines that end a sentence; the last line is not among them.
   * @param {Line[]} lines @returns {Generator<number>}
   */
  *#breaks(lines) {
    if (lines.length < 2) return;
    const layout = new Layout(lines);
    let above = true; // whether only titles stand above the line
    for (let number = 0; number + 1 < lines.length; number++) {
      const line = lines[number];
      const following = lines[number + 1];
      /** @type {boolean} */
      let ends;
      if (following.kind) {
        ends = this.#beginsItem(line, following, layout);
      } else if (line.isRow && following.isRow) {
        ends = true;
      } else if (layout.isWrapped) {
        /** @type {boolean} */
        const isTitle = above && line.size < MAX_TITLE_SHARE * layout.width && !following.isLower;
        ends = isTitle && this.#isWhole(line, following, layout);
      } else {
        const mayEnd = layout.isColumn || !following.isLower || (line.final !== "" && line.final !== ":");
        ends = mayEnd && this.#isWhole(line, following, layout);
      }
      above = above && ends;
      if (ends) yield number;
    }
  }

  /**
   * Return whether a list continues or begins at a line, which might begin with a dash or a number by chance.
   * @param {Line} line @param {Line} following @param {Layout} layout
   */
  #beginsItem(line, following, layout) {
    if (following.kind === "•") return true;
    if (line.final) return this.#isWhole(line, following, layout);
    if (line.kind === following.kind && !".)".includes(line.kind) && !layout.isWrapped) return true;
    if ((layout.items.get(following.kind) ?? 0) < 2 || this.unfinished.has(casefold(line.lastWord))) return false;
    return !layout.isWrapped || line.size + 1 + size(split(following.text)[0]) <= layout.width;
  }

  /**
   * Return whether a line that stands alone says all of something.
   * @param {Line} line @param {Line} following @param {Layout} layout
   */
  #isWhole(line, following, layout) {
    const word = line.lastWord;
    if (line.final) {
      const isOrdinal = this.rules.ordinals && p.LINE_ORDINAL.test(word);
      const isAbbreviation = this.nonFinal.has(word) || this.nonFinal.has(casefold(word));
      return line.final !== "." || !(isOrdinal || isAbbreviation);
    }
    const end = line.text.slice(-1);
    if (end === ",") return !following.isLower && split(line.text).length <= MAX_GREETING_WORDS;
    if (p.UNFINISHED.includes(end) || this.unfinished.has(casefold(word))) return false;
    if (this.rules.capitalNouns && !(layout.isList || layout.isColumn)) {
      return this.openers.has(casefold(stripEnd(following.firstWord, ",:"))); // a capital proves little
    }
    return true;
  }
}

class Line {
  /** @param {RegExpExecArray} match */
  constructor(match) {
    const [text] = match;
    this.start = match.index;
    this.end = match.index + text.length;
    this.text = text;
    this.size = size(text);
    this.kind = ""; // "-", ".", ")" or "•" for an item of a list
    const initial = head(text);
    const second = text[initial.length];
    if (!isLetter(initial) || second === "." || second === ")") {
      const item = matchAt(p.LINE_ITEM, text, 0);
      this.kind = matchAt(p.BULLET, text, 0) ? "•" : item ? item[1] || item[2] : "";
    }
    this.firstWord = stripStart(split(text)[0], p.LINE_OPENING);
    const final = FINAL.has(text.slice(-1)) ? text.slice(-1) : stripEnd(text, p.CLOSING).slice(-1);
    this.final = FINAL.has(final) ? final : ""; // the mark that it ends with
    this.isRow = (text.includes("\t") || text.includes("|") || text.includes("   ")) && p.ROW.test(text);
    this.isLower = !this.kind && isLower(head(this.firstWord));
  }

  get lastWord() {
    const marks = ".!?…:,;" + p.CLOSING + p.QUOTES;
    return stripStart(stripEnd(split(this.text).at(-1) ?? "", marks), marks);
  }
}

/** What the lines of a paragraph have in common. */
class Layout {
  /** @param {Line[]} lines */
  constructor(lines) {
    this.width = lines.reduce((widest, line) => Math.max(widest, line.size), 0);
    /** @type {Map<string, number>} */
    this.items = new Map(); // how many lines are items of a list, by kind
    for (const { kind } of lines) if (kind) this.items.set(kind, (this.items.get(kind) ?? 0) + 1);
    let pairs = 0;
    let longest = 0; // nothing would have fitted there
    let filled = 0;
    let lower = 0;
    for (let number = 0; number + 1 < lines.length; number++) {
      const [a, b] = [lines[number], lines[number + 1]];
      if (b.kind || (a.isRow && b.isRow)) continue;
      pairs++;
      if (a.size === this.width) longest++;
      if (a.size + 1 + size(b.firstWord) > this.width) filled++;
      if (b.isLower && !a.final) lower++;
    }
    filled -= longest;
    const numbers = lines.filter((line) => hasDigit(head(line.text)) && !line.kind).length;
    const comparable = pairs - longest;
    const isFilled = comparable ? 2 * filled > comparable : pairs > 0 && this.width > MAX_HEADLINE;
    const hasAmounts = numbers > 1 && numbers >= lines.length / 3 && (!isFilled || this.width <= MAX_HEADLINE);
    const several = lines.length > 2;
    const isColumn =
      several && (hasAmounts || lines.every((line) => split(line.text).length <= MAX_ENTRY_WORDS)); // 200 g flour
    const isMessage = several && lines.every((line) => line.isLower); // by somebody who uses no capitals
    const continues = lower > 0 && 3 * lower >= pairs && !isMessage;
    this.isWrapped = !isColumn && (isFilled || continues);
    this.isColumn = isColumn || isMessage;
    this.isList = several && !lower && !filled; // every line ends early, and none continues in lowercase
  }
}

/** @param {string} text */
function afterSpace(text) {
  const begin = firstVisible(text);
  return begin < 0 ? "" : text.slice(begin);
}

/** @param {string} text @param {string} character @param {number} start @param {number} end */
function count(text, character, start, end) {
  let found = 0;
  for (let at = text.indexOf(character, start); at >= 0 && at < end; at = text.indexOf(character, at + 1)) found++;
  return found;
}

/**
 * Return whether a bracket is open at `stop` and closes within reach.
 * @param {string} text @param {number} start @param {number} stop
 */
function inBrackets(text, start, stop) {
  const near = text.slice(Math.max(start, move(text, stop, -SENTENCE_REACH)), stop);
  if (count(near, "(", 0, near.length) <= count(near, ")", 0, near.length)) return false;
  const after = text.slice(stop, move(text, stop, SENTENCE_REACH));
  const close = after.indexOf(")");
  return close >= 0 && !after.slice(0, close).includes("(");
}

/**
 * Return whether a quote that `kind` closes is open at `stop`; a straight one between spaces counts in turn.
 * @param {string} text @param {number} stop @param {string} kind
 */
function quoteIsOpen(text, stop, kind) {
  const low = move(text, stop, -2 * SENTENCE_REACH);
  if (kind === "»") {
    const near = text.slice(low, stop);
    return count(near, "«", 0, near.length) > count(near, "»", 0, near.length);
  }
  let isOpen = false;
  for (const quote of matches(p.QUOTE, text, low, stop)) {
    const begins = quote[1] !== undefined || quote.index === 0;
    const ends = quote[2] !== undefined;
    isOpen = begins !== ends ? begins : !isOpen;
  }
  return isOpen;
}

/**
 * Yield the paragraphs of a text. A line of nothing but whitespace ends one; a very long one is split.
 * @param {string} text @returns {Generator<[number, number]>}
 */
function* paragraphs(text) {
  let begin = 0;
  for (const gap of matches(p.PARAGRAPH_BREAK, text)) {
    yield* splitParagraph(text, begin, gap.index);
    begin = gap.index + gap[0].length;
  }
  yield* splitParagraph(text, begin, text.length);
}

/** @param {string} text @param {number} begin @param {number} end @returns {Generator<[number, number]>} */
function* splitParagraph(text, begin, end) {
  while (begin < end) {
    const stop = end - begin > MAX_PARAGRAPH ? splitOffset(text, begin) : end;
    if (firstVisible(text.slice(begin, stop)) >= 0) yield [begin, stop];
    begin = stop;
  }
}

/**
 * Return the offset at which to split a paragraph that is too long: between sentences, words or characters.
 * @param {string} text @param {number} begin
 */
function splitOffset(text, begin) {
  let end = begin + MAX_PARAGRAPH;
  let found = -1;
  for (const match of matches(p.SENTENCE_BREAK, text, end - BLOCK, end)) found = match.index + match[0].length;
  if (found >= 0) return found;
  const part = text.slice(begin, end);
  const space = Math.max(part.lastIndexOf(" "), part.lastIndexOf("\t"), part.lastIndexOf("\n"));
  if (space >= 0) return begin + space + 1;
  const joins = () => /^[\p{M}\u200d\udc00-\udfff]$/u.test(text[end]) || text[end - 1] === "\u200d";
  while (end > begin + 1 && joins()) end--;
  return end;
}
