"""Pretrained word vectors from files: word2vec (text and binary), GloVe, fastText, structured skip-gram.

The content of a file tells its format; its name may be anything, and it may be compressed with gzip, bzip2 or xz. Files
can be much larger than the memory: they are read in one pass, and only the vectors of some words are kept. Files are
downloads, so the sizes that they promise are not trusted.

Shapes: V words, D dimensions.
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
from discotree.files.names import without_bom
from discotree.files.reading import UNREADABLE
from discotree.network.vocab import normalized

OPENERS: dict[bytes, Callable[[Any], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
SAMPLE_BYTES = 1 << 16  # the format is guessed from these
MAX_LINE_BYTES = 1 << 20
MAX_WORD_BYTES = 1 << 14  # in a binary file, which has no line ends
MAX_DIMENSIONS = 1 << 14
BATCH_ROWS = 1024  # converted to numbers together
HEADER = re.compile(rb"\s*([0-9]{1,18})\s+([0-9]{1,18})\s*")
NUMBER = re.compile(rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?nan|[-+]?inf(?:inity)?", re.I)
FRACTION = re.compile(rb"[-+]?[0-9]*\.[0-9]+(?:[eE][-+]?[0-9]+)?")
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")

Record = tuple[int, bytes, bytes]  # line (of text) or running number, word, numbers as the file has them


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words and their vectors: ``matrix[words[word]]`` is the vector of ``word``."""

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
        """Return the row of a word under the first of its spellings that has one."""
        return next((self.words[key] for key in spellings(form) if key in self.words), None)


def spellings(form: str) -> tuple[str, ...]:
    """Return the spellings that a word may be found under, best first: as it is, in lower case, with 0 for digits."""
    lower = form.lower()
    return tuple(dict.fromkeys((form, lower, normalized(form), normalized(lower))))


def read_vectors(
    path: str | os.PathLike[str], wanted: Callable[[str], bool] | None = None, digits_to_zero: bool = False
) -> Vectors:
    """Read the vectors of the words that ``wanted`` accepts; of a word that is there twice, the first.

    ``digits_to_zero`` first replaces every digit by 0. Files are sorted by frequency, so 0000 gets the vector of the
    most frequent number of four digits.
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

    data = bytearray()  # grows with the file, not with the header's promise
    with _opened(name) as stream:
        layout = _Layout.of(stream.read(SAMPLE_BYTES), name)
        stream.seek(0)
        rows = kept(layout.binary_records(stream) if layout.binary else layout.text_records(stream))
        while batch := list(islice(rows, BATCH_ROWS)):
            data += layout.numbers(batch).tobytes()
    return Vectors(words, np.frombuffer(data, np.float32).reshape(-1, layout.dimension))


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """Open a file, decompressed; all that goes wrong while reading is a ModelError."""
    try:
        with open(name, "rb") as raw:
            start = raw.read(max(map(len, OPENERS)))
            raw.seek(0)
            opener = next((opener for magic, opener in OPENERS.items() if start.startswith(magic)), None)
            with io.BufferedReader(opener(raw), SAMPLE_BYTES) if opener else raw as stream:
                yield cast(BinaryIO, stream)
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ModelError(f"{name}: cannot be read: {reason}") from None


@dataclass(frozen=True)
class _Layout:
    """The layout of a file, guessed from its beginning."""

    name: str
    dimension: int
    promised: int | None  # number of words, where a header has it
    binary: bool

    @classmethod
    def of(cls, sample: bytes, name: str) -> "_Layout":
        first, _, rest = without_bom(sample).partition(b"\n")
        if header := HEADER.fullmatch(first):
            promised, dimension = map(int, header.groups())
            if not 0 < dimension <= MAX_DIMENSIONS:
                raise ModelError(f"{name}:1: vectors of {dimension} numbers, expected 1 to {MAX_DIMENSIONS}")
            return cls(name, dimension, promised, _is_binary(rest, dimension))
        fields = _fields(first)
        dimension = 0
        while dimension < len(fields) - 1 and NUMBER.fullmatch(fields[-1 - dimension]):
            dimension += 1
        if not dimension or len(first) == len(sample) == SAMPLE_BYTES:
            raise ModelError(f"{name}:1: expected a word and its vector, or the numbers of words and dimensions")
        return cls(name, dimension, None, binary=False)

    def text_records(self, stream: BinaryIO) -> Iterator[Record]:
        """Yield the words of a text file, one per line. A word may have spaces: its vector are the last numbers."""
        count = line = 0
        while raw := stream.readline(MAX_LINE_BYTES):
            line += 1
            if len(raw) == MAX_LINE_BYTES:
                raise self.error(line, f"a line of more than {MAX_LINE_BYTES} bytes")
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
        """Split a line with more spaces than usual into word and numbers: a word like ". . ." has spaces itself."""
        key, *numbers = row.rsplit(b" ", self.dimension)
        if len(numbers) < self.dimension or FRACTION.fullmatch(key.rpartition(b" ")[2]):
            found = sum(1 for field in _fields(row)[1:] if NUMBER.fullmatch(field))
            raise self.error(line, f"expected a word and {self.dimension} numbers, found {found} numbers")
        return key.rstrip(b" "), b" ".join(numbers)

    def binary_records(self, stream: BinaryIO) -> Iterator[Record]:
        """Yield the words of a binary file: a word, a space, raw numbers, and with some writers a line end."""
        stream.readline(SAMPLE_BYTES)  # the header
        size = 4 * self.dimension
        buffer, at = b"", 0
        for number in range(1, (self.promised or 0) + 1):
            while (space := buffer.find(b" ", at)) < 0 or len(buffer) < space + 1 + size:
                if space < 0 and len(buffer) - at > MAX_WORD_BYTES:
                    raise self.error(number, f"a word of more than {MAX_WORD_BYTES} bytes")
                block = stream.read(MAX_LINE_BYTES)
                if not block:
                    raise self.error(number, f"the file ends, its header promises {self.promised} words")
                buffer, at = buffer[at:] + block, 0
            yield number, buffer[at:space].lstrip(b"\r\n"), buffer[space + 1 : space + 1 + size]
            at = space + 1 + size

    def numbers(self, batch: list[tuple[int, bytes]]) -> NDArray[np.float32]:
        """Return the numbers of a batch of rows: (rows, D)."""
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
        """Return the error for the first line of a batch that is no vector."""
        for line, row in batch:
            for field in row.split(b" "):
                if not NUMBER.fullmatch(field):
                    return self.error(line, f"{field[:40].decode('utf-8', 'replace')!r} is not a number")
        return self.error(batch[0][0], "expected a vector")

    def error(self, line: int, message: str) -> ModelError:
        return ModelError(f"{self.name}: word {line}: {message}" if self.binary else f"{self.name}:{line}: {message}")


def _fields(line: bytes) -> list[bytes]:
    return line.replace(b"\t", b" ").rstrip(b" \r\n").split(b" ")


def _is_binary(sample: bytes, dimension: int) -> bool:
    """Return whether words with raw numbers follow the header.

    A line of numbers is text. Otherwise it is raw numbers or a broken text: only the former has control characters.
    """
    fields = _fields(sample.partition(b"\n")[0])
    if len(fields) > dimension and all(map(NUMBER.fullmatch, fields[-dimension:])):
        return False
    start = sample.find(b" ") + 1
    return CONTROL.search(sample, start, start + 4 * dimension) is not None
