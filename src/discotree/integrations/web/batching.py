"""One thread per model, which parses the sentences of concurrent requests in shared batches.

A batch takes one sentence of each waiting request in turn, up to a number of words. A short request never waits for
all of a long one, and a request that is alone never waits for company.
"""

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discotree.integrations.web.limits import RequestRefused
from discotree.parsing.resilient import Failure, ParseOptions, k_best_each
from discotree.trees.tree import Token, Tree

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

CPU_BATCH_WORDS = 512  # larger batches gain little on a CPU and make everybody wait

TokenSequence = Sequence[Token]
TreeLists = list[list[Tree]]  # per sentence: its tree, or its k best trees

logger = logging.getLogger("discotree")


@dataclass(eq=False)
class QueuedRequest:
    """Sentences to parse, and the future of their trees. Only requests with equal options share a batch.

    A client that stops waiting cancels the future.
    """

    sentences: Sequence[TokenSequence]
    options: ParseOptions
    result: "Future[TreeLists]" = field(default_factory=Future)
    taken: int = 0  # sentences parsed or in the current batch
    trees: dict[int, list[Tree]] = field(default_factory=dict)  # by the index of the sentence

    @property
    def is_open(self) -> bool:
        return self.taken < len(self.sentences) and not self.result.done()

    @property
    def words_left(self) -> int:
        return sum(map(len, self.sentences[self.taken :]))


Batch = list[tuple[QueuedRequest, int]]  # requests with the index of a sentence each


class Batcher:
    """A parser with its queue and its thread. With ``shared`` off, each batch belongs to one request."""

    def __init__(self, parser: "Parser", max_queued_words: int, shared: bool = True, retry_seconds: int = 1) -> None:
        self.parser = parser
        self.max_queued_words = max_queued_words
        self.shared = shared
        self.retry_seconds = retry_seconds
        self.batch_words = CPU_BATCH_WORDS if parser.device.type == "cpu" else parser.batch_words
        self.queue: list[QueuedRequest] = []
        self.changed = threading.Condition()
        self.is_closed = False
        threading.Thread(target=self._work, name="parsing", daemon=True).start()

    def submit(self, sentences: Sequence[TokenSequence], options: ParseOptions) -> "Future[TreeLists]":
        """Queue sentences, or refuse them when too many words are waiting."""
        request = QueuedRequest(sentences, options)
        with self.changed:
            queued = sum(other.words_left for other in self.queue if other.is_open)
            if self.is_closed or (queued and queued + request.words_left > self.max_queued_words):
                message = "too many sentences are waiting for this model: try again later"
                raise RequestRefused(503, message, self.retry_seconds)
            self.queue.append(request)
            self.changed.notify()
        return request.result

    def close(self) -> None:
        """Finish the current batch and refuse all requests that are still waiting."""
        with self.changed:
            self.is_closed = True
            self.changed.notify()

    def _work(self) -> None:
        while batch := self._next_batch():
            self._parse(batch)
        for request in self.queue:
            _fail(request, RequestRefused(503, "the server is shutting down", self.retry_seconds))

    def _next_batch(self) -> Batch:
        """Wait for requests and return a batch of them; an empty one when the batcher is closed."""
        with self.changed:
            while not self.is_closed:
                self.queue = [request for request in self.queue if request.is_open]
                if self.queue:
                    return self._take_batch()
                self.changed.wait()
            return []

    def _take_batch(self) -> Batch:
        first = self.queue[0]
        chosen = [request for request in self.queue if request.options == first.options] if self.shared else [first]
        batch: Batch = []
        words_left = self.batch_words
        while chosen and words_left > 0:
            for request in chosen:
                batch.append((request, request.taken))
                words_left -= len(request.sentences[request.taken])
                request.taken += 1
            chosen = [request for request in chosen if request.is_open]
        if self.shared:  # requests with other options come next
            self.queue.sort(key=lambda request: request.options == first.options)
        return batch

    def _parse(self, batch: Batch) -> None:
        sentences = [request.sentences[index] for request, index in batch]
        try:
            outcomes = list(k_best_each(self.parser, sentences, batch[0][0].options))
        except Exception as error:  # the parser does not work; the thread must survive all the same
            logger.error("a batch cannot be parsed: %r", error, exc_info=error)
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
