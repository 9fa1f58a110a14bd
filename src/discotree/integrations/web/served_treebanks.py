"""Treebanks that a server opens from the disk, read-only, each through an index: ``discotree serve --treebank FILE``.

An index that ``discotree index`` has made beside the treebank is used if it is not older. Otherwise one is made when
the server starts, in a folder for such files, under a name that says which state of which files it holds: the next
start finds it again, and a treebank that has changed gets a new one. The old one is removed then, if no server uses it.
"""

import hashlib
import logging
import os
import re
import sqlite3
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import dataclass, field
from glob import glob, has_magic
from importlib import resources
from pathlib import Path
from typing import Protocol
from weakref import finalize

from discotree.errors import ConfigError, DiscotreeError, TreebankError
from discotree.files.names import STANDARD_STREAM, base_name, stems
from discotree.integrations.web.search_source import ServedTrees, TreeSource, UploadedTrees
from discotree.queries.index import FORMAT, SUFFIX, Index, is_index, write_index
from discotree.treebanks import files, read
from discotree.trees.tree import Tree
from discotree.version import __version__

NAMED = re.compile(r"(?P<name>[^=/\\:*?\[\]]+)=(?P<files>.+)")  # tiger=corpora/tiger.xml
SAMPLES = {"Sample: German": "german.export", "Sample: Dutch": "dutch.discbracket"}
MAX_NAME_CHARACTERS = 100
LOCK_SECONDS = 5.0  # a server that looks whether an index is in use locks it for a moment
LEFT_OVER_SECONDS = 86_400  # an unfinished index that is older was left by a process that was killed

notices = logging.getLogger("discotree")


class Progress(Protocol):
    """Shows how far an index is."""

    def expect(self, description: str, paths: Sequence[str]) -> None: ...
    def on_bytes(self, count: int) -> None: ...
    def track(self, trees: Iterable[Tree]) -> Iterable[Tree]: ...


class IndexInUse:
    """Keeps other servers from removing an index, as long as the object lives."""

    def __init__(self, path: str) -> None:
        database = _connect(path, "ro")
        finalize(self, database.close)
        try:
            database.execute("BEGIN")
            database.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # locked for reading from here on
        except sqlite3.Error as error:
            raise TreebankError(f"cannot be locked: {error}", path) from None
        if not os.path.exists(path):
            raise TreebankError("another server has removed it in this moment: start again", path)


def _remove_unused(path: Path) -> None:
    """Remove an index, unless a server uses it; none can begin to while it is locked here."""
    with closing(_connect(str(path), "rw", 0)) as database:
        try:
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:  # it is locked
            return
        except sqlite3.DatabaseError:  # it is no index
            pass
        path.unlink()


def _connect(path: str, mode: str, timeout_seconds: float = LOCK_SECONDS) -> sqlite3.Connection:
    address = f"{Path(path).resolve().as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=timeout_seconds, isolation_level=None, check_same_thread=False)


@dataclass(frozen=True)
class ServedTreebank:
    """A treebank and the indexes that hold it; a sample has none, it is a small file of ours."""

    name: str
    trees: int
    indexes: tuple[str, ...] = ()
    sample: str = ""
    in_use: tuple[IndexInUse, ...] = field(default=(), compare=False, repr=False)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return ServedTreebank, (self.name, self.trees, self.indexes, self.sample)  # locks stay in the server's process

    def open(self) -> AbstractContextManager[TreeSource]:
        if self.sample:
            return nullcontext(UploadedTrees(_sample(self.sample)))
        return ServedTrees(self.name, self.indexes)


def _sample(name: str) -> list[Tree]:
    with resources.as_file(resources.files("discotree.treebanks") / "samples" / name) as path:
        return list(read(path))


def samples() -> dict[str, ServedTreebank]:
    """Return the treebanks that every server has."""
    return {name: ServedTreebank(name, len(_sample(file)), sample=file) for name, file in SAMPLES.items()}


def open_treebanks(
    arguments: Sequence[str], folder: str | None = None, progress: Progress | None = None
) -> dict[str, ServedTreebank]:
    """Return treebanks by their names, with an index for each; ``folder`` is where new indexes go.

    An argument is a file, a folder, an archive, an index or a pattern, with or without ``NAME=`` in front.
    """
    by_name: dict[str, list[str]] = {}
    for argument in arguments:  # all of them, before the first index is made
        name, paths = _named(argument)
        if name in by_name or name in SAMPLES:
            raise ConfigError(f"two treebanks are called {name!r}: choose a name, --treebank NAME={argument}")
        by_name[name] = paths
    found: dict[str, ServedTreebank] = {}
    folder = os.path.abspath(folder or cache_folder())
    for name, paths in by_name.items():
        indexes = tuple(_indexes(name, paths, folder, progress))
        trees = sum(map(_count_trees, indexes))
        in_use = tuple(IndexInUse(path) for path in indexes if os.path.dirname(path) == folder)
        found[name] = ServedTreebank(name, trees, indexes, in_use=in_use)
    return found


def _count_trees(path: str) -> int:
    with Index(path) as index:
        return index.last


def _named(argument: str) -> tuple[str, list[str]]:
    """Return the name of a treebank for clients, which need not know its path, and its files."""
    given = None if os.path.exists(argument) else NAMED.fullmatch(argument)
    pattern = given["files"] if given else argument
    if pattern == STANDARD_STREAM:
        raise ConfigError("--treebank -: a server reads treebanks from files")
    paths = [pattern]
    if not os.path.exists(pattern) and has_magic(pattern):
        paths = sorted(glob(pattern, recursive=True))
        if not paths:
            raise DiscotreeError(f"{pattern}: no file matches this pattern")
    for path in paths:
        if not os.path.exists(path):
            raise TreebankError("there is no such file", path)
    if given:
        return given["name"].strip()[:MAX_NAME_CHARACTERS], paths
    source = Path(os.path.abspath(paths[0]))
    chosen = source if len(paths) == 1 else source.parent
    name = chosen.name.removesuffix(SUFFIX)
    name = name if chosen.is_dir() else base_name(name).rpartition(".")[0] or name
    return name[:MAX_NAME_CHARACTERS], paths


def _indexes(name: str, paths: Sequence[str], folder: str, progress: Progress | None) -> Iterator[str]:
    """Yield the indexes among the paths, and one for all others together."""
    yield from filter(is_index, paths)
    others = [path for path in paths if not is_index(path)]
    if not others:
        return
    state = _state(others)
    beside = others[0].rstrip("/\\") + SUFFIX
    if len(others) == 1 and os.path.exists(beside):
        if os.stat(beside).st_mtime_ns < max(modified for _, _, modified in state):
            notices.warning("%s is older than the treebank: it is not used", beside)
        elif _is_readable(beside):
            yield beside
            return
    yield _made(name, others, state, folder, progress)


def _is_readable(path: str) -> bool:
    try:
        with Index(path):
            return True
    except TreebankError as error:
        notices.warning("%s; it is not used", error)
        return False


State = list[tuple[str, int, int]]  # path, size and time of the last change


def _state(paths: Sequence[str]) -> State:
    inside = [[os.path.join(path, name) for name in files(path)] if os.path.isdir(path) else [path] for path in paths]
    found = []
    for file in (file for some in inside for file in some):
        status = os.stat(file)
        found.append((os.path.realpath(file), status.st_size, status.st_mtime_ns))
    if not found:
        raise TreebankError("holds no treebank file", paths[0])
    return found


def _made(name: str, paths: Sequence[str], state: State, folder: str, progress: Progress | None) -> str:
    """Return the index of some files in this state; make it if there is none."""
    which = _digest(*map(os.path.realpath, paths))
    kind = f"{re.sub(r'[^0-9A-Za-z_.-]+', '_', name)}-{which}"
    path = os.path.join(folder, f"{kind}-{_digest(__version__, FORMAT, *state)}{SUFFIX}")
    if os.path.exists(path):
        return path
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # others may not be allowed to read the treebank
    except OSError as error:
        raise DiscotreeError(f"{folder}: cannot be made for the index of {name}: {error.strerror}") from None
    ours = f"{path}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        write_index(_trees(paths, progress), ours)
    except TreebankError as error:
        raise DiscotreeError(
            f"{error}\n{name}: no index was made. To skip broken trees or name a format, make one yourself "
            "(discotree index --help) and give it to --treebank"
        ) from None
    if os.path.exists(path):  # another server has been faster, and uses it
        os.unlink(ours)
    else:
        os.replace(ours, path)
    _tidy(Path(folder), kind, path)
    return path


def _tidy(folder: Path, kind: str, path: str) -> None:
    """Remove the indexes of earlier states of a treebank that no server uses, and what a killed process has left."""
    for old in folder.glob(f"{kind}-*{SUFFIX}*"):
        with suppress(OSError, sqlite3.Error):
            if old.name.endswith(SUFFIX):
                if str(old) != path:
                    _remove_unused(old)
            elif time.time() - old.stat().st_mtime > LEFT_OVER_SECONDS:  # others may be making one right now
                old.unlink()


def _trees(paths: Sequence[str], progress: Progress | None) -> Iterator[Tree]:
    on_bytes: Callable[[int], None] | None = progress.on_bytes if progress else None
    prefixes = stems(list(paths)) if len(paths) > 1 else [""]
    if progress:
        progress.expect("indexing", paths)
    found = (
        tree for path, stem in zip(paths, prefixes, strict=True) for tree in read(path, stem=stem, on_bytes=on_bytes)
    )
    yield from progress.track(found) if progress else found


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def cache_folder() -> Path:
    """Return the folder for indexes that can be made again, where the system keeps such files."""
    home = Path.home()
    if sys.platform == "darwin":
        base = home / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "discotree" / "indexes"
