"""The figures of the web page in headless Chromium: zoom, full screen, downloads, copies, what Escape closes.

Not part of the default run: ``pytest -m browser``. Set DISCOTREE_SCREENSHOTS=FOLDER to save screenshots there.
"""

import struct
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.browsing import CHROMIUM, Page, choose, opened
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


def test_trees_are_zoomed_in_full_screen(page: Page) -> None:
    parse(page, LONG)
    page.get_by_label("Full screen").first.click()
    page.get_by_label("Fit to the page").click()
    fitted = width(page)
    assert fitted <= page.locator("dialog .picture").bounding_box()["width"]
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
        choose(page.locator("#results"), "Download", "Download as PNG")
    download.value.save_as(tmp_path / "tree.png")
    content = (tmp_path / "tree.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    size = struct.unpack("!II", content[16:24])
    drawn = page.locator("#results svg").first.evaluate(
        "(svg) => [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height]"
    )
    assert size == tuple(3 * side for side in drawn)


@needs_renderer
def test_a_picture_is_downloaded_as_pdf(page: Page, tmp_path: Path) -> None:
    parse(page, TEXT)
    with page.expect_download() as download:
        choose(page.locator("#results"), "Download", "Download as PDF")
    download.value.save_as(tmp_path / "tree.pdf")
    assert (tmp_path / "tree.pdf").read_bytes().startswith(b"%PDF-")


@needs_renderer
def test_all_trees_are_downloaded_as_one_pdf(page: Page, tmp_path: Path) -> None:
    parse(page, TEXT)
    with page.expect_download() as download:
        choose(page.locator("#parse-options"), "Download all", "Download all trees as PDF")
    download.value.save_as(tmp_path / "trees.pdf")
    assert (tmp_path / "trees.pdf").read_bytes().startswith(b"%PDF-")


def test_without_a_renderer_pdf_says_what_to_do(
    browser: Any, parsers: dict[str, dt.Parser], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_renderers(tmp_path, monkeypatch)
    with serving(create_app({"xx": parsers["xx"]})) as own, opened(browser, own, "no_renderer") as page:
        parse(page, TEXT)
        choose(page.locator("#results"), "Download", "Download as PDF")
        playwright.expect(page.locator(".actions .problem").first).to_contain_text("PDF need rsvg-convert")


@pytest.mark.parametrize("kind", ["JSON", "Export", "TigerXML", "Alpino", "Penn", "CoNLL-U", "LaTeX"])
def test_all_trees_are_downloaded_at_once(page: Page, tmp_path: Path, kind: str) -> None:
    parse(page, TEXT)
    with page.expect_download() as download:
        choose(page.locator("#parse-options"), "Download all", f"Download all trees as {kind}")
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
        choose(page.locator("#results"), "Download", f"Download as {kind}")
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    (tree,) = dt.read(path)
    assert " ".join(tree.words) == "Es kam nichts Interessantes ."


def test_copy_brackets_copies_brackets_only(page: Page, server: httpx.Client) -> None:
    """A tab and a number followed the brackets from the second sentence on."""
    parse(page, TEXT)
    for number, tree in enumerate(server.post("/api/parse", json={"text": TEXT}).json()["trees"]):
        figure = page.locator("#results figure").nth(number)
        choose(figure, "Copy", "Copy brackets")
        playwright.expect(figure.locator(".status")).to_have_text("Brackets copied.")
        assert page.evaluate("navigator.clipboard.readText()") == str(dt.Tree.from_dict(tree))


COPIED = """async () => {
  const [item] = await navigator.clipboard.read();
  const image = await createImageBitmap(await item.getType("image/png"));
  const canvas = new OffscreenCanvas(image.width, image.height);
  const drawing = canvas.getContext("2d");
  drawing.drawImage(image, 0, 0);
  const alphas = drawing.getImageData(0, 0, image.width, image.height).data.filter((_, k) => k % 4 === 3);
  return { size: [image.width, image.height], corner: alphas[0], ink: alphas.some((alpha) => alpha === 255) };
}"""


def test_copy_picture_copies_a_transparent_png(page: Page) -> None:
    parse(page, TEXT)
    choose(page.locator("#results figure").first, "Copy", "Copy picture")
    playwright.expect(page.locator("#results .actions .status").first).to_have_text("Picture copied.")
    copied = page.evaluate(COPIED)
    box = page.locator("#results svg").first.get_attribute("viewBox").split()
    assert copied == {"size": [3 * int(side) for side in box[2:]], "corner": 0, "ink": True}


def test_a_browser_that_refuses_copies_says_what_to_do(page: Page) -> None:
    parse(page, TEXT)
    page.evaluate("() => { navigator.clipboard.write = () => Promise.reject(new Error('no')); }")
    choose(page.locator("#results figure").first, "Copy", "Copy picture")
    playwright.expect(page.locator(".actions .problem").first).to_contain_text("Download the tree as PNG instead")


def test_dependencies_show_functions_and_what_the_network_predicts(page: Page) -> None:
    parse(page, TEXT)
    assert page.locator("#arcs-hint").is_hidden()
    page.check("input[value=arcs]", force=True)
    page.wait_for_selector("#results .arc")
    assert "#" not in "".join(page.locator("#results .arc .function").all_text_contents())
    assert "function" in page.locator("#arcs-hint").inner_text()
    page.get_by_label("What the network predicts").check(force=True)
    playwright.expect(page.locator("#results .arc .function", has_text="#").first).to_be_visible()
    assert "NP#2" in page.locator("#network-hint").inner_text()


@pytest.mark.parametrize("page", [{}, {"viewport": {"width": 360, "height": 740}, "is_mobile": True}], indirect=True)
def test_one_row_of_buttons_per_tree(page: Page) -> None:
    parse(page, TEXT)
    buttons = page.locator("#results figure").first.locator(".actions button:visible")
    find = "Find" if page.viewport_size["width"] < 400 else "Find similar"
    assert buttons.all_inner_texts() == ["Edit", find, "Full screen", "Copy ▾", "Download ▾"]
    assert len({button.bounding_box()["y"] for button in buttons.all()}) == 1


@pytest.mark.parametrize("page", [{}, {"viewport": {"width": 390, "height": 844}, "is_mobile": True}], indirect=True)
def test_trees_fit_the_width_with_the_root_in_view(page: Page) -> None:
    parse(page, TEXT)
    for picture in page.locator("#results .picture").all():
        assert picture.evaluate("({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth")
    assert page.locator(".scrolls").count() == 0
    parse(page, LONG)
    playwright.expect(page.locator("figure.scrolls")).to_have_count(1)  # which says that it scrolls
    place = page.locator("#results .picture").bounding_box()
    root = page.locator('#results .node[data-node="0"] > .label').bounding_box()
    assert place["x"] <= root["x"] <= root["x"] + root["width"] <= place["x"] + place["width"]


def test_the_panel_of_a_constituent_moves_nothing(page: Page) -> None:
    parse(page, TEXT)
    places = """() => [...document.querySelectorAll("svg, button:not(.details *)")].map((element) =>
      element.getBoundingClientRect().y + scrollY)"""
    before = page.evaluate(places)
    node = page.locator("#results .node .target").nth(1)
    node.click()
    playwright.expect(page.locator("#parse .details")).to_be_visible()
    assert page.evaluate(places) == before
    label, panel = (
        page.locator("#results .node.selected > .label").bounding_box(),
        page.locator(".details:popover-open").bounding_box(),
    )
    assert panel["x"] > label["x"] + label["width"] or panel["x"] + panel["width"] < label["x"]
    assert page.locator(".details .name").first.inner_text() == dt.explain(
        page.locator(".details h3").inner_text(), "tiger"
    )
    page.locator("h1").click()  # anywhere else
    assert page.locator("#parse .details").is_hidden()


def test_low_confidence_looks_low(page: Page, server: httpx.Client) -> None:
    parse(page, TEXT)
    (first, *_) = server.post("/api/parse", json={"text": TEXT}).json()["trees"]
    for number, constituent in enumerate(first["constituents"]):
        node = page.locator(f'#results figure >> nth=0 >> .node[data-node="{number}"]')
        level = "low" if constituent["confidence"] < 0.5 else "medium" if constituent["confidence"] < 0.8 else "high"
        assert ("unsure" in node.get_attribute("class").split()) == (level == "low")
        node.locator(".target").click()
        assert page.locator(f".details dd .{level}").inner_text().endswith(f" %, {level}")
        assert page.locator(".details meter").evaluate("({ low, high, optimum }) => [low, high, optimum]") == [
            0.5,
            0.8,
            1,
        ]


@pytest.mark.parametrize("page", [{"path": "/"}], indirect=True)
def test_the_gallery_parses_an_example_of_each_phenomenon(page: Page) -> None:
    """The page starts with the picture of an example; options come after it."""
    playwright.expect(page.locator("#results .node").first).to_be_visible()
    places = [
        page.locator(name).first.bounding_box()["y"] for name in (".lead", "#gallery", "#results svg", "#parse-options")
    ]
    assert places == sorted(places)
    assert page.locator("#results .picture").bounding_box()["y"] < 450
    for card in page.locator("#gallery button").all():
        sentence = card.locator("span").inner_text()
        card.click()
        playwright.expect(page.locator("#results h2")).to_contain_text(sentence.split()[1].rstrip(".,"))
        assert page.input_value("#text") == sentence
