"""The annotation page in a real browser, before a real server that is killed: ``pytest -m browser``.

Set DISCOTREE_SCREENSHOTS=FOLDER to save screenshots there.
"""

import os
import shutil
import signal
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

    def invite(self, name: str) -> str:
        """Return the link of an annotator."""
        command = [sys.executable, "-m", "discotree", "annotate", "in.txt", "--invite", name, "--port", str(self.port)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

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
    """Open the page of a server; the address may be the link of an invitation."""
    address, path, token = url.partition("/annotate")
    with (
        httpx.Client(base_url=address) as client,
        opened(browser, client, name, path + token, **options) as page,
    ):
        yield page
        page.wait_for_selector("#editor svg:visible, #nothing:visible")


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
        page.wait_for_selector("#editor svg:visible, #nothing:visible")
    server.kill()
    project = Project.open(str(work / "in.txt.annotation.jsonl"))
    assert {name: n for name, n in project.counts().items() if n} == {
        "open": 2,
        "accepted": 1,
        "corrected": 2,
        "skipped": 1,
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
        bob.locator("#list button").nth(0).hover()
        with bob.expect_response("**/api/annotate/rows") as rows:  # the list is refreshed while the button is down
            bob.mouse.down()
        rows.value.finished()
        bob.evaluate("new Promise(requestAnimationFrame)")
        bob.mouse.up()
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


def accept(page: Page) -> int:
    """Accept the tree of the open sentence; return the number of the sentence once it is saved."""
    number = int(facts(page).split()[0])
    page.keyboard.press("Enter")
    says(page, "#saved", f"Accepted: sentence {number}.")
    return number


def test_adjudication_with_keys(browser: Any, server: Server, work: Path) -> None:
    links = {name: server.invite(name) for name in ("Ann", "Bob", "Eve")}
    server.start("--double", "1")
    with (
        annotating(browser, links["Ann"]) as ann,
        annotating(browser, links["Bob"]) as bob,
        annotating(browser, links["Eve"], "adjudicate") as eve,
    ):
        assert ann.url.endswith("/annotate")  # the token does not stay in the address
        assert bob.input_value("#who") == "Bob"
        assert not bob.locator("#who").is_editable()
        assert [facts(page)[0] for page in (ann, bob, eve)] == ["1", "1", "2"]
        rename_root_child(ann, "ANN")
        ann.keyboard.press("Control+Enter")
        says(ann, "#saved", "Correction saved: sentence 1")
        bob.locator("#list button").first.click()  # gets the sentence again
        says(bob, "#sentence-facts", "open")
        assert bob.locator("#list .state").first.inner_text() == "open"
        assert "ANN" not in bob.locator("main").inner_text()
        bob.locator("#save").focus()
        rename_root_child(bob, "BOB")
        bob.keyboard.press("End")
        bob.keyboard.press("t")
        bob.keyboard.press("Control+a")
        bob.keyboard.type("XY")
        bob.keyboard.press("Enter")
        bob.keyboard.press("Control+Enter")
        says(bob, "#saved", "Correction saved: sentence 1")
        bob.keyboard.press("u")  # there is nothing to undo any more
        says(bob, "#sentence-text", "3 ")  # Ann and Eve have the second one
        eve.reload()
        eve.get_by_role("button", name="Adjudicate (1)").click()
        says(eve, "#sentence-facts", "to adjudicate · annotated by Ann and Bob")
        says(eve, "#adjudication .status", "2 differences, 2 undecided.")
        playwright.expect(eve.locator(".pair svg")).to_have_count(2)
        assert eve.locator(".pair .sign").count() == 4
        eve.keyboard.press("Enter")
        says(eve, "#problem", "Choose a side for every difference first.")
        eve.keyboard.press("ArrowRight")  # the root of Bob
        says(eve, "#adjudication .status", "2 differences, 1 undecided.")
        eve.keyboard.press("ArrowLeft")  # the tag of Ann
        says(eve, "#adjudication .status", "all decided.")
        says(eve, "#editor", "BOB")
        eve.keyboard.press("Enter")
        says(eve, "#saved", "Adjudicated: sentence 1.")
        says(eve, "#nothing", "No sentence is waiting for adjudication.")
        says(eve, "#progress-text", "1 adjudicated")
        eve.keyboard.press("u")
        says(eve, "#sentence-facts", "to adjudicate")
        eve.keyboard.press("Shift+ArrowLeft")
        says(eve, "#editor", "ANN")
        eve.keyboard.press("Shift+ArrowRight")
        eve.keyboard.press("ArrowUp")
        eve.keyboard.press("ArrowUp")
        eve.keyboard.press("ArrowLeft")  # the tree of Bob, but the root of Ann
        eve.keyboard.press("Enter")
        says(eve, "#saved", "Adjudicated: sentence 1.")
        eve.locator("#adjudicate").click()
        says(eve, "#sentence-facts", "open")
    server.kill()
    project = Project.open(str(work / "in.txt.annotation.jsonl"))
    detail = project.detail(1)
    assert (detail["status"], detail["history"][-1]["who"]) == ("adjudicated", "Eve")
    assert [one["tree"]["constituents"][0]["label"] for one in detail["annotations"]] == ["ANN", "BOB"]
    assert (detail["tree"]["constituents"][0]["label"], detail["tree"]["tokens"][-1]["tag"]) == ("ANN", "XY")
    assert [tree.to_dict() for tree in project.accepted_trees()] == [detail["tree"]]
    project.close()


def kill_browser(browser: Any) -> None:
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    os.kill(next(process["id"] for process in processes if process["type"] == "browser"), signal.SIGKILL)


def saved_steps(work: Path) -> set[tuple[str, int]]:
    project = Project.open(str(work / "in.txt.annotation.jsonl"), read_only=True)
    entries = [project.step_entry(step) for step in range(1, len(project.step_offsets) + 1)]
    project.close()
    return {(entry["who"], entry["sentence"]) for entry in entries}


def test_two_annotators_at_once_and_one_browser_is_killed(browser: Any, server: Server, work: Path) -> None:
    links = {name: server.invite(name) for name in ("Ann", "Bob")}
    server.start("--double", "1")
    confirmed: set[tuple[str, int]] = set()
    other = browser.browser_type.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
    with annotating(browser, links["Ann"]) as ann:
        bob = other.new_context().new_page()
        bob.goto(links["Bob"])
        bob.wait_for_selector("#editor svg")
        for _ in range(2):
            confirmed |= {("Ann", accept(ann)), ("Bob", accept(bob))}
        bob.evaluate("document.getElementById('save').click()")  # nobody waits for the answer
        kill_browser(other)
        while ann.locator("#sentence").is_visible():
            confirmed.add(("Ann", accept(ann)))
            ann.wait_for_function("document.querySelector('#editor svg, #nothing:not([hidden])')")
        assert {number for who, number in confirmed if who == "Ann"} == {1, 2, 3, 4, 5, 6}
        with annotating(browser, links["Bob"]) as again:
            states = again.locator("#list .state").all_inner_texts()
            assert states[:2] == ["accepted", "accepted"]
            confirmed.add(("Bob", accept(again)))
    assert confirmed <= saved_steps(work)
    assert len(saved_steps(work)) <= len(confirmed) + 1  # the step that was sent last may have been saved


def test_two_annotators_at_once_and_the_server_is_killed(browser: Any, server: Server, work: Path) -> None:
    links = {name: server.invite(name) for name in ("Ann", "Bob")}
    url = server.start("--double", "0.5")
    confirmed: set[tuple[str, int]] = set()
    with annotating(browser, links["Ann"]) as ann, annotating(browser, links["Bob"]) as bob:
        confirmed |= {("Ann", accept(ann)), ("Bob", accept(bob))}
        rename_root_child(bob, "KEPT")
        ann.evaluate("document.getElementById('save').click()")
        server.kill()
        for page in (ann, bob):
            page.keyboard.press("Control+Enter")
            says(page, "#problem", "The server is not responding")
        assert confirmed <= saved_steps(work)
        assert server.start() == url  # the share of double sentences is in the journal
        number = int(facts(bob).split()[0])
        bob.keyboard.press("Control+Enter")
        says(bob, "#saved", f"Correction saved: sentence {number}.")
        confirmed |= {("Bob", number)}
        ann.reload()
        ann.wait_for_selector("#editor svg")
        confirmed.add(("Ann", accept(ann)))
    server.kill()
    assert confirmed <= saved_steps(work)
    project = Project.open(str(work / "in.txt.annotation.jsonl"))
    assert "KEPT" in [tree.root.label for tree in project.accepted_trees("Bob")]
    assert project.double == 0.5
    project.close()


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
