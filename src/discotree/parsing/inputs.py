"""What `discotree parse` reads: text, lines, tokens or a treebank, as one stream of sentences with their addresses.

A sentence that cannot be used comes as the error that it is, in its place, so that the others are not lost.
"""

import codecs
import io
import os
import re
import select
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import BinaryIO, Literal, NamedTuple, cast

from discotree.errors import TreebankError
from discotree.files import STANDARD_STREAM, base_name, is_archive, open_compressed, readable, without_bom
from discotree.text import TOKEN, sentences, tokenised
from discotree.text.streams import BLOCK, lines_of
from discotree.treebanks import FORMATS, guess_format, read
from discotree.trees.tree import Token

TEXT, LINES, TOKENS = "text", "lines", "tokens"
INPUTS = (TEXT, LINES, TOKENS, *FORMATS)
Errors = Literal["strict", "replace"]

BLANKS = " \t\r\n"  # what never belongs to a token; of other blanks it depends on the kind of input
_UNDECODABLE = re.compile("[\udc80-\udcff]")  # how Python keeps bytes that are no characters
_CARRIAGE_RETURNS = re.compile(r"\r+\n?")
_FILE_NAME = re.compile(r"\S*(/\S+|\.\w{1,10})")


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words to parse. ``places`` are (start, end) in the text, where there was one; ``where`` is what errors name."""

    id: str
    words: list[str]
    where: str
    places: list[tuple[int, int]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)

    @property
    def tokens(self) -> list[Token]:
        if self.tags:
            return [Token(word, tag) for word, tag in zip(self.words, self.tags, strict=True)]
        return [Token(word) for word in self.words]


class Line(NamedTuple):
    """A sentence on a line of its own that is not cut into words yet: there may be many processes to do so."""

    id: str
    text: str
    where: str
    start: int  # its place in the whole text
    language: str  # whose rules cut it; "": there are blanks between the words

    def sentence(self, with_places: bool) -> Sentence:
        if not self.language and not with_places:
            return Sentence(self.id, TOKEN.findall(self.text), self.where)
        found = sentences(self.text, self.language, lines=True) if self.language else tokenised(self.text)
        words, start = next(iter(found)), self.start
        places = [(start + word.start, start + word.end) for word in words]
        return Sentence(self.id, [word.form for word in words], self.where, places)


Sentences = Iterator[Sentence | Line | TreebankError]


@dataclass(frozen=True)
class Input:
    """Where sentences come from. ``text`` is the argument itself, where it names no file."""

    name: str
    kind: str | None  # one of INPUTS; None: a treebank that says by itself what it is
    text: bytes | None = None

    @classmethod
    def of(cls, source: str | None, kind: str | None) -> "Input":
        """The input that an argument means: a file if there is one, standard input for ``-``, or else text itself."""
        if source is None or source == STANDARD_STREAM:
            return cls(STANDARD_STREAM, kind or TEXT)
        if not os.path.exists(source):
            return cls("<text>", kind or TEXT, source.encode("utf-8", "surrogateescape"))
        if kind is None:
            kind = guess_format(source)
            many = os.path.isdir(source) or is_archive(source)
            if kind is None and not many and not base_name(source).lower().endswith(".xml"):
                kind = TEXT
        return cls(source, kind)

    @property
    def is_treebank(self) -> bool:
        return self.kind is None or self.kind in FORMATS

    @property
    def looks_like_a_file(self) -> bool:
        """Whether the text may have been meant as the name of a file, which is not there."""
        return self.text is not None and _FILE_NAME.fullmatch(os.fsdecode(self.text)) is not None

    def sentences(
        self,
        language: str,
        encoding: str | None = None,
        errors: Errors = "strict",
        tags: bool = False,
        before_waiting: Callable[[], None] | None = None,
    ) -> Sentences:
        """All sentences, as a stream.

        ``tags``: keep those of a treebank. ``before_waiting`` is called when standard input has nothing to offer.
        """
        if self.is_treebank:
            return _of_treebank(self.name, self.kind, encoding, tags)
        encoding = "utf-8" if self.text is not None or not encoding else encoding
        return self._of_text(language, encoding, errors, before_waiting)

    def _of_text(
        self, language: str, encoding: str, errors: Errors, before_waiting: Callable[[], None] | None
    ) -> Sentences:
        with ExitStack() as stack, readable(self.name):
            if self.text is not None:
                stream: BinaryIO = io.BytesIO(self.text)
            elif self.name == STANDARD_STREAM:
                stream = standard_input(before_waiting)
            else:
                raw = stack.enter_context(open(self.name, "rb"))
                stream = stack.enter_context(open_compressed(raw, self.name))
            name = "<stdin>" if self.name == STANDARD_STREAM else self.name
            yield from _of_pieces(_Pieces(stream, name, encoding, errors), self.kind, language)


class _Pieces:
    """The text of a stream, line by line; very long lines in pieces. Knows on which line a place is.

    Bytes that make no sense come as lone surrogates, which no real text has, unless they are to be replaced. A byte
    order mark at the beginning does not belong to the text. Carriage returns that are line ends come as line feeds.
    """

    def __init__(self, stream: BinaryIO, name: str, encoding: str, errors: Errors) -> None:
        self.stream = stream
        self.name = name
        self.encoding = encoding
        self.decoder = codecs.getincrementaldecoder(encoding)("surrogateescape" if errors == "strict" else errors)
        self.starts: deque[tuple[int, int]] = deque()  # of the lines that are not blank: place and number
        self.number = 1  # of the line that comes next, or goes on

    def __iter__(self) -> Iterator[str]:
        place = 0
        is_start = True
        for text in self._decoded():
            is_blank = not text.strip(BLANKS)
            if is_start and not is_blank:
                self.starts.append((place, self.number))
            yield text
            place += len(text)
            is_end = text.endswith("\n")
            self.number += is_end
            is_start = is_end or (is_start and is_blank)

    def _decoded(self) -> Iterator[str]:
        is_first = True
        waiting = ""  # a carriage return: what follows says whether it is a line end
        raw = b" "
        while raw:
            raw = self.stream.readline(BLOCK)
            try:
                text = waiting + self.decoder.decode(raw, final=not raw)
            except UnicodeDecodeError as error:  # of encodings that have no place for single bytes
                raise TreebankError(f"this is not {self.encoding}: {error.reason}", self.name, self.number) from None
            if is_first and text:
                text = without_bom(text)
                is_first = False
            waiting = ""
            if "\r" in text:
                if raw and text.endswith("\r"):
                    text, waiting = text[:-1], "\r"
                text = _CARRIAGE_RETURNS.sub(_line_ends, text)
            yield from lines_of(text)

    def line(self, place: int) -> int:
        """The line of a place; asked for in ascending order only."""
        while len(self.starts) > 1 and self.starts[1][0] <= place:
            self.starts.popleft()
        return self.starts[0][1]


def _line_ends(found: re.Match[str]) -> str:
    """Carriage returns by themselves end lines on old Macs, and in what their spreadsheets write."""
    return found[0] if found[0].endswith("\n") else "\n" * len(found[0])


def _of_pieces(pieces: _Pieces, kind: str | None, language: str) -> Sentences:
    if kind in (LINES, TOKENS):
        return _of_lines(pieces, language if kind == LINES else "")
    return _of_running_text(pieces, language)


def _of_running_text(pieces: _Pieces, language: str) -> Sentences:
    for number, words in enumerate(filter(None, sentences(pieces, language)), 1):
        line = pieces.line(words[0].start)
        damaged = next((word for word in words if _damage(word.form)), None)
        if damaged is None:
            forms, places = [word.form for word in words], [(word.start, word.end) for word in words]
            yield Sentence(str(number), forms, f"{pieces.name}:{line}", places)
        else:
            yield _undecodable(pieces, number, damaged.form, damaged.start)


def _of_lines(pieces: _Pieces, language: str) -> Sentences:
    blanks = None if language else BLANKS
    number = start = 0
    for text in lines_of(pieces):
        words = text.lstrip(blanks)
        if words:
            number += 1
            place = start + len(text) - len(words)
            if _damage(words):
                yield _undecodable(pieces, number, words, place)
            else:
                yield Line(str(number), text, f"{pieces.name}:{pieces.line(place)}", start, language)
        start += len(text)


def _damage(text: str) -> re.Match[str] | None:
    """The first byte of a text that was no character."""
    return None if text.isascii() else _UNDECODABLE.search(text)


def _undecodable(pieces: _Pieces, number: int, text: str, place: int) -> TreebankError:
    found = _damage(text)
    byte = ord(found[0]) & 0xFF if found else 0
    message = f"sentence {number}: byte {byte:#04x} is not {pieces.encoding}; --errors replace takes it as �"
    return TreebankError(message, pieces.name, pieces.line(place))


def _of_treebank(path: str, format: str | None, encoding: str | None, tags: bool) -> Sentences:
    """The words of a treebank's sentences; nothing else of it is looked at."""
    errors: list[TreebankError] = []
    name = "<stdin>" if path == STANDARD_STREAM else path
    for tree in read(path, format, encoding=encoding, on_error=errors.append):
        yield from errors
        errors.clear()
        kept = [token.tag for token in tree.tokens] if tags else []
        yield Sentence(str(tree.id), list(tree.words), f"{name}: sentence {tree.id}", tags=kept)
    yield from errors


class Unwritten(Exception):
    """An OSError of the output, which is nothing that the input has to do with."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class _Patient(io.RawIOBase):
    """A stream that says when it has to wait for somebody to write more."""

    def __init__(self, descriptor: int, before_waiting: Callable[[], None]) -> None:
        self.descriptor = descriptor
        self.before_waiting = before_waiting

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not select.select([self.descriptor], [], [], 0)[0]:
            try:
                self.before_waiting()
            except OSError as error:
                raise Unwritten(error) from None
        data = os.read(self.descriptor, len(buffer))
        buffer[: len(data)] = data
        return len(data)


def standard_input(before_waiting: Callable[[], None] | None) -> BinaryIO:
    """Standard input. Windows cannot tell whether a pipe has something to offer, nor can what is no real file."""
    try:
        descriptor = sys.stdin.fileno()
    except OSError:
        before_waiting = None
    if before_waiting is None or sys.platform == "win32":
        return cast(BinaryIO, sys.stdin.buffer)
    return cast(BinaryIO, io.BufferedReader(_Patient(descriptor, before_waiting), BLOCK))
