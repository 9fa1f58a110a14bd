"""Read trees from files, folders, archives and standard input, as a stream; divide them; and the ids of splits."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from os import PathLike
from os.path import isfile, relpath
from random import Random

from discotree.errors import TreebankError, list_some
from discotree.files.reading import ByteCounter, ReadLimits, files_in, open_all, readable
from discotree.files.writing import base_name, other_file, read_text, stems
from discotree.treebanks.formats import (
    ALL_SUFFIXES,
    FORMATS,
    PEEK,
    XML_SUFFIX,
    check_arguments,
    check_encoding,
    guess_format,
)
from discotree.treebanks.source import ErrorHandler, Source, stop
from discotree.trees.tree import Tree


def read(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    encoding: str | None = None,
    on_error: ErrorHandler = stop,
    stem: str = "",
    on_bytes: ByteCounter | None = None,
    limits: ReadLimits | None = None,
) -> Iterator[Tree]:
    """Return the trees of a file, a folder or an archive one by one. Example: ``next(dt.read("figure1.export"))``.

    The ``format`` follows from the name of the ``path`` or its content, and the ``encoding`` is that of the format.
    ``stem`` is put in front of ids, ``on_bytes`` gets the size of each block. ``limits`` bound the length of a line and
    the size of decompressed files; the environment sets their defaults.

    A broken tree raises a TreebankError with its address. To skip broken trees, pass a function that takes the
    errors: ``errors = []; read(path, on_error=errors.append)``.
    """
    path = check_arguments(path, format, encoding or "utf-8")
    opened = open_treebank(path, format, encoding, stem, on_bytes, limits or ReadLimits.from_environment())
    return (tree for file in opened for tree in file.trees(on_error))


@dataclass(frozen=True, slots=True)
class FileChunk:
    """An open file, or the remainder of one. Its trees have to be read before the next file is opened."""

    path: str  # the treebank
    source: Source
    format: str
    beginning: bytes = b""  # first bytes; empty if they have been checked

    def trees(self, on_error: ErrorHandler = stop) -> Iterator[Tree]:
        """Read from the current position. A file without trees that does not begin like its format is an error."""
        silent = True

        def report(error: TreebankError) -> None:
            nonlocal silent
            silent = False
            on_error(error)

        stem = self.source.stem
        with readable(self.path):
            for tree in FORMATS[self.format].read(replace(self.source, on_error=report)):
                silent = False
                yield replace(tree, id=_add_stem(stem, tree.id) or "1") if stem or not tree.id else tree
        if silent:
            self.check_beginning()

    def check_beginning(self) -> None:
        """Raise an error for a file without trees whose beginning does not look like its format."""
        if self.beginning.strip() and not re.search(FORMATS[self.format].looks_like, self.beginning):
            raise TreebankError("no tree found; the file may be in another format or encoding", self.source.name)


def open_treebank(
    path: str,
    format: str | None,
    encoding: str | None,
    stem: str,
    on_bytes: ByteCounter | None,
    limits: ReadLimits,
) -> Iterator[FileChunk]:
    """Open the files of a treebank, one after the other; the arguments are those of ``read``."""
    is_empty = True
    if format in (None, "brat") and isfile(annotations := other_file(path, "txt", "ann")):
        path = annotations
    with readable(path):
        for file in open_all(path, partial(_choose, format), on_bytes, limits):
            is_empty = False
            source = Source(file.name, file.stream, encoding, stem=_add_stem(stem, file.stem), limits=limits)
            if isfile(text_path := other_file(file.name, "ann", "txt")):
                source.text_path = text_path
            peek = getattr(file.stream, "peek", None)
            beginning = bytes(peek(PEEK)[:PEEK]) if peek else b""
            name = format or guess_format(file.name, beginning)
            if name is None:
                if peek and not beginning.strip():
                    raise TreebankError("the input is empty", file.name)
                raise TreebankError(f"cannot detect the format; specify one of {', '.join(FORMATS)}", file.name)
            if encoding:
                check_encoding(name, encoding, file.name)
            yield FileChunk(path, source, name, beginning)
    if is_empty:
        raise TreebankError(f"contains no treebank file ({', '.join(ALL_SUFFIXES)})", path)


def files(folder: str | PathLike[str], format: str | None = None) -> dict[str, str]:
    """Return the names of the files that ``read`` takes from a folder, in its order, each with its stem.

    ``read(folder)`` is the same as ``read(f"{folder}/{name}", stem=stem)`` for all of them.
    """
    folder = check_arguments(folder, format)
    with readable(folder):
        names = [relpath(file, folder) for file in files_in(folder, partial(_choose, format))]
    return dict(zip(names, stems(names), strict=True))


def _choose(format: str | None, names: list[str]) -> list[str]:
    """Return the names with the suffix of a treebank; all names if none has a suffix of the chosen format."""
    suffixes = (*FORMATS[format].suffixes, XML_SUFFIX) if format else ALL_SUFFIXES
    matching = [name for name in names if base_name(name).lower().endswith(suffixes)]
    return matching if matching or not format else names


def _add_stem(stem: str, identity: str) -> str:
    if not stem or not identity:
        return stem or identity
    if identity == stem or identity.startswith(f"{stem}/"):
        return identity
    return type(identity)(f"{stem}/{identity}")  # a RunningNumber stays one


def divide(trees: Iterable[Tree], shares: Sequence[int]) -> list[list[Tree]]:
    """Divide trees at random, but always in the same way, into parts of these shares in percent.

    Sentences with the same words go to the same part. Every part keeps the order of the trees.
    """
    trees = list(trees)
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, tree in enumerate(trees):
        groups.setdefault(tree.words, []).append(number)
    shuffled = list(groups.values())
    Random(1).shuffle(shuffled)  # a fixed seed
    bounds = [len(trees) * total / sum(shares) for total in accumulate(shares)]
    parts: list[list[int]] = [[] for _ in shares]
    done = part = 0
    for group in shuffled:
        while done + len(group) / 2 > bounds[part]:  # most of the group lies beyond the bound
            part += 1
        parts[part] += group
        done += len(group)
    return [[trees[number] for number in sorted(numbers)] for numbers in parts]


def read_ids(path: str, split: str | None) -> set[str]:
    """Read ids from a file, one a line, or from a tab-separated table with columns id and split."""
    try:
        numbered = enumerate(read_text(path).splitlines(), 1)
    except (OSError, UnicodeDecodeError) as error:
        raise TreebankError(f"cannot be read: {error}", path) from None
    lines = [(number, line) for number, line in numbered if line.strip()]
    if not lines:
        raise TreebankError("the file contains no ids", path)
    first, header = lines[0][0], lines[0][1].split("\t")
    if "id" not in header:
        if split:
            raise TreebankError(
                "a split needs a first line with the columns id and split, separated by a tab", path, first
            )
        return {line.strip() for _, line in lines}
    if split and "split" not in header:
        raise TreebankError("a split needs a column named split", path, first)
    ids = set()
    for number, line in lines[1:]:
        row = dict(zip(header, line.split("\t"), strict=False))
        if "id" not in row:
            raise TreebankError("the line has no id", path, number)
        if split is None or row.get("split") == split:
            ids.add(row["id"])
    if not ids:
        raise TreebankError(f"no sentence belongs to the split {split!r}", path)
    return ids


def select_ids(trees: Iterable[Tree], ids: set[str], path: str) -> Iterator[Tree]:
    """Yield the trees with these ids; a missing id is an error."""
    missing = set(ids)
    for tree in trees:
        if tree.id in ids:
            missing.discard(tree.id)
            yield tree
    if missing:
        raise TreebankError(
            f"{len(missing):,} of these ids are not in the treebank: {list_some(sorted(missing))}", path
        )
