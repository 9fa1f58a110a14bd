"""Target: the calls of the HTTP API, in this process. An input is a path, a line end, and the body of a POST."""

import asyncio
import json
import logging
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from fuzz.targets import Target, WrongResult
from fuzz.treebanks import SMALL, tokens_of
from support.mutants import mutate, mutate_json

from discotree import Tree
from discotree.errors import DiscotreeError

MAX_SECONDS = 10.0
PATHS = ("/api/parse", "/api/draw", "/api/treebank", "/api/evaluate")
ODD = (
    None, True, 0, -1, 1, 3, 10, 2**31, 2**64, 0.5, 1e308, "", "a", "svg", "text", "latex", "arcs", "json", "export",
    "tigerxml", "alpino", "conllu", "penn", "psd", "negra", "\x00", "\ud800", "x" * 2000, "(", SMALL[0], [], [[]],
    ["a"], [["a"]], [0], {}, {"content": SMALL[1]},
)  # fmt: skip


class Log(logging.Handler):
    """Keeps the last message: the server tells clients nothing of an internal error."""

    text = cause = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = self.format(record)
        self.cause = self.text.strip().rpartition("\n")[2]


class ApiTarget(Target):
    """Requests to the ASGI application; a 5xx other than 503 is a finding."""

    name = "api"
    share = 0.05
    needs = ("numpy", "torch", "safetensors", "fastapi")
    tokens = tokens_of("json")

    def prepare(self) -> None:
        super().prepare()
        from support.models import saved_model

        from discotree.parsing.parser import load
        from discotree.web import Limits, create_app

        with tempfile.TemporaryDirectory() as folder:
            parser = load(str(saved_model(Path(folder) / "xx")), "cpu")
        self.loop = asyncio.new_event_loop()
        limits = Limits(timeout_seconds=MAX_SECONDS, worker_seconds=MAX_SECONDS / 2)
        self.log = Log()
        logging.getLogger("discotree").addHandler(self.log)
        self.app = self.loop.run_until_complete(_created(create_app, parser, limits))

    def seeds(self) -> list[bytes]:
        record = Tree.parse(SMALL[0], "1").to_dict()
        upload = {"content": "\n".join(SMALL)}
        bodies: list[tuple[str, dict[str, Any]]] = [
            ("/api/parse", {"text": "Es kam nichts. Er hat den Hund gesehen.", "k": 0, "output": "json"}),
            ("/api/parse", {"tokens": [["Es", "kam"], ["Ja"]], "model": "xx", "k": 2, "decode": "exact"}),
            ("/api/draw", {"tree": record, "output": "svg", "functions": True}),
            ("/api/draw", {"tree": {"content": SMALL[0]}, "against": record, "output": "text"}),
            ("/api/treebank", {**upload, "label": "NP", "gap_degree": 1, "offset": 0, "limit": 3}),
            ("/api/evaluate", {"gold": upload, "predicted": upload, "params": "proper"}),
        ]
        return [f"{path}\n".encode() + json.dumps(body).encode() for path, body in bodies]

    def damage(self, rng: random.Random, raw: bytes) -> bytes:
        path, _, body = raw.partition(b"\n")
        body = mutate_json(rng, body, odd=ODD) if rng.randrange(4) else mutate(rng, body, self.tokens)
        return path + b"\n" + body

    def run(self, raw: bytes) -> None:
        path, _, body = raw.partition(b"\n")
        if path.decode(errors="replace") not in PATHS:  # a shorter input that is another thing
            return
        start = time.monotonic()
        status, content = self.loop.run_until_complete(_post(self.app, path.decode(), body))
        if status >= 500 and status != 503:
            raise WrongResult(f"{path.decode()} answers {status}: {self.log.cause}\n{self.log.text}\n{content!r:.500}")
        if time.monotonic() - start > MAX_SECONDS:
            raise WrongResult(f"{path.decode()} takes longer than {MAX_SECONDS:g} seconds")
        if status != 200:
            raise DiscotreeError(str(status))

    def close(self) -> None:
        logging.getLogger("discotree").removeHandler(self.log)
        self.app.state.endpoints.close()
        self.loop.close()


async def _created(create_app: Any, parser: Any, limits: Any) -> Any:
    return create_app({"xx": parser}, limits=limits)


async def _post(app: Any, path: str, body: bytes) -> tuple[int, bytes]:
    """Return the status and the content of a response."""
    headers = {"host": "localhost", "content-type": "application/json", "content-length": str(len(body))}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    status, pieces = 0, []

    async def receive() -> Any:
        if not messages:
            await asyncio.get_running_loop().create_future()  # the client stays
        return messages.pop()

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)
        pieces.append(message.get("body", b""))

    await app(scope, receive, send)
    return status, b"".join(pieces)


TARGETS: list[Target] = [ApiTarget()]
