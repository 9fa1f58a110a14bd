"""Treebanks that the server searches, each through an index: ``discotree serve --treebank FILE``.

An index that ``discotree index`` has written next to the treebank is used if it is up to date. Otherwise the server
writes one at the start, into a cache folder, with the state of the treebank's files in a file beside it. The next start
finds it, and replaces it if the treebank has changed; another server that uses it then searches the new one.
"""

import hashlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from glob import glob, has_magic
from importlib import resources
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from discotree.errors import ConfigError, DiscotreeError, TreebankError
from discotree.files.writing import STANDARD_STREAM, base_name, stems
from discotree.log import logger
from discotree.queries.index import FORMAT, SUFFIX, Index, is_index, write_index
from discotree.queries.inventory import Inventory, explain
from discotree.queries.match import Match, TreeView
from discotree.queries.query import Query
from discotree.treebanks import files, read
from discotree.trees.tree import Tree
from discotree.version import __version__
from discotree.web.limits import RequestRefused

NAMED = re.compile(r"(?P<name>[^=/\\:*?\[\]]+)=(?P<files>.+)")  # tiger=corpora/tiger.xml
SAMPLES = {"Sample: German": "german.export", "Sample: Dutch": "dutch.discbracket"}
MAX_NAME_CHARACTERS = 100
INVENTORY = {"labels": "cat", "tags": "pos", "functions": "edge"}  # features that the page completes
MAX_INVENTORY = 500  # values of each


# Searching


class TreeSource:
    """Trees to search, numbered from 1: trees in memory, or the indexes of a treebank, which close with the process."""

    def __init__(self, trees: Sequence[Tree] = (), name: str = "", indexes: Sequence[str] = ()) -> None:
        self.trees = trees
        self.name = name
        with self._hide_paths():
            self.indexes = [Index(path) for path in indexes]
        self.size = len(trees) + sum(index.last for index in self.indexes)

    def candidates(self, query: Query, start: int) -> Iterator[tuple[int, TreeView]]:
        """Yield the trees that may match, with their numbers, beginning at the number ``start``."""
        yield from enumerate(map(TreeView, self.trees[start - 1 :]), start)
        before = 0
        with self._hide_paths():
            for index in self.indexes:
                for number, view in index.candidate_views(query, max(start - before, 1)):
                    yield before + number, view
                before += index.last

    def explain(self, query: Query) -> list[str]:
        """Return the reasons why a query matches nothing."""
        with self._hide_paths():
            return explain(query, map(TreeView, self.trees), self.indexes)

    @contextmanager
    def _hide_paths(self) -> Iterator[None]:
        """Log errors of an index, whose paths clients must not see."""
        try:
            yield
        except TreebankError as error:
            logger.error("cannot read the treebank %r: %s", self.name, error)
            message = f"cannot read the treebank {self.name!r}; see the log of the server"
            raise RequestRefused(500, message) from None


class TimedSearch:
    """All matches, beginning at a tree, until the processor time is spent."""

    def __init__(self, source: TreeSource, query: Query, start: int, seconds: float) -> None:
        self.source = source
        self.query = query
        self.seconds = seconds
        self.next = start  # the tree to continue at

    def __iter__(self) -> Iterator[tuple[int, Iterator[Match]]]:
        """Yield the number of each tree with its matches. The time is checked between trees."""
        end = time.process_time() + self.seconds
        for number, view in self.source.candidates(self.query, self.next):
            self.next = number
            yield number, self.query.matches_in(view)
            self.next = number + 1
            if time.process_time() > end:  # after the first tree, so that every search makes progress
                return
        self.next = self.source.size + 1

    @property
    def searched(self) -> int:
        """The number of trees searched so far."""
        return min(self.next - 1, self.source.size)

    @property
    def cursor(self) -> dict[str, int] | None:
        """Where to continue; None at the end of the treebank."""
        return {"start": self.next, "skip": 0} if self.next <= self.source.size else None


# Opening treebanks


@dataclass(frozen=True)
class ServedTreebank:
    """A treebank and its indexes; a sample is a small file of the package and has no index."""

    name: str
    trees: int
    indexes: tuple[str, ...] = ()
    sample: str = ""
    inventory: dict[str, list[str]] = field(default_factory=dict)  # frequent labels, tags and functions

    def open(self) -> TreeSource:
        return TreeSource(_read_sample(self.sample) if self.sample else (), self.name, self.indexes)


def _read_sample(name: str) -> list[Tree]:
    with resources.as_file(resources.files("discotree.treebanks") / "samples" / name) as path:
        return list(read(path))


def samples() -> dict[str, ServedTreebank]:
    """Return the sample treebanks, which every server has."""
    return {name: _describe(name, sample=file) for name, file in SAMPLES.items()}


def _describe(name: str, indexes: tuple[str, ...] = (), sample: str = "") -> ServedTreebank:
    """Return a treebank with its size and inventory."""
    trees = _read_sample(sample) if sample else []
    with ExitStack() as stack:
        opened = [stack.enter_context(Index(path)) for path in indexes]
        inventory = Inventory(INVENTORY.values(), map(TreeView, trees), opened)
        size = len(trees) + sum(index.last for index in opened)
    frequent = {kind: inventory.frequent(feature, MAX_INVENTORY) for kind, feature in INVENTORY.items()}
    return ServedTreebank(name, size, indexes, sample, frequent)


def open_treebanks(
    arguments: Sequence[str], folder: str | None = None, progress: Any = None
) -> dict[str, ServedTreebank]:
    """Return treebanks by name, each with an index; new indexes are written to ``folder``.

    An argument is a file, a folder, an archive, an index or a pattern, optionally preceded by ``NAME=``.
    """
    by_name: dict[str, list[str]] = {}
    for argument in arguments:  # check all arguments before the first index is written
        name, paths = _name_and_paths(argument)
        if name in by_name or name in SAMPLES:
            raise ConfigError(f"two treebanks have the name {name!r}; pass --treebank NAME={argument}")
        by_name[name] = paths
    treebanks: dict[str, ServedTreebank] = {}
    folder = os.path.abspath(folder or user_cache_path("discotree") / "indexes")
    for name, paths in by_name.items():
        treebanks[name] = _describe(name, tuple(_indexes(name, paths, folder, progress)))
    return treebanks


def _name_and_paths(argument: str) -> tuple[str, list[str]]:
    """Return the public name of a treebank and the paths of its files."""
    named = None if os.path.exists(argument) else NAMED.fullmatch(argument)
    pattern = named["files"] if named else argument
    if pattern == STANDARD_STREAM:
        raise ConfigError("--treebank - is not supported; pass a file")
    paths = [pattern]
    if not os.path.exists(pattern) and has_magic(pattern):
        paths = sorted(glob(pattern, recursive=True))
        if not paths:
            raise DiscotreeError(f"{pattern}: no file matches this pattern")
    for path in paths:
        if not os.path.exists(path):
            raise TreebankError("no such file", path)
    if named:
        return named["name"].strip()[:MAX_NAME_CHARACTERS], paths
    first = Path(os.path.abspath(paths[0]))
    source = first if len(paths) == 1 else first.parent
    name = source.name.removesuffix(SUFFIX)
    name = name if source.is_dir() else base_name(name).rpartition(".")[0] or name
    return name[:MAX_NAME_CHARACTERS], paths


def _indexes(name: str, paths: Sequence[str], folder: str, progress: Any) -> Iterator[str]:
    """Yield the indexes among the paths, and one for all other paths together."""
    yield from filter(is_index, paths)
    others = [path for path in paths if not is_index(path)]
    if not others:
        return
    state = _file_state(others)
    neighbour = others[0].rstrip("/\\") + SUFFIX
    if len(others) == 1 and os.path.exists(neighbour):
        if os.stat(neighbour).st_mtime_ns < max(modified for _, _, modified in state):
            logger.warning("%s is not used because it is older than the treebank", neighbour)
        elif _is_readable(neighbour):
            yield neighbour
            return
    yield _find_or_write(name, others, state, folder, progress)


def _is_readable(path: str) -> bool:
    try:
        with Index(path):
            return True
    except TreebankError as error:
        logger.warning("%s; the index is not used", error)
        return False


FileState = list[tuple[str, int, int]]  # path, size and time of modification


def _file_state(paths: Sequence[str]) -> FileState:
    state = []
    for path in paths:
        for file in [os.path.join(path, name) for name in files(path)] if os.path.isdir(path) else [path]:
            status = os.stat(file)
            state.append((os.path.realpath(file), status.st_size, status.st_mtime_ns))
    if not state:
        raise TreebankError("contains no treebank file", paths[0])
    return state


def _find_or_write(name: str, paths: Sequence[str], state: FileState, folder: str, progress: Any) -> str:
    """Return the index of some files in this state; write it if necessary."""
    path = Path(folder) / f"{re.sub(r'[^0-9A-Za-z_.-]+', '_', name)}-{_digest(*map(os.path.realpath, paths))}{SUFFIX}"
    indexed = path.with_suffix(".state")
    digest = _digest(__version__, FORMAT, *state)
    if path.exists() and indexed.exists() and indexed.read_text() == digest:
        return str(path)
    try:
        path.parent.mkdir(0o700, parents=True, exist_ok=True)  # others may not be allowed to read the treebank
    except OSError as error:
        raise DiscotreeError(f"{folder}: cannot create the folder for the index of {name}: {error.strerror}") from None
    try:
        write_index(_read_all(paths, progress), path)
    except TreebankError as error:
        raise DiscotreeError(
            f"{error}\n{name}: cannot index the treebank. To skip broken trees or to set a format, write an index with "
            "discotree index, and pass it to --treebank"
        ) from None
    indexed.write_text(digest)
    return str(path)


def _read_all(paths: Sequence[str], progress: Any) -> Iterator[Tree]:
    on_bytes = progress.on_bytes if progress else None
    prefixes = stems(list(paths)) if len(paths) > 1 else [""]
    if progress:
        progress.expect("indexing", paths)
    trees = (
        tree for path, stem in zip(paths, prefixes, strict=True) for tree in read(path, stem=stem, on_bytes=on_bytes)
    )
    yield from progress.track(trees) if progress else trees


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]
