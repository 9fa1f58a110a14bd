"""The work of `discotree parse` on some sentences, in this process or in several.

A window of sentences becomes a text for each, or the reason why there is none. Windows are worked on side by side and
come back in their order.
"""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import TYPE_CHECKING

from discotree.config import Method
from discotree.errors import SENTENCE_ERRORS, DiscotreeError, TreebankError, first_line
from discotree.parsing.garbage_collection import uncollected
from discotree.parsing.inputs import Line, Sentence
from discotree.parsing.load import load
from discotree.parsing.outputs import CONLLU, DRAW, JSON, Output, drawings, json_lines, treebank
from discotree.trees.tree import Tree

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from discotree.parsing.parser import Parser

AHEAD = 2  # windows that wait for every process

Window = list[Sentence | Line | TreebankError]


@dataclass(frozen=True)
class Failure:
    """Why there is nothing to write for a sentence, with its address."""

    reason: str


Outcomes = list[str | Failure]


@dataclass(frozen=True)
class Job:
    """All that has to be known to work on a window."""

    model: str  # its folder
    device: str
    decode: Method | None
    k: int
    output: str
    color: bool = False
    width: int | None = None  # of the terminal

    def form(self, parser: "Parser") -> Output:
        """How trees are written."""
        if self.output == DRAW:
            return drawings(self.k > 0, self.color, self.width)
        if self.output == JSON:
            return json_lines()
        return treebank(self.output, parser.head_rules if self.output == CONLLU else None)


class Worker:
    """A parser with a way of writing its trees."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.parser = load(job.model, job.device)
        self.form = job.form(self.parser)
        decoding = self.parser.config.decoding
        self.decoding = replace(decoding, method=job.decode) if job.decode else decoding

    def __call__(self, window: Window, number: int) -> Outcomes:
        """What to write for every sentence; ``number``: the place in the file of the first one."""
        with_places = self.job.output == JSON  # nothing else tells where the words stood
        with uncollected():
            whole = [item.sentence(with_places) if isinstance(item, Line) else item for item in window]
            return self.outcomes(whole, number)

    def outcomes(self, window: Sequence[Sentence | TreebankError], number: int) -> Outcomes:
        outcomes: Outcomes = []
        parsed = iter(self.parsed([item for item in window if isinstance(item, Sentence)]))
        for item in window:
            try:
                if isinstance(item, TreebankError):
                    raise item
                text = self.text(item, next(parsed), number)
                number += 1
                outcomes.append(text)
            except SENTENCE_ERRORS as error:
                reason = first_line(error)
                outcomes.append(Failure(f"{item.where}: {reason}" if isinstance(item, Sentence) else reason))
        return outcomes

    def parsed(self, sentences: Sequence[Sentence]) -> list[list[Tree] | Exception]:
        """The trees of every sentence, or why there are none: if some cannot be parsed, the others still can."""
        try:
            return [*self.analyse(sentences)]
        except SENTENCE_ERRORS as error:
            if len(sentences) == 1:
                return [error]
            return [self.parsed([sentence])[0] for sentence in sentences]

    def analyse(self, sentences: Sequence[Sentence]) -> list[list[Tree]]:
        """The trees of each sentence, with the id of the sentence."""
        if self.job.k:
            return [
                [replace(tree, id=f"{one.id}.{rank}") for rank, tree in enumerate(best, 1)]
                for one in sentences
                for best in [self.parser.k_best(one.tokens, self.job.k)]
            ]
        tokens = [one.tokens for one in sentences]
        trees = self.parser.parse_tokens(tokens, self.decoding, [one.id for one in sentences])
        return [[tree] for tree in trees]

    def text(self, sentence: Sentence, outcome: list[Tree] | Exception, number: int) -> str:
        if isinstance(outcome, Exception):
            raise outcome
        text = self.form.sentence(sentence, outcome, number)
        text.encode()  # or what cannot be encoded would take the others with it
        return text


def side_by_side(
    job: Job, workers: int, windows: Iterable[tuple[Window, int]], begin: Callable[[], None]
) -> Generator[tuple[Window, int, Outcomes], None, None]:
    """Work on windows, each with the number of its first sentence, in so many processes.

    Each process calls ``begin`` first.
    """
    waiting: deque[tuple[Window, int, Future[Outcomes]]] = deque()
    threads = max(1, (os.cpu_count() or 1) // workers)
    context = get_context("spawn")
    listening, alive = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, context, _begin, (job, threads, listening, begin))
    try:
        for window, number in windows:
            with _uninterrupted_children():
                task = pool.submit(_work, window, number)
            waiting.append((window, number, task))
            while len(waiting) > AHEAD * workers or (waiting and waiting[0][2].done()):
                yield _outcome(*waiting.popleft())
        while waiting:
            yield _outcome(*waiting.popleft())
    except BaseException:
        alive.close()  # nobody wants what they are still doing
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _uninterrupted_children() -> Iterator[None]:
    """Processes that are started inside leave Ctrl-C to the one that starts them."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _outcome(window: Window, number: int, future: "Future[Outcomes]") -> tuple[Window, int, Outcomes]:
    try:
        return window, number, future.result()
    except BrokenProcessPool:
        raise DiscotreeError("a worker process has died: too many for the memory, or no device for all?") from None


_worker: Worker | DiscotreeError


def _begin(job: Job, threads: int, listening: "Connection", begin: Callable[[], None]) -> None:
    """What a new process does first. It ends when the one that started it closes the other end, or ends itself."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(listening,), daemon=True).start()
    begin()
    try:
        import torch

        torch.set_num_threads(threads)
        _worker = Worker(job)
    except SENTENCE_ERRORS as error:
        _worker = DiscotreeError(f"a worker process cannot begin: {error}")


def _end_with(listening: "Connection") -> None:
    with suppress(EOFError, OSError):
        listening.recv()
    os._exit(1)


def _work(window: Window, number: int) -> Outcomes:
    if isinstance(_worker, DiscotreeError):
        raise _worker
    return _worker(window, number)
