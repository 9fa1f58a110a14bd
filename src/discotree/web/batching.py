"""Parsing the sentences of concurrent requests in shared batches.

Each model has two queues, for short and for long sentences, so that a short sentence never waits for one of a thousand
words. In a queue, clients take turns, and so do the requests of a client: a batch takes one sentence of each in turn,
up to a number of words. A batch waits only for the batch before it, and a full batch does not wait at all. A cancelled
request leaves the queue after the current batch.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from discotree.log import logger
from discotree.parsing.parser import Constraints, Failure, ParseOptions, k_best_each
from discotree.trees.tree import Token, Tree
from discotree.web.limits import FairQueue, Limits, RequestRefused

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

CPU_BATCH_WORDS = 512  # larger batches gain little on a CPU and delay other requests
K_BEST_BATCH_WORDS = 64  # k-best parsing is much slower and takes one sentence at a time
MAX_SHORT_WORDS = 100  # longest sentence in the queue of short ones
MAX_SHORT_K_BEST_WORDS = 40

THREADS = {False: 2, True: 1}  # for short and long sentences: one decodes a full batch while the other scores the next

TreeLists = list[list[Tree]]  # per sentence: its tree, or its k best trees


@dataclass(eq=False)
class QueuedRequest:
    """Sentences to parse, and the future of their trees. Only requests with equal options share a batch.

    Cancelling the future removes the request from the queue.
    """

    sentences: Sequence[Sequence[Token]]
    options: ParseOptions  # without constraints, which differ between the sentences of a batch
    constraints: Sequence[Constraints] = ()  # for every sentence; () if there are none
    result: "Future[TreeLists]" = field(default_factory=Future)
    taken: int = 0  # sentences parsed or in the current batch
    words_left: int = 0
    trees: dict[int, list[Tree]] = field(default_factory=dict)  # by the index of the sentence

    def __post_init__(self) -> None:
        self.words_left = sum(map(len, self.sentences))

    @property
    def is_open(self) -> bool:
        return self.taken < len(self.sentences) and not self.result.done()

    @property
    def is_long(self) -> bool:
        """Whether one of the sentences is long."""
        return max(map(len, self.sentences)) > (MAX_SHORT_K_BEST_WORDS if self.options.k else MAX_SHORT_WORDS)

    def take(self) -> int:
        """Return the index of the next sentence."""
        index = self.taken
        self.taken += 1
        self.words_left -= len(self.sentences[index])
        return index


Batch = list[tuple[QueuedRequest, int]]  # requests, each with the index of one of its sentences


@dataclass(eq=False)
class Lane:
    """A queue and its threads, which wait for the condition."""

    changed: threading.Condition
    queue: FairQueue[QueuedRequest] = field(default_factory=FairQueue)
    words: int = 0  # upper bound of the waiting words: counting them for each request would take too long
    parsing: int = 0  # batches that are being parsed


class Batcher:
    """A parser with its two queues."""

    def __init__(
        self,
        parser: "Parser",
        limits: Limits | None = None,
        call: Callable[[Callable[[], None]], None] = lambda finish: finish(),
    ) -> None:
        """``call`` calls a function that sets the results of a batch; a server does this in its event loop."""
        self.parser = parser
        self.limits = limits or Limits()
        self.call = call
        self.batch_words = CPU_BATCH_WORDS if parser.device == "cpu" else parser._batch_words
        self.lock = threading.RLock()
        self.is_closed = False
        self.lanes = {is_long: Lane(threading.Condition(self.lock)) for is_long in THREADS}
        for is_long, threads in THREADS.items():
            for _ in range(threads):
                threading.Thread(target=self._work, args=[self.lanes[is_long]], name="parsing", daemon=True).start()

    @property
    def queued_words(self) -> int:
        """The number of words that wait."""
        return sum(request.words_left for lane in self.lanes.values() for request in lane.queue if request.is_open)

    def submit(
        self, sentences: Sequence[Sequence[Token]], options: ParseOptions, client: str = ""
    ) -> "Future[TreeLists]":
        """Queue sentences, none of them empty, or refuse them if too many words are waiting."""
        request = QueuedRequest(sentences, replace(options, constraints=()), options.constraints)
        with self.lock:
            self._check(request.words_left, client)
            lane = self.lanes[request.is_long]
            lane.words += request.words_left
            lane.queue.add(client, request)
            if self._is_ready(lane):
                lane.changed.notify()
        return request.result

    def _check(self, words: int, client: str) -> None:
        """Refuse a request if the queue would be too long. In an empty queue, a request may exceed the maximum."""
        maximum, is_full = self.limits.queued_words, self.is_closed
        if not is_full and sum(lane.words for lane in self.lanes.values()) + words > maximum // 2:
            of_client = (request for lane in self.lanes.values() for request in lane.queue.of(client))
            queued, own = self.queued_words, sum(request.words_left for request in of_client if request.is_open)
            is_full = bool(queued and queued + words > maximum) or bool(own and own + words > maximum // 2)
        if is_full:
            raise RequestRefused(503, "too many sentences are waiting for this model; try again later")

    def close(self) -> None:
        """Finish the current batches and refuse all requests that are still waiting."""
        with self.lock:
            self.is_closed = True
            for lane in self.lanes.values():
                lane.changed.notify_all()

    def _work(self, lane: Lane) -> None:
        while batch := self._next_batch(lane):
            self._parse(batch)
            del batch  # the thread keeps no texts while it waits
            with self.lock:
                lane.parsing -= 1
        for request in lane.queue:
            self.call(partial(_fail, request, RequestRefused(503, "the server is shutting down")))

    def _next_batch(self, lane: Lane) -> Batch:
        """Wait for requests and return a batch; return an empty one if the batcher is closed."""
        with self.lock:
            while not self.is_closed:
                lane.queue.discard(lambda request: not request.is_open)
                if self._is_ready(lane):
                    batch = self._take_batch(lane.queue)
                    lane.words = sum(request.words_left for request in lane.queue)
                    lane.parsing += 1
                    return batch
                lane.changed.wait()
            return []

    def _is_ready(self, lane: Lane) -> bool:
        """Return whether to parse a batch: no other one is being parsed, or this one is full."""
        return bool(lane.queue) and (not lane.parsing or lane.words >= self.batch_words)

    def _take_batch(self, queue: FairQueue[QueuedRequest]) -> Batch:
        batch: Batch = []
        words_left = self.batch_words

        def fits(request: QueuedRequest) -> bool:
            return not batch or request.options == batch[0][0].options

        while words_left > 0 and (next_item := queue.take(fits)):
            client, request = next_item
            if not batch and request.options.k:
                words_left = min(words_left, K_BEST_BATCH_WORDS)
            index = request.take()
            batch.append((request, index))
            words_left -= len(request.sentences[index])
            if request.is_open:
                queue.add(client, request)
        return batch

    def _parse(self, batch: Batch) -> None:
        sentences = [request.sentences[index] for request, index in batch]
        constraints = [request.constraints[index] if request.constraints else () for request, index in batch]
        try:
            options = replace(batch[0][0].options, constraints=constraints)
            outcomes = list(k_best_each(self.parser, sentences, options))
        except Exception as error:  # the parser is broken; the thread must survive to answer later requests
            logger.error("cannot parse a batch: %r", error, exc_info=error)
            outcomes = [Failure(RequestRefused(500, "internal server error"))] * len(batch)
        self.call(partial(_finish, batch, outcomes))


def _finish(batch: Batch, outcomes: "Sequence[list[Tree] | Failure]") -> None:
    """Set the results of requests whose last sentence has been parsed."""
    for (request, index), outcome in zip(batch, outcomes, strict=True):
        if isinstance(outcome, Failure):
            _fail(request, outcome.error)
            continue
        request.trees[index] = outcome
        if len(request.trees) == len(request.sentences):
            with suppress(InvalidStateError):  # cancelled in the meantime
                request.result.set_result([request.trees[k] for k in range(len(request.sentences))])


def _fail(request: QueuedRequest, error: Exception) -> None:
    with suppress(InvalidStateError):
        request.result.set_exception(error)
