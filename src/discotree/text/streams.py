"""Text of any size → paragraphs, lines and sentences, with their offsets in the whole."""

import codecs
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import partial
from typing import BinaryIO, NamedTuple

from discotree.errors import TreebankError, undecodable
from discotree.files.writing import without_bom
from discotree.text.segmentation import Convention, Word, boundaries, convention, split_standalone_lines, tokenise

TOKEN = re.compile(r"[^ \t\r\n]+")  # in text that is already tokenised
BLOCK = 1 << 16  # bytes or characters per read
MAX_PARAGRAPH = 1 << 18  # characters; longer paragraphs are split

_PARAGRAPH_BREAK = re.compile(r"\n[^\S\n]*\n\s*|[\f\u2029]\s*")
# Soft hyphens, zero-width spaces, joiners of words, and marks of the direction of writing.
_INVISIBLE = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_GREEK_QUESTION_MARK, _GREEK_SEMICOLON = "\u037e", "\u0387"  # Unicode says that they are the same as ; and ·
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
    pending, offset = "", 0
    for block in _blocks(source):
        text = pending + block
        begin = 0
        for gap in _PARAGRAPH_BREAK.finditer(text):
            yield from _split(text, begin, gap.start(), offset)
            begin = gap.end()
        while len(text) - begin > MAX_PARAGRAPH:
            stop = _split_offset(text, begin)
            yield from _split(text, begin, stop, offset)
            begin = stop
        pending = text[begin:]
        offset += begin
    yield from _split(pending, 0, len(pending), offset)


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
    """Join pieces to blocks; an empty line flushes the block, for interactive input."""
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
    pending: list[str] = []
    for piece in _pieces(source):
        *lines, last = piece.split("\n")
        for line in lines:
            yield "".join([*pending, line, "\n"])
            pending = []
        pending.append(last)
    if any(pending):
        yield "".join(pending)


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
        raise TreebankError(undecodable(error.object[error.start], error.encoding), path, line) from None


# Sentences


def sentences(source: str | Iterable[str], language: str | Convention, *, lines: bool = False) -> Iterator[list[Word]]:
    """Yield the sentences of a text: a string, an open text file, or an iterable of pieces.

    Empty lines end sentences, and so do single line breaks where lines stand alone, as in a list. With ``lines`` every
    line is one sentence, and an empty line an empty sentence. Invisible characters are not part of the forms of words,
    but offsets count them. ``language`` is a code of ``LANGUAGES`` or a ``Convention`` that you loaded from your own
    file.
    """
    rules = convention(language)
    if lines:
        return _sentence_per_line(source, rules)
    return (words for text, start in paragraphs(source) for words in _sentences(text, start, rules) if words)


def read_pretokenised(lines: str | Iterable[str]) -> Iterator[list[Word]]:
    """Yield sentences that are already tokenised: one per line, with spaces or tabs between the tokens.

    An empty line is an empty sentence. Offsets count through all lines, line ends included.
    """
    start = 0
    for line in lines_of(lines) if isinstance(lines, str) else lines:
        yield [Word(token[0], start + token.start(), start + token.end()) for token in TOKEN.finditer(line)]
        start += len(line)


def _sentences(text: str, start: int, rules: Convention) -> Iterator[list[Word]]:
    """Split a text as if it had no invisible characters; the offsets are those of the text as it is."""
    if text.isascii() or not _INVISIBLE.search(text):
        yield from _visible_sentences(text, start, rules)
        return
    offsets = [offset for offset, character in enumerate(text) if not _INVISIBLE.match(character)]
    for words in _visible_sentences("".join([text[offset] for offset in offsets]), 0, rules):
        yield [Word(form, start + offsets[first], start + offsets[last - 1] + 1) for form, first, last in words]


def _visible_sentences(text: str, start: int, rules: Convention) -> Iterator[list[Word]]:
    text = text.replace(_GREEK_QUESTION_MARK, ";").replace(_GREEK_SEMICOLON, "·")
    for first, last in split_standalone_lines(text, rules):
        part, begin = text[first:last], 0
        for end in [*boundaries(part, rules), len(part)]:
            yield tokenise(part, begin, end, rules, start + first)
            begin = end


def _sentence_per_line(source: str | Iterable[str], rules: Convention) -> Iterator[list[Word]]:
    start = 0
    for line in lines_of(source):
        yield [word for words in _sentences(line, start, rules) for word in words]
        start += len(line)
