// Operations on the record of a tree (docs/record.md). Nothing here knows the page.
//
// Items have addresses, as in secondary edges: token i has the address i, constituent k the number of tokens plus k.
// An operation takes a record and addresses and leaves the record as it is. It returns { error }, or
//   record   the new record
//   message  what has happened, in words
//   focus    the address that the reader looks at next
//   moved    a Map from old to new addresses; an item that is gone is missing
// What comes out is a tree whenever a tree went in: all words are below the root, once each, and no constituent is empty.

export const MAX_LABEL = 100; // characters
export const NONE = "--"; // no tag, no function

class Refusal extends Error {}

/** Make an operation of a function that changes the items of a tree and returns its message and its focus. */
function operation(change) {
  return (record, addresses, argument) => {
    try {
      const tree = open(record);
      const items = chosen(tree, addresses);
      const { message, focus, secondary = record.secondary } = change(tree, items, argument);
      return close({ ...record, secondary }, tree, message, focus ?? items[0]);
    } catch (problem) {
      if (problem instanceof Refusal) return { error: problem.message };
      throw problem;
    }
  };
}

function refuse(message) {
  throw new Refusal(message);
}

// Record → items → record

/** Return the items of a tree by address, linked to their parents and children. */
export function open(record) {
  const size = record.tokens.length;
  const words = record.tokens.map((token, position) => ({ token, position, parent: null, address: position }));
  const nodes = record.constituents.map((constituent, k) => ({ constituent, children: [], parent: null, address: size + k }));
  const lowest = new Array(size).fill(null); // the last constituent so far that has the position
  for (const node of nodes) {
    put(node, lowest[node.constituent.positions[0]]);
    for (const position of node.constituent.positions) lowest[position] = node;
  }
  for (const word of words) put(word, lowest[word.position]);
  for (const node of nodes) sortChildren(node);
  return { items: [...words, ...nodes], words, root: nodes[0], secondary: record.secondary ?? [] };
}

const isWord = (item) => item.token !== undefined;
const first = (item) => (isWord(item) ? item.position : item.constituent.positions[0]);
const sortChildren = (node) => node.children.sort((a, b) => first(a) - first(b));

function put(item, parent) {
  if (item.parent) item.parent.children.splice(item.parent.children.indexOf(item), 1);
  item.parent = parent;
  parent?.children.push(item);
}

/** Remove a constituent; its children take its place. */
function remove(node) {
  for (const child of [...node.children]) put(child, node.parent);
  put(node, null);
}

/** Return the record of changed items. Constituents that have become empty vanish. */
function close(before, tree, message, focus) {
  const emptied = removeEmpty(tree);
  const nodes = ordered(tree.root);
  const size = before.tokens.length;
  const moved = new Map(tree.words.map(({ position }) => [position, position]));
  for (const [k, node] of nodes.entries()) if (node.address !== undefined) moved.set(node.address, size + k);
  const constituents = nodes.map((node) => withoutStale(node, before.constituents[node.address - size]));
  const { secondary, ...others } = before;
  const record = { ...others, tokens: tree.words.map((word) => word.token), constituents };
  const notes = [message, ...emptied.map((label) => `${label} was left empty and removed.`)];
  if (secondary) {
    record.secondary = secondary
      .filter(({ child, parent }) => moved.has(child) && moved.has(parent))
      .map((edge) => ({ ...edge, child: moved.get(edge.child), parent: moved.get(edge.parent) }));
    const lost = secondary.length - record.secondary.length;
    if (lost) notes.push(`${lost} secondary ${lost === 1 ? "edge was" : "edges were"} removed.`);
    if (!record.secondary.length) delete record.secondary;
  }
  if (!sameBrackets(before, record)) delete record.confidence; // it was that of another tree
  const shown = isWord(focus) ? focus.position : size + Math.max(nodes.indexOf(focus), 0);
  return { record, message: notes.join(" "), focus: shown, moved };
}

function removeEmpty(tree) {
  const emptied = [];
  const waiting = tree.items.filter((item) => !isWord(item) && !item.children.length && item.parent);
  while (waiting.length) {
    const node = waiting.pop();
    const { parent } = node;
    emptied.push(node.constituent.label);
    put(node, null);
    if (!parent.children.length && parent.parent) waiting.push(parent);
  }
  return emptied;
}

/** Return the constituents with their positions: parents before children, children from left to right. */
function ordered(root) {
  const found = [root];
  for (let k = 0; k < found.length; k += 1) found.push(...found[k].children.filter((child) => !isWord(child)));
  for (const node of found.toReversed()) { // children come after their parents
    const positions = node.children.flatMap((child) => (isWord(child) ? [child.position] : child.constituent.positions));
    node.constituent = { ...node.constituent, positions: positions.sort((a, b) => a - b) };
    sortChildren(node);
  }
  const inOrder = [];
  const stack = [root];
  while (stack.length) {
    const node = stack.pop();
    inOrder.push(node);
    stack.push(...node.children.filter((child) => !isWord(child)).toReversed());
  }
  return inOrder;
}

/** Return a constituent, without its confidence if it is no longer the one that the parser saw. */
function withoutStale(node, old) {
  const { confidence, ...rest } = node.constituent;
  const isSame = old && old.label === rest.label && String(old.positions) === String(rest.positions);
  return isSame && confidence !== undefined ? { ...rest, confidence } : rest;
}

const brackets = ({ constituents }) => JSON.stringify(constituents.map(({ label, positions }) => [label, positions]));
const sameBrackets = (a, b) => brackets(a) === brackets(b);

// Choosing

function chosen(tree, addresses) {
  const items = [...new Set(addresses)].map((address) => tree.items[address] ?? refuse("There is no such item."));
  if (!items.length) refuse("Select a word or a constituent first.");
  return items;
}

function* above(item) {
  for (let node = item.parent; node; node = node.parent) yield node;
}

/** Return the items without those that are below another one; the root cannot be among them. */
function movable(tree, items) {
  if (items.includes(tree.root)) refuse("The root stays where it is.");
  const all = new Set(items);
  return items.filter((item) => ![...above(item)].some((node) => all.has(node)));
}

const nodesOnly = (items, message) => (items.some(isWord) ? refuse(message) : items);

/** Return the lowest constituent that is above all items. */
function lowestAbove(items) {
  const others = items.slice(1).map((item) => new Set(above(item)));
  return [...above(items[0])].find((node) => others.every((nodes) => nodes.has(node)));
}

const name = (item) => (isWord(item) ? `“${item.token.form}”` : item.constituent.label);
const names = (items) => (items.length > 3 ? `${items.length} items` : items.map(name).join(", "));

/** Return the address of the item next to another one; null where there is none. */
export function neighbour(record, address, direction) {
  const { items, words } = open(record);
  const item = items[address];
  const siblings = isWord(item) ? words : item.parent?.children ?? [];
  const k = siblings.indexOf(item);
  const found = {
    up: item.parent, down: item.children?.[0], left: siblings[k - 1], right: siblings[k + 1], first: words[0], last: words.at(-1),
  }[direction];
  return found?.address ?? null;
}

// The operations

/** Make a constituent over the items, below the lowest constituent that is above all of them. */
export const join = operation((tree, items, label) => {
  const parts = movable(tree, items);
  const node = { constituent: { label: checked(label, "label"), positions: [first(parts[0])] }, children: [], parent: null };
  put(node, lowestAbove(parts));
  tree.items.push(node);
  for (const part of parts) put(part, node);
  return { message: `${label} is new over ${names(parts)}.`, focus: node };
});

/** Remove constituents; their children go to the constituent above. */
export const dissolve = operation((tree, items) => {
  const nodes = nodesOnly(items, "A word cannot be removed.");
  if (nodes.includes(tree.root)) refuse("The root cannot be removed.");
  const next = lowestAbove(nodes);
  for (const node of nodes) {
    remove(node);
    tree.items.splice(tree.items.indexOf(node), 1);
  }
  return { message: `${names(nodes)} dissolved.`, focus: next };
});

/** Move children out of their constituent into a new one with the same label beside it. */
export const split = operation((tree, items) => {
  const parts = movable(tree, items);
  const old = parts[0].parent;
  if (parts.some((part) => part.parent !== old)) refuse("Select parts of one constituent to split it.");
  if (old === tree.root) refuse("The root cannot be split.");
  if (parts.length === old.children.length) refuse(`Select some parts of ${name(old)}, not all of them.`);
  const { confidence, ...constituent } = old.constituent;
  const node = { constituent, children: [], parent: null };
  put(node, old.parent);
  tree.items.push(node);
  for (const part of parts) put(part, node);
  return { message: `${name(old)} split: ${names(parts)} apart.`, focus: node };
});

/** Put the children of several constituents into the first of them. */
export const merge = operation((tree, items) => {
  const nodes = nodesOnly(movable(tree, items), "Only constituents can be merged.");
  if (nodes.length < 2) refuse("Select two or more constituents side by side to merge them.");
  const [kept, ...others] = nodes.sort((a, b) => first(a) - first(b));
  for (const other of others) for (const child of [...other.children]) put(child, kept);
  for (const other of others) {
    tidy(tree, other);
  }
  return { message: `${names(nodes)} merged.`, focus: kept };
});

/** Take an item without children out of the tree. */
function tidy(tree, node) {
  put(node, null);
  tree.items.splice(tree.items.indexOf(node), 1);
}

/** Attach the items to another constituent, given by its address. */
export const attach = operation((tree, items, address) => {
  const target = tree.items[address] ?? refuse("There is no such constituent.");
  if (isWord(target)) refuse("Nothing can be attached to a word.");
  const parts = movable(tree, items);
  if (parts.some((part) => part === target || [...above(target)].includes(part))) {
    refuse(`${names(parts)} cannot be attached to itself or to what is below.`);
  }
  if (parts.every((part) => part.parent === target)) refuse(`${names(parts)} already belongs to ${name(target)}.`);
  for (const part of parts) put(part, target);
  return { message: `${names(parts)} attached to ${name(target)}.` };
});

/** Attach each item to the constituent above its own. */
export const lift = operation((tree, items) => {
  const parts = movable(tree, items);
  if (parts.some(({ parent }) => parent === tree.root)) refuse("The root is above already.");
  for (const [part, target] of parts.map((item) => [item, item.parent.parent])) put(part, target);
  return { message: `${names(parts)} moved up to ${name(parts[0].parent)}.` };
});

/** Attach the items to the nearest constituent beside them, on the left (-1) or on the right (1). */
export const lower = operation((tree, items, side) => {
  const parts = movable(tree, items);
  const { parent } = parts[0];
  if (parts.some((part) => part.parent !== parent)) refuse("Select parts of one constituent to move them aside.");
  const siblings = side < 0 ? parent.children.toReversed() : parent.children;
  const start = Math.max(...parts.map((part) => siblings.indexOf(part)));
  const target = siblings.slice(start + 1).find((item) => !isWord(item));
  if (!target) refuse(`There is no constituent on the ${side < 0 ? "left" : "right"} in ${name(parent)}.`);
  for (const part of parts) put(part, target);
  return { message: `${names(parts)} attached to ${name(target)}.` };
});

/** Give constituents a label. */
export const relabel = operation((_, items, text) => {
  const label = checked(text, "label");
  for (const node of nodesOnly(items, "A word has a tag, not a label.")) node.constituent = { ...node.constituent, label };
  return { message: `The label is ${label}.` };
});

/** Make the operation that sets a field of words; an empty value removes it. */
const wordField = (key, kind, refusal) => operation((_, items, text) => {
  if (!items.every(isWord)) refuse(refusal);
  const value = checked(text, kind, true);
  const changed = items.filter(({ token }) => (token[key] ?? "") !== value);
  const isStale = key === "tag" && changed.some(({ token }) => token.morph); // the morphology belongs to the old tag
  for (const word of changed) word.token = withField(key === "tag" ? withField(word.token, "morph", "") : word.token, key, value);
  return { message: `${value ? `The ${kind} is ${value}.` : `There is no ${kind}.`}${isStale ? " The morphology of the old tag was removed." : ""}` };
});

export const retag = wordField("tag", "tag", "A constituent has a label, not a tag.");
export const assignMorph = wordField("morph", "morphology", "Only words have a morphology.");
export const assignLemma = wordField("lemma", "lemma", "Only words have a lemma.");

/** Add a secondary edge from each item to a constituent, given by its address. */
export const link = operation((tree, items, { parent, label }) => {
  const target = tree.items[parent] ?? refuse("There is no such constituent.");
  if (isWord(target)) refuse("A secondary edge leads to a constituent, not to a word.");
  if (items.includes(target)) refuse("A secondary edge must lead to another item.");
  if (items.includes(tree.root)) refuse("The root cannot have a secondary edge.");
  const added = items.map(({ address }) => ({ label: checked(label, "label"), child: address, parent }));
  return { message: `${names(items)} has a secondary edge to ${name(target)}.`, secondary: [...tree.secondary, ...added] };
});

/** Change the label of a secondary edge, given by its number; an empty label removes the edge. */
export const relink = operation((tree, _, { number, label }) => {
  const value = checked(label, "label", true);
  const secondary = tree.secondary.flatMap((edge, k) => (k !== number ? [edge] : value ? [{ ...edge, label: value }] : []));
  return { message: value ? `The label of the secondary edge is ${value}.` : "The secondary edge was removed.", secondary };
});

/** Give words and constituents a function; an empty one takes it away. */
export const assignFunction = operation((_, items, text) => {
  const role = checked(text, "function", true);
  for (const item of items) {
    const field = isWord(item) ? "token" : "constituent";
    item[field] = withField(item[field], "function", role);
  }
  return { message: role ? `The function is ${role}.` : "There is no function." };
});

function withField(fields, key, value) {
  const { [key]: _, ...rest } = fields;
  return value ? { ...rest, [key]: value } : rest;
}

/** Return a label as it is kept. Treebank formats cannot hold whitespace in it. */
function checked(text, kind, mayBeEmpty = false) {
  const value = String(text ?? "").trim();
  if (mayBeEmpty && (value === "" || value === NONE)) return "";
  if (!value || value === NONE) refuse(`A ${kind} cannot be empty.`);
  if (/[\s\p{C}]/u.test(value)) refuse(`A ${kind} cannot contain spaces.`);
  if (value.length > MAX_LABEL) refuse(`A ${kind} has at most ${MAX_LABEL} characters.`);
  return value;
}
