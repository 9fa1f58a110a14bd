"""Worker processes for drawing, uploads, search and long texts: one process for each job.

``WorkerPool`` belongs to the server. It starts one process that has imported everything a job needs and has no threads,
so it can fork a child for each job:

    python -m discotree.web.workers SOCKET

A child has its own deadline and memory limit, and all memory of the job is freed when it ends. This module therefore
imports neither the web framework nor torch. On the socket, the first message is the ``WorkerContext``. Each further one
carries the file descriptor of a job's socket: the child sends its process id, receives the job and sends the result or
an exception.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from discotree.errors import DiscotreeError
from discotree.files.writing import temporary_folder
from discotree.web import search  # noqa: F401  a job's process needs it: imported once, not by each child
from discotree.web.limits import MIB, SMALL_BODY_BYTES, FairQueue, Limits, RequestRefused
from discotree.web.tasks import WorkerContext

MAX_LARGE_JOBS = 1  # running jobs with a large body, and searches
MAX_QUEUED_JOBS = 64
MAX_CLIENT_QUEUED_JOBS = 32

Ticket = tuple[bool, "asyncio.Future[None]"]  # whether a job is large, and its turn


class WorkerPool:
    """Runs jobs, a few at a time; clients take turns. Must be used within one event loop."""

    def __init__(self, context: WorkerContext) -> None:
        self.context = context
        self.limits = context.limits
        self.queue: FairQueue[Ticket] = FairQueue()
        self.running: Counter[bool] = Counter()  # by whether they are large
        self.process: subprocess.Popen[bytes] | None = None
        self.control: socket.socket | None = None
        self.starting = asyncio.Lock()

    async def run(
        self, client: str, task: Callable[..., Any], body: bytes, *arguments: Any, is_long: bool = False
    ) -> Any:
        """Run ``task(context, body, *arguments)`` and return its result. Cancelling the call ends the job.

        A job that may take seconds whatever its body (``is_long``) waits for its turn with those with a large body.
        """
        is_large = is_long or len(body) > SMALL_BODY_BYTES
        await self._wait_for_turn(client, is_large)
        try:
            return await self._run((task, body, *arguments))
        finally:
            self.running[is_large] -= 1
            self._give_turns()

    async def _wait_for_turn(self, client: str, is_large: bool) -> None:
        client_jobs = sum(1 for _ in self.queue.of(client))
        if len(self.queue) >= MAX_QUEUED_JOBS or client_jobs >= MAX_CLIENT_QUEUED_JOBS:
            raise RequestRefused(503, "the server is busy; try again later")
        ticket = is_large, asyncio.get_running_loop().create_future()
        self.queue.add(client, ticket)
        self._give_turns()
        try:
            await ticket[1]
        except asyncio.CancelledError:
            if not ticket[1].cancelled():  # the turn came at the same moment
                self.running[is_large] -= 1
            self.queue.discard(lambda other: other is ticket)
            self._give_turns()
            raise

    def _give_turns(self) -> None:
        def fits(ticket: Ticket) -> bool:
            return not ticket[0] or self.running[True] < MAX_LARGE_JOBS

        while self.running.total() < self.limits.worker_jobs and (next_item := self.queue.take(fits)):
            _, (is_large, turn) = next_item
            if not turn.done():
                self.running[is_large] += 1
                turn.set_result(None)

    async def _run(self, job: tuple[Any, ...]) -> Any:
        async with self.starting:
            if self.process is None or self.process.poll() is not None:
                await asyncio.to_thread(self.start)
        assert self.control is not None
        local, remote = socket.socketpair()
        with local:
            with remote:
                socket.send_fds(self.control, [b"\1"], [remote.fileno()])
            working = asyncio.ensure_future(asyncio.to_thread(_delegate, local, job, self.limits))
            working.add_done_callback(lambda done: done.cancelled() or done.exception())  # or asyncio logs a traceback
            try:
                return await asyncio.shield(working)
            except asyncio.CancelledError:
                local.shutdown(socket.SHUT_RDWR)  # ends the conversation, and with it the job
                await asyncio.wait({working})
                raise

    def start(self) -> None:
        """Start the process that forks; this takes about a second."""
        self.close()
        self.control, remote = socket.socketpair()
        with remote:
            command = [sys.executable, "-m", "discotree.web.workers", str(remote.fileno())]
            self.process = subprocess.Popen(command, pass_fds=[remote.fileno()], stdin=subprocess.DEVNULL)
        with Connection(os.dup(self.control.fileno())) as connection:
            connection.send(self.context)
            connection.recv()

    def close(self) -> None:
        """End the process; running jobs end at their deadline."""
        if self.process is not None and self.control is not None:
            self.control.close()
            self.process.kill()
            self.process.wait()
            self.process = None


def _delegate(local: socket.socket, job: tuple[Any, ...], limits: Limits) -> Any:
    """Let a child do a job and return the result. End the child and programs that it has started if it sends none."""
    child = 0
    with temporary_folder() as folder, Connection(os.dup(local.fileno())) as connection:
        try:
            child = connection.recv()
            connection.send((folder, *job))
            outcome = connection.recv()
        except (EOFError, OSError):
            if child:  # a child that has not sent its id ends without its socket
                with suppress(OSError):
                    os.killpg(child, signal.SIGKILL)
            maximum = f"{limits.worker_seconds:g} s of processor time or {limits.worker_bytes / MIB:g} MiB of memory"
            raise RequestRefused(413, f"the request needs more than {maximum}; request less") from None
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


# The worker process


def main() -> None:
    """Fork a child for each job until the server closes the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C, the server closes the socket
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps children
    control = socket.socket(fileno=int(sys.argv[1]))
    with Connection(os.dup(control.fileno())) as connection:
        context = connection.recv()
        connection.send("ready")
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            _run_child(context, Connection(descriptors[0]))
        os.close(descriptors[0])


def _run_child(context: WorkerContext, connection: "Connection[Any, Any]") -> None:
    """Run one job and end the process."""
    code = 1
    try:
        os.setpgid(0, 0)  # the server kills the whole group, with the programs that a job has started
        # The signal of either timer ends the process. The server ends jobs that nobody waits for as long as the server
        # itself is running.
        signal.setitimer(signal.ITIMER_PROF, context.limits.worker_seconds)
        signal.setitimer(signal.ITIMER_REAL, context.limits.timeout_seconds)
        limit_resources(context.limits.worker_bytes, context.limits.worker_seconds)
        connection.send(os.getpid())
        tempfile.tempdir, task, *arguments = connection.recv()
        connection.send(_outcome(context, task, arguments))
        code = 0
    finally:
        os._exit(code)


def _outcome(context: WorkerContext, task: Callable[..., Any], arguments: list[Any]) -> Any:
    try:
        return task(context, *arguments)
    except RequestRefused as error:
        return error
    except DiscotreeError as error:
        return RequestRefused(422, str(error))
    except (MemoryError, SystemError):  # Python's own C code sometimes fails without MemoryError when memory runs out
        maximum = f"{context.limits.worker_bytes / MIB:g} MiB"
        return RequestRefused(413, f"the request needs more than {maximum} of memory; request less")
    except Exception:
        return RuntimeError(traceback.format_exc())


def limit_resources(extra_bytes: int, seconds: float) -> None:
    """Limit the memory of this process, and the processor time of programs it starts, such as rsvg-convert.

    Systems other than Linux cannot enforce the memory limit; there, the deadline and the limits on requests remain.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # otherwise the exit status of every program reads 0
    with suppress(ImportError, OSError, ValueError):
        import resource

        maximum = int(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (maximum, maximum))  # programs inherit it, unlike the timers
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        allowed = pages * resource.getpagesize() + extra_bytes
        resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))


if __name__ == "__main__":
    main()
