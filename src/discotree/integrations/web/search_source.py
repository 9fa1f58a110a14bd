"""Trees to search: an index on disk, or the trees of an upload in memory. Both are numbered from 1."""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from discotree.errors import TreebankError
from discotree.integrations.web.limits import RequestRefused
from discotree.queries.index import PART, Index
from discotree.queries.match import Match
from discotree.queries.query import Query
from discotree.queries.tree_view import TreeView
from discotree.trees.tree import Tree

logger = logging.getLogger("discotree")


class TreeSource(Protocol):
    """Trees that can be searched from any of them on."""

    size: int

    def possible(self, query: Query, start: int) -> Iterator[tuple[int, TreeView]]:
        """Yield the trees that may match as queries see them, from the number ``start`` on."""
        ...


class UploadedTrees:
    """Trees in memory."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        self.trees = trees
        self.size = len(trees)

    def possible(self, _: Query, start: int) -> Iterator[tuple[int, TreeView]]:
        yield from enumerate(map(TreeView, self.trees[start - 1 :]), start)


class ServedTrees(AbstractContextManager["ServedTrees"]):
    """The indexes of one treebank, one after the other. Their paths stay here: clients know the name alone."""

    def __init__(self, name: str, paths: Sequence[str]) -> None:
        self.name = name
        self.indexes: list[Index] = []
        try:
            for path in paths:
                self.indexes.append(Index(path))
            self.size = sum(index.last for index in self.indexes)
        except TreebankError as error:
            self.__exit__()
            raise self._failed(error) from None

    def __exit__(self, *_: object) -> None:
        for index in self.indexes:
            index.__exit__()

    def possible(self, query: Query, start: int) -> Iterator[tuple[int, TreeView]]:
        try:
            before = 0
            for index in self.indexes:
                last = index.last
                for number, view in _possible(index, query, start - before):
                    yield before + number, view
                before += last
        except TreebankError as error:
            raise self._failed(error) from None

    def _failed(self, error: TreebankError) -> RequestRefused:
        logger.error("the treebank %r cannot be read: %s", self.name, error)
        return RequestRefused(500, f"the treebank {self.name!r} cannot be read: the server's log says why")


def _possible(index: Index, query: Query, start: int) -> Iterator[tuple[int, TreeView]]:
    """Yield trees part by part, so that the lists of a large index are never in memory all at once."""
    start = max(start, 1)
    last = index.last
    for part in range((start - 1) // PART + 1, (last - 1) // PART + 2):
        first, end = max(start, (part - 1) * PART + 1), min(last, part * PART)
        listed = index.candidates(query, part)
        numbers = range(first, end + 1) if listed is None else [number for number in listed if number >= first]
        yield from zip(numbers, index.views(numbers), strict=True)


class TimedSearch:
    """All matches from a tree on, until the processor time is spent."""

    def __init__(self, source: TreeSource, query: Query, start: int, seconds: float) -> None:
        self.source = source
        self.query = query
        self.seconds = seconds
        self.next = start  # the tree that comes after those that are done

    def __iter__(self) -> Iterator[tuple[int, Iterator[Match]]]:
        """Yield the number of each tree with its matches. The time is looked at between trees."""
        end = time.process_time() + self.seconds
        for number, view in self.source.possible(self.query, self.next):
            self.next = number
            yield number, self.query.matches_in(view)
            self.next = number + 1
            if time.process_time() > end:  # not before the first tree: every search gets on
                return
        self.next = self.source.size + 1
