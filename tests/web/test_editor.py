"""The tree editor of the web page in headless Chromium: its operations, and correcting trees by mouse, keys and touch.

Not part of the default run: ``pytest -m browser``. Set DISCOTREE_SCREENSHOTS=FOLDER to save screenshots there.
"""

import random
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.browsing import CHROMIUM, Page, choose
from support.networks import TREES
from support.strategies import random_tree
from support.tree_edits import expected

import discotree as dt

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]

FIGURE_1 = next(tree for tree in TREES if any(node.is_discontinuous for node in tree.nodes()))
TABLET = {"viewport": {"width": 820, "height": 1180}, "has_touch": True}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


# The operations, without the page around them

RUN = """async ({ record, calls }) => {
  const edits = await import("/page/tree_edits.js");
  const freeze = (value) => {
    if (value && typeof value === "object") Object.values(Object.freeze(value)).forEach(freeze);
    return value;
  };
  const done = [];
  for (const [name, seeds, argument] of calls) {
    freeze(record);
    const size = record.tokens.length + record.constituents.length;
    const addresses = seeds.map((seed) => Math.floor(seed * size));
    const given = name === "attach" ? Math.floor(argument * size) : argument;
    const result = edits[name](record, addresses, given);
    done.push({ name, addresses, argument: given, before: record, ...result, moved: undefined });
    if (!result.error) record = result.record;
  }
  return done;
}"""
OPERATIONS = [
    "join",
    "dissolve",
    "split",
    "merge",
    "merge",
    "merge",
    "attach",
    "attach",
    "lift",
    "lower",
    "relabel",
    "retag",
    "assignMorph",
    "assignLemma",
    "assignFunction",
]


def random_calls(rng: random.Random, count: int) -> list[tuple[str, list[float], Any]]:
    calls = []
    for _ in range(count):
        name = rng.choice(OPERATIONS)
        words = {
            "join": "XP",
            "relabel": "LP",
            "retag": rng.choice(["", "T"]),
            "assignMorph": rng.choice(["", "Nom.Sg"]),
            "assignLemma": rng.choice(["--", "lemma"]),
            "assignFunction": rng.choice(["--", "F"]),
        }
        argument: Any = words.get(name) or {"attach": rng.random(), "lower": rng.choice([-1, 1])}.get(
            name, words.get(name)
        )
        calls.append((name, [rng.random() for _ in range(rng.choice([1, 1, 2, 3]))], argument))
    return calls


def test_random_operations_give_trees_as_defined(page: Page) -> None:
    """After each of 3,000 random operations Python accepts the record and finds the tree of a plain definition."""
    rng = random.Random(5)
    accepted: dict[str, int] = dict.fromkeys(OPERATIONS, 0)
    for _ in range(30):
        tree = random_tree(rng, rng.randint(1, 12))
        for step in page.evaluate(RUN, {"record": tree.to_dict(), "calls": random_calls(rng, 100)}):
            if "error" in step:
                assert step["error"].endswith(".")
                continue
            accepted[step["name"]] += 1
            before, after = dt.Tree.from_dict(step["before"]), dt.Tree.from_dict(step["record"])
            argument = "" if step["argument"] == "--" else step["argument"]
            assert after == expected(before, step["name"], sorted(set(step["addresses"])), argument), step
            assert after.words == tree.words
            assert 0 <= step["focus"] < len(after) + sum(1 for _ in after.nodes())
    assert min(accepted.values()) >= 15, accepted


def edit(page: Page, record: dict[str, Any], name: str, addresses: list[int], argument: Any = None) -> dict[str, Any]:
    code = "async ([record, name, ...given]) => (await import('/page/tree_edits.js'))[name](record, ...given)"
    found: dict[str, Any] = page.evaluate(code, [record, name, addresses, argument])
    return found


def test_what_cannot_be_a_tree_is_refused(page: Page) -> None:
    record = {
        "tokens": [{"form": "a"}, {"form": "b"}, {"form": "c"}],
        "constituents": [
            {"label": "ROOT", "positions": [0, 1, 2]},
            {"label": "S", "positions": [0, 1, 2]},
            {"label": "NP", "positions": [0, 1]},
        ],
    }
    root, s, np = 3, 4, 5
    refused = [
        ("attach", [s], np, "to itself or to what is below"),
        ("attach", [np], np, "to itself"),
        ("attach", [root], s, "The root stays"),
        ("attach", [0], 1, "Nothing can be attached to a word"),
        ("attach", [0], np, "already belongs"),
        ("attach", [0], 9, "There is no such"),
        ("join", [], "X", "Select a word"),
        ("join", [root], "X", "The root stays"),
        ("join", [0], "", "cannot be empty"),
        ("join", [0], "two words", "cannot contain spaces"),
        ("join", [0], "X" * 101, "at most 100"),
        ("dissolve", [root], None, "The root cannot be removed"),
        ("dissolve", [0], None, "A word cannot be removed"),
        ("split", [s], None, "The root cannot be split"),
        ("split", [0, 1], None, "not all of them"),
        ("split", [0, 2], None, "parts of one constituent"),
        ("merge", [np], None, "two or more"),
        ("lift", [s], None, "The root is above"),
        ("lower", [2], 1, "no constituent on the right"),
        ("relabel", [0], "X", "not a label"),
        ("retag", [s], "X", "not a tag"),
        ("assignMorph", [s], "X", "Only words have a morphology"),
        ("assignLemma", [0], "two words", "cannot contain spaces"),
        ("link", [0], {"parent": 1, "label": "x"}, "leads to a constituent"),
        ("link", [np], {"parent": np, "label": "x"}, "must lead to another item"),
        ("link", [root], {"parent": s, "label": "x"}, "The root cannot have"),
        ("link", [0], {"parent": s, "label": ""}, "cannot be empty"),
    ]
    for name, addresses, argument, message in refused:
        assert message in edit(page, record, name, addresses, argument)["error"]


def test_correcting_a_tag_drops_the_old_morphology(page: Page) -> None:
    record = {
        "tokens": [{"form": "lopen", "tag": "ww", "lemma": "lopen", "morph": "WW(inf,vrij,zonder)"}],
        "constituents": [{"label": "ROOT", "positions": [0]}],
    }
    result = edit(page, record, "retag", [0], "n")
    assert result["record"]["tokens"] == [{"form": "lopen", "lemma": "lopen", "tag": "n"}]
    assert result["message"] == "The tag is n. The morphology of the old tag was removed."
    assert edit(page, record, "retag", [0], "ww")["record"]["tokens"] == record["tokens"]


def test_secondary_edges_follow_their_ends(page: Page) -> None:
    tree = FIGURE_1
    size = len(tree)
    record = tree.to_dict() | {
        "secondary": [{"label": "x", "child": 1, "parent": size + 2}, {"label": "y", "child": 0, "parent": size}]
    }
    joined = edit(page, record, "join", [0], "NEW")["record"]
    ends = {edge["label"]: edge["parent"] - size for edge in joined["secondary"]}
    assert joined["constituents"][ends["x"]]["label"] == record["constituents"][2]["label"]
    dissolved = edit(page, record, "dissolve", [size + 2])
    assert [edge["label"] for edge in dissolved["record"]["secondary"]] == ["y"]
    assert "1 secondary edge was removed." in dissolved["message"]


def test_confidence_stays_with_what_the_parser_saw(page: Page) -> None:
    record = FIGURE_1.to_dict() | {"confidence": 0.9}
    for constituent in record["constituents"]:
        constituent["confidence"] = 0.5
    tagged = edit(page, record, "retag", [0], "XY")["record"]
    assert tagged["confidence"] == 0.9
    joined = edit(page, record, "join", [0], "NEW")["record"]
    assert "confidence" not in joined
    assert [c["label"] for c in joined["constituents"] if "confidence" not in c] == ["NEW"]


# Correcting a tree on the page

TEXT = "Es kam nichts Interessantes."


def open_editor(page: Page, text: str = TEXT) -> None:
    page.fill("#text", text)
    page.get_by_role("button", name="Parse", exact=True).click()
    playwright.expect(page.locator("#parse-status")).to_contain_text(" in ")
    page.get_by_role("button", name="Edit", exact=True).click()
    settled(page)


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    dt.write([FIGURE_1], tmp_path / "one.export")
    return tmp_path / "one.export"


def open_treebank_editor(page: Page, treebank: Path) -> None:
    page.click("#tab-treebank")
    page.set_input_files("#treebank-file", treebank)
    page.click("#treebank-list button")
    page.get_by_role("button", name="Edit", exact=True).click()
    settled(page)


def settled(page: Page) -> None:
    """Wait until the drawing shows the current tree."""
    playwright.expect(page.locator(".canvas .current")).to_have_count(1)
    playwright.expect(page.locator(".canvas:not([aria-busy])")).to_have_count(1)


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
    settled(page)


def drawn(page: Page) -> list[tuple[str, tuple[int, ...]]]:
    """Return label and positions of all constituents in the editor's drawing."""
    settled(page)
    nodes = page.locator(".canvas .node").all()
    return [
        (n.get_attribute("data-label"), tuple(map(int, n.get_attribute("data-positions").split(",")))) for n in nodes
    ]


def brackets(tree: dt.Tree) -> list[tuple[str, tuple[int, ...]]]:
    return [(node.label, node.positions) for node in tree.nodes()]


def center(page: Page, where: str) -> tuple[float, float]:
    page.locator(".canvas").evaluate("(element) => element.scrollIntoView({ block: 'end' })")
    box = page.locator(f"{where} .target").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def downloaded(page: Page, kind: str, folder: Path, format: str) -> dt.Tree:
    with page.expect_download() as download:
        choose(page.locator("figure:visible"), "Download", f"Download as {kind}")
    path = folder / f"edited.{format}"
    download.value.save_as(path)
    (tree,) = dt.read(path, format)
    return tree


def status(page: Page) -> str:
    return str(page.locator(".editor .status").inner_text())


def test_a_tree_is_corrected_with_the_mouse_and_read_back(page: Page, treebank: Path, tmp_path: Path) -> None:
    open_treebank_editor(page, treebank)
    before = drawn(page)
    assert before == brackets(FIGURE_1)
    word = center(page, ".canvas .word[data-position='1']")
    gapped = next(k for k, (_, positions) in enumerate(before) if 1 not in positions)
    page.mouse.move(*word)
    page.mouse.down()
    page.mouse.move(*center(page, f".canvas .node[data-node='{gapped}']"), steps=5)
    playwright.expect(page.locator(".canvas .over")).to_have_count(1)
    page.mouse.up()
    after = drawn(page)
    assert 1 in dict(enumerate(after))[gapped][1]
    assert "attached to" in status(page)
    page.locator(".canvas .word[data-position='0'] .target").click()
    page.locator(".canvas .word[data-position='2'] .target").click(modifiers=["Control"])
    page.get_by_role("button", name="Join").click()
    page.keyboard.type("NEW")
    page.keyboard.press("Enter")
    assert ("NEW", (0, 2)) in drawn(page)
    assert page.locator(".changes summary").inner_text().endswith("from the treebank")
    wanted = drawn(page)
    may_leave = "dispatchEvent(new Event('beforeunload', { cancelable: true }))"
    assert not page.evaluate(may_leave)
    for kind, format in (("JSON", "json"), ("Export", "export")):
        tree = downloaded(page, kind, tmp_path, format)
        assert brackets(tree) == wanted
        assert tree.id == FIGURE_1.id
    assert page.evaluate(may_leave)  # it was downloaded
    with page.expect_download() as download:
        choose(page.locator("#filters"), "Download all", "Download all trees as Export")
    download.value.save_as(tmp_path / "all.export")
    assert [brackets(tree) for tree in dt.read(tmp_path / "all.export")] == [wanted]
    for _ in range(3):
        page.get_by_role("button", name="Undo").click()
    assert drawn(page) == before
    for _ in range(3):
        page.get_by_role("button", name="Redo").click()
    assert drawn(page) == wanted
    page.get_by_role("button", name="Done").click()
    playwright.expect(page.locator("#treebank-tree figcaption")).to_contain_text("edited")
    playwright.expect(page.locator("#treebank-tree .sign").first).to_be_visible()
    page.get_by_role("button", name="Edit").click()  # its steps are still known
    for _ in range(3):
        page.get_by_role("button", name="Undo").click()
    assert drawn(page) == before


def test_a_tree_is_corrected_with_the_keyboard_alone(page: Page, treebank: Path, tmp_path: Path) -> None:
    open_treebank_editor(page, treebank)
    before = drawn(page)
    press(page, "Home", "Space", "ArrowRight", "Shift+ArrowRight")
    assert page.locator(".canvas [aria-selected=true]").count() == 3
    page.keyboard.press("j")
    page.keyboard.type("AB")
    press(page, "Enter")
    assert ("AB", (0, 1, 2)) in drawn(page)
    assert page.evaluate("document.activeElement.matches('.canvas')")
    press(page, "f")
    page.keyboard.type("OC")
    press(page, "Enter", "End", "a", "Home", "ArrowUp", "Enter")  # the last word goes to the new constituent
    assert ("AB", (0, 1, 2, len(FIGURE_1) - 1)) in drawn(page)
    press(page, "u")  # … and one higher again
    assert ("AB", (0, 1, 2)) in drawn(page)
    press(page, "t")
    page.keyboard.type("XY")
    press(page, "Enter")
    tree = downloaded(page, "JSON", tmp_path, "json")
    assert tree.tokens[-1].tag == "XY"
    assert next(node.function for node in tree.nodes() if node.label == "AB") == "OC"
    page.locator(".canvas").focus()
    for _ in range(6):
        page.keyboard.press("Control+z")
    assert drawn(page) == before
    assert status(page) == "One step back."
    press(page, "z")
    assert status(page) == "There is nothing to undo."
    for _ in range(6):
        page.keyboard.press("Control+Shift+z")
    settled(page)
    assert downloaded(page, "JSON", tmp_path, "json") == tree
    page.locator(".canvas").focus()
    press(page, "ArrowUp", "Space", "Escape")
    assert page.locator(".canvas [aria-selected=true]").count() == 0
    page.keyboard.press("Escape")  # nothing is selected: the editor closes
    playwright.expect(page.locator(".editor")).to_have_count(0)
    assert page.evaluate("document.activeElement.textContent") == "Edit"


def test_morphology_lemma_and_secondary_edges_are_edited(page: Page, treebank: Path, tmp_path: Path) -> None:
    open_treebank_editor(page, treebank)
    press(page, "Home")
    for name, value in (("Morphology", "Nom.Sg"), ("Lemma", "es")):
        field = page.get_by_label(name, exact=True)
        field.click()
        page.keyboard.type(value)
        press(page, "Enter")
        playwright.expect(field).to_have_value(value)
    press(page, "e", "ArrowUp", "ArrowUp", "Enter")  # a secondary edge to the constituent above that of the word
    page.keyboard.type("XE")
    press(page, "Enter")
    tree = downloaded(page, "JSON", tmp_path, "json")
    assert (tree.tokens[0].morph, tree.tokens[0].lemma) == ("Nom.Sg", "es")
    above = [*tree.nodes()]
    (edge,) = tree.secondary
    assert (edge.label, edge.child) == ("XE", 0)
    assert 0 in above[edge.parent - len(tree)].positions
    assert page.locator(".changes summary").inner_text().startswith("2 differences")
    page.get_by_role("button", name="Remove the secondary edge").click()
    settled(page)
    assert downloaded(page, "JSON", tmp_path, "json").secondary == ()
    page.locator(".canvas").focus()
    press(page, "z")
    playwright.expect(page.locator(".edges input")).to_have_value("XE")


def test_keys_say_why_they_do_nothing(page: Page) -> None:
    open_editor(page)
    press(page, "d")
    assert status(page) == "The root cannot be removed."
    press(page, "Home", "d")
    assert status(page) == "A word cannot be removed."
    press(page, "a", "End", "Enter")
    assert status(page) == "Nothing can be attached to a word."
    press(page, "Escape")
    assert status(page) == "Nothing was attached."
    page.keyboard.press("t")
    page.keyboard.type("two words")
    press(page, "Enter")
    assert status(page) == "A tag cannot contain spaces."


@pytest.mark.parametrize("page", [TABLET], indirect=True)
def test_a_tree_is_corrected_by_touch(page: Page, treebank: Path) -> None:
    open_treebank_editor(page, treebank)
    page.get_by_role("button", name="Select several").tap()
    for position in (0, 1):
        page.locator(f".canvas .word[data-position='{position}'] .target").tap()
    page.get_by_role("button", name="Join").tap()
    page.keyboard.type("TT")
    press(page, "Enter")
    assert ("TT", (0, 1)) in drawn(page)
    touch_drag(page, ".canvas .word[data-position='2']", ".canvas .node[data-label='TT']")
    assert ("TT", (0, 1, 2)) in drawn(page)
    page.locator(".canvas .word[data-position='3'] .target").tap()
    page.get_by_role("button", name="Attach to").tap()
    page.locator(".canvas .node[data-label='TT'] .target").tap()
    assert ("TT", (0, 1, 2, 3)) in drawn(page)


def touch_drag(page: Page, start: str, end: str) -> None:
    """Drag with a finger; Playwright itself can only tap."""
    (x, y), (to_x, to_y) = center(page, start), center(page, end)
    session = page.context.new_cdp_session(page)
    steps = [(x + (to_x - x) * k / 5, y + (to_y - y) * k / 5) for k in range(6)]
    for kind, points in [("touchStart", steps[:1]), *[("touchMove", [step]) for step in steps[1:]], ("touchEnd", [])]:
        touches = [{"x": a, "y": b} for a, b in points]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})


def test_one_of_the_k_best_is_taken(page: Page) -> None:
    open_editor(page)
    first = drawn(page)
    page.get_by_role("button", name="Other trees of this sentence").click()
    playwright.expect(page.locator(".alternatives button")).to_have_count(5)
    page.locator(".alternatives button").nth(1).click()
    second = drawn(page)
    assert second != first
    assert page.locator(".alternatives button[aria-pressed=true]").inner_text().startswith("2")
    assert page.locator(".canvas .sign").count() > 0
    page.locator(".canvas").focus()
    press(page, "z")
    assert drawn(page) == first
    press(page, "2")
    assert drawn(page) == second
    page.locator(".changes summary").click()
    page.get_by_role("button", name="Back to the prediction").click()
    assert drawn(page) == first
    assert page.locator(".changes summary").inner_text() == "As in the prediction"


def test_labels_come_from_the_model(page: Page, server: httpx.Client) -> None:
    inventory = server.get("/api/models").json()[0]["inventory"]
    open_editor(page)
    for name, kind in (("Label", "labels"), ("Tag", "tags"), ("Function", "functions")):
        field = page.get_by_label(name, exact=True).first
        offered = field.evaluate("(input) => [...input.list.options].map(({ value }) => value)")
        assert offered[: len(inventory[kind])] == inventory[kind]
        assert ("--" in offered) == (kind != "labels")


def test_other_views_keep_the_corrections(page: Page) -> None:
    open_editor(page)
    press(page, "Home", "j")
    page.keyboard.type("NEW")
    press(page, "Enter")
    page.check("input[value=brackets]", force=True)
    playwright.expect(page.locator("#results pre")).to_contain_text("(NEW ")
    page.check("input[value=svg]", force=True)
    playwright.expect(page.locator("#results .node[data-label=NEW]")).to_have_count(1)


def test_quick_steps_are_drawn_once_the_server_answers(page: Page) -> None:
    """Keys work on the tree, not on its drawing: they may come faster than the server draws."""
    open_editor(page)
    for _ in range(12):
        for key in ("Home", "j", "Escape"):
            page.keyboard.press(key)
    settled(page)
    assert [positions for _, positions in drawn(page)].count((0,)) >= 12
    for _ in range(12):
        page.keyboard.press("z")
    settled(page)
    assert page.locator("[aria-label='Edit the tree'] button", has_text="Undo").get_attribute("aria-disabled") == "true"


def test_the_editor_has_names_roles_and_a_visible_focus(page: Page) -> None:
    open_editor(page)
    canvas = page.locator(".canvas")
    assert canvas.get_attribute("role") == "listbox"
    assert canvas.get_attribute("aria-multiselectable") == "true"
    for key in ("ArrowDown", "End", "ArrowUp"):
        press(page, key)
        current = page.locator(".canvas .current")
        assert canvas.get_attribute("aria-activedescendant") == current.get_attribute("id")
        assert current.get_attribute("role") == "option"
        assert current.get_attribute("aria-label")
        assert current.locator(".target").evaluate("(element) => getComputedStyle(element).stroke") != "none"
    assert page.locator(".editor .status").get_attribute("role") == "status"
    unnamed = page.evaluate(
        """[...document.querySelectorAll("input, select, textarea, button")].filter((element) =>
             !element.labels?.length && !element.ariaLabel && !element.textContent.trim()).map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    press(page, "Shift+?")
    playwright.expect(page.locator(".editor .help dl")).to_be_visible()


@pytest.mark.parametrize("page", [PHONE], indirect=True)
def test_the_editor_fits_a_phone(page: Page) -> None:
    open_editor(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    small = page.evaluate(
        """[...document.querySelectorAll(".editor button, .editor input")].filter((element) =>
             element.offsetHeight && element.offsetHeight < 32).map((element) => element.outerHTML)"""
    )
    assert small == []


def test_the_component_keeps_its_interface(page: Page) -> None:
    """``discotree annotate`` embeds the editor through these functions."""
    found = page.evaluate(
        """async (record) => {
          const { openEditor } = await import("/page/editor.js");
          const holder = document.createElement("div");
          document.querySelector("main").prepend(holder);
          const seen = [];
          const editor = openEditor(holder, { record, onChange: (changed) => seen.push(changed) });
          const other = { ...record, constituents: record.constituents.slice(0, 1) };
          const before = [editor.canUndo(), editor.canRedo()];
          editor.replace(other);
          editor.undo();
          const between = [editor.canUndo(), editor.canRedo(), editor.record() === record];
          editor.redo();
          const after = [editor.canUndo(), editor.canRedo(), editor.record() === other];
          editor.destroy();
          return { before, between, after, seen: seen.length, left: holder.children.length };
        }""",
        FIGURE_1.to_dict(),
    )
    assert found == {
        "before": [False, False], "between": [False, True, True], "after": [True, False, True], "seen": 3, "left": 0
    }  # fmt: skip


@pytest.mark.parametrize("page", [{}, {"color_scheme": "dark"}, PHONE], indirect=True, ids=["light", "dark", "phone"])
def test_axe_finds_no_violation(page: Page) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    open_editor(page)
    press(page, "Home", "Space", "j", "Enter", "End", "Space")
    page.locator(".help summary").click()
    page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text("utf-8"))
    violations = page.evaluate("axe.run()")["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []
