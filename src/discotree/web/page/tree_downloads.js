// Downloads of one tree or of many, and copies.

import { HAS_SERVER, convert, render } from "./backend.js";
import { attempt, make, makeMenu, save } from "./common.js";
import { drawArcs } from "./tree_arcs.js";
import { drawTree } from "./tree_svg.js";
import { WRITERS, bracketsOf } from "./tree_writers.js";

const XML = "application/xml";
const TEXT = "text/plain";
const PNG = ["PNG", "png", "png", "image/png"];
const PDF = ["PDF", "pdf", "pdf", "application/pdf"];
const PICTURES = [["SVG", "svg", "svg", "image/svg+xml"], PNG, PDF];
const PRINT = ["Print", "print", "", ""];
const TEXTS = [
  ["LaTeX", "latex", "tex", "application/x-tex"],
  ["Export", "export", "export", TEXT],
  ["JSON", "json", "json", "application/json"],
];
const MORE_TEXTS = [
  ["Export 3", "export3", "export3", TEXT],
  ["TigerXML", "tigerxml", "tiger.xml", XML],
  ["Alpino", "alpino", "alpino.xml", XML],
  ["FoLiA", "folia", "folia.xml", XML],
  ["discbracket", "discbracket", "dbr", TEXT],
  ["PSD", "psd", "psd", TEXT],
  ["Penn", "penn", "mrg", TEXT],
  ["CoNLL-U", "conllu", "conllu", TEXT],
];
const available = (kinds) => kinds.filter(([, output]) => HAS_SERVER || WRITERS[output] || ["svg", "png", "print"].includes(output));
const PIXELS = 3; // PNG pixels per SVG pixel
const MAX_PIXELS = 16000; // of a side; browsers draw nothing on larger ones
const MAX_NAME = 60; // characters of a file name

/**
 * Make the menus that copy and download a tree, and their messages; `current` returns its record. Options: `view`, `model`, `headRules`,
 * `onSaved`, and `highlight`, which returns what stands out in its pictures.
 */
export function makeActions(current, options) {
  const problem = make("span", { className: "problem", role: "alert" });
  const status = make("span", { className: "status", role: "status" });
  const act = (message, task) => {
    status.textContent = "";
    return attempt(problem, null, async () => {
      await task();
      status.textContent = message;
    });
  };
  const download = (kind) => act("", async () => {
    save(`${fileName(current())}.${kind[2]}`, kind[3], await content(kind, current(), options));
    options.onSaved?.();
  });
  const copy = makeMenu("Copy", [
    ["Picture", "Copy picture", () => act("Picture copied.", () => copyPicture(content(PNG, current(), options)))],
    ["Brackets", "Copy brackets", () => act("Brackets copied.", () => copyText(bracketsOf(current())))],
  ]);
  const choices = available([...PICTURES, ...TEXTS, ...MORE_TEXTS]).map((kind) => [kind[0], `Download as ${kind[0]}`, () => download(kind)]);
  return [copy, makeMenu("Download", choices), status, problem];
}

/** Name a file after the words of a tree. */
function fileName({ tokens }) {
  const words = tokens.map(({ form }) => form).join(" ").replace(/[^\p{L}\p{M}\p{N}]+/gu, "_").replace(/^_|_$/g, "");
  return [...words].slice(0, MAX_NAME).join("").replace(/_$/, "") || "tree";
}

/** Return the content of a file with one tree. */
async function content([, output], record, { view, model, headRules, highlight }) {
  if (WRITERS[output]) return WRITERS[output]([record]);
  const isArcs = ["arcs", "network"].includes(view);
  const nodes = isArcs ? null : highlight?.();
  const options = { functions: view !== "network", ...(nodes && { highlight: nodes }) };
  const more = { ...options, ...(model && { model }) };
  const draw = (theme) => (isArcs ? drawArcs(record, headRules, { theme, ...options }) : drawTree(record, { theme, ...options }));
  if (output === "svg") return draw("auto");
  if (output === "png") return toPng(draw("light"));
  if (output === "pdf") return convert({ trees: [record], output, picture: isArcs ? "arcs" : "svg", ...more });
  return render({ tree: record, output, ...more });
}

/** Draw an SVG file on a transparent canvas; returns a PNG file. */
async function toPng(svg) {
  const transparent = svg.replace(/<rect [^>]*class="page"[^>]*>/, "");
  const url = URL.createObjectURL(new Blob([transparent], { type: "image/svg+xml" }));
  try {
    const image = make("img", { src: url });
    await image.decode();
    const scale = Math.min(PIXELS, MAX_PIXELS / Math.max(image.naturalWidth, image.naturalHeight));
    const canvas = make("canvas", { width: image.naturalWidth * scale, height: image.naturalHeight * scale });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large for PNG."))), "image/png");
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Copy a picture, given as a promise: some browsers only let a page copy at once. */
async function copyPicture(png) {
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
  } catch {
    await png; // its own error says more
    throw new Error("This browser does not let the page copy pictures. Download the tree as PNG instead.");
  }
}

/** Copy a text; where the browser does not let us, show it to be copied. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    window.prompt("Copy this:", text);
  }
}

/** Print the page in the colours of paper. */
function printLight() {
  const { dataset } = document.documentElement;
  const { theme } = dataset;
  dataset.theme = "light";
  window.print();
  if (theme) dataset.theme = theme;
  else delete dataset.theme;
}

/** Make a menu that downloads all trees in one file. `current` returns { records, model, name, onSaved }. */
export function makeDownloadAll(current, problem) {
  const download = (kind) => attempt(problem, null, async () => {
    const { records, model, name, onSaved } = current();
    if (kind[1] === "print") return printLight();
    const suffix = kind[1] === "json" ? "jsonl" : kind[2];
    save(`${name}.${suffix}`, kind[3], WRITERS[kind[1]]?.(records) ?? (await convert({ trees: records, output: kind[1], ...(model && { model }) })));
    return onSaved();
  });
  return makeMenu("Download all", available([...TEXTS, ...MORE_TEXTS, PDF, PRINT]).map((kind) =>
    [kind[0], `Download all trees as ${kind[0]}`, () => download(kind)]));
}
