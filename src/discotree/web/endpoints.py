"""The API calls: parsing, tasks in worker processes, and annotation."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.requests import ClientDisconnect

from discotree import __version__
from discotree.errors import ConfigError, InputError, TreebankError
from discotree.models.card import Card
from discotree.parsing.parser import QUICK_STEPS, ParseOptions
from discotree.treebanks.json_lines import json_line
from discotree.trees.tree import Token
from discotree.web import tasks
from discotree.web.annotation.project import ConflictError
from discotree.web.annotation.session import AnnotationSession
from discotree.web.batching import Batcher, TreeLists
from discotree.web.limits import MIB, SMALL_BODY_BYTES, Limits, RequestRefused
from discotree.web.schemas import (
    AcceptedTreesRequest,
    EarlierRequest,
    Health,
    Inventory,
    ModelInfo,
    NextRequest,
    OpenRequest,
    RowsRequest,
    StepRequest,
    TreebankInfo,
    validate,
)
from discotree.web.served_treebanks import ServedTreebank, samples
from discotree.web.site import model_info
from discotree.web.workers import WorkerPool

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

CLIENT = "discotree.client"  # key in the scope of a request: the client, for fair queues and the access log
ANNOTATOR = "discotree.annotator"  # the annotator whose token the request has sent, or ""
RETRY_HEADERS = {"Retry-After": "2"}  # of every 503
THREADS = 2  # for work of a few milliseconds that would still block the event loop
MAX_INLINE_BYTES = 500  # such a request, with its trees, takes less time than waiting for a thread
STORAGE_FULL = 507
MAX_DETAIL_CHARACTERS = 500
MAX_STEP_BYTES = MIB  # annotation calls run in the server process
METHODS: dict[str, type[BaseModel]] = {
    "open": OpenRequest,
    "next": NextRequest,
    "earlier": EarlierRequest,
    "rows": RowsRequest,
}  # of the session, with their requests


def problem(
    status: int, message: str, fields: Mapping[str, object] | None = None, headers: dict[str, str] | None = None
) -> JSONResponse:
    """Return the response to a request that fails."""
    detail = message.encode(errors="replace").decode()
    if len(detail) > MAX_DETAIL_CHARACTERS:
        detail = f"{detail[:MAX_DETAIL_CHARACTERS]} …"
    return JSONResponse({"detail": detail, **(fields or {})}, status, headers)


class Endpoints:
    """The served models and treebanks, and the API calls."""

    def __init__(
        self,
        parsers: "Mapping[str, Parser]",
        limits: Limits,
        cards: Mapping[str, Card],
        treebanks: Mapping[str, ServedTreebank],
    ) -> None:
        if not parsers:
            raise ConfigError("a server needs at least one model")
        self.parsers = parsers
        self.limits = limits
        self.cards = cards
        self.loop: asyncio.AbstractEventLoop | None = None
        self.batchers = {name: Batcher(parser, limits, self.call_in_loop) for name, parser in parsers.items()}
        self.context = tasks.WorkerContext(
            limits,
            {name: tasks.ModelTraits(parser.config.language, parser.has_tags) for name, parser in parsers.items()},
            {name: parser.head_rules for name, parser in parsers.items()},
            {**treebanks, **samples()},
        )
        self.workers = WorkerPool(self.context)
        self.threads = ThreadPoolExecutor(THREADS, "web")

    def close(self) -> None:
        self.workers.close()
        self.threads.shutdown(wait=False, cancel_futures=True)
        for batcher in self.batchers.values():
            batcher.close()

    async def run_in_thread(self, function: Callable[..., Any], *arguments: object) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.threads, function, *arguments)

    def call_in_loop(self, function: Callable[[], None]) -> None:
        """Call a function in the event loop, from another thread."""
        with suppress(RuntimeError):  # the loop is closed
            assert self.loop is not None
            self.loop.call_soon_threadsafe(function)

    async def trees(
        self, model: str, sentences: Sequence[Sequence[Token]], options: ParseOptions, client: str
    ) -> TreeLists:
        """Parse sentences; with ``asyncio.wrap_future``, every result of a batch would wake up the event loop."""
        self.loop = asyncio.get_running_loop()
        parsed, result = asyncio.Event(), self.batchers[model].submit(sentences, options, client)
        result.add_done_callback(lambda _: parsed.set())
        try:
            await parsed.wait()
        finally:
            result.cancel()  # if nobody waits for it any more
        return result.result()

    async def health(self) -> Health:
        """Report that the server is running, and the names of its models."""
        return Health(version=__version__, models=list(self.parsers))

    async def models(self) -> list[ModelInfo]:
        """List the models."""
        return [
            ModelInfo(**model_info(name, parser, self.cards.get(name)), decode=parser.config.decoding.method)
            for name, parser in self.parsers.items()
        ]

    async def treebanks(self) -> list[TreebankInfo]:
        """List the treebanks that can be searched by name."""
        return [
            TreebankInfo(name=name, trees=it.trees, is_sample=bool(it.sample), inventory=Inventory(**it.inventory))
            for name, it in self.context.treebanks.items()
        ]

    async def parse(self, request: Request) -> Response:
        """Parse text or tokens. The response is JSON, a treebank format or a picture."""
        return await self.serve(request, self._parse)

    async def _read(self, task: Callable[..., Any], body: bytes, client: str) -> Any:
        """Read a request: a very small one here, a small one in a thread, a large one in a worker process."""
        if len(body) <= MAX_INLINE_BYTES:
            return task(self.context, body)
        if len(body) <= SMALL_BODY_BYTES:
            return await self.run_in_thread(task, self.context, body)
        return await self.workers.run(client, task, body)

    async def _parse(self, body: bytes, client: str) -> Response:
        parse_input: tasks.ParseInput = await self._read(tasks.read_parse_request, body, client)
        choice, output, k, decode, request_sentences, constraints = parse_input
        model, default = choice.model, self.parsers[choice.model].config.decoding
        decoding = replace(default, method=decode) if decode else None
        options = ParseOptions(decoding, k, constraints=[constraints] if constraints else ())
        sentences = [sentence.tokens for sentence in request_sentences]
        tree_lists = await self.trees(model, sentences, options, client)
        trees = [
            (index, replace(tree, id=f"{index + 1}.{rank}" if k else str(index + 1)))
            for index, ranked in enumerate(tree_lists)
            for rank, tree in enumerate(ranked, 1)
        ]
        respond = partial(tasks.parse_response, self.context, parse_input, trees)
        content = respond() if len(body) <= MAX_INLINE_BYTES and not k else await self.run_in_thread(respond)
        if output != "json":
            content = await self.workers.run(client, tasks.render, content, output, model)
        # Responses that are not JSON have the fields "model", "notice" and "warning" as headers.
        headers = {
            f"X-Discotree-{name.capitalize()}": text.encode("ascii", "replace").decode()
            for name, text in choice._asdict().items()
            if text
        }
        return Response(content, media_type=tasks.media_type(output), headers=headers)

    async def reparse(self, request: Request) -> Response:
        """Parse the rest of a corrected tree again. The correction, and earlier ones, are constraints."""
        return await self.serve(request, self._reparse)

    async def _reparse(self, body: bytes, client: str) -> Response:
        correction: tasks.Correction = await self._read(tasks.read_correction, body, client)
        parsed, problem = None, ""
        if correction.constraints:
            options = ParseOptions(constraints=[correction.required], max_steps=QUICK_STEPS)
            try:
                sentences = [correction.corrected.tokens]
                ((parsed,),) = await self.trees(correction.model, sentences, options, client)
            except InputError as error:  # conflicting constraints, or labels that the model does not have
                problem = str(error)
        content = await self.run_in_thread(tasks.reparse_response, self.context, correction, parsed, problem)
        return Response(content, media_type=tasks.JSON)

    def for_task(self, task: Callable[..., tasks.Reply], is_long: bool = False) -> Callable[..., Awaitable[Response]]:
        """Return an endpoint that runs a task in a worker process."""

        async def work(body: bytes, client: str) -> Response:
            reply: tasks.Reply = await self.workers.run(client, task, body, is_long=is_long)
            return Response(reply.content, media_type=reply.media_type, headers=reply.headers)

        async def endpoint(request: Request) -> Response:
            return await self.serve(request, work)

        return endpoint

    async def serve(self, request: Request, work: Callable[[bytes, str], Awaitable[Response]]) -> Response:
        """Do the work of a request; cancel it if it takes too long or the client disconnects."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestRefused(415, "the Content-Type header must be application/json")
        body = b"".join([chunk async for chunk in request.stream()])  # request.body() would keep a reference to it
        working = asyncio.ensure_future(work(body, request.scope.get(CLIENT, "")))
        del body
        leaving = asyncio.ensure_future(_disconnected(request))
        seconds = self.limits.timeout_seconds
        try:
            await asyncio.wait({working, leaving}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            if leaving.done():
                raise ClientDisconnect
            message = f"the request took longer than {seconds:g} seconds; request less, or try again later"
            raise RequestRefused(503, message)
        finally:
            leaving.cancel()
            if not working.done():
                working.cancel()
                await asyncio.wait({working})


async def _disconnected(request: Request) -> None:
    """Return when the client has closed its connection; the body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class AnnotationEndpoints:
    """The calls of the annotation page."""

    def __init__(self, endpoints: Endpoints, session: AnnotationSession) -> None:
        self.endpoints = endpoints
        self.session = session
        self.calls = {"step": self._step, "trees": self._trees}
        for name, model in METHODS.items():
            self.calls[name] = partial(self._call, name, model)

    async def overview(self, request: Request) -> Response:
        """Return the progress of the annotation, the scores of models, and the labels to choose from."""
        annotator = request.scope.get(ANNOTATOR, "")
        signed_in = {"is_signed_in": bool(annotator)} | ({"annotator": annotator} if annotator else {})
        response: Response = await self.endpoints.run_in_thread(lambda: _json(self.session.overview() | signed_in))
        return response

    def endpoint(self, name: str) -> Callable[..., Awaitable[Response]]:
        """Return the endpoint of a call. It reads the body and does the work in a thread."""
        work = self.calls[name]

        def answer(body: bytes, annotator: str) -> Response:
            if len(body) > MAX_STEP_BYTES:
                maximum = f"at most {MAX_STEP_BYTES:,} bytes are allowed"
                raise RequestRefused(413, f"the request body is too large; {maximum}")
            try:
                return work(body, annotator)
            except TreebankError as error:  # raised if the journal cannot be written
                raise RequestRefused(STORAGE_FULL, str(error)) from None

        async def endpoint(request: Request) -> Response:
            annotator = request.scope.get(ANNOTATOR, "")
            return await self.endpoints.serve(
                request, lambda body, _: self.endpoints.run_in_thread(answer, body, annotator)
            )

        return endpoint

    def _call(self, name: str, model: type[BaseModel], body: bytes, annotator: str) -> Response:
        """Call a method of the session with the fields of a request."""
        return _json(getattr(self.session, name)(**_fields(validate(model, body), annotator)))

    def _step(self, body: bytes, annotator: str) -> Response:
        request = validate(StepRequest, body)
        if request.tree is not None and request.action not in ("accept", "correct", "skip", "adjudicate"):
            raise RequestRefused(422, f"the action {request.action} does not take a tree")
        if request.tree is None and request.action in ("correct", "adjudicate"):
            raise RequestRefused(422, f"the action {request.action} requires a tree")
        record = None
        if request.tree is not None:
            tasks.tree_of(self.endpoints.context, request.tree)  # refuses an invalid or large tree
            record = request.tree.model_dump(exclude_none=True)
        fields = _fields(request, annotator) | {"tree": record}
        try:
            return _json(self.session.step(**fields))
        except ConflictError as error:
            return problem(409, str(error), {"current": self.session.project.detail(request.sentence, fields["who"])})

    def _trees(self, body: bytes, _: str) -> Response:
        request = validate(AcceptedTreesRequest, body)
        content, maximum = bytearray(), self.endpoints.limits.response_bytes
        try:
            for data in self.session.trees(request.format or "export"):
                content += data
                if len(content) > maximum:
                    message = f"the trees have more than {maximum:,} bytes; write them with discotree annotate --export"
                    raise RequestRefused(413, message)
        except TreebankError as error:
            raise RequestRefused(422, f"cannot write the trees in this format: {error}") from None
        return Response(bytes(content), media_type="text/plain")


def _fields(request: BaseModel, annotator: str) -> dict[str, Any]:
    """Return the fields of a request; refuse a name that is not that of the token."""
    fields = dict(request)
    who = " ".join(fields["who"].split())
    if annotator and who not in ("", annotator):
        raise RequestRefused(403, f"this token is for {annotator}, not for {who[:50]!r}")
    return fields | {"who": annotator or who}


def _json(value: Any) -> Response:
    return Response(json_line(value), media_type="application/json")
