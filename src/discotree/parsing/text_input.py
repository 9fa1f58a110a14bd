"""Decode text and split it into sentences, each with its line.

    bytes → DecodedText → InputSentence (running text) or InputLine (a sentence on every line)

A sentence that cannot be decoded comes as its error, in its place, so that the others are not lost.
"""

import codecs
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Literal, NamedTuple

from discotree.errors import TreebankError
from discotree.files.names import without_bom
from discotree.files.reading import ByteCounter
from discotree.text import TOKEN, sentences, tokenised
from discotree.text.streams import BLOCK, lines_of
from discotree.trees.tree import Token

TEXT, LINES, TOKENS = "text", "lines", "tokens"
TEXT_KINDS = (TEXT, LINES, TOKENS)
DecodingErrors = Literal["strict", "replace"]

WHITESPACE = " \t\r\n"  # never part of a token; other whitespace depends on the kind of input
_UNDECODABLE = re.compile("[\udc80-\udcff]")  # how Python keeps undecodable bytes
_CARRIAGE_RETURNS = re.compile(r"\r+\n?")


@dataclass(frozen=True, slots=True)
class InputSentence:
    """Words to parse. ``offsets`` are (start, end) in the text, if there was one; errors name ``where``."""

    id: str
    words: list[str]
    where: str
    offsets: list[tuple[int, int]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)

    @property
    def tokens(self) -> list[Token]:
        if self.tags:
            return [Token(word, tag) for word, tag in zip(self.words, self.tags, strict=True)]
        return [Token(word) for word in self.words]


class InputLine(NamedTuple):
    """A sentence on a line of its own, not yet tokenised: that is left to the worker processes."""

    id: str
    text: str
    where: str
    start: int  # offset of the line in the whole text
    language: str  # the tokeniser's language; "" where whitespace separates the tokens

    def tokenise(self, with_offsets: bool) -> InputSentence:
        if not self.language and not with_offsets:
            return InputSentence(self.id, TOKEN.findall(self.text), self.where)
        found = sentences(self.text, self.language, lines=True) if self.language else tokenised(self.text)
        words, start = next(iter(found)), self.start
        offsets = [(start + word.start, start + word.end) for word in words]
        return InputSentence(self.id, [word.form for word in words], self.where, offsets)


InputItem = InputSentence | InputLine | TreebankError
Sentences = Iterator[InputItem]


class DecodedText:
    """The text of a stream, line by line, very long lines in pieces; knows the line of an offset.

    Undecodable bytes come as lone surrogates, which no real text has, unless they are to be replaced. A byte order mark
    is dropped. Carriage returns that end lines come as line feeds.
    """

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        encoding: str,
        errors: DecodingErrors,
        on_bytes: ByteCounter | None = None,
    ) -> None:
        self.stream = stream
        self.name = name
        self.encoding = encoding
        self.on_bytes = on_bytes
        self.decoder = codecs.getincrementaldecoder(encoding)("surrogateescape" if errors == "strict" else errors)
        self.starts: deque[tuple[int, int]] = deque()  # (offset, line number) of the lines that are not empty
        self.number = 1  # number of the current line

    def __iter__(self) -> Iterator[str]:
        offset = 0
        is_start = True
        for text in self._decoded():
            is_empty = not text.strip(WHITESPACE)
            if is_start and not is_empty:
                self.starts.append((offset, self.number))
            yield text
            offset += len(text)
            is_end = text.endswith("\n")
            self.number += is_end
            is_start = is_end or (is_start and is_empty)

    def _decoded(self) -> Iterator[str]:
        is_first = True
        pending = ""  # a carriage return at the end of a block: the next block shows whether it ends a line
        raw = b" "
        while raw:
            raw = self.stream.readline(BLOCK)
            if self.on_bytes is not None:
                self.on_bytes(len(raw))
            try:
                text = pending + self.decoder.decode(raw, final=not raw)
            except UnicodeDecodeError as error:  # encodings such as UTF-16 cannot keep single bytes
                raise TreebankError(f"this is not {self.encoding}: {error.reason}", self.name, self.number) from None
            if is_first and text:
                text = without_bom(text)
                is_first = False
            pending = ""
            if "\r" in text:
                if raw and text.endswith("\r"):
                    text, pending = text[:-1], "\r"
                text = _CARRIAGE_RETURNS.sub(_line_ends, text)
            yield from lines_of(text)

    def line(self, offset: int) -> int:
        """Return the line of an offset. Offsets must come in ascending order."""
        while len(self.starts) > 1 and self.starts[1][0] <= offset:
            self.starts.popleft()
        return self.starts[0][1]


def _line_ends(found: re.Match[str]) -> str:
    """Turn carriage returns alone, which end lines on old Macs, into line feeds."""
    return found[0] if found[0].endswith("\n") else "\n" * len(found[0])


def split_text(text: DecodedText, kind: str | None, language: str) -> Sentences:
    """Split a text of this kind into sentences."""
    if kind in (LINES, TOKENS):
        return _split_lines(text, language if kind == LINES else "")
    return _split_running_text(text, language)


def _split_running_text(text: DecodedText, language: str) -> Sentences:
    for number, words in enumerate(filter(None, sentences(text, language)), 1):
        line = text.line(words[0].start)
        damaged = next((word for word in words if _damage(word.form)), None)
        if damaged is None:
            forms, offsets = [word.form for word in words], [(word.start, word.end) for word in words]
            yield InputSentence(str(number), forms, f"{text.name}:{line}", offsets)
        else:
            yield _undecodable(text, number, damaged.form, damaged.start)


def _split_lines(text: DecodedText, language: str) -> Sentences:
    whitespace = None if language else WHITESPACE
    number = start = 0
    for line in lines_of(text):
        words = line.lstrip(whitespace)
        if words:
            number += 1
            offset = start + len(line) - len(words)
            if _damage(words):
                yield _undecodable(text, number, words, offset)
            else:
                yield InputLine(str(number), line, f"{text.name}:{text.line(offset)}", start, language)
        start += len(line)


def _damage(text: str) -> re.Match[str] | None:
    """Find the first undecodable byte of a text."""
    return None if text.isascii() else _UNDECODABLE.search(text)


def _undecodable(text: DecodedText, number: int, damaged: str, offset: int) -> TreebankError:
    found = _damage(damaged)
    byte = ord(found[0]) & 0xFF if found else 0
    message = f"sentence {number}: byte {byte:#04x} is not {text.encoding}; --errors replace takes it as �"
    return TreebankError(message, text.name, text.line(offset))
