"""The static files of the web page, the style sheet of its trees, and the list of API calls at /docs."""

from functools import partial
from html import escape
from importlib import resources
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

from discotree import __version__
from discotree.drawing.markup import DARK, LIGHT, stylesheet

DESCRIPTION = "Discontinuous constituent trees: parse, draw, browse and compare."
MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def add_pages(app: FastAPI) -> None:
    """Add a route for each file. All files are read now, so no request can name a path."""
    files = {file.name: file.read_bytes() for file in (resources.files(__package__) / "page").iterdir()}
    files["tree.css"] = _tree_style().encode()
    for name, content in files.items():
        media_type = MEDIA_TYPES["." + name.rpartition(".")[2]]
        app.add_api_route(
            "/" if name == "index.html" else f"/page/{name}",
            partial(_file, content, media_type),
            include_in_schema=False,
        )

    async def docs() -> HTMLResponse:
        return HTMLResponse(_api_listing(app.openapi()))

    app.add_api_route("/docs", docs, include_in_schema=False)


def _tree_style() -> str:
    """Return the style sheet of trees: the theme of the system, unless the page sets ``data-theme``."""
    overrides = [
        f':root[data-theme="{name}"] .discotree{{{";".join(f"--dt-{key}:{value}" for key, value in colors.items())}}}\n'
        for name, colors in (("light", LIGHT._asdict()), ("dark", DARK._asdict()))
    ]
    return stylesheet() + "".join(overrides)


async def _file(content: bytes, media_type: str) -> Response:
    return Response(content, media_type=media_type)


def _api_listing(openapi: dict[str, Any]) -> str:
    """Return the calls of the API as a plain HTML page."""
    rows = "".join(
        f"<tr><td><code>{method.upper()} {escape(path)}</code></td><td>{escape(call.get('description', ''))}</td></tr>"
        for path, calls in openapi["paths"].items()
        for method, call in calls.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        '<title>discotree API</title><link rel="icon" href="/page/icon.svg"><link rel="stylesheet" '
        'href="/page/style.css"></head><body><main class="plain">'
        f'<h1>discotree {escape(__version__)} API</h1><p>{DESCRIPTION} <a href="/">Back to the page</a></p>'
        f"<table><thead><tr><th>Call</th><th>What it does</th></tr></thead><tbody>{rows}</tbody></table>"
        '<p>Every field is described in <a href="/openapi.json">openapi.json</a>.</p></main></body></html>'
    )
