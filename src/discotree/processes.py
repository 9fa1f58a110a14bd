"""Work in several processes, with the results in the order of the tasks.

Ctrl-C ends the process that started the others, which end with it, however it ends. The death of one of them is an
error with a name.
"""

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

TASKS_PER_PROCESS = 2  # taken ahead, so that no process waits

Task = TypeVar("Task")
Result = TypeVar("Result")
Work = Callable[[Task], Result]


class OrderedPool(Generic[Task, Result]):
    """Processes that work on tasks. They start with the first ones; each calls ``begin`` first, and then ``set_up``."""

    def __init__(self, set_up: Callable[[], Work[Task, Result]], workers: int, begin: Callable[[], None]) -> None:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        context = get_context("spawn")
        listening, self.alive = context.Pipe(duplex=False)
        self.pool = ProcessPoolExecutor(workers, context, _start, (set_up, listening, begin))
        self.ahead = TASKS_PER_PROCESS * workers
        self.waiting: deque[tuple[Task, Future[Result]]] = deque()

    def __enter__(self) -> "OrderedPool[Task, Result]":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.alive.close()  # stop what the processes are still doing
        self.pool.shutdown(wait=True, cancel_futures=True)

    def results(self, task: Task) -> Iterator[tuple[Task, Result]]:
        """Begin a task; yield the results that are there, and those to wait for before the next task."""
        with _uninterrupted_children(), _told_of_deaths():
            self.waiting.append((task, self.pool.submit(_work, task)))
        while len(self.waiting) > self.ahead or (self.waiting and self.waiting[0][1].done()):
            yield self._first()

    def rest(self) -> Iterator[tuple[Task, Result]]:
        """Yield the results of all tasks that were begun."""
        while self.waiting:
            yield self._first()

    def _first(self) -> tuple[Task, Result]:
        task, future = self.waiting.popleft()
        with _told_of_deaths():
            return task, future.result()


@contextmanager
def _uninterrupted_children() -> Iterator[None]:
    """Start processes that leave Ctrl-C to this one, which gets it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _told_of_deaths() -> Iterator[None]:
    """Say what it means that the pool is broken, which the next task learns as well as one that waits."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        yield
    except BrokenProcessPool:
        raise DiscotreeError("a worker process has died: too many for the memory or the device?") from None


_worker: Work[Any, Any] | DiscotreeError


def _start(set_up: Callable[[], Work[Any, Any]], listening: "Connection", begin: Callable[[], None]) -> None:
    """Set up a new process, which ends when the one that started it closes its end of the pipe or dies."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(listening,), daemon=True).start()
    begin()
    try:
        _worker = set_up()
    except SENTENCE_ERRORS as error:
        _worker = DiscotreeError(f"a worker process cannot start: {error}")


def _end_with(listening: "Connection") -> None:
    with suppress(EOFError, OSError):
        listening.recv()
    os._exit(1)


def _work(task: Any) -> Any:
    if isinstance(_worker, DiscotreeError):
        raise _worker
    return _worker(task)
