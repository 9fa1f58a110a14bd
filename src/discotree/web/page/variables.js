// The colours of variables: in the legend, in a sentence, in a tree.

import { draw, make } from "./common.js";

const MAX_NAME = 100; // characters of a name in a drawing
const COLORS = 6; // more variables share them in turn

export const colorOf = (variables, name) => `variable${variables.indexOf(name) % COLORS}`;
const boundNodes = (bindings, variables) => variables.map((name) => [name, bindings[name]]).filter(([, bound]) => bound?.positions);

/** Return the name of a variable, or of a node without one. */
export const shownName = (name) => (name.startsWith("#") ? name : `node ${name}`);

/** Make the legend: which variable has which colour. */
export function legend(variables) {
  return variables.map((name) => make("li", { className: colorOf(variables, name) }, make("span", { className: "swatch", ariaHidden: "true" }), shownName(name)));
}

/** Return the classes of words by position: that of the smallest node above each, so that inner ones stay visible. */
export function wordClasses(bindings, variables) {
  const classes = new Map();
  const nodes = boundNodes(bindings, variables).toSorted(([, a], [, b]) => b.positions.length - a.positions.length);
  for (const [name, { positions }] of nodes) for (const at of positions) classes.set(at, `bound ${colorOf(variables, name)}`);
  return classes;
}

/** Colour the nodes of a tree that are bound, and write their variables beside them. */
export function markTree(figure, bindings, variables) {
  const svg = figure.querySelector("svg");
  for (const node of svg.querySelectorAll(".node")) node.classList.remove("hue0", "hue1", "hue2", "hue3"); // gaps keep their boxes and dots
  const shown = new Map(); // several variables may stand for one node
  for (const [name, bound] of boundNodes(bindings, variables)) {
    const isWord = bound.node === null;
    const element = svg.querySelector(isWord ? `.word[data-position="${bound.positions[0]}"]` : `.node[data-node="${bound.node}"]`);
    if (!element) continue;
    const names = [...(shown.get(element) ?? []), name];
    shown.set(element, names);
    if (names.length === 1) element.classList.add("bound", colorOf(variables, name));
    write(element, names.map(shownName).join(" "), isWord);
  }
  makeRoom(svg);
}

/** Remove the colours and names of variables from a tree. */
export function unmarkTree(figure) {
  for (const element of figure.querySelectorAll(".bound")) {
    element.classList.remove("bound", ...Array.from({ length: COLORS }, (_, k) => `variable${k}`));
    element.querySelector(".variable")?.remove();
    if (element.dataset.spoken) element.ariaLabel = element.dataset.spoken;
  }
}

/** Return the bound nodes as api/draw wants them: a word by its position, a constituent by its number after all words. */
export function highlighted(record, bindings, variables) {
  return Object.fromEntries(boundNodes(bindings, variables).map(([name, { node, positions }]) =>
    [shownName(name).slice(0, MAX_NAME), [node === null ? positions[0] : record.tokens.length + node]]));
}

/** Make a drawing large enough for names at its lower and right edges; labels have been measured by now. */
function makeRoom(svg) {
  const { x, y, width, height } = svg.viewBox.baseVal;
  const wanted = [...svg.querySelectorAll("text.variable")].map((text) => text.getBBox());
  const right = Math.max(width, ...wanted.map((box) => box.x + box.width + 6 - x));
  const lower = Math.max(height, ...wanted.map((box) => box.y + box.height + 4 - y));
  svg.setAttribute("viewBox", `${x} ${y} ${right} ${lower}`);
  svg.setAttribute("width", right);
  svg.setAttribute("height", lower);
}

/** Write names of variables beside a label, or below a word, for readers who do not see the colours. */
function write(element, names, isWord) {
  const label = element.querySelector(isWord ? ".form" : ".label");
  element.querySelector(".variable")?.remove();
  const width = label.getComputedTextLength?.() || 0;
  const x = isWord ? label.getAttribute("x") : Number(label.getAttribute("x")) + width / 2 + 9;
  const y = Number(label.getAttribute("y")) + (isWord ? 15 : -1);
  element.append(draw("text", { class: isWord ? "variable" : "variable beside", x, y }, names));
  if (!element.ariaLabel) return;
  element.dataset.spoken ??= element.ariaLabel;
  element.ariaLabel = `${names} ${element.dataset.spoken}`;
}
