/**
 * Heads and labels → trees, as src/discotree/encoding/dependencies.py and decoding/trees.py build them, and their records
 * (docs/record.md).
 */

import { ModelError } from "./errors.js";
import { headsFirst, mostFrequent } from "./gaps.js";
import { NONE } from "./labels.js";
import { lemmasOf } from "./lemmas.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./model.js").Level} Level */
/** @typedef {import("./decode.js").Decoded} Decoded */
/** @typedef {import("./text.js").Language} Language */
/** @typedef {{form: string, start?: number, end?: number}} InputToken */

/**
 * @typedef {object} TokenRecord
 * @property {string} form
 * @property {string} [tag]
 * @property {string} [lemma]
 * @property {string} [morph]
 * @property {string} [function]
 * @property {number} [start]
 * @property {number} [end]
 */
/** @typedef {{label: string, function?: string, positions: number[], confidence: number}} ConstituentRecord */
/** @typedef {{id: string, tokens: TokenRecord[], constituents: ConstituentRecord[], confidence: number}} TreeRecord */

/**
 * @typedef {object} Node
 * @property {string} label
 * @property {string} function
 * @property {(Node | number)[]} children
 * @property {number[]} positions
 * @property {number} confidence
 */

/**
 * @typedef {object} Tree
 * @property {TokenRecord[]} tokens
 * @property {Node[]} nodes the root first, parents before children, children from left to right
 * @property {number} confidence
 */

/** @typedef {Map<string, {classes: Int32Array, logProbability: Float64Array}>} Auxiliary by auxiliary head */

/**
 * Return the tree of one sentence, with confidences that are not calibrated.
 * @param {InputToken[]} tokens @param {Decoded} decoded @param {Auxiliary} auxiliary @param {Model} model
 * @param {Language | undefined} language
 * @returns {Tree}
 */
export function buildTree(tokens, decoded, auxiliary, model, language) {
  const n = tokens.length;
  const tags = namesOf("tag", auxiliary, model);
  const morphs = namesOf("morph", auxiliary, model);
  const functions = namesOf("function", auxiliary, model);
  if (tags && language) correctTags(tokens, tags, morphs, model, language);
  const unary = auxiliary.get("unary");
  const chains = Array.from({ length: n }, (_, word) => (unary ? model.unaries[unary.classes[word]] : []));
  const { heads } = decoded;
  const onRoot = heads.indexOf(-1);
  const usual = model.headFunctions;
  /**
   * Return the functions of a spine, and set that of its word. The largest phrase has the function that was predicted
   * for the word; all others are head children and have the most frequent function of such a child in training.
   * @param {number} word @param {Node[]} spine
   */
  const setFunctions = (word, spine) => {
    if (!functions) return;
    const tag = tags ? tags[word] : NONE;
    let top = NONE;
    if (heads[word] >= 0) top = functions[word];
    else if (word === onRoot) top = usual.get(`${model.root} ${spine.at(-1)?.label ?? tag}`) ?? NONE;
    spine.forEach((node, k) => {
      node.function = k + 1 < spine.length ? (usual.get(`${spine[k + 1].label} ${node.label}`) ?? NONE) : top;
    });
    functions[word] = spine.length ? (usual.get(`${spine[0].label} ${tag}`) ?? NONE) : top;
  };
  const arcs = decoded.arcProbability.map((probability, word) => probability * decoded.labelProbability[word]);
  const chained = unary ? unary.logProbability.map(Math.exp) : new Float64Array(n).fill(1);
  const levels = Array.from(decoded.labels, (label) => model.levels[label]);
  const root = buildNodes(heads, levels, chains, model.root, setFunctions, arcs, chained);
  const nodes = preorder(root);
  const missing = new Array(n).fill(NONE);
  const forms = tokens.map((token) => token.form);
  const { lemmas: rules, words } = model;
  const lemmas = rules && lemmasOf(rules, forms, tags ?? missing, functions ?? missing, heads, words);
  const inner = nodes.length > 1 ? nodes.slice(1) : nodes;
  return {
    tokens: tokens.map(({ form, start, end }, word) => {
      /** @type {TokenRecord} */
      const record = { form };
      if (tags && tags[word] !== NONE) record.tag = tags[word];
      if (lemmas && lemmas[word] !== NONE) record.lemma = lemmas[word];
      if (morphs && morphs[word] !== NONE) record.morph = morphs[word];
      if (functions && functions[word] !== NONE) record.function = functions[word];
      if (start !== undefined) [record.start, record.end] = [start, end];
      return record;
    }),
    nodes,
    confidence: inner.reduce((sum, node) => sum + node.confidence, 0) / inner.length,
  };
}

/** @param {string} head @param {Auxiliary} auxiliary @param {Model} model */
function namesOf(head, auxiliary, model) {
  const output = auxiliary.get(head);
  const names = model.outputs.get(head);
  return output && names ? Array.from(output.classes, (k) => names[k]) : undefined;
}

/**
 * Set the tags of tokens that are not words, such as emojis: treebanks have too few of them to learn from.
 * @param {InputToken[]} tokens @param {string[]} tags @param {string[] | undefined} morphs @param {Model} model
 * @param {Language} language
 */
function correctTags(tokens, tags, morphs, model, language) {
  const known = model.outputs.get("tag") ?? [];
  tokens.forEach(({ form }, word) => {
    const tag = language.tagOf(form);
    if (!tag || tag === tags[word] || !known.includes(tag)) return;
    tags[word] = tag;
    if (morphs) morphs[word] = NONE; // it was predicted for the other tag
  });
}

/**
 * Build the nodes of a tree. A word heads the nodes of its spine; its dependents join the spine at the level that their
 * arcs name. A phrase has the product of the probabilities of the arcs that join its children to its head.
 * @param {Int32Array} heads @param {Level[]} levels @param {string[][]} chains @param {string} rootLabel
 * @param {(word: number, spine: Node[]) => void} setFunctions @param {Float64Array} arcs @param {Float64Array} chained
 */
function buildNodes(heads, levels, chains, rootLabel, setFunctions, arcs, chained) {
  const n = heads.length;
  const { dependents, order } = headsFirst(heads);
  if (order.length < n) throw new ModelError("the heads of a sentence have a cycle"); // decoding never gives one
  /** @type {(Node | number)[][]} */
  const parts = Array.from({ length: n }, (_, word) => [word]); // several where a root label dissolved
  const uncounted = new Float64Array(n).fill(1); // probability of the arcs in these parts that no node has counted
  for (let k = n - 1; k >= 0; k--) {
    const word = order[k];
    /** @type {Node[]} */
    const spine = [];
    let grown = parts[word];
    /** @param {string} label @param {number} confidence */
    const add = (label, confidence) => {
      const node = makeNode(label, grown, confidence);
      spine.push(node);
      grown = [node];
    };
    for (const label of chains[word].toReversed()) add(label, chained[word]);
    let probability = 1;
    for (const { labels, members } of phrasesOn(dependents[word], levels)) {
      for (const member of members) {
        probability *= arcs[member] * uncounted[member];
        grown.push(...parts[member]);
      }
      if (!labels.length) continue; // a root label inside the tree dissolves
      for (const label of labels.toReversed()) add(label, probability);
      probability = 1;
    }
    uncounted[word] = probability;
    parts[word] = grown;
    setFunctions(word, spine);
  }
  const tops = dependents[n];
  const confidence = tops.reduce((product, word) => product * arcs[word] * uncounted[word], 1);
  return makeNode(
    rootLabel,
    tops.flatMap((word) => parts[word]),
    confidence,
  );
}

/**
 * Return the phrases of one spine, lowest first. If two chains compete for one level, the more frequent one wins, then
 * that of the leftmost dependent.
 * @param {number[]} dependents @param {Level[]} levels
 */
function phrasesOn(dependents, levels) {
  /** @type {Map<number, number[]>} */
  const groups = new Map();
  for (const dependent of dependents) {
    const group = groups.get(levels[dependent].level);
    if (group) group.push(dependent);
    else groups.set(levels[dependent].level, [dependent]);
  }
  return [...groups.keys()]
    .sort((a, b) => a - b)
    .map((level) => {
      const members = /** @type {number[]} */ (groups.get(level));
      const chains = members.map((member) => levels[member].labels.join("\0"));
      const winner = members[chains.indexOf(mostFrequent(chains))];
      return { labels: levels[winner].labels, members };
    });
}

/** @param {string} label @param {(Node | number)[]} children @param {number} confidence @returns {Node} */
function makeNode(label, children, confidence) {
  const sorted = children.slice().sort((a, b) => firstOf(a) - firstOf(b));
  const positions = sorted.flatMap((child) => (typeof child === "number" ? child : child.positions));
  positions.sort((a, b) => a - b);
  return { label, function: NONE, children: sorted, positions, confidence };
}

/** @param {Node | number} child */
function firstOf(child) {
  return typeof child === "number" ? child : child.positions[0];
}

/** @param {Node} root */
function preorder(root) {
  const nodes = [];
  const stack = [root];
  for (let node = stack.pop(); node; node = stack.pop()) {
    nodes.push(node);
    for (const child of node.children.toReversed()) if (typeof child !== "number") stack.push(child);
  }
  return nodes;
}

/**
 * Join the trees of the parts of one sentence under one root.
 * @param {Tree[]} trees @returns {Tree}
 */
export function joinTrees(trees) {
  if (trees.length === 1) return trees[0];
  const tokens = trees.flatMap((tree) => tree.tokens);
  const sizes = trees.reduce((sum, tree) => sum + tree.nodes.length, 0);
  /** @type {Node} */
  const root = {
    ...trees[0].nodes[0],
    positions: tokens.map((_, position) => position),
    confidence: trees.reduce((product, tree) => product * tree.nodes[0].confidence, 1),
  };
  const nodes = [root];
  let start = 0;
  for (const tree of trees) {
    for (const node of tree.nodes.slice(1)) {
      nodes.push({ ...node, positions: node.positions.map((position) => position + start) });
    }
    start += tree.tokens.length;
  }
  return {
    tokens,
    nodes,
    confidence: trees.reduce((sum, tree) => sum + tree.confidence * tree.nodes.length, 0) / sizes,
  };
}

/** Return the record of a tree. @param {Tree} tree @param {string} id @returns {TreeRecord} */
export function toRecord(tree, id) {
  return {
    id,
    tokens: tree.tokens,
    constituents: tree.nodes.map((node) => ({
      label: node.label,
      ...(node.function === NONE ? {} : { function: node.function }),
      positions: node.positions,
      confidence: round(node.confidence),
    })),
    confidence: round(tree.confidence),
  };
}

/** @param {number} probability */
function round(probability) {
  return Number(probability.toPrecision(6));
}
