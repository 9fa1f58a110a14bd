"""The web page in a real browser: headless Chromium, driven by Playwright.

Not part of the default run: ``pytest -m browser``. Set DISCOTREE_SCREENSHOTS=FOLDER to save screenshots there.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.browsing import CHROMIUM, Page, choose
from support.helpers import parsed
from support.models import CARD, saved_model, with_card
from support.networks import TREES
from support.servers import serving

import discotree as dt
from discotree.web import Limits
from discotree.web.security import Access
from discotree.web.server import load_app

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]

TEXT = "Es kam nichts Interessantes."
PHONE = {"width": 390, "height": 844}
DARK, LIGHT = "rgb(14, 17, 20)", "rgb(244, 246, 248)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("models")
    with_card(saved_model(folder / "de"), CARD | {"name": "de"})
    saved_model(folder / "other")
    names = [str(folder / name) for name in ("de", "other")]
    with serving(load_app(names, "cpu", "", Access(), Limits())) as client:
        yield client


def wait_for(page: Page, where: str, what: str) -> None:
    """Wait for a text. The page's security policy rightly forbids Playwright's other ways of waiting."""
    playwright.expect(page.locator(where)).to_contain_text(what)


def parse(page: Page, text: str = TEXT) -> None:
    page.fill("#text", text)
    page.get_by_role("button", name="Parse", exact=True).click()
    wait_for(page, "#parse-status", " in ")


def best(server: httpx.Client, **asked: Any) -> dict[str, Any]:
    return server.post("/api/parse", json={"text": TEXT} | asked).json()["trees"][0]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    dt.write(TREES, folder / "gold.export")
    dt.write(TREES, folder / "gold.export.gz")
    flat = [dt.Tree(tree.tokens, dt.Node("ROOT", range(len(tree))), tree.id) for tree in TREES[:3]]
    dt.write([*flat, *TREES[3:]], folder / "predicted.xml", "tigerxml")
    (folder / "latin.export").write_bytes((folder / "gold.export").read_text("utf-8").encode("latin-1"))
    (folder / "nonsense.txt").write_text("hello")
    return folder


# Parsing


def test_a_sentence_is_parsed_and_a_constituent_described(page: Page, server: httpx.Client) -> None:
    parse(page)
    tree = best(server)
    nodes = page.locator("#results .node")
    assert nodes.count() == len(tree["constituents"])
    assert page.locator("#results .word").count() == 5
    for number, row in enumerate(tree["constituents"]):
        nodes.nth(number).locator(".target").click()
        details = page.locator("#parse .details")
        assert details.locator("h3").inner_text() == row["label"]
        shown = details.inner_text()
        assert f"{100 * row['confidence']:.1f} %" in shown
        assert ", ".join(map(str, row["positions"])) in shown  # from 0, as in brackets and records
        assert page.locator("#results .word.selected").count() == len(row["positions"])
        assert nodes.nth(number).get_attribute("aria-pressed") == "true"
        assert page.locator("#results .node[aria-pressed=true]").count() == 1
    page.click("#parse .details button")
    assert page.locator("#parse .details").is_hidden()
    assert page.locator(".selected").count() == 0


def test_gaps_are_shown(page: Page, files: Path) -> None:
    open_treebank(page, files / "gold.export")
    page.click("#treebank-list button >> nth=0")
    page.click("#treebank-tree .node[data-function=SB] .target")
    shown = page.locator("#treebank .details").inner_text().split("\n")
    assert shown[shown.index("Words") + 1] == "Es … nichts Interessantes"
    assert shown[shown.index("Gaps") + 1] == "kam"
    assert shown[shown.index("Function") + 1].startswith("SB")


def test_everything_works_with_the_keyboard(page: Page, server: httpx.Client) -> None:
    page.focus("#text")
    page.keyboard.type(TEXT)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#results .node")
    page.focus("#results .node >> nth=0")
    page.keyboard.press("Enter")
    assert page.locator("#parse .details h3").inner_text() == best(server)["constituents"][0]["label"]
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.locator("#results .node >> nth=1").get_attribute("aria-pressed") == "true"
    page.focus("#tab-parse")
    page.keyboard.press("ArrowRight")
    assert page.locator("#treebank").is_visible()
    assert page.evaluate("document.activeElement.id") == "tab-treebank"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#compare").is_visible()


def test_every_control_has_an_accessible_name(page: Page) -> None:
    parse(page)
    unnamed = page.evaluate(
        """[...document.querySelectorAll("input, select, textarea, button")].filter((element) =>
             !element.labels?.length && !element.ariaLabel && !element.textContent.trim()).map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    assert page.locator("#results svg").get_attribute("role") == "group"
    assert page.locator("#results .node >> nth=0").get_attribute("aria-label").endswith(f": {TEXT[:-1]} .")
    assert page.locator("[role=status]").count() == 6
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.locator("h1").count() == 1


def test_another_model_parses_at_once(page: Page) -> None:
    parse(page)
    assert "German" in page.locator("#model-facts").inner_text()
    with page.expect_request("**/api/parse") as asked:
        page.select_option("#model", "other")
    assert asked.value.post_data_json["model"] == "other"
    page.wait_for_url("**/#*model=other*")
    with page.expect_request("**/api/parse") as asked:
        page.select_option("#decode", "greedy")
    assert asked.value.post_data_json["decode"] == "greedy"


def test_dependencies_and_brackets(page: Page, server: httpx.Client) -> None:
    parse(page)
    page.check("input[value=arcs]", force=True)
    page.wait_for_selector("#results .arc")
    page.check("input[value=brackets]", force=True)
    page.wait_for_selector("#results pre")
    assert page.locator("#results pre").inner_text() == str(dt.Tree.from_dict(best(server)))


def test_quick_changes_of_the_view_show_the_last_one_only(page: Page) -> None:
    parse(page, "Wir lachen und ihr weint.\n\n" * 5)
    for _ in range(3):
        for view in ("arcs", "svg", "brackets"):
            page.check(f"input[value={view}]", force=True)
    playwright.expect(page.locator("#results pre")).to_have_count(5)
    page.wait_for_load_state("networkidle")
    assert page.locator("article").count() == page.locator("#results pre").count() == 5
    assert page.locator("#results svg").count() == 0


def test_k_best_trees_stand_below_each_other_with_their_differences(page: Page) -> None:
    parse(page)
    page.select_option("#k", "3")
    page.wait_for_selector(".k-best")
    boxes = [figure.bounding_box() for figure in page.locator("#results figure").all()]
    assert len({box["x"] for box in boxes}) == 1
    assert [box["y"] for box in boxes] == sorted({box["y"] for box in boxes})
    captions = [caption.inner_text() for caption in page.locator("figcaption").all()]
    assert captions[0].startswith("1. expected F1")
    assert all("from the first tree" in caption for caption in captions[1:])
    playwright.expect(page.locator("#results figure").nth(1).locator(".sign").first).to_be_visible()
    assert page.locator("#results figure").nth(0).locator(".sign").count() == 0
    page.locator("#results figure").nth(1).locator("summary").click()
    assert re.match("[+≠−] ", page.locator("#results figure").nth(1).locator("li").first.inner_text())
    assert page.locator("#decode").is_disabled()


def test_many_sentences_are_shown_in_steps(page: Page) -> None:
    parse(page, "Wir lachen und ihr weint.\n\n" * 25)
    assert page.locator("article").count() == 10
    page.click("text=Show more")
    playwright.expect(page.locator("article")).to_have_count(20)


def test_a_link_restores_the_page(page: Page, server: httpx.Client) -> None:
    parse(page, "Wir lachen und ihr weint. 100 % & #1 = gut?")
    page.select_option("#k", "2")
    page.wait_for_selector(".k-best")
    page.check("input[value=brackets]", force=True)
    page.wait_for_selector("#results pre")
    page.wait_for_load_state("networkidle")
    page.click("#copy-link")
    link = page.evaluate("navigator.clipboard.readText()")
    wanted = page.locator("#results").inner_text()
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("#results pre")
    page.wait_for_load_state("networkidle")
    assert page.input_value("#text") == "Wir lachen und ihr weint. 100 % & #1 = gut?"
    assert page.locator("#results").inner_text() == wanted
    assert link.startswith(str(server.base_url))


def test_every_call_of_the_api_can_be_tried(page: Page) -> None:
    page.goto("/docs")
    page.wait_for_selector("html[data-ready]")
    for form in page.locator("form").all():
        form.locator("button").click()
        playwright.expect(form.locator("output p")).to_contain_text("200 OK")
    parse_form = page.locator('form[data-path="api/parse"]')
    parse_form.locator("textarea").fill('{"text": 1}')
    parse_form.locator("button").click()
    playwright.expect(parse_form.locator("output")).to_contain_text("text: Input should be")


def test_problems_are_shown(page: Page) -> None:
    page.get_by_role("button", name="Parse", exact=True).click()
    assert page.locator("#parse-problem").inner_text() == "Enter a text first."
    parse(page)
    page.fill("#text", "wort " * 1100)
    page.get_by_role("button", name="Parse", exact=True).click()
    wait_for(page, "#parse-problem", "words")
    assert page.locator("#results").inner_html() == ""  # an error removes the old tree
    assert page.locator("#parse-tools").is_hidden()
    page.select_option("#model", "de")  # this is no language
    page.fill("#text", "<img src=x onerror=alert(1)> </title><script>alert(2)</script>")
    page.get_by_role("button", name="Parse", exact=True).click()
    wait_for(page, "#results", "onerror")
    assert page.locator("#results img, #results script").count() == 0


@pytest.mark.parametrize("kind", ["SVG", "LaTeX", "Export", "JSON"])
def test_downloads(page: Page, server: httpx.Client, tmp_path: Path, kind: str) -> None:
    parse(page)
    with page.expect_download() as download:
        choose(page.locator("#results"), "Download", f"Download as {kind}")
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    text = path.read_text("utf-8")
    tree = best(server)
    if kind == "SVG":
        assert path.name == "Es_kam_nichts_Interessantes.svg"
        assert "<style>" in text
        assert text.count('class="word') == 5
    elif kind == "LaTeX":
        assert path.name == "Es_kam_nichts_Interessantes.tex"
        assert r"\begin{document}" in text
    elif kind == "Export":
        assert [node.label for node in parsed(text, "export")[0].nodes()] == [
            row["label"] for row in tree["constituents"]
        ]
    else:
        assert parsed(text, "json") == [dt.Tree.from_dict(tree)]


# Treebanks


def open_treebank(page: Page, path: Path) -> None:
    page.click("#tab-treebank")
    page.set_input_files("#treebank-file", path)
    page.wait_for_selector("#treebank-list button")


def status(page: Page) -> str:
    return str(page.locator("#treebank-status").inner_text())


@pytest.mark.parametrize("name", ["gold.export", "gold.export.gz", "latin.export", "predicted.xml"])
def test_a_file_is_opened(page: Page, files: Path, name: str) -> None:
    open_treebank(page, files / name)
    assert status(page).startswith("20 of 20 trees")
    assert page.locator("#treebank-list li").count() == 20
    assert "schläft" in page.locator("#treebank-list").inner_text()


def test_filters_agree_with_the_server(page: Page, server: httpx.Client, files: Path) -> None:
    open_treebank(page, files / "gold.export")
    content = (files / "gold.export").read_text("utf-8")
    fields: list[tuple[str, Any, str]] = [
        ("label", "VP", "label"),
        ("min-gaps", "2", "gap_degree"),
        ("punctuation", True, "punctuation"),
        ("min-words", "6", "min_words"),
        ("max-words", "7", "max_words"),
        ("contains", "HA", "contains"),
    ]
    asked: dict[str, Any] = {}
    for field, value, name in fields:
        if value is True:
            page.check(f"#filter-{field}")
        elif field == "min-gaps":
            page.select_option("#filter-min-gaps", value)
        else:
            page.fill(f"#filter-{field}", value)
        asked[name] = int(value) if isinstance(value, str) and value.isdigit() else value
        rows = server.post("/api/treebank", json={"content": content, **asked}).json()["rows"]
        assert status(page).startswith(f"{len(rows)} of 20 trees")
        assert [item.inner_text() for item in page.locator("#treebank-list b").all()] == [row["id"] for row in rows]
    assert 0 < len(rows) < 5
    page.click("#treebank-list button >> nth=0")
    page.wait_for_selector("#treebank-tree .node.hit")
    marked = [int(node.get_attribute("data-node")) for node in page.locator("#treebank-tree .node.hit").all()]
    assert sorted(marked) == rows[0]["hits"]
    page.fill("#filter-label", "")
    page.select_option("#filter-min-gaps", "0")
    assert page.locator(".hit").count() == 0


def test_a_tree_of_the_treebank_is_drawn(page: Page, files: Path) -> None:
    open_treebank(page, files / "gold.export")
    page.click("#treebank-list button >> nth=1")
    playwright.expect(page.locator("#treebank-tree h2")).to_have_text("s2 Den Hund hat er gesehen .")
    assert page.locator("#treebank-list [aria-current=true]").inner_text().startswith("Den Hund")


def test_a_file_that_is_no_treebank(page: Page, files: Path) -> None:
    page.click("#tab-treebank")
    page.set_input_files("#treebank-file", files / "nonsense.txt")
    wait_for(page, "#treebank-problem", "cannot detect the format")
    assert status(page) == ""


def test_two_files_are_compared(page: Page, files: Path) -> None:
    page.click("#tab-compare")
    page.set_input_files("#gold-file", files / "gold.export")
    page.set_input_files("#predicted-file", files / "predicted.xml")
    page.click("#compare-form .primary")
    page.wait_for_selector("#metrics table")
    score = dt.evaluate(dt.read(files / "gold.export"), dt.read(files / "predicted.xml"))
    row = page.locator("#metrics tr", has_text=re.compile("^F1")).inner_text().split()
    assert row == ["F1", f"{score.f1:.2f}", f"{score.discontinuous.f1:.2f}"]
    assert "20 sentences, 3 with differences" in page.locator("#compare-status").inner_text()
    page.click("#compare-list button >> nth=0")
    page.wait_for_selector("#compare-tree .missing")


# Colours and sizes


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def letters(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.querySelector('#results .word .form')).fill"))


def test_dark_and_light(page: Page) -> None:
    parse(page)
    assert (background(page), letters(page)) == (LIGHT, "rgb(31, 35, 40)")
    page.emulate_media(color_scheme="dark")
    assert (background(page), letters(page)) == (DARK, "rgb(230, 237, 243)")
    page.select_option("#theme", "light")
    assert (background(page), letters(page)) == (LIGHT, "rgb(31, 35, 40)")
    page.emulate_media(color_scheme="light")
    page.select_option("#theme", "dark")
    assert (background(page), letters(page)) == (DARK, "rgb(230, 237, 243)")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert background(page) == DARK


@pytest.mark.parametrize("page", [{"viewport": PHONE, "has_touch": True, "is_mobile": True}], indirect=True)
def test_a_phone(page: Page, files: Path) -> None:
    parse(page)
    page.locator("#results .node .target").nth(1).tap()
    sheet = page.locator("#parse .details").bounding_box()
    assert sheet["width"] == PHONE["width"]
    assert sheet["y"] + sheet["height"] <= PHONE["height"]
    node = page.locator("#results .node.selected .target").bounding_box()
    assert node["y"] + node["height"] <= sheet["y"]  # the details do not cover it
    open_treebank(page, files / "gold.export")
    page.locator("#treebank-list button").nth(3).tap()
    page.wait_for_selector("#treebank-tree .node")
    page.click("#tab-compare")
    for tab in ("parse", "treebank", "compare"):
        page.click(f"#tab-{tab}")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    small = page.evaluate(
        """[...document.querySelectorAll("select, textarea, button.primary, [role=tab]")].filter((element) =>
             element.offsetHeight && element.offsetHeight < 32).map((element) => element.id)"""
    )
    assert small == []


# Empty tabs

DROP = """async ([id, name, content]) => {
  const files = new DataTransfer();
  files.items.add(new File([content], name));
  document.getElementById(id).closest("label").dispatchEvent(new DragEvent("drop", { dataTransfer: files }));
}"""


def test_a_file_is_dropped(page: Page, files: Path) -> None:
    content = (files / "gold.export").read_text("utf-8")
    page.click("#tab-treebank")
    page.evaluate(DROP, ["treebank-file", "gold.export", content])
    wait_for(page, "#treebank-status", "20 of 20 trees")
    page.wait_for_selector("#treebank-tree .node")  # of the first tree
    page.click("#tab-compare")
    for side in ("gold", "predicted"):
        page.evaluate(DROP, [f"{side}-file", "gold.export", content])
    page.click("#compare-form .primary")
    wait_for(page, "#compare-status", "20 sentences, 0 with differences")


def test_a_file_is_dropped_to_search_it(page: Page, files: Path) -> None:
    page.click("#tab-search")
    page.evaluate(DROP, ["search-file", "gold.export", (files / "gold.export").read_text("utf-8")])
    playwright.expect(page.locator("#search-treebank")).to_have_value("upload:opened")
    page.fill("#query", '[cat="NP"]')
    page.click("#search-form .primary")
    page.wait_for_selector(".hit-line")
    page.evaluate(DROP, ["search-file", "nonsense.txt", "hello"])
    wait_for(page, "#search-problem", "cannot detect the format")


def test_empty_tabs_offer_samples(page: Page) -> None:
    page.click("#tab-treebank")
    page.get_by_role("button", name="Open a German sample").click()
    page.wait_for_selector("#treebank-tree .node")
    page.click("#tab-compare")
    page.get_by_role("button", name="Compare the German sample with the model de").click()
    wait_for(page, "#compare-status", "with differences")
    assert page.locator("#compare-samples button").count() == 1  # there is no Dutch model


@pytest.mark.parametrize(
    "page",
    [{}, {"color_scheme": "dark"}, {"viewport": PHONE, "has_touch": True, "is_mobile": True}],
    indirect=True,
    ids=["light", "dark", "phone"],
)
def test_axe_finds_no_violation_in_any_tab(page: Page, files: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text("utf-8"))

    def check() -> None:
        violations = page.evaluate("axe.run()")["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []

    for tab in ("treebank", "search", "compare"):  # empty
        page.click(f"#tab-{tab}")
        check()
    page.click("#tab-parse")
    parse(page)
    page.locator("#results .node .target").nth(1).click()
    playwright.expect(page.locator(".details:popover-open")).to_be_visible()
    check()
    page.get_by_role("button", name="Download ▾").click()
    check()
    page.check("input[value=network]", force=True)
    page.wait_for_selector("#results .arc")
    check()
    open_treebank(page, files / "gold.export")
    page.wait_for_selector("#treebank-tree .node")
    check()
