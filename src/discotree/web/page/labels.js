// Names of labels, such as "participle clause" for Alpino's ppart: trees/labels.py in JavaScript.

import { LABEL_NAMES } from "./tables.js";

const NOT_NAMED = new Set(["--", "ROOT", "TOP", "VROOT", "top"]);
const MIN_KNOWN = 0.8; // share of a tree's labels that its scheme must have

/** Return the name of a label or of its parts: SBJ-TPC is two functions, N-D a noun in the dative. */
function nameOf(label, kind, scheme) {
  const names = LABEL_NAMES[scheme];
  if (Object.hasOwn(names[kind], label)) return names[kind][label];
  const endings = kind === "tag" ? names.case ?? {} : names.function;
  const [base, ...others] = label.split("-");
  const find = (table, part) => (Object.hasOwn(table, part) ? table[part] : undefined);
  const parts = base.split("+").map((part) => find(names[kind], part));
  const further = others.map((part) => find(endings, part));
  return [...parts, ...further].includes(undefined) ? undefined : [parts.join(" + "), ...further].join(", ");
}

/** Return a function that gives the name of a label of a tree and its kind: constituent, function or tag. */
export function explainTree({ tokens, constituents }) {
  const pairs = [
    ...constituents.map(({ label }) => [label, "constituent"]),
    ...[...constituents, ...tokens].map((item) => [item.function ?? "--", "function"]),
    ...tokens.map(({ tag = "--" }) => [tag, "tag"]),
  ].filter(([label]) => !NOT_NAMED.has(label));
  const labels = [...new Map(pairs.map((pair) => [pair.join("\n"), pair])).values()];
  let [best, most] = ["", 0];
  for (const scheme of Object.keys(LABEL_NAMES)) {
    const known = labels.filter((pair) => nameOf(...pair, scheme) !== undefined).length;
    if (known > most) [best, most] = [scheme, known];
  }
  if (!most || most < MIN_KNOWN * labels.length) return () => undefined;
  return (label, kind) => (label === undefined || NOT_NAMED.has(label) ? undefined : nameOf(label, kind, best));
}
