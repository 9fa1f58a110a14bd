// Adjudication: the trees of two annotators side by side, and their differences, each with a side to take.

import { count, make, parseSvg } from "./common.js";
import { merge, pairDifferences, takeSide } from "./annotate_merge.js";
import { describe, spoken } from "./describe.js";
import { bare } from "./editor_canvas.js";
import { differences, markDifferences } from "./tree_differences.js";
import { NONE } from "./tree_edits.js";
import { drawTree } from "./tree_svg.js";
import { SMALLEST_LEGIBLE } from "./tree_zoom.js";

const ARROWS = ["←", "→"];

/**
 * Show two annotations, { who, tree } each, in an element. `onTake` gets the merged tree after every choice.
 * Returns `keys`, the actions of keys, and `undecided`, a function that goes to the first difference without a choice and returns how many there are.
 */
export function openAdjudication(container, annotations, onTake) {
  const [left, right] = annotations.map(({ tree }) => tree);
  const found = pairDifferences(left, right);
  let sides = found.map(() => 0);
  const decided = new Set(); // numbers of differences
  let current = 0;

  const status = make("p", { className: "status", role: "status" });
  const figures = annotations.map(({ who, tree }, side) => makeFigure(tree, annotations[1 - side].tree, `${ARROWS[side]} ${who}`));
  const rows = found.map((difference, number) => make("li", {}, ...annotations.map(({ tree }, side) => make("button", {
    type: "button", onclick: () => take(side, number),
  }, `${side ? "" : "← "}${sideText(tree, difference, side)}${side ? " →" : ""}`))));
  const whole = annotations.map(({ who }, side) => make("button", { type: "button", "aria-keyshortcuts": `Shift+Arrow${side ? "Right" : "Left"}`, onclick: () => takeAll(side) },
    `Take the whole tree of ${who}`));
  container.replaceChildren(
    make("div", { className: "pair" }, ...figures.map(({ element }) => element)), status,
    make("ol", { className: "choices", ariaLabel: "Differences" }, ...rows), make("div", { className: "toolbar" }, ...whole));
  container.hidden = false;
  for (const { settle } of figures) settle();
  update();

  function take(side, number = current) {
    if (!found.length) return;
    const next = takeSide(found, sides, number, side);
    const others = next.filter((taken, k) => k !== number && taken !== sides[k]).length;
    for (const k of next.keys()) if (k === number || next[k] !== sides[k]) decided.add(k);
    sides = next;
    current = [...found.keys()].find((k) => k > number && !decided.has(k)) ?? [...found.keys()].find((k) => !decided.has(k)) ?? number;
    onTake(merge(left, right, found, sides));
    update(others ? ` ${count(others, "other difference")} had to take the same side.` : "");
  }

  function takeAll(side) {
    sides = found.map(() => side);
    for (const k of found.keys()) decided.add(k);
    onTake(annotations[side].tree);
    update();
  }

  function go(by) {
    current = Math.max(0, Math.min(found.length - 1, current + by));
    update();
  }

  function update(remark = "") {
    const open = found.length - decided.size;
    status.textContent = found.length
      ? `${count(found.length, "difference")}, ${open ? `${open} undecided` : "all decided"}.${remark}`
      : "The trees have the same constituents and words, perhaps in another order. Take one of them.";
    for (const [k, row] of rows.entries()) {
      if (k === current) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
      for (const [side, button] of [...row.children].entries()) button.ariaPressed = String(decided.has(k) && sides[k] === side);
    }
    rows[current]?.scrollIntoView({ block: "nearest" });
    for (const [side, { select }] of figures.entries()) select(found[current], side);
  }

  return {
    undecided() {
      const open = [...found.keys()].filter((k) => !decided.has(k));
      if (open.length) current = open[0];
      update();
      return open.length;
    },
    keys: {
      ArrowLeft: () => take(0), ArrowRight: () => take(1), ArrowUp: () => go(-1), ArrowDown: () => go(1),
      "Shift+ArrowLeft": () => takeAll(0), "Shift+ArrowRight": () => takeAll(1),
    },
  };
}

/** Return one side of a difference in words. */
function sideText(record, { kind, fields, sides }, side) {
  const [mine, other] = [sides[side], sides[1 - side]];
  if (kind === "word") return `${mine.form}: ${fields.map((field) => `${field} ${mine[field] ?? NONE}`).join(", ")}`;
  if (kind === "edge") {
    const name = (item) => (typeof item === "number" ? describe(record, item) : spoken(record, item));
    return mine ? `secondary edge ${mine.label}: ${name(mine.child)} → ${name(mine.parent)}` : "no secondary edge";
  }
  if (!mine) return `no ${other.label}`;
  return `${spoken(record, mine)}${other && mine.function !== other.function ? ` (function ${mine.function ?? NONE})` : ""}`;
}

/** Draw a tree and mark what differs from the other one; `select` shows where a difference is, `settle` fits the drawing, which is on the page then. */
function makeFigure(record, other, caption) {
  const svg = parseSvg(drawTree(bare(record), { style: false }));
  const picture = make("div", { className: "picture", tabIndex: 0, role: "region", ariaLabel: `Tree of ${caption.slice(2)}` }, svg);
  const element = make("figure", {}, make("figcaption", {}, caption), picture);
  return {
    element,
    settle() {
      element.style.setProperty("--zoom", String(Math.max(SMALLEST_LEGIBLE, Math.min(1, (picture.clientWidth - 16) / svg.viewBox.baseVal.width))));
      markDifferences(svg, differences(record, other));
    },
    select(difference, side) {
      for (const item of svg.querySelectorAll(".selected")) item.classList.remove("selected");
      const { kind, position, sides } = difference ?? {};
      const name = kind === "word" ? `.word[data-position="${position}"]` : kind === "constituent" && sides[side] ? `.node[data-node="${sides[side].index}"]` : null;
      if (name) svg.querySelector(name)?.classList.add("selected");
    },
  };
}
