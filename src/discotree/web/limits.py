"""Limits on requests, and the sharing of queues and memory between clients."""

import random
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from discotree.trees.tree import Tree

MIB = 2**20
SMALL_BODY_BYTES = 2**16  # smaller bodies are read in threads and do not count as memory in use
MAX_SPREAD = 0.25
# One tree
MAX_WORD_CHARACTERS = 1000
MAX_CONSTITUENTS = 5000  # drawing time grows with their square
MAX_SECONDARY_EDGES = 1000  # drawing time grows with their square

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one server. Each value is a maximum."""

    body_bytes: int = 16 * MIB
    response_bytes: int = 32 * MIB
    request_words: int = 10_000  # in a text to parse
    sentence_words: int = 1000  # in a sentence to parse or a tree to draw
    treebank_trees: int = 20_000  # in an uploaded treebank
    queued_words: int = 20_000  # waiting to be parsed, per model; one client may have half of them
    worker_jobs: int = 2  # jobs that run at the same time: drawing, uploads, search
    worker_seconds: float = 20.0  # processor time of a job, so a busy machine does not shorten it
    worker_bytes: int = 320 * MIB  # memory of a job
    search_seconds: float = 5.0  # processor time of a search; the response says where to continue
    timeout_seconds: float = 60.0  # from request to response
    connections: int = 2000  # a new connection replaces the one that has been idle longest


class RequestRefused(Exception):
    """A request that the server refuses, with the HTTP status and further fields of the error response."""

    def __init__(self, status: int, message: str, fields: Mapping[str, object] | None = None) -> None:
        super().__init__(status, message, fields)
        self.status = status
        self.message = message
        self.fields = fields or {}

    def __str__(self) -> str:
        return self.message


def spread(seconds: float) -> float:
    """Add jitter to a timeout so that simultaneous connections do not expire together."""
    return seconds * random.uniform(1, 1 + MAX_SPREAD)


def size_problem(tree: Tree, limits: Limits) -> str:
    """Return the reason why a tree is too large to show, or an empty string."""
    texts = [text for token in tree.tokens for text in token]
    texts += [text for node in tree.nodes() for text in (node.label, node.function)]
    for amount, unit, maximum in (
        (len(tree), "words", limits.sentence_words),
        (sum(1 for _ in tree.nodes()), "constituents", MAX_CONSTITUENTS),
        (len(tree.secondary), "secondary edges", MAX_SECONDARY_EDGES),
        (max(map(len, texts)), "characters in a word or label", MAX_WORD_CHARACTERS),
    ):
        if amount > maximum:
            return f"sentence {tree.id} has {amount:,} {unit}; at most {maximum:,} can be shown"
    return ""


@dataclass
class ByteBudget:
    """Memory for large request or response bodies. One client gets only a part of it; small bodies do not count."""

    total_bytes: int
    client_bytes: int
    used: Counter[str] = field(default_factory=Counter)  # by client

    def reserve(self, client: str, size: int) -> bool:
        """Reserve memory for a body; return False if the budget is exhausted."""
        if size <= SMALL_BODY_BYTES:
            return True
        if self.used.total() + size > self.total_bytes or self.used[client] + size > self.client_bytes:
            return False
        self.used[client] += size
        return True

    def release(self, client: str, size: int) -> None:
        """Return reserved memory to the budget."""
        if size > SMALL_BODY_BYTES:
            self.used[client] -= size
            if not self.used[client]:
                del self.used[client]


class FairQueue(Generic[T]):
    """A queue in which clients take turns, whatever the number of their items. A client's items keep their order."""

    def __init__(self) -> None:
        self.clients: OrderedDict[str, deque[T]] = OrderedDict()  # the client to be served next comes first

    def __iter__(self) -> Iterator[T]:
        return (item for items in self.clients.values() for item in items)

    def __len__(self) -> int:
        return sum(map(len, self.clients.values()))

    def of(self, client: str) -> Iterator[T]:
        """Return the items of one client."""
        return iter(self.clients.get(client, ()))

    def add(self, client: str, item: T) -> None:
        """Add an item behind the client's other items."""
        self.clients.setdefault(client, deque()).append(item)

    def take(self, fits: Callable[[T], bool] = lambda _: True) -> tuple[str, T] | None:
        """Remove the next item that fits and return it with its client, or None."""
        for client, items in self.clients.items():
            for index, item in enumerate(items):
                if fits(item):
                    del items[index]
                    self.clients.move_to_end(client)
                    if not items:
                        del self.clients[client]
                    return client, item
        return None

    def discard(self, unwanted: Callable[[T], bool]) -> None:
        """Remove all items for which ``unwanted`` is true."""
        for client in list(self.clients):
            items = deque(item for item in self.clients[client] if not unwanted(item))
            if items:
                self.clients[client] = items
            else:
                del self.clients[client]
