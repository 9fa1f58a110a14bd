"""The FastAPI application: API routes, pages and error responses."""

import inspect
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.middleware.cors import CORSMiddleware

from discotree import __version__
from discotree.errors import DiscotreeError
from discotree.models.card import Card
from discotree.web import schemas, search, tasks
from discotree.web.annotation.session import AnnotationSession
from discotree.web.endpoints import RETRY_HEADERS, AnnotationEndpoints, Endpoints, problem
from discotree.web.limits import Limits, RequestRefused
from discotree.web.metrics import ID_HEADER, METRICS_TYPE, MetricsMiddleware, ServerMetrics
from discotree.web.security import Access, SecurityMiddleware
from discotree.web.served_treebanks import ServedTreebank
from discotree.web.site import STATIC_FILES, page_files

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

DESCRIPTION = "Discontinuous constituent trees: parse, draw, browse and compare."
ANNOTATION_PAGE = "annotate.html"  # served by discotree annotate only
PAGE_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
ERRORS = {
    400: "The body is not JSON.",
    401: "The key is missing or wrong.",
    403: "The Host or Origin header is not allowed.",
    408: "The body arrives too slowly.",
    413: "The request or its response is too large.",
    415: "The Content-Type is not application/json.",
    422: "The request is invalid or exceeds a limit.",
    503: "The server is busy; retry after the time in Retry-After.",
}
TREE_TYPES = ("image/svg+xml", "text/plain", "application/xml", "application/x-tex")
DOWNLOAD_TYPES = ("text/csv", "text/tab-separated-values", "text/plain", "application/xml")


class TaskRoute(NamedTuple):
    """An API call that runs a task in a worker process. The docstring of the task is the description of the call."""

    path: str
    tag: str
    task: Callable[..., tasks.Reply]
    request: type[BaseModel]
    response: Any
    media_types: tuple[str, ...] = ()  # besides JSON


TASKS = (
    TaskRoute("draw", "trees", tasks.draw, schemas.DrawRequest, Any, TREE_TYPES),
    TaskRoute("convert", "trees", tasks.convert_trees, schemas.ConvertRequest, Any, TREE_TYPES),
    TaskRoute("labels", "trees", tasks.name_labels, schemas.LabelsRequest, dict[str, dict[str, str | None]]),
    TaskRoute("treebank", "treebanks", tasks.filter_treebank, schemas.TreebankRequest, schemas.TreebankResponse),
    TaskRoute("evaluate", "treebanks", tasks.compare_treebanks, schemas.EvaluateRequest, schemas.EvaluateResponse),
    TaskRoute("query", "search", search.check_query, schemas.QueryRequest, schemas.QueryResponse),
    TaskRoute("query-from", "search", search.query_from_nodes, schemas.QueryFromRequest, schemas.QueryFromResponse),
    TaskRoute("examples", "search", search.find_examples, schemas.ExamplesRequest, list[schemas.ExampleQuery]),
    TaskRoute("search", "search", search.find_matches, schemas.SearchRequest, schemas.SearchResponse, DOWNLOAD_TYPES),
    TaskRoute("search/counts", "search", search.count_matches, schemas.CountsRequest, schemas.CountsResponse),
)
LONG_TASKS = (search.find_examples, search.find_matches, search.count_matches)  # may take seconds, whatever the body


def create_app(
    parsers: "Mapping[str, Parser]",
    *,
    limits: Limits | None = None,
    access: Access | None = None,
    cards: Mapping[str, Card] | None = None,
    treebanks: Mapping[str, ServedTreebank] | None = None,
    annotation: AnnotationSession | None = None,
) -> FastAPI:
    """Return the application that serves these parsers by name.

    ``access`` states who may use it, by default pages and programs on this machine. ``cards`` describe the models,
    ``treebanks`` can be searched in addition to the samples, and ``annotation`` is the project to annotate.
    """
    limits, access = limits or Limits(), access or Access()
    endpoints = Endpoints(parsers, limits, cards or {}, treebanks or {})

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        if annotation:
            annotation.close()
        endpoints.close()

    app = FastAPI(
        title="discotree",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,  # FastAPI's documentation pages load scripts from other servers
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.endpoints = endpoints
    metrics = ServerMetrics(endpoints)
    _add_calls(app, endpoints, metrics)
    _add_pages(app)
    if annotation:
        app.state.annotation = AnnotationEndpoints(endpoints, annotation)
        _add_annotation(app, app.state.annotation)
    _describe_requests(app)  # after all routes: a further route makes FastAPI generate the description again
    app.add_exception_handler(RequestRefused, _refused_response)
    app.add_exception_handler(DiscotreeError, _error_response)
    app.add_middleware(  # the last one added is the outermost
        CORSMiddleware,
        allow_origins=sorted(access.origins),
        allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type", "X-API-Key", ID_HEADER],
        expose_headers=[ID_HEADER, search.NEXT_HEADER, "Retry-After"],
    )
    app.add_middleware(SecurityMiddleware, access=access, limits=limits)
    app.add_middleware(MetricsMiddleware, metrics=metrics)
    return app


def _add_calls(app: FastAPI, endpoints: Endpoints, metrics: ServerMetrics) -> None:
    async def show_metrics() -> Response:
        return Response(metrics.text(), media_type=METRICS_TYPE)

    post = partial(app.add_api_route, methods=["POST"], response_class=Response)
    post("/api/parse", endpoints.parse, responses=_responses(schemas.ParseResponse, TREE_TYPES), tags=["trees"])
    post("/api/reparse", endpoints.reparse, responses=_responses(schemas.ReparseResponse, ()), tags=["trees"])
    for route in TASKS:
        responses = _responses(route.response, route.media_types)
        if route.tag == "search":
            responses[422]["model"] = schemas.QueryProblem
        post(
            f"/api/{route.path}",
            endpoints.for_task(route.task, route.task in LONG_TASKS),
            name=route.path.rpartition("/")[2],
            description=inspect.getdoc(route.task),
            responses=responses,
            tags=[route.tag],
        )
    app.add_api_route("/api/treebanks", endpoints.treebanks, tags=["search"])
    app.add_api_route("/api/models", endpoints.models, tags=["server"])
    app.add_api_route("/health", endpoints.health, tags=["server"])
    app.add_api_route("/metrics", show_metrics, include_in_schema=False)


def _responses(model: Any, media_types: tuple[str, ...]) -> dict[int | str, dict[str, Any]]:
    """Describe the responses of a call."""
    errors: dict[int | str, dict[str, Any]] = {
        status: {"model": schemas.Problem, "description": text} for status, text in ERRORS.items()
    }
    return {200: {"model": model, "content": {name: {} for name in media_types}}, **errors}


def _describe_requests(app: FastAPI) -> None:
    """Add the request bodies, which FastAPI does not validate, to the OpenAPI description."""
    requests: dict[str, type[BaseModel]] = {
        "/api/parse": schemas.ParseRequest,
        "/api/reparse": schemas.ReparseRequest,
    }
    requests |= {f"/api/{route.path}": route.request for route in TASKS}
    references, definitions = models_json_schema(
        [(model, "validation") for model in requests.values()], ref_template="#/components/schemas/{model}"
    )
    description = app.openapi()
    for path, model in requests.items():
        description["paths"][path]["post"]["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": references[model, "validation"]}},
        }
    components = description["components"]["schemas"]
    description["components"]["schemas"] = dict(sorted((definitions.get("$defs", {}) | components).items()))


# Errors


async def _refused_response(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefused)
    return problem(error.status, error.message, error.fields, RETRY_HEADERS if error.status == 503 else None)


async def _error_response(_: Request, error: Exception) -> Response:
    return problem(422, str(error))


# Pages


def _add_pages(app: FastAPI) -> None:
    """Add a route for each file of the page. All files are read now, so a request cannot name a path."""
    files = page_files()
    for name in (ANNOTATION_PAGE, *STATIC_FILES):
        files.pop(name)
    for name, content in files.items():
        path = "/" if name == "index.html" else f"/page/{name}"
        _add_file(app, path, content, PAGE_TYPES.get(name[name.rindex(".") :], tasks.JSON))

    async def docs() -> HTMLResponse:
        model, parser = next(iter(app.state.endpoints.parsers.items()))
        own = [text for code, _, text in json.loads(files["examples.json"]) if code == parser.config.language]
        return HTMLResponse(_docs_page(app.openapi(), {"model": model} | ({"text": own[0]} if own else {})))

    app.add_api_route("/docs", docs, include_in_schema=False)


def _add_annotation(app: FastAPI, calls: AnnotationEndpoints) -> None:
    """Add the annotation page and its calls."""
    page = (resources.files(__package__) / "page" / ANNOTATION_PAGE).read_bytes()
    _add_file(app, "/annotate", page, PAGE_TYPES[".html"])
    app.add_api_route("/api/annotate", calls.overview, include_in_schema=False)
    for name in calls.calls:
        app.add_api_route(
            f"/api/annotate/{name}", calls.endpoint(name), methods=["POST"], name=name, include_in_schema=False
        )


def _add_file(app: FastAPI, path: str, content: bytes, media_type: str) -> None:
    async def file() -> Response:
        return Response(content, media_type=media_type)

    app.add_api_route(path, file, include_in_schema=False)


def _docs_page(openapi: dict[str, Any], own: dict[str, str]) -> str:
    """Return the page that describes every API call and lets users try it with a model of this server."""
    calls = "".join(
        _describe_call(openapi, method, path, call, own)
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


def _describe_call(openapi: dict[str, Any], method: str, path: str, call: dict[str, Any], own: dict[str, str]) -> str:
    form = f'<form class="panel" data-path="{escape(path.lstrip("/"))}">'
    fields = ""
    if "requestBody" in call:
        reference = call["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        schema = openapi["components"]["schemas"][reference.rpartition("/")[2]]
        example = {name: own.get(name, value) for name, value in schema["examples"][0].items()}
        text = json.dumps(example, ensure_ascii=False, indent=1)
        rows = "".join(
            f"<tr><td><code>{escape(name)}</code></td><td>{escape(field.get('description', ''))}</td></tr>"
            for name, field in schema["properties"].items()
        )
        fields = f"<table><thead><tr><th>Field</th><th>Meaning</th></tr></thead><tbody>{rows}</tbody></table>"
        form += (
            f'<label>Body <textarea rows="{min(text.count(chr(10)) + 2, 12)}" spellcheck="false">'
            f"{escape(text)}</textarea></label>"
        )
    name = f"{method.upper()} {escape(path)}"
    return (
        f"<section><h2><code>{name}</code></h2><p>{escape(call.get('description', ''))}</p>{fields}{form}"
        f'<button type="submit" class="primary" aria-label="Try {name}">Try it</button>'
        "<output></output></form></section>"
    )
