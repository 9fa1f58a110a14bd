"""Treebanks: ``read`` and ``write`` trees in any format of the field, as a stream.

    for tree in read("negra.export"): …
    write(trees, "negra.dbr")

The format follows from the name, for reading also from the content; ``FORMATS`` lists what there is. Files may be
compressed (.gz, .bz2, .xz), ``-`` is standard input or output, and folders and archives (.tar.gz, .zip …)
are read file by file.

A sentence keeps its id through every conversion. In a folder or an archive, where ids are only unique
within a file, the file's name goes in front: ``maz-00001/s2165``. Sentences without an id get their number.
"""

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from os import PathLike, fspath
from os.path import relpath
from typing import AnyStr, Generic

from discotree.encoding.head_rules import HeadRules
from discotree.errors import TreebankError
from discotree.treebanks.alpino import read_alpino, write_alpino
from discotree.treebanks.brackets import read_penn, read_psd, write_penn, write_psd
from discotree.treebanks.columns import check_texts
from discotree.treebanks.conllu import read_conllu, write_conllu
from discotree.treebanks.discbracket import read_discbracket, write_discbracket
from discotree.treebanks.export import read_export, write_export, write_export3
from discotree.treebanks.json_lines import read_json, write_json
from discotree.treebanks.parquet import read_arrow, read_parquet, write_arrow, write_parquet
from discotree.treebanks.source import (
    PEEK,
    ErrorHandler,
    Source,
    base_name,
    files_in,
    is_archive,
    is_encoding,
    open_all,
    readable,
    stems,
    stop,
    writable,
)
from discotree.treebanks.tigerxml import read_tigerxml, write_tigerxml
from discotree.trees.tree import Tree

__all__ = ["FORMATS", "TEXT_FORMATS", "Format", "files", "guess_format", "read", "write"]


@dataclass(frozen=True, slots=True)
class Format(Generic[AnyStr]):
    """A treebank format, of text or bytes.

    ``looks_like`` is searched in the first bytes of a file. ``check`` raises a TreebankError for a tree that cannot be
    written; where there is none, writing is tried.
    """

    read: Callable[[Source], Iterator[Tree]]
    write: Callable[[Iterable[Tree]], Iterator[AnyStr]]
    suffixes: tuple[str, ...]
    looks_like: bytes
    check: Callable[[Tree], object] | None = None


AnyFormat = Format[str] | Format[bytes]
TEXT_FORMATS: dict[str, Format[str]] = {
    "export": Format(read_export, write_export, (".export", ".negra"), rb"(?m)^#(BOS|FORMAT)[ \t]"),
    "export3": Format(read_export, write_export3, (".export3",), rb"(?m)^#FORMAT[ \t]+3"),
    "tigerxml": Format(read_tigerxml, write_tigerxml, (".tigerxml", ".tiger.xml"), rb"<corpus[\s>]|<s\s[^>]*id="),
    "alpino": Format(read_alpino, write_alpino, (".alpino", ".alpino.xml"), rb"<alpino_ds|<treebank"),
    "discbracket": Format(
        read_discbracket, write_discbracket, (".dbr", ".discbracket"), rb"(?m)^ *\([^\n]*\([^\s()]+ \d+=[^\s()]+\)"
    ),
    "psd": Format(read_psd, write_psd, (".psd",), rb"\(ID "),
    "penn": Format(read_penn, write_penn, (".mrg", ".ptb", ".tree", ".trees", ".penn", ".bracket"), rb"(?m)^\s*\("),
    "conllu": Format(
        read_conllu,
        lambda trees: write_conllu(trees, HeadRules({}, marked_first=True)),
        (".conllu", ".conll", ".conllx"),
        rb"(?m)^1\t[^\t\n]*\t",
    ),
    "json": Format(read_json, write_json, (".json", ".jsonl", ".ndjson"), rb"\A(\xef\xbb\xbf)?\s*\{"),
}
FORMATS: dict[str, AnyFormat] = {
    **TEXT_FORMATS,
    "parquet": Format(read_parquet, write_parquet, (".parquet",), rb"\APAR1", check_texts),
    "arrow": Format(read_arrow, write_arrow, (".arrow", ".feather"), rb"\A(ARROW1|\xff{4})", check_texts),
}
ALL_SUFFIXES = tuple(suffix for form in FORMATS.values() for suffix in form.suffixes)
GUESSED = (
    "parquet",
    "arrow",
    "json",
    "export",
    "tigerxml",
    "alpino",
    "discbracket",
    "psd",
    "penn",
    "conllu",
)  # in this order
XML_SUFFIX = ".xml"  # two formats have it: the content decides
XML_DECLARATION = "<?xml "


def guess_format(name: str, beginning: bytes = b"") -> str | None:
    """The format of a file, by its suffix or else by how it begins."""
    base = base_name(name).lower()
    for key, form in FORMATS.items():
        if base.endswith(form.suffixes):
            if key != "penn":
                return key
            # All bracketings share these suffixes.
            return next((k for k in ("discbracket", "psd") if re.search(FORMATS[k].looks_like, beginning)), key)
    for key in GUESSED:
        if re.search(FORMATS[key].looks_like, beginning):
            return key
    return None


def read(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    encoding: str | None = None,
    on_error: ErrorHandler = stop,
    stem: str = "",
) -> Iterator[Tree]:
    """Read trees one by one; ``stem`` goes in front of their ids.

    A broken tree raises a TreebankError with its address. To skip broken trees, pass what is to happen
    with the errors instead: ``errors = []; read(path, on_error=errors.append)``.
    """
    path = fspath(path)
    chosen = _format(format) if format else None
    _check_encoding(encoding or "utf-8")
    found = False
    with readable(path):
        for source in open_all(path, partial(_choose, chosen)):
            found = True
            source = replace(source, encoding=encoding, on_error=on_error, stem=_prefixed(stem, source.stem))
            yield from _read_file(source, chosen)
    if not found:
        raise _nothing_in(path)


def files(folder: str | PathLike[str], format: str | None = None) -> dict[str, str]:
    """The names of the files that ``read`` takes from a folder, in its order, each with the stem that it gives them.

    ``read(folder)`` is the same as ``read(f"{folder}/{name}", stem=stem)`` for all of them.
    """
    folder = fspath(folder)
    chosen = _format(format) if format else None
    with readable(folder):
        found = [relpath(file, folder) for file in files_in(folder, partial(_choose, chosen))]
    return dict(zip(found, stems(found), strict=True))


def _nothing_in(path: str) -> TreebankError:
    return TreebankError(f"holds no treebank file ({', '.join([*ALL_SUFFIXES, XML_SUFFIX])})", path)


def _choose(chosen: AnyFormat | None, names: list[str]) -> list[str]:
    """Which files of a folder or an archive are treebanks, by name; all of them if none looks like the format."""
    suffixes = (*(chosen.suffixes if chosen else ALL_SUFFIXES), XML_SUFFIX)
    matching = [name for name in names if base_name(name).lower().endswith(suffixes)]
    return matching if matching or not chosen else names


def _read_file(source: Source, chosen: AnyFormat | None) -> Iterator[Tree]:
    """The trees of one file. That there are none must be said by the file, not by a wrong guess of its format."""
    beginning = _beginning(source)
    reader = chosen or _guessed(source.name, beginning)
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
    if silent and beginning.strip() and not re.search(reader.looks_like, beginning):
        raise TreebankError("there is no tree in it: is it in another format or encoding?", source.name)


def _prefixed(stem: str, identity: str) -> str:
    if not stem or not identity:
        return stem or identity
    return identity if identity == stem or identity.startswith(f"{stem}/") else f"{stem}/{identity}"


def _beginning(source: Source) -> bytes:
    peek = getattr(source.stream, "peek", None)
    return bytes(peek(PEEK)[:PEEK]) if peek else b""


def _guessed(path: str, beginning: bytes) -> AnyFormat:
    name = guess_format(path, beginning)
    if name is None:
        raise TreebankError(f"what format is this? Name one of {', '.join(FORMATS)}", path)
    return FORMATS[name]


def _format(name: str) -> AnyFormat:
    try:
        return FORMATS[name]
    except KeyError:
        raise TreebankError(f"there is no format {name!r}; there are {', '.join(FORMATS)}") from None


def _check_encoding(name: str) -> None:
    if not is_encoding(name):
        raise TreebankError(f"there is no encoding {name!r}")


def write(
    trees: Iterable[Tree],
    path: str | PathLike[str],
    format: str | None = None,
    *,
    encoding: str = "utf-8",
    heads: HeadRules | None = None,
    on_error: ErrorHandler = stop,
) -> int:
    """Write trees and say how many. The file appears when all of them are written, or not at all.

    ``heads`` is for CoNLL-U, which holds the encoding; without it, children marked as heads are heads. A tree that
    the format cannot hold raises a TreebankError, or is left out when ``on_error`` takes that.
    """
    path = fspath(path)
    name = format or guess_format(path)
    if name is None:
        hint = "an .xml file may be tigerxml or alpino; " if base_name(path).endswith(XML_SUFFIX) else ""
        raise TreebankError(f"write in what format? {hint}Name one of {', '.join(FORMATS)}", path)
    chosen = _format(name)
    if is_archive(path):
        raise TreebankError("archives can be read but not written", path)
    _check_encoding(encoding)
    count = 0
    current = ""
    trees = iter(trees)
    first = list(islice(trees, 1))  # so that input that cannot be read leaves the output alone

    def tried(tree: Tree) -> None:
        deque(chosen.write([tree]), maxlen=0)

    check = chosen.check or tried

    def counted() -> Iterator[Tree]:
        nonlocal count, current
        for tree in chain(first, trees):
            current = tree.id
            if on_error is not stop:
                try:
                    check(tree)
                except TreebankError as error:
                    on_error(error)
                    continue
            yield tree
            count += 1

    pieces = write_conllu(counted(), heads) if heads and name == "conllu" else chosen.write(counted())
    try:
        with writable(path) as stream:
            encode = codecs.getincrementalencoder(encoding)().encode
            for piece in pieces:
                if isinstance(piece, bytes):
                    stream.write(piece)
                    continue
                if piece.startswith(XML_DECLARATION) and not codecs.lookup(encoding).name.startswith("utf-8"):
                    piece = piece.replace("UTF-8", encoding, 1)
                stream.write(encode(piece))
    except UnicodeEncodeError as error:
        unwritable = error.object[error.start]
        raise TreebankError(f"sentence {current}: {unwritable!r} cannot be written in {encoding}", path) from None
    return count
