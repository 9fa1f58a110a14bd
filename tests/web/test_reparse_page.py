"""Parsing again after a correction, in the editor of both pages in a real browser: ``pytest -m browser``."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from support.annotation import USE, predicted, project_at
from support.browsing import CHROMIUM, Page, opened
from support.networks import TREES
from support.servers import serving
from support.web import answer

import discotree as dt
from discotree.web import create_app
from discotree.web.annotation.session import AnnotationSession, Predictor

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]

TEXT = "Gestern hat sie das Buch wohl gelesen."
SWITCH = "Parse again after every correction"
Record = dict[str, Any]


def find_wrong(client: httpx.Client, record: Record, model: str) -> int:
    """Return the number of a constituent after whose removal something else changes."""
    for number in range(1, len(record["constituents"])):
        rest = record["constituents"][:number] + record["constituents"][number + 1 :]
        if answer(client, "reparse", before=record, tree=record | {"constituents": rest}, model=model)["tree"]:
            return number
    pytest.fail("no removal changes anything else")


@pytest.fixture
def wrong(server: httpx.Client) -> int:
    (record,) = answer(server, "parse", text=TEXT)["trees"]
    return find_wrong(server, record, "de")


@pytest.fixture
def editor(page: Page) -> Any:
    """The editor of a parsed sentence."""
    page.fill("#text", TEXT)
    page.get_by_role("button", name="Parse", exact=True).click()
    page.get_by_role("button", name="Edit", exact=True).first.click()
    page.wait_for_selector(".editor .canvas svg")
    return page.locator(".editor")


def drawing(editor: Any) -> str:
    """Return the picture without the marks of the selection."""
    texts = editor.locator(".canvas .label, .canvas .tag, .canvas .function, .canvas .form").all_text_contents()
    return " ".join(texts)


def dissolve(page: Page, editor: Any, number: int) -> None:
    editor.locator(f'.node[data-node="{number}"] > .target').click()
    page.keyboard.press("d")


def expect_proposal(editor: Any) -> None:
    playwright.expect(editor.locator(".status")).to_contain_text("Parsed again, ")
    assert editor.locator(".canvas.proposed").count() == 1
    assert editor.get_by_role("button", name="Take the proposal").is_visible()


def expect_none(editor: Any) -> None:
    assert editor.locator(".canvas.proposed").count() == 0
    assert not editor.get_by_role("button", name="Take the proposal").is_visible()


def test_a_proposal_is_marked_and_taken_with_a_key(page: Page, editor: Any, wrong: int) -> None:
    before = drawing(editor)
    dissolve(page, editor, wrong)
    expect_proposal(editor)
    assert editor.locator(".canvas .sign").count() > 0
    proposed = drawing(editor)
    page.keyboard.press("v")
    playwright.expect(editor.locator(".status")).to_contain_text("The proposal was taken.")
    expect_none(editor)
    assert drawing(editor) == proposed
    page.keyboard.press("z")  # back to the tree as it was corrected by hand
    by_hand = drawing(editor)
    assert by_hand not in (before, proposed)
    page.keyboard.press("z")
    assert drawing(editor) == before
    page.keyboard.press("y")
    page.keyboard.press("y")
    assert drawing(editor) == proposed


def test_a_proposal_is_left_with_a_key_and_not_repeated(
    page: Page, server: httpx.Client, editor: Any, wrong: int
) -> None:
    sent: list[Record] = []
    page.on("request", lambda one: sent.append(one.post_data_json) if one.url.endswith("api/reparse") else None)
    dissolve(page, editor, wrong)
    expect_proposal(editor)
    proposed = drawing(editor)
    page.keyboard.press("x")
    playwright.expect(editor.locator(".status")).to_contain_text("The tree is as you have corrected it.")
    expect_none(editor)
    assert drawing(editor) != proposed
    page.keyboard.press("Home")
    page.keyboard.press("t")
    with page.expect_response("**/api/reparse"):
        page.keyboard.type("XY")
        page.keyboard.press("Enter")
    first, second = sent
    found = answer(server, "reparse", **first)
    assert first["constraints"] == []
    assert second["constraints"] == found["if_left"] != found["constraints"]
    assert second["tree"]["tokens"][0]["tag"] == "XY"
    again = answer(server, "reparse", **second)
    assert again["tree"] is None or again["tree"]["constituents"] != found["tree"]["constituents"]


def test_buttons_and_other_keys_end_a_proposal(page: Page, editor: Any, wrong: int) -> None:
    dissolve(page, editor, wrong)
    expect_proposal(editor)
    proposed = drawing(editor)
    page.keyboard.press("ArrowUp")  # who goes on does not want it
    expect_none(editor)
    assert drawing(editor) != proposed
    page.keyboard.press("z")
    dissolve(page, editor, wrong)
    expect_proposal(editor)
    page.keyboard.press("Escape")
    expect_none(editor)
    assert editor.is_visible()  # Escape has not closed it
    page.keyboard.press("z")
    dissolve(page, editor, wrong)
    expect_proposal(editor)
    editor.get_by_role("button", name="Take the proposal").click()
    expect_none(editor)
    assert drawing(editor) == proposed


def test_a_new_constituent_is_parsed_around_once_it_has_its_label(page: Page, editor: Any) -> None:
    assert editor.is_visible()
    sent: list[Record] = []
    page.on("request", lambda one: sent.append(one.post_data_json) if one.url.endswith("api/reparse") else None)
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.keyboard.press("j")
    page.wait_for_timeout(300)
    assert sent == []  # the label is being typed
    with page.expect_response("**/api/reparse"):
        page.keyboard.type("VP")
        page.keyboard.press("Enter")
    (request,) = sent
    assert {"label": "VP", "positions": [0, 1]} in request["tree"]["constituents"]


def test_it_can_be_switched_off(page: Page, editor: Any, wrong: int) -> None:
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.url) if one.url.endswith("api/reparse") else None)
    editor.get_by_label(SWITCH).uncheck()
    dissolve(page, editor, wrong)
    page.wait_for_timeout(300)
    assert sent == []
    expect_none(editor)
    page.keyboard.press("z")
    editor.get_by_label(SWITCH).check()
    dissolve(page, editor, wrong)
    expect_proposal(editor)
    editor.get_by_label(SWITCH).uncheck()
    expect_none(editor)


def test_a_tree_without_a_model_has_no_switch(page: Page) -> None:
    code = """async (record) => {
      const { openEditor } = await import("/page/editor.js");
      openEditor(document.body.appendChild(document.createElement("div")), { record });
    }"""
    page.evaluate(code, {"tokens": [{"form": "Ja"}], "constituents": [{"label": "S", "positions": [0]}]})
    assert page.locator(".editor").count() == 1
    assert page.get_by_label(SWITCH).count() == 0


def test_an_error_is_shown_and_nothing_is_lost(page: Page, editor: Any, wrong: int) -> None:
    page.route("**/api/reparse", lambda route: route.abort())
    dissolve(page, editor, wrong)
    playwright.expect(editor.locator(".status")).to_contain_text("The rest was not parsed again: The server")
    page.unroute("**/api/reparse")
    editor.locator('.node[data-node="1"] > .target').click()
    page.keyboard.press("l")
    page.keyboard.type("NEW")
    page.keyboard.press("Enter")
    playwright.expect(editor.locator(".status")).to_contain_text("does not have this label")
    assert drawing(editor).split().count("NEW") == 1


def test_the_annotation_page_saves_the_tree_that_was_taken(
    browser: Any, tmp_path: Path, parsers: dict[str, dt.Parser]
) -> None:
    parser = parsers["xx"]
    trees = [parser(tree.words) for tree in TREES[1:3]]
    project = project_at(tmp_path / "a.jsonl", predicted(trees, [0.5, 0.5]))
    predictor = Predictor(project, parser, project.use_model(*USE))
    predictor.is_done.set()
    session = AnnotationSession(project, parser, "xx", predictor, order="given", annotator="Ann")
    app = create_app({"xx": parser}, annotation=session)
    with serving(app) as client, opened(browser, client, "annotate-proposal", "/annotate") as page:
        editor = page.locator("#editor .editor")
        first, second = (find_wrong(client, tree.to_dict(), "xx") for tree in trees)
        with page.expect_response("**/api/reparse") as response:
            dissolve(page, editor, first)
        expect_proposal(editor)
        page.keyboard.press("v")
        expect_none(editor)
        page.keyboard.press("Control+Enter")
        playwright.expect(page.locator("#saved")).to_contain_text("Correction saved: sentence 1")
        saved, proposed = project.detail(1)["tree"], response.value.json()["tree"]
        assert dt.Tree.from_dict(saved) == dt.Tree.from_dict(proposed)
        dissolve(page, editor, second)
        expect_proposal(editor)
        page.keyboard.press("Control+Enter")  # a proposal that was not taken is not saved
        playwright.expect(page.locator("#saved")).to_contain_text("Correction saved: sentence 2")
        prediction, saved = project.detail(2)["prediction"], project.detail(2)["tree"]
        rest = prediction["constituents"][:second] + prediction["constituents"][second + 1 :]
        assert dt.Tree.from_dict(saved) == dt.Tree.from_dict(prediction | {"constituents": rest})
