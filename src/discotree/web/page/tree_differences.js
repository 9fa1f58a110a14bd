// How one tree differs from another one over the same words.

import { draw } from "./common.js";
import { describe, spoken } from "./describe.js";
import { NONE } from "./tree_edits.js";

const key = ({ label, positions }) => `${label} ${positions}`;

/**
 * Compare a record with another one. Returns null if their words differ, and otherwise
 *   nodes  a Map from constituents (by number) to "new", "label" (the other has another one here) or "function"
 *   words  a Map from positions to "tag", "function", "morph" or "lemma"
 *   gone   the constituents that only the other tree has
 *   edges  the secondary edges that only one of them has, as lines of text
 */
export function differences(record, other) {
  if (record.tokens.length !== other.tokens.length || record.tokens.some(({ form }, k) => form !== other.tokens[k].form)) return null;
  const left = Map.groupBy(other.constituents, key);
  const nodes = new Map();
  const unmatched = [];
  for (const [k, constituent] of record.constituents.entries()) {
    const match = left.get(key(constituent))?.shift();
    if (!match) unmatched.push(k);
    else if (match.function !== constituent.function) nodes.set(k, "function");
  }
  const rest = Map.groupBy([...left.values()].flat(), ({ positions }) => String(positions));
  for (const k of unmatched) nodes.set(k, rest.get(String(record.constituents[k].positions))?.shift() ? "label" : "new");
  const words = new Map();
  for (const [position, token] of record.tokens.entries()) {
    const before = other.tokens[position];
    const kind = ["tag", "function", "morph", "lemma"].find((name) => token[name] !== before[name]);
    if (kind) words.set(position, kind);
  }
  const gone = [...rest.values()].flat();
  const [now, was] = [edgeLines(record), edgeLines(other)];
  const edges = [...now.difference(was)].map((line) => `+ ${line}`).concat([...was.difference(now)].map((line) => `− ${line}`));
  return { nodes, words, gone, edges, count: nodes.size + words.size + gone.length + edges.length };
}

/** Return the secondary edges of a tree in words. */
const edgeLines = (record) => new Set((record.secondary ?? []).map(({ label, child, parent }) =>
  `secondary edge ${label}: ${describe(record, child)} → ${describe(record, parent)}`));

/** Return what differs, a line each. */
export function differenceLines(record, other, { nodes, words, gone, edges }) {
  const before = new Map(other.constituents.map((constituent) => [String(constituent.positions), constituent]));
  const ofNodes = [...nodes].map(([k, kind]) => {
    const constituent = record.constituents[k];
    if (kind === "new") return `+ ${spoken(record, constituent)}`;
    const old = before.get(String(constituent.positions));
    return `≠ ${spoken(record, constituent)} (${kind}${kind === "function" ? ` ${constituent.function ?? NONE}` : ""}, was ${old?.[kind] ?? NONE})`;
  });
  const ofWords = [...words].map(([position, kind]) =>
    `≠ ${record.tokens[position].form} (${kind} ${record.tokens[position][kind] ?? NONE}, was ${other.tokens[position][kind] ?? NONE})`);
  return [...ofNodes, ...ofWords, ...gone.map((constituent) => `− ${spoken(other, constituent)}`), ...edges];
}

/** Put signs next to what differs in a drawing; the drawing is on the page. */
export function markDifferences(svg, found) {
  for (const element of svg.querySelectorAll(".sign")) element.remove();
  for (const element of svg.querySelectorAll(".differs")) element.classList.remove("differs");
  const mark = (group, kind) => {
    const text = group?.querySelector(kind === "function" ? ".function" : ".label, .tag") ?? group?.querySelector(".label, .tag, .form");
    if (!text) return;
    text.classList.add("differs");
    const x = Number(text.getAttribute("x")) - text.getBBox().width / 2 - 12;
    group.append(draw("text", { class: "sign", x, y: text.getAttribute("y"), "aria-hidden": "true" }, kind === "new" ? "+" : "≠"));
  };
  for (const [k, kind] of found?.nodes ?? []) mark(svg.querySelector(`.node[data-node="${k}"]`), kind);
  for (const [position, kind] of found?.words ?? []) mark(svg.querySelector(`.word[data-position="${position}"]`), kind);
}
