"""Raw text for training: plain or compressed files, each read once or several times per pass.

``TEXT*8`` on the command line gives a small file more weight: it is read eight times in a pass.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic

from discotree.errors import ConfigError, TreebankError
from discotree.files.reading import ByteCounter, open_binary, open_compressed, readable
from discotree.files.writing import without_bom
from discotree.training.data import checksum
from discotree.treebanks.source import Source

BLOCK_CHARACTERS = 1 << 20  # size of a block of lines, which bounds memory
MAX_REPEAT = 1000
_REPEATED = re.compile(r"(.+)\*([0-9]+)", re.DOTALL)

TextReport = Callable[[str, int, int], None]
"""Gets a description of the task, the amount that is done, and the total."""


def silent_text(task: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class TextSource:
    """A file of text, and the number of times it is read in a pass."""

    path: str
    repeat: int = 1

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def size(self) -> int:
        """Bytes of the file, not decompressed."""
        return os.path.getsize(self.path)

    def sha256(self) -> str:
        """Return the checksum of the file, not decompressed."""
        return checksum(self.path)

    def blocks(self, on_bytes: ByteCounter | None = None) -> Iterator[tuple[int, list[str]]]:
        """Yield the lines of the file in blocks, each with the number of its first line, counted from 1.

        Lines come without their ends. Invalid UTF-8 and overlong lines are errors. ``on_bytes`` is called with the
        bytes that are read from the disk.
        """
        with readable(self.path), open_binary(self.path, on_bytes) as raw, open_compressed(raw, self.path) as stream:
            source = Source(self.path, stream, "utf-8")
            lines: list[str] = []
            first, size = 1, 0
            for number, content in source.raw_lines():
                line = source.decode(content, number)
                lines.append((without_bom(line) if number == 1 else line).rstrip("\r\n"))
                size += len(line)
                if size >= BLOCK_CHARACTERS:
                    yield first, lines
                    lines, first, size = [], number + 1, 0
            if lines:
                yield first, lines


def text_sources(arguments: Sequence[str]) -> list[TextSource]:
    """Return the sources named by arguments: files and glob patterns, optionally followed by ``*N``."""
    sources = [source for argument in arguments for source in _sources(argument)]
    seen: set[str] = set()
    for source in sources:
        real = os.path.realpath(source.path)
        if real in seen:
            raise ConfigError(f"{source.path} is given twice; write {source.path}*2 to read it twice in a pass")
        seen.add(real)
    return sources


def _sources(argument: str) -> Iterator[TextSource]:
    path, repeat = argument, 1
    repeated = _REPEATED.fullmatch(argument)
    if repeated and not os.path.exists(argument):
        path, repeat = repeated[1], int(repeated[2][:9])
        if not 1 <= repeat <= MAX_REPEAT:
            raise ConfigError(f"{argument}: expected *1 to *{MAX_REPEAT}, got *{repeated[2]}")
    paths = sorted(glob(path, recursive=True)) if has_magic(path) and not os.path.exists(path) else [path]
    files = [file for file in paths if os.path.isfile(file)]
    if not files:
        kind = "expected a text file, got a folder" if os.path.isdir(path) else "no such file"
        raise TreebankError(kind, path)
    yield from (TextSource(file, repeat) for file in files)


def byte_counter(report: TextReport, task: str, total: int) -> ByteCounter:
    """Return a function that adds up the bytes that are read, and reports their sum."""
    done = 0

    def count(number: int) -> None:
        nonlocal done
        done += number
        report(task, done, total)

    return count
