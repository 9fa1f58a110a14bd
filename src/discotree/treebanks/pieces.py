"""Read treebanks in pieces, of which each gives its trees when it is asked to.

A piece is a sentence, as far as its format can be split (raw_sentences.py), or else a file. The trees of all pieces
are those of ``read``, and so are the errors. Pieces of bytes can be sent to other processes.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike

from discotree.files.reading import ByteCounter, ReadLimits, readable
from discotree.treebanks.formats import FORMATS, Format, format_named
from discotree.treebanks.raw_sentences import SPLITTERS, RawSentence, Rest, is_splittable
from discotree.treebanks.reading import (
    beginning_of,
    check_beginning,
    check_known_encoding,
    checked_path,
    format_of,
    sources,
    trees_of,
)
from discotree.treebanks.source import ErrorHandler, Source, stop
from discotree.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class SentencePiece:
    """The bytes of a sentence, with the file that they come from."""

    name: str  # its file
    format: str
    stem: str
    limits: ReadLimits
    sentence: RawSentence

    def trees(self, on_error: ErrorHandler = stop) -> Iterator[Tree]:
        """Read it; as a rule it is one tree."""
        data, line, seen, encoding = self.sentence
        stream = io.BytesIO(data)
        source = Source(self.name, stream, encoding, on_error, self.stem, None, self.limits, line, seen)
        return trees_of(source, FORMATS[self.format])


@dataclass(frozen=True, slots=True)
class FilePiece:
    """An open file, or the rest of it. Its trees have to be read before the next piece."""

    path: str  # the treebank
    source: Source
    format: Format
    beginning: bytes  # first bytes; nothing if they were checked

    def trees(self, on_error: ErrorHandler = stop) -> Iterator[Tree]:
        """Read it from where it stands."""
        with readable(self.path):
            yield from trees_of(replace(self.source, on_error=on_error), self.format, self.beginning)


Piece = SentencePiece | FilePiece


def read_pieces(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    encoding: str | None = None,
    stem: str = "",
    on_bytes: ByteCounter | None = None,
    limits: ReadLimits | None = None,
) -> Iterator[Piece]:
    """Read a treebank piece by piece; the arguments are those of ``read``."""
    path = checked_path(path)
    chosen = format_named(format) if format else None
    check_known_encoding(encoding or "utf-8")
    return _pieces(path, chosen, encoding, stem, on_bytes, limits)


def _pieces(
    path: str,
    chosen: Format | None,
    encoding: str | None,
    stem: str,
    on_bytes: ByteCounter | None,
    limits: ReadLimits | None,
) -> Iterator[Piece]:
    with readable(path):
        for source in sources(path, chosen, encoding, stem, on_bytes, limits):
            beginning = beginning_of(source)
            found = format_of(source, beginning, chosen)
            name = next(key for key, known in FORMATS.items() if known is found)
            if name not in SPLITTERS or not is_splittable(encoding):
                yield FilePiece(path, source, found, beginning)
                continue
            is_empty = True
            for part in SPLITTERS[name](source):
                if isinstance(part, Rest):
                    rest = replace(source, stream=part.stream, encoding=part.encoding)
                    rest = replace(rest, first_line=part.line, seen=part.seen)
                    yield FilePiece(path, rest, found, beginning if is_empty else b"")
                else:
                    yield SentencePiece(source.name, name, source.stem, source.limits, part)
                is_empty = False
            if is_empty:
                check_beginning(source, found, beginning)
