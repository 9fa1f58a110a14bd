// The page of an annotation project: one sentence after the other is accepted, corrected, skipped or commented.

import { request, send, signIn } from "./backend.js";
import { $, make } from "./common.js";
import { openAdjudication } from "./annotate_adjudicate.js";
import { markRow, setUpList } from "./annotate_list.js";
import { setUpOverview } from "./annotate_overview.js";
import { editingOptions, showConflict, showFacts } from "./annotate_sentence.js";
import { openEditor } from "./editor.js";

const RENEW_SECONDS = 60; // the server keeps a sentence for its annotator for five minutes
const MAX_PASSED = 1000;
const DONE = { accept: "Accepted", correct: "Correction saved", skip: "Skipped", adjudicate: "Adjudicated" }; // decisions, after which the next sentence comes
const session = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

let project = null; // the latest overview
let current = null; // the sentence as the server has it
let editor = null;
let adjudication = null; // of a sentence with the trees of two annotators
let isBusy = false;
const passed = new Set(); // sentences that were left without a decision: the next one is another
const visited = []; // numbers, for Back
const decided = []; // { sentence, version } of steps made here, for Undo

const who = () => $("who").value.trim();
const isAdjudicating = () => $("adjudicate").ariaPressed === "true";
const comment = () => $("comment").value;
const isEdited = () => editor !== null && editor.canUndo() && JSON.stringify(editor.record()) !== JSON.stringify(current.tree);
const isUnsaved = () => isEdited() || comment().trim() !== "";
const call = async (name, body) => (await request(`api/annotate/${name}`, body)).json();

/** Show a sentence; `alternatives` are trees to choose from in its editor. */
function show(detail, alternatives = []) {
  editor?.destroy();
  editor = null;
  adjudication = null;
  $("adjudication").hidden = true;
  if (detail?.sentence !== current?.sentence) $("comment").value = ""; // it belongs to the other sentence
  current = detail;
  $("conflict").hidden = true;
  $("nothing").hidden = detail !== null;
  $("nothing").textContent = `No sentence is ${isAdjudicating() ? "waiting for adjudication" : "open"}. Choose one from the list to look at it again.`;
  $("sentence").hidden = detail === null;
  if (detail === null) return;
  showFacts(detail, takeEarlier);
  markRow(detail.sentence);
  if (detail.tree) editor = openEditor($("editor"), { ...editingOptions(detail, project, alternatives), onChange: showState });
  else $("editor").replaceChildren(make("p", { className: "problem" }, `This sentence cannot be read: ${detail.failed}`));
  if (detail.annotations.length) adjudication = openAdjudication($("adjudication"), detail.annotations, (tree) => editor.replace(tree));
  showState();
}

/** Put the tree of an earlier step into the editor; it counts when it is saved. */
const takeEarlier = (number) => busy(async () => editor.replace((await call("earlier", { step: number, who: who() })).tree));

function showState() {
  $("save").textContent = adjudication ? "Adjudicate" : isEdited() ? "Save correction" : "Accept";
  $("save").disabled = !current?.tree;
  $("skip").disabled = !current?.tree || adjudication !== null;
  $("reopen").hidden = !current || ["open", "failed", "differing"].includes(current.status);
  $("undo").disabled = !decided.length && !current?.history.some(({ action }) => action !== "comment");
  $("previous").disabled = !visited.length;
}

/** Do one thing at a time, and show why it failed; nothing that was edited is lost then. */
async function busy(task) {
  if (isBusy) return;
  isBusy = true;
  $("problem").textContent = "";
  $("save").setAttribute("aria-busy", "true");
  try {
    await task();
  } catch (error) {
    $("problem").textContent = error.message;
  } finally {
    isBusy = false;
    $("save").removeAttribute("aria-busy");
  }
}

/** Send a step and return the sentence after it; undefined after a conflict, which the annotator resolves. */
async function step(action, more = {}, version = current.version, sentence = current.sentence) {
  if (!who()) {
    $("who").focus();
    throw new Error("Enter your name first: the history says who did what.");
  }
  const body = { sentence, action, version, who: who(), session, ...more };
  const response = await send("api/annotate/step", JSON.stringify(body));
  const answer = await response.json().catch(() => ({}));
  if (response.status === 409) {
    const mine = DONE[action] ? { tree: editor.record() } : {};
    showConflict(answer, {
      theirs: () => show(answer.current, mine.tree ? [mine.tree] : []),
      mine: () => busy(async () => {
        const saved = await step(action, { ...more, ...mine }, answer.current.version, sentence);
        if (saved) await (DONE[action] ? finish(action) : show(saved));
      }),
    });
    return undefined;
  }
  if (!response.ok) throw new Error(answer.detail || `The server returned status ${response.status}.`);
  const isFinal = answer.annotations.length && ["accept", "correct"].includes(action); // the second tree of a sentence for two annotators
  if (!["comment", "undo"].includes(action) && !isFinal) decided.push({ sentence, version: answer.version });
  overview.refresh().catch(() => {}); // the next step tells what is wrong
  list.update(answer);
  return answer;
}

async function finish(action) {
  const saved = `${DONE[action]}: sentence ${current.sentence}.`;
  await goOn(false);
  $("saved").textContent = saved;
  $("save").focus({ preventScroll: true });
}

/** Open the next sentence: after this one if the annotator leaves it, or wherever the order says. */
async function goOn(isLeft) {
  const from = current?.sentence ?? 0;
  if (isLeft && from && ["open", "differing"].includes(current.status)) passed.add(from);
  while (passed.size > MAX_PASSED) passed.delete(passed.values().next().value);
  const order = $("order").value;
  const after = isLeft || order === "given" ? from : 0;
  const status = isAdjudicating() ? "differing" : "open";
  const detail = await call("next", { session, who: who(), order, status, after, passed: isLeft ? [] : [...passed] });
  if (from) visited.push(from);
  show(detail.sentence === null ? null : detail);
}

async function open(sentence) {
  show(await call("open", { session, who: who(), sentence }));
  $("saved").textContent = current.opened_by ? `${current.opened_by} has this sentence open, too.` : "";
}

/** Leave a sentence only if nothing is lost. */
const mayLeave = () => !isUnsaved() || window.confirm("Leave this sentence without saving your changes?");

/** Save a comment that was typed; return whether there was one. */
async function sendComment() {
  const text = comment();
  if (!text.trim() || !(await step("comment", { text }))) return false;
  $("comment").value = "";
  return true;
}

/** Save a decision, after the comment that was typed with it. */
async function decide(action) {
  if (!current?.tree) return;
  const open = action === "adjudicate" && current.status === "differing" ? adjudication.undecided() : 0;
  if (open) throw new Error("Choose a side for every difference first.");
  const tree = isEdited() || action === "adjudicate" ? { tree: editor.record() } : {};
  await sendComment();
  if (await step(action, tree)) await finish(action);
}

const actions = {
  save: () => busy(() => decide(adjudication ? "adjudicate" : isEdited() ? "correct" : "accept")),
  skip: () => adjudication ?? busy(() => decide("skip")),
  undo: () => busy(async () => {
    if (!mayLeave()) return;
    const isOwn = decided.length > 0;
    const { sentence, version } = isOwn ? decided.at(-1) : current;
    const answer = await step("undo", {}, version, sentence);
    if (isOwn) decided.pop();
    if (!answer) return;
    show(answer);
    $("saved").textContent = `Undone: sentence ${sentence}.`;
  }),
  reopen: () => busy(async () => {
    const answer = await step("reopen");
    if (answer) show(answer);
  }),
  next: () => busy(async () => mayLeave() && goOn(true)),
  previous: () => busy(async () => visited.length && mayLeave() && open(visited.pop())),
  comment: () => busy(async () => {
    if (!(await sendComment())) return;
    current = { ...current, history: (await call("open", { session, who: who(), sentence: current.sentence })).history };
    showFacts(current, takeEarlier);
    $("saved").textContent = "Comment saved.";
    $("save").focus({ preventScroll: true });
  }),
};

// Keys

const KEYS = {
  s: actions.skip, u: actions.undo, r: () => $("reopen").hidden || actions.reopen(), n: actions.next, p: actions.previous,
  ArrowRight: actions.next, ArrowLeft: actions.previous,
  e: () => $("editor").querySelector(".canvas")?.focus(), c: () => $("comment").focus(),
};

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (key === "Enter" && event.repeat && !target.closest("textarea")) {
    event.preventDefault(); // a key that is held down decides on one sentence only
    return;
  }
  if (key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    (target.id === "comment" ? actions.comment : actions.save)();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (key === "Escape" && target.closest("#editor, #comment")) {
    $("save").focus();
    return;
  }
  if (target.closest("input, textarea, select, summary, #editor, dialog")) return;
  const keys = { ...KEYS, ...adjudication?.keys };
  const pressed = key.length === 1 ? key.toLowerCase() : `${event.shiftKey && key.startsWith("Arrow") ? "Shift+" : ""}${key}`;
  const action = key === "Enter" && !target.closest("button, a") ? actions.save : keys[pressed];
  if (!action || event.repeat) return;
  event.preventDefault();
  action();
});

for (const id of ["save", "skip", "undo", "reopen", "next", "previous"]) $(id).addEventListener("click", actions[id]);
$("send-comment").addEventListener("click", actions.comment);
$("who").addEventListener("change", () => {
  localStorage.setItem("discotree-annotator", who());
  list.refresh().catch(() => {}); // annotators of the same sentence see different states; the next step tells what is wrong
});
$("adjudicate").addEventListener("click", () => busy(async () => {
  if (!mayLeave()) return;
  $("adjudicate").ariaPressed = String(!isAdjudicating());
  await goOn(false);
  $("save").focus({ preventScroll: true });
}));
window.addEventListener("hashchange", () => location.reload()); // another link of an invitation
window.addEventListener("beforeunload", (event) => isUnsaved() && event.preventDefault());

// Renew the hold on the open sentence, and notice when somebody else has changed it.
setInterval(async () => {
  if (!current || isBusy || document.hidden) return;
  const { sentence, version } = current;
  try {
    const detail = await call("open", { session, who: who(), sentence });
    if (detail.version !== version && current.sentence === sentence) $("saved").textContent = "This sentence has changed in the meantime.";
  } catch {
    // the next step tells what is wrong
  }
}, 1000 * RENEW_SECONDS);

const overview = setUpOverview((latest) => { project = latest; });
const list = setUpList((sentence) => busy(async () => {
  if (!mayLeave()) return;
  if (current) visited.push(current.sentence);
  await open(sentence);
}));

const token = new URLSearchParams(location.hash.slice(1)).get("token");
if (token) {
  signIn(token);
  history.replaceState(null, "", location.pathname); // so that the token is not copied with the address
}

await busy(async () => {
  await overview.refresh();
  $("who").value = (!project.is_signed_in && localStorage.getItem("discotree-annotator")) || project.annotator;
  $("who").readOnly = project.is_signed_in;
  $("order").value = project.order;
  await list.refresh();
  await goOn(false);
  $("save").focus({ preventScroll: true });
});
overview.follow(list.follow, async () => current === null && !isBusy && busy(() => goOn(false)));
document.documentElement.dataset.ready = "true";
