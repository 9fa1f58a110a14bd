"""Raw text as blocks of lines: one paragraph or sentence per line."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from discotree.files.names import without_bom
from discotree.files.reading import ByteCounter, open_binary, open_compressed, readable
from discotree.training.text_sources import TextSource
from discotree.treebanks.source import Source

BLOCK_CHARACTERS = 1 << 20  # lines that are worked on together; memory and the size of the text are unrelated


class LineBlock(NamedTuple):
    """Some lines in a row, without their ends, and the number of the first one, counted from 1."""

    first: int
    lines: list[str]


def line_blocks(text: TextSource, on_bytes: ByteCounter | None = None) -> Iterator[LineBlock]:
    """Read the lines of a file in order, some at a time; text that is not UTF-8 is an error, and so is an endless line.

    A line stays whole: it is what may have to be held out.
    """
    with readable(text.path), open_binary(text.path, on_bytes) as raw, open_compressed(raw, text.path) as stream:
        source = Source(text.path, stream, "utf-8")
        lines: list[str] = []
        first, size = 1, 0
        for number, content in source.raw_lines():
            line = source.decode(content, number)
            lines.append((without_bom(line) if number == 1 else line).rstrip("\r\n"))
            size += len(line)
            if size >= BLOCK_CHARACTERS:
                yield LineBlock(first, lines)
                lines, first, size = [], number + 1, 0
        if lines:
            yield LineBlock(first, lines)


def kept(blocks: Iterable[LineBlock], dropped: "frozenset[int] | set[int]") -> Iterator[list[str]]:
    """Return the lines of each block that have text and are not dropped, by their numbers."""
    for block in blocks:
        yield [line for number, line in enumerate(block.lines, block.first) if number not in dropped and line.strip()]
