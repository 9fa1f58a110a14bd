"""Reading XML as a stream, safely: expat feeds a handler, entities are refused, errors have a line."""

from collections.abc import Iterator
from typing import Protocol
from xml.parsers import expat

from discotree.errors import TreebankError
from discotree.tree import Tree
from discotree.treebank.source import Source

CHUNK = 1 << 16


class Handler(Protocol):
    """What a format does with the elements. Finished trees wait in ``ready``."""

    ready: list[Tree]

    def start(self, name: str, attributes: dict[str, str], line: int) -> None: ...
    def end(self, name: str) -> None: ...
    def text(self, data: str) -> None: ...
    def finish(self) -> None: ...


def stream(source: Source, handler: Handler) -> Iterator[Tree]:
    parser = expat.ParserCreate(source.encoding)
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: handler.start(name, attributes, parser.CurrentLineNumber)
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text

    def refuse(*_: object) -> None:
        # Entities can grow without bounds or name other files, and no treebank needs them.
        raise source.error(parser.CurrentLineNumber, "the file declares XML entities, which are not allowed")

    parser.EntityDeclHandler = refuse
    finished = False
    while not finished:
        chunk = source.stream.read(CHUNK)
        finished = not chunk
        try:
            parser.Parse(chunk, finished)
        except expat.ExpatError as error:
            yield from handler.ready
            source.broken(error.lineno, f"not well-formed XML: {expat.ErrorString(error.code)}")
            return
        except (UnicodeDecodeError, LookupError, ValueError) as error:
            if isinstance(error, TreebankError):
                raise
            yield from handler.ready
            source.broken(parser.CurrentLineNumber, f"not readable as XML: {error}")
            return
        yield from handler.ready
        handler.ready.clear()
    handler.finish()
