"""Text from files in pieces that fit into memory, each with its offset in the whole."""

import codecs
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import partial
from typing import BinaryIO, NamedTuple

from discotree.errors import TreebankError
from discotree.files.names import without_bom

BLOCK = 1 << 16  # bytes or characters per read
MAX_PARAGRAPH = 1 << 18  # characters; longer paragraphs are split

_PARAGRAPH_BREAK = re.compile(r"\n[^\S\n]*\n\s*|[\f\u2029]\s*")
_SENTENCE_BREAK = re.compile(r"[^\W\d_]{7}[.!?][\"'”’»)\]]*\s+(?=[A-ZÀ-Þ])")  # no abbreviation is that long


class Paragraph(NamedTuple):
    """Stretch of text without empty lines, and the offset where it begins."""

    text: str
    start: int


def paragraphs(source: str | Iterable[str]) -> Iterator[Paragraph]:
    """Yield the paragraphs of a text: a string, an open text file, or an iterable of pieces.

    A line of nothing but whitespace ends a paragraph. A very long paragraph is split, between sentences if possible,
    else between words.
    """
    rest, offset = "", 0
    for block in _blocks(source):
        text = rest + block
        begin = 0
        for gap in _PARAGRAPH_BREAK.finditer(text):
            yield from _split(text, begin, gap.start(), offset)
            begin = gap.end()
        while len(text) - begin > MAX_PARAGRAPH:
            stop = _split_offset(text, begin)
            yield from _split(text, begin, stop, offset)
            begin = stop
        rest = text[begin:]
        offset += begin
    yield from _split(rest, 0, len(rest), offset)


def _split(text: str, begin: int, end: int, offset: int) -> Iterator[Paragraph]:
    """Yield ``text[begin:end]`` in paragraphs of at most ``MAX_PARAGRAPH`` characters, leaving out pure whitespace."""
    while begin < end:
        stop = _split_offset(text, begin) if end - begin > MAX_PARAGRAPH else end
        if not text[begin:stop].isspace():
            yield Paragraph(text[begin:stop], offset + begin)
        begin = stop


def _split_offset(text: str, begin: int) -> int:
    """Return the offset at which to split a paragraph of more than ``MAX_PARAGRAPH`` characters."""
    end = begin + MAX_PARAGRAPH
    sentences = list(_SENTENCE_BREAK.finditer(text, end - BLOCK, end))
    if sentences:
        return sentences[-1].end()
    space = max(text.rfind(character, begin, end) for character in " \t\n")
    if space >= begin:
        return space + 1
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
    """Join pieces to blocks; an empty line flushes the block, since somebody may be typing."""
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
    """Yield the lines of a text with their ends."""
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
    """Yield the text of a binary file line by line; very long lines come in pieces.

    Bytes that cannot be decoded are an error with an address; with ``errors="replace"`` they become replacement
    characters. A byte order mark at the beginning is left out.
    """
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    line = 1
    first = True
    while raw := stream.readline(BLOCK):
        text = _decoded(decoder, raw, path, line)
        line += text.count("\n")
        yield without_bom(text) if first else text
        first = first and not text
    yield _decoded(decoder, b"", path, line)


def decode_lines(stream: BinaryIO, path: str = "", encoding: str = "utf-8", errors: str = "strict") -> Iterator[str]:
    """Yield the text of a binary file like ``decode``, in whole lines."""
    return lines_of(decode(stream, path, encoding, errors))


def _decoded(decoder: codecs.IncrementalDecoder, raw: bytes, path: str, line: int) -> str:
    try:
        return decoder.decode(raw, final=not raw)
    except UnicodeDecodeError as error:
        byte = f"byte {error.object[error.start]:#04x} is not {error.encoding}"
        raise TreebankError(f"{byte}; name the file's encoding if it has another", path, line) from None
