"""Pretrained word vectors from files: word2vec (text and binary), GloVe, fastText, structured skip-gram.

The content of a file tells its format, and its suffix whether it is compressed. Files can be much larger than the
memory: they are read in one pass, and only the vectors of some words are kept. Files are downloads, so the sizes in
their headers are not trusted.

Shapes: V words, D dimensions.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from discotree.errors import ModelError
from discotree.files.reading import readable
from discotree.files.writing import COMPRESSED, without_bom
from discotree.network.arrays import F32
from discotree.network.vocab import normalized

SAMPLE_BYTES = 1 << 16  # the format is guessed from these
MAX_LINE_BYTES = 1 << 20
MAX_WORD_BYTES = 1 << 14  # in a binary file, which has no line ends
MAX_DIMENSIONS = 1 << 14
HEADER = re.compile(rb"\s*([0-9]{1,18})\s+([0-9]{1,18})\s*")
NUMBER = re.compile(rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?nan|[-+]?inf(?:inity)?", re.I)
FRACTION = re.compile(rb"[-+]?[0-9]*\.[0-9]+(?:[eE][-+]?[0-9]+)?")
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words and their vectors: ``matrix[words[word]]`` is the vector of ``word``."""

    words: dict[str, int]
    matrix: F32  # (V, D)

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
    data = bytearray()  # grows with the file, not with the number of words in its header

    def is_new(key: bytes) -> bool:
        word = key.decode("utf-8", "replace")
        if digits_to_zero:
            word = normalized(word)
        if word in words or not (wanted is None or wanted(word)):
            return False
        words[word] = len(words)
        return True

    opener = next((opener for suffix, opener in COMPRESSED.items() if name.lower().endswith(suffix)), open)
    with readable(name), opener(name, "rb") as stream:
        sample = stream.read(SAMPLE_BYTES)
        stream.seek(0)
        count, dimension, is_binary = _layout(sample, name)
        read = _read_binary if is_binary else _read_text
        for where, vector in read(stream, name, count, dimension, is_new):
            if not np.isfinite(vector).all():
                raise ModelError(f"{where}: a vector with a number that is not finite")
            data += vector.tobytes()
    return Vectors(words, np.frombuffer(data, np.float32).reshape(-1, dimension))


def _layout(sample: bytes, name: str) -> tuple[int | None, int, bool]:
    """Return the number of words if there is a header, the dimension, and whether a file is binary."""
    first, _, rest = without_bom(sample).partition(b"\n")
    if header := HEADER.fullmatch(first):
        count, dimension = map(int, header.groups())
        if not 0 < dimension <= MAX_DIMENSIONS:
            raise ModelError(f"{name}:1: vectors of {dimension} numbers, expected 1 to {MAX_DIMENSIONS}")
        return count, dimension, _is_binary(rest, dimension)
    fields = _fields(first)
    dimension = 0
    while dimension < len(fields) - 1 and NUMBER.fullmatch(fields[-1 - dimension]):
        dimension += 1
    if not dimension or len(first) == len(sample) == SAMPLE_BYTES:
        raise ModelError(f"{name}:1: expected a word and its vector, or the numbers of words and dimensions")
    return None, dimension, False


def _is_binary(sample: bytes, dimension: int) -> bool:
    """Return whether words with raw numbers follow the header.

    A line of numbers is text. Otherwise it is raw numbers or a broken text: only the former has control characters.
    """
    fields = _fields(sample.partition(b"\n")[0])
    if len(fields) > dimension and all(map(NUMBER.fullmatch, fields[-dimension:])):
        return False
    start = sample.find(b" ") + 1
    return CONTROL.search(sample, start, start + 4 * dimension) is not None


def _read_text(
    stream: BinaryIO, name: str, count: int | None, dimension: int, is_new: Callable[[bytes], bool]
) -> Iterator[tuple[str, F32]]:
    """Yield the vectors of a text file, one per line. A word may have spaces: its vector are the last numbers."""
    words = line = 0
    while raw := stream.readline(MAX_LINE_BYTES):
        line += 1
        if len(raw) == MAX_LINE_BYTES:
            raise ModelError(f"{name}:{line}: a line of more than {MAX_LINE_BYTES} bytes")
        if line == 1:
            raw = b"" if count is not None else without_bom(raw)
        row = raw.replace(b"\t", b" ").rstrip(b" \r\n")
        if not row:
            continue
        words += 1
        key, *numbers = row.rsplit(b" ", dimension)
        is_usual = len(numbers) == dimension
        if not is_usual or (b" " in key and FRACTION.fullmatch(key.rpartition(b" ")[2])):
            found = sum(1 for field in _fields(row)[1:] if NUMBER.fullmatch(field))
            raise ModelError(f"{name}:{line}: expected a word and {dimension} numbers, found {found} numbers")
        if is_new(key.rstrip(b" ")):
            for field in numbers:
                if not NUMBER.fullmatch(field):
                    raise ModelError(f"{name}:{line}: {field[:40].decode('utf-8', 'replace')!r} is not a number")
            with np.errstate(over="ignore"):
                yield f"{name}:{line}", np.array(numbers).astype(np.float32)
    if count is not None and words < count:
        raise ModelError(f"{name}:{line}: the file ends after {words} words, its header promises {count}")


def _read_binary(
    stream: BinaryIO, name: str, count: int | None, dimension: int, is_new: Callable[[bytes], bool]
) -> Iterator[tuple[str, F32]]:
    """Yield the vectors of a binary file: a word, a space, raw numbers, and with some writers a line end."""
    stream.readline(SAMPLE_BYTES)  # the header
    size = 4 * dimension
    buffer, at = b"", 0
    for number in range(1, (count or 0) + 1):
        where = f"{name}: word {number}"
        while (space := buffer.find(b" ", at)) < 0 or len(buffer) < space + 1 + size:
            if space < 0 and len(buffer) - at > MAX_WORD_BYTES:
                raise ModelError(f"{where}: a word of more than {MAX_WORD_BYTES} bytes")
            block = stream.read(MAX_LINE_BYTES)
            if not block:
                raise ModelError(f"{where}: the file ends, its header promises {count} words")
            buffer, at = buffer[at:] + block, 0
        end = space + 1 + size
        if is_new(buffer[at:space].lstrip(b"\r\n")):
            yield where, np.frombuffer(buffer[space + 1 : end], "<f4").astype(np.float32)
        at = end


def _fields(line: bytes) -> list[bytes]:
    return line.replace(b"\t", b" ").rstrip(b" \r\n").split(b" ")
