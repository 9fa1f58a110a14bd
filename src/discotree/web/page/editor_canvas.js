// The drawing of an editor: shows what is selected, and tells what is tapped and dragged.

import { draw as drawElement, make, parseSvg } from "./common.js";
import { describe } from "./describe.js";
import { markDifferences } from "./tree_differences.js";
import { drawTree } from "./tree_svg.js";
import { SMALLEST_LEGIBLE } from "./tree_zoom.js";

const DRAG_PIXELS = 6; // a shorter way is a tap
const REACH = 8; // pixels around a label that still count as a touch
let canvases = 0; // ids are unique on the page

/**
 * Make the drawing. `handlers`: pick(address, isAdded), drop(address, target), refuses(address, target) (why it cannot be
 * dropped there, or "").
 */
export function makeCanvas(handlers) {
  const prefix = `canvas-${(canvases += 1)}`;
  const element = make("div", { className: "canvas picture", role: "listbox", tabIndex: 0, ariaLabel: "Tree", ariaMultiSelectable: "true" });
  let svg = null;
  let drawn = null; // the record that the drawing shows
  let marks = { current: 0, selection: new Set(), picked: new Set(), differences: null };

  /** Show a record. */
  function draw(record) {
    show(parseSvg(drawTree(bare(record), { style: false })), record);
    drawn = record;
  }

  function show(picture, record) {
    svg = picture;
    svg.setAttribute("role", "presentation");
    for (const text of svg.querySelectorAll("title, desc")) text.remove();
    for (const group of svg.querySelectorAll(".node, .word")) {
      group.removeAttribute("tabindex");
      group.setAttribute("role", "option");
      group.id = `${prefix}-${address(group, record)}`;
      group.setAttribute("aria-label", describe(record, address(group, record)));
    }
    const { scrollLeft, scrollTop, firstChild } = element;
    const fits = Math.max(SMALLEST_LEGIBLE, Math.min(1, (element.clientWidth - 16) / svg.viewBox.baseVal.width));
    if (!element.closest("figure")) element.style.setProperty("--zoom", String(fits)); // a figure fits it itself
    element.replaceChildren(svg);
    Object.assign(element, { scrollLeft, scrollTop });
    addTargets(svg);
    const root = svg.querySelector('.node[data-node="0"] > .label');
    if (!firstChild) element.scrollLeft = root.getBoundingClientRect().x - element.getBoundingClientRect().x - element.clientWidth / 2;
  }

  const address = (group, record = drawn) =>
    group.dataset.position !== undefined ? Number(group.dataset.position) : record.tokens.length + Number(group.dataset.node);
  const group = (item) => svg?.querySelector(`#${prefix}-${item}`);

  /** Show what is current, selected, picked up and different; without changes, what was before. */
  function mark(changes = {}) {
    marks = { ...marks, ...changes };
    if (!svg) return;
    for (const item of svg.querySelectorAll("[role=option]")) {
      const number = address(item);
      item.classList.toggle("current", number === marks.current);
      item.classList.toggle("selected", marks.selection.has(number));
      item.classList.toggle("picked", marks.picked.has(number));
      item.setAttribute("aria-selected", String(marks.selection.has(number)));
    }
    markDifferences(svg, marks.differences);
    element.setAttribute("aria-activedescendant", `${prefix}-${marks.current}`);
  }

  /** Return the item at a point of the window: the nearest label or word within reach, or a line. */
  function itemAt(x, y) {
    const shown = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / shown.width;
    const point = { x: scale * (x - shown.left), y: scale * (y - shown.top) };
    let best = null;
    let nearest = REACH;
    for (const rectangle of svg.querySelectorAll(".target")) {
      const [left, top, width, height] = ["x", "y", "width", "height"].map((name) => Number(rectangle.getAttribute(name)));
      const distance = Math.hypot(outside(point.x, left, width), outside(point.y, top, height));
      if (distance < nearest) [best, nearest] = [rectangle.parentNode, distance];
    }
    best ??= document.elementFromPoint(x, y)?.closest(".node"); // one of its lines
    return best && svg.contains(best) ? address(best) : null;
  }

  let drag = null; // { item, x, y, pointer, ghost, over }

  function start(event) {
    if (!svg || event.button !== 0 || drag) return;
    const item = itemAt(event.clientX, event.clientY);
    drag = { item, x: event.clientX, y: event.clientY, pointer: event.pointerId, ghost: null, over: null };
  }

  function move(event) {
    if (!drag || event.pointerId !== drag.pointer || drag.item === null) return;
    if (!drag.ghost) {
      if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < DRAG_PIXELS) return;
      element.setPointerCapture(drag.pointer);
      const items = marks.selection.has(drag.item) ? [...marks.selection] : [drag.item];
      const text = items.length === 1 ? describe(drawn, drag.item) : `${items.length} items`;
      drag.ghost = make("div", { className: "ghost", ariaHidden: "true" }, text);
      element.append(drag.ghost);
    }
    const over = itemAt(event.clientX, event.clientY);
    if (over !== drag.over) {
      for (const old of svg.querySelectorAll(".over")) old.classList.remove("over", "refused");
      drag.over = over;
      drag.why = over === null || over === drag.item ? "" : handlers.refuses(drag.item, over);
      if (over !== null && over !== drag.item) group(over)?.classList.add("over", ...(drag.why ? ["refused"] : []));
    }
    drag.ghost.style.translate = `${event.clientX + 12}px ${event.clientY + 14}px`;
    scrollAtEdge(event.clientX);
  }

  /** Scroll a wide tree while something is held at its edge. */
  function scrollAtEdge(x) {
    const { left, right } = element.getBoundingClientRect();
    if (x < left + 30) element.scrollLeft -= 12;
    else if (x > right - 30) element.scrollLeft += 12;
  }

  function finish(event) {
    if (!drag || event.pointerId !== drag.pointer) return;
    const { item, ghost, over } = drag;
    end();
    if (ghost) {
      if (over !== null && over !== item) handlers.drop(item, over);
    } else {
      element.focus({ preventScroll: true });
      handlers.pick(item, event.ctrlKey || event.metaKey || event.shiftKey);
    }
  }

  function end() {
    drag?.ghost?.remove();
    for (const old of svg?.querySelectorAll(".over") ?? []) old.classList.remove("over", "refused");
    drag = null;
  }

  /** A finger on an item drags it; elsewhere it scrolls. The touch-action of parts of an SVG is not enough for all browsers. */
  function keepFromScrolling(event) {
    const { clientX, clientY } = event.touches[0];
    if (svg && event.touches.length === 1 && itemAt(clientX, clientY) !== null) event.preventDefault();
  }

  element.addEventListener("touchstart", keepFromScrolling, { passive: false });
  element.addEventListener("pointerdown", start);
  element.addEventListener("pointermove", move);
  element.addEventListener("pointerup", finish);
  element.addEventListener("pointercancel", end);

  return {
    element,
    draw,
    mark,
    isDragging: () => Boolean(drag?.ghost),
    endDrag: end,
    reveal: (item) => group(item)?.querySelector(".target").scrollIntoView({ block: "nearest", inline: "nearest" }),
  };
}

/** Return how far a number is from an interval. */
const outside = (value, start, length) => Math.max(start - value, value - start - length, 0);

/** Return the fields of a record that make the tree. */
export function bare({ id, tokens, constituents, secondary }) {
  return { id, tokens, constituents, ...(secondary && { secondary }) };
}

/** Give every label and word an invisible rectangle that takes taps; the drawing is on the page. */
function addTargets(svg) {
  const boxes = (kind, texts) => [...svg.querySelectorAll(kind)].map((group) => {
    const inner = [...group.querySelectorAll(texts)];
    const x = Number(inner[0].getAttribute("x"));
    const half = Math.max(...inner.map((text) => text.getBBox().width || 8 * text.textContent.length)) / 2;
    const ys = inner.map((text) => Number(text.getAttribute("y")));
    return { group, left: x - half - 6, right: x + half + 6, top: Math.min(...ys) - 17, bottom: Math.max(...ys) + 9 };
  });
  const words = boxes(".word", ".tag, .form");
  for (const [k, word] of words.entries()) { // they share the space between them
    const next = words[k + 1];
    if (next && word.right > next.left) word.right = next.left = (word.right + next.left) / 2;
  }
  for (const { group, left, right, top, bottom } of [...words, ...boxes(".node", ".label")]) {
    group.append(drawElement("rect", { class: "target", x: left, y: top, width: right - left, height: bottom - top }));
  }
}
