"""Search by example in a real browser: select nodes of a tree, tick what matters, and run the query.

Not part of the default run: ``pytest -m browser``. Set DISCOTREE_SCREENSHOTS=FOLDER to save screenshots there.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.browsing import CHROMIUM, Page, opened
from support.networks import TREES as ALL_TREES

import discotree as dt

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]

TREES = ALL_TREES[1:]  # the first one has a discontinuous VP
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("treebanks") / "small.export"
    dt.write(TREES, path)
    return path


@pytest.fixture
def page(browser: Any, treebank_server: httpx.Client, request: pytest.FixtureRequest, treebank: Path) -> Iterator[Page]:
    """Open the treebank in the Treebank tab, which shows its first tree."""
    with opened(browser, treebank_server, request.node.name, **getattr(request, "param", {})) as page:
        page.click("#tab-treebank")
        page.set_input_files("#treebank-file", treebank)
        page.wait_for_selector("#treebank-tree .node")
        yield page


def shows(page: Page, where: str, what: str) -> None:
    playwright.expect(page.locator(where)).to_contain_text(what)


def total(treebank: Path, query: str) -> str:
    found = list(dt.search(treebank, query))
    return (
        f"{len(found)} hit{'s' * (len(found) != 1)} in {len({match.tree.id for match in found})} of {len(TREES)} trees"
    )


def test_a_query_is_written_counted_and_run(page: Page, treebank: Path) -> None:
    tree = page.locator("#treebank-tree")
    tree.get_by_role("button", name="Find similar").click()
    panel = tree.locator(".by-example")
    assert panel.locator("select").input_value() == "small"
    tree.locator('.node[data-label="VP"] > .label').click()
    query = panel.locator("pre")
    playwright.expect(query).to_have_text('#vp:[cat="VP" & edge="OC"]')
    shows(page, ".by-example .status", total(treebank, '[cat="VP" & edge="OC"]'))
    assert tree.locator(".node.bound .variable").text_content() == "#vp"
    panel.get_by_label("gap").check()
    narrower = '#vp:[cat="VP" & edge="OC"] & discontinuous(#vp)'
    playwright.expect(query).to_have_text(narrower)
    shows(page, ".by-example .status", total(treebank, narrower))
    panel.get_by_label("function").uncheck()
    tree.locator('.word[data-position="0"]').click(modifiers=["Shift"])
    panel.get_by_label("word").check()
    playwright.expect(query).to_contain_text('word="')
    text = query.inner_text()
    shows(page, ".by-example .status", total(treebank, text))
    panel.locator("select").select_option("Sample: German")
    shows(page, ".by-example .status", "of 12 trees")
    panel.locator("select").select_option("small")
    panel.get_by_role("button", name="Edit and search").click()
    page.wait_for_selector(".hit-line")
    assert page.input_value("#query") == text
    assert page.evaluate("document.activeElement.id") == "query"
    shows(page, "#search-status", total(treebank, text))


def test_shift_and_a_click_begin_and_a_second_click_deselects(page: Page) -> None:
    tree = page.locator("#treebank-tree")
    label = tree.locator('.node[data-label="VP"] > .label')
    label.click()
    page.wait_for_selector("#treebank .details h3")  # without Shift: the details, as before
    page.keyboard.press("Escape")
    label.click(modifiers=["Shift"])
    playwright.expect(tree.locator(".by-example pre")).to_contain_text("#vp")
    assert tree.locator('.node[data-label="VP"]').get_attribute("aria-pressed") == "true"
    assert not page.locator("#treebank .details").is_visible()
    label.click()
    playwright.expect(tree.locator(".by-example pre")).to_be_hidden()
    assert tree.locator(".bound").count() == 0
    tree.get_by_role("button", name="Edit", exact=True).click()
    playwright.expect(tree.locator(".by-example")).to_have_count(0)
    assert tree.get_by_role("button", name="Find similar").is_hidden()


def test_everything_works_with_the_keyboard(page: Page) -> None:
    button = page.locator("#treebank-tree").get_by_role("button", name="Find similar")
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".by-example")
    page.focus("#treebank-tree .word[data-position='2']")
    page.keyboard.press("Enter")
    playwright.expect(page.locator(".by-example pre")).to_contain_text("pos=")
    page.focus("#treebank-tree .node[data-label='VP']")
    page.keyboard.press("Space")
    playwright.expect(page.locator(".by-example pre")).to_contain_text('cat="VP"')
    assert page.evaluate("document.activeElement.dataset.label") == "VP"  # the focus stays in the tree
    page.get_by_role("checkbox", name="order").focus()
    page.keyboard.press("Space")
    playwright.expect(page.locator(".by-example pre")).to_contain_text(".*")
    page.keyboard.press("Escape")
    playwright.expect(page.locator(".by-example")).to_have_count(0)
    assert page.evaluate("document.activeElement.textContent") == "Find similar"


def test_a_parsed_text_is_an_example_and_can_be_searched(page: Page) -> None:
    page.click("#tab-parse")
    page.fill("#text", "Es kam nichts Interessantes.")
    page.get_by_role("button", name="Parse", exact=True).click()
    page.locator("#results .word").first.click(modifiers=["Shift"])
    panel = page.locator("#results .by-example")
    panel.get_by_label("label").uncheck()
    panel.get_by_label("function").uncheck()
    panel.get_by_label("word").check()
    playwright.expect(panel.locator("pre")).to_have_text('#w:[word="Es"]')
    panel.locator("select").select_option(label="Parsed text: 1 tree")
    playwright.expect(panel.locator(".status")).to_have_text("1 hit in 1 of 1 tree")
    panel.get_by_role("button", name="Edit and search").click()
    shows(page, "#search-status", "1 hit in 1 of 1 tree")
    assert page.input_value("#query") == '#w:[word="Es"]'


def test_a_hit_keeps_its_colours_after_a_search_by_example(page: Page) -> None:
    page.click("#tab-search")
    page.fill("#query", '#found:[cat="VP"]')
    page.click("#search-form .primary")
    page.locator(".hit-line").first.click()
    hit = page.locator(".hit-tree").first
    hit.get_by_role("button", name="Find similar").click()
    hit.locator('.word[data-position="0"]').click()
    playwright.expect(hit.locator(".bound .variable")).to_have_count(1)
    playwright.expect(hit.locator(".word.bound")).to_have_count(1)
    hit.get_by_role("button", name="Find similar").click()
    playwright.expect(hit.locator(".bound .variable")).to_have_text("#found")


@pytest.mark.parametrize("page", [{"color_scheme": "light"}, {"color_scheme": "dark"}, PHONE], indirect=True)
def test_axe_finds_no_violation(page: Page) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text("utf-8"))
    tree = page.locator("#treebank-tree")
    tree.get_by_role("button", name="Find similar").click()
    tree.locator('.node[data-label="VP"] > .label').click()
    shows(page, ".by-example .status", "hits in")
    found = page.evaluate("axe.run()")["violations"]
    assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
