"""The calls of the API, one method each."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from fastapi import Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from discotree import __version__
from discotree.errors import ConfigError
from discotree.integrations.web import tasks
from discotree.integrations.web.batching import Batcher
from discotree.integrations.web.conversion import convert_trees
from discotree.integrations.web.limits import Limits, RequestRefused
from discotree.integrations.web.parse_input import ModelTraits
from discotree.integrations.web.rendering import media_type
from discotree.integrations.web.schemas import Health, Inventory, ModelInfo, Quality
from discotree.integrations.web.served_treebanks import ServedTreebank, samples
from discotree.integrations.web.thread_pool import BoundedPool
from discotree.integrations.web.worker_pool import WorkerPool
from discotree.models.card import Card
from discotree.models.choice import Choice
from discotree.parsing.resilient import ParseOptions

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

CLIENT = "discotree.client"  # key in the scope of a request: whom it counts for
QUEUED_TEXTS = 1000


class Endpoints:
    """The served models, and a method for each call."""

    def __init__(
        self,
        parsers: "Mapping[str, Parser]",
        limits: Limits,
        batching: bool,
        cards: Mapping[str, Card],
        treebanks: Mapping[str, ServedTreebank],
    ) -> None:
        if not parsers:
            raise ConfigError("a server needs at least one model")
        self.parsers = parsers
        self.limits = limits
        self.cards = cards
        self.batchers = {name: Batcher(parser, limits, batching) for name, parser in parsers.items()}
        self.setup = tasks.Setup(
            limits,
            {name: ModelTraits(parser.config.language, parser.has_tags) for name, parser in parsers.items()},
            {name: parser.head_rules for name, parser in parsers.items()},
            {**treebanks, **samples()},
        )
        self.workers = WorkerPool(self.setup)
        self.threads = BoundedPool(limits, QUEUED_TEXTS)

    def close(self) -> None:
        self.workers.close()
        self.threads.close()
        for batcher in self.batchers.values():
            batcher.close()

    async def health(self) -> Health:
        """Report that the server is up, and the names of its models."""
        return Health(version=__version__, models=list(self.parsers))

    async def models(self) -> list[ModelInfo]:
        """List the models."""
        return [self._info(name, parser) for name, parser in self.parsers.items()]

    def _info(self, name: str, parser: "Parser") -> ModelInfo:
        card = self.cards.get(name)
        test = card.scores.test if card else None
        return ModelInfo(
            name=name,
            language=parser.config.language,
            title=card.language if card else name,
            decode=parser.config.decoding.method,
            needs_tags=parser.has_tags,
            licence=card.licence if card else None,
            quality=Quality(f1=test.f1, discontinuous_f1=test.discontinuous_f1) if test else None,
            inventory=Inventory(**parser.vocab.inventory()),
        )

    async def parse(self, request: Request) -> Response:
        """Parse text or tokens. The response is JSON, a treebank format or a picture."""
        return await self.serve(request, self._parse)

    async def _parse(self, body: bytes, client: str) -> Response:
        if len(body) <= self.limits.small_body_bytes:
            given: tasks.ParseInput = await self.threads.run(tasks.read_parse_request, self.setup, body)
        else:
            given = await self.workers.run(client, tasks.read_parse_request, body)
        options = ParseOptions(given.decoding(self.parsers[given.model].config.decoding), given.k)
        queued = self.batchers[given.model].submit([one.tokens for one in given.sentences], options, client)
        tree_lists = await asyncio.wrap_future(queued)
        trees = [
            (index, replace(tree, id=f"{index + 1}.{rank}" if given.k else str(index + 1)))
            for index, found in enumerate(tree_lists)
            for rank, tree in enumerate(found, 1)
        ]
        content = await self.threads.run(tasks.parse_response, self.setup, given, trees)
        if given.output != "json":
            content = await self.workers.run(client, tasks.render, content, given.output, given.model)
        return Response(content, media_type=media_type(given.output), headers=_headers(given.choice))

    async def treebank(self, request: Request) -> Response:
        """Read an uploaded treebank and return the trees that pass a filter. The upload is not stored."""
        return await self.serve(request, self._json_job(tasks.filter_treebank))

    async def evaluate(self, request: Request) -> Response:
        """Compare two uploaded treebanks. Metrics are percentages."""
        return await self.serve(request, self._json_job(tasks.compare_treebanks))

    def _json_job(self, task: Callable[[tasks.Setup, bytes], bytes]) -> Callable[[bytes, str], Awaitable[Response]]:
        async def work(body: bytes, client: str) -> Response:
            return Response(await self.workers.run(client, task, body), media_type="application/json")

        return work

    async def draw(self, request: Request) -> Response:
        """Draw one tree, convert it to another format, or draw the differences between two trees."""
        return await self.serve(request, self._draw)

    async def _draw(self, body: bytes, client: str) -> Response:
        content, output = await self.workers.run(client, tasks.draw, body)
        return Response(content, media_type=media_type(output))

    async def convert(self, request: Request) -> Response:
        """Convert trees to one file: a treebank format, LaTeX, PDF or text; one tree to PNG."""
        return await self.serve(request, self._convert)

    async def _convert(self, body: bytes, client: str) -> Response:
        content, output = await self.workers.run(client, convert_trees, body)
        return Response(content, media_type=media_type(output))

    async def serve(self, request: Request, work: Callable[[bytes, str], Awaitable[Response]]) -> Response:
        """Do the work of a request; stop it when it takes too long or when the client has gone."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestRefused(415, "set the header Content-Type to application/json")
        body = b"".join([piece async for piece in request.stream()])  # request.body() would keep it until all is sent
        working = asyncio.ensure_future(work(body, request.scope.get(CLIENT, "")))
        del body
        leaving = asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait(
                {working, leaving}, timeout=self.limits.timeout_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if working.done():
                return working.result()
            if leaving.done():
                raise ClientDisconnect
            message = f"this took longer than {self.limits.timeout_seconds:g} seconds: ask for less, or try again later"
            raise RequestRefused(503, message, self.limits.retry_seconds)
        finally:
            leaving.cancel()
            if not working.done():
                working.cancel()
                await asyncio.wait({working})


def _headers(choice: Choice) -> dict[str, str]:
    """Return what there is to say about a model, for responses that are not JSON."""
    texts = {f"X-Discotree-{name.capitalize()}": text for name, text in choice._asdict().items() if text}
    return {name: text.encode("ascii", "replace").decode() for name, text in texts.items()}


async def _disconnected(request: Request) -> None:
    """Return when the client has closed its connection; the body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
