"""The annotation page in a real browser, before a real server that is killed: ``pytest -m browser``.

Set DISCOTREE_SCREENSHOTS=FOLDER to save screenshots there.
"""

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.browsing import CHROMIUM, Page, opened
from support.models import saved_model
from support.networks import TREES

import discotree as dt
from discotree.web.annotation.project import Project

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    saved_model(tmp_path / "model")
    shutil.copytree(tmp_path / "model", tmp_path / "better")
    with (tmp_path / "better" / "config.json").open("a") as file:
        file.write("\n")  # another model, to the byte
    (tmp_path / "in.txt").write_text("".join(" ".join(tree.words) + "\n" for tree in TREES[:6]))
    dt.write(TREES[6:12], tmp_path / "gold.export")
    return tmp_path


class Server:
    """discotree annotate on one port, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.process: subprocess.Popen[str] | None = None

    def start(self, *more: str) -> str:
        command = [sys.executable, "-m", "discotree", "annotate", "in.txt", "--from", "tokens", "-m", "model"]
        options = ["--order", "given", "--annotator", "Ann", "--port", str(self.port), "-o", "trees.export", *more]
        self.process = subprocess.Popen([*command, *options], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


@pytest.fixture
def server(work: Path) -> Iterator[Server]:
    server = Server(work)
    yield server
    server.kill()


@contextmanager
def annotating(browser: Any, url: str, name: str = "annotate", **options: Any) -> Iterator[Page]:
    """Open the page of a server."""
    with (
        httpx.Client(base_url=url.removesuffix("/annotate")) as client,
        opened(browser, client, name, "/annotate", **options) as page,
    ):
        yield page
        page.wait_for_selector("#editor svg")


def says(page: Page, where: str, what: str) -> None:
    playwright.expect(page.locator(where)).to_contain_text(what)


def facts(page: Page) -> str:
    return str(page.locator("#sentence-text").inner_text())


def rename_root_child(page: Page, label: str) -> None:
    """Go into the editor with the keyboard, choose the first constituent below the root, and give it a label."""
    page.keyboard.press("e")
    page.wait_for_selector("#editor .canvas:focus")
    page.wait_for_selector("#editor svg")
    page.keyboard.press("l")
    page.keyboard.press("Control+a")
    page.keyboard.type(label)
    page.keyboard.press("Enter")
    says(page, "#save", "Save correction")


def test_with_the_keyboard_through_a_kill_and_back(browser: Any, server: Server, work: Path) -> None:
    url = server.start()
    with annotating(browser, url, "annotate-light", color_scheme="light") as page:
        assert facts(page).startswith("1 Es kam")
        page.keyboard.press("Enter")  # accept
        says(page, "#saved", "Accepted: sentence 1")
        says(page, "#sentence-text", "Den Hund")
        rename_root_child(page, "NEW")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")  # the focus is on the button again
        says(page, "#saved", "Correction saved: sentence 2")
        page.keyboard.press("c")
        page.keyboard.type("odd one")
        page.keyboard.press("Control+Enter")
        says(page, "#comments", "odd one")
        page.keyboard.press("s")
        says(page, "#saved", "Skipped: sentence 3")
        page.keyboard.press("Enter")
        says(page, "#saved", "Accepted: sentence 4")
        page.keyboard.press("u")  # undo
        says(page, "#saved", "Undone: sentence 4")
        says(page, "#sentence-facts", "open")
        rename_root_child(page, "LOST")
        server.kill()
        page.keyboard.press("Control+Enter")
        says(page, "#problem", "The server is not responding")
        assert page.locator("#save").inner_text() == "Save correction"  # what was edited is still there
        assert server.start() == url
        page.keyboard.press("Control+Enter")
        says(page, "#saved", "Correction saved: sentence 4")
        page.reload()
        page.wait_for_selector("html[data-ready]")
        states = page.locator("#list .state").all_inner_texts()
        assert states == ["accepted", "corrected", "skipped, 1 comment", "corrected", "open", "open"]
        says(page, "#progress-text", "3 of 6 finished · 2 corrected · 1 skipped")
        page.locator("#list button").nth(1).click()
        says(page, "#sentence-facts", "corrected")
        says(page, "#history", "Ann corrected")
        page.wait_for_selector("#editor svg")
    server.kill()
    project = Project.open(str(work / "in.txt.annotation.jsonl"))
    assert {name: n for name, n in project.counts().items() if n} == {
        "open": 2,
        "accepted": 1,
        "corrected": 2,
        "skipped": 1,
        "commented": 1,
    }
    labels = {number: project.detail(number)["tree"]["constituents"][0]["label"] for number in (2, 4)}
    assert labels == {2: "NEW", 4: "LOST"}
    project.close()


def test_a_comment_stays_with_its_sentence(browser: Any, server: Server) -> None:
    """What was typed is saved with the decision, and never moves on to the next sentence."""
    with annotating(browser, server.start()) as page:
        page.fill("#comment", "<b>odd</b>")
        page.locator("#save").click()
        says(page, "#saved", "Accepted: sentence 1")
        assert page.input_value("#comment") == ""
        page.fill("#comment", "never sent")
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.locator("#next").click()
        assert facts(page).startswith("2 ")
        assert page.input_value("#comment") == "never sent"
        page.once("dialog", lambda dialog: dialog.accept())
        page.locator("#next").click()
        says(page, "#sentence-text", "3 ")
        assert page.input_value("#comment") == ""
        page.locator("#list button").nth(0).click()
        says(page, "#comments", "<b>odd</b>")


def test_two_annotators_and_a_conflict(browser: Any, server: Server) -> None:
    url = server.start()
    with annotating(browser, url) as ann, annotating(browser, url) as bob:
        bob.fill("#who", "Bob")
        assert facts(ann).startswith("1 ")
        assert facts(bob).startswith("2 ")  # the first one is open elsewhere
        bob.locator("#list button").nth(0).click()
        says(bob, "#saved", "Ann has this sentence open, too")
        bob.locator("#save").focus()
        rename_root_child(bob, "BOB")
        bob.keyboard.press("Control+Enter")
        says(bob, "#saved", "Correction saved: sentence 1")
        ann.locator("#save").focus()
        rename_root_child(ann, "ANN")
        ann.keyboard.press("Control+Enter")
        says(ann, "#conflict", "Bob has changed sentence 1 in the meantime")
        ann.get_by_role("button", name="Save mine instead").click()
        says(ann, "#saved", "Correction saved: sentence 1")
        ann.locator("#list button").nth(0).click()
        says(ann, "#history", "Bob corrected")
        says(ann, "#history", "Ann corrected")
        ann.locator("#sentence .history summary").click()
        ann.get_by_role("button", name="Take the tree of step 1").click()
        says(ann, "#save", "Save correction")
        says(ann, "#editor", "BOB")
        ann.keyboard.press("Control+Enter")
        says(ann, "#saved", "Correction saved: sentence 1")


def test_scores_of_models_are_shown(browser: Any, server: Server) -> None:
    with annotating(browser, server.start("--held-out", "gold.export")) as page:
        page.keyboard.press("Enter")
        says(page, "#saved", "Accepted: sentence 1")
        says(page, "#scores-table", "6 sentences of gold.export")
    server.kill()
    with annotating(
        browser, server.start("--held-out", "gold.export", "-m", "better"), "annotate-dark", color_scheme="dark"
    ) as page:
        playwright.expect(page.locator("#scores-table tbody tr")).to_have_count(2)
        assert page.locator("#scores-table tbody th").all_inner_texts() == [server.folder.name, "better"]
        assert page.locator("#scores-table tbody tr >> nth=1").inner_text().split()[1] == "1"
        assert page.locator("#scores-chart svg").is_visible()


def test_it_fits_a_phone_and_works_by_touch(browser: Any, server: Server) -> None:
    url = server.start()
    with annotating(browser, url, "annotate-phone", viewport=PHONE, has_touch=True) as page:
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE["width"]
        page.locator("#save").tap()
        says(page, "#saved", "Accepted: sentence 1")
        page.locator("#skip").tap()
        says(page, "#saved", "Skipped: sentence 2")
        page.locator("#undo").tap()
        says(page, "#saved", "Undone: sentence 2")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(browser: Any, server: Server, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    script = (Path(axe.__file__).parent / "axe.min.js").read_text("utf-8")
    url = server.start("--held-out", "gold.export")
    context = browser.new_context(viewport=WIDE, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("#editor svg")
    page.evaluate(script)
    found = page.evaluate("axe.run()")["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found] == []
    context.close()
