// Shared by all tabs: elements, files, lists.

export const $ = (id) => document.getElementById(id);

/** Make an element with properties, event listeners (`on…`) and children. */
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((item) => item !== null && item !== undefined));
  return element;
}

/** Make an element of a drawing. */
export function draw(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Parse the text of an SVG file into an element. */
export function parseSvg(text) {
  return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
}

/** Offer a file for download. */
export function save(name, type, content) {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Place an open popover at a point of the window, or as near to it as it fits. It moves with the page. */
export function place(popover, left, top) {
  const { clientWidth, clientHeight } = document.documentElement;
  popover.style.left = `${scrollX + Math.max(0, Math.min(left, clientWidth - popover.offsetWidth))}px`;
  popover.style.top = `${scrollY + Math.max(0, Math.min(top, clientHeight - popover.offsetHeight))}px`;
}

/** Make a button that opens a menu. `choices` are lists of the text of a choice, its accessible name, and what it does. */
export function makeMenu(text, choices) {
  const menu = make("div", { className: "menu panel", popover: "auto", ontoggle: () => {
    const { left, bottom } = button.getBoundingClientRect();
    place(menu, left, bottom);
  } },
    ...choices.map(([label, name, action]) => make("button", { type: "button", ariaLabel: name, onclick: () => {
      menu.hidePopover();
      action();
    } }, label)));
  const button = make("button", { type: "button", popoverTargetElement: menu }, `${text} ▾`);
  return make("span", {}, button, menu);
}

/** Put files into a file input, as if the reader had chosen them. */
export function choose(input, files) {
  const transfer = new DataTransfer();
  for (const file of files) transfer.items.add(file);
  input.files = transfer.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

/** Let the reader drop a file on the label of a file input. */
export function setUpDrop(input) {
  const area = input.closest("label");
  const isOver = { dragenter: true, dragover: true, dragleave: false, drop: false };
  for (const [kind, over] of Object.entries(isOver)) area.addEventListener(kind, (event) => {
    event.preventDefault();
    area.classList.toggle("over", over);
    if (kind === "drop" && event.dataTransfer.files.length) choose(input, [event.dataTransfer.files[0]]);
  });
}

/** Let the reader choose a theme, and remember it. */
export function setUpTheme() {
  const apply = () => {
    const theme = $("theme").value;
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem("discotree-theme", theme);
  };
  $("theme").value = localStorage.getItem("discotree-theme") ?? "auto";
  $("theme").addEventListener("change", apply);
  apply();
}

export const FORMATS = ["export", "tigerxml", "alpino", "folia", "discbracket", "penn", "psd", "conllu", "json"];
export const percent = (value, digits = 1) => (value === undefined || value === null ? "–" : `${value.toFixed(digits)}`);
export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** Read a file, unpacking .gz; old treebanks are in Latin-1 instead of UTF-8. */
async function readText(file) {
  const isCompressed = file.name.toLowerCase().endsWith(".gz");
  const stream = isCompressed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const bytes = await new Response(stream).arrayBuffer();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

/** Make the body of an upload from a file. */
export async function toUpload(file, format) {
  return { content: await readText(file), name: file.name.slice(-255).replace(/\.gz$/i, ""), format: format || null };
}

/** Run a task, with its button marked as busy; show its error in `problem`. */
export async function attempt(problem, button, task) {
  problem.textContent = "";
  button?.setAttribute("aria-busy", "true");
  try {
    return await task();
  } catch (error) {
    problem.textContent = error.message;
    return undefined;
  } finally {
    button?.removeAttribute("aria-busy");
  }
}

/** Show a long list in steps; `makeButton` makes the button of an item. */
export function showList(target, items, makeButton, step = 100) {
  const list = make("ol");
  const more = make("button", { type: "button", className: "more", onclick: () => extend(true) });
  let shown = 0;
  function extend(moveFocus) {
    const added = items.slice(shown, shown + step).map((item) => make("li", {}, makeButton(item)));
    list.append(...added);
    shown += added.length;
    if (moveFocus) added[0]?.firstChild.focus();
    more.hidden = shown >= items.length;
    more.textContent = `Show more (${(items.length - shown).toLocaleString("en")} left)`;
  }
  target.replaceChildren(...(items.length ? [list, more] : []));
  extend(false);
}

/** Mark the selected item of a list. */
export function markCurrent(list, button) {
  list.querySelector('[aria-current="true"]')?.removeAttribute("aria-current");
  button.setAttribute("aria-current", "true");
}
