"""Source: one open treebank file, read line by line or as XML, with file and line for errors.

XML is parsed by expat as a stream. Entities are rejected, because they can expand without bounds.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO
from xml.parsers import expat

from discotree.errors import TreebankError, undecodable
from discotree.files.reading import ReadLimits
from discotree.files.writing import keeps_ascii, without_bom
from discotree.trees.tree import NONE, ROOT_LABELS, Token, Tree, mask_spans


class RunningNumber(str):
    """An id that a reader assigned to a sentence without one."""

    __slots__ = ()


ErrorHandler = Callable[[TreebankError], None]


def stop(error: TreebankError) -> None:
    """Raise the error: the default stops at the first broken tree."""
    raise error


@dataclass
class Source:
    """One open treebank file; if ``encoding`` is None, the reader of the format detects it."""

    name: str
    stream: BinaryIO
    encoding: str | None = None
    on_error: ErrorHandler = stop
    stem: str = ""
    damage: TreebankError | None = None  # undecodable bytes in the lines read last
    limits: ReadLimits = field(default_factory=ReadLimits.from_environment)
    first_line: int = 1  # where the stream is a part of a file: the number of its first line,
    seen: int = 0  # and of the sentences before it
    text_path: str = ""  # the file with the text, if this one has only annotations of it

    def error(self, line: int, message: str) -> TreebankError:
        return TreebankError(message, self.name, line)

    def broken(self, line: int, message: str) -> None:
        """Report a broken tree, which raises unless broken trees are skipped."""
        self.on_error(self.error(line, message))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of every line, without its line end.

        The error of a line that cannot be decoded is stored in ``damage``; the reader reports it when the tree ends.
        """
        for number, raw in self.raw_lines():
            try:
                text = self.decode(raw, number)
            except TreebankError as error:
                self.damage = self.damage or error
                text = raw.decode("utf-8", "replace")
            if number == 1:
                text = without_bom(text)
            yield number, text.rstrip("\r\n")

    def raw_lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the bytes of every line; a line that is too long is an error before it is read."""
        limit = self.limits.line_bytes
        for number, raw in enumerate(iter(partial(self.stream.readline, limit + 1), b""), self.first_line):
            if len(raw) > limit:
                raise self.error(number, self.too_long("line"))
            yield number, raw

    def too_long(self, what: str) -> str:
        limit = self.limits.line_bytes
        return f"a {what} has more than {limit:,} bytes; raise DISCOTREE_MAX_LINE_BYTES or limits.line_bytes"

    def is_damaged(self) -> bool:
        """Return whether the last tree had undecodable bytes, and report them if so."""
        damage, self.damage = self.damage, None
        if damage is not None:
            self.on_error(damage)
        return damage is not None

    def decode(self, raw: bytes, line: int, fallback: str | None = None) -> str:
        """Decode a stretch of lines that starts at ``line``.

        If the encoding is not known, the first text that is not ASCII decides between UTF-8 and the fallback.
        """
        if self.encoding is None and raw.isascii():
            return raw.decode("ascii")
        encoding = self.encoding or "utf-8"
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError as error:
            if self.encoding or not fallback:
                at = line + raw.count(b"\n", 0, error.start)
                raise self.error(at, undecodable(raw[error.start], encoding)) from None
            encoding = fallback
            text = raw.decode(encoding)
        self.encoding = encoding
        return text


@dataclass(slots=True)
class Span:
    """A constituent that a file describes, beginning on a line."""

    line: int
    label: str = ""
    mask: int = 0  # its positions as a bit set
    values: dict[str, str] = field(default_factory=dict)  # its function and other values
    fragments: list[tuple[int, int]] = field(default_factory=list)  # offsets in a text file
    text: str | None = None  # the text at these offsets, as the annotation has it


def tree_from_spans(source: Source, tokens: Sequence[Token], spans: Iterable[Span], id: str, comment: str = "") -> Tree:
    """Build a tree from spans. If several cover the same words, the first one is the highest.

    Spans that cross are an error. A span that is labelled as a virtual root is the root if it contains all others.
    """
    ordered = sorted(spans, key=lambda span: -span.mask.bit_count())
    if ordered and ordered[0].label in ROOT_LABELS and not any(span.mask & ~ordered[0].mask for span in ordered):
        del ordered[0]
    innermost = [-1] * len(tokens)  # the lowest node over every token so far
    nodes: list[tuple[str, str, int]] = []
    for k, span in enumerate(ordered):
        positions = [position for start, end in mask_spans(span.mask) for position in range(start, end)]
        parent, *others = {innermost[position] for position in positions}
        if others:
            other = next(ordered[p] for p in (parent, *others) if p >= 0 and span.mask & ~ordered[p].mask)
            raise source.error(span.line, f"sentence {id}: {span.label!r} crosses {other.label!r} on line {other.line}")
        for position in positions:
            innermost[position] = k
        nodes.append((span.label, span.values.get("function", NONE), parent))
    return Tree.from_parents(tokens, innermost, nodes, id=id, comment=comment)


CHUNK = 1 << 16  # bytes
MAX_ENTITY_NAME = 64  # bytes; a name may be split between two chunks
_UNKNOWN_ENTITY = re.compile(rb"&(?!(?:lt|gt|amp|quot|apos|#\d+|#x[\da-fA-F]+);)[\w:][\w:.-]*;")


def declaration(encoding: str) -> str:
    """Return the XML declaration of a file in this encoding."""
    return f'<?xml version="1.0" encoding="{_name(encoding)}"?>'


def _name(encoding: str) -> str:
    """Return expat's name of an encoding; Python has several names for UTF-8 with a byte order mark."""
    return "UTF-8" if codecs.lookup(encoding).name.startswith("utf-8") else encoding


def is_readable_xml(encoding: str) -> bool:
    """Return whether expat can read this encoding; it knows UTF-8, UTF-16 and single-byte encodings."""
    name = codecs.lookup(encoding).name
    if name.startswith("iso2022") or not (keeps_ascii(encoding) or name == "utf-16"):
        return False  # in ISO 2022, other letters are escape sequences
    try:
        expat.ParserCreate().Parse(f"{declaration(encoding)}<a/>".encode(encoding), True)
    except (expat.ExpatError, LookupError, ValueError):
        return False
    return True


class Handler:
    """Collects the elements of a format into ``ready``: trees, and errors for broken ones."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.ready: list[Tree | TreebankError] = []
        self.seen = 0  # sentences

    def start(self, name: str, attributes: dict[str, str], line: int) -> None:
        raise NotImplementedError

    def end(self, name: str) -> None:
        raise NotImplementedError

    def text(self, data: str) -> None:
        pass


def stream_xml(source: Source, handler: Handler) -> Iterator[Tree]:
    """Feed an XML file to the handler and yield its trees."""
    parser = expat.ParserCreate(source.encoding and _name(source.encoding))
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: handler.start(name, attributes, parser.CurrentLineNumber)
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text

    def refuse(*_: object) -> None:
        # Entities can expand without bounds or refer to other files.
        raise source.error(parser.CurrentLineNumber, "the file declares XML entities, which are not allowed")

    has_dtd = False

    def note_dtd(_name: str, system: str | None, *_: object) -> None:
        nonlocal has_dtd
        has_dtd = system is not None

    parser.EntityDeclHandler = refuse
    parser.StartDoctypeDeclHandler = note_dtd
    tail = b""
    empty = True
    fed = 0
    chunk = b" "
    while chunk:
        chunk = source.stream.read(CHUNK)
        empty = empty and not chunk.strip()
        if empty:
            continue  # an empty file has no trees, which is not an error
        failure = None
        try:
            parser.Parse(chunk, not chunk)
            fed += len(chunk)
            if fed - parser.CurrentByteIndex > source.limits.line_bytes:
                failure = source.error(parser.CurrentLineNumber, source.too_long("tag"))
        except TreebankError as error:
            failure = error
        except expat.ExpatError as error:
            failure = source.error(error.lineno, f"not well-formed XML: {expat.ErrorString(error.code)}")
        except (LookupError, ValueError) as error:  # an encoding that Python cannot use
            failure = source.error(parser.CurrentLineNumber, f"not readable as XML: {error}")
        if has_dtd and _UNKNOWN_ENTITY.search(tail + chunk):
            # External DTDs are not fetched, and without one expat silently drops unknown entities.
            handler.ready.clear()
            failure = source.error(parser.CurrentLineNumber, "the file uses XML entities that it does not declare")
        tail = chunk[-MAX_ENTITY_NAME:]
        for item in handler.ready:
            if isinstance(item, Tree):
                yield item
            else:
                source.on_error(item)
        handler.ready.clear()
        if failure is not None:
            source.on_error(failure)
            return
