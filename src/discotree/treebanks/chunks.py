"""Split treebanks into chunks that can be read independently, in this process or in others.

A chunk is the bytes of one sentence if the format can be split without parsing it, and otherwise an open file. The
trees of all chunks are those of ``read``: a sentence that is read by itself gives the same tree with the same id, or
the same error with the same address. If a file is damaged, or has several trees on a line, the remainder of the file
stays in one chunk.
"""

import codecs
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import BinaryIO, cast

from discotree.files.reading import ByteCounter, ReadLimits
from discotree.files.writing import without_bom
from discotree.treebanks.brackets import BETWEEN_TREES
from discotree.treebanks.export import BEGIN, END, FORMAT_LINE, OLD_ENCODING, ROOT_EDGES
from discotree.treebanks.formats import check_arguments
from discotree.treebanks.reading import FileChunk, open_treebank
from discotree.treebanks.source import ErrorHandler, Source, stop
from discotree.trees.tree import Tree

MAX_DEPTH = 200  # brackets inside brackets; a deeper tree is left to the reader
JSON, BRACKET = b"{", b"("  # first characters of nearly every line
SPACE = b" \t\r\n\f\v\x1c\x1d\x1e\x1f"  # between the pieces of a bracketing

_NOT_BRACKETS = bytes(set(range(256)).difference(b"()"))
_BETWEEN_TREES = tuple(beginning.encode() for beginning in BETWEEN_TREES)
_NEW_TREE = re.compile(rb"\((?: ?\(|(?:ROOT|TOP|VROOT|S1)\b)")


@dataclass(frozen=True, slots=True)
class SentenceChunk:
    """The bytes of a sentence, with everything that its reader needs to know about its file."""

    name: str  # of the file
    format: str
    stem: str
    limits: ReadLimits
    encoding: str | None  # None if it is not known yet
    data: bytes
    line: int  # number of the first line
    seen: int  # sentences before it

    def trees(self, on_error: ErrorHandler = stop) -> Iterator[Tree]:
        """Read the sentence, which is usually one tree."""
        stream = io.BytesIO(self.data)
        source = Source(self.name, stream, self.encoding, stop, self.stem, None, self.limits, self.line, self.seen)
        return FileChunk(self.name, source, self.format).trees(on_error)


def read_chunks(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    encoding: str | None = None,
    stem: str = "",
    on_bytes: ByteCounter | None = None,
) -> Iterator[SentenceChunk | FileChunk]:
    """Split a treebank into chunks; the arguments are those of ``read``."""
    path = check_arguments(path, format, encoding or "utf-8")
    for file in open_treebank(path, format, encoding, stem, on_bytes, ReadLimits.from_environment()):
        source = file.source
        if file.format not in SPLITTERS or not is_splittable(encoding):
            yield file
            continue
        is_empty = True
        for data, line, seen in SPLITTERS[file.format](source):
            if isinstance(data, bytes):
                yield SentenceChunk(
                    source.name, file.format, source.stem, source.limits, source.encoding, data, line, seen
                )
            else:
                stream = cast(BinaryIO, _ReplayedStream(data, source.stream))
                remainder = replace(source, stream=stream, first_line=line, seen=seen)
                yield replace(file, source=remainder, beginning=file.beginning if is_empty else b"")
            is_empty = False
        if is_empty:
            file.check_beginning()


class _ReplayedStream(io.RawIOBase):
    """Lines that were read already, followed by the remainder of their stream."""

    def __init__(self, lines: list[bytes], stream: BinaryIO) -> None:
        self.lines = lines[::-1]
        self.stream = stream

    def readline(self, size: int | None = -1, /) -> bytes:
        return self.lines.pop() if self.lines else self.stream.readline(-1 if size is None else size)


RawSentence = tuple[bytes | list[bytes], int, int]
"""The bytes of a sentence, or the lines with which the remainder of a file begins that cannot be split; the number of
the first line; the number of sentences before it."""


def is_splittable(encoding: str | None) -> bool:
    """Return whether bytes can be searched for characters, as in UTF-8 and some encodings of one byte each."""
    return encoding is None or codecs.lookup(encoding).name in ("utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1252")


def _split_lines(source: Source, begins: bytes) -> Iterator[RawSentence]:
    """Split a file with a sentence on every line that is not empty; most begin with the same character."""
    seen = 0
    lines: list[bytes] = []
    for number, raw in source.raw_lines():
        lines.append(raw)
        text = without_bom(raw) if number == 1 else raw
        if text[:1] != begins:
            line = text.decode(source.encoding or "utf-8", "replace").rstrip("\r\n")
            if not (line.strip() if begins == JSON else line.partition("\t")[0].strip(" ")):
                continue
        yield b"".join(lines), number - len(lines) + 1, seen
        seen += 1
        lines = []


def split_brackets(source: Source) -> Iterator[RawSentence]:
    """Split Penn brackets by counting them; give up where a line has anything but the end of one tree."""
    seen = depth = 0
    lines: list[bytes] = []
    begin = 0  # index of the first line of the tree
    for number, raw in source.raw_lines():
        lines.append(raw)
        text = without_bom(raw) if number == 1 else raw
        if depth:
            is_odd = text[:1] == b"(" and _NEW_TREE.match(text) is not None
        else:
            begin = len(lines) - 1
            if text.startswith(_BETWEEN_TREES) or not (stripped := text.strip(SPACE)):
                continue
            is_odd = stripped[:1] != b"("
        depth += text.count(b"(") - text.count(b")")
        if depth <= 0 and not is_odd:
            is_odd = not _is_one_tree(b"".join([*lines[begin:-1], text]))
        if is_odd:
            yield lines, number - len(lines) + 1, seen
            return
        if depth == 0:
            yield b"".join(lines), number - len(lines) + 1, seen
            seen += 1
            lines = []
    if depth:
        yield lines, number - len(lines) + 1, seen


def _is_one_tree(data: bytes) -> bool:
    """Return whether a text that begins with a bracket is one bracket, with its end at the end."""
    if data.rstrip(SPACE)[-1:] != b")":
        return False
    inside = data.translate(None, _NOT_BRACKETS)[1:-1]
    for _ in range(MAX_DEPTH):
        if not inside:
            return True
        if (shorter := inside.replace(b"()", b"")) == inside:
            return False
        inside = shorter
    return False


def split_export(source: Source) -> Iterator[RawSentence]:
    """Split at every #EOS. The line that names the version, and so the columns, goes with every sentence."""
    lines: list[bytes] = []
    version = b""  # the last line with one, before these lines
    later_version = b""
    root = b""  # secondary edges of the next sentence's root
    begin = -1  # index of the #BOS of the current sentence
    for number, raw in source.raw_lines():
        text = without_bom(raw) if number == 1 else raw
        if text[:1] != b"#":
            if begin < 0 and text.startswith(ROOT_EDGES):
                root = text
        elif BEGIN.match(text):
            root = b"" if begin >= 0 else root
            begin = len(lines)
        elif begin < 0 and text.startswith(FORMAT_LINE):
            later_version = text
        if begin < 0 and not root:  # tables and comments between sentences
            version = later_version
            continue
        lines.append(text)
        if begin >= 0 and text[:1] == b"#" and END.match(text):
            for part in (b"".join(lines[begin:]), root):
                if source.encoding is None:
                    source.decode(part, number, OLD_ENCODING)
            yield _with_version(version, lines, number)
            lines, root, begin, version = [], b"", -1, later_version
    if begin >= 0:
        yield _with_version(version, lines, number)


def _with_version(version: bytes, lines: list[bytes], number: int) -> RawSentence:
    before = [version.rstrip(b"\n") + b"\n"] if version else []
    return b"".join([*before, *lines]), number - len(lines) - len(before) + 1, 0


SPLITTERS: dict[str, Callable[[Source], Iterator[RawSentence]]] = {
    "export": split_export,
    "export3": split_export,
    "discbracket": partial(_split_lines, begins=BRACKET),
    "psd": split_brackets,
    "penn": split_brackets,
    "json": partial(_split_lines, begins=JSON),
}
