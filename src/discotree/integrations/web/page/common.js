// What all parts of the page share: asking the server, making elements, saving files.

export const $ = (id) => document.getElementById(id);

/** Ask the server; what it refuses becomes an Error with its message. */
export async function ask(path, body) {
  let response;
  try {
    response = await fetch(path, body && {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Error("The server does not answer.");
  }
  if (!response.ok) {
    const said = await response.json().catch(() => ({}));
    throw new Error(said.detail || `The server answered ${response.status}.`);
  }
  return response;
}

/** Make an element: properties first, then what is in it. */
export function make(name, properties = {}, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...inside.filter((item) => item !== null && item !== undefined));
  return element;
}

/** The element of an SVG file. */
export function svgOf(text) {
  return document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
}

export function save(name, type, content) {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export const percent = (value, digits = 1) => (value === undefined || value === null ? "–" : `${value.toFixed(digits)}`);
export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** The text of a file that somebody chose, unpacked; UTF-8, or else Latin-1 as old treebanks are. */
async function textOf(file) {
  const packed = file.name.toLowerCase().endsWith(".gz");
  const stream = packed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const bytes = await new Response(stream).arrayBuffer();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

export async function uploadOf(file, format) {
  return { content: await textOf(file), name: file.name.slice(-255).replace(/\.gz$/i, ""), format: format || null };
}

/** Run some work, with its button busy and its errors said. */
export async function attempt(problem, button, work) {
  problem.textContent = "";
  button?.setAttribute("aria-busy", "true");
  try {
    return await work();
  } catch (error) {
    problem.textContent = error.message;
    return undefined;
  } finally {
    button?.removeAttribute("aria-busy");
  }
}

/** A long list that shows some items at first; ``row`` makes the button of an item. */
export function showList(target, items, row, step = 100) {
  const list = make("ol");
  const more = make("button", { type: "button", className: "more", onclick: () => extend(true) });
  let shown = 0;
  function extend(moveFocus) {
    const added = items.slice(shown, shown + step).map((item) => make("li", {}, row(item)));
    list.append(...added);
    shown += added.length;
    if (moveFocus) added[0]?.firstChild.focus();
    more.hidden = shown >= items.length;
    more.textContent = `Show more (${(items.length - shown).toLocaleString("en")} left)`;
  }
  target.replaceChildren(...(items.length ? [list, more] : []));
  extend(false);
}

/** Mark the chosen one of a list. */
export function markCurrent(list, button) {
  list.querySelector('[aria-current="true"]')?.removeAttribute("aria-current");
  button.setAttribute("aria-current", "true");
}
