"""The application: routes, errors, and the files of the page."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response

from discotree import __version__
from discotree.drawing.markup import DARK, LIGHT, stylesheet
from discotree.errors import DiscotreeError
from discotree.integrations.web.guard import LOOPBACK, Guard
from discotree.integrations.web.limits import Limits, Refused
from discotree.integrations.web.schemas import (
    EvaluateResponse,
    Health,
    ModelInfo,
    ParseResponse,
    Problem,
    TreebankResponse,
)
from discotree.integrations.web.service import Service
from discotree.models.finding import Card

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

DESCRIPTION = "Discontinuous constituent trees: parse, draw, browse and compare."
LONGEST_MESSAGE = 500
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": why}
    for status, why in {
        400: "The body is no JSON.",
        403: "Called by a foreign name, or by a foreign page.",
        413: "Too large.",
        422: "It makes no sense, or is beyond a limit.",
        503: "Too busy: Retry-After says when to ask again.",
    }.items()
}
PICTURE_OR_TEXT: dict[str, Any] = {
    "image/svg+xml": {},
    "text/plain": {},
    "application/xml": {},
    "application/x-tex": {},
}


def create_app(
    parsers: "Mapping[str, Parser]",
    *,
    limits: Limits | None = None,
    batching: bool = True,
    hosts: frozenset[str] | None = LOOPBACK,
    cards: Mapping[str, Card] | None = None,
) -> FastAPI:
    """The application that serves these models, by name; ``hosts`` as the guard wants them, ``cards`` where known."""
    limits = limits or Limits()
    service = Service(parsers, limits, batching, cards or {})

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="discotree",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,  # FastAPI's own pages fetch scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.service = service
    _add_calls(app, service)
    _add_page(app)
    app.add_middleware(Guard, hosts=hosts, body=limits.body)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(DiscotreeError, _senseless)
    app.add_exception_handler(RequestValidationError, _invalid)
    return app


def _add_calls(app: FastAPI, service: Service) -> None:
    def answers(model: Any, **others: Any) -> dict[int | str, dict[str, Any]]:
        return {200: {"model": model, "content": others}, **PROBLEMS}

    post = partial(app.add_api_route, methods=["POST"], response_class=Response)
    post("/api/parse", service.parse, responses=answers(ParseResponse, **PICTURE_OR_TEXT), tags=["trees"])
    post("/api/draw", service.draw, responses=answers(Any, **PICTURE_OR_TEXT), tags=["trees"])
    post("/api/treebank", service.treebank, responses=answers(TreebankResponse), tags=["treebanks"])
    post("/api/evaluate", service.evaluate, responses=answers(EvaluateResponse), tags=["treebanks"])
    app.add_api_route("/api/models", service.models, response_model=list[ModelInfo], tags=["server"])
    app.add_api_route("/health", service.health, response_model=Health, tags=["server"])


def _add_page(app: FastAPI) -> None:
    """Exactly these files can be read, and they are read now: no request names a path."""
    files = {file.name: file.read_bytes() for file in (resources.files(__package__) / "page").iterdir()}
    files["tree.css"] = _tree_style().encode()
    for name, content in files.items():
        kind = TYPES["." + name.rpartition(".")[2]]
        app.add_api_route(
            "/" if name == "index.html" else f"/page/{name}",
            partial(_file, content, kind),
            include_in_schema=False,
        )

    async def docs() -> HTMLResponse:
        return HTMLResponse(_listing(app.openapi()))

    app.add_api_route("/docs", docs, include_in_schema=False)


def _tree_style() -> str:
    """How trees look: as the reader's system wants it, or as the page was told (``data-theme``)."""
    chosen = [
        f':root[data-theme="{name}"] .discotree{{{";".join(f"--dt-{key}:{value}" for key, value in colors.items())}}}\n'
        for name, colors in (("light", LIGHT._asdict()), ("dark", DARK._asdict()))
    ]
    return stylesheet() + "".join(chosen)


async def _file(content: bytes, kind: str) -> Response:
    return Response(content, media_type=kind)


def _listing(description: dict[str, Any]) -> str:
    """The API as a plain page."""
    rows = "".join(
        f"<tr><td><code>{method.upper()} {escape(path)}</code></td><td>{escape(call.get('description', ''))}</td></tr>"
        for path, calls in description["paths"].items()
        for method, call in calls.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        '<title>discotree: API</title><link rel="icon" href="/page/icon.svg"><link rel="stylesheet" '
        'href="/page/style.css"></head><body><main class="plain">'
        f'<h1>discotree {escape(__version__)}: the API</h1><p>{DESCRIPTION} <a href="/">To the page</a></p>'
        f"<table><thead><tr><th>call</th><th>what it does</th></tr></thead><tbody>{rows}</tbody></table>"
        '<p>All of it, with every field: <a href="/openapi.json">openapi.json</a></p></main></body></html>'
    )


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    headers = {"Retry-After": str(error.retry)} if error.retry else None
    return _problem(error.status, error.message, headers)


async def _senseless(_: Request, error: Exception) -> Response:
    return _problem(422, str(error))


async def _invalid(_: Request, error: Exception) -> Response:
    """Where the mistake is, without the input: that may be long, or nothing that can be written."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    is_json = first["type"] != "json_invalid"
    return _problem(422 if is_json else 400, f"{place}: {first['msg']}" if place and is_json else str(first["msg"]))


def _problem(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    said = message.encode(errors="replace").decode()
    if len(said) > LONGEST_MESSAGE:
        said = f"{said[:LONGEST_MESSAGE]} …"
    return JSONResponse({"detail": said}, status, headers)
