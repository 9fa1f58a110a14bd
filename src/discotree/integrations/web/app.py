"""The FastAPI application: routes and error responses."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response

from discotree import __version__
from discotree.errors import DiscotreeError
from discotree.integrations.web.assets import DESCRIPTION, add_pages
from discotree.integrations.web.endpoints import Endpoints
from discotree.integrations.web.limits import Limits, RequestRefused
from discotree.integrations.web.schemas import (
    EvaluateResponse,
    Health,
    ModelInfo,
    ParseResponse,
    Problem,
    TreebankResponse,
)
from discotree.integrations.web.security import LOOPBACK_HOSTS, SecurityMiddleware
from discotree.models.card import Card

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

MAX_DETAIL_CHARACTERS = 500
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        400: "The body is not JSON.",
        403: "The Host or Origin header is foreign.",
        413: "The request or its response is too large.",
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
    hosts: frozenset[str] | None = LOOPBACK_HOSTS,
    cards: Mapping[str, Card] | None = None,
) -> FastAPI:
    """Return the application that serves these parsers by name.

    ``hosts`` are the names in the Host header that it answers to, None for all; ``cards`` describe the models.
    """
    limits = limits or Limits()
    endpoints = Endpoints(parsers, limits, batching, cards or {})

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
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
    _add_routes(app, endpoints)
    add_pages(app)
    app.add_middleware(SecurityMiddleware, hosts=hosts, max_body_bytes=limits.body_bytes)
    app.add_exception_handler(RequestRefused, _refused_response)
    app.add_exception_handler(DiscotreeError, _error_response)
    app.add_exception_handler(RequestValidationError, _invalid_response)
    return app


def _add_routes(app: FastAPI, endpoints: Endpoints) -> None:
    def responses(model: Any, **others: Any) -> dict[int | str, dict[str, Any]]:
        return {200: {"model": model, "content": others}, **ERROR_RESPONSES}

    post = partial(app.add_api_route, methods=["POST"], response_class=Response)
    post("/api/parse", endpoints.parse, responses=responses(ParseResponse, **TEXT_RESPONSES), tags=["trees"])
    post("/api/draw", endpoints.draw, responses=responses(Any, **TEXT_RESPONSES), tags=["trees"])
    post("/api/treebank", endpoints.treebank, responses=responses(TreebankResponse), tags=["treebanks"])
    post("/api/evaluate", endpoints.evaluate, responses=responses(EvaluateResponse), tags=["treebanks"])
    app.add_api_route("/api/models", endpoints.models, response_model=list[ModelInfo], tags=["server"])
    app.add_api_route("/health", endpoints.health, response_model=Health, tags=["server"])


async def _refused_response(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefused)
    headers = {"Retry-After": str(error.retry_seconds)} if error.retry_seconds else None
    return _problem(error.status, error.message, headers)


async def _error_response(_: Request, error: Exception) -> Response:
    return _problem(422, str(error))


async def _invalid_response(_: Request, error: Exception) -> Response:
    """Name the wrong field, but do not repeat its value: that may be long, or not encodable."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _problem(400, str(first["msg"]))
    field = ".".join(str(step) for step in first["loc"][1:])
    return _problem(422, f"{field}: {first['msg']}" if field else str(first["msg"]))


def _problem(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    detail = message.encode(errors="replace").decode()
    if len(detail) > MAX_DETAIL_CHARACTERS:
        detail = f"{detail[:MAX_DETAIL_CHARACTERS]} …"
    return JSONResponse({"detail": detail}, status, headers)
