// What stands around the drawing of an editor: tools, fields, changes, other trees, help.

import { count, make } from "./common.js";
import { describe, inventoryOf } from "./describe.js";
import { differenceLines, differences } from "./tree_differences.js";
import { NONE } from "./tree_edits.js";

let editors = 0; // ids are unique on the page

/** Add the editor's style sheet to the page, once. */
export function addStyle() {
  const href = new URL("editor.css", import.meta.url).href;
  if (![...document.styleSheets].some((sheet) => sheet.href === href) && !document.querySelector("link[data-editor]")) {
    document.head.append(make("link", { rel: "stylesheet", href, "data-editor": "" }));
  }
}

const TOOLS = [
  ["join", "Join", "J", "Make a constituent over the selection"],
  ["dissolve", "Dissolve", "D", "Remove the selected constituents and keep their words"],
  ["split", "Split", "S", "Move the selected parts into a constituent of their own with the same label"],
  ["merge", "Merge", "M", "Make one constituent of the selected ones"],
  ["attach", "Attach to …", "A", "Choose a constituent that takes the selection"],
  ["link", "Secondary edge …", "E", "Choose a constituent for a secondary edge from the selection"],
  ["lift", "Up", "U", "Attach the selection one constituent higher"],
  ["left", "Left", ",", "Attach the selection to the constituent on its left"],
  ["right", "Right", ".", "Attach the selection to the constituent on its right"],
  ["several", "Select several", "", "Every tap adds to the selection"],
  ["undo", "Undo", "Z", "Go one step back"],
  ["redo", "Redo", "Y", "Go one step forward"],
];

/** Make the row of buttons; `actions` has a function for each of them. */
export function makeTools(actions) {
  const buttons = Object.fromEntries(TOOLS.map(([name, text, key, title]) => [name, make("button", {
    type: "button", title: key ? `${title} (${key})` : title, onclick: () => actions[name](), ...(key && { "aria-keyshortcuts": key }),
  }, text)]));
  const groups = [["join", "dissolve", "split", "merge"], ["attach", "lift", "left", "right"], ["link"], ["several"], ["undo", "redo"]];
  const element = make("div", { className: "tools", role: "group", ariaLabel: "Edit the tree" },
    ...groups.map((names) => make("span", { className: "tool-group" }, ...names.map((name) => buttons[name]))));
  return {
    element,
    update({ canUndo, canRedo, isAdding, picked }) {
      buttons.undo.ariaDisabled = String(!canUndo);
      buttons.redo.ariaDisabled = String(!canRedo);
      buttons.several.ariaPressed = String(isAdding);
      for (const name of ["attach", "link"]) buttons[name].ariaPressed = String(picked === name);
    },
  };
}

/** Return the inventory, and after it what only the records have. */
function choices(inventory, records) {
  const used = inventoryOf(records.filter(Boolean));
  return Object.fromEntries(Object.keys(used).map((kind) => [kind, [...new Set([...(inventory[kind] ?? []), ...used[kind]])].filter((value) => value !== NONE)]));
}

/** Make the fields for label, tag, function, morphology and lemma. `change(name, value)` returns whether the value was accepted. */
export function makeFields(inventory, records, { change, leave }) {
  const prefix = `editor-${(editors += 1)}`;
  const offered = choices(inventory, records);
  const fields = {};
  const field = (name, text, kind) => {
    const list = make("datalist", { id: `${prefix}-${name}` }, ...(offered[kind] ?? []).map((value) => make("option", { value })));
    if (name !== "label") list.append(make("option", { value: NONE }, "none"));
    const input = make("input", { autocomplete: "off", spellcheck: false, size: 10, autocapitalize: "off" });
    input.setAttribute("list", list.id);
    let shown = "";
    const reset = () => { input.value = shown; };
    const apply = () => {
      const value = input.value.trim();
      if (!value || value === shown || change(name, value)) return;
      reset();
    };
    // The whole list is offered only to an empty field
    input.addEventListener("focus", () => {
      input.placeholder = shown;
      input.value = "";
    });
    input.addEventListener("blur", () => {
      apply();
      reset();
      input.placeholder = "";
    });
    input.addEventListener("input", (event) => {
      const isTyped = event instanceof InputEvent && event.inputType !== "insertReplacementText";
      if (!isTyped && input.value) leave();
    });
    input.addEventListener("keydown", (event) => {
      if (event.isComposing) return; // Enter ends a word of an input method
      if (event.key === "Escape") input.value = "";
      else if (event.key !== "Enter") return;
      event.preventDefault();
      event.stopPropagation();
      leave();
    });
    fields[name] = { input, show: (value, isUsed) => {
      shown = value;
      if (document.activeElement === input) input.placeholder = value;
      else reset();
      input.disabled = !isUsed;
    } };
    lists.push(list);
    return make("label", {}, text, input);
  };
  const lists = []; // outside of the labels, whose names they would lengthen
  const what = make("p", { className: "what" });
  const element = make("div", { className: "fields" },
    what, field("label", "Label", "labels"), field("tag", "Tag", "tags"), field("function", "Function", "functions"),
    field("morph", "Morphology", "morphs"), field("lemma", "Lemma"));
  element.append(...lists);
  return {
    element,
    /** Move to a field; tell whether it is in use. */
    focus(name) {
      fields[name].input.focus();
      return !fields[name].input.disabled;
    },
    update(record, addresses) {
      const size = record.tokens.length;
      const nodes = addresses.filter((address) => address >= size).map((address) => record.constituents[address - size]);
      const words = addresses.filter((address) => address < size).map((address) => record.tokens[address]);
      const common = (items, name) => (new Set(items.map((item) => item[name])).size === 1 ? items[0][name] ?? "" : "");
      fields.label.show(common(nodes, "label"), nodes.length > 0);
      for (const name of ["tag", "morph", "lemma"]) fields[name].show(common(words, name), words.length > 0);
      fields.function.show(common([...nodes, ...words], "function"), true);
      what.textContent = addresses.length > 1 ? count(addresses.length, "item")
        : describe(record, addresses[0]);
    },
  };
}

/** Make the list of secondary edges. `change(number, label)` gives one another label; an empty label removes it. */
export function makeEdges(change, leave) {
  const element = make("fieldset", { className: "edges", onkeydown: (event) => {
    event.stopPropagation(); // keys are for the label
    if (event.key === "Escape") event.target.value = event.target.defaultValue;
    if (["Enter", "Escape"].includes(event.key) && event.target.matches("input")) leave();
  } });
  return {
    element,
    focus: () => element.querySelector("p:last-child input")?.select(),
    update(record) {
      const edges = record.secondary ?? [];
      element.hidden = !edges.length;
      element.replaceChildren(make("legend", {}, "Secondary edges"), ...edges.map(({ label, child, parent }, number) => {
        const ends = `${describe(record, child)} → ${describe(record, parent)}`;
        return make("p", {},
          make("label", {}, `${ends} `, make("input", { defaultValue: label, size: 8, autocomplete: "off", spellcheck: false, onchange: ({ target }) => change(number, target.value) })),
          make("button", { type: "button", ariaLabel: `Remove the secondary edge ${label}: ${ends}`, onclick: () => change(number, "") }, "Remove"));
      }));
    },
  };
}

/** Make the list of what differs from the tree before, which is called `origin`; `restore` goes back to it. */
export function makeChanges(restore, origin) {
  const summary = make("summary");
  const list = make("ul");
  const button = make("button", { type: "button", onclick: restore }, `Back to ${origin}`);
  const element = make("details", { className: "changes", hidden: true }, summary, list, button);
  return {
    element,
    update(record, prediction, found) {
      element.hidden = !found;
      if (!found) return;
      summary.textContent = found.count ? `${count(found.count, "difference")} from ${origin}` : `As in ${origin}`;
      list.replaceChildren(...differenceLines(record, prediction, found).map((text) => make("li", {}, text)));
      button.hidden = !found.count;
    },
  };
}

const SWITCH = "discotree-reparse"; // "off" if the annotator has switched it off

/** Make the switch for parsing again after every correction, and the buttons that take and leave a proposal. */
export function makeProposal({ take, leave, change }) {
  const box = make("input", { type: "checkbox", checked: localStorage.getItem(SWITCH) !== "off", onchange: () => {
    localStorage.setItem(SWITCH, box.checked ? "on" : "off");
    change();
  } });
  const button = (text, key, onclick) => make("button", { type: "button", onclick, "aria-keyshortcuts": key }, text, make("small", {}, ` ${key}`));
  const buttons = make("span", { className: "tool-group", role: "group", ariaLabel: "Proposal", hidden: true },
    button("Take the proposal", "V", take), button("Leave it", "X", leave));
  return {
    element: make("div", { className: "proposal" }, make("label", {}, box, " Parse again after every correction"), buttons),
    isOn: () => box.checked,
    show(isShown) {
      buttons.hidden = !isShown;
    },
  };
}

/** Make the choice of other trees; `load` gets them when there are none. */
export function makeAlternatives(take, load) {
  const element = make("div", { className: "alternatives", role: "group", ariaLabel: "Other trees of this sentence" });
  return {
    element,
    update(record, alternatives) {
      element.hidden = !alternatives.length && !load;
      if (!alternatives.length && load) {
        element.replaceChildren(make("button", { type: "button", onclick: load }, "Other trees of this sentence"));
        return;
      }
      const focused = [...element.children].indexOf(document.activeElement);
      element.replaceChildren("Take tree ", ...alternatives.map((other, k) => {
        const found = differences(record, other);
        const notes = [found?.count ? count(found.count, "difference") : "this one"];
        if (other.confidence !== undefined) notes.unshift(`F1 ${(100 * other.confidence).toFixed(0)} %`);
        return make("button", { type: "button", ariaPressed: String(!found?.count), onclick: () => take(other, k + 1) },
          String(k + 1), make("small", {}, ` ${notes.join(", ")}`));
      }));
      element.children[focused]?.focus();
    },
  };
}

const HELP = [
  ["Arrows", "go to the constituent above, to the first part below, to the item on the left or right"],
  ["Home, End", "go to the first or last word"],
  ["Space", "select the current item, or not; Shift and arrows select on the way"],
  ["Enter, L, T, F", "change label, tag or function; Enter accepts, Escape does not"],
  ["J, D, S, M", "join, dissolve, split, merge"],
  ["E", "add a secondary edge: go to a constituent and press Enter, then enter its label"],
  ["A", "pick up the selection; then go to a constituent and press Enter to attach it"],
  ["U, comma, full stop", "attach the selection one constituent higher, to the one on its left, to the one on its right"],
  ["1 to 9", "take that tree of the k best"],
  ["V, X", "take or leave the proposal after parsing again"],
  ["Z, Y", "undo, redo; Ctrl + Z and Ctrl + Y work as well"],
  ["Escape", "let go, clear the selection, close"],
];

/** Make the line below the drawing with the most important keys. */
export function makeHint() {
  const keys = [["Arrows", "move"], ["Space", "select"], ["J", "join"], ["D", "dissolve"], ["A", "attach"], ["Enter", "label"], ["Z", "undo"], ["?", "all keys"]];
  return make("p", { className: "hint" }, ...keys.flatMap(([key, text]) => [make("kbd", {}, key), ` ${text}  `]));
}

/** Make the help: how it works with mouse and finger, and the keys. */
export function makeHelp() {
  const rows = HELP.flatMap(([keys, text]) => [make("dt", {}, keys), make("dd", {}, text)]);
  return make("details", { className: "help", id: `editor-help-${editors}` },
    make("summary", {}, "Keys and gestures (?)"),
    make("p", {}, "Click or tap an item to select it, with Ctrl or Shift to add it. Drag it onto a constituent to attach it there. Where nothing is selected, the framed item is meant."),
    make("dl", {}, ...rows));
}
