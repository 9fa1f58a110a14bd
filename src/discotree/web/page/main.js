// Entry point: tabs, theme, and the setup of each tab.

import { HAS_SERVER, load } from "./backend.js";
import { $, setUpTheme } from "./common.js";
import * as parse from "./parse.js";

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

setUpTheme();
const serverTabs = HAS_SERVER ? await import("./server_tabs.js") : null;
serverTabs?.setUp();
try {
  const { models, examples } = await load();
  parse.setUp(models, examples);
  await serverTabs?.setUpTreebanks(models);
  const restoreLink = async () => {
    const state = new URLSearchParams(location.hash.slice(1));
    const isSearch = serverTabs && state.has("query");
    if (isSearch) select($("tab-search"));
    await (isSearch ? serverTabs : parse).restore(state);
  };
  window.addEventListener("hashchange", () => location.hash.includes("=") && restoreLink()); // other hashes are anchors of the page
  await restoreLink();
} catch (error) {
  $("parse-problem").textContent = error.message;
}
document.documentElement.dataset.ready = "true";
