/** Composite labels: `S+VP#2` is an S over a VP, the second phrase on its head word's spine. See
 * src/discotree/encoding/dependencies.py. */

export const NONE = "--"; // stands for a missing function or tag
const PIECE = /\\[^]?|[^\\+]+|\+/gu; // an escaped character, plain text, or a joiner
const LEVEL = /^[0-9]{1,9}$/;

/**
 * Return the labels of a chain, top to bottom, unescaped; the root label is left out.
 * @param {string} chain @param {string} root
 */
export function splitChain(chain, root) {
  const links = [""];
  for (const [piece] of chain.matchAll(PIECE)) {
    if (piece === "+") links.push("");
    else links[links.length - 1] += piece;
  }
  const rawRoot = root.replace(/[\\+]/g, "\\$&");
  return links.filter((link) => !root || link !== rawRoot).map((link) => unescape(link) || NONE);
}

/** @param {string} label */
function unescape(label) {
  return label.includes("\\") ? label.replace(/^\\\^/, "").replace(/\\([^])/gu, "$1") : label;
}

/**
 * Return the chain of labels and the level of an arc's label; a missing level counts as 1.
 * @param {string} label @param {string} root @returns {{labels: string[], level: number}}
 */
export function splitLevel(label, root) {
  const at = label.lastIndexOf("#");
  const level = label.slice(at + 1);
  if (at >= 0 && LEVEL.test(level)) return { labels: splitChain(label.slice(0, at), root), level: Number(level) };
  return { labels: splitChain(label, root), level: 1 };
}
