// Merge the trees of two annotators: what differs, and the tree that takes one side of every difference. Nothing here knows the page.

import { open, relabel } from "./tree_edits.js";

const FIELDS = [["tag", "morph"], ["function"], ["lemma"]]; // a morphology belongs to its tag
const key = ({ label, positions }) => `${label} ${positions}`;

/**
 * Return how two records over the same words differ. A difference has
 *   kind   "constituent", "edge" (a secondary edge), or "word"
 *   sides  two constituents, edges or tokens; null where one tree has none
 * and, for a word, its position and the fields that differ. Constituents are paired if they have the same words, or the same label and
 * some common words.
 */
export function pairDifferences(left, right) {
  return [...pairConstituents(left, right).different, ...pairWords(left, right), ...pairEdges(left, right).different];
}

function pairConstituents(left, right) {
  const indexed = ({ constituents }) => constituents.map((constituent, index) => ({ ...constituent, index }));
  let [ours, theirs] = [indexed(left), indexed(right)];
  const pairs = [];
  const pairBy = (isPair) => {
    for (const one of ours) {
      const other = theirs.filter((candidate) => isPair(one, candidate)).sort((a, b) => overlap(one, b) - overlap(one, a))[0];
      if (!other) continue;
      pairs.push([one, other]);
      theirs = theirs.filter((candidate) => candidate !== other);
    }
    ours = ours.filter((one) => !pairs.some(([paired]) => paired === one));
  };
  pairBy((a, b) => key(a) === key(b) && a.function === b.function);
  const same = pairs.splice(0).map(([one]) => one);
  pairBy((a, b) => key(a) === key(b));
  pairBy((a, b) => String(a.positions) === String(b.positions));
  pairBy((a, b) => a.label === b.label && overlap(a, b) > 0);
  const sides = [...pairs, ...ours.map((one) => [one, null]), ...theirs.map((one) => [null, one])];
  const first = ([one, other]) => (one ?? other).positions[0];
  return { same, different: sides.sort((a, b) => first(a) - first(b)).map((both) => ({ kind: "constituent", sides: both })) };
}

function overlap(a, b) {
  const positions = new Set(a.positions);
  return b.positions.filter((position) => positions.has(position)).length;
}

function pairWords(left, right) {
  return left.tokens.flatMap((token, position) => {
    const other = right.tokens[position];
    return FIELDS.map((group) => group.filter((field) => token[field] !== other[field])).filter((fields) => fields.length)
      .map((fields) => ({ kind: "word", position, fields, sides: [token, other] }));
  });
}

/** Return the secondary edges of two trees; their ends are constituents or positions, since addresses belong to one tree. */
function pairEdges(left, right) {
  const end = (record, address) => record.constituents[address - record.tokens.length] ?? address;
  const name = (item) => (typeof item === "number" ? item : key(item));
  const [ours, theirs] = [left, right].map((record) => new Map((record.secondary ?? []).map(({ label, child, parent }) => {
    const edge = { label, child: end(record, child), parent: end(record, parent) };
    return [`${label} ${name(edge.child)} → ${name(edge.parent)}`, edge];
  })));
  const only = (some, others, place) => [...some].filter(([id]) => !others.has(id)).map(([, edge]) => ({ kind: "edge", sides: place(edge) }));
  return {
    same: [...ours].filter(([id]) => theirs.has(id)).map(([, edge]) => edge),
    different: [...only(ours, theirs, (edge) => [edge, null]), ...only(theirs, ours, (edge) => [null, edge])],
  };
}

/**
 * Take one side (0 or 1) of a difference and return the new list of sides. Constituents that cannot be in one tree with it
 * belong to the other side, so their differences take this side as well.
 */
export function takeSide(found, sides, number, side) {
  const next = sides.with(number, side);
  const waiting = [number];
  while (waiting.length) {
    const { kind, sides: { [side]: taken } } = found[waiting.pop()];
    if (kind !== "constituent" || !taken) continue;
    for (const [k, other] of found.entries()) {
      const constituent = other.kind === "constituent" && next[k] !== side ? other.sides[next[k]] : null;
      if (!constituent || !cross(taken, constituent)) continue;
      next[k] = side;
      waiting.push(k);
    }
  }
  return next;
}

function cross(a, b) {
  const common = overlap(a, b);
  return common > 0 && common < Math.min(a.positions.length, b.positions.length);
}

/** Return the tree with one side of every difference. Secondary edges whose ends are not in it are left out. */
export function merge(left, right, found, sides) {
  const taken = (kind) => found.flatMap((one, k) => (one.kind === kind && one.sides[sides[k]] !== null ? [one.sides[sides[k]]] : []));
  const constituents = [...pairConstituents(left, right).same, ...taken("constituent")]
    .sort((a, b) => b.positions.length - a.positions.length || a.index - b.index) // parents before children
    .map(({ index, confidence, ...constituent }) => constituent);
  const tokens = left.tokens.map((token) => ({ ...token }));
  for (const [k, { position, fields, sides: { [sides[k]]: token } }] of found.entries()) {
    for (const field of fields ?? []) {
      if (token[field] === undefined) delete tokens[position][field];
      else tokens[position][field] = token[field];
    }
  }
  const numbers = new Map(constituents.map((constituent, k) => [key(constituent), tokens.length + k]));
  const address = (item) => (typeof item === "number" ? item : numbers.get(key(item)));
  const secondary = [...pairEdges(left, right).same, ...taken("edge")]
    .map(({ label, child, parent }) => ({ label, child: address(child), parent: address(parent) }))
    .filter(({ child, parent }) => child !== undefined && parent !== undefined);
  const { secondary: _, confidence, ...others } = left;
  const record = { ...others, tokens, constituents, ...(secondary.length && { secondary }) };
  return relabel(record, [tokens.length], open(record).root.constituent.label).record; // in the usual order of constituents
}
