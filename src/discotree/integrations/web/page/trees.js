// A tree on the page: its picture, its constituents to choose from, and its downloads.

import { ask, make, save, svgOf } from "./common.js";

const DOWNLOADS = [
  ["SVG", "svg", "svg", "image/svg+xml"],
  ["LaTeX", "latex", "tex", "application/x-tex"],
  ["Export", "export", "export", "text/plain"],
  ["JSON", "json", "json", "application/json"],
];
const NONE = "--";

/** A figure of a tree; `options`: view, model (for head rules), details (where a chosen constituent is described). */
export async function figureOf(record, options, caption = "") {
  const picture = make("div", { className: "picture" });
  await show(picture, record, options);
  return make("figure", {}, picture, make("figcaption", {}, make("span", {}, caption), downloads(record, options)));
}

async function show(picture, record, { view, model, details }) {
  if (view === "brackets") {
    picture.replaceChildren(make("pre", { tabIndex: 0 }, record.discbracket));
    return;
  }
  const asked = { tree: record, output: view, style: false, ...(model && { model }) };
  const svg = svgOf(await (await ask("/api/draw", asked)).text());
  picture.replaceChildren(svg);
  if (view === "svg") listen(svg, record, details);
}

/** Let constituents be chosen by mouse and keyboard. */
function listen(svg, record, details) {
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", `Tree of: ${record.tokens.map((word) => word.form).join(" ")}`);
  for (const node of svg.querySelectorAll(".node")) {
    node.setAttribute("role", "button");
    node.setAttribute("aria-pressed", "false");
    node.setAttribute("aria-label", spoken(record, node.dataset.node));
    node.append(target(node.querySelector(".label")));
  }
  const choose = (event) => {
    const node = event.target.closest(".node");
    if (!node || (event.key && event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    unchoose();
    node.classList.add("chosen");
    node.setAttribute("aria-pressed", "true");
    const phrase = record.constituents[node.dataset.node];
    for (const position of phrase.positions) {
      svg.querySelector(`.word[data-position="${position}"]`)?.classList.add("chosen");
    }
    describe(details, record, phrase, node);
    node.scrollIntoView({ block: "nearest", inline: "nearest" }); // on a phone the description covers half of the page
  };
  svg.addEventListener("click", choose);
  svg.addEventListener("keydown", choose);
}

/** An invisible field around a label, as large as a finger needs. */
function target(label) {
  const field = document.createElementNS(label.namespaceURI, "rect");
  const place = { x: label.getAttribute("x") - 22, y: label.getAttribute("y") - 21, width: 44, height: 32 };
  for (const [name, value] of Object.entries(place)) field.setAttribute(name, value);
  field.classList.add("target");
  return field;
}

function unchoose() {
  for (const element of document.querySelectorAll(".discotree .chosen")) {
    element.classList.remove("chosen");
    if (element.hasAttribute("aria-pressed")) element.setAttribute("aria-pressed", "false");
  }
}

/** Stretches of words, in turn inside the constituent and in a gap. */
function stretches(record, positions) {
  const inside = new Set(positions);
  const found = [];
  for (let position = positions[0]; position <= positions.at(-1); position += 1) {
    const isGap = !inside.has(position);
    if (!found.length || found.at(-1).isGap !== isGap) found.push({ isGap, words: [] });
    found.at(-1).words.push(record.tokens[position].form);
  }
  return found.map(({ isGap, words }) => ({ isGap, text: words.join(" ") }));
}

function spoken(record, number) {
  const { label, positions } = record.constituents[number];
  const words = stretches(record, positions).map(({ isGap, text }) => (isGap ? "…" : text));
  return `${label}: ${words.join(" ")}`;
}

function describe(details, record, phrase, node) {
  const parts = stretches(record, phrase.positions);
  const gaps = parts.filter((part) => part.isGap);
  const words = parts.flatMap(({ isGap, text }) => [isGap ? make("span", { className: "gap", title: text }, "…") : text, " "]);
  const rows = [
    ["Words", words],
    ["Gaps", gaps.length ? gaps.map(({ text }, k) => `${k ? " · " : ""}${text}`) : ["none"]],
    ["Function", [phrase.function && phrase.function !== NONE ? phrase.function : "none"]],
    ["Positions", [phrase.positions.map((position) => position + 1).join(", ")]],
  ];
  if (phrase.confidence !== undefined) {
    const sure = `${(100 * phrase.confidence).toFixed(1)} %`;
    rows.splice(3, 0, ["Confidence", [sure, make("meter", { value: phrase.confidence, ariaLabel: `Confidence ${sure}` })]]);
  }
  const close = make("button", { type: "button", ariaLabel: "Close", onclick: () => {
    hide(details);
    node.focus();
  } }, "×");
  details.replaceChildren(
    make("header", {}, make("h3", {}, phrase.label), close),
    make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, ...value)])),
  );
  details.hidden = false;
}

/** Nothing is chosen any more. */
export function hide(details) {
  unchoose();
  details.hidden = true;
  details.replaceChildren();
}

function downloads(record, { view, model }) {
  const buttons = DOWNLOADS.map(([label, output, suffix, type]) => make("button", {
    type: "button",
    ariaLabel: `Download as ${label}`,
    onclick: async () => {
      const name = `${(record.id || "tree").replace(/[^\w.-]+/g, "_")}.${suffix}`;
      if (output === "json") {
        save(name, type, `${JSON.stringify(record, null, 1)}\n`);
        return;
      }
      const asked = { tree: record, output: output === "svg" && view === "arcs" ? "arcs" : output, ...(model && { model }) };
      try {
        save(name, type, await (await ask("/api/draw", asked)).text());
      } catch (error) {
        window.alert(error.message);
      }
    },
  }, label));
  return make("div", { className: "downloads", role: "group", ariaLabel: "Download" }, "Download", ...buttons);
}
