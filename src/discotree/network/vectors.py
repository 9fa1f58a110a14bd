"""Pretrained word vectors from files: word2vec (text and binary), GloVe, fastText, structured skip-gram.

What a file is, its content says: its name may be anything, and it may be packed with gzip, bzip2 or xz. Files can be
much larger than the memory: they are read in one pass, and only what is wanted is kept. They are downloads, so
nothing that they say about their own size is believed before it is there.

Shapes: V words, D numbers of each.
"""

import bz2
import gzip
import io
import lzma
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from discotree.errors import ModelError
from discotree.files import UNREADABLE, without_bom
from discotree.network.vocab import normalized

PACKED: dict[bytes, Callable[[Any], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
SAMPLE = 1 << 16  # bytes that the format is told from
LONGEST_LINE = 1 << 20  # bytes
LONGEST_WORD = 1 << 14  # bytes, in a binary file, where no line end stops a wrong turn
MAX_DIMENSIONS = 1 << 14
BATCH = 1024  # rows that are made numbers of at once
HEADER = re.compile(rb"\s*([0-9]{1,18})\s+([0-9]{1,18})\s*")
NUMBER = re.compile(rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?nan|[-+]?inf(?:inity)?", re.I)
FRACTION = re.compile(rb"[-+]?[0-9]*\.[0-9]+(?:[eE][-+]?[0-9]+)?")
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")

Record = tuple[int, bytes, bytes]  # line (of a text) or running number, word, and its numbers as the file has them


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words and their vectors: that of ``word`` is ``matrix[words[word]]``."""

    words: dict[str, int]
    matrix: NDArray[np.float32]  # (V, D)

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.words):
            raise ValueError(f"{len(self.words)} words with a matrix {self.matrix.shape}")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dimension(self) -> int:
        return int(self.matrix.shape[1])

    def lookup(self, form: str) -> int | None:
        """The row of a word, under the first of its spellings that is there."""
        return next((self.words[key] for key in spellings(form) if key in self.words), None)


def spellings(form: str) -> tuple[str, ...]:
    """What a word may be found under, best first: as it is, in lower case, and both with 0 for every digit.

    Whoever wants the vectors of some words only, wants those of all their spellings.
    """
    lower = form.lower()
    return tuple(dict.fromkeys((form, lower, normalized(form), normalized(lower))))


def read_vectors(
    path: str | os.PathLike[str], wanted: Callable[[str], bool] | None = None, digits_to_zero: bool = False
) -> Vectors:
    """The vectors of all words in a file that are ``wanted``; of a word that is there twice, the first.

    ``digits_to_zero``: words are kept, and asked for, with 0 for every digit. Files are sorted by frequency, so
    that 0000 gets the vector of the most frequent number of four digits.
    """
    name = os.fspath(path)
    words: dict[str, int] = {}

    def kept(records: Iterable[Record]) -> Iterator[tuple[int, bytes]]:
        for line, key, numbers in records:
            word = key.decode("utf-8", "replace")
            if digits_to_zero:
                word = normalized(word)
            if word not in words and (wanted is None or wanted(word)):
                words[word] = len(words)
                yield line, numbers

    data = bytearray()  # grows with what is there, not with what a header promises
    with _opened(name) as stream:
        layout = _Layout.of(stream.read(SAMPLE), name)
        stream.seek(0)
        rows = kept(layout.binary_records(stream) if layout.binary else layout.text_records(stream))
        while batch := list(islice(rows, BATCH)):
            data += layout.numbers(batch).tobytes()
    return Vectors(words, np.frombuffer(data, np.float32).reshape(-1, layout.dimension))


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """The content, unpacked; whatever goes wrong in reading it is a ModelError."""
    try:
        with open(name, "rb") as raw:
            start = raw.read(max(map(len, PACKED)))
            raw.seek(0)
            opener = next((opener for magic, opener in PACKED.items() if start.startswith(magic)), None)
            with io.BufferedReader(opener(raw), SAMPLE) if opener else raw as stream:
                yield cast(BinaryIO, stream)
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ModelError(f"{name}: cannot be read: {reason}") from None


@dataclass(frozen=True)
class _Layout:
    """What the beginning of a file says about the rest."""

    name: str
    dimension: int
    promised: int | None  # words, where a header says so
    binary: bool

    @classmethod
    def of(cls, sample: bytes, name: str) -> "_Layout":
        first, _, rest = without_bom(sample).partition(b"\n")
        if header := HEADER.fullmatch(first):
            promised, dimension = map(int, header.groups())
            if not 0 < dimension <= MAX_DIMENSIONS:
                raise ModelError(f"{name}:1: vectors of {dimension} numbers are not to be believed")
            return cls(name, dimension, promised, _is_binary(rest, dimension))
        fields = _fields(first)
        dimension = 0
        while dimension < len(fields) - 1 and NUMBER.fullmatch(fields[-1 - dimension]):
            dimension += 1
        if not dimension or len(first) == len(sample) == SAMPLE:
            raise ModelError(f"{name}:1: expected a word and its vector, or the numbers of words and dimensions")
        return cls(name, dimension, None, binary=False)

    def text_records(self, stream: BinaryIO) -> Iterator[Record]:
        """One word per line. Without a space in it, mostly: its vector are the last numbers of the line."""
        count = line = 0
        while raw := stream.readline(LONGEST_LINE):
            line += 1
            if len(raw) == LONGEST_LINE:
                raise self.error(line, f"no line is longer than {LONGEST_LINE} bytes")
            if line == 1:
                raw = without_bom(raw)
                if self.promised is not None:
                    continue
            row = raw.replace(b"\t", b" ").rstrip(b" \r\n")
            if not row:
                continue
            key, _, numbers = row.partition(b" ")
            if row.count(b" ") != self.dimension:
                key, numbers = self.split_unusual(row, line)
            count += 1
            yield line, key, numbers
        if self.promised is not None and count < self.promised:
            raise self.error(line, f"the file ends after {count} words, its header promises {self.promised}")

    def split_unusual(self, row: bytes, line: int) -> tuple[bytes, bytes]:
        """The word and the numbers of a line with more spaces than usual: a word like ". . ." has some itself."""
        key, *numbers = row.rsplit(b" ", self.dimension)
        if len(numbers) < self.dimension or FRACTION.fullmatch(key.rpartition(b" ")[2]):
            found = sum(1 for field in _fields(row)[1:] if NUMBER.fullmatch(field))
            raise self.error(line, f"expected a word and {self.dimension} numbers, found {found} numbers")
        return key.rstrip(b" "), b" ".join(numbers)

    def binary_records(self, stream: BinaryIO) -> Iterator[Record]:
        """A word, a space, and the numbers as they lie in memory; some writers end each with a line end."""
        stream.readline(SAMPLE)  # the header
        size = 4 * self.dimension
        buffer, at = b"", 0
        for number in range(1, (self.promised or 0) + 1):
            while (space := buffer.find(b" ", at)) < 0 or len(buffer) < space + 1 + size:
                if space < 0 and len(buffer) - at > LONGEST_WORD:
                    raise self.error(number, f"no word is longer than {LONGEST_WORD} bytes")
                block = stream.read(LONGEST_LINE)
                if not block:
                    raise self.error(number, f"the file ends, its header promises {self.promised} words")
                buffer, at = buffer[at:] + block, 0
            yield number, buffer[at:space].lstrip(b"\r\n"), buffer[space + 1 : space + 1 + size]
            at = space + 1 + size

    def numbers(self, batch: list[tuple[int, bytes]]) -> NDArray[np.float32]:
        """(rows, D)"""
        rows = [row for _, row in batch]
        if self.binary:
            matrix = np.frombuffer(b"".join(rows), "<f4").reshape(-1, self.dimension).astype(np.float32)
        else:
            try:
                texts = [row.decode("latin-1") for row in rows]
                matrix = np.loadtxt(texts, np.float32, comments=None, delimiter=" ", ndmin=2)
            except ValueError:
                matrix = np.empty((0, 0), np.float32)
            if matrix.shape != (len(rows), self.dimension):
                raise self.not_numbers(batch)
        finite = np.isfinite(matrix).all(axis=1)
        if not finite.all():
            raise self.error(batch[int(finite.argmin())][0], "a vector with a number that is not finite")
        return matrix

    def not_numbers(self, batch: list[tuple[int, bytes]]) -> ModelError:
        """The error for the first line of a batch that is no vector."""
        for line, row in batch:
            for field in row.split(b" "):
                if not NUMBER.fullmatch(field):
                    return self.error(line, f"{field[:40].decode('utf-8', 'replace')!r} is not a number")
        return self.error(batch[0][0], "no vectors from here on")

    def error(self, line: int, message: str) -> ModelError:
        return ModelError(f"{self.name}: word {line}: {message}" if self.binary else f"{self.name}:{line}: {message}")


def _fields(line: bytes) -> list[bytes]:
    return line.replace(b"\t", b" ").rstrip(b" \r\n").split(b" ")


def _is_binary(sample: bytes, dimension: int) -> bool:
    """Whether what follows the header are words with numbers as they lie in memory.

    A line of numbers is text. Otherwise either numbers or a broken text: only the former has control characters.
    """
    fields = _fields(sample.partition(b"\n")[0])
    if len(fields) > dimension and all(map(NUMBER.fullmatch, fields[-dimension:])):
        return False
    start = sample.find(b" ") + 1
    return CONTROL.search(sample, start, start + 4 * dimension) is not None
