// A tree on the page: its picture, the details of a selected constituent, its downloads.

import { HAS_SERVER } from "./backend.js";
import { count, draw, make, parseSvg, place } from "./common.js";
import { blocksAndGaps, spoken } from "./describe.js";
import { explainTree } from "./labels.js";
import { drawArcs } from "./tree_arcs.js";
import { differenceLines, differences, markDifferences } from "./tree_differences.js";
import { makeActions } from "./tree_downloads.js";
import { drawTree } from "./tree_svg.js";
import { bracketsOf } from "./tree_writers.js";
import { makeZoom } from "./tree_zoom.js";

const edited = new WeakMap(); // corrected trees, by the records that they were made from

const histories = new WeakMap(); // of the editors that made these trees: steps can be undone after Done, too

const LOW = 0.5; // confidences below it are low …
const HIGH = 0.8; // … and below this one medium

const unsaved = new Set(); // records whose correction has not been downloaded yet
export const hasUnsaved = () => unsaved.size > 0;
window.addEventListener("beforeunload", (event) => hasUnsaved() && event.preventDefault());

/** Note that the corrections of these records have been downloaded. */
export function markSaved(records) {
  for (const record of records) unsaved.delete(record);
}

/** Return a tree as the reader has corrected it. */
export const corrected = (record) => edited.get(record) ?? record;

/**
 * Make the figure of a tree. Options: `view`, `headRules` (for its dependencies), `model`, `details` (the panel of the selected constituent),
 * `against` (a tree to mark the differences from), `highlight` (what stands out in its downloads), `mark` (called with the figure when its tree is drawn again), and for its editor `alternatives`, `inventory`, `loadAlternatives`, `reparse` and `origin`, a name for the tree as it was.
 */
export function makeFigure(original, given, caption = "") {
  const options = { origin: "the prediction", ...given };
  const picture = make("div", { className: "picture" });
  const note = make("div", { className: confidenceLevel(original.confidence) });
  const redraw = () => {
    const isEdited = Boolean(differences(corrected(original), original)?.count);
    const base = isEdited ? original : options.against;
    const found = base ? differences(corrected(original), base) : null;
    const name = isEdited ? "edited" : caption;
    note.replaceChildren(...(found ? [differenceList(corrected(original), base, found, name, isEdited ? options.origin : "the first tree")] : [name]));
    show(picture, corrected(original), options);
    const svg = picture.querySelector("svg");
    if (svg && options.view === "svg") requestAnimationFrame(() => markDifferences(svg, found));
    zoom.settle();
  };
  const restore = () => {
    redraw();
    if (corrected(original) === original) options.mark?.(figure);
  };
  const figure = make("figure", {}, picture);
  const zoom = makeZoom(figure, picture);
  const example = HAS_SERVER && options.view === "svg" ? makeExample(picture, () => corrected(original), options, restore) : null;
  options.example = example;
  redraw();
  figure.append(make("figcaption", {}, note, make("div", { className: "actions" },
    makeEditButton(picture, original, options, restore), ...(example ? [example.button] : []), zoom.element, ...makeActions(() => corrected(original), {
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
    options.example?.close();
    holder = make("div");
    picture.before(holder);
    picture.hidden = true;
    editor = openEditor(holder, {
      record: corrected(original),
      prediction: original,
      alternatives: options.alternatives,
      inventory: options.inventory,
      loadAlternatives: options.loadAlternatives,
      reparse: options.reparse,
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
    redraw();
  }
  const toggle = async () => {
    if (editor) close();
    else await open();
    button.textContent = editor ? "Done" : "Edit";
    button.setAttribute("aria-expanded", String(editor !== null));
    if (options.example) options.example.button.hidden = editor !== null;
  };
  const button = make("button", { type: "button", className: "edit", onclick: toggle, ariaExpanded: "false" }, "Edit");
  return button;
}

/** Make the button that opens the search by example below the picture. Afterwards, words and constituents are picked. */
function makeExample(picture, record, { details }, restore) {
  let panel = null;
  async function open() {
    const { openExample } = await import("./by_example.js");
    if (panel) return;
    hideDetails(details);
    panel = openExample(picture, record());
    picture.after(panel.element);
    panel.element.addEventListener("keydown", onKey);
    picture.addEventListener("keydown", onKey);
    update();
  }
  function close() {
    if (!panel) return;
    panel.element.remove();
    picture.removeEventListener("keydown", onKey);
    panel = null;
    update();
    restore();
  }
  const onKey = ({ key }) => {
    if (key !== "Escape") return;
    close();
    button.focus();
  };
  const update = () => button.setAttribute("aria-expanded", String(panel !== null));
  const button = make("button", { type: "button", className: "find", ariaExpanded: "false", ariaLabel: "Find similar", title: "Search by example",
    onclick: () => (panel ? close() : open()) }, "Find", make("span", {}, " similar"));
  return {
    button,
    close,
    /** Pick a node if the search is open, or if the reader holds Shift; return whether it is picked. */
    takes(event, address) {
      if (!panel && !event.shiftKey) return false;
      open().then(() => panel.pick(address));
      return true;
    },
  };
}

function show(picture, record, { view, headRules, details, example }) {
  if (view === "brackets") {
    picture.replaceChildren(make("pre", { tabIndex: 0 }, bracketsOf(record)));
    return;
  }
  const arcs = () => drawArcs(record, headRules, { functions: view !== "network", style: false });
  const svg = parseSvg(view === "svg" ? drawTree(record, { style: false }) : arcs());
  picture.replaceChildren(svg);
  if (view === "svg") makeSelectable(svg, record, details, example);
}

/** Let the reader select constituents with mouse and keyboard. */
function makeSelectable(svg, record, details, example) {
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", `Tree of: ${record.tokens.map((token) => token.form).join(" ")}`);
  for (const node of svg.querySelectorAll(".node")) {
    node.setAttribute("role", "button");
    node.setAttribute("aria-pressed", "false");
    node.setAttribute("aria-label", spoken(record, record.constituents[node.dataset.node]));
    const label = node.querySelector(".label"); // with a rectangle around it, large enough for a finger
    node.append(draw("rect", { class: "target", x: label.getAttribute("x") - 22, y: label.getAttribute("y") - 21, width: 44, height: 32 }));
    if (confidenceLevel(record.constituents[node.dataset.node].confidence) === "low") node.classList.add("unsure");
  }
  for (const word of svg.querySelectorAll(".word")) {
    const { form, lemma } = record.tokens[word.dataset.position];
    if (!lemma) continue;
    const title = word.querySelector("title") ?? draw("title", {}, form);
    title.append(`\nlemma: ${lemma}`);
    word.prepend(title);
  }
  const select = (event) => {
    const node = event.target.closest(".node, .word");
    if (!node || (event.key && event.key !== "Enter" && event.key !== " ")) return;
    const isWord = node.matches(".word");
    if (example?.takes(event, isWord ? Number(node.dataset.position) : record.tokens.length + Number(node.dataset.node))) event.preventDefault();
    if (isWord || event.defaultPrevented) return;
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
  details.onbeforetoggle = ({ newState }) => void (newState === "closed" && clearSelection());
  svg.addEventListener("mousedown", (event) => event.shiftKey && event.preventDefault()); // it would select text
  svg.addEventListener("click", select);
  svg.addEventListener("keydown", select);
}

function clearSelection() {
  for (const element of document.querySelectorAll(".discotree .selected")) {
    element.classList.remove("selected");
    if (element.hasAttribute("aria-pressed")) element.setAttribute("aria-pressed", "false");
  }
}

/** Return how good a confidence is: "low", "medium" or "high"; "" if there is none. */
export function confidenceLevel(confidence) {
  if (confidence === undefined) return "";
  return confidence < LOW ? "low" : confidence < HIGH ? "medium" : "high";
}

/** Show the details of a constituent in a pop-over next to it. */
function showDetails(details, record, constituent, node) {
  const parts = blocksAndGaps(record, constituent.positions);
  const gaps = parts.filter((part) => part.isGap);
  const words = parts.flatMap(({ isGap, text }) => [isGap ? make("span", { className: "gap", title: text }, "…") : text, " "]);
  const explained = explainTree(record);
  const functionName = explained(constituent.function, "function");
  const rows = [
    ["Words", words],
    ["Gaps", gaps.length ? gaps.map(({ text }, k) => `${k ? " · " : ""}${text}`) : ["none"]],
    ["Function", [constituent.function ?? "none", functionName ? make("span", { className: "name" }, `: ${functionName}`) : ""]],
    ["Positions, from 0", [constituent.positions.join(", ")]],
  ];
  const { confidence } = constituent;
  if (confidence !== undefined) {
    const level = confidenceLevel(confidence);
    const percentage = `${(100 * confidence).toFixed(1)} %, ${level}`;
    const meter = make("meter", { value: confidence, low: LOW, high: HIGH, optimum: 1, ariaLabel: `Confidence ${percentage}` });
    rows.splice(3, 0, ["Confidence", [make("span", { className: level }, percentage), meter]]);
  }
  const close = make("button", { type: "button", ariaLabel: "Close", onclick: () => {
    hideDetails(details);
    node.focus();
  } }, "×");
  details.replaceChildren(
    make("header", {}, make("h3", {}, constituent.label), close),
    make("p", { className: "name" }, explained(constituent.label, "constituent") ?? ""),
    make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, ...value)])),
  );
  node.closest("figure").append(details); // it has to be in the dialog of a full screen
  details.showPopover();
  const label = node.querySelector(".label").getBoundingClientRect();
  const sides = [node.closest("svg").getBoundingClientRect(), label] // beside the whole tree if there is room, or else beside the label
    .flatMap(({ left, right }) => [right + 10, left - details.offsetWidth - 10]);
  place(details, sides.find((left) => left >= 0 && left + details.offsetWidth <= document.documentElement.clientWidth) ?? sides[2], label.top - 10);
}

/** Close the details and clear the selection. */
export function hideDetails(details) {
  if (details.matches(":popover-open")) details.hidePopover();
}
