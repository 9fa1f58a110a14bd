// Dependencies of a tree, and their drawing as arcs: encoding/ and drawing/arcs.py in JavaScript. A test compares the two.

import { PUNCTUATION_TAGS, SIZES } from "./tables.js";
import { attribute, clean, ems, escape, general, makePen } from "./tree_svg.js";
import { childrenOf } from "./tree_writers.js";

const NONE = "--";
const ROOT = -1; // head of the word that has none
const MARKED = "HD"; // function of a head
const PUNCTUATION = new Set(PUNCTUATION_TAGS);

// Heads

/** Return the position of the head among the children, each [label, function, isPunctuation]. */
function headChild(label, children, { rules, marked_first: isMarkedFirst }) {
  const marked = isMarkedFirst ? children.findIndex(([, role]) => role.split("-").includes(MARKED)) : -1;
  if (marked >= 0) return marked;
  const lines = [...(rules[label.toUpperCase()] ?? []), ...(rules["*"] ?? [])];
  for (const rule of lines) {
    const head = apply(rule, children);
    if (head !== undefined) return head;
  }
  const order = [...children.keys()];
  if (lines.at(-1)?.[0].startsWith("right")) order.reverse();
  return order.find((k) => !children[k][2]) ?? order[0];
}

function apply([direction, labels], children) {
  const isFunction = direction === "function";
  const order = [...children.keys()];
  if (direction.startsWith("right")) order.reverse();
  if (isFunction) order.sort((a, b) => children[a][2] - children[b][2]); // punctuation may have the same function as words
  const matches = (pattern, k) => {
    const name = children[k][isFunction ? 1 : 0];
    return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
  };
  if (direction.endsWith("dis")) return order.find((k) => labels.some((label) => matches(label, k)));
  for (const label of labels) {
    const head = order.find((k) => matches(label, k));
    if (head !== undefined) return head;
  }
  return undefined;
}

/** Return the head of every word, the label of its arc, and its function: that of the highest constituent that it heads. */
function dependenciesOf(record, rules) {
  const { tokens, constituents } = record;
  const size = tokens.length;
  const children = childrenOf(record);
  const rootLabel = constituents[0].label;
  const escaped = (label, root) => `${label === root ? "\\^" : ""}${label.replace(/[\\+]/g, "\\$&")}`;
  const heads = tokens.map(() => ROOT);
  const labels = tokens.map(() => "ROOT");
  const roles = tokens.map((token) => token.function ?? NONE);
  const heights = tokens.map(() => 0);
  const headWords = tokens.map((_, position) => position); // by address
  const chains = []; // by address: the label with those of the nodes above it that have no other child
  for (const [k, { label }] of constituents.entries()) {
    const own = k ? escaped(label, rootLabel) : children[size].length > 1 ? escaped(label, "") : ""; // a root with one child has no label
    const chain = [chains[size + k], own].filter(Boolean).join("+");
    if (children[size + k].length === 1) chains[children[size + k][0]] = chain;
    chains[size + k] = chain;
  }
  for (let address = size + constituents.length - 1; address >= size; address -= 1) { // children before parents
    const node = constituents[address - size];
    const described = children[address].map((child) => {
      const { tag, label, function: role = NONE } = child < size ? tokens[child] : constituents[child - size];
      return [(label ?? tag ?? NONE).toUpperCase(), role.toUpperCase(), child < size && PUNCTUATION.has(tag)];
    });
    const words = children[address].map((child) => headWords[child]);
    const [head] = words.splice(described.length > 1 ? headChild(node.label, described, rules) : 0, 1);
    if (words.length) heights[head] += 1;
    for (const word of words) [heads[word], labels[word]] = [head, `${chains[address]}#${heights[head]}`];
    headWords[address] = head;
    roles[head] = node.function ?? NONE;
  }
  return { heads, labels, roles };
}

// Drawing

const LEVEL_HEIGHT = 22; // from one level of arches to the next
const FOOT_DISTANCE = 7; // between the ends of two arcs at the same word
const RADIUS = 6; // radius of the corners
const LOWEST_HEIGHT = 18; // from the words up to the lowest arch
const PADDING = 4; // on either side of a label

/** Return the level of each arc: above the arcs that it spans, and different from those of overlapping arcs. */
function levelsOf(arcs) {
  const levels = arcs.map(() => 0);
  const done = [];
  const order = [...arcs.keys()].sort((a, b) => arcs[a].right - arcs[a].left - arcs[b].right + arcs[b].left || arcs[a].left - arcs[b].left);
  for (const k of order) {
    const { left, right } = arcs[k];
    const overlapping = done.filter((other) => arcs[other].left < right && left < arcs[other].right);
    const spanned = overlapping.filter((other) => left <= arcs[other].left && arcs[other].right <= right).map((other) => levels[other]);
    const taken = new Set(overlapping.map((other) => levels[other]));
    levels[k] = Math.max(0, ...spanned) + 1;
    while (taken.has(levels[k])) levels[k] += 1;
    done.push(k);
  }
  return levels;
}

/** Return the middle of each word, the left and right x and the middle of the label of each arc, and the width. */
function positionsOf(tokens, heads, labels, arcs, levels) {
  // For each word, the arcs that end at its left and at its right side, from the outside to the middle.
  const feet = tokens.map(() => [[], []]);
  for (const k of [...arcs.keys()].sort((a, b) => arcs[a].right - arcs[a].left - arcs[b].right + arcs[b].left)) {
    feet[arcs[k].right][0].push(k);
    feet[arcs[k].left][1].push(k);
  }
  const halves = tokens.map(({ form, tag = NONE }, word) => {
    const text = Math.max(SIZES.form * ems(clean(form)), SIZES.tag * ems(clean(tag)));
    const half = Math.ceil(Math.max(text / 2, ...feet[word].map((arcsHere) => FOOT_DISTANCE * arcsHere.length)));
    return heads[word] === ROOT ? Math.max(half, Math.ceil((SIZES.function * ems(clean(labels[word]))) / 2)) : half;
  });
  const shifts = arcs.map(() => [0, 0]); // from the middle of the words to the left and right end
  for (const [word, [atLeft, atRight]] of feet.entries()) {
    const middle = heads[word] === ROOT ? 1 : 0.5; // the arrow from above takes the middle
    for (const [rank, k] of atLeft.toReversed().entries()) shifts[k][1] = -FOOT_DISTANCE * (rank + middle);
    for (const [rank, k] of atRight.toReversed().entries()) shifts[k][0] = FOOT_DISTANCE * (rank + middle);
  }
  const posts = heads.flatMap((head, word) => (head === ROOT ? [{ word, shift: 0, level: Infinity }] : [])); // vertical lines
  for (const [k, { left, right }] of arcs.entries()) {
    posts.push({ word: left, shift: shifts[k][0], level: levels[k] }, { word: right, shift: shifts[k][1], level: levels[k] });
  }
  const distances = tokens.map(() => new Map()); // least distances from words to the left, by word
  for (;;) {
    const xs = [];
    for (const word of tokens.keys()) {
      const x = word ? xs.at(-1) + halves[word - 1] + SIZES.step + halves[word] : SIZES.margin + halves[0];
      xs.push(Math.max(x, ...[...distances[word]].map(([other, least]) => Math.ceil(xs[other] + least))));
    }
    const places = arcs.map((arc, k) => widestPlace(arc, levels[k], shifts[k], posts, xs));
    let isNarrow = false;
    for (const [k, [start, end]] of places.entries()) {
      const least = SIZES.function * ems(arcs[k].label) + 2 * PADDING + start.shift - end.shift;
      if (xs[end.word] - xs[start.word] >= least) continue;
      distances[end.word].set(start.word, Math.max(least, distances[end.word].get(start.word) ?? 0));
      isNarrow = true;
    }
    if (isNarrow) continue;
    const ends = arcs.map(({ left, right }, k) => [xs[left] + shifts[k][0], xs[right] + shifts[k][1]]);
    const middles = places.map(([start, end]) => (xs[start.word] + start.shift + xs[end.word] + end.shift) / 2);
    return { xs, ends, middles, width: xs.at(-1) + halves.at(-1) + SIZES.margin };
  }
}

/** Return the ends of the widest part of an arch, between two words, that no higher arc's line passes through. */
function widestPlace(arc, level, [leftShift, rightShift], posts, xs) {
  const at = ({ word, shift }) => xs[word] + shift;
  const [left, right] = [xs[arc.left] + leftShift, xs[arc.right] + rightShift];
  const passing = posts.filter((post) => post.level > level && left < at(post) && at(post) < right);
  const stops = [{ word: arc.left, shift: leftShift + RADIUS, level }, ...passing, { word: arc.right, shift: rightShift - RADIUS, level }].sort((a, b) => at(a) - at(b));
  let best = null;
  for (const [k, start] of stops.slice(0, -1).entries()) {
    const end = stops[k + 1];
    if (start.word < end.word && (!best || at(end) - at(start) > at(best[1]) - at(best[0]))) best = [start, end];
  }
  return best;
}

/**
 * Draw the dependencies of a tree by head rules ({ rules, marked_first }). The labels are functions or, with `functions: false` and if
 * the tree has none, those that the network predicts. Other options are those of drawTree.
 */
export function drawArcs(record, rules, { functions = true, theme = "auto", style = true } = {}) {
  const { tokens } = record;
  const pen = makePen({ theme, style });
  const { heads, labels: predicted, roles } = dependenciesOf(record, rules);
  const labels = functions && roles.some((role) => role !== NONE) ? roles.map((role, word) => (heads[word] === ROOT ? predicted[word] : role)) : predicted;
  const governors = heads.map((head) => (head === ROOT ? "(root)" : tokens[head].form));
  const arcs = heads.flatMap((head, word) =>
    (head === ROOT ? [] : [{ head, dependent: word, label: clean(labels[word]), left: Math.min(head, word), right: Math.max(head, word) }]));
  const levels = levelsOf(arcs);
  const { xs, ends, middles, width } = positionsOf(tokens, heads, labels, arcs, levels);
  const ground = SIZES.margin + 2 * LEVEL_HEIGHT + LOWEST_HEIGHT + LEVEL_HEIGHT * (Math.max(0, ...levels) - 1);
  const wordsY = ground + 12;
  const tops = levels.map((level) => ground - LOWEST_HEIGHT - LEVEL_HEIGHT * (level - 1));
  const highest = (tops.length ? Math.min(...tops) : ground - LOWEST_HEIGHT) - LEVEL_HEIGHT;
  const tip = (x) => pen.path("tip", `M${general(x)} ${ground + 3}l-3.5 -7h7z`);
  const opening = (word) => `<g class="arc" data-head="${heads[word]}" data-dependent="${word}" data-label=${attribute(labels[word])} tabindex="0">` +
    `<title>${escape(`${governors[word]} → ${tokens[word].form}: ${labels[word]}`)}</title>`;
  const elements = [];
  for (const [k, { dependent, label, right: rightWord }] of arcs.entries()) {
    const [[left, right], x, top] = [ends[k], middles[k], tops[k]];
    const half = (SIZES.function * ems(label)) / 2 + PADDING - 1; // the arch is open around its label
    elements.push(opening(dependent),
      pen.path("line", `M${general(left)} ${ground}V${top + RADIUS}q0 ${-RADIUS} ${RADIUS} ${-RADIUS}H${general(Math.max(x - half, left + RADIUS))}` +
        `M${general(Math.min(x + half, right - RADIUS))} ${top}H${general(right - RADIUS)}q${RADIUS} 0 ${RADIUS} ${RADIUS}V${ground}`),
      tip(dependent === rightWord ? right : left), `${pen.text("function", x, top, label)}</g>`);
  }
  for (const [word, head] of heads.entries()) {
    if (head !== ROOT) continue;
    elements.push(opening(word), `${pen.path("line", `M${xs[word]} ${highest}V${ground}`)}${tip(xs[word])}`,
      `${pen.text("function", xs[word], highest - 9, clean(labels[word]))}</g>`);
  }
  const hasTags = tokens.some(({ tag = NONE }) => tag !== NONE);
  for (const [position, { form, tag = NONE }] of tokens.entries()) {
    const below = hasTags ? pen.text("tag", xs[position], wordsY + SIZES.below, clean(tag)) : "";
    elements.push(`<g class="word" data-position="${position}">${pen.text("form", xs[position], wordsY, clean(form))}${below}</g>`);
  }
  const sentence = tokens.map(({ form }) => form).join(" ");
  const description = tokens.map(({ form }, word) => `${form} ← ${governors[word]} (${labels[word]})`).join("; ");
  return pen.picture(record.id ? `${record.id}: ${sentence}` : sentence, description, width, wordsY + (hasTags ? SIZES.below : 0) + SIZES.margin, elements);
}
