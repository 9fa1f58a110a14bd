"""Models, parsers, servers and browsers for the tests of the web server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.browsing import Page, chromium, opened
from support.models import CARD, saved_model, with_card
from support.networks import TREES
from support.servers import serving
from support.web import LIMITS

import discotree as dt
from discotree.web import Limits, create_app
from discotree.web.security import Access
from discotree.web.served_treebanks import open_treebanks
from discotree.web.server import load_app


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save three models: one with a card, one that needs tags, one without a language."""
    folder = tmp_path_factory.mktemp("models")
    with_card(saved_model(folder / "xx"), CARD)
    saved_model(folder / "tags", tags="gold")
    saved_model(folder / "mute", language="")
    return folder


@pytest.fixture(scope="session")
def parsers(folder: Path) -> dict[str, dt.Parser]:
    return {name: dt.load(str(folder / name), "cpu") for name in ("xx", "tags", "mute")}


@pytest.fixture(scope="session")
def client(folder: Path) -> Iterator[httpx.Client]:
    names = [str(folder / name) for name in ("xx", "tags", "mute")]
    dt.write(TREES, folder / "small.export")
    treebanks = open_treebanks([str(folder / "small.export")], str(folder / "indexes"))
    with serving(load_app(names, "cpu", "", Access(), LIMITS, treebanks)) as client:
        yield client


@pytest.fixture(scope="session")
def small(parsers: dict[str, dt.Parser]) -> Iterator[httpx.Client]:
    """A server with low limits that accepts any Host."""
    limits = Limits(body_bytes=4000, treebank_trees=3, sentence_words=9)
    with serving(create_app({"xx": parsers["xx"]}, limits=limits, access=Access(hosts=None))) as client:
        yield client


# For tests of the page, which may have a server of their own


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server with one German model."""
    folder = with_card(saved_model(tmp_path_factory.mktemp("models") / "de"), CARD | {"name": "de"})
    with serving(load_app([str(folder)], "cpu", "", Access(), Limits())) as client:
        yield client


@pytest.fixture(scope="module")
def treebank_server(tmp_path_factory: pytest.TempPathFactory, treebank: Path) -> Iterator[httpx.Client]:
    """A server with one German model and a treebank, which the tests define."""
    model = saved_model(tmp_path_factory.mktemp("models") / "de")
    treebanks = open_treebanks([str(treebank)], str(treebank.parent / "indexes"))
    with serving(load_app([str(model)], "cpu", "", Access(), Limits(), treebanks)) as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(pytest.importorskip("playwright.sync_api")) as browser:
        yield browser


@pytest.fixture
def page(browser: Any, server: httpx.Client, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Open the page in a window of its own; check that no error occurs and no other server is contacted."""
    with opened(browser, server, request.node.name, **getattr(request, "param", {})) as page:
        yield page
