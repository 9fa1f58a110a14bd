// Treebank formats that the page writes itself: discbracket and export. treebanks/ has them in Python; a test compares the two.

const NONE = "--";
const ROOT_LABELS = new Set(["ROOT", "VROOT", "TOP", "top", "S1"]);
const FIRST_NODE = 500;
const ODD_SPACE = /[\v\f\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/g; // disco-dop ends a word here
const WHITE_SPACE = /[ \t\n\r\f\v\x1c-\x1f]/;

/** Return the parent of every item of a tree by address, -1 for the root. */
function parentsOf({ tokens, constituents }) {
  const lowest = new Array(tokens.length).fill(-1);
  const nodes = constituents.map(({ positions }, k) => {
    const parent = lowest[positions[0]];
    for (const position of positions) lowest[position] = tokens.length + k;
    return parent;
  });
  return [...lowest, ...nodes];
}

/** Return the children of every item of a tree by address, from left to right. */
export function childrenOf(record) {
  const { tokens, constituents } = record;
  const children = [...tokens, ...constituents].map(() => []);
  const first = (address) => (address < tokens.length ? address : constituents[address - tokens.length].positions[0]);
  for (const [address, parent] of parentsOf(record).entries()) children[parent]?.push(address);
  return children.map((items) => items.sort((a, b) => first(a) - first(b)));
}

/** Raise an error for a text that is empty or that a format cannot represent. */
function check(record, format, what, texts, forbidden = WHITE_SPACE) {
  for (const text of texts) {
    if (!text || forbidden.test(text)) throw new Error(`sentence ${record.id ?? ""}: ${format} cannot represent the ${what} '${text}'`);
  }
}

// Brackets

const withCodes = (form) => form.replaceAll("(", "#LRB#").replaceAll(")", "#RRB#")
  .replace(ODD_SPACE, (space) => `#U+${space.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}#`);
const decoded = (text) => text.replace(/#(LRB|RRB|HASH|U\+([0-9A-F]{4}))#/g, (code, name, number) =>
  ({ LRB: "(", RRB: ")", HASH: "#" })[name] ?? (withCodes(String.fromCodePoint(parseInt(number, 16))) === code ? String.fromCodePoint(parseInt(number, 16)) : code));

function encoded(form) {
  const text = withCodes(form);
  return !form.includes("#") || decoded(text) === form ? text : withCodes(form.replaceAll("#", "#HASH#"));
}

const bracketLabel = (label) => label.replaceAll("(", "[").replaceAll(")", "]") || NONE;

/** Return a tree as one line of brackets with positions. */
export function bracketsOf(record) {
  const { tokens, constituents } = record;
  const children = childrenOf(record);
  const pieces = [];
  const stack = [tokens.length];
  while (stack.length) {
    const address = stack.pop();
    const token = tokens[address];
    if (address === null) pieces.push(")");
    else if (token) pieces.push(` (${bracketLabel(token.tag ?? NONE)} ${address}=${encoded(token.form)})`);
    else {
      pieces.push(` (${bracketLabel(constituents[address - tokens.length].label)}`);
      stack.push(null, ...children[address].toReversed());
    }
  }
  return pieces.join("").slice(1);
}

/** Return the line of a tree in discbracket, given its number in the file. */
function discbracketLine(record, number) {
  const { id = "", comment = "", tokens, constituents } = record;
  const tags = tokens.map(({ tag }) => tag || NONE);
  const labels = constituents.map(({ label }) => label);
  check(record, "discbracket", "word", tokens.map(({ form }) => form), /[ \t\r\n]/);
  check(record, "discbracket", "tag", tags, /[ \t\r\n]/);
  check(record, "discbracket", "label", labels, /[ \t\r\n]/);
  check(record, "discbracket", "tag", tags.filter((tag) => tag !== "$("), /[()]|^\$\[$/);
  check(record, "discbracket", "label", labels, /[()]/);
  let note = id === String(number) ? "" : id;
  if (note) check(record, "discbracket", "id", [note], /[ \t\r\n]/);
  else if (comment.trim().includes(" ")) note = comment.trim().split(/\s+/).join(" "); // one word would be taken for an id
  return `${bracketsOf(record)}${note && `\t${note}`}\n`;
}

// Export

/** Put a virtual root on top, unless there is one already. */
function addRoot(record) {
  const { tokens, constituents, secondary = [] } = record;
  if (ROOT_LABELS.has(constituents[0].label)) return record;
  const shifted = secondary.map(({ label, child, parent }) => ({ label, child: child + (child >= tokens.length ? 1 : 0), parent: parent + 1 }));
  return { ...record, constituents: [{ label: "ROOT", positions: constituents[0].positions }, ...constituents], secondary: shifted };
}

/** Return the lines of a tree in the export format, given its number in the file. */
function exportLines(original, number) {
  const record = addRoot(original);
  const { tokens, constituents, secondary = [], comment = "" } = record;
  const size = tokens.length;
  const id = record.id || String(number);
  check(record, "export", "id", [id], /[ \t\n\r\f\v\x1c-\x1f]|%%/);
  check(record, "export", "word", tokens.map(({ form }) => form));
  check(record, "export", "word", tokens.map(({ form }) => form), /^#[BE]OS$/);
  if (comment.includes("\n") || comment.trim() !== comment) check(record, "export", "comment", [comment], /^/);
  const field = (what, text) => {
    if (text) check(record, "export", what, [text]);
    return text || NONE;
  };
  const parents = parentsOf(record);
  const taken = new Set(tokens.map(({ form }) => form));
  const numbers = new Map([[size, 0]]);
  for (let address = size + constituents.length - 1, next = FIRST_NODE; address > size; address -= 1, next += 1) {
    while (taken.has(`#${next}`)) next += 1;
    numbers.set(address, next);
  }
  const extra = (address) => secondary.filter(({ child }) => child === address)
    .map(({ label, parent }) => `\t${field("secondary edge", label)}\t${numbers.get(parent)}`).join("");
  const end = (item, address) => `${field("function", item.function)}\t${numbers.get(parents[address])}${extra(address)}`;
  const words = tokens.map((token, k) => `${token.form}\t${field("lemma", token.lemma?.replaceAll(" ", "_"))}\t${field("tag", token.tag)}\t` +
    `${field("morphology", token.morph)}\t${end(token, k)}`);
  const nodes = [...numbers].slice(1).map(([address, name]) => {
    const node = constituents[address - size];
    return `#${name}\t${NONE}\t${field("label", node.label)}\t${NONE}\t${end(node, address)}`;
  });
  const root = extra(size);
  return [...(root ? [`%% #0${root}`] : []), `#BOS ${id}${comment && ` %% ${comment}`}`, ...words, ...nodes, `#EOS ${id}\n`].join("\n");
}

const withNumbers = (records, write) => records.map((record, k) => write(record, k + 1)).join("");

/** Writers by format: from records to the text of a file. */
export const WRITERS = {
  discbracket: (records) => withNumbers(records, discbracketLine),
  export: (records) => `#FORMAT 4\n${withNumbers(records, exportLines)}`,
  json: (records) => records.map((record) => `${JSON.stringify(record)}\n`).join(""),
};
