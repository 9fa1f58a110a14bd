// Downloads of one tree or of many, and copies.

import { attempt, make, request, save } from "./common.js";

const XML = "application/xml";
const TEXT = "text/plain";
const PICTURES = [["SVG", "svg", "svg", "image/svg+xml"], ["PNG", "png", "png", "image/png"], ["PDF", "pdf", "pdf", "application/pdf"]];
const TEXTS = [
  ["LaTeX", "latex", "tex", "application/x-tex"],
  ["Export", "export", "export", TEXT],
  ["JSON", "json", "json", "application/json"],
];
const MORE_TEXTS = [
  ["Export 3", "export3", "export3", TEXT],
  ["TigerXML", "tigerxml", "tiger.xml", XML],
  ["Alpino", "alpino", "alpino.xml", XML],
  ["discbracket", "discbracket", "dbr", TEXT],
  ["PSD", "psd", "psd", TEXT],
  ["Penn", "penn", "mrg", TEXT],
  ["CoNLL-U", "conllu", "conllu", TEXT],
];
const PIXELS = 2; // PNG pixels per SVG pixel
const MAX_PIXELS = 16000; // of a side; browsers draw nothing on larger ones

/**
 * Make the download buttons of a tree; `current` returns its record. Options: `view`, `model` (for its head rules), `onSaved`, and
 * `highlight`, which returns what stands out in its pictures.
 */
export function makeDownloads(current, options) {
  const problem = make("span", { className: "problem", role: "alert" });
  const download = async (kind) => {
    problem.textContent = "";
    try {
      save(`${fileName(current().id)}.${kind[2]}`, kind[3], await content(kind, current(), options));
      options.onSaved?.();
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  const buttons = [...PICTURES, ...TEXTS].map((kind) =>
    make("button", { type: "button", ariaLabel: `Download as ${kind[0]}`, onclick: () => download(kind) }, kind[0]));
  const more = makeMenu("Download in another format", "More …", MORE_TEXTS, download);
  const copy = make("button", { type: "button", onclick: () => attempt(problem, copy, async () => {
    const text = await (await request("api/draw", { tree: current(), output: "discbracket" })).text();
    await copyText(text.trimEnd());
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy brackets"; }, 2000);
  }) }, "Copy brackets");
  return make("div", { className: "downloads", role: "group", ariaLabel: "Download" }, "Download", ...buttons, more, copy, problem);
}

const fileName = (id) => (id || "tree").replace(/[^\w.-]+/g, "_");

async function content([, output], record, { view, model, highlight }) {
  if (output === "json") return `${JSON.stringify(record)}\n`; // one line: a treebank in the format json
  const picture = view === "arcs" ? "arcs" : "svg";
  const nodes = view === "arcs" ? null : highlight?.();
  const common = { ...(model && { model }), ...(nodes && { highlight: nodes }) };
  const body = { tree: record, ...common };
  if (output === "png") return toPng(await (await request("api/draw", { ...body, output: picture, theme: "light" })).text());
  if (output === "pdf") return (await request("api/convert", { trees: [record], output, picture, ...common })).blob();
  return (await request("api/draw", { ...body, output: output === "svg" ? picture : output })).text();
}

/** Draw an SVG file on a canvas; returns a PNG file. */
async function toPng(svg) {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
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

/** Make a menu that downloads all trees in one file. `current` returns { records, model, name, onSaved }; `fail` shows a message. */
export function makeDownloadAll(current, fail) {
  const kinds = [...TEXTS, ...MORE_TEXTS, PICTURES[2], ["Print", "print", "", ""]];
  return makeMenu("Download all trees as", "Download all …", kinds, async (kind) => {
    const { records, model, name, onSaved } = current();
    fail("");
    try {
      if (kind[1] === "print") printLight();
      else if (kind[1] === "json") save(`${name}.jsonl`, kind[3], records.map((record) => `${JSON.stringify(record)}\n`).join(""));
      else {
        const body = { trees: records, output: kind[1], ...(model && { model }) };
        save(`${name}.${kind[2]}`, kind[3], await (await request("api/convert", body)).blob());
      }
      if (kind[1] !== "print") onSaved();
    } catch (error) {
      fail(error.message);
    }
  });
}

/** Make a menu of kinds of files; its first line is its title. */
function makeMenu(name, title, kinds, choose) {
  const menu = make("select", { ariaLabel: name, oninput: (event) => event.stopPropagation(), onchange: () => {
    const kind = kinds[menu.selectedIndex - 1];
    menu.selectedIndex = 0;
    if (kind) choose(kind);
  } }, make("option", {}, title), ...kinds.map(([label]) => make("option", {}, label)));
  return menu;
}
