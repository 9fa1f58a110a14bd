"""Searching as work that one process does, or several: what to do (`SearchJob`), pieces of it, and what comes back.

Matches do not leave the process that found them. What is made of them does: lines, rows, keys to count by, or trees.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from discotree.errors import DiscotreeError, TreebankError
from discotree.queries.index import Index
from discotree.queries.index_writing import IndexBatch, index_batch
from discotree.queries.match import Match
from discotree.queries.query import Query
from discotree.queries.rows import GroupKey, row
from discotree.queries.tree_view import TreeView
from discotree.treebanks import read
from discotree.treebanks.pieces import FilePiece, SentencePiece
from discotree.treebanks.source import ErrorHandler, stop
from discotree.trees.transforms import Punctuation, transform
from discotree.trees.tree import Tree

TOGETHER = 1000  # matches of a tree, or trees for an index, that are in memory at a time

Items = Literal["lines", "rows", "keys", "trees", "drawings", "nothing"]


class TreebankFile(NamedTuple):
    """A whole file on disk."""

    path: str
    format: str | None
    encoding: str | None
    stem: str


class IndexedTrees(NamedTuple):
    """Some trees of an index."""

    path: str
    numbers: list[int]


Part = FilePiece | list[SentencePiece] | TreebankFile | IndexedTrees
"""A part of the work. All but open files can go to another process."""


class Hits(NamedTuple):
    """Matches in one tree: how many, and what is made of them, an item for each or one for the tree."""

    matches: int
    items: list[Any]
    is_new_tree: bool


Found = TypeVar("Found")


@dataclass(frozen=True)
class Outcome(Generic[Found]):
    """What another process found in a part, what it left out as broken, and what made it stop, if anything did."""

    found: list[Found]
    errors: list[TreebankError]
    failures: list[DiscotreeError]
    trees: int  # read


@dataclass(frozen=True)
class SearchJob:
    """What to search for, and what to make of matches."""

    query: str
    items: Items
    punctuation: Punctuation = "keep"
    skip_broken: bool = False
    maximum: int = 0  # matches; 0 for all
    focus: str = ""
    width: int = 0
    keys: tuple[str, ...] = ()


class TreeReader:
    """Reads the trees of parts; the index that it read last stays open."""

    def __init__(self, punctuation: Punctuation) -> None:
        self.punctuation = punctuation
        self.on_tree: Callable[[], None] = _nothing  # called for every tree of a whole file
        self.index: Index | None = None
        self.count = 0  # trees read

    def trees(self, part: Part, on_error: ErrorHandler = stop) -> Iterator[Tree]:
        """Yield the trees of a part."""
        if isinstance(part, IndexedTrees):
            yield from self.opened(part.path).trees(part.numbers)
            return
        trees: Iterator[Tree]
        if isinstance(part, list):
            trees = (tree for piece in part for tree in piece.trees(on_error))
        elif isinstance(part, FilePiece):
            trees = part.trees(on_error)
        else:
            trees = read(part.path, part.format, encoding=part.encoding, stem=part.stem, on_error=on_error)
        for tree in trees:
            self.count += 1
            yield transform(tree, punctuation=self.punctuation)
            if not isinstance(part, list):
                self.on_tree()

    def views(self, part: Part, on_error: ErrorHandler = stop) -> Iterator[TreeView]:
        """Yield the trees of a part as queries see them; those of an index are not built."""
        if isinstance(part, IndexedTrees):
            return self.opened(part.path).views(part.numbers)
        return map(TreeView, self.trees(part, on_error))

    def opened(self, path: str) -> Index:
        """Return an index, open for reading."""
        if self.index is None or self.index.path != path:
            self.close()
            self.index = Index(path)
        return self.index

    def close(self) -> None:
        """Close the index that is open."""
        if self.index is not None:
            self.index.__exit__()
        self.index = None


def _nothing() -> None:
    pass


class Worker(ABC, Generic[Found]):
    """Works on parts, in this process (``stream``) or for another one (a call)."""

    def __init__(self, punctuation: Punctuation, skip_broken: bool) -> None:
        self.reader = TreeReader(punctuation)
        self.skip_broken = skip_broken

    @abstractmethod
    def stream(self, part: Part, on_error: ErrorHandler = stop) -> Iterator[Found]:
        """Yield what is found in a part, as it is found."""

    def __call__(self, part: Part) -> "Outcome[Found]":
        """Return all that is found in a part before something goes wrong, and what does."""
        found: list[Found] = []
        errors: list[TreebankError] = []
        failures: list[DiscotreeError] = []
        before = self.reader.count
        try:
            for one in self.stream(part, errors.append if self.skip_broken else stop):
                found.append(one)  # noqa: PERF402 - what comes before an error is kept
        except DiscotreeError as error:
            failures.append(error)
        return Outcome(found, errors, failures, self.reader.count - before)


class SearchWorker(Worker[Hits]):
    """Finds matches in trees, and makes something of them."""

    def __init__(self, job: SearchJob) -> None:
        super().__init__(job.punctuation, job.skip_broken)
        self.job = job
        self.query = Query(job.query)
        self.keys = [GroupKey(key, self.query) for key in job.keys]
        self.together = min(TOGETHER, job.maximum or TOGETHER)

    def stream(self, part: Part, on_error: ErrorHandler = stop) -> Iterator[Hits]:
        for view in self.reader.views(part, on_error):
            matches = self.query.matches_in(view)
            is_new = True
            while group := list(islice(matches, self.together)):
                yield Hits(len(group), self._items(group, is_new), is_new)
                is_new = False

    def _items(self, matches: list[Match], is_new_tree: bool) -> list[Any]:
        job, view = self.job, matches[0].view
        if job.items == "lines":
            return [f"{view.id}\t{match.concordance(job.width, job.focus)}" for match in matches]
        if job.items == "rows":
            return [row(match) for match in matches]
        if job.items == "keys":
            return [tuple([key.value(match) for key in self.keys]) for match in matches]
        if job.items == "trees":
            return [view.tree] if is_new_tree else []
        return [f"{view.id}\n{view.tree.draw()}\n"] if job.items == "drawings" and is_new_tree else []


class IndexWorker(Worker[IndexBatch]):
    """Makes parts of treebanks into parts of an index."""

    def stream(self, part: Part, on_error: ErrorHandler = stop) -> Iterator[IndexBatch]:
        trees = self.reader.trees(part, on_error)
        while group := list(islice(trees, TOGETHER)):
            yield index_batch(group)
