"""The static files of the web page, the style sheet of its trees, and the page of the API at /docs."""

import json
from functools import partial
from html import escape
from importlib import resources
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

from discotree import __version__
from discotree.drawing.markup import DARK, LIGHT, stylesheet

DESCRIPTION = "Discontinuous constituent trees: parse, draw, browse and compare."
ANNOTATE = "annotate.html"  # served where a project is open
MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def add_pages(app: FastAPI) -> None:
    """Add a route for each file. All files are read now, so no request can name a path."""
    files = {file.name: file.read_bytes() for file in (resources.files(__package__) / "page").iterdir()}
    files.pop(ANNOTATE)
    files["tree.css"] = _tree_style().encode()
    for name, content in files.items():
        media_type = MEDIA_TYPES["." + name.rpartition(".")[2]]
        app.add_api_route(
            "/" if name == "index.html" else f"/page/{name}",
            partial(_file, content, media_type),
            include_in_schema=False,
        )

    async def docs() -> HTMLResponse:
        return HTMLResponse(_api_page(app.openapi(), next(iter(app.state.endpoints.parsers))))

    app.add_api_route("/docs", docs, include_in_schema=False)


def page_file(name: str) -> str:
    """Return the text of a file of the page."""
    return (resources.files(__package__) / "page" / name).read_text("utf-8")


def _tree_style() -> str:
    """Return the style sheet of trees: the theme of the system, unless the page sets ``data-theme``."""
    overrides = [
        f':root[data-theme="{name}"] .discotree{{{";".join(f"--dt-{key}:{value}" for key, value in colors.items())}}}\n'
        for name, colors in (("light", LIGHT._asdict()), ("dark", DARK._asdict()))
    ]
    return stylesheet() + "".join(overrides)


async def _file(content: bytes, media_type: str) -> Response:
    return Response(content, media_type=media_type)


def _api_page(openapi: dict[str, Any], model: str) -> str:
    """Return the page on which every call of the API is described and can be tried out."""
    calls = "".join(
        _call(openapi, method, path, call, model)
        for path, calls in openapi["paths"].items()
        for method, call in calls.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        '<title>discotree API</title><link rel="icon" href="page/icon.svg"><link rel="stylesheet" '
        'href="page/style.css"><script type="module" src="page/docs.js"></script></head><body><main class="plain">'
        f'<h1>discotree {escape(__version__)} API</h1><p>{DESCRIPTION} <a href="./">Back to the page</a></p>{calls}'
        '<p>Every field is described in <a href="openapi.json">openapi.json</a>.</p></main></body></html>'
    )


def _with_model(example: dict[str, Any], model: str) -> dict[str, Any]:
    """Return an example that names a model of this server."""
    return example | {"model": model} if "model" in example else example


def _call(openapi: dict[str, Any], method: str, path: str, call: dict[str, Any], model: str) -> str:
    form = f'<form class="panel" data-path="{escape(path.lstrip("/"))}">'
    fields = ""
    if "requestBody" in call:
        reference = call["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        schema = openapi["components"]["schemas"][reference.rpartition("/")[2]]
        example = json.dumps(_with_model(schema["examples"][0], model), ensure_ascii=False, indent=1)
        rows = "".join(
            f"<tr><td><code>{escape(name)}</code></td><td>{escape(field.get('description', ''))}</td></tr>"
            for name, field in schema["properties"].items()
        )
        fields = f"<table><thead><tr><th>Field</th><th>Meaning</th></tr></thead><tbody>{rows}</tbody></table>"
        form += (
            f'<label>Body <textarea rows="{min(example.count(chr(10)) + 2, 12)}" spellcheck="false">'
            f"{escape(example)}</textarea></label>"
        )
    name = f"{method.upper()} {escape(path)}"
    return (
        f"<section><h2><code>{name}</code></h2><p>{escape(call.get('description', ''))}</p>{fields}{form}"
        f'<button type="submit" class="primary" aria-label="Try {name}">Try it</button>'
        "<output></output></form></section>"
    )
