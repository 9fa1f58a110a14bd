"""The figures of the web page in headless Chromium: zoom, full screen, downloads, copies, what Escape closes.

Not part of the default run: ``pytest -m browser``. Set DISCOTREE_SCREENSHOTS=FOLDER to save screenshots there.
"""

import struct
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.browsing import CHROMIUM, Page, opened
from support.renderers import hide_renderers, needs_renderer
from support.servers import serving

import discotree as dt
from discotree.web import create_app

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]

TEXT = "Es kam nichts Interessantes. Den Hund hat er gesehen."
LONG = "Wir lachen und ihr weint und " * 12 + "sie schläft."


def parse(page: Page, text: str) -> None:
    page.fill("#text", text)
    page.get_by_role("button", name="Parse", exact=True).click()
    playwright.expect(page.locator("#parse-status")).to_contain_text(" in ")


def width(page: Page) -> float:
    return float(page.locator("#results svg, dialog svg").first.bounding_box()["width"])


@pytest.mark.parametrize("page", [{"path": "/"}], indirect=True)
def test_the_first_page_shows_an_example(page: Page) -> None:
    playwright.expect(page.locator("#results .node").first).to_be_visible()
    sentence = page.locator("#results h2").first.inner_text().removeprefix("1 ")
    assert page.input_value("#text").startswith(sentence.removesuffix(" ."))
    assert "#" not in page.url  # it is nobody's own text


def test_long_trees_are_fitted_and_zoomed(page: Page) -> None:
    parse(page, LONG)
    natural = width(page)
    place = page.locator("#results .picture").bounding_box()["width"]
    assert natural > place
    page.get_by_label("Fit to the page").click()
    assert width(page) <= place
    fitted = width(page)
    page.get_by_label("Zoom in").click()
    assert width(page) == pytest.approx(1.25 * fitted, rel=0.02)
    page.get_by_label("Zoom out").click()
    assert width(page) == pytest.approx(fitted, rel=0.02)


def test_a_tree_fills_the_screen_until_escape(page: Page) -> None:
    parse(page, TEXT)
    page.get_by_label("Full screen").first.click()
    box = page.locator("dialog figure").bounding_box()
    assert box["width"] > 1200
    page.get_by_label("Close full screen").click()
    playwright.expect(page.locator("dialog")).to_have_count(0)
    page.get_by_label("Full screen").first.click()
    page.keyboard.press("Escape")
    playwright.expect(page.locator("dialog")).to_have_count(0)
    assert page.locator("#results figure").count() == 2
    assert page.evaluate("document.activeElement.ariaLabel") == "Full screen"


def test_a_zoomed_tree_is_edited_in_full_screen(page: Page) -> None:
    parse(page, TEXT)
    page.get_by_label("Full screen").first.click()
    page.locator("dialog .edit").click()
    page.wait_for_selector("dialog .canvas .current")
    page.locator("dialog .canvas .word[data-position='2'] .target").click()
    assert page.locator("dialog .canvas [aria-selected=true]").get_attribute("data-position") == "2"
    page.keyboard.press("Escape")  # clears the selection
    assert page.locator("dialog .canvas").count() == 1
    page.keyboard.press("Escape")  # closes the editor
    playwright.expect(page.locator("dialog .canvas")).to_have_count(0)
    page.keyboard.press("Escape")
    playwright.expect(page.locator("dialog")).to_have_count(0)


def test_escape_closes_the_details(page: Page) -> None:
    parse(page, TEXT)
    page.locator("#results .node .target").nth(1).click()
    chosen = page.locator("#results .node.selected > .label").evaluate("(label) => getComputedStyle(label).fill")
    assert chosen == "rgb(176, 0, 106)"  # no colour of a discontinuous constituent
    page.keyboard.press("Escape")
    assert page.locator("#parse .details").is_hidden()
    assert page.locator(".selected").count() == 0


def test_a_picture_is_downloaded_as_png(page: Page, tmp_path: Path) -> None:
    parse(page, TEXT)
    with page.expect_download() as download:
        page.get_by_label("Download as PNG").first.click()
    download.value.save_as(tmp_path / "tree.png")
    content = (tmp_path / "tree.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    size = struct.unpack("!II", content[16:24])
    drawn = page.locator("#results svg").first.evaluate(
        "(svg) => [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height]"
    )
    assert size == tuple(2 * side for side in drawn)


@needs_renderer
def test_a_picture_is_downloaded_as_pdf(page: Page, tmp_path: Path) -> None:
    parse(page, TEXT)
    with page.expect_download() as download:
        page.get_by_label("Download as PDF").first.click()
    download.value.save_as(tmp_path / "tree.pdf")
    assert (tmp_path / "tree.pdf").read_bytes().startswith(b"%PDF-")


@needs_renderer
def test_all_trees_are_downloaded_as_one_pdf(page: Page, tmp_path: Path) -> None:
    parse(page, TEXT)
    with page.expect_download() as download:
        page.locator("#parse-tools").get_by_label("Download all trees as").select_option(label="PDF")
    download.value.save_as(tmp_path / "trees.pdf")
    assert (tmp_path / "trees.pdf").read_bytes().startswith(b"%PDF-")


def test_without_a_renderer_pdf_says_what_to_do(
    browser: Any, parsers: dict[str, dt.Parser], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_renderers(tmp_path, monkeypatch)
    with serving(create_app({"xx": parsers["xx"]})) as own, opened(browser, own, "no_renderer") as page:
        parse(page, TEXT)
        page.get_by_label("Download as PDF").first.click()
        playwright.expect(page.locator(".downloads .problem").first).to_contain_text("PDF need rsvg-convert")


@pytest.mark.parametrize("kind", ["JSON", "Export", "TigerXML", "Alpino", "Penn", "CoNLL-U", "LaTeX"])
def test_all_trees_are_downloaded_at_once(page: Page, tmp_path: Path, kind: str) -> None:
    parse(page, TEXT)
    with page.expect_download() as download:
        page.locator("#parse-tools").get_by_label("Download all trees as").select_option(label=kind)
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    if kind == "LaTeX":
        assert path.read_text("utf-8").count(r"\begin{tikzpicture}") == 2
        return
    trees = list(dt.read(path))
    assert [" ".join(tree.words) for tree in trees] == ["Es kam nichts Interessantes .", "Den Hund hat er gesehen ."]


@pytest.mark.parametrize("kind", ["TigerXML", "discbracket", "PSD", "Export 3"])
def test_one_tree_is_downloaded_in_any_format(page: Page, tmp_path: Path, kind: str) -> None:
    parse(page, TEXT)
    with page.expect_download() as download:
        page.get_by_label("Download in another format").first.select_option(label=kind)
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    (tree,) = dt.read(path)
    assert " ".join(tree.words) == "Es kam nichts Interessantes ."


def test_brackets_are_copied(page: Page, server: httpx.Client) -> None:
    parse(page, TEXT)
    page.get_by_role("button", name="Copy brackets").first.click()
    playwright.expect(page.get_by_role("button", name="Copied")).to_have_count(1)
    tree = server.post("/api/parse", json={"text": TEXT}).json()["trees"][0]
    assert page.evaluate("navigator.clipboard.readText()") == str(dt.Tree.from_dict(tree))


def test_the_labels_of_dependencies_are_explained(page: Page) -> None:
    parse(page, TEXT)
    assert page.locator("#arcs-hint").is_hidden()
    page.check("input[value=arcs]", force=True)
    page.wait_for_selector("#results .arc")
    assert "NP#2" in page.locator("#arcs-hint").inner_text()
