// Items of a tree in words, and the labels of trees.

/** Split the words from first to last into blocks of the constituent and gaps between them. */
export function blocksAndGaps(record, positions) {
  const inside = new Set(positions);
  const found = [];
  for (let position = positions[0]; position <= positions.at(-1); position += 1) {
    const isGap = !inside.has(position);
    if (!found.length || found.at(-1).isGap !== isGap) found.push({ isGap, words: [] });
    found.at(-1).words.push(record.tokens[position].form);
  }
  return found.map(({ isGap, words }) => ({ isGap, text: words.join(" ") }));
}

/** Return the label of a constituent and its words, with … for a gap. */
export function spoken(record, { label, positions }) {
  return `${label}: ${blocksAndGaps(record, positions).map(({ isGap, text }) => (isGap ? "…" : text)).join(" ")}`;
}

/** Return an item in words: a token or, with the number of tokens added, a constituent. */
export function describe(record, address) {
  const token = record.tokens[address];
  if (!token) return spoken(record, record.constituents[address - record.tokens.length]);
  return token.tag ? `${token.form}, ${token.tag}` : token.form;
}

/** Return the labels, tags, morphologies and functions of trees, the frequent ones first. */
export function inventoryOf(records) {
  const nodes = records.flatMap(({ constituents }) => constituents);
  const tokens = records.flatMap(({ tokens }) => tokens);
  return {
    labels: byCount(nodes.map(({ label }) => label)),
    tags: byCount(tokens.map(({ tag }) => tag)),
    morphs: byCount(tokens.map(({ morph }) => morph)),
    functions: byCount([...nodes, ...tokens].map((item) => item.function)),
  };
}

function byCount(values) {
  const counts = new Map();
  for (const value of values) if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
}
