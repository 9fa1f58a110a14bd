"""Headless Chromium, driven by Playwright, for tests of the web page."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE_MILLISECONDS = 60_000  # as long as the server's own limit: a busy machine may take seconds for a process
Page = Any


@contextmanager
def chromium(playwright: Any) -> Iterator[Any]:
    """Start a browser; ``playwright`` is the module playwright.sync_api."""
    playwright.expect.set_options(timeout=PATIENCE_MILLISECONDS)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def choose(place: Any, menu: str, choice: str) -> None:
    """Open a menu of a page or of a part of it, and choose the item with this accessible name."""
    place.get_by_role("button", name=f"{menu} ▾").first.click()
    place.get_by_role("button", name=choice, exact=True).first.click()


@contextmanager
def opened(browser: Any, server: httpx.Client, name: str, path: str = "/#view=svg", **options: Any) -> Iterator[Page]:
    """Open the page in a window of its own; check that no error occurs and no other server is contacted.

    With the path "/" the page begins with its example.

    With DISCOTREE_SCREENSHOTS=FOLDER, a screenshot of its end is saved there under this name.
    """
    context = browser.new_context(
        base_url=str(server.base_url), **{"viewport": {"width": 1280, "height": 900}} | options
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MILLISECONDS)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if "Content Security Policy" in said.text else None)
    own = (str(server.base_url), "blob:")
    page.on("request", lambda sent: None if sent.url.startswith(own) else problems.append(sent.url))
    page.goto(path)
    page.wait_for_selector("html[data-ready]")
    yield page
    if folder := os.environ.get("DISCOTREE_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
    context.close()
    assert problems == []
