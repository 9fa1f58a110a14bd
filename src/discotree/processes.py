"""Worker processes that return results in the order of their tasks, the cores they may use, and the garbage collector.

Ctrl-C goes to the main process only. Worker processes end when it ends, however that happens. If a worker dies, the
main process raises an error.
"""

import gc
import math
import os
import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from discotree.errors import SENTENCE_ERRORS, DiscotreeError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


TASKS_PER_PROCESS = 2  # one to work on and one queued, so that no process waits
PENDING_PER_PROCESS = 4  # including results that wait for an earlier one
SECONDS_TO_EXIT = 5
M_ARENA_MAX = -8  # of glibc's mallopt: the greatest number of pools that memory is taken from

Task = TypeVar("Task")
Result = TypeVar("Result")
Work = Callable[[Task], Result]


class OrderedPool(Generic[Task, Result]):
    """A pool of processes that start with the first tasks. Each calls ``begin`` and then ``set_up``, once.

    A process is forked if ``forks``: it starts at once, and shares the memory of everything that has been loaded.
    Otherwise it is a new process, which loads everything again.

    Every process has a pipe of its own. The processes of ``concurrent.futures`` share one with a lock: if one is killed
    while it sends a result, the main process waits for the rest forever.
    """

    def __init__(
        self, set_up: Callable[[], Work[Task, Result]], workers: int, begin: Callable[[], None], forks: bool = False
    ) -> None:
        self.set_up = set_up
        self.workers = workers
        self.begin = begin
        self.forks = forks
        self.processes: list[_Process] = []
        self.pending: deque[_Pending] = deque()

    def __enter__(self) -> "OrderedPool[Task, Result]":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.stop()

    def results(self, task: Task) -> Iterator[tuple[Task, Result]]:
        """Submit a task, and yield results that are ready. Wait for results if too many tasks are pending."""
        self._receive(timeout=0)
        while len((process := self._least_busy()).tasks) >= TASKS_PER_PROCESS:
            self._receive(timeout=None)
        pending = _Pending(task)
        with _explain_dead_worker():
            process.send(pending)
        self.pending.append(pending)
        while len(self.pending) > PENDING_PER_PROCESS * self.workers or (self.pending and self.pending[0].is_done):
            yield self._first()

    def remaining(self) -> Iterator[tuple[Task, Result]]:
        """Wait for all pending tasks and yield their results."""
        while self.pending:
            yield self._first()

    def _least_busy(self) -> "_Process":
        """Return the process with the fewest tasks; start one if all are busy and there may be more."""
        process = min(self.processes, key=lambda process: len(process.tasks), default=None)
        if process is None or (process.tasks and len(self.processes) < self.workers):
            with _block_interrupts():
                process = _Process(self)
                self.processes.append(process)
        return process

    def _first(self) -> tuple[Task, Result]:
        while not self.pending[0].is_done:
            self._receive(timeout=None)
        first = self.pending.popleft()
        if first.error is not None:
            self.pending.clear()  # later results would not be in order
            raise first.error
        return first.task, first.result

    def _receive(self, timeout: float | None) -> None:
        """Receive the results that are there; without a timeout, wait for one."""
        from multiprocessing.connection import wait

        ready = wait([process.connection for process in self.processes], timeout)
        with _explain_dead_worker():
            for process in self.processes:
                if process.connection in ready:
                    process.receive()


class _Pending:
    """A task, and its result or its error once it is done."""

    def __init__(self, task: Any) -> None:
        self.task = task
        self.is_done = False
        self.result: Any = None
        self.error: Exception | None = None


class _Process:
    """A worker process, its connection, and the tasks that it has not finished."""

    def __init__(self, pool: OrderedPool[Any, Any]) -> None:
        from multiprocessing import get_context

        context: Any = get_context("fork" if pool.forks else "spawn")
        self.connection, theirs = context.Pipe()
        self.tasks: deque[_Pending] = deque()
        inherited = [self.connection, *(other.connection for other in pool.processes)] if pool.forks else []
        arguments = (theirs, pool.set_up, pool.begin, inherited)
        self.process = context.Process(target=_work, args=arguments, daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the threads of this process are idle
            self.process.start()
        theirs.close()  # or reading from a dead process would not end

    def send(self, pending: _Pending) -> None:
        self.connection.send(pending.task)
        self.tasks.append(pending)

    def receive(self) -> None:
        result, error = self.connection.recv()
        pending = self.tasks.popleft()
        pending.result, pending.error, pending.is_done = result, error, True

    def stop(self) -> None:
        self.connection.close()  # the process exits at once
        self.process.join(SECONDS_TO_EXIT)
        self.process.kill()
        self.process.join()


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
def _explain_dead_worker() -> Iterator[None]:
    """Say that a worker died if its end of the pipe is closed."""
    try:
        yield
    except (EOFError, ConnectionError):
        raise DiscotreeError("a worker process died, possibly out of memory; try fewer --workers") from None


def _work(
    connection: "Connection",
    set_up: Callable[[], Work[Any, Any]],
    begin: Callable[[], None],
    inherited: "list[Connection]",
) -> None:
    """Work on tasks until the main process closes its end of the pipe or dies."""
    from queue import SimpleQueue
    from threading import Thread

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for end in inherited:  # otherwise the pipes would stay open when the main process dies
        end.close()
    gc.freeze()  # collecting garbage would copy the pages of all objects that are shared with the main process
    tasks: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_receive_tasks, args=(connection, tasks), daemon=True).start()
    begin()
    try:
        work = set_up()
    except SENTENCE_ERRORS as error:
        work = _fail_with(f"a worker process failed to start: {error}")
    while True:
        task = tasks.get()
        try:
            answer: tuple[Any, Exception | None] = work(task), None
        except Exception as error:  # the main process raises it
            answer = None, error
        connection.send(answer)


def _receive_tasks(connection: "Connection", tasks: Any) -> None:
    """Queue tasks while others are worked on, so that the main process need not wait; exit when it does."""
    with suppress(EOFError, OSError):
        while True:
            tasks.put(connection.recv())
    os._exit(1)


def _fail_with(message: str) -> Work[Any, Any]:
    def fail(_: Any) -> Any:
        raise DiscotreeError(message)

    return fail


def usable_cores(groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int:
    """Return the number of cores that this process may use: those of the machine, or the quota of its container."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError):  # only Linux has control groups
        group = groups / own.read_text().rpartition("::/")[2].strip()
        for folder in (group, *group.parents):
            with suppress(OSError, ValueError):  # most groups have no quota
                quota, period = map(int, (folder / "cpu.max").read_text().split())
                cores = min(cores, max(1, math.ceil(quota / period)))
    return cores


def use_one_arena() -> None:
    """Let threads that start later share one pool of memory. With one for each, as glibc has it, parsing takes more."""
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # other C libraries have no such pools
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def release_free_memory() -> None:
    """Return free memory to the system. Without this, glibc keeps most of it, and a little more with every batch."""
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # other C libraries return it by themselves
        ctypes.CDLL(None).malloc_trim(0)


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
