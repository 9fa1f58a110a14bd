// What the page asks discotree for. Here, a server answers; static_backend.js takes the place of this module in a page without one.

import { make } from "./common.js";

export const HAS_SERVER = true;

const KEY = "discotree-api-key"; // kept until the tab is closed

/** Use a key for all requests of this tab. */
export const signIn = (key) => sessionStorage.setItem(KEY, key);

/** Send a request and return the response, whatever it is. Ask for the key of a server that needs one. */
export async function send(path, body) {
  const options = { headers: {} };
  if (body !== undefined) Object.assign(options, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  for (let key = sessionStorage.getItem(KEY); ; key = await askForKey()) {
    if (key === "") throw new Error("This server needs a key.");
    if (key) {
      options.headers.Authorization = `Bearer ${key}`;
      sessionStorage.setItem(KEY, key);
    }
    let response;
    try {
      response = await fetch(path, options);
    } catch {
      throw new Error("The server is not responding.");
    }
    if (response.status !== 401) return response;
    sessionStorage.removeItem(KEY);
  }
}

let asking = null; // several requests share one question

function askForKey() {
  asking ??= new Promise((resolve) => {
    const field = make("input", { type: "password", autocomplete: "off", required: true });
    const dialog = make("dialog", { className: "panel", onclose: () => {
      dialog.remove();
      asking = null;
      resolve(dialog.returnValue);
    } },
    make("label", {}, "This server needs a key ", field), " ",
    make("button", { type: "button", className: "primary", onclick: () => dialog.close(field.value.trim()) }, "Use it"));
    field.addEventListener("keydown", ({ key }) => key === "Enter" && dialog.close(field.value.trim()));
    document.body.append(dialog);
    dialog.showModal();
  });
  return asking;
}

/** Send a request; a refusal becomes an Error with the message of the server. */
export async function request(path, body) {
  const response = await send(path, body && JSON.stringify(body));
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    throw Object.assign(new Error(problem.detail || `The server returned status ${response.status}.`), { fields: problem });
  }
  return response;
}

/** Return the models, and examples: lists of a language, a phenomenon and a sentence. */
export async function load() {
  const [models, examples] = await Promise.all(["api/models", "page/examples.json"].map(async (path) => (await request(path)).json()));
  return { models, examples };
}

/** Return whether a text is parsed while the reader types; a server is asked only on demand. */
export const parsesWhileTyping = () => false;

/** Parse { text, model, decode, k }, or { tokens } of one sentence; return { trees, model, notice, warning }. */
export async function parse(body) {
  return (await request("api/parse", body)).json();
}

/** Parse the rest of a corrected tree again: { tree, before, constraints, model } → { tree, problem, constraints, if_left }. */
export async function reparse(body) {
  return (await request("api/reparse", body)).json();
}

/** Return a tree in a format that the page does not write itself. */
export async function render(body) {
  return (await request("api/draw", body)).text();
}

/** Return a file with several trees, or a PDF. */
export async function convert(body) {
  return (await request("api/convert", body)).blob();
}
