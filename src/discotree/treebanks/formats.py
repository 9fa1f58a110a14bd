"""The treebank formats: ``FORMATS`` has a reader and a writer for each, and ``guess_format`` tells them apart."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from discotree.errors import TreebankError
from discotree.files.names import base_name, keeps_ascii
from discotree.treebanks.alpino import AlpinoWriter, read_alpino
from discotree.treebanks.brackets import PennWriter, PsdWriter, read_penn, read_psd
from discotree.treebanks.columns import check_texts
from discotree.treebanks.conllu import ConlluWriter, read_conllu
from discotree.treebanks.discbracket import DiscbracketWriter, read_discbracket
from discotree.treebanks.export import Export3Writer, ExportWriter, read_export
from discotree.treebanks.json_lines import JsonWriter, read_json
from discotree.treebanks.parquet import read_arrow, read_parquet, write_arrow, write_parquet
from discotree.treebanks.source import Source
from discotree.treebanks.tigerxml import TigerXmlWriter, read_tigerxml
from discotree.treebanks.writer import PLAIN, Writer, WriterOptions
from discotree.treebanks.xml import is_readable_xml
from discotree.trees.tree import Tree

PEEK = 16384  # bytes from the beginning of a file that its format is guessed from
XML_SUFFIX = ".xml"  # TigerXML and Alpino share it, so the content decides


@dataclass(frozen=True, slots=True)
class Format(ABC):
    """A treebank format. ``looks_like`` is searched in the first bytes of a file."""

    read: Callable[[Source], Iterator[Tree]]
    suffixes: tuple[str, ...]
    looks_like: bytes

    @abstractmethod
    def write(self, trees: Iterable[Tree], options: WriterOptions = PLAIN) -> Iterator[str] | Iterator[bytes]:
        """Return a whole file in pieces."""

    @abstractmethod
    def check(self, tree: Tree) -> None:
        """Raise a TreebankError for a tree that the format cannot hold."""


@dataclass(frozen=True, slots=True)
class TextFormat(Format):
    """A format that is written tree by tree."""

    writer: Callable[[WriterOptions], Writer]

    def write(self, trees: Iterable[Tree], options: WriterOptions = PLAIN) -> Iterator[str]:
        return self.writer(options).file(trees)

    def check(self, tree: Tree) -> None:
        self.writer(PLAIN).tree(tree, 1)


@dataclass(frozen=True, slots=True)
class BinaryFormat(Format):
    """A format that is written in groups of trees, and needs no options."""

    write_groups: Callable[[Iterable[Tree]], Iterator[bytes]]

    def write(self, trees: Iterable[Tree], options: WriterOptions = PLAIN) -> Iterator[bytes]:  # noqa: ARG002
        return self.write_groups(trees)

    def check(self, tree: Tree) -> None:
        check_texts(tree)


TEXT_FORMATS: dict[str, TextFormat] = {
    "export": TextFormat(read_export, (".export", ".negra"), rb"(?m)^#(BOS|FORMAT)[ \t]", ExportWriter),
    "export3": TextFormat(read_export, (".export3",), rb"(?m)^#FORMAT[ \t]+3", Export3Writer),
    "tigerxml": TextFormat(read_tigerxml, (".tigerxml", ".tiger.xml"), rb"<corpus[\s>]|<s\s[^>]*id=", TigerXmlWriter),
    "alpino": TextFormat(read_alpino, (".alpino", ".alpino.xml"), rb"<alpino_ds|<treebank", AlpinoWriter),
    "discbracket": TextFormat(
        read_discbracket, (".dbr", ".discbracket"), rb"(?m)^ *\([^\n]*\([^\s()]+ \d+=[^\s()]+\)", DiscbracketWriter
    ),
    "psd": TextFormat(read_psd, (".psd",), rb"\(ID ", PsdWriter),
    "penn": TextFormat(read_penn, (".mrg", ".ptb", ".tree", ".trees", ".penn", ".bracket"), rb"(?m)^\s*\(", PennWriter),
    "conllu": TextFormat(read_conllu, (".conllu", ".conll", ".conllx"), rb"(?m)^1\t[^\t\n]*\t", ConlluWriter),
    "json": TextFormat(read_json, (".json", ".jsonl", ".ndjson"), rb"\A(\xef\xbb\xbf)?\s*\{", JsonWriter),
}
FORMATS: dict[str, Format] = {
    **TEXT_FORMATS,
    "parquet": BinaryFormat(read_parquet, (".parquet",), rb"\APAR1", write_parquet),
    "arrow": BinaryFormat(read_arrow, (".arrow", ".feather"), rb"\A(ARROW1|\xff{4})", write_arrow),
}
XML_FORMATS = (FORMATS["tigerxml"], FORMATS["alpino"])
ALL_SUFFIXES = (*(suffix for form in FORMATS.values() for suffix in form.suffixes), XML_SUFFIX)

# Guesses go from the most telling content to the least.
GUESSED = ("parquet", "arrow", "json", "export", "tigerxml", "alpino", "discbracket", "psd", "penn", "conllu")


def guess_format(name: str, beginning: bytes = b"") -> str | None:
    """Return the format of a file by its suffix, or else by how it begins."""
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


def check_encoding(format: Format, encoding: str, path: str = "") -> None:
    """Refuse an encoding in which the files of a format cannot be read: lines and XML have to be recognised."""
    if format in XML_FORMATS:
        if not is_readable_xml(encoding):
            raise TreebankError(f"XML cannot be read in {encoding!r}; use utf-8, utf-16 or latin-1", path)
    elif isinstance(format, TextFormat) and not keeps_ascii(encoding):
        raise TreebankError(f"lines cannot be found in {encoding!r}; use utf-8 or another one that keeps ASCII", path)


def format_named(name: str) -> Format:
    """Return the format of this name, or raise an error that lists those there are."""
    try:
        return FORMATS[name]
    except (KeyError, TypeError):
        raise TreebankError(f"there is no format {name!r}; there are {', '.join(FORMATS)}") from None
