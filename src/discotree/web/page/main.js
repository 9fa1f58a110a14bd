// Entry point: tabs, theme, format menus, and the setup of each tab.

import { $, make, request } from "./common.js";
import * as compare from "./compare.js";
import * as parse from "./parse.js";
import * as search from "./search.js";
import * as treebank from "./treebank.js";

const FORMATS = ["export", "tigerxml", "alpino", "discbracket", "penn", "psd", "conllu", "json"];
const tabs = [...document.querySelectorAll("[role=tab]")];

function select(tab) {
  for (const other of tabs) {
    const isSelected = other === tab;
    other.setAttribute("aria-selected", String(isSelected));
    other.tabIndex = isSelected ? 0 : -1;
    $(other.getAttribute("aria-controls")).hidden = !isSelected;
  }
}

for (const [index, tab] of tabs.entries()) {
  tab.addEventListener("click", () => select(tab));
  tab.addEventListener("keydown", ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const next = tabs.at((index + step) % tabs.length);
    select(next);
    next.focus();
  });
}

function applyTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

const savedTheme = localStorage.getItem("discotree-theme") ?? "auto";
$("theme").value = savedTheme;
applyTheme(savedTheme);
$("theme").addEventListener("change", () => {
  localStorage.setItem("discotree-theme", $("theme").value);
  applyTheme($("theme").value);
});

for (const select of document.querySelectorAll(".formats")) {
  select.append(make("option", { value: "" }, "Detect"), ...FORMATS.map((name) => make("option", { value: name }, name)));
}

treebank.setUp();
compare.setUp();
try {
  parse.setUp(await (await request("api/models")).json());
  await search.setUp();
  const restoreLink = async () => {
    const state = new URLSearchParams(location.hash.slice(1));
    if (state.has("query")) select($("tab-search"));
    await (state.has("query") ? search : parse).restore(state);
  };
  window.addEventListener("hashchange", () => location.hash.includes("=") && restoreLink()); // other hashes are anchors of the page
  await restoreLink();
} catch (error) {
  $("parse-problem").textContent = error.message;
}
document.documentElement.dataset.ready = "true";
