"""The calls of the annotation page. They exist only where a project is open: ``discotree annotate``."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from discotree.errors import TreebankError
from discotree.integrations.annotation.lines import AnnotationStep, ConflictError
from discotree.integrations.annotation.service import AnnotationService
from discotree.integrations.web import tasks
from discotree.integrations.web.annotation_schemas import (
    EarlierRequest,
    FinishedRequest,
    NextRequest,
    OpenRequest,
    RowsRequest,
    StepRequest,
)
from discotree.integrations.web.assets import ANNOTATE, page_file
from discotree.integrations.web.endpoints import Endpoints
from discotree.integrations.web.limits import RequestRefused
from discotree.integrations.web.validation import validate
from discotree.treebanks.json_lines import json_line

STORAGE_FULL = 507


class AnnotationEndpoints:
    """A method for each call."""

    def __init__(self, endpoints: Endpoints, service: AnnotationService) -> None:
        self.endpoints = endpoints
        self.service = service

    async def overview(self) -> Response:
        """Return how far the annotation is, the scores of models so far, and the labels to choose from."""
        return await self.endpoints.threads.run(self._json, self.service.overview)

    async def call(self, name: str, request: Request) -> Response:
        """Read the body of a request and answer it in a thread."""
        work = getattr(self, f"_{name}")
        limit = 2 * self.endpoints.limits.tree_bytes

        async def answer(body: bytes, _client: str) -> Response:
            if len(body) > limit:
                raise RequestRefused(413, f"the request is too large: at most {limit:,} bytes")
            return await self.endpoints.threads.run(self._answer, work, body)

        return await self.endpoints.serve(request, answer)

    def _answer(self, work: Any, body: bytes) -> Response:
        try:
            response: Response = work(body)
        except TreebankError as error:  # the disk, not the request
            raise RequestRefused(STORAGE_FULL, str(error)) from None
        return response

    def _json(self, work: Any) -> Response:
        return Response(json_line(work()), media_type="application/json")

    def _open(self, body: bytes) -> Response:
        asked = validate(OpenRequest, body)
        return self._json(lambda: self.service.open(asked.sentence, asked.session, asked.who))

    def _next(self, body: bytes) -> Response:
        asked = validate(NextRequest, body)
        found = self.service.next(asked.session, asked.who, asked.order, asked.after, asked.passed)
        return self._json(lambda: found or {"sentence": None})

    def _step(self, body: bytes) -> Response:
        if body.count(b"{") > (maximum := self._max_objects()):  # cheaper than reading them
            raise RequestRefused(422, f"the request has too many values: at most {maximum:,} objects")
        asked = validate(StepRequest, body)
        if asked.tree is not None and asked.action not in ("accept", "correct", "skip"):
            raise RequestRefused(422, f"{asked.action} takes no tree")
        if asked.tree is None and asked.action == "correct":
            raise RequestRefused(422, "correct needs the tree")
        record = None
        if asked.tree is not None:
            tasks.tree_of(self.endpoints.setup, asked.tree)  # refuses what is no tree, or too large
            record = asked.tree.model_dump(exclude_none=True)
        step = AnnotationStep(asked.sentence, asked.action, asked.who, asked.version, record, asked.text)
        try:
            return self._json(lambda: self.service.step(step, asked.session))
        except ConflictError as error:
            current = self.service.project.detail(asked.sentence)
            return JSONResponse({"detail": str(error), "current": current}, 409)

    def _earlier(self, body: bytes) -> Response:
        asked = validate(EarlierRequest, body)
        return self._json(lambda: {"tree": self.service.project.earlier_tree(asked.step)})

    def _max_objects(self) -> int:
        limits = self.endpoints.limits
        return 2 * (limits.sentence_words + limits.tree_constituents + limits.tree_edges)

    def _rows(self, body: bytes) -> Response:
        asked = validate(RowsRequest, body)
        return self._json(lambda: self.service.rows(asked.order, asked.status, asked.offset, asked.limit))

    def _trees(self, body: bytes) -> Response:
        asked = validate(FinishedRequest, body)
        content, maximum = bytearray(), self.endpoints.limits.response_bytes
        try:
            for piece in self.service.trees(asked.format or "export"):
                content += piece
                if len(content) > maximum:
                    message = f"more than {maximum:,} bytes: write the trees with discotree annotate --export"
                    raise RequestRefused(413, message)
        except TreebankError as error:
            raise RequestRefused(422, f"not in this format: {error}") from None
        return Response(bytes(content), media_type="text/plain")


def add_annotation(app: FastAPI, endpoints: Endpoints, service: AnnotationService) -> None:
    """Add the page and its calls to an application."""
    calls = app.state.annotation = AnnotationEndpoints(endpoints, service)
    page = page_file(ANNOTATE)

    async def show_page() -> HTMLResponse:
        return HTMLResponse(page)

    app.add_api_route("/annotate", show_page, include_in_schema=False)
    app.add_api_route("/api/annotate", calls.overview, include_in_schema=False)
    for name in ("open", "next", "step", "earlier", "rows", "trees"):
        app.add_api_route(f"/api/annotate/{name}", _endpoint(calls, name), methods=["POST"], include_in_schema=False)


def _endpoint(calls: AnnotationEndpoints, name: str) -> Any:
    async def endpoint(request: Request) -> Response:
        return await calls.call(name, request)

    return endpoint
