"""Text from files, in pieces that fit into memory, with the place of each in the whole."""

import codecs
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import partial
from typing import BinaryIO, NamedTuple

from discotree.errors import TreebankError

BLOCK = 1 << 16  # what is read at a time
LONGEST = 1 << 18  # characters of a paragraph that are kept together

_PARAGRAPH_BREAK = re.compile(r"\n[^\S\n]*\n\s*|[\f\u2029]\s*")
_SENTENCE_BREAK = re.compile(r"[^\W\d_]{7}[.!?][\"'”’»)\]]*\s+(?=[A-ZÀ-Þ])")  # nothing so long is an abbreviation
_BYTE_ORDER_MARK = "\ufeff"


class Paragraph(NamedTuple):
    """A stretch of text without blank lines, and where it begins in the whole."""

    text: str
    start: int


def paragraphs(source: str | Iterable[str]) -> Iterator[Paragraph]:
    """The paragraphs of a text: a string, an open text file, or its pieces one after the other.

    A blank line ends a paragraph. A very long one is cut in pieces, if possible between sentences, else between words.
    """
    rest, offset = "", 0
    for block in _blocks(source):
        text = rest + block
        begin = 0
        for gap in _PARAGRAPH_BREAK.finditer(text):
            yield from _bearable(text, begin, gap.start(), offset)
            begin = gap.end()
        while len(text) - begin > LONGEST:
            stop = _safe_place(text, begin)
            yield from _bearable(text, begin, stop, offset)
            begin = stop
        rest = text[begin:]
        offset += begin
    yield from _bearable(rest, 0, len(rest), offset)


def _bearable(text: str, begin: int, end: int, offset: int) -> Iterator[Paragraph]:
    """``text[begin:end]`` in pieces of bearable size, without those that are blank."""
    while begin < end:
        stop = _safe_place(text, begin) if end - begin > LONGEST else end
        if not text[begin:stop].isspace():
            yield Paragraph(text[begin:stop], offset + begin)
        begin = stop


def _safe_place(text: str, begin: int) -> int:
    """Where to cut a text that goes on for more than ``LONGEST`` characters."""
    end = begin + LONGEST
    sentences = list(_SENTENCE_BREAK.finditer(text, end - BLOCK, end))
    if sentences:
        return sentences[-1].end()
    blank = max(text.rfind(character, begin, end) for character in " \t\n")
    if blank >= begin:
        return blank + 1
    while end > begin + 1 and (unicodedata.category(text[end])[0] == "M" or "\u200d" in text[end - 1 : end + 1]):
        end -= 1
    return end


def _pieces(source: str | Iterable[str]) -> Iterable[str]:
    if isinstance(source, str):
        return [source]
    if isinstance(source, io.TextIOBase):
        return iter(partial(source.readline, BLOCK), "")
    return source


def _blocks(source: str | Iterable[str]) -> Iterator[str]:
    """Pieces put together to blocks; a blank line lets out what there is, since somebody may be typing."""
    pieces: list[str] = []
    size = 0
    for piece in _pieces(source):
        pieces.append(piece)
        size += len(piece)
        if size >= BLOCK or piece.isspace():
            yield "".join(pieces)
            pieces, size = [], 0
    yield "".join(pieces)


def lines_of(source: str | Iterable[str]) -> Iterator[str]:
    """The lines of a text with their ends."""
    rest: list[str] = []
    for piece in _pieces(source):
        *lines, last = piece.split("\n")
        for line in lines:
            yield "".join([*rest, line, "\n"])
            rest = []
        rest.append(last)
    if any(rest):
        yield "".join(rest)


def decode(stream: BinaryIO, path: str = "", encoding: str = "utf-8", errors: str = "strict") -> Iterator[str]:
    """The text of a file that was opened for bytes, line by line; very long lines come in pieces.

    Bytes that make no sense are an error with an address; ``errors="replace"`` puts a replacement character for them.
    A byte order mark at the beginning does not belong to the text.
    """
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    line = 1
    first = True
    while raw := stream.readline(BLOCK):
        text = _decoded(decoder, raw, path, line)
        line += text.count("\n")
        yield text.removeprefix(_BYTE_ORDER_MARK) if first else text
        first = first and not text
    yield _decoded(decoder, b"", path, line)


def decode_lines(stream: BinaryIO, path: str = "", encoding: str = "utf-8", errors: str = "strict") -> Iterator[str]:
    """Like ``decode``, but every line is whole."""
    return lines_of(decode(stream, path, encoding, errors))


def _decoded(decoder: codecs.IncrementalDecoder, raw: bytes, path: str, line: int) -> str:
    try:
        return decoder.decode(raw, final=not raw)
    except UnicodeDecodeError as error:
        byte = f"byte {error.object[error.start]:#04x} is not {error.encoding}"
        raise TreebankError(f"{byte}; name the file's encoding if it has another", path, line) from None
