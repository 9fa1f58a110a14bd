/**
 * Gap penalties: a second search that closes gaps that are not worth their penalty. It is the one of
 * src/discotree/decoding/gap_penalty.py, which explains its steps. Sets of words are bits of a BigInt.
 */

/** @typedef {import("./decode.js").ArcWeights} ArcWeights */
/** @typedef {import("./model.js").Model} Model */
/** @typedef {{head: number, level: number, label: number, first: number, last: number, count: number, members: number[], words: bigint}} Phrase */
/** @typedef {{loss: number, word: number, head: number, level: number, label: number}} Attachment */

const MAX_HEADS = 8; // heads that a word may move to, the most probable ones
const MAX_TRIES = 1000; // steps that are tried for a sentence: bounds the search for untrained networks
const MIN_GAIN = 1e-6; // smaller gains are rounding errors

/**
 * Return the dependents of every word, and the words in an order that puts heads before their dependents. The last
 * list of dependents is that of the dummy root.
 * @param {ArrayLike<number>} heads positions, -1 for the root
 */
export function headsFirst(heads) {
  const n = heads.length;
  /** @type {number[][]} */
  const dependents = Array.from({ length: n + 1 }, () => []);
  for (let word = 0; word < n; word++) dependents[heads[word] < 0 ? n : heads[word]].push(word);
  const order = [...dependents[n]];
  for (let k = 0; k < order.length; k++) for (const dependent of dependents[order[k]]) order.push(dependent);
  return { dependents, order };
}

/** @param {Phrase} phrase */
function hasGap(phrase) {
  return phrase.last - phrase.first + 1 !== phrase.count;
}

/** Return whether a 0 lies between two bits that are 1. @param {bigint} words */
function bitsHaveGap(words) {
  return ((words + (words & -words)) & words) !== 0n;
}

/** @param {bigint} words */
function lowestBit(words) {
  return bitLength(words & -words) - 1;
}

/** @param {bigint} words */
function bitLength(words) {
  return words ? words.toString(2).length : 0;
}

/** The words between the first and the last that are not in the phrase. @param {bigint} words */
function gapsOf(words) {
  return ((1n << BigInt(bitLength(words))) - (words & -words)) & ~words;
}

/** @param {bigint} words @param {number} word */
function has(words, word) {
  return ((words >> BigInt(word)) & 1n) === 1n;
}

/**
 * Return the phrases of a tree, lower ones first; with `masks`, also the bits of their words, and of every word's
 * descendants and itself. If two labels compete for one phrase, the more frequent chain wins, then the leftmost.
 * @param {ArrayLike<number>} heads @param {ArrayLike<number>} labels @param {Model} model @param {boolean} masks
 */
function phrasesOf(heads, labels, model, masks) {
  const { dependents, order } = headsFirst(heads);
  const n = heads.length;
  const first = Int32Array.from({ length: n }, (_, word) => word);
  const last = first.slice();
  const count = new Int32Array(n).fill(1);
  const below = masks ? Array.from({ length: n }, (_, word) => 1n << BigInt(word)) : [];
  /** @type {Phrase[]} */
  const phrases = [];
  for (let k = order.length - 1; k >= 0; k--) {
    const head = order[k];
    if (!dependents[head].length) continue;
    /** @type {Map<number, number[]>} */
    const groups = new Map();
    for (const dependent of dependents[head]) {
      const { level } = model.levels[labels[dependent]];
      const group = groups.get(level);
      if (group) group.push(dependent);
      else groups.set(level, [dependent]);
    }
    for (const level of [...groups.keys()].sort((a, b) => a - b)) {
      const members = /** @type {number[]} */ (groups.get(level));
      for (const member of members) {
        first[head] = Math.min(first[head], first[member]);
        last[head] = Math.max(last[head], last[member]);
        count[head] += count[member];
        if (masks) below[head] |= below[member];
      }
      const label = winner(members, labels, model);
      const words = masks ? below[head] : 0n;
      phrases.push({ head, level, label, first: first[head], last: last[head], count: count[head], members, words });
    }
  }
  return { phrases, below };
}

/** @param {number[]} members @param {ArrayLike<number>} labels @param {Model} model */
function winner(members, labels, model) {
  if (members.every((member) => labels[member] === labels[members[0]])) return labels[members[0]];
  const chains = members.map((member) => model.levels[labels[member]].labels.join("\0"));
  const chain = mostFrequent(chains);
  return labels[members[chains.indexOf(chain)]];
}

/** Return the most frequent string, the first of several. @param {string[]} strings */
export function mostFrequent(strings) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const string of strings) counts.set(string, (counts.get(string) ?? 0) + 1);
  let best = strings[0];
  for (const [string, count] of counts) if (count > /** @type {number} */ (counts.get(best))) best = string;
  return best;
}

/**
 * Return the heads and labels of a better tree, if there is one.
 * @param {ArcWeights} weights @param {Int32Array} heads positions @param {Int32Array} labels
 * @param {Float64Array} scores log-probabilities of the arcs with their labels @param {Model} model
 * @returns {Generator<number[], {heads: Int32Array, labels: Int32Array}, void>}
 */
export function* rerank(weights, heads, labels, scores, model) {
  const climb = new Climb(weights, heads.slice(), labels.slice(), scores.slice(), model);
  while (climb.propose()) {
    const rows = yield* weights.rowsOf(climb.wanted.map(([word, head]) => word * weights.columns + head + 1));
    if (!climb.step(rows)) break;
  }
  return climb;
}

/** The search for one sentence: its current tree, and the steps that may increase the value. */
class Climb {
  /**
   * @param {ArcWeights} weights @param {Int32Array} heads @param {Int32Array} labels @param {Float64Array} scores
   * @param {Model} model
   */
  constructor(weights, heads, labels, scores, model) {
    this.weights = weights;
    this.heads = heads;
    this.labels = labels;
    this.scores = scores;
    this.model = model;
    this.tries = MAX_TRIES; // left
    /** @type {bigint[]} */
    this.below = [];
    /** @type {Map<string, Phrase>} */
    this.phraseAt = new Map();
    /** @type {Map<number, number>} */
    this.limits = new Map(); // by word: the penalties of the gaps that it may close by itself
    /** @type {[Phrase, number[]][]} */
    this.fills = []; // phrases, and the words that fill their gaps
    this.total = 0;
    /** @type {[number, number][]} */
    this.wanted = []; // arcs whose labels are needed
    /** @type {Map<number, number[]>} */
    this.byLevel = new Map(); // the labels of every level
    model.levels.forEach(({ level }, label) => {
      const same = this.byLevel.get(level);
      if (same) same.push(label);
      else this.byLevel.set(level, [label]);
    });
  }

  /** Find the words that may close a gap, and the arcs that they need; return whether there are any. */
  propose() {
    const { phrases } = phrasesOf(this.heads, this.labels, this.model, false);
    if (!phrases.some((phrase) => hasGap(phrase) && this.model.penalties[phrase.label])) return false;
    const masked = phrasesOf(this.heads, this.labels, this.model, true);
    this.below = masked.below;
    this.phraseAt = new Map(masked.phrases.map((phrase) => [`${phrase.head} ${phrase.level}`, phrase]));
    this.limits = new Map();
    this.fills = [];
    this.total = 0;
    for (const phrase of masked.phrases) {
      const penalty = hasGap(phrase) ? this.model.penalties[phrase.label] : 0;
      if (!penalty) continue;
      this.total += penalty;
      const fillers = this.#fillers(gapsOf(phrase.words));
      if (fillers.length > 1) this.fills.push([phrase, fillers]);
      for (const word of new Set([...this.#leavers(phrase), ...this.#joiners(phrase)])) {
        this.limits.set(word, (this.limits.get(word) ?? 0) + penalty);
      }
    }
    const limits = new Map(this.limits);
    for (const [, fillers] of this.fills) for (const word of fillers) limits.set(word, this.total);
    this.wanted = [];
    for (const word of [...limits.keys()].sort((a, b) => a - b)) {
      for (const head of this.#near(word, /** @type {number} */ (limits.get(word)))) this.wanted.push([word, head]);
    }
    return this.wanted.length > 0;
  }

  /** Return the words without which a phrase is contiguous, or gone, or has another label. @param {Phrase} phrase */
  #leavers(phrase) {
    /** @type {number[]} */
    const leavers = [];
    for (let end of [phrase.first, phrase.last]) {
      while (end !== phrase.head) {
        // A word that leaves takes the first word of the phrase along, or the last.
        if (!bitsHaveGap(phrase.words & ~this.below[end])) leavers.push(end);
        end = this.heads[end];
      }
    }
    const { members } = phrase;
    if (members.length === 1 || members.some((member) => this.labels[member] !== this.labels[members[0]])) {
      leavers.push(...members);
    }
    return leavers;
  }

  /** Return the words that make a phrase contiguous if they join it with all their descendants. @param {Phrase} phrase */
  #joiners(phrase) {
    const joiners = [];
    let word = lowestBit(gapsOf(phrase.words));
    while (word >= 0 && !(this.below[word] & phrase.words)) {
      // Further up, words would join their own descendants.
      if (!bitsHaveGap(phrase.words | this.below[word]) && this.heads[word] >= 0) joiners.push(word);
      word = this.heads[word];
    }
    return joiners;
  }

  /** Return the words that are exactly these gaps, together with their descendants, or an empty list. @param {bigint} gaps */
  #fillers(gaps) {
    const fillers = [];
    for (let word = lowestBit(gaps); word < bitLength(gaps); word++) {
      const head = this.heads[word];
      if (has(gaps, word) && (head < 0 || !has(gaps, head))) {
        if (head < 0 || this.below[word] & ~gaps) return [];
        fillers.push(word);
      }
    }
    return fillers;
  }

  /** Return the heads that cost a word at most the limit, before labels are counted. @param {number} word @param {number} limit */
  #near(word, limit) {
    const { n, columns, arcs } = this.weights;
    const row = arcs.subarray(word * columns + 1, (word + 1) * columns);
    const best = Array.from({ length: n }, (_, head) => head).sort((a, b) => compare(row[b], row[a]) || a - b);
    const near = new Set([...best.slice(0, MAX_HEADS), this.heads[word]]);
    const least = this.scores[word] - limit;
    return [...near].sort((a, b) => a - b).filter((head) => row[head] >= least && !has(this.below[word], head));
  }

  /** Take the best step if one increases the value. @param {Float32Array[]} rows the labels' scores of each wanted arc */
  step(rows) {
    const options = this.#options(rows);
    /** @type {Attachment[][]} */
    const attaching = [];
    for (const [word, limit] of this.limits) {
      for (const option of options.get(word) ?? []) if (option.loss < limit) attaching.push([option]);
    }
    attaching.sort(([a], [b]) => order(a, b));
    const filling = this.fills.map(([phrase, fillers]) => this.#fill(phrase, fillers, options));
    /** @type {Attachment[]} */
    let best = [];
    let gain = MIN_GAIN;
    for (const candidate of [...attaching, ...filling.filter((each) => each.length)]) {
      const loss = candidate.reduce((sum, option) => sum + option.loss, 0);
      const limit = candidate.length === 1 ? (this.limits.get(candidate[0].word) ?? 0) : this.total;
      if (limit - loss <= gain || !this.tries) continue;
      this.tries--;
      const heads = this.heads.slice();
      const labels = this.labels.slice();
      for (const { word, head, label } of candidate) [heads[word], labels[word]] = [head, label];
      let penalties = 0;
      for (const phrase of phrasesOf(heads, labels, this.model, false).phrases) {
        if (hasGap(phrase)) penalties += this.model.penalties[phrase.label];
      }
      const saved = this.total - penalties;
      if (saved > MIN_GAIN && saved - loss > gain) [best, gain] = [candidate, saved - loss];
    }
    for (const { word, head, label, loss } of best) {
      this.heads[word] = head;
      this.labels[word] = label;
      this.scores[word] -= loss;
    }
    return best.length > 0;
  }

  /** Return the possible attachments of every word. @param {Float32Array[]} rows */
  #options(rows) {
    /** @type {Map<number, Attachment[]>} */
    const options = new Map();
    const { columns, arcs } = this.weights;
    this.wanted.forEach(([word, head], number) => {
      const row = rows[number];
      const currentLevel = this.model.levels[this.labels[word]].level;
      for (const [level, labels] of this.byLevel) {
        if (head === this.heads[word] && level === currentLevel) continue;
        const phrase = this.phraseAt.get(`${head} ${level}`);
        const label = phrase ? phrase.label : labels.reduce((best, each) => (row[each] > row[best] ? each : best));
        const loss = this.scores[word] - (arcs[word * columns + head + 1] + row[label]);
        const attachment = { loss, word, head, level, label };
        const others = options.get(word);
        if (others) others.push(attachment);
        else options.set(word, [attachment]);
      }
    });
    return options;
  }

  /**
   * Return the best attachments inside a phrase of the words that fill its gaps; none if a word has none.
   * @param {Phrase} phrase @param {number[]} fillers @param {Map<number, Attachment[]>} options
   */
  #fill(phrase, fillers, options) {
    const attachments = [];
    for (const word of fillers) {
      const inside = (options.get(word) ?? []).filter(
        ({ head, level }) => has(phrase.words, head) && (head !== phrase.head || level <= phrase.level),
      );
      if (!inside.length) return [];
      attachments.push(inside.reduce((best, each) => (order(each, best) < 0 ? each : best)));
    }
    return attachments;
  }
}

/** @param {number} a @param {number} b */
function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** @param {Attachment} a @param {Attachment} b */
function order(a, b) {
  return compare(a.loss, b.loss) || a.word - b.word || a.head - b.head || a.level - b.level || a.label - b.label;
}
