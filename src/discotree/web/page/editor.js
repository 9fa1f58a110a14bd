// An editor for one tree, with mouse, finger or keyboard. It draws the tree after every step.

import { count, make } from "./common.js";
import { describe } from "./describe.js";
import { bare, makeCanvas } from "./editor_canvas.js";
import { addStyle, makeAlternatives, makeChanges, makeEdges, makeFields, makeHelp, makeHint, makeProposal, makeTools } from "./editor_panels.js";
import { differenceLines, differences } from "./tree_differences.js";
import * as edits from "./tree_edits.js";

const MAX_STEPS = 1000;
const MAX_LINES = 3; // changes of a proposal that are named
const NOT_PREDICTED = ["link", "relink", "assignMorph", "assignLemma"]; // after these operations, nothing is parsed again

/** Start a history of steps, to go back and forth, with its first step. */
function makeHistory(step) {
  let steps = [step];
  let now = 0;
  const go = (by) => {
    if (!steps[now + by]) return false;
    now += by;
    return true;
  };
  return {
    current: () => steps[now],
    /** Return the latest step so far whose constraints are known. */
    constrained: () => steps.slice(0, now + 1).findLast(({ constraints }) => constraints),
    canUndo: () => now > 0,
    canRedo: () => now < steps.length - 1,
    undo: () => go(-1),
    redo: () => go(1),
    /** Add a step; what was undone before is forgotten. */
    add(next) {
      steps = [...steps.slice(0, now + 1), next].slice(-MAX_STEPS);
      now = steps.length - 1;
    },
    /** Change the current step in place: what is selected is part of it, but no step of its own. */
    amend(changes) {
      steps[now] = { ...steps[now], ...changes };
    },
  };
}

/**
 * Fill an element with the editor of a tree.
 *   record        the tree, as in docs/record.md
 *   prediction    a record to show differences against
 *   alternatives  other trees of the sentence, to take one of them
 *   inventory     labels, tags and functions to choose from, the frequent ones first
 *   onChange      called with the record after every change
 *   loadAlternatives  an async function that returns alternatives when the reader asks for them
 *   reparse       an async function that parses the rest of a corrected tree again: { tree, before, constraints } (backend.js)
 *   origin        what the prediction is called in messages
 *   history       that of an earlier editor of the tree, to go on with
 * Returns { record, canUndo, canRedo, undo, redo, replace, destroy }, all of them functions, and its history.
 */
export function openEditor(container, options) {
  const { record, prediction = null, onChange = () => {}, inventory = {}, loadAlternatives = null, reparse = null, origin = "the prediction" } = options;
  let alternatives = options.alternatives ?? [];
  const history = options.history ?? makeHistory({ record, current: record.tokens.length, selection: new Set() });
  const now = () => history.current().record;
  let picked = null; // addresses that wait for a constituent to be attached to, …
  let isLinking = false; // … or for a secondary edge to it
  let isAdding = false; // every tap adds to the selection
  let lastLabel = inventory.labels?.[0] ?? "";
  let isCorrected = false; // since the rest was parsed again
  let proposal = null; // { tree, if_left }, as long as the drawing shows it

  const status = make("p", { className: "status", role: "status" });
  const canvas = makeCanvas({ pick, drop, refuses });
  const tools = makeTools({
    join, dissolve: () => run("dissolve"), split: () => run("split"), merge: () => run("merge"),
    attach: () => pickUp(), link: () => pickUp(true), lift: () => run("lift"), left: () => run("lower", -1), right: () => run("lower", 1),
    several: toggleAdding, undo, redo,
  });
  const fields = makeFields(inventory, [record, prediction, ...alternatives], { change: setField, leave: () => canvas.element.focus() });
  const edges = makeEdges((number, label) => run("relink", { number, label }, [now().secondary[number].child]), () => canvas.element.focus());
  const changes = makeChanges(() => {
    take(prediction, `This is ${origin} again.`);
    history.amend({ constraints: [] });
  }, origin);
  const others = makeAlternatives((other, rank) => take(other, `This is tree ${rank}.`), loadAlternatives && load);
  const again = reparse && makeProposal({ take: takeProposal, leave: leaveProposal, change: () => refresh(false) });
  const help = makeHelp();
  const element = make("div", { className: "editor" },
    tools.element, fields.element, edges.element, ...(again ? [again.element] : []), status, canvas.element, makeHint(), changes.element, others.element, help);
  addStyle();
  container.replaceChildren(element);
  canvas.element.setAttribute("aria-describedby", help.id);
  canvas.element.addEventListener("keydown", press);
  element.addEventListener("keydown", pressAnywhere);
  fields.element.addEventListener("focusout", () => setTimeout(propose));

  /** Return the addresses that an operation is for: the selected ones, or the current one. */
  function targets() {
    const { selection, current } = history.current();
    return selection.size ? [...selection].sort((a, b) => a - b) : [current];
  }

  function say(message) {
    status.textContent = message;
  }

  /** Show the current step instead of a proposal, and draw its tree if it is another one. */
  function refresh(isNew) {
    const isOther = isNew || proposal !== null;
    showProposal(null);
    const { record, current, selection } = history.current();
    const found = prediction && differences(record, prediction);
    if (isOther) canvas.draw(record);
    canvas.mark({ current, selection, picked: new Set(picked ?? []), differences: found });
    tools.update({ canUndo: history.canUndo(), canRedo: history.canRedo(), isAdding, picked: picked && (isLinking ? "link" : "attach") });
    fields.update(record, targets());
    if (isOther) {
      changes.update(record, prediction, found);
      others.update(record, alternatives);
      edges.update(record);
    }
  }

  function changed() {
    refresh(true);
    onChange(now());
  }

  /** Do an operation on the targets; what is refused leaves everything as it was. */
  function run(name, argument, addresses = targets()) {
    const result = edits[name](now(), addresses, argument);
    if (result.error) {
      say(result.error);
      return false;
    }
    const keeps = !["join", "dissolve", "split", "merge"].includes(name);
    const kept = [...history.current().selection].filter((address) => keeps && result.moved.has(address));
    picked = null;
    history.add({ record: result.record, current: result.focus, selection: new Set(kept.map((address) => result.moved.get(address))) });
    isCorrected ||= !NOT_PREDICTED.includes(name);
    changed();
    say(result.message);
    setTimeout(propose); // after a field has got the focus
    return true;
  }

  // Parsing again

  /** Parse the rest of the tree again after a correction, once its label is entered, and show what would change. */
  async function propose() {
    if (!isCorrected || !again?.isOn() || fields.element.contains(document.activeElement)) return;
    isCorrected = false;
    const tree = now();
    const { record: before, constraints } = history.constrained() ?? { record: prediction ?? record, constraints: [] };
    try {
      const answer = await reparse({ tree: bare(tree), before: bare(before), constraints });
      if (now() !== tree || !element.isConnected) return; // the next answer covers this correction as well
      history.amend({ constraints: answer.constraints });
      if (answer.problem) say(`The rest was not parsed again: ${answer.problem}.`);
      else if (answer.tree && !picked && !canvas.isDragging()) showProposal(answer);
    } catch (error) {
      if (now() === tree) say(`The rest was not parsed again: ${error.message}`);
    }
  }

  /** Show a proposal in the drawing, with its changes marked; null ends it. */
  function showProposal(next) {
    proposal = next;
    again?.show(proposal !== null);
    canvas.element.classList.toggle("proposed", proposal !== null);
    if (!proposal) return;
    const found = differences(proposal.tree, now());
    canvas.draw(proposal.tree);
    canvas.mark({ current: now().tokens.length, selection: new Set(), picked: new Set(), differences: found });
    const lines = differenceLines(proposal.tree, now(), found);
    const rest = lines.length > MAX_LINES ? `; and ${lines.length - MAX_LINES} more` : "";
    say(`Parsed again, ${count(found.count, "change")}: ${lines.slice(0, MAX_LINES).join("; ")}${rest}. V takes the proposal, X leaves it.`);
    if (document.activeElement === document.body) canvas.element.focus({ preventScroll: true }); // for the keys
  }

  function takeProposal() {
    const { constraints } = history.current();
    take(proposal.tree, "The proposal was taken.");
    history.amend({ constraints });
    canvas.element.focus({ preventScroll: true });
  }

  /** Keep the tree as it is; the proposal is not made again. */
  function leaveProposal() {
    history.amend({ constraints: proposal.if_left });
    refresh(true);
    say("The tree is as you have corrected it.");
    canvas.element.focus({ preventScroll: true });
  }

  function join() {
    const label = lastLabel || now().constituents.at(-1).label;
    if (run("join", label)) fields.focus("label");
  }

  function setField(name, value) {
    const size = now().tokens.length;
    const wanted = targets().filter((address) => name === "function" || (name !== "label") === address < size);
    const operation = { label: "relabel", tag: "retag", function: "assignFunction", morph: "assignMorph", lemma: "assignLemma" }[name];
    if (!run(operation, value, wanted)) return false;
    if (name === "label") lastLabel = value.trim();
    return true;
  }

  function pickUp(links = false) {
    picked = targets();
    isLinking = links;
    const items = picked.length === 1 ? describe(now(), picked[0]) : `${picked.length} items`;
    say(`Choose the constituent ${links ? `for a secondary edge from ${items}` : `to attach ${items} to`}: tap it, or move to it and press Enter. Escape cancels.`);
    refresh(false);
    canvas.element.focus();
  }

  function putDown(address) {
    if (!isLinking) run("attach", address, picked);
    else if (run("link", { parent: address, label: functionOf(picked[0]) }, picked)) edges.focus();
  }

  /** Return the function of an item, the most likely label of its secondary edge. */
  const functionOf = (address) => [...now().tokens, ...now().constituents][address].function ?? inventory.functions?.[0] ?? "SB";

  /** Return why an item cannot be dropped on another one, "" if it can. */
  function refuses(address, target) {
    if (proposal) return "Take or leave the proposal first.";
    return edits.attach(now(), dragged(address), target).error ?? "";
  }

  const dragged = (address) => (history.current().selection.has(address) ? targets() : [address]);

  function drop(address, target) {
    if (proposal) refresh(true); // the items are those of the proposal
    else run("attach", target, dragged(address));
  }

  function pick(address, isAdded) {
    if (proposal) {
      refresh(true); // the item is one of the proposal
      return;
    }
    if (picked && address !== null) {
      putDown(address);
      return;
    }
    const { selection } = history.current();
    if (address === null) select(new Set(), null);
    else if (isAdded || isAdding) select(toggled(selection, address), address);
    else select(new Set([address]), address);
  }

  const toggled = (selection, address) => selection.symmetricDifference(new Set([address]));

  function select(selection, address) {
    history.amend({ selection, current: address ?? history.current().current });
    refresh(false);
  }

  function toggleAdding() {
    isAdding = !isAdding;
    refresh(false);
  }

  function undo() {
    return step(history.undo(), "One step back.", "There is nothing to undo.");
  }

  function redo() {
    return step(history.redo(), "One step forward.", "There is nothing to redo.");
  }

  function step(isDone, message, otherwise) {
    picked = null;
    if (isDone) changed();
    say(isDone ? message : otherwise);
    return isDone;
  }

  /** Take another tree of the sentence as a step; the id of the sentence stays. */
  function take(other, message) {
    const { id, comment } = now();
    const { tokens, constituents, secondary } = bare(other);
    const next = { ...now(), ...(id !== undefined && { id }), ...(comment && { comment }), tokens, constituents };
    delete next.secondary;
    delete next.confidence;
    if (secondary) next.secondary = secondary;
    if (other.confidence !== undefined) next.confidence = other.confidence;
    replace(next);
    say(message);
  }

  function replace(next) {
    picked = null;
    history.add({ record: next, current: next.tokens.length, selection: new Set() });
    changed();
  }

  async function load() {
    try {
      alternatives = await loadAlternatives();
      others.update(now(), alternatives);
      say(`There are ${alternatives.length} trees to choose from.`);
    } catch (error) {
      say(error.message);
    }
  }

  // Keys

  const KEYS = {
    ArrowUp: (event) => go("up", event), ArrowDown: (event) => go("down", event),
    ArrowLeft: (event) => go("left", event), ArrowRight: (event) => go("right", event),
    Home: (event) => go("first", event), End: (event) => go("last", event),
    " ": () => select(toggled(history.current().selection, history.current().current), null),
    Enter: () => (picked ? putDown(history.current().current) : change(targets().every((address) => address < now().tokens.length) ? "tag" : "label")),
    Escape: leave,
    j: join, d: () => run("dissolve"), Delete: () => run("dissolve"), Backspace: () => run("dissolve"),
    s: () => run("split"), m: () => run("merge"), a: () => pickUp(), e: () => pickUp(true), u: () => run("lift"),
    ",": () => run("lower", -1), ".": () => run("lower", 1),
    l: () => change("label"), t: () => change("tag"), f: () => change("function"),
    z: undo, y: redo,
    "?": () => { help.open = !help.open; },
  };

  /** Go to a field, if what is selected has it. */
  function change(name) {
    if (!fields.focus(name)) say(name !== "label" ? "A constituent has a label, not a tag." : "A word has a tag, not a label.");
  }

  function press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key] ?? alternativeKey(event.key);
    if (!action) return;
    const isDismissed = proposal !== null; // by any key for the tree
    if (isDismissed) refresh(true);
    if (!(isDismissed && event.key === "Escape") && action(event) === "unused") return;
    event.preventDefault();
    event.stopPropagation();
  }

  function alternativeKey(key) {
    const other = alternatives[Number(key) - 1];
    return other && (() => take(other, `This is tree ${key}.`));
  }

  /** Undo and redo as everywhere, except in fields, which undo what is typed; take or leave a proposal. */
  function pressAnywhere(event) {
    const hasModifier = event.ctrlKey || event.metaKey;
    if (!(hasModifier || proposal) || event.altKey || event.target.matches("input:not([type=checkbox])")) return;
    const key = event.key.toLowerCase();
    if (!hasModifier && key === "v") takeProposal();
    else if (!hasModifier && key === "x") leaveProposal();
    else if (!hasModifier) return;
    else if (key === "z") (event.shiftKey ? redo : undo)();
    else if (key === "y") redo();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function leave() {
    if (canvas.isDragging()) canvas.endDrag();
    else if (picked) {
      picked = null;
      say("Nothing was attached.");
      refresh(false);
    } else if (history.current().selection.size) select(new Set(), null);
    else return "unused"; // it may close what the editor is in
    return undefined;
  }

  function go(direction, event) {
    const { current, selection } = history.current();
    const next = edits.neighbour(now(), current, direction);
    if (next === null) return;
    select(event.shiftKey ? selection.union(new Set([current, next])) : selection, next);
    canvas.reveal(next);
  }

  refresh(true);
  return {
    record: now,
    history,
    canUndo: history.canUndo,
    canRedo: history.canRedo,
    undo,
    redo,
    replace,
    destroy() {
      canvas.endDrag();
      element.remove();
    },
  };
}
