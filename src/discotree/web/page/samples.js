// Sample treebanks of the server, for readers without a file of their own.

import { $, attempt, choose, make, request } from "./common.js";

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

export async function setUp(models) {
  for (const { name, is_sample: isSample } of await (await request("api/treebanks")).json()) {
    const language = name.replace("Sample: ", "");
    const model = models.find(({ title, needs_tags: needsTags }) => title === language && !needsTags)?.name;
    const add = (place, text, action) => $(`${place}-samples`).append(
      make("button", { type: "button", className: "link", onclick: () => attempt($(`${place}-problem`), null, action) }, text), " ");
    if (isSample) add("treebank", `Open a ${language} sample`, () => open(name));
    if (isSample && model) add("compare", `Compare the ${language} sample with the model ${model}`, () => compare(name, model));
  }
}
