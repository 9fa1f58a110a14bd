"""Worker processes that return results in the order of their tasks, the cores they may use, and the garbage collector.

Ctrl-C goes to the main process only. Worker processes end when it ends, however that happens. If a worker dies, the
main process raises an error.
"""

import gc
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from discotree.errors import SENTENCE_ERRORS, DiscotreeError

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.connection import Connection


TASKS_PER_PROCESS = 2  # one to work on and one queued, so that no process waits

Task = TypeVar("Task")
Result = TypeVar("Result")
Work = Callable[[Task], Result]


class OrderedPool(Generic[Task, Result]):
    """A pool of processes that start with the first tasks. Each calls ``begin`` and then ``set_up``, once."""

    def __init__(self, set_up: Callable[[], Work[Task, Result]], workers: int, begin: Callable[[], None]) -> None:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        context = get_context("spawn")
        listening, self.alive = context.Pipe(duplex=False)
        self.pool = ProcessPoolExecutor(workers, context, _start, (set_up, listening, begin))
        self.max_pending = TASKS_PER_PROCESS * workers
        self.pending: deque[tuple[Task, Future[Result]]] = deque()

    def __enter__(self) -> "OrderedPool[Task, Result]":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.alive.close()  # the workers exit at once
        self.pool.shutdown(wait=True, cancel_futures=True)

    def results(self, task: Task) -> Iterator[tuple[Task, Result]]:
        """Submit a task; yield the results that are ready, and wait for more if too many tasks are pending."""
        with _block_interrupts(), _explain_broken_pool():
            self.pending.append((task, self.pool.submit(_work, task)))
        while len(self.pending) > self.max_pending or (self.pending and self.pending[0][1].done()):
            yield self._first()

    def remaining(self) -> Iterator[tuple[Task, Result]]:
        """Wait for all pending tasks and yield their results."""
        while self.pending:
            yield self._first()

    def _first(self) -> tuple[Task, Result]:
        task, future = self.pending.popleft()
        with _explain_broken_pool():
            return task, future.result()


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Block Ctrl-C while processes start, so that they inherit this; the main process receives it after the block."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _explain_broken_pool() -> Iterator[None]:
    """Re-raise BrokenProcessPool with a helpful message; both ``submit`` and ``result`` can raise it."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        yield
    except BrokenProcessPool:
        raise DiscotreeError("a worker process died, possibly out of memory; try fewer --workers") from None


_worker: Work[Any, Any] | DiscotreeError


def _start(set_up: Callable[[], Work[Any, Any]], listening: "Connection", begin: Callable[[], None]) -> None:
    """Set up a new process. It exits when the main process closes its end of the pipe or dies."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, args=(listening,), daemon=True).start()
    begin()
    try:
        _worker = set_up()
    except SENTENCE_ERRORS as error:
        _worker = DiscotreeError(f"a worker process failed to start: {error}")


def _exit_with_parent(listening: "Connection") -> None:
    with suppress(EOFError, OSError):
        listening.recv()
    os._exit(1)


def _work(task: Any) -> Any:
    if isinstance(_worker, DiscotreeError):
        raise _worker
    return _worker(task)


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector inside the block.

    Trees consist of very many small objects, none of them in a cycle. The collector would scan all of them again and
    again while they are created, which takes a third of a fast parser's time. With several threads inside, it may start
    again before the last one leaves, which does no harm.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
