// What the annotation page says about a sentence: its facts, comments and history, its editor's options, conflicts.

import { reparse, request } from "./backend.js";
import { $, make } from "./common.js";

const ALTERNATIVES = 5;
const ACTIONS = { accept: "accepted", correct: "corrected", skip: "skipped", reopen: "reopened", undo: "undid a step", comment: "commented", adjudicate: "adjudicated" };

const when = (time) => new Date(time).toLocaleString();

/** Show everything about a sentence but its tree; `take` is called with the number of a step whose tree is wanted. */
export function showFacts(detail, take) {
  const record = detail.tree ?? detail.prediction;
  $("sentence-text").replaceChildren(
    make("small", {}, String(detail.sentence)), " ", record ? record.tokens.map(({ form }) => form).join(" ") : detail.failed);
  const { confidence } = detail.prediction ?? {};
  const facts = [detail.status === "differing" ? "to adjudicate" : detail.status];
  if (detail.annotations.length) facts.push(`annotated by ${detail.annotations.map(({ who }) => who).join(" and ")}`);
  if (record?.id && record.id !== String(detail.sentence)) facts.push(`id ${record.id}`);
  if (detail.where) facts.push(detail.where);
  if (confidence !== undefined) facts.push(`expected F1 ${(100 * confidence).toFixed(0)} % (${detail.model})`);
  if (detail.failed && record) facts.push(`could not be parsed: ${detail.failed}`);
  $("sentence-facts").textContent = facts.join(" · ");
  const comments = detail.history.filter(({ action }) => action === "comment");
  $("comments").replaceChildren(...comments.map(({ who, text, time }) => make("li", {}, make("b", {}, who), ` (${when(time)}): ${text}`)));
  $("history").replaceChildren(...detail.history.map(({ step, who, action, time, has_tree: hasTree }) => make("li", {}, `${when(time)}: ${who} ${ACTIONS[action]} `,
    hasTree ? make("button", { type: "button", ariaLabel: `Take the tree of step ${step}`, onclick: () => take(step) }, "Take this tree") : null)));
  document.querySelector("#sentence .history").hidden = !detail.history.length;
}

/** Return the options of the editor for a sentence. */
export function editingOptions(detail, project, alternatives) {
  const { tokens } = detail.prediction;
  return {
    record: detail.tree,
    prediction: detail.prediction,
    alternatives,
    inventory: project.inventory,
    reparse: project.model ? (body) => reparse({ ...body, model: project.model }) : null,
    loadAlternatives: async () => {
      const body = { tokens: [tokens.map(({ form }) => form)], model: project.model, k: ALTERNATIVES };
      if (project.needs_tags) body.tags = [tokens.map(({ tag }) => tag ?? "--")];
      return [...alternatives, ...(await (await request("api/parse", body)).json()).trees.map(({ sentence, ...tree }) => tree)];
    },
  };
}

/** Ask what to do when somebody else was faster; nothing is lost either way. */
export function showConflict({ detail }, { theirs, mine }) {
  const choose = (action) => () => {
    $("conflict").hidden = true;
    action();
  };
  $("conflict").replaceChildren(
    make("p", {}, `${detail}. Nothing is lost: your tree is still here, and theirs is in the history.`),
    make("button", { type: "button", className: "primary", onclick: choose(theirs) }, "Look at theirs"),
    make("button", { type: "button", onclick: choose(mine) }, "Save mine instead"));
  $("conflict").hidden = false;
  $("conflict").querySelector("button").focus();
}
