"""The FastAPI application: routes and error responses."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.middleware.cors import CORSMiddleware

from discotree import __version__
from discotree.errors import DiscotreeError
from discotree.integrations.web.assets import DESCRIPTION, add_pages
from discotree.integrations.web.conversion import ConvertRequest
from discotree.integrations.web.endpoints import Endpoints
from discotree.integrations.web.limits import Limits, RequestRefused
from discotree.integrations.web.observing import ID_HEADER, METRICS_TYPE, ObservingMiddleware, ServerMetrics
from discotree.integrations.web.schemas import (
    DrawRequest,
    EvaluateRequest,
    EvaluateResponse,
    Health,
    ModelInfo,
    ParseRequest,
    ParseResponse,
    Problem,
    TreebankRequest,
    TreebankResponse,
)
from discotree.integrations.web.search_endpoints import NEXT_HEADER, SEARCH_REQUESTS, add_search_routes
from discotree.integrations.web.security import Access, SecurityMiddleware
from discotree.integrations.web.served_treebanks import ServedTreebank
from discotree.models.card import Card

if TYPE_CHECKING:
    from discotree.integrations.annotation.service import AnnotationService
    from discotree.parsing.parser import Parser

MAX_DETAIL_CHARACTERS = 500
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        400: "The body is not JSON.",
        401: "The key is missing or wrong.",
        403: "The Host or Origin header is foreign.",
        408: "The body arrives too slowly.",
        413: "The request or its response is too large.",
        415: "The body is not declared as JSON.",
        422: "The request is invalid or exceeds a limit.",
        503: "The server is busy; retry after the time in Retry-After.",
    }.items()
}
TEXT_RESPONSES: dict[str, Any] = {
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
    access: Access | None = None,
    cards: Mapping[str, Card] | None = None,
    treebanks: Mapping[str, ServedTreebank] | None = None,
    annotation: "AnnotationService | None" = None,
) -> FastAPI:
    """Return the application that serves these parsers by name.

    ``access`` says who may use it, by default pages and programs on this machine; ``cards`` describe the models;
    ``treebanks`` can be searched, beside the samples; ``annotation`` is a project to annotate.
    """
    limits, access = limits or Limits(), access or Access()
    endpoints = Endpoints(parsers, limits, batching, cards or {}, treebanks or {})

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
        docs_url=None,  # FastAPI's own pages load scripts from other servers
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.endpoints = endpoints
    metrics = ServerMetrics(endpoints)
    _add_routes(app, endpoints, metrics)
    add_pages(app)
    if annotation:
        from discotree.integrations.web.annotation import add_annotation

        add_annotation(app, endpoints, annotation)
    _describe_requests(app)  # once all routes are there: a new one makes FastAPI describe everything again
    app.add_exception_handler(RequestRefused, _refused_response)
    app.add_exception_handler(DiscotreeError, _error_response)
    app.add_middleware(  # the last one added is the outermost
        CORSMiddleware,
        allow_origins=sorted(access.origins),
        allow_methods=["GET", "POST"],
        allow_headers=["Authorization", "Content-Type", "X-API-Key", ID_HEADER],
        expose_headers=[ID_HEADER, NEXT_HEADER, "Retry-After"],
    )
    app.add_middleware(SecurityMiddleware, access=access, limits=limits)
    app.add_middleware(ObservingMiddleware, metrics=metrics)
    return app


REQUESTS: dict[str, type[BaseModel]] = {
    "/api/parse": ParseRequest,
    "/api/draw": DrawRequest,
    "/api/convert": ConvertRequest,
    "/api/treebank": TreebankRequest,
    "/api/evaluate": EvaluateRequest,
    **SEARCH_REQUESTS,
}


def _add_routes(app: FastAPI, endpoints: Endpoints, metrics: ServerMetrics) -> None:
    def responses(model: Any, **others: Any) -> dict[int | str, dict[str, Any]]:
        return {200: {"model": model, "content": others}, **ERROR_RESPONSES}

    async def show_metrics() -> Response:
        return Response(metrics.text(), media_type=METRICS_TYPE)

    post = partial(app.add_api_route, methods=["POST"], response_class=Response)
    post("/api/parse", endpoints.parse, responses=responses(ParseResponse, **TEXT_RESPONSES), tags=["trees"])
    post("/api/draw", endpoints.draw, responses=responses(Any, **TEXT_RESPONSES), tags=["trees"])
    post("/api/convert", endpoints.convert, responses=responses(Any, **TEXT_RESPONSES), tags=["trees"])
    post("/api/treebank", endpoints.treebank, responses=responses(TreebankResponse), tags=["treebanks"])
    post("/api/evaluate", endpoints.evaluate, responses=responses(EvaluateResponse), tags=["treebanks"])
    add_search_routes(post, app.add_api_route, endpoints, responses)
    app.add_api_route("/api/models", endpoints.models, response_model=list[ModelInfo], tags=["server"])
    app.add_api_route("/health", endpoints.health, response_model=Health, tags=["server"])
    app.add_api_route("/metrics", show_metrics, include_in_schema=False)


def _describe_requests(app: FastAPI) -> None:
    """Add the bodies of requests to the OpenAPI description: they are validated by us, not by FastAPI."""
    references, definitions = models_json_schema(
        [(model, "validation") for model in REQUESTS.values()], ref_template="#/components/schemas/{model}"
    )
    description = app.openapi()
    for path, model in REQUESTS.items():
        description["paths"][path]["post"]["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": references[model, "validation"]}},
        }
    schemas = description["components"]["schemas"]
    description["components"]["schemas"] = dict(sorted((definitions.get("$defs", {}) | schemas).items()))


async def _refused_response(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefused)
    headers = {"Retry-After": str(error.retry_seconds)} if error.retry_seconds else None
    return _problem(error.status, error.message, headers, error.fields)


async def _error_response(_: Request, error: Exception) -> Response:
    return _problem(422, str(error))


def _problem(
    status: int, message: str, headers: dict[str, str] | None = None, fields: Mapping[str, object] | None = None
) -> Response:
    detail = message.encode(errors="replace").decode()
    if len(detail) > MAX_DETAIL_CHARACTERS:
        detail = f"{detail[:MAX_DETAIL_CHARACTERS]} …"
    return JSONResponse({"detail": detail, **(fields or {})}, status, headers)
