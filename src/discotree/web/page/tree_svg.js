// Drawings of trees as SVG: drawing/svg.py with its default options in JavaScript. A test compares the two byte for byte.
// tables.js holds sizes, colours, widths of letters and names of labels, which Python writes.

import { explainTree } from "./labels.js";
import { PITCH, barPieces, columnXs, gapsOf, isDiscontinuous, labelPlace, layout, roundHalfEven, secondaryCurve } from "./tree_layout.js";
import { COLORS, RULES, SIZES, WIDTHS } from "./tables.js";
import { bracketsOf } from "./tree_writers.js";

const NONE = "--";
const HUES = 4; // colours of highlighted nodes, used in turn
const DASHES = 4; // line patterns of the box around a highlighted node; the first one is solid
const HOLE = 5; // pixels left free on either side of a stem that passes through a bar
const INSET = 7; // pixels by which the solid bar reaches into a gap
const MAX_WORDS = 12; // words in the tooltip of a constituent
const LEGEND_HEIGHT = 34;

// Texts and their widths (drawing/measure.py)

const LOWER = 650;
const CAPITAL = 760;
const WIDE = 1000;
const EMOJI = 1300;
const BOLD = 1.09;
const EMOJI_STYLE = "\ufe0f";
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/u;
const INVISIBLE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}]/u;
const ZERO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]/u;
// East Asian wide and full-width characters, and emoji
const IS_WIDE = /(?![\u{1f1e6}-\u{1f1ff}])[\p{Emoji_Presentation}\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u3247\u3250-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18d08}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{2fffd}\u{30000}-\u{3fffd}]/u;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Return a text on one line, without control characters, and with a stand-in if it would be invisible. */
export function clean(text) {
  let shown = "";
  for (const character of text) {
    if (SPACE.test(character)) shown += " ";
    else shown += INVISIBLE.test(character) || (character.codePointAt(0) & 0xfffe) === 0xfffe ? "�" : character;
  }
  if (!shown.replaceAll(" ", "")) return "␣";
  const [first] = shown;
  return ZERO_WIDTH.test(first) ? `◌${shown}` : shown; // an accent needs a base
}

/** Estimate the width of a text in a proportional font, in multiples of the font size. */
export function ems(text, isBold = false) {
  let width = 0;
  let before = "";
  for (const character of text) {
    if (character === EMOJI_STYLE) width += before && !IS_WIDE.test(before) ? EMOJI - LOWER : 0;
    else if (!ZERO_WIDTH.test(character) && !isJoined(before, character)) width += thousandths(character);
    before = character;
  }
  return (width / 1000) * (isBold ? BOLD : 1);
}

/** Return whether an emoji is joined to the previous one, or is its skin tone. */
const isJoined = (before, character) =>
  IS_WIDE.test(character) && (before === "\u200d" || (before !== "" && character >= "\u{1f3fb}" && character <= "\u{1f3ff}"));

function thousandths(character) {
  const width = WIDTHS[character] ?? WIDTHS[[...character.normalize("NFD")][0]]; // é is as wide as e
  if (width !== undefined) return width;
  if (IS_WIDE.test(character)) return /\p{So}/u.test(character) ? EMOJI : WIDE;
  return /\p{Uppercase}/u.test(character) ? CAPITAL : LOWER;
}

/** Return whether the first letter belongs to a script such as Arabic or Hebrew. */
export function isRightToLeft(text) {
  const letter = text.match(/\p{L}/u);
  return letter !== null && RIGHT_TO_LEFT.test(letter[0]);
}

export const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replace(/[\0-\x08\x0b\x0c\x0e-\x1f\p{Cs}\ufffe\uffff]/gu, "�");

/** Return a text as the value of an attribute, with its quotes. */
export function attribute(text) {
  const shown = escape(text).replaceAll("\n", "&#10;").replaceAll("\r", "&#13;").replaceAll("\t", "&#9;");
  return shown.includes('"') && !shown.includes("'") ? `'${shown}'` : `"${shown.replaceAll('"', "&quot;")}"`;
}

/** Format a number with this many significant digits, as Python's "g". */
export function general(number, digits = 6) {
  const rounded = Number(number.toPrecision(digits));
  if (rounded === 0 || Math.abs(rounded) >= 1e-4) return String(rounded);
  const [mantissa, exponent] = rounded.toExponential().split("e-");
  return `${mantissa}e-${exponent.padStart(2, "0")}`;
}

/** Format a number with two decimals; of a half, which only eighths are exactly, the even one. */
const twoDecimals = (number) => (Number.isInteger(8 * number) ? roundHalfEven(100 * number) / 100 : number).toFixed(2);

// Elements

/** Make the functions that draw elements with classes and, for files, with attributes that every program reads. */
export function makePen({ theme, style }) {
  const value = (text, colors) => (text.startsWith("@") ? colors[text.slice(1)] : text);
  const cache = new Map();
  const styleOf = (element, kind, mark) => {
    if (!style) return "";
    const key = `${element}|${kind}|${mark}`;
    if (!cache.has(key)) cache.set(key, Object.entries(properties(element, kind, mark))
      .map(([name, text]) => ` ${name}="${value(text, COLORS[theme === "dark" ? "dark" : "light"])}"`).join(""));
    return cache.get(key);
  };
  return {
    text(kind, x, y, text, mark = "") {
      const direction = isRightToLeft(text) ? ' direction="rtl"' : "";
      const size = parseFloat(properties("text", kind, "")["font-size"]);
      return `<text class="${kind}" x="${general(x)}" y="${general(y + roundHalfEven(0.35 * size))}"${direction}${styleOf("text", kind, mark)}>${escape(text)}</text>`;
    },
    path: (kind, d, mark = "") => `<path class="${kind}" d="${d}"${styleOf("path", kind, mark)}/>`,
    box: (x, y, width, height, kind = "box", mark = "") => `<rect class="${kind}" x="${general(x - width / 2)}" y="${general(y - height / 2)}" ` +
      `width="${general(width)}" height="${general(height)}" rx="5"${styleOf("rect", kind, mark)}/>`,
    picture(title, description, width, height, elements) {
      const size = `width="${width}" height="${height}"`;
      const dark = Object.entries(RULES).flatMap(([selector, rule]) => {
        const colors = Object.entries(rule).filter(([, text]) => text.startsWith("@"));
        return colors.length ? [`[class~=discotree] ${selector}{${colors.map(([name, text]) => `${name}:${value(text, COLORS.dark)}`).join(";")}}\n`] : [];
      });
      const sheet = style && theme === "auto" ? `<style>\n@media(prefers-color-scheme:dark){\n${dark.join("")}}\n</style>\n` : "";
      return [`<svg xmlns="http://www.w3.org/2000/svg" class="discotree" viewBox="0 0 ${width} ${height}" ${size} direction="ltr" role="img">\n` +
        `<title>${escape(title)}</title><desc>${escape(description)}</desc>\n${sheet}<rect class="page" ${size}${styleOf("rect", "page", "")}/>`,
        ...elements, "</svg>\n"].join("\n");
    },
  };
}

/** Return the properties of an element from the rules that match it. */
function properties(element, kind, mark) {
  const classes = kind.split(" ").map((name) => `.${name}`);
  const selectors = new Set([element, ...classes, ...mark.split(" ").filter(Boolean).flatMap((name) => classes.map((own) => `.${name}>${own}`))]);
  return Object.assign({}, ...Object.entries(RULES).filter(([selector]) => selectors.has(selector)).map(([, rule]) => rule));
}

// Trees

/** Return the styles and names of all cells, by address, and the legend: names with their styles. */
function highlightsOf(record, highlight) {
  const size = record.tokens.length;
  const styles = new Array(size + record.constituents.length).fill("");
  const names = styles.map(() => []);
  const legend = [];
  if (!highlight) {
    const found = record.constituents.flatMap(({ positions }, k) => (isDiscontinuous(positions) ? [size + k] : []));
    for (const [k, address] of found.entries()) styles[address] = `hue${k % HUES}`;
    return { styles, names, legend };
  }
  for (const [k, [name, addresses]] of Object.entries(highlight).entries()) {
    const dash = (k + Math.floor(k / HUES)) % DASHES;
    const style = `hue${k % HUES}${dash ? ` dash${dash}` : ""}`;
    for (const address of addresses) {
      styles[address] ||= style;
      names[address].push(name);
    }
    if (addresses.length) legend.push([name, style]);
  }
  return { styles, names, legend: legend.length > 1 ? legend : [] };
}

/**
 * Draw a tree. Options: `functions`, `theme` ("auto", "light" or "dark"), `style` (false for a page that has the style sheet), and
 * `highlight`, lists of addresses by name; without it, discontinuous constituents stand out.
 */
export function drawTree(record, { functions = true, theme = "auto", style = true, highlight = null } = {}) {
  const { tokens, constituents } = record;
  const size = tokens.length;
  const { styles, names, legend } = highlightsOf(record, highlight);
  const pen = makePen({ theme, style });
  const hasTags = tokens.some(({ tag = NONE }) => tag !== NONE);
  const forms = tokens.map(({ form }) => clean(form));
  const labels = [...tokens.map(({ tag = NONE }) => (hasTags ? clean(tag) : "")), ...constituents.map(({ label }) => clean(label))];
  const roles = [...tokens, ...constituents].map((item) => (functions && (item.function ?? NONE) !== NONE ? clean(item.function) : ""));
  const widths = labels.map((label, address) => {
    const isNamed = names[address].length > 0;
    const word = forms[address];
    const width = word === undefined
      ? SIZES.label * ems(label, true) + (isNamed || isDiscontinuous(constituents[address - size].positions) ? SIZES.box : 0)
      : Math.max(isNamed ? SIZES.form * ems(word, true) + SIZES.box : SIZES.form * ems(word), SIZES.tag * ems(label, isNamed));
    return Math.ceil(roles[address] ? Math.max(width, SIZES.function * ems(roles[address])) : width);
  });
  const grid = layout(record);
  const { cells, bars, children, crossed } = grid;
  const { xs, width } = columnXs(grid, widths, SIZES);
  const pitch = roles.some(Boolean) ? SIZES.tall : SIZES.row;
  const roleAbove = cells.some(({ row }, address) => roles[address] && row === 0);
  const wordsY = (legend.length ? LEGEND_HEIGHT : 0) + SIZES.margin + SIZES.reach + (roleAbove ? SIZES.role : 0) + (grid.rows - 1) * pitch;
  const formsY = wordsY + (labels.slice(0, size).some(Boolean) ? SIZES.below : 0);

  const x = (address) => xs.get(cells[address].column);
  const y = (address) => wordsY - pitch * (grid.rows - 1 - cells[address].row);
  const textY = (address) => (address < size && !labels[address] ? formsY : y(address));
  const top = (address) => textY(address) - (roles[address] ? SIZES.role + 8 : SIZES.reach); // where the line from the parent ends
  const box = (address, fontSize, text, mark) =>
    pen.box(x(address), address < size ? formsY : y(address), Math.ceil(fontSize * ems(text, true)) + SIZES.box, 2 * SIZES.reach - 2, "box", mark);
  const explained = explainTree(record);
  const explanation = (label, kind, role = NONE) => [[label, explained(label, kind)], [role, explained(role, "function")]]
    .map(([text, name]) => (name ? `\n${text}: ${name}` : "")).join("");
  const hasConfidences = constituents.every(({ confidence }) => confidence !== undefined);

  function opening(k) {
    const { label, function: role = NONE, positions, confidence } = constituents[k];
    const excerpt = positions.slice(0, MAX_WORDS).map((position) => tokens[position].form);
    for (const [gap] of gapsOf(positions).reverse()) {
      const before = positions.indexOf(gap - 1) + 1;
      if (before < excerpt.length) excerpt.splice(before, 0, "…");
    }
    if (positions.length > MAX_WORDS) excerpt.push("…");
    let title = `${role === NONE ? label : `${label} (${role})`}: ${excerpt.join(" ")}${explanation(label, "constituent", role)}`;
    let data = `data-node="${k}" data-label=${attribute(label)}`;
    if (role !== NONE) data += ` data-function=${attribute(role)}`;
    data += ` data-positions="${positions.join(",")}"`;
    if (hasConfidences) {
      data += ` data-confidence="${general(confidence, 4)}"`;
      title += `\nconfidence ${twoDecimals(confidence)}`;
    }
    const variables = names[size + k].join(" ");
    if (variables) {
      data += ` data-variables=${attribute(variables)}`;
      title += `\n${variables}`;
    }
    return `<g class="node${styles[size + k] && ` ${styles[size + k]}`}" ${data} tabindex="0"><title>${escape(title)}</title>`;
  }

  /** Return the lines from a label to its children: a bar, and a stem for each child. */
  function lines(k, mark) {
    const level = y(size + k) + SIZES.bar;
    const gaps = mark.startsWith("hue") ? gapsOf(constituents[k].positions) : [];
    const [solid, bridges] = barPieces(children[k].map(x),
      gaps.map(([start, end]) => [xs.get(PITCH * (start - 1)), xs.get(PITCH * end)]),
      crossed[k].map((column) => [xs.get(column) - HOLE, xs.get(column) + HOLE]), INSET);
    const pieces = (list) => list.map(([a, b]) => `M${a} ${level}H${b}`).join("");
    return [
      pen.path("line", `M${x(bars[k].node)} ${y(size + k) + SIZES.reach}V${level}${pieces(solid)}`, mark),
      ...(bridges.length ? [pen.path("line bridge", pieces(bridges), mark)] : []),
      ...children[k].map((child) => pen.path("line edge", `M${x(child)} ${level}V${top(child)}`, mark)),
    ];
  }

  function constituent(k) {
    const address = size + k;
    const mark = styles[address];
    return [
      opening(k), ...lines(k, mark),
      ...(mark ? [box(address, SIZES.label, labels[address], mark)] : []),
      ...(roles[address] ? [pen.text("function", x(address), y(address) - SIZES.role, roles[address])] : []),
      `${pen.text("label", x(address), y(address), labels[address], mark)}</g>`,
    ];
  }

  function word(position) {
    const mark = styles[position];
    const { form, tag = NONE, function: role = NONE } = tokens[position];
    const variables = names[position].join(" ");
    const title = explanation(tag, "tag", role);
    const above = roles[position] ? pen.text("function", x(position), textY(position) - SIZES.role, roles[position]) : "";
    const tagged = labels[position] ? pen.text("tag", x(position), textY(position), labels[position], mark) : "";
    return `<g class="word${mark && ` ${mark}`}" data-position="${position}"${variables && ` data-variables=${attribute(variables)}`}>` +
      `${title && `<title>${escape(form + title)}</title>`}${above}${tagged}${variables && box(position, SIZES.form, forms[position], mark)}` +
      `${pen.text("form", x(position), formsY, forms[position], mark)}</g>`;
  }

  /** Return dashed arrows from above the child to the side of the other parent, and their labels on top of them. */
  function secondaryEdges() {
    if (!record.secondary?.length) return [];
    const obstacles = cells.flatMap(({ parent }, address) => {
      const half = Math.floor(widths[address] / 2);
      const text = [x(address) - half, top(address), x(address) + half, y(address) + SIZES.reach];
      return parent < 0 ? [text] : [text, [x(address), y(parent) + SIZES.bar, x(address), top(address)]];
    });
    for (const { node, start, end } of bars) obstacles.push([xs.get(start), y(node) + SIZES.bar, xs.get(end), y(node) + SIZES.bar]);
    const edges = [];
    const texts = [];
    for (const { label, child, parent } of record.secondary) {
      const [width, height] = [Math.ceil(SIZES.function * ems(clean(label))) + 6, 14];
      const curve = secondaryCurve([x(child), top(child)], [x(parent), y(parent)], Math.floor(widths[parent] / 2) + 4);
      const [start, ...rest] = curve.map((point) => point.join(" "));
      const [to, level] = curve[3];
      const middle = labelPlace(curve, width, height, obstacles);
      edges.push(`<g class="secondary" data-child="${child}" data-parent="${parent}" data-label=${attribute(label)}>` +
        `${pen.path("line extra", `M${start}C${rest.join(" ")}`)}${pen.path("tip", `M${to} ${level}l${curve[2][0] < to ? -7 : 7} -4v8z`)}</g>`);
      texts.push(pen.box(...middle, width, height, "behind"), pen.text("function", ...middle, clean(label)));
    }
    return [...edges, ...texts];
  }

  let legendX = SIZES.margin;
  const legendElements = legend.map(([name, mark]) => {
    const text = clean(name);
    const width = Math.ceil(SIZES.label * ems(text, true)) + SIZES.box;
    const [middle, level] = [legendX + width / 2, SIZES.margin + SIZES.reach];
    legendX += width + SIZES.step;
    return `<g class="legend ${mark}">${pen.box(middle, level, width, 2 * SIZES.reach - 2, "box", mark)}${pen.text("label", middle, level, text, mark)}</g>`;
  });
  const sentence = tokens.map(({ form }) => form).join(" ");
  return pen.picture(record.id ? `${record.id}: ${sentence}` : sentence, bracketsOf(record),
    Math.max(width, legendX - SIZES.step + SIZES.margin), formsY + SIZES.margin + 4,
    [...legendElements, ...constituents.flatMap((_, k) => constituent(k)), ...tokens.map((_, position) => word(position)), ...secondaryEdges()]);
}
