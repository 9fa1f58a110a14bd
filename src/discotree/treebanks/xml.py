"""Read XML as a stream, safely: expat feeds a handler, entities are refused, errors have a line."""

import codecs
import re
from collections.abc import Iterator
from typing import Protocol
from xml.parsers import expat

from discotree.errors import TreebankError
from discotree.files.names import keeps_ascii
from discotree.treebanks.source import Source
from discotree.trees.tree import Tree

CHUNK = 1 << 16  # bytes
MAX_ENTITY_NAME = 64  # bytes; a name may be split between two chunks
_UNKNOWN_ENTITY = re.compile(rb"&(?!(?:lt|gt|amp|quot|apos|#\d+|#x[\da-fA-F]+);)[\w:][\w:.-]*;")


def declaration(encoding: str) -> str:
    """Return the first line of a file in this encoding."""
    return f'<?xml version="1.0" encoding="{_name(encoding)}"?>'


def _name(encoding: str) -> str:
    """Return the name that expat knows an encoding by; Python has several for UTF-8 with a byte order mark."""
    return "UTF-8" if codecs.lookup(encoding).name.startswith("utf-8") else encoding


def is_readable_xml(encoding: str) -> bool:
    """Return whether expat can read what is written in this encoding; it has UTF-8, UTF-16 and single bytes."""
    name = codecs.lookup(encoding).name
    if name.startswith("iso2022") or not (keeps_ascii(encoding) or name == "utf-16"):
        return False  # in ISO 2022, other letters are escape sequences
    try:
        expat.ParserCreate().Parse(f"{declaration(encoding)}<a/>".encode(encoding), True)
    except (expat.ExpatError, LookupError, ValueError):
        return False
    return True


class Handler(Protocol):
    """Collects the elements of a format into ``ready``: trees, and errors for broken ones."""

    ready: list[Tree | TreebankError]

    def start(self, name: str, attributes: dict[str, str], line: int) -> None: ...
    def end(self, name: str) -> None: ...
    def text(self, data: str) -> None: ...


def stream(source: Source, handler: Handler) -> Iterator[Tree]:
    """Feed a file to the handler and return its trees."""
    parser = expat.ParserCreate(source.encoding and _name(source.encoding))
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: handler.start(name, attributes, parser.CurrentLineNumber)
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text

    def refuse(*_: object) -> None:
        # Entities can expand without bounds or refer to other files, and no treebank needs them.
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
            continue  # an empty file has no trees, and no error either
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
            # We do not fetch external DTDs, and without one expat silently drops unknown entities.
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
