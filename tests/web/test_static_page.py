"""The page without a server, in a real browser: ``pytest -m browser``. It needs ``npm ci`` in js/."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.browsing import CHROMIUM, PATIENCE_MILLISECONDS, Page, choose
from support.static_hosts import StaticHost, hosting

import discotree as dt
from discotree.drawing import draw_svg
from discotree.errors import DiscotreeError
from discotree.text import recognition
from discotree.web.site import build_site, find_runtime, recognition_tables

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]

MODELS = ("nl", "de", "en")
EVERYDAY = Path(__file__).parents[2] / "benchmarks" / "everyday"
MAX_FIRST_VISIT = 20_000_000  # bytes
SENTENCES = {
    "nl": "Dat boek heb ik gisteren in de trein helemaal uitgelezen.",
    "de": "Den Brief, den sie gestern geschrieben hat, habe ich noch nicht gelesen.",
    "en": "Which book did you read on the train yesterday?",
}
PHONE = {"width": 390, "height": 844}
CONTROLLED = """new Promise((resolve) => {
  navigator.serviceWorker.addEventListener("controllerchange", resolve);
  if (navigator.serviceWorker.controller) resolve();
}).then(() => true)"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static") / "site"
    try:
        find_runtime()
        for name in MODELS:
            dt.load(name)
    except DiscotreeError as error:
        pytest.skip(str(error))
    build_site(MODELS, str(folder))
    return folder


@pytest.fixture
def host(site: Path) -> Iterator[StaticHost]:
    with hosting(site) as host:
        yield host


@contextmanager
def visiting(browser: Any, host: StaticHost, link: str = "", name: str = "", **options: Any) -> Iterator[Page]:
    """Open the page in a window of its own; check that no error occurs and only its own host is asked."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "locale": "nl-NL"} | options)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MILLISECONDS)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if "Content Security Policy" in said.text else None)
    own = (host.url, "blob:")
    context.on("request", lambda sent: None if sent.url.startswith(own) else problems.append(sent.url))
    page.goto(f"{host.url}{link}")
    page.wait_for_selector("html[data-ready]")
    yield page
    if folder := os.environ.get("DISCOTREE_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")
    context.close()
    assert problems == []


@pytest.fixture
def page(browser: Any, host: StaticHost, request: pytest.FixtureRequest) -> Iterator[Page]:
    with visiting(browser, host, name=request.node.name, **getattr(request, "param", {})) as page:
        yield page


def wait_until_loaded(page: Page) -> None:
    """Wait until the model has been downloaded."""
    playwright.expect(page.locator("#loading")).to_be_hidden()


def parse(page: Page, text: str) -> None:
    page.fill("#text", text)
    page.get_by_role("button", name="Parse", exact=True).click()
    playwright.expect(page.locator("#results h2").first).to_contain_text(text.split()[0])
    playwright.expect(page.locator("#parse-status")).to_contain_text(" in ")


def downloaded(page: Page, name: str) -> bytes:
    with page.expect_download() as found:
        choose(page.locator("#results"), "Download", f"Download as {name}")
    return Path(found.value.path()).read_bytes()


# The visitor


def test_the_first_visit_shows_a_tree_at_once_and_loads_at_most_20_megabytes(page: Page, host: StaticHost) -> None:
    assert page.locator("#results .node").count() > 3
    assert page.locator("#text").input_value() == "Die film heb ik nog nooit gezien."
    assert "parsed when this page was made" in page.locator("#parse-status").inner_text()
    wait_until_loaded(page)
    parse(page, SENTENCES["nl"])
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    assert 5_000_000 < host.bytes < MAX_FIRST_VISIT
    assert all(path.startswith("/") and ".." not in path for path, _ in host.responses)


@pytest.mark.parametrize("language", MODELS)
def test_trees_are_those_of_python(page: Page, language: str) -> None:
    tree = dt.load(language, engine="onnx-float32")(SENTENCES[language])
    parse(page, SENTENCES[language])
    page.check("input[value=brackets]", force=True)
    assert page.locator("#results pre").inner_text() == str(tree)
    assert f"model={language}" not in page.url  # the language was recognised


def test_examples_are_shown_by_language_and_phenomenon(page: Page) -> None:
    page.select_option("#gallery select", "en")
    page.click("#gallery button >> nth=1")
    playwright.expect(page.locator("#results h2")).to_contain_text("It is possible")
    wait_until_loaded(page)
    page.click("#gallery button >> nth=0")
    playwright.expect(page.locator("#results h2")).to_contain_text("What did you buy")
    assert "English" in page.locator("#model-facts").inner_text()


def test_languages_are_recognised_as_in_python(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    languages = {code: recognition.frequent_words()[code] for code in ("de", "de-early", "fro", "nl")}
    monkeypatch.setattr(recognition, "frequent_words", lambda: languages)
    texts = [" ".join(tree.words) for name in ("de", "nl") for tree in dt.read(EVERYDAY / f"{name}.discbracket")]
    texts += ["Er ist gut.", "vnd sie sprachen alle zu jm", "la reine dist au roy", "", "Dat."]
    code = """async ([texts, tables]) => {
      const { recognise } = await import("./page/backend.js");
      return texts.map((text) => recognise(text, tables));
    }"""
    found = page.evaluate(code, [texts, recognition_tables(languages)])
    assert found == [recognition.recognise(text).language for text in texts]
    assert {"de", "nl", "de-early", "fro", ""} == set(found)


def test_a_text_is_parsed_while_it_is_typed(page: Page) -> None:
    page.fill("#text", "")
    page.locator("#text").press_sequentially("Die heb ik gezien.")
    playwright.expect(page.locator("#results h2")).to_have_text("1 Die heb ik gezien .")
    assert page.evaluate("document.activeElement.id") == "text"


def test_a_long_text_is_parsed(page: Page) -> None:
    parse(page, "Dat heb ik gezien. " * 60)
    assert page.locator("article").count() == 10
    assert page.locator("#parse-status").inner_text().startswith("60 sentences")


def test_nothing_is_requested_after_loading(page: Page, host: StaticHost) -> None:
    wait_until_loaded(page)
    parse(page, SENTENCES["nl"])
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.wait_for_load_state("networkidle")
    host.responses.clear()
    parse(page, "Daar heb ik nooit van gehoord.")
    page.click("#results .node .target >> nth=1")
    downloaded(page, "SVG")
    downloaded(page, "Export")
    assert host.responses == []


def test_the_second_visit_works_offline(browser: Any, host: StaticHost) -> None:
    with visiting(browser, host) as page:
        wait_until_loaded(page)
        parse(page, SENTENCES["nl"])
        page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        page.context.set_offline(True)
        host.responses.clear()
        page.goto(f"{host.url}#view=svg")
        page.reload()
        page.wait_for_selector("html[data-ready]")
        parse(page, "Daar heb ik nooit van gehoord.")
        assert page.locator("#results .node").count() > 1
        page.locator("#results .edit").click()  # loads the editor
        page.wait_for_selector(".canvas .node")
        assert host.responses == []


def test_a_new_release_is_picked_up(browser: Any, site: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    shutil.copytree(site, folder)
    with hosting(folder) as host, visiting(browser, host) as page:
        page.evaluate(CONTROLLED)  # or the first worker may be taken for the new one
        index, worker = folder / "index.html", folder / "service-worker.js"
        index.write_text(index.read_text("utf-8").replace("<title>discotree", "<title>new"), "utf-8")
        worker.write_text(re.sub('VERSION = "[0-9a-f]+"', 'VERSION = "new"', worker.read_text("utf-8")), "utf-8")
        page.evaluate(
            """navigator.serviceWorker.getRegistration().then(async (registration) => {
                 const { serviceWorker } = navigator;
                 const changed = new Promise((resolve) => serviceWorker.addEventListener("controllerchange", resolve));
                 await registration.update();
                 await changed;
               })"""
        )
        page.reload()
        assert page.title() == "new"


def test_a_model_that_cannot_be_loaded_is_reported(browser: Any, host: StaticHost) -> None:
    host.missing = ("models/nl/",)
    with visiting(browser, host) as page:
        assert page.locator("#results .node").count() > 3  # the stored tree
        page.fill("#text", SENTENCES["nl"])
        page.get_by_role("button", name="Parse", exact=True).click()
        playwright.expect(page.locator("#parse-problem")).to_contain_text("models/nl")
        host.missing = ()
        parse(page, SENTENCES["nl"])  # another attempt


# The teacher


def test_a_link_carries_the_sentence(browser: Any, host: StaticHost) -> None:
    with visiting(browser, host, "#text=Daar+heb+ik+nooit+van+gehoord.&model=nl") as page:
        playwright.expect(page.locator("#results h2")).to_have_text("1 Daar heb ik nooit van gehoord .")
        page.click("#copy-link")
        assert "text=Daar+heb" in page.evaluate("navigator.clipboard.readText()")


@pytest.mark.parametrize("page", [{"viewport": PHONE, "has_touch": True, "is_mobile": True}], indirect=True)
def test_a_phone(page: Page) -> None:
    wait_until_loaded(page)
    parse(page, SENTENCES["nl"])
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.locator("#results .node .target").nth(1).tap()
    assert page.locator("#parse .details").bounding_box()["width"] == PHONE["width"]
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Full screen").tap()
    assert page.locator("dialog.full-screen svg").is_visible()
    page.get_by_role("button", name="Close full screen").tap()


# The linguist


def test_a_tree_is_corrected_and_downloaded(page: Page) -> None:
    wait_until_loaded(page)
    parse(page, SENTENCES["nl"])
    record = json.loads(downloaded(page, "JSON"))
    tree = dt.Tree.from_dict(record)
    assert downloaded(page, "SVG").decode() == draw_svg(tree)
    assert downloaded(page, "PNG").startswith(b"\x89PNG")
    page.locator("#results .edit").click()
    page.locator(".canvas .node .target").nth(1).click()
    page.keyboard.press("l")
    page.keyboard.type("XP")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Done").click()
    assert "edited" in page.locator("figcaption").inner_text()
    changed = dt.Tree.from_dict(json.loads(downloaded(page, "JSON")))
    assert [node.label for node in changed][1] == "XP"
    assert len(list(changed)) == len(list(tree))
    assert "XP" in downloaded(page, "Export").decode()
    assert downloaded(page, "discbracket").decode().strip() == str(changed)


def test_what_needs_python_is_hidden_and_named(page: Page) -> None:
    for name in ("Treebank", "Search", "Compare"):
        assert page.get_by_role("tab", name=name).count() == 0
    assert page.locator("#decode").is_hidden()
    assert page.get_by_role("button", name="Edit").count() > 0
    assert page.get_by_role("button", name="Find similar").count() == 0
    page.get_by_role("button", name="Download ▾").click()
    choices = page.locator(".menu:popover-open button").all_inner_texts()
    assert choices == ["SVG", "PNG", "Export", "JSON", "discbracket"]
    assert "discotree serve" in page.locator("#parse").inner_text()


@pytest.mark.parametrize("page", [{"color_scheme": scheme} for scheme in ("light", "dark")], indirect=True)
def test_axe_finds_no_violation(page: Page) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    script = (Path(axe.__file__).parent / "axe.min.js").read_text("utf-8")
    wait_until_loaded(page)
    parse(page, SENTENCES["nl"])
    page.evaluate(script)
    found = page.evaluate("axe.run()")["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []
    page.locator("#results .edit").click()
    page.wait_for_selector(".canvas .node")
    found = page.evaluate("axe.run()")["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []
