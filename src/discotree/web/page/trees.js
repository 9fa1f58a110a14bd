// A tree on the page: its picture, the details of a selected constituent, its downloads.

import { count, make, parseSvg, request } from "./common.js";
import { blocksAndGaps, spoken } from "./describe.js";
import { differenceLines, differences, markDifferences } from "./tree_differences.js";
import { makeDownloads } from "./tree_downloads.js";
import { makeZoom } from "./tree_zoom.js";

const edited = new WeakMap(); // corrected trees, by the records that they were made from

const histories = new WeakMap(); // of the editors that made these trees: steps can be undone after Done, too

const unsaved = new Set(); // records whose correction has not been downloaded yet
window.addEventListener("beforeunload", (event) => unsaved.size && event.preventDefault());

/** Note that the corrections of these records have been downloaded. */
export function markSaved(records) {
  for (const record of records) unsaved.delete(record);
}

/** Return a tree as the reader has corrected it. */
export const corrected = (record) => edited.get(record) ?? record;

/**
 * Make the figure of a tree. Options: `view`, `model` (for its head rules), `details` (the panel of the selected constituent),
 * `against` (a tree to mark the differences from), `highlight` (what stands out in its downloads), and for its editor `alternatives`, `inventory`, `loadAlternatives` and `origin`, a name for the tree as it was.
 */
export async function makeFigure(original, given, caption = "") {
  const options = { origin: "the prediction", ...given };
  const picture = make("div", { className: "picture" });
  const note = make("div", {});
  const redraw = async () => {
    const isEdited = Boolean(differences(corrected(original), original)?.count);
    const base = isEdited ? original : options.against;
    const found = base ? differences(corrected(original), base) : null;
    const name = isEdited ? "edited" : caption;
    note.replaceChildren(...(found ? [differenceList(corrected(original), base, found, name, isEdited ? options.origin : "the first tree")] : [name]));
    await show(picture, corrected(original), options);
    const svg = picture.querySelector("svg");
    if (svg && options.view === "svg") requestAnimationFrame(() => markDifferences(svg, found));
  };
  await redraw();
  const edit = makeEditButton(picture, original, options, redraw);
  const figure = make("figure", {}, picture);
  const zoom = makeZoom(figure);
  requestAnimationFrame(zoom.settle); // once it is on the page
  figure.append(make("figcaption", {}, note, make("div", { className: "actions" },
    edit, zoom.element, makeDownloads(() => corrected(original), {
      ...options,
      highlight: () => (corrected(original) === original ? options.highlight : null), // the numbers are those of the original
      onSaved: () => markSaved([original]),
    }))));
  return figure;
}

function differenceList(record, base, found, name, whose) {
  const summary = `${name ? `${name}, ` : ""}${found.count ? count(found.count, "difference") : "no difference"} from ${whose}`;
  return make("details", { className: "differences" }, make("summary", {}, summary),
    make("ul", {}, ...differenceLines(record, base, found).map((line) => make("li", {}, line))));
}

/** Make the button that opens the editor in the place of the picture, and closes it. */
function makeEditButton(picture, original, options, redraw) {
  let editor = null;
  let holder = null;
  async function open() {
    const { openEditor } = await import("./editor.js");
    if (options.details) hideDetails(options.details);
    holder = make("div");
    picture.before(holder);
    picture.hidden = true;
    editor = openEditor(holder, {
      record: corrected(original),
      prediction: original,
      alternatives: options.alternatives,
      inventory: options.inventory,
      loadAlternatives: options.loadAlternatives,
      origin: options.origin,
      history: histories.get(corrected(original)),
      onChange: ({ gaps, hits, ...record }) => { // what a filter found was in the old tree
        edited.set(original, record);
        unsaved.add(original);
      },
    });
    holder.querySelector(".canvas").focus();
    holder.addEventListener("keydown", ({ key }) => key === "Escape" && toggle());
  }
  function close() {
    if (corrected(original) !== original) histories.set(corrected(original), editor.history);
    editor.destroy();
    holder.remove();
    editor = null;
    picture.hidden = false;
    button.focus();
    redraw().catch((error) => picture.replaceChildren(make("p", { className: "problem" }, error.message)));
  }
  const toggle = async () => {
    if (editor) close();
    else await open();
    button.textContent = editor ? "Done" : "Edit";
    button.setAttribute("aria-expanded", String(editor !== null));
  };
  const button = make("button", { type: "button", className: "edit", onclick: toggle, ariaExpanded: "false" }, "Edit");
  return button;
}

async function show(picture, record, { view, model, details }) {
  const output = view === "brackets" ? "discbracket" : view;
  const body = { tree: record, output, style: false, ...(model && { model }) };
  const text = await (await request("api/draw", body)).text();
  if (view === "brackets") {
    picture.replaceChildren(make("pre", { tabIndex: 0 }, text.trimEnd()));
    return;
  }
  const svg = parseSvg(text);
  picture.replaceChildren(svg);
  if (view === "svg") makeSelectable(svg, record, details);
}

/** Let the reader select constituents with mouse and keyboard. */
function makeSelectable(svg, record, details) {
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", `Tree of: ${record.tokens.map((token) => token.form).join(" ")}`);
  for (const node of svg.querySelectorAll(".node")) {
    node.setAttribute("role", "button");
    node.setAttribute("aria-pressed", "false");
    node.setAttribute("aria-label", spoken(record, record.constituents[node.dataset.node]));
    node.append(touchTarget(node.querySelector(".label")));
  }
  const select = (event) => {
    const node = event.target.closest(".node");
    if (!node || (event.key && event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    clearSelection();
    node.classList.add("selected");
    node.setAttribute("aria-pressed", "true");
    const constituent = record.constituents[node.dataset.node];
    for (const position of constituent.positions) {
      svg.querySelector(`.word[data-position="${position}"]`)?.classList.add("selected");
    }
    showDetails(details, record, constituent, node);
    node.scrollIntoView({ block: "nearest", inline: "nearest" }); // on a phone the details cover half of the page
  };
  svg.addEventListener("click", select);
  svg.addEventListener("keydown", select);
}

/** Make an invisible rectangle around a label, large enough for a finger. */
function touchTarget(label) {
  const rectangle = document.createElementNS(label.namespaceURI, "rect");
  const box = { x: label.getAttribute("x") - 22, y: label.getAttribute("y") - 21, width: 44, height: 32 };
  for (const [name, value] of Object.entries(box)) rectangle.setAttribute(name, value);
  rectangle.classList.add("target");
  return rectangle;
}

function clearSelection() {
  for (const element of document.querySelectorAll(".discotree .selected")) {
    element.classList.remove("selected");
    if (element.hasAttribute("aria-pressed")) element.setAttribute("aria-pressed", "false");
  }
}

function showDetails(details, record, constituent, node) {
  const parts = blocksAndGaps(record, constituent.positions);
  const gaps = parts.filter((part) => part.isGap);
  const words = parts.flatMap(({ isGap, text }) => [isGap ? make("span", { className: "gap", title: text }, "…") : text, " "]);
  const rows = [
    ["Words", words],
    ["Gaps", gaps.length ? gaps.map(({ text }, k) => `${k ? " · " : ""}${text}`) : ["none"]],
    ["Function", [constituent.function ?? "none"]],
    ["Positions, from 0", [constituent.positions.join(", ")]],
  ];
  if (constituent.confidence !== undefined) {
    const percentage = `${(100 * constituent.confidence).toFixed(1)} %`;
    rows.splice(3, 0, ["Confidence", [percentage, make("meter", { value: constituent.confidence, ariaLabel: `Confidence ${percentage}` })]]);
  }
  const close = make("button", { type: "button", ariaLabel: "Close", onclick: () => {
    hideDetails(details);
    node.focus();
  } }, "×");
  details.replaceChildren(
    make("header", {}, make("h3", {}, constituent.label), close),
    make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, ...value)])),
  );
  details.hidden = false;
  shownNode = node;
}

let shownNode = null; // the constituent whose details are shown

document.addEventListener("keydown", (event) => {
  const details = document.querySelector("[role=tabpanel]:not([hidden]) .details:not([hidden])");
  if (event.key !== "Escape" || event.defaultPrevented || !details || document.querySelector("dialog[open]")) return;
  hideDetails(details);
  shownNode?.focus();
});

/** Close the details and clear the selection. */
export function hideDetails(details) {
  clearSelection();
  details.hidden = true;
  details.replaceChildren();
}
