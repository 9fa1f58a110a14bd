"""Parsing the sentences of concurrent requests in shared batches.

Each model has two queues with a thread each, for short and for long sentences, so that a short sentence never waits for
one of a thousand words. In a queue, clients take turns, and so do the requests of a client: a batch takes one sentence
of each in turn, up to a number of words. A batch never waits for further requests. A cancelled request leaves the queue
after the current batch.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace
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


class Batcher:
    """A parser with its two queues."""

    def __init__(self, parser: "Parser", limits: Limits | None = None) -> None:
        self.parser = parser
        self.limits = limits or Limits()
        self.batch_words = CPU_BATCH_WORDS if parser.device == "cpu" else parser._batch_words
        self.changed = threading.Condition()
        self.is_closed = False
        self.queues: dict[bool, FairQueue[QueuedRequest]] = {False: FairQueue(), True: FairQueue()}  # by is_long
        for queue in self.queues.values():
            threading.Thread(target=self._work, args=[queue], name="parsing", daemon=True).start()

    @property
    def queued_words(self) -> int:
        """The number of words that wait."""
        return sum(request.words_left for queue in self.queues.values() for request in queue if request.is_open)

    def submit(
        self, sentences: Sequence[Sequence[Token]], options: ParseOptions, client: str = ""
    ) -> "Future[TreeLists]":
        """Queue sentences, none of them empty, or refuse them if too many words are waiting."""
        request = QueuedRequest(sentences, replace(options, constraints=()), options.constraints)
        with self.changed:
            client_words = sum(
                other.words_left for queue in self.queues.values() for other in queue.of(client) if other.is_open
            )
            self._check(self.queued_words, request.words_left, self.limits.queued_words)
            self._check(client_words, request.words_left, self.limits.queued_words // 2)
            self.queues[request.is_long].add(client, request)
            self.changed.notify_all()
        return request.result

    def _check(self, queued: int, added: int, maximum: int) -> None:
        """Refuse a request if the queue would be too long. In an empty queue, a request may exceed the maximum."""
        if self.is_closed or (queued and queued + added > maximum):
            raise RequestRefused(503, "too many sentences are waiting for this model; try again later")

    def close(self) -> None:
        """Finish the current batches and refuse all requests that are still waiting."""
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()

    def _work(self, queue: FairQueue[QueuedRequest]) -> None:
        while batch := self._next_batch(queue):
            self._parse(batch)
            del batch  # the thread keeps no texts while it waits
        for request in queue:
            _fail(request, RequestRefused(503, "the server is shutting down"))

    def _next_batch(self, queue: FairQueue[QueuedRequest]) -> Batch:
        """Wait for requests and return a batch; return an empty one if the batcher is closed."""
        with self.changed:
            while not self.is_closed:
                queue.discard(lambda request: not request.is_open)
                if queue:
                    return self._take_batch(queue)
                self.changed.wait()
            return []

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
            for request, _ in batch:
                _fail(request, RequestRefused(500, "internal server error"))
            return
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
