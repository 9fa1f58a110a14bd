"""The input of `discotree parse`: text, lines, tokens or treebanks, as one stream of sentences with file and line.

    bytes → DecodedText → InputSentence
    treebank → InputSentence

A sentence that cannot be read is yielded as its error, in its place, so that the others are not lost.
"""

import codecs
import io
import os
import re
import select
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import BinaryIO, Literal, cast

from discotree.errors import InputError, TreebankError, undecodable
from discotree.files.reading import ByteCounter, files_in, open_binary, open_compressed, readable
from discotree.files.writing import STANDARD_STREAM, base_name, is_archive, is_compressed, stems, without_bom
from discotree.text import Word, read_pretokenised, sentences
from discotree.text.recognition import SAMPLE_CHARACTERS, recognise, sample_of
from discotree.text.streams import BLOCK, lines_of
from discotree.treebanks import FORMATS, files, guess_format, read
from discotree.treebanks.formats import ALL_SUFFIXES
from discotree.trees.constraints import Constraint, constraints_of, partial_tree
from discotree.trees.tree import Token, plain_tokens

TEXT, LINES, TOKENS = "text", "lines", "tokens"
TEXT_KINDS = (TEXT, LINES, TOKENS)
INPUT_KINDS = (*TEXT_KINDS, *FORMATS)
DecodingErrors = Literal["strict", "replace"]

TEXT_SUFFIXES = (".txt", ".text")  # files to parse in a folder without treebanks
MAX_SAMPLE_BYTES = 4 * SAMPLE_CHARACTERS  # a character has at most 4 bytes in any encoding
MAX_LINE_CHARACTERS = 1 << 20  # of a line with a sentence; ten thousand words have fewer
NO_SUCH_FILE = "no such file; to parse text, use --text, write several words in quotes, or pipe it to standard input"

WHITESPACE = " \t\r\n"  # never part of a token; other whitespace depends on the kind of input
_UNDECODABLE = re.compile("[\udc80-\udcff]")  # undecodable bytes, as Python represents them
_CARRIAGE_RETURNS = re.compile(r"\r+\n?")
_SENTENCE = re.compile(r"\S*\s.*|\S+[.!?…]", re.DOTALL)  # an argument that may be text, and not a path


@dataclass(frozen=True, slots=True)
class InputSentence:
    """Words to parse. ``offsets`` are (start, end) in the input text; ``where`` is the file and line for errors."""

    id: str
    words: list[str]
    where: str
    offsets: list[tuple[int, int]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)

    @property
    def tokens(self) -> list[Token]:
        if self.tags:
            return [Token(word, tag) for word, tag in zip(self.words, self.tags, strict=True)]
        return plain_tokens(self.words)


InputItem = InputSentence | TreebankError
Sentences = Iterator[InputItem]


class DecodedText:
    """The text of a stream, line by line, very long lines in chunks; knows the line of an offset.

    Undecodable bytes become lone surrogates, which no real text has, unless they are to be replaced. A byte order mark
    is dropped. Carriage returns that end lines become line feeds.
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
        self.starts: deque[tuple[int, int]] = deque()  # (offset, line number) of lines that are not empty
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
                raise TreebankError(
                    f"cannot be decoded as {self.encoding}: {error.reason}", self.name, self.number
                ) from None
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


def _line_ends(match: re.Match[str]) -> str:
    """Turn carriage returns without a line feed, the line ends of old Macs, into line feeds."""
    return match[0] if match[0].endswith("\n") else "\n" * len(match[0])


def _split_running_text(text: DecodedText, language: str) -> Sentences:
    for number, words in enumerate(filter(None, sentences(text, language)), 1):
        line = text.line(words[0].start)
        damaged = next((word for word in words if _undecodable_byte(word.form)), None)
        if damaged is None:
            yield _sentence(number, words, f"{text.name}:{line}")
        else:
            yield _decoding_error(text, number, damaged.form, damaged.start)


def _sentence(number: int, words: list[Word], where: str, start: int = 0) -> InputSentence:
    offsets = [(start + word.start, start + word.end) for word in words]
    return InputSentence(str(number), [word.form for word in words], where, offsets)


def _split_lines(text: DecodedText, language: str, constrained: bool = False) -> Sentences:
    whitespace = None if language else WHITESPACE
    number = start = 0
    for line, size in _bounded_lines(text):
        words = line.lstrip(whitespace)
        if words:
            number += 1
            offset = start + len(line) - len(words)
            if size > MAX_LINE_CHARACTERS:
                problem = f"the line has {size:,} characters, more than {MAX_LINE_CHARACTERS:,}; try --from text"
                yield TreebankError(f"sentence {number}: {problem}", text.name, text.line(offset))
            elif _undecodable_byte(words):
                yield _decoding_error(text, number, words, offset)
            elif constrained:
                yield _partial_tree(line, number, text.name, text.line(offset))
            else:
                (row,) = sentences(line, language, lines=True) if language else read_pretokenised(line)
                if row:
                    yield _sentence(number, row, f"{text.name}:{text.line(offset)}", start)
        start += size


def _partial_tree(line: str, number: int, name: str, line_number: int) -> InputItem:
    """Return the words of a line with brackets, and the constraints that the brackets stand for."""
    try:
        tree = partial_tree(line)
    except InputError as error:
        return TreebankError(f"sentence {number}: {error}", name, line_number)
    where = f"{name}:{line_number}: sentence {number}"
    return InputSentence(str(number), list(tree.words), where, constraints=constraints_of(tree))


def _bounded_lines(text: DecodedText) -> Iterator[tuple[str, int]]:
    """Yield every line with its length; a line that is too long is cut."""
    pieces: list[str] = []
    size = 0
    for piece in text:
        if size <= MAX_LINE_CHARACTERS:
            pieces.append(piece)
        size += len(piece)
        if piece.endswith("\n"):
            yield "".join(pieces), size
            pieces, size = [], 0
    if size:
        yield "".join(pieces), size


def _undecodable_byte(text: str) -> re.Match[str] | None:
    """Find the first undecodable byte of a text."""
    return None if text.isascii() else _UNDECODABLE.search(text)


def _decoding_error(text: DecodedText, number: int, damaged: str, offset: int) -> TreebankError:
    match = _undecodable_byte(damaged)
    byte = ord(match[0]) & 0xFF if match else 0
    problem = undecodable(byte, text.encoding, "use --errors replace to read it as �")
    return TreebankError(f"sentence {number}: {problem}", text.name, text.line(offset))


# Standard input


class OutputFailedError(Exception):
    """Wraps an OSError of the output that occurs while input is read."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class StandardInput(io.RawIOBase):
    """Standard input after some bytes that were read before; ``before_waiting`` is called before a read blocks."""

    def __init__(self, beginning: bytes, before_waiting: Callable[[], None] | None) -> None:
        self.beginning = beginning
        self.before_waiting = before_waiting

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.beginning[: len(buffer)]
        self.beginning = self.beginning[len(buffer) :]
        if not data:
            if self.before_waiting and _would_block():
                try:
                    self.before_waiting()
                except OSError as error:
                    raise OutputFailedError(error) from None
            data = _read_some(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _would_block() -> bool:
    """Return whether reading from standard input would block; False on Windows or without a file descriptor."""
    try:
        return sys.platform != "win32" and not select.select([sys.stdin.fileno()], [], [], 0)[0]
    except OSError:
        return False


def _read_some(size: int) -> bytes:
    """Read the available bytes; wait only if there are none."""
    try:
        descriptor = sys.stdin.fileno()
    except OSError:
        return sys.stdin.buffer.readline(size)
    return os.read(descriptor, size)


# Sources


@dataclass(frozen=True)
class SentenceSource:
    """A file, a folder, standard input or a text that sentences are read from."""

    name: str
    kind: str | None  # one of INPUT_KINDS; None: a treebank whose format follows from its content
    text: bytes | None = None  # the text itself, if there is no file
    stem: str = ""  # prefix of the ids
    constrained: bool = False  # whether the constituents of a treebank, or the brackets in a text, are constraints
    begun: Sentences | None = field(default=None, compare=False)  # a treebank that was read for a sample
    peeked: bytes = field(default=b"", compare=False)  # the beginning of standard input, read for a sample

    @property
    def is_treebank(self) -> bool:
        return self.kind is None or self.kind in FORMATS

    def sentences(
        self,
        language: str,
        encoding: str | None = None,
        errors: DecodingErrors = "strict",
        tags: bool = False,
        before_waiting: Callable[[], None] | None = None,
        on_bytes: ByteCounter | None = None,
    ) -> Sentences:
        """Yield all sentences.

        ``tags`` keeps the tags of a treebank. ``before_waiting`` is called before reading from standard input blocks,
        ``on_bytes`` with the number of bytes read from files.
        """
        if self.begun is not None:
            return self.begun
        if self.is_treebank:
            return self._read_treebank(encoding, tags, on_bytes)
        encoding = "utf-8" if self.text is not None or not encoding else encoding
        items = self._read_text(language, encoding, errors, before_waiting, on_bytes)
        return map(self._add_stem, items) if self.stem else items

    def _add_stem(self, item: InputItem) -> InputItem:
        return replace(item, id=f"{self.stem}/{item.id}") if isinstance(item, InputSentence) else item

    def _read_text(
        self,
        language: str,
        encoding: str,
        errors: DecodingErrors,
        before_waiting: Callable[[], None] | None,
        on_bytes: ByteCounter | None,
    ) -> Sentences:
        with ExitStack() as stack, readable(self.name):
            if self.name == STANDARD_STREAM and self.text is None:
                stream = cast(BinaryIO, io.BufferedReader(StandardInput(self.peeked, before_waiting), BLOCK))
            else:
                stream = self._open(stack, on_bytes)
            # Bytes of an uncompressed file are counted line by line, which is more exact than block by block.
            count = None if is_compressed(self.name) else on_bytes
            text = DecodedText(stream, _display_name(self.name), encoding, errors, count)
            if self.kind in (LINES, TOKENS):
                yield from _split_lines(text, language if self.kind == LINES else "", self.constrained)
            else:
                yield from _split_running_text(text, language)

    def _open(self, stack: ExitStack, on_bytes: ByteCounter | None = None) -> BinaryIO:
        if self.text is not None:
            return io.BytesIO(self.text)
        raw = stack.enter_context(open_binary(self.name, on_bytes if is_compressed(self.name) else None))
        return stack.enter_context(open_compressed(raw, self.name))

    def beginning(self, encoding: str | None, tags: bool, waits: bool) -> "tuple[str, SentenceSource]":
        """Return the beginning of the text, and a source that still yields all sentences."""
        if (
            self.text is None
            and os.path.exists(self.name)
            and not (os.path.isfile(self.name) or os.path.isdir(self.name))
        ):
            return "", self  # a pipe cannot be read twice
        if self.is_treebank:
            items = self.sentences("", encoding, tags=tags)
            first: list[InputItem] = []
            sample = sample_of(_words(items, first))
            if not sample and first and isinstance(first[0], TreebankError):
                raise first[0]
            return sample, replace(self, begun=chain(first, items)) if self.name == STANDARD_STREAM else self
        if self.name == STANDARD_STREAM and self.text is None:
            data = b""
            while len(data) < MAX_SAMPLE_BYTES and (block := _read_some(BLOCK)):
                data += block
                if not waits or recognise(_decode(data, encoding)).language:
                    break
            if waits:
                self._check_first_bytes(data, encoding)
            return _decode(data, encoding), replace(self, peeked=data)
        with ExitStack() as stack, readable(self.name):
            data = self._open(stack).read(MAX_SAMPLE_BYTES)
        encoding = "utf-8" if self.text is not None else encoding
        if waits:
            self._check_first_bytes(data, encoding)
        return _decode(data, encoding), self

    def _check_first_bytes(self, data: bytes, encoding: str | None) -> None:
        """Refuse a text that begins like UTF-16 or gzip, before its language is guessed.

        If the model is named, nothing is guessed, and the reader reports the first byte that it cannot decode.
        """
        if encoding is None and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise TreebankError("the text is in UTF-16; pass --encoding utf-16", _display_name(self.name))
        if data.startswith(b"\x1f\x8b"):
            raise TreebankError("the text is compressed with gzip; decompress it first", _display_name(self.name))

    def _read_treebank(self, encoding: str | None, tags: bool, on_bytes: ByteCounter | None) -> Sentences:
        """Yield the words of a treebank's sentences, without their trees."""
        errors: list[TreebankError] = []
        name = _display_name(self.name)
        trees = read(self.name, self.kind, encoding=encoding, on_error=errors.append, stem=self.stem, on_bytes=on_bytes)
        for tree in trees:
            yield from errors
            errors.clear()
            gold_tags = [token.tag for token in tree.tokens] if tags else []
            constraints = constraints_of(tree) if self.constrained else []
            where = f"{name}: sentence {tree.id}"
            yield InputSentence(str(tree.id), list(tree.words), where, tags=gold_tags, constraints=constraints)
        yield from errors


def _decode(data: bytes, encoding: str | None) -> str:
    return data.decode(encoding or "utf-8", "replace")


def _words(items: Sentences, first: list[InputItem]) -> Iterator[str]:
    """Yield the words of sentences, and append the sentences to ``first``."""
    for item in items:
        first.append(item)
        if isinstance(item, InputSentence):
            yield " ".join(item.words)


def beginning_of(
    sources: Sequence[SentenceSource], encoding: str | None, tags: bool = False, waits: bool = True
) -> tuple[str, list[SentenceSource]]:
    """Return a sample of the text of all sources, and sources that still yield all sentences.

    With ``waits``, standard input is read until its language is clear.
    """
    sample, unread = "", list(sources)
    for number, source in enumerate(sources):
        if len(sample) >= SAMPLE_CHARACTERS or (number and source.name == STANDARD_STREAM):
            break
        try:
            text, unread[number] = source.beginning(encoding, tags, waits)
        except TreebankError:
            if waits:
                raise
            break  # the reader reports it, after the sentences before it
        sample += f"{text}\n"
    return sample, unread


def _display_name(name: str) -> str:
    return "<stdin>" if name == STANDARD_STREAM else name


def text_source(text: str, kind: str | None = None) -> SentenceSource:
    """Return the source for a text."""
    source = SentenceSource("<text>", kind or TEXT, text.encode("utf-8", "surrogateescape"))
    if source.is_treebank:
        raise InputError(f"--from {kind} reads a treebank from a file or from standard input (-), not a text")
    return source


def find_sources(arguments: Sequence[str], kind: str | None) -> list[SentenceSource]:
    """Return the sources for arguments: paths, ``-``, or a single text.

    A text contains whitespace or ends like a sentence, but does not end like the name of a text or treebank. Anything
    else that is not the name of a file is an error.
    """
    if len(arguments) == 1 and _is_text(arguments[0]):
        return [text_source(arguments[0], kind)]
    sources: list[SentenceSource] = []
    for path in arguments:
        if path == STANDARD_STREAM:
            sources.append(SentenceSource(path, kind or TEXT))
        elif not os.path.exists(path):
            raise TreebankError(NO_SUCH_FILE, path)
        elif os.path.isdir(path):
            sources += _find_in_folder(path, kind)
        else:
            sources.append(SentenceSource(path, kind or _guess_kind(path)))
    if len(sources) == 1:
        return sources
    names = stems(["stdin" if source.name == STANDARD_STREAM else source.name for source in sources])
    return [replace(source, stem=stem) for source, stem in zip(sources, names, strict=True)]


def _is_text(argument: str) -> bool:
    if os.path.exists(argument) or not _SENTENCE.fullmatch(argument):
        return False
    return "\n" in argument or not base_name(argument).lower().endswith((*TEXT_SUFFIXES, *ALL_SUFFIXES))


def _guess_kind(path: str) -> str | None:
    kind = guess_format(path)
    if kind is None and not is_archive(path) and not base_name(path).lower().endswith(".xml"):
        return TEXT
    return kind


def _find_in_folder(folder: str, kind: str | None) -> Iterator[SentenceSource]:
    """Yield a folder as one treebank, or the texts in it if it contains no treebank."""
    if kind in FORMATS or (kind is None and files(folder)):
        yield SentenceSource(folder, kind)
        return
    suffixes = "" if kind else TEXT_SUFFIXES
    texts = files_in(folder, lambda names: [name for name in names if base_name(name).endswith(suffixes)])
    if not texts:
        reason = "the folder contains no files" if kind else "the folder contains neither .txt files nor a treebank"
        raise TreebankError(reason, folder)
    yield from (SentenceSource(path, kind or TEXT) for path in texts)
