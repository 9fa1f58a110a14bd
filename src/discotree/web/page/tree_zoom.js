// Long trees: fit them to the page, zoom, and show one of them on the whole screen.

import { make } from "./common.js";

const STEP = 1.25;
const SMALLEST = 0.1;
const LARGEST = 4;
const SMALLEST_LEGIBLE = 0.5;

/**
 * Make the buttons that zoom the drawings in a figure. CSS does it, so a drawing that is made later has the same size.
 * Returns the element of the buttons, and `settle`, which shrinks a tree that is a little too wide for its place.
 */
export function makeZoom(figure) {
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

  const settle = () => set(fitting() < SMALLEST_LEGIBLE ? 1 : fitting());
  const full = button("Full screen", "Full", () => {
    if (figure.closest("dialog")) figure.closest("dialog").close();
    else showFull(figure, full, () => set(Math.max(fitting(), SMALLEST_LEGIBLE)), settle);
  });
  const element = make("div", { className: "downloads", role: "group", ariaLabel: "Zoom" }, "Zoom",
    button("Zoom out", "−", () => set(zoom / STEP)), button("Zoom in", "+", () => set(zoom * STEP)),
    button("Fit to the page", "Fit", () => set(fitting())), full);
  return { element, settle };
}

/** Show a figure in a dialog over the whole page; Escape closes it. */
function showFull(figure, button, onOpen, onClose) {
  const place = make("span", { hidden: true });
  const dialog = make("dialog", { className: "full-screen", ariaLabel: "Tree", onclose: () => {
    place.replaceWith(figure);
    dialog.remove();
    onClose();
    Object.assign(button, { textContent: "Full", ariaLabel: "Full screen" });
    button.focus();
  } });
  figure.replaceWith(place);
  dialog.append(figure);
  document.body.append(dialog);
  dialog.showModal();
  onOpen();
  Object.assign(button, { textContent: "Close", ariaLabel: "Close full screen" });
  button.focus();
}
