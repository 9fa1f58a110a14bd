"""Jobs in worker processes: clients take turns, and a job ends when its time is over or nobody waits for it."""

import asyncio
import logging
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from discotree.drawing.raster import page_folder
from discotree.integrations.web.fair_queue import FairQueue
from discotree.integrations.web.limits import MIB, RequestRefused
from discotree.integrations.web.tasks import Setup
from discotree.integrations.web.worker import NUMBER

logger = logging.getLogger("discotree")


@dataclass(eq=False)
class _Ticket:
    """A job that waits for its turn."""

    is_large: bool
    turn: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class WorkerPool:
    """Runs tasks by name, a few at a time, of which few have large bodies. Must be used within one event loop."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.limits = setup.limits
        self.queue: FairQueue[_Ticket] = FairQueue()
        self.running: Counter[bool] = Counter()  # by is_large
        self.ended: Counter[str] = Counter()  # by outcome, for the metrics
        self.process: subprocess.Popen[bytes] | None = None
        self.control: socket.socket | None = None
        self.folder = ""  # for temporary files of the jobs
        self.starting = asyncio.Lock()

    async def run(
        self, client: str, task: Callable[..., Any], body: bytes, *arguments: Any, is_long: bool = False
    ) -> Any:
        """Run a task on a body and return its result. Cancelling the call ends the job.

        A job that may take seconds whatever its body (``is_long``) waits for its turn with the large ones.
        """
        is_large = is_long or len(body) > self.limits.small_body_bytes
        await self._wait_for_turn(client, is_large)
        try:
            return await self._run(task.__name__, (body, *arguments))
        finally:
            self.running[is_large] -= 1
            self._give_turns()

    async def _wait_for_turn(self, client: str, is_large: bool) -> None:
        own = sum(1 for _ in self.queue.of(client))
        if len(self.queue) >= self.limits.queued_jobs or own >= self.limits.client_queued_jobs:
            raise RequestRefused(503, "the server is busy: try again later", self.limits.retry_seconds)
        ticket = _Ticket(is_large)
        self.queue.add(client, ticket)
        self._give_turns()
        try:
            await ticket.turn
        except asyncio.CancelledError:
            if ticket.turn.done() and not ticket.turn.cancelled():  # the turn came at the same moment
                self.running[is_large] -= 1
            self.queue.discard(lambda other: other is ticket)
            self._give_turns()
            raise

    def _give_turns(self) -> None:
        def fits(ticket: _Ticket) -> bool:
            return not ticket.is_large or self.running[True] < self.limits.worker_large_jobs

        while self.running.total() < self.limits.worker_jobs and (found := self.queue.take(fits)):
            _, ticket = found
            if not ticket.turn.done():
                self.running[ticket.is_large] += 1
                ticket.turn.set_result(None)

    async def _run(self, name: str, arguments: tuple[Any, ...]) -> Any:
        await self.start()
        assert self.control is not None
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self.control, [b"\1"], [theirs.fileno()])
        except OSError:  # the process has ended: the next job starts another one
            ours.close()
            self.close()
            raise RequestRefused(503, "a worker process has ended: try again", self.limits.retry_seconds) from None
        finally:
            theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        child, is_over = 0, False
        try:
            (child,) = NUMBER.unpack(await reader.readexactly(NUMBER.size))
            job = pickle.dumps((name, arguments))
            writer.write(NUMBER.pack(len(job)))
            writer.write(job)
            del job
            await writer.drain()
            (length,) = NUMBER.unpack(await reader.readexactly(NUMBER.size))
            kind, outcome = pickle.loads(await reader.readexactly(length))
            is_over = True
        except (asyncio.IncompleteReadError, ConnectionError):
            kind, outcome = "killed", None
            is_over = True
        finally:
            if not is_over:  # cancelled: nobody waits for the result
                self.ended["cancelled"] += 1
            if child and (not is_over or kind == "killed"):  # without its socket, one that has not begun ends by itself
                self._clear_up_after(child)
            writer.transport.abort()
        self.ended[kind] += 1
        return self._result(kind, outcome)

    def _clear_up_after(self, child: int) -> None:
        """End a job with the programs that it has started, and remove its files."""
        with suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        for folder in Path(self.folder).glob(f"{page_folder(child)}*") if self.folder else ():
            shutil.rmtree(folder, ignore_errors=True)

    def _result(self, kind: str, outcome: Any) -> Any:
        if kind == "result":
            return outcome
        if kind == "refused":
            raise RequestRefused(*outcome)
        if kind == "killed":
            time, memory = (
                f"{self.limits.worker_seconds:g} seconds",
                f"{self.limits.worker_bytes / MIB:g} MiB of memory",
            )
            raise RequestRefused(413, f"this takes more than {time} of processor time or {memory}: ask for less")
        logger.error("a job failed: %s", outcome)
        raise RequestRefused(500, "internal server error")

    async def start(self) -> None:
        """Start the process if it does not run; it is ready in about a second."""
        async with self.starting:
            if self.process is not None and self.process.poll() is None:
                return
            self.close()
            self.control, theirs = socket.socketpair()
            command = [sys.executable, "-m", "discotree.integrations.web.worker", str(theirs.fileno())]
            with suppress(OSError):  # only few jobs need one
                self.folder = mkdtemp(prefix="discotree-")
            with theirs:
                self.process = subprocess.Popen(
                    command,
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, "TMPDIR": self.folder or os.environ.get("TMPDIR", "")},
                )
            setup = pickle.dumps(self.setup)
            self.control.sendall(NUMBER.pack(len(setup)) + setup)
            loop = asyncio.get_running_loop()
            self.control.setblocking(False)
            if await loop.sock_recv(self.control, 1) != b"\1":
                self.close()
                raise RequestRefused(500, "the worker process did not start")

    def close(self) -> None:
        """End the process; jobs that run end with their own deadline."""
        if self.control is not None:
            self.control.close()
            self.control = None
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = ""
