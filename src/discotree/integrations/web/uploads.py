"""Treebanks that were sent: read from memory, and no further than is good for the server.

A reader gets bytes, never a path, and no reader opens what a file names inside. Every word takes a bit in every
constituent above it, so a tree that does not end could fill the memory: how much one tree may be is metered.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from discotree.errors import TreebankError
from discotree.integrations.web.limits import Limits, Refused, oversize
from discotree.integrations.web.schemas import Upload
from discotree.treebanks import TEXT_FORMATS, guess_format
from discotree.treebanks.source import PEEK, Source, stop
from discotree.trees.tree import Tree

SHOWN = 10  # problems that are named
NAMELESS = "upload"


class Meter(io.BytesIO):
    """A file that refuses to go on when one tree takes too much of it."""

    def __init__(self, content: bytes, most: int) -> None:
        super().__init__(content)
        self.most = most
        self.seen = 0

    def next_tree(self) -> None:
        self.seen = self.tell()

    def _metered(self, piece: bytes) -> bytes:
        if self.tell() - self.seen > self.most:
            raise Refused(413, f"a tree takes more than {self.most:,} bytes, or there is none in so many")
        return piece

    def read(self, size: int | None = -1, /) -> bytes:
        return self._metered(super().read(size))

    def __next__(self) -> bytes:
        return self._metered(super().__next__())


@dataclass
class Treebank:
    """The trees of an upload as far as they can be read and shown, and what was wrong with the others."""

    format: str
    trees: list[Tree] = field(default_factory=list)
    broken: int = 0
    problems: list[str] = field(default_factory=list)
    is_complete: bool = True

    def skip(self, problem: object) -> None:
        self.broken += 1
        if len(self.problems) < SHOWN:
            self.problems.append(str(problem))


def format_of(upload: Upload) -> str:
    name = upload.format or guess_format(upload.name, upload.content[:PEEK].encode())
    if name not in TEXT_FORMATS:  # what was sent is text, whatever its name says
        raise TreebankError(f"what format is this? Name one of {', '.join(TEXT_FORMATS)}", upload.name or NAMELESS)
    return name


def read_leniently(upload: Upload, limits: Limits) -> Treebank:
    """All trees that can be read and shown."""
    found = Treebank(format_of(upload))
    for tree in _read(upload, found.format, limits, found):
        if len(found.trees) == limits.trees:
            found.is_complete = False
            break
        if problem := oversize(tree, limits):
            found.skip(problem)
        else:
            found.trees.append(tree)
    return found


def read_strictly(upload: Upload, limits: Limits) -> list[Tree]:
    """All trees; one that is broken is a TreebankError, and too many are refused."""
    trees: list[Tree] = []
    for tree in _read(upload, format_of(upload), limits):
        if len(trees) == limits.trees:
            raise Refused(413, f"there are more than {limits.trees:,} trees: discotree evaluate takes them all")
        if problem := oversize(tree, limits):
            raise Refused(413, problem)
        trees.append(tree)
    return trees


def read_one(upload: Upload, limits: Limits) -> Tree:
    trees = read_strictly(upload, limits)
    if len(trees) != 1:
        raise TreebankError(f"expected one tree, found {len(trees)}", upload.name or NAMELESS)
    return trees[0]


def _read(upload: Upload, format: str, limits: Limits, lenient: Treebank | None = None) -> Iterator[Tree]:
    stream = Meter(upload.content.encode(), limits.tree_bytes)

    def skip(error: TreebankError) -> None:
        stream.next_tree()
        (lenient.skip if lenient else stop)(error)

    name = upload.name or NAMELESS
    is_empty = True
    for tree in TEXT_FORMATS[format].read(Source(name, stream, "utf-8", skip)):
        is_empty = False
        stream.next_tree()
        yield tree if tree.id else replace(tree, id="1")
    if is_empty and not (lenient and lenient.broken):
        raise TreebankError(f"there is no tree in it: is it really in the format {format}?", name)
