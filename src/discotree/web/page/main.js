// Entry point: tabs, theme, format menus, and the setup of each tab.

import { $, FORMATS, make, request, setUpDrop, setUpTheme } from "./common.js";
import * as compare from "./compare.js";
import * as parse from "./parse.js";
import * as samples from "./samples.js";
import * as search from "./search.js";
import * as treebank from "./treebank.js";

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
for (const select of document.querySelectorAll(".formats")) {
  select.append(make("option", { value: "" }, "Detect"), ...FORMATS.map((name) => make("option", { value: name }, name)));
}

treebank.setUp();
compare.setUp();
for (const input of document.querySelectorAll(".drop input")) setUpDrop(input);
$("search-file").addEventListener("change", async () => { // the Treebank tab reads it; then the Search tab lists it
  $("treebank-file").files = $("search-file").files;
  await treebank.load();
  $("search-problem").textContent = $("treebank-problem").textContent;
  if ($("search-problem").textContent) return;
  $("tab-search").click();
  $("search-treebank").value = "upload:opened";
  $("search-treebank").dispatchEvent(new Event("change"));
});
try {
  const models = await (await request("api/models")).json();
  parse.setUp(models, await (await request("page/examples.json")).json());
  await Promise.all([search.setUp(), samples.setUp(models)]);
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
