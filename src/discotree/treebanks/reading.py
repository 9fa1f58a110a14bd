"""Read trees from files, folders, archives and standard input, as a stream."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from os.path import relpath

from discotree.errors import TreebankError
from discotree.files.names import base_name, is_encoding, stems
from discotree.files.reading import ByteCounter, ReadLimits, files_in, open_all, readable
from discotree.treebanks.formats import (
    ALL_SUFFIXES,
    FORMATS,
    PEEK,
    XML_SUFFIX,
    Format,
    check_encoding,
    format_named,
    guess_format,
)
from discotree.treebanks.source import ErrorHandler, Source, stop
from discotree.trees.tree import Tree


def read(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    encoding: str | None = None,
    on_error: ErrorHandler = stop,
    stem: str = "",
    on_bytes: ByteCounter | None = None,
    limits: ReadLimits | None = None,
) -> Iterator[Tree]:
    """Read trees one by one; ``stem`` goes in front of their ids, ``on_bytes`` counts the bytes that are read.

    ``limits`` bound a line and what unpacks from a packed file; without any, the environment or our defaults count.

    A broken tree raises a TreebankError with its address. To skip broken trees, pass a function that takes the
    errors: ``errors = []; read(path, on_error=errors.append)``.
    """
    path = checked_path(path)
    chosen = format_named(format) if format else None
    check_known_encoding(encoding or "utf-8")
    return _read(path, chosen, encoding, on_error, stem, on_bytes, limits or ReadLimits.from_environment())


def _read(
    path: str,
    chosen: Format | None,
    encoding: str | None,
    on_error: ErrorHandler,
    stem: str,
    on_bytes: ByteCounter | None,
    limits: ReadLimits,
) -> Iterator[Tree]:
    with readable(path):
        for source in sources(path, chosen, encoding, stem, on_bytes, limits):
            yield from _read_file(replace(source, on_error=on_error), chosen)


def sources(
    path: str,
    chosen: Format | None,
    encoding: str | None,
    stem: str = "",
    on_bytes: ByteCounter | None = None,
    limits: ReadLimits | None = None,
) -> Iterator[Source]:
    """Open the files of a treebank, one after the other."""
    limits = limits or ReadLimits.from_environment()
    found = False
    for file in open_all(path, partial(_choose, chosen), on_bytes, limits):
        found = True
        yield Source(file.name, file.stream, encoding, stem=_prefixed(stem, file.stem), limits=limits)
    if not found:
        raise TreebankError(f"holds no treebank file ({', '.join(ALL_SUFFIXES)})", path)


def files(folder: str | PathLike[str], format: str | None = None) -> dict[str, str]:
    """Return the names of the files that ``read`` takes from a folder, in its order, each with its stem.

    ``read(folder)`` is the same as ``read(f"{folder}/{name}", stem=stem)`` for all of them.
    """
    folder = checked_path(folder)
    chosen = format_named(format) if format else None
    with readable(folder):
        found = [relpath(file, folder) for file in files_in(folder, partial(_choose, chosen))]
    return dict(zip(found, stems(found), strict=True))


def checked_path(path: str | PathLike[str]) -> str:
    """Return a path as a string; a TypeError says what was given instead."""
    if not isinstance(path, (str, PathLike)):
        raise TypeError(f"expected a path (str or os.PathLike), got {type(path).__name__}: {path!r:.50}")
    return fspath(path)


def check_known_encoding(name: str) -> None:
    if not is_encoding(name):
        raise TreebankError(f"there is no encoding {name!r}")


def _choose(chosen: Format | None, names: list[str]) -> list[str]:
    """Return the names that look like treebanks; all of them if none has a suffix of the format."""
    suffixes = (*chosen.suffixes, XML_SUFFIX) if chosen else ALL_SUFFIXES
    matching = [name for name in names if base_name(name).lower().endswith(suffixes)]
    return matching if matching or not chosen else names


def _read_file(source: Source, chosen: Format | None) -> Iterator[Tree]:
    """Read one file."""
    beginning = beginning_of(source)
    return trees_of(source, format_of(source, beginning, chosen), beginning)


def format_of(source: Source, beginning: bytes, chosen: Format | None = None) -> Format:
    """Return the format of a file that begins with these bytes."""
    found = chosen or _guessed(source.name, beginning)
    if source.encoding:
        check_encoding(found, source.encoding, source.name)
    return found


def trees_of(source: Source, reader: Format, beginning: bytes = b"") -> Iterator[Tree]:
    """Read one file, or a part of it; one without trees whose beginning does not look like its format is an error."""
    silent = True

    def report(error: TreebankError, on_error: ErrorHandler = source.on_error) -> None:
        nonlocal silent
        silent = False
        on_error(error)

    source = replace(source, on_error=report)
    for tree in reader.read(source):
        silent = False
        if source.stem or not tree.id:
            tree = replace(tree, id=_prefixed(source.stem, tree.id) or "1")
        yield tree
    if silent:
        check_beginning(source, reader, beginning)


def check_beginning(source: Source, reader: Format, beginning: bytes) -> None:
    """Refuse a file without trees whose beginning does not look like its format."""
    if beginning.strip() and not re.search(reader.looks_like, beginning):
        raise TreebankError("there is no tree in it: is it in another format or encoding?", source.name)


def _prefixed(stem: str, identity: str) -> str:
    if not stem or not identity:
        return stem or identity
    if identity == stem or identity.startswith(f"{stem}/"):
        return identity
    return type(identity)(f"{stem}/{identity}")  # a RunningNumber stays one


def beginning_of(source: Source) -> bytes:
    peek = getattr(source.stream, "peek", None)
    return bytes(peek(PEEK)[:PEEK]) if peek else b""


def _guessed(path: str, beginning: bytes) -> Format:
    name = guess_format(path, beginning)
    if name is None:
        raise TreebankError(f"what format is this? Name one of {', '.join(FORMATS)}", path)
    return FORMATS[name]
