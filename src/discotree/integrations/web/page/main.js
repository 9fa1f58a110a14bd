// Tabs, colours, formats, and the start of everything else.

import { $, ask, make } from "./common.js";
import * as compare from "./compare.js";
import * as parse from "./parse.js";
import * as treebank from "./treebank.js";

const FORMATS = ["export", "tigerxml", "alpino", "discbracket", "penn", "psd", "conllu"];
const tabs = [...document.querySelectorAll("[role=tab]")];

function open(tab) {
  for (const other of tabs) {
    const isChosen = other === tab;
    other.setAttribute("aria-selected", String(isChosen));
    other.tabIndex = isChosen ? 0 : -1;
    $(other.getAttribute("aria-controls")).hidden = !isChosen;
  }
}

for (const [place, tab] of tabs.entries()) {
  tab.addEventListener("click", () => open(tab));
  tab.addEventListener("keydown", ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const next = tabs.at((place + step) % tabs.length);
    open(next);
    next.focus();
  });
}

function paint(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

const remembered = localStorage.getItem("discotree-theme") ?? "auto";
$("theme").value = remembered;
paint(remembered);
$("theme").addEventListener("change", () => {
  localStorage.setItem("discotree-theme", $("theme").value);
  paint($("theme").value);
});

for (const select of document.querySelectorAll(".formats")) {
  select.append(make("option", { value: "" }, "Find out"), ...FORMATS.map((name) => make("option", { value: name }, name)));
}

treebank.setUp();
compare.setUp();
try {
  parse.setUp(await (await ask("/api/models")).json());
  const restore = () => parse.restore(new URLSearchParams(location.hash.slice(1)));
  window.addEventListener("hashchange", () => location.hash.includes("=") && restore()); // else a link within the page
  await restore();
} catch (error) {
  $("parse-problem").textContent = error.message;
}
document.documentElement.dataset.ready = "true";
