"""The bytes of a treebank, sentence by sentence, without a closer look.

Reading a tree takes many times as long as finding out where it begins and ends. Who wants few trees of many looks at
the bytes first; who reads with several processes hands bytes to them. A sentence that is read by itself gives what it
gives in its file: the same tree with the same id, or the same error with the same address.

Where a file is damaged, or has several trees on a line, its rest stays in one piece.
"""

import codecs
import io
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any, BinaryIO, NamedTuple, cast

from discotree.files.names import keeps_ascii, without_bom
from discotree.treebanks.brackets import BETWEEN_TREES
from discotree.treebanks.export import BEGIN, END, FORMAT_LINE, OLD_ENCODING, ROOT_EDGES
from discotree.treebanks.source import Source

MAX_DEPTH = 200  # brackets inside brackets; a deeper tree is left to the reader
SPACE = b" \t\r\n\f\v\x1c\x1d\x1e\x1f"  # between the pieces of a bracketing

_NOT_BRACKETS = bytes(set(range(256)).difference(b"()"))
_BETWEEN_TREES = tuple(beginning.encode() for beginning in BETWEEN_TREES)
_NEW_TREE = re.compile(rb"\((?: ?\(|(?:ROOT|TOP|VROOT|S1)\b)")


class RawSentence(NamedTuple):
    """A stretch of lines, and what its reader has to know of those before it."""

    data: bytes
    line: int  # number of its first line
    seen: int = 0  # sentences before it
    encoding: str | None = None  # None while that is open


class Rest(NamedTuple):
    """All lines from some line on."""

    stream: BinaryIO
    line: int
    seen: int
    encoding: str | None


Splitter = Callable[[Source], Iterator[RawSentence | Rest]]


class _Joined(io.RawIOBase):
    """Lines that were read already, and then the stream that they came from."""

    def __init__(self, lines: list[bytes], stream: BinaryIO) -> None:
        self.lines = lines[::-1]
        self.stream = stream

    def readline(self, size: int | None = -1, /) -> bytes:
        return self.lines.pop() if self.lines else self.stream.readline(-1 if size is None else size)


def _rest(source: Source, lines: list[bytes], number: int, seen: int) -> Rest:
    """Return the rest of a file; ``lines`` of it were read, of which the last has this number."""
    stream = cast(BinaryIO, _Joined(lines, source.stream))
    return Rest(stream, number - len(lines) + 1, seen, source.encoding)


@lru_cache
def is_splittable(encoding: str | None) -> bool:
    """Return whether characters can be found among bytes: in UTF-8, and where bytes and letters are pairs."""
    if encoding is None or codecs.lookup(encoding).name == "utf-8":
        return True
    pairs = bytes(byte for pair in product(range(256), repeat=2) for byte in pair)
    try:
        letters = [char for char in bytes(range(256)).decode(encoding, "replace") if char.isalnum()]
        one_to_one = len(letters) == len(set(letters))  # not in cp1006
        return one_to_one and keeps_ascii(encoding) and len(pairs.decode(encoding, "replace")) == len(pairs)
    except (UnicodeError, LookupError):
        return False


def _split_lines(source: Source, begins: bytes, is_empty: Callable[[str], bool]) -> Iterator[RawSentence | Rest]:
    """Split a file with a sentence on every line that is not empty; most begin with the same character."""
    seen = 0
    lines: list[bytes] = []
    for number, raw in source.raw_lines():
        lines.append(raw)
        text = without_bom(raw) if number == 1 else raw
        if text[:1] == begins or not is_empty(_decoded(text, source.encoding).rstrip("\r\n")):
            yield RawSentence(b"".join(lines), number - len(lines) + 1, seen, source.encoding)
            seen += 1
            lines = []


def _decoded(raw: bytes, encoding: str | None) -> str:
    try:
        return raw.decode(encoding or "utf-8")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace")


def split_json(source: Source) -> Iterator[RawSentence | Rest]:
    """Split JSON lines."""
    return _split_lines(source, b"{", lambda line: not line.strip())


def split_discbracket(source: Source) -> Iterator[RawSentence | Rest]:
    """Split a file with a tree on each line."""
    return _split_lines(source, b"(", lambda line: not line.partition("\t")[0].strip(" "))


def split_brackets(source: Source) -> Iterator[RawSentence | Rest]:
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
            yield _rest(source, lines, number, seen)
            return
        if depth == 0:
            yield RawSentence(b"".join(lines), number - len(lines) + 1, seen, source.encoding)
            seen += 1
            lines = []
    if depth:
        yield _rest(source, lines, number, seen)


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


def split_export(source: Source) -> Iterator[RawSentence | Rest]:
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
            yield _with_version(version, lines, number, source.encoding)
            lines, root, begin, version = [], b"", -1, later_version
    if begin >= 0:
        yield _with_version(version, lines, number, source.encoding)


def _with_version(version: bytes, lines: list[bytes], number: int, encoding: str | None) -> RawSentence:
    before = [version.rstrip(b"\n") + b"\n"] if version else []
    return RawSentence(b"".join([*before, *lines]), number - len(lines) - len(before) + 1, 0, encoding)


SPLITTERS: dict[Any, Splitter] = {
    "export": split_export,
    "export3": split_export,
    "discbracket": split_discbracket,
    "psd": split_brackets,
    "penn": split_brackets,
    "json": split_json,
}
