// What trees are annotated with.

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
