"""The Search tab in a real browser: headless Chromium, driven by Playwright.

Not part of the default run: ``pytest -m browser``. Set DISCOTREE_SCREENSHOTS=FOLDER to save screenshots there.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.browsing import CHROMIUM, Page, choose, opened
from support.helpers import parsed
from support.networks import TREES

import discotree as dt
from discotree.drawing import draw_svg

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
QUERY = '#vp:[cat="VP"] >OA #object:[cat="NP"] & discontinuous(#vp)'
MARKUP = "<img/src=x/onerror=alert(1)>"


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three times the small trees, so that there are more hits than one page has; one of them has markup for words."""
    path = tmp_path_factory.mktemp("treebanks") / "small.export"
    odd = dt.Tree((dt.Token(MARKUP), dt.Token("b")), dt.Node("ROOT", [0, 1]), "odd")
    dt.write([*TREES, *TREES, *TREES, odd], path)
    return path


@pytest.fixture
def page(browser: Any, treebank_server: httpx.Client, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Open the Search tab; check that no error occurs, no policy is violated and no other server is contacted."""
    with opened(browser, treebank_server, request.node.name, **getattr(request, "param", {})) as page:
        page.click("#tab-search")
        yield page


def shows(page: Page, where: str, what: str) -> None:
    playwright.expect(page.locator(where)).to_contain_text(what)


def search(page: Page, query: str = QUERY) -> None:
    page.fill("#query", query)
    page.click("#search-form .primary")
    page.wait_for_selector(".hit-line")


def matches(treebank: Path, query: str = QUERY) -> list[Any]:
    return list(dt.search(treebank, query))


def test_hits_are_a_concordance_with_their_trees(page: Page, treebank: Path) -> None:
    search(page)
    found = matches(treebank)
    shows(page, "#search-status", f"{len(found)} hits in {len({m.tree.id for m in found}) * 3}")
    line = page.locator(".hit-line").first
    assert [part.inner_text() for part in line.locator("b").all()] == ["Den Hund", "gesehen"]
    assert line.locator(".gap").inner_text() == "hat er"
    line.click()
    page.wait_for_selector(".hit-tree svg .bound")
    assert line.get_attribute("aria-expanded") == "true"
    assert page.locator(".hit-tree .node.bound").count() == 2
    legend = {
        item.inner_text().strip(): item.get_attribute("class") for item in page.locator("#search-legend li").all()
    }
    assert list(legend) == ["#vp", "#object"]
    for name, label in (("#vp", "VP"), ("#object", "NP")):
        node = page.locator(f".hit-tree .node.bound.{legend[name]}")
        assert node.get_attribute("data-label") == label
        assert node.locator(".variable").text_content() == name
        color = node.locator(".label").evaluate("element => getComputedStyle(element).fill")
        swatch = page.locator(f"#search-legend .{legend[name]} .swatch")
        assert color == swatch.evaluate("element => getComputedStyle(element).backgroundColor")
    line.click()
    assert page.locator(".hit-tree").first.is_hidden()
    page.select_option("#search-focus", "#object")
    playwright.expect(page.locator(".hit-line b").first).to_have_text("Den Hund")
    assert page.locator(".hit-line").first.locator("b").count() == 1


def test_a_downloaded_tree_has_the_variables_of_its_hit(page: Page, treebank: Path, tmp_path: Path) -> None:
    search(page)
    page.locator(".hit-line").first.click()
    page.wait_for_selector(".hit-tree svg .bound")
    with page.expect_download() as download:
        choose(page.locator(".hit-tree"), "Download", "Download as SVG")
    download.value.save_as(tmp_path / "hit.svg")
    match = matches(treebank)[0]
    nodes = list(match.tree.nodes())
    expected = {name: [len(match.tree) + nodes.index(match[name].node)] for name in ("#vp", "#object")}
    assert (tmp_path / "hit.svg").read_text("utf-8") == draw_svg(match.tree, highlight=expected)


def test_more_hits_come_page_by_page(page: Page, treebank: Path) -> None:
    search(page, "#n:[NT]")
    total = len(matches(treebank, "#n:[NT]"))
    shows(page, "#search-status", f"{total} hits")
    assert page.locator(".hit-line").count() == 20
    page.click("#search-hits .more")
    playwright.expect(page.locator(".hit-line")).to_have_count(40)
    assert page.evaluate("document.activeElement === document.querySelectorAll('.hit-line')[20]")


def test_an_error_is_marked_at_its_character(page: Page) -> None:
    query = '#x:[word="😀"] > #y:[cat=NP]'
    page.fill("#query", query)
    page.wait_for_selector("#query-error button")  # without a click: it is checked while one types
    shows(page, "#query-error", "expected a value")
    assert page.get_attribute("#query", "aria-invalid") == "true"
    assert page.locator("#query-marks mark").inner_text() == "N"
    assert page.locator("#query-marks").evaluate("element => element.textContent.trimEnd()") == query
    page.click("#query-error button")
    chosen = page.evaluate("getSelection().toString() || query.value.slice(query.selectionStart, query.selectionEnd)")
    assert chosen == "N"
    page.fill("#query", "#x:[cat=")
    shows(page, "#query-error", "Character 9")
    page.fill("#query", QUERY)
    playwright.expect(page.locator("#query-error")).to_be_empty()
    assert page.get_attribute("#query", "aria-invalid") == "false"


def test_the_mark_lies_on_its_character(page: Page) -> None:
    """The marks are drawn behind the field, so both must break lines alike."""
    page.fill("#query", "\n".join(['#aaaa:[cat="NP"] & #bbbb:[cat="VP"] & #aaaa .* #bbbb'] * 3) + " cat")
    page.wait_for_selector("#query-marks mark")
    sizes = page.evaluate(
        """["query", "query-marks"].map((id) => { const style = getComputedStyle(document.getElementById(id));
           return [style.fontSize, style.lineHeight, style.fontFamily, style.paddingLeft, style.whiteSpace,
                   document.getElementById(id).getBoundingClientRect().width]; })"""
    )
    assert sizes[0] == sizes[1]


def test_examples_fit_the_treebank(page: Page) -> None:
    page.select_option("#search-treebank", "Sample: Dutch")
    page.get_by_role("button", name="Cross-serial verbs").click()
    page.wait_for_selector(".hit-line")
    assert "#inner" in page.input_value("#query")
    page.select_option("#search-treebank", "Sample: German")
    for construction in ("Extraposition", "Topicalisation", "Scrambling"):
        page.get_by_role("button", name=construction).click()
        shows(page, "#search-status", "hits in")
        assert page.locator(".hit-line").count() > 0
    assert page.get_by_role("button", name="Cross-serial verbs").count() == 0


def test_counts_are_a_chart(page: Page, treebank: Path, tmp_path: Path) -> None:
    search(page, "#n:[NT]")
    page.select_option("#chart-feature", "cat")
    page.click("#chart-form button[type=submit]")
    page.wait_for_selector(".chart")
    expected = Counter(match["#n"].cat for match in matches(treebank, "#n:[NT]"))
    rows = [row.inner_text().split() for row in page.locator(".chart tbody tr").all()]
    assert {label: int(number) for label, number, *_ in rows} == expected
    widths = [bar.bounding_box()["width"] for bar in page.locator(".chart rect").all()]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 100
    with page.expect_download() as download:
        page.click("#chart-save")
    download.value.save_as(tmp_path / "counts.csv")
    table = list(csv.reader(io.StringIO((tmp_path / "counts.csv").read_text("utf-8"))))
    assert table[0] == ["#n.cat", "matches"]
    assert {label: int(number) for label, number in table[1:]} == expected


@pytest.mark.parametrize("output", ["csv", "export"])
def test_downloads(page: Page, treebank: Path, tmp_path: Path, output: str) -> None:
    search(page)
    page.select_option("#search-download-format", output)
    with page.expect_download() as download:
        page.click("#search-download")
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    text = path.read_text("utf-8")
    found = matches(treebank)
    if output == "csv":
        assert [row["#vp.text"] for row in csv.DictReader(io.StringIO(text))] == [match["#vp"].text for match in found]
    else:
        assert [tree.id for tree in parsed(text, "export")] == list(dict.fromkeys(match.tree.id for match in found)) * 3
    shows(page, "#search-download-status", "Downloaded.")


def test_an_opened_file_and_a_parsed_text_are_searched(page: Page, tmp_path: Path) -> None:
    dt.write(TREES[:4], tmp_path / "mine.export")
    page.click("#tab-treebank")
    page.set_input_files("#treebank-file", tmp_path / "mine.export")
    page.wait_for_selector("#treebank-list button")
    page.click("#tab-parse")
    page.fill("#text", "Es kam nichts Interessantes.")
    page.get_by_role("button", name="Parse", exact=True).click()
    page.wait_for_selector("#results svg")
    page.click("#tab-search")
    page.select_option("#search-treebank", label="Opened file: mine.export")
    search(page)
    shows(page, "#search-status", "of 4 trees")
    page.select_option("#search-treebank", label="Parsed text: 1 tree")
    search(page, '#w:[word="nichts"]')
    shows(page, "#search-status", "1 hit in 1 of 1 tree")


def test_a_link_restores_the_search(page: Page) -> None:
    page.wait_for_selector(".example")  # leaving while they are made would end their process
    search(page)
    link = page.url
    assert link.rpartition("#")[2]
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector(".hit-line")
    assert page.input_value("#query") == QUERY
    assert page.get_attribute("#tab-search", "aria-selected") == "true"
    page.wait_for_selector(".example")


def test_everything_works_with_the_keyboard(page: Page) -> None:
    page.focus("#tab-treebank")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".example")  # the examples come by the keyboard, too
    for _ in range(3):  # the link to the API and the theme come first
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.type(QUERY)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".hit-line")
    page.focus(".hit-line >> nth=0")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit-tree svg .bound")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("#search .details h3").inner_text() == "ROOT"


def test_words_are_text_and_never_markup(page: Page) -> None:
    search(page, "#w:[word=/<.*/]")
    shows(page, ".hit-line", "<img/src=x")
    page.click(".hit-line")
    page.wait_for_selector(".hit-tree svg .bound")
    assert page.locator("#search img, #search script").count() == 0
    page.select_option("#chart-feature", "word")
    page.click("#chart-form button[type=submit]")
    shows(page, ".chart", "<img/src=x")
    assert page.locator("#search img").count() == 0


def test_nothing_found_and_nothing_asked(page: Page) -> None:
    page.click("#search-form .primary")
    shows(page, "#search-problem", "Enter a query first")
    page.fill("#query", '[word="Nirgendwo"]')
    page.click("#search-form .primary")
    shows(page, "#search-status", "No hits in 61 trees; there is no word 'Nirgendwo' here")
    assert page.locator("#search-tools").is_hidden()
    page.fill("#query", '#n:[cat="np"] > [lemma="Hund"]')
    page.click("#search-form .primary")
    shows(page, "#search-status", "no constituent is called 'np' here; did you mean 'NP'?; this treebank has no lemmas")


def test_labels_tags_and_functions_of_the_treebank_are_completed(page: Page) -> None:
    def completions() -> list[str]:
        return page.locator("#query-completions li").all_inner_texts()

    page.wait_for_selector(".example")
    page.focus("#query")
    page.keyboard.type('#v:[cat="v')
    assert completions() == ["VP", "VZ"]
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#query", "aria-activedescendant") == "completion-0"
    page.keyboard.press("Enter")
    assert page.input_value("#query") == '#v:[cat="VP"'
    assert page.locator("#query-completions").is_hidden()
    page.keyboard.type("] >o")
    assert "OA" in completions()
    page.get_by_role("option", name="OA", exact=True).click()
    assert page.input_value("#query") == '#v:[cat="VP"] >OA'
    page.keyboard.type(' #n:[pos=("NE"|"n')
    assert set(completions()) > {"NN"}
    page.keyboard.press("Escape")
    assert completions() == []
    page.fill("#query", "")
    page.select_option("#search-treebank", "Sample: Dutch")
    playwright.expect(page.locator("#query-example")).to_contain_text(":[cat=")
    page.focus("#query")
    page.keyboard.type('[cat="s')
    assert {"smain", "ssub"} < set(completions())
    page.fill("#query", page.locator("#query-example").inner_text())
    page.click("#search-form .primary")
    shows(page, "#search-status", "12 trees")  # the labels of the example occur
    assert "no constituent" not in page.locator("#search-status").inner_text()


def test_commas_are_no_gaps_unless_the_box_is_ticked(page: Page, tmp_path: Path) -> None:
    dt.write([dt.Tree.parse("(ROOT (NP (NN 0=A) (NN 2=B)) ($, 1=,))")], tmp_path / "commas.dbr")
    page.click("#tab-treebank")
    page.set_input_files("#treebank-file", tmp_path / "commas.dbr")
    page.wait_for_selector("#treebank-list button")
    page.click("#tab-search")
    page.select_option("#search-treebank", label="Opened file: commas.dbr")
    page.fill("#query", "#n:[NT] & discontinuous(#n)")
    page.click("#search-form .primary")
    shows(page, "#search-status", "No hits in 1 tree")
    page.get_by_role("checkbox", name="count gaps of only punctuation").check()
    page.click("#search-form .primary")
    shows(page, "#search-status", "1 hit in 1 of 1 tree")
    assert "gaps=all" in page.url


@pytest.mark.parametrize("page", [{"color_scheme": "light"}, {"color_scheme": "dark"}, PHONE], indirect=True)
def test_axe_finds_no_violation(page: Page) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text("utf-8"))

    def violations() -> list[Any]:
        found = page.evaluate("axe.run()")["violations"]
        return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found]

    assert violations() == []
    search(page)
    page.locator(".hit-line").first.click()
    page.wait_for_selector(".hit-tree svg .bound")
    page.click("#chart-form button[type=submit]")
    page.wait_for_selector(".chart")
    assert violations() == []
    page.fill("#query", "#x:[cat=NP]")
    page.wait_for_selector("#query-error button")
    assert violations() == []
    page.fill("#query", "")
    page.focus("#query")
    page.keyboard.type('#x:[cat="')
    page.keyboard.press("ArrowDown")
    assert page.locator("#query-completions li").count() > 2
    assert violations() == []


@pytest.mark.parametrize("page", [PHONE], indirect=True)
def test_a_phone(page: Page) -> None:
    search(page)
    page.locator(".hit-line").first.tap()
    page.wait_for_selector(".hit-tree svg .bound")
    page.click("#chart-form button[type=submit]")
    page.wait_for_selector(".chart")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["viewport"]["width"]
    small = page.evaluate(
        """[...document.querySelectorAll("#search button, #search select")].filter((element) =>
             element.offsetHeight && element.offsetHeight < 28).map((element) => element.textContent)"""
    )
    assert small == []
