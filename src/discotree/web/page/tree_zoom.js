// Long trees: fit them to the page, zoom, and show one of them on the whole screen.

import { make } from "./common.js";

const STEP = 1.25;
const SMALLEST = 0.1;
const LARGEST = 4;
export const SMALLEST_LEGIBLE = 0.6;

/**
 * Fit the drawings in a figure to its width. CSS zooms, so a drawing that is made later has the same size.
 * Returns the element of the buttons, and `settle`, which fits a new drawing.
 */
export function makeZoom(figure, picture) {
  let zoom = 1;
  const set = (value) => {
    zoom = Math.min(LARGEST, Math.max(SMALLEST, value));
    figure.style.setProperty("--zoom", String(zoom));
  };
  const button = (name, text, action) => make("button", { type: "button", ariaLabel: name, title: name, onclick: action }, text);

  /** Return the zoom that makes the whole tree visible; on the page it only shrinks. */
  function fitting() {
    const holder = [...figure.querySelectorAll(".picture")].find((element) => element.offsetWidth);
    const svg = holder?.querySelector("svg.discotree");
    if (!svg) return 1;
    const { width, height } = svg.viewBox.baseVal;
    const isFull = figure.closest("dialog") !== null;
    return Math.min((holder.clientWidth - 16) / width, isFull ? Math.max(holder.clientHeight - 16, 200) / height : 1, isFull ? 2 : 1);
  }

  /** Fit the tree to the space; if it would be illegible, it stays wider, with its root in the middle. */
  function settle() {
    const fits = fitting();
    set(Math.max(fits, SMALLEST_LEGIBLE));
    figure.classList.toggle("scrolls", fits < SMALLEST_LEGIBLE);
    const root = picture.querySelector('.node[data-node="0"] > .label');
    if (root) picture.scrollLeft = zoom * Number(root.getAttribute("x")) - picture.clientWidth / 2;
  }

  let width = 0;
  new ResizeObserver(() => { // once it is on the page, and when the page gets another width
    if (picture.offsetWidth && picture.offsetWidth !== width) settle();
    width = picture.offsetWidth || width;
  }).observe(picture);
  const full = button("Full screen", "Full screen", () => {
    if (figure.closest("dialog")) figure.closest("dialog").close();
    else showFull(figure, full, settle);
  });
  const buttons = make("span", { className: "zoom", role: "group", ariaLabel: "Zoom" },
    button("Zoom out", "−", () => set(zoom / STEP)), button("Zoom in", "+", () => set(zoom * STEP)), button("Fit to the page", "Fit", () => set(fitting())));
  return { element: make("span", {}, full, buttons), settle };
}

/** Show a figure in a dialog over the whole page; Escape closes it. */
function showFull(figure, button, settle) {
  const place = make("span", { hidden: true });
  const dialog = make("dialog", { className: "full-screen", ariaLabel: "Tree", onclose: () => {
    place.replaceWith(figure);
    dialog.remove();
    settle();
    Object.assign(button, { textContent: "Full screen", ariaLabel: "Full screen" });
    button.focus();
  } });
  figure.replaceWith(place);
  dialog.append(figure);
  document.body.append(dialog);
  dialog.showModal();
  settle();
  Object.assign(button, { textContent: "Close", ariaLabel: "Close full screen" });
  button.focus();
}
