// The tabs that need a server: Treebank, Search and Compare, and the sample treebanks for readers without a file of their own.

import { request } from "./backend.js";
import { $, FORMATS, attempt, choose, make, setUpDrop } from "./common.js";
import * as compareTab from "./compare.js";
import * as search from "./search.js";
import * as treebank from "./treebank.js";

export const { restore } = search;

/** Set up the forms, which also work if the server has no model. */
export function setUp() {
  for (const select of document.querySelectorAll(".formats")) {
    select.append(make("option", { value: "" }, "Detect"), ...FORMATS.map((name) => make("option", { value: name }, name)));
  }
  treebank.setUp();
  compareTab.setUp();
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
}

/** Set up what depends on the treebanks and models of the server. */
export async function setUpTreebanks(models) {
  await Promise.all([search.setUp(), setUpSamples(models)]);
}

/** Return the trees of a sample as records. */
async function records(treebank) {
  const body = { treebank, query: "root(#root)", output: "jsonl", limit: 10000 };
  return (await (await request("api/search", body)).text()).trim().split("\n").map((line) => JSON.parse(line));
}

const toFile = (trees, name) => new File(trees.map((tree) => `${JSON.stringify(tree)}\n`), name);

const open = async (treebank) => choose($("treebank-file"), [toFile(await records(treebank), `${treebank}.jsonl`)]);

/** Compare a sample with the trees that a model predicts for its words. */
async function compare(treebank, model) {
  const gold = await records(treebank);
  const body = { tokens: gold.map(({ tokens }) => tokens.map(({ form }) => form)), model };
  const { trees } = await (await request("api/parse", body)).json();
  choose($("gold-file"), [toFile(gold, "gold.jsonl")]);
  choose($("predicted-file"), [toFile(trees.map((tree, k) => ({ ...tree, id: gold[k].id })), "predicted.jsonl")]);
  $("compare-form").requestSubmit();
}

async function setUpSamples(models) {
  for (const { name, is_sample: isSample } of await (await request("api/treebanks")).json()) {
    const language = name.replace("Sample: ", "");
    const model = models.find(({ title, needs_tags: needsTags }) => title === language && !needsTags)?.name;
    const add = (place, text, action) => $(`${place}-samples`).append(
      make("button", { type: "button", className: "link", onclick: () => attempt($(`${place}-problem`), null, action) }, text), " ");
    if (isSample) add("treebank", `Open a ${language} sample`, () => open(name));
    if (isSample && model) add("compare", `Compare the ${language} sample with the model ${model}`, () => compare(name, model));
  }
}
