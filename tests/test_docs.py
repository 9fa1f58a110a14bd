"""README and docs work: every block of code runs, the site builds, no link is dead."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest
from run_notebook import run
from support.models import saved_model
from support.pages import PAGES, ROOT, Block, blocks, check_command, matches, options_of, prose, run_command, run_python
from support.servers import serving

import discotree.drawing
import discotree.text
from discotree import read, write
from discotree.config.recipes import load_recipe
from discotree.parsing.parser import Parser
from discotree.web.limits import Limits
from discotree.web.security import Access
from discotree.web.server import load_app

DOCS = ROOT / "docs"
LANGUAGES = {"python", "console", "sh", "toml", "text", "js"}
ELSEWHERE = re.compile(r"^(\w+:)?//")
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}


@pytest.fixture(scope="module", autouse=True)
def load_once() -> Iterator[None]:
    """Read a model that several pages load from the disk once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parser, "from_pretrained", staticmethod(cache(Parser.from_pretrained)))
        yield


@pytest.fixture
def folder(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's folder: the page's files, and files of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCOTREE_DATA", str(tmp_path))
    for name in ("tests", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    for file in page.parent.iterdir():
        if page.is_relative_to(DOCS) and file.is_file() and file.suffix != ".md":
            (tmp_path / file.name).symlink_to(file)
    (tmp_path / "corpus.txt").write_text("Zij heeft het boek gelezen. Niemand weet waarom.\n", "utf-8")
    trees = list(read(ROOT / "tests" / "data" / "small.dbr"))
    for name in ("gold.export", "a.export", "predicted.dbr", "ours.dbr", "theirs.dbr"):
        write(trees, tmp_path / name)
    treebank = tmp_path / "Alpino" / "Treebank" / "cdb"
    treebank.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "data" / "alpino_one.xml", treebank / "1.xml")
    return tmp_path


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with an untrained model."""
    model = saved_model(tmp_path_factory.mktemp("models") / "nl", language="nl")
    with serving(load_app([str(model)], "cpu", "", Access(), Limits())) as client:
        yield f"{client.base_url.host}:{client.base_url.port}"


def test_the_notebook_runs_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads((DOCS / "notebook.ipynb").read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    cells = list(run(notebook))
    assert len(cells) == 10
    for cell, outputs in cells:
        assert list(map(_shown, outputs)) == list(map(_shown, cell["outputs"])), "".join(cell["source"])
    assert any("image/svg+xml" in output.get("data", ()) for _, outputs in cells for output in outputs)
    assert (tmp_path / "tree.svg").exists()


def _shown(output: dict[str, Any]) -> str:
    """The text of an output; how wide the columns of a table are depends on pandas."""
    return " ".join("".join(output.get("text") or output["data"]["text/plain"]).split())


def _param(page: Path) -> Any:
    takes_seconds = page.name in ("export.md", "spacy.md", "study.md", "web.md")
    return pytest.param(page, id=str(page.relative_to(ROOT)), marks=[pytest.mark.slow] if takes_seconds else [])


@pytest.mark.parametrize("page", [_param(page) for page in PAGES])
def test_every_block_runs(page: Path, folder: Path, request: pytest.FixtureRequest) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{block.address}: how is {block.language} run?"
        assert block.excuse or block.language != "js", f"{block.address}: JavaScript is not run here"
        if block.excuse:
            _check(block)
        elif block.language == "python":
            printed = run_python(block, namespace)
        elif block.language in ("text", "toml") and block.title:
            file = folder / block.title
            if file.exists():
                assert file.read_text("utf-8") == block.code, f"{block.address}: the file differs"
            else:
                file.write_text(block.code, "utf-8")
        elif block.language == "text":
            assert printed, f"{block.address}: nothing was printed"
            assert matches(block.code, printed), f"{block.address}:\n{printed}"
            printed = ""
        elif block.language == "toml":
            (folder / "mine.toml").write_text(block.code, "utf-8")
            load_recipe(folder / "mine.toml")
        else:
            _run(block, lambda: str(request.getfixturevalue("address")))


def _check(block: Block) -> None:
    if block.language == "python":
        compile(block.code, block.address, "exec")
    elif block.language in ("console", "sh"):
        for command, _ in block.commands():
            check_command(command)


def _run(block: Block, address: Callable[[], str]) -> None:
    for command, expected in block.commands():
        if "curl " in command:
            if not (shutil.which("curl") and shutil.which("jq")):
                continue
            command = command.replace("curl ", "curl --fail-with-body -sS ").replace("localhost:8000", address())
        out, err = run_command(command)
        if expected.strip():
            assert any(matches(expected, said) for said in (out, out + err)), f"{block.address}: {command}\n{out}{err}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_the_text_exist(page: Path) -> None:
    for said in re.findall(r"`(discotree [a-z][^`]*)`", prose(page)):
        _, name, *words = said.split()
        for word in words:
            if word.startswith("--"):
                assert word.rstrip(",…").partition("=")[0] in options_of(name), f"{page.name}: {said}"


def test_there_is_no_code_beside_the_blocks() -> None:
    """Indented text, or a fence without a language, would be shown as code but not run."""
    for page in PAGES:
        assert not re.search(r"\n\n {4,}\S|```|<!-- not run", prose(page)), page.name


def test_what_is_made_is_up_to_date() -> None:
    """Pictures and references are what tools/make_docs.py makes today; a network's numbers may be off by one."""
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "tools" / "make_docs.py")
    assert spec
    assert spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    for path, text in tool.made():
        kept = (DOCS / path).read_text("utf-8")
        hint = f"{path} is out of date: python tools/make_docs.py"
        assert re.split(r"\d+", kept) == re.split(r"\d+", text), hint
        numbers = [[int(digits) for digits in re.findall(r"\d+", version)] for version in (kept, text)]
        assert all(abs(a - b) <= path.endswith("scores.svg") for a, b in zip(*numbers, strict=True)), hint


def test_the_reference_is_complete() -> None:
    """Every public name has a place there, and every format is described."""
    reference = "".join(page.read_text("utf-8") for page in (DOCS / "reference").glob("*.md"))
    for name in {*discotree.__all__, *discotree.drawing.__all__, *discotree.text.__all__} - {"__version__"}:
        assert re.search(rf"\b{name}\b", reference), name
    formats = (DOCS / "treebanks.md").read_text("utf-8")
    for name in discotree.FORMATS:
        assert f"`{name}`" in formats, name


def test_modules_of_the_explanation_exist() -> None:
    """Every arrow of docs/how names the modules that it runs through."""
    rows = re.findall(r"^\| .+ → .+ \| \[.+\]\(.+\) \| (.+) \|$", (DOCS / "how" / "index.md").read_text("utf-8"), re.M)
    assert len(rows) == 8
    for name in re.findall(r"`([^`]+)`", " ".join(rows)):
        path = ROOT / "src" / "discotree" / name
        assert path.is_dir() if name.endswith("/") else path.with_suffix(".py").is_file(), name


def test_links_of_the_top_level_pages_lead_somewhere() -> None:
    for page in ROOT.glob("*.md"):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
            assert ELSEWHERE.match(target) or (page.parent / target).exists(), f"{page.name}: {target}"


class Page(HTMLParser):
    """The links of a page, what a browser fetches for it, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if FETCHED.get(tag, "") in given and given.get("rel") not in ("canonical", "next", "prev"):
            self.fetched.append(given[FETCHED[tag]])


PARSER_PAGE = "try/index.html"  # made by discotree page; the workflow that publishes the site puts it there


@pytest.mark.slow
def test_the_site_builds_and_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) >= len(PAGES) - 1
    for path, page in pages.items():
        for target in page.fetched:
            assert not ELSEWHERE.match(target), f"{path.name} fetches {target}"
        for target in page.links + page.fetched:
            if re.match(r"^(\w+:|//)", target) or target == PARSER_PAGE:
                continue
            name, place = urldefrag(unquote(target))
            there = (path.parent / name).resolve() if name else path
            assert there.exists(), f"{path.name}: {target}"
            assert not place or there not in pages or place in pages[there].anchors, f"{path.name}: {target}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", style.read_text("utf-8")), style.name
