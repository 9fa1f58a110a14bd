"""The calls of the API that search treebanks, and their routes."""

import json
from collections.abc import Callable
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel

from discotree.integrations.web import search_tasks
from discotree.integrations.web.endpoints import Endpoints
from discotree.integrations.web.rendering import media_type
from discotree.integrations.web.search_schemas import (
    CountsRequest,
    CountsResponse,
    ExampleQuery,
    ExamplesRequest,
    QueryProblem,
    QueryRequest,
    QueryResponse,
    SearchRequest,
    SearchResponse,
    TreebankInfo,
)

MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
}
NEXT_HEADER = "X-Discotree-Next"  # in a download: where the other matches begin
DOWNLOADS: dict[str, Any] = {"text/csv": {}, "text/tab-separated-values": {}, "text/plain": {}, "application/xml": {}}
SEARCH_REQUESTS: dict[str, type[BaseModel]] = {
    "/api/query": QueryRequest,
    "/api/examples": ExamplesRequest,
    "/api/search": SearchRequest,
    "/api/search/counts": CountsRequest,
}


class SearchEndpoints:
    """A method for each call. Searches wait for their turn with large jobs: drawings pass them."""

    def __init__(self, endpoints: Endpoints) -> None:
        self.endpoints = endpoints
        self.workers = endpoints.workers

    async def treebanks(self) -> list[TreebankInfo]:
        """List the treebanks that can be searched by name."""
        return [
            TreebankInfo(name=name, trees=treebank.trees, is_sample=bool(treebank.sample))
            for name, treebank in self.endpoints.setup.treebanks.items()
        ]

    async def query(self, request: Request) -> Response:
        """Check a query and return its variables. The response to a wrong one says which character is wrong."""
        return await self.endpoints.serve(request, self._query)

    async def _query(self, body: bytes, client: str) -> Response:
        return _json(await self.workers.run(client, search_tasks.check_query, body))

    async def examples(self, request: Request) -> Response:
        """Return queries for constructions that are found in a treebank."""
        return await self.endpoints.serve(request, self._examples)

    async def _examples(self, body: bytes, client: str) -> Response:
        return _json(await self.workers.run(client, search_tasks.find_examples, body, is_long=True))

    async def search(self, request: Request) -> Response:
        """Search a treebank. The response is JSON, a concordance, a table, or the trees in a treebank format.

        A response may hold fewer matches than asked for, even none, when its time is spent: go on at next.
        """
        return await self.endpoints.serve(request, self._search)

    async def _search(self, body: bytes, client: str) -> Response:
        content, output, cursor = await self.workers.run(client, search_tasks.search_treebank, body, is_long=True)
        headers = {NEXT_HEADER: json.dumps(cursor)} if cursor and output != "json" else None
        return Response(content, media_type=MEDIA_TYPES.get(output) or media_type(output), headers=headers)

    async def counts(self, request: Request) -> Response:
        """Count matches, by features of variables if asked for. Go on at next until there is none, and add up."""
        return await self.endpoints.serve(request, self._counts)

    async def _counts(self, body: bytes, client: str) -> Response:
        return _json(await self.workers.run(client, search_tasks.count_matches, body, is_long=True))


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")


def add_search_routes(
    post: Callable[..., None],
    add_route: Callable[..., None],
    endpoints: Endpoints,
    responses: Callable[..., dict[int | str, dict[str, Any]]],
) -> None:
    """Add the routes; ``responses`` describes what a call returns."""
    search = SearchEndpoints(endpoints)
    wrong = {422: {"model": QueryProblem, "description": "The request or its query is invalid, or exceeds a limit."}}
    add_route("/api/treebanks", search.treebanks, response_model=list[TreebankInfo], tags=["search"])
    for path, call, model in (
        ("/api/query", search.query, QueryResponse),
        ("/api/examples", search.examples, list[ExampleQuery]),
        ("/api/search", search.search, SearchResponse),
        ("/api/search/counts", search.counts, CountsResponse),
    ):
        others = DOWNLOADS if model is SearchResponse else {}
        post(path, call, responses=responses(model, **others) | wrong, tags=["search"])
