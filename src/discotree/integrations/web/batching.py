"""One thread for each model, which parses together what several clients ask for at the same time.

Sentences are taken in turn, one of each request, up to a number of words. So a short request never waits for the whole
of a long one, and a request that is alone does not wait at all.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from discotree.config import Method
from discotree.integrations.web.limits import Refused
from discotree.trees.tree import Token, Tree

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

TURN_WORDS = 512  # of one batch on a CPU: a larger one is hardly more efficient, and makes everybody wait
WAITING = "too many sentences are waiting for this model: try again later"

Sentence = Sequence[Token]
Trees = list[list[Tree]]  # for every sentence its tree, or its k best


class Manner(NamedTuple):
    """How sentences are parsed: only those that agree in it are parsed together."""

    decode: Method | None = None  # None: as the model's configuration says
    k: int = 0  # 0: the one tree that decoding finds


@dataclass(eq=False)
class Request:
    """Some sentences, and a promise of their trees. Whoever has waited too long cancels it."""

    sentences: Sequence[Sentence]
    manner: Manner
    answer: "Future[Trees]" = field(default_factory=Future)
    taken: int = 0  # sentences that are parsed, or being parsed
    found: dict[int, list[Tree]] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        return self.taken < len(self.sentences) and not self.answer.done()

    @property
    def words_left(self) -> int:
        return sum(map(len, self.sentences[self.taken :]))


Batch = list[tuple[Request, int]]  # requests with the numbers of their sentences


class Batcher:
    """A parser with its queue. Without ``together``, requests are parsed one after the other."""

    def __init__(self, parser: "Parser", queued_words: int, together: bool = True, retry: int = 1) -> None:
        self.parser = parser
        self.queued_words = queued_words
        self.together = together
        self.retry = retry
        self.turn_words = TURN_WORDS if parser.device.type == "cpu" else parser.batch_words
        self.waiting: list[Request] = []
        self.changed = threading.Condition()
        self.is_closed = False
        threading.Thread(target=self._work, name="parsing", daemon=True).start()

    def submit(self, sentences: Sequence[Sentence], manner: Manner) -> "Future[Trees]":
        """Put sentences into the queue, or refuse them if too many are there."""
        request = Request(sentences, manner)
        with self.changed:
            queued = sum(other.words_left for other in self.waiting if other.is_open)
            if self.is_closed or (queued and queued + request.words_left > self.queued_words):
                raise Refused(503, WAITING, self.retry)
            self.waiting.append(request)
            self.changed.notify()
        return request.answer

    def close(self) -> None:
        """Finish the batch at hand; whoever still waits is told."""
        with self.changed:
            self.is_closed = True
            self.changed.notify()

    def _work(self) -> None:
        while batch := self._take():
            self._parse(batch)
        for request in self.waiting:
            _fail(request, Refused(503, "the server is being stopped", self.retry))

    def _take(self) -> Batch:
        """The sentences that come next; none when all is over."""
        with self.changed:
            while not self.is_closed:
                self.waiting = [request for request in self.waiting if request.is_open]
                if self.waiting:
                    return self._turn()
                self.changed.wait()
            return []

    def _turn(self) -> Batch:
        first = self.waiting[0]
        alike = [request for request in self.waiting if request.manner == first.manner] if self.together else [first]
        batch: Batch = []
        room = self.turn_words
        while alike and room > 0:
            for request in alike:
                batch.append((request, request.taken))
                room -= len(request.sentences[request.taken])
                request.taken += 1
            alike = [request for request in alike if request.is_open]
        if self.together:  # those that had no turn are the next
            self.waiting.sort(key=lambda request: request.manner == first.manner)
        return batch

    def _parse(self, batch: Batch) -> None:
        sentences = [request.sentences[number] for request, number in batch]
        try:
            trees = self._trees(sentences, batch[0][0].manner)
        except Exception as error:  # whatever it was, the thread must live, and the others want their trees
            if len({id(request) for request, _ in batch}) == 1:
                _fail(batch[0][0], error)
            else:
                for item in batch:
                    self._parse([item])
            return
        for (request, number), found in zip(batch, trees, strict=True):
            request.found[number] = found
            if len(request.found) == len(request.sentences):
                with suppress(InvalidStateError):  # cancelled meanwhile
                    request.answer.set_result([request.found[k] for k in range(len(request.sentences))])

    def _trees(self, sentences: Sequence[Sentence], manner: Manner) -> Trees:
        if manner.k:
            return [self.parser.k_best(sentence, manner.k) for sentence in sentences]
        settings = self.parser.config.decoding
        if manner.decode:
            settings = replace(settings, method=manner.decode)
        tags = [[token.tag for token in sentence] for sentence in sentences] if self.parser.has_tags else []
        return [[tree] for tree in self.parser.parse_tokens(sentences, tags, settings)]


def _fail(request: Request, error: Exception) -> None:
    with suppress(InvalidStateError):
        request.answer.set_exception(error)
