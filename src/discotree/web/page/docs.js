// The page of the API: every call can be tried out.

import { send } from "./backend.js";
import { make } from "./common.js";

const MAX_SHOWN = 100000; // characters of a response

async function tryOut(form) {
  const body = form.querySelector("textarea")?.value;
  const output = form.querySelector("output");
  const button = form.querySelector("button");
  button.setAttribute("aria-busy", "true");
  const begin = performance.now();
  try {
    const response = await send(form.dataset.path, body);
    const text = await response.text();
    const seconds = ((performance.now() - begin) / 1000).toFixed(2);
    const summary = `${response.status} ${response.statusText}, ${seconds} s, request ${response.headers.get("X-Request-ID")}`;
    output.replaceChildren(make("p", {}, summary), make("pre", { tabIndex: 0 }, shown(text, response.headers.get("Content-Type"))));
  } catch (error) {
    output.replaceChildren(make("p", { className: "problem" }, error.message));
  } finally {
    button.removeAttribute("aria-busy");
  }
}

function shown(text, type) {
  const readable = type?.startsWith("application/json") ? JSON.stringify(JSON.parse(text), null, 1) : text;
  return readable.length > MAX_SHOWN ? `${readable.slice(0, MAX_SHOWN)}\n…` : readable;
}

for (const form of document.querySelectorAll("form[data-path]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tryOut(form);
  });
}
document.documentElement.dataset.ready = "true";
