"""The treebank formats: ``FORMATS`` has a reader and a writer for each, ``guess_format`` tells them apart.

``write`` writes trees into a file, all of them or none.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from os import PathLike, fspath
from os.path import exists

from discotree.encoding.head_rules import HeadRules
from discotree.errors import TreebankError
from discotree.files.writing import base_name, is_archive, is_encoding, keeps_ascii, other_file, writable
from discotree.treebanks.alpino import AlpinoWriter, read_alpino
from discotree.treebanks.arrow import ArrowFileWriter, ParquetFileWriter, read_arrow, read_parquet
from discotree.treebanks.brackets import PennWriter, PsdWriter, read_brackets
from discotree.treebanks.brat import BratWriter, read_brat
from discotree.treebanks.conllu import ConlluWriter, read_conllu
from discotree.treebanks.discbracket import DiscbracketWriter, read_discbracket
from discotree.treebanks.export import Export3Writer, ExportWriter, read_export
from discotree.treebanks.folia import FoliaWriter, read_folia
from discotree.treebanks.json_lines import JsonWriter, read_json
from discotree.treebanks.source import ErrorHandler, Source, is_readable_xml, stop
from discotree.treebanks.tigerxml import TigerXmlWriter, read_tigerxml
from discotree.treebanks.webanno import WebannoWriter, read_webanno
from discotree.treebanks.writer import Writer
from discotree.trees.tree import Tree

PEEK = 16384  # bytes from the beginning of a file that its format is guessed from
XML_SUFFIX = ".xml"  # several formats share it, so the content decides
XML_NAMES = ("folia", "tigerxml", "alpino")


@dataclass(frozen=True, slots=True)
class Format:
    """A treebank format. ``looks_like`` is searched in the first bytes of a file."""

    read: Callable[[Source], Iterator[Tree]]
    suffixes: tuple[str, ...]
    looks_like: bytes
    writer: type[Writer]


TEXT_FORMATS = {
    "export": Format(read_export, (".export", ".negra"), rb"(?m)^#(BOS|FORMAT)[ \t]", ExportWriter),
    "export3": Format(read_export, (".export3",), rb"(?m)^#FORMAT[ \t]+3", Export3Writer),
    "tigerxml": Format(read_tigerxml, (".tigerxml", ".tiger.xml"), rb"<corpus[\s>]|<s\s[^>]*id=", TigerXmlWriter),
    "alpino": Format(read_alpino, (".alpino", ".alpino.xml"), rb"<alpino_ds|<treebank", AlpinoWriter),
    "folia": Format(read_folia, (".folia", ".folia.xml"), rb"<FoLiA[\s>]", FoliaWriter),
    "discbracket": Format(
        read_discbracket, (".dbr", ".discbracket"), rb"(?m)^ *\([^\n]*\([^\s()]+ \d+=[^\s()]+\)", DiscbracketWriter
    ),
    "psd": Format(partial(read_brackets, psd=True), (".psd",), rb"\(ID ", PsdWriter),
    "penn": Format(
        partial(read_brackets, psd=False),
        (".mrg", ".ptb", ".tree", ".trees", ".penn", ".bracket"),
        rb"(?m)^\s*\(",
        PennWriter,
    ),
    "conllu": Format(read_conllu, (".conllu", ".conll", ".conllx"), rb"(?m)^1\t[^\t\n]*\t", ConlluWriter),
    "json": Format(read_json, (".json", ".jsonl", ".ndjson"), rb"\A(\xef\xbb\xbf)?\s*\{", JsonWriter),
}
FORMATS = {
    **TEXT_FORMATS,
    # Formats of files that are written as a whole: their numbers run through the file, or they are binary.
    "brat": Format(read_brat, (".ann",), rb"(?m)^T[0-9]+\t\S+ [0-9]+ [0-9]+", BratWriter),
    "webanno": Format(read_webanno, (".webanno.tsv",), rb"\A(\xef\xbb\xbf)?#FORMAT=WebAnno TSV 3", WebannoWriter),
    "parquet": Format(read_parquet, (".parquet",), rb"\APAR1", ParquetFileWriter),
    "arrow": Format(read_arrow, (".arrow", ".feather"), rb"\A(ARROW1|\xff{4})", ArrowFileWriter),
}
ALL_SUFFIXES = (*(suffix for form in FORMATS.values() for suffix in form.suffixes), XML_SUFFIX)

# In this order, from the most specific content to the least.
GUESSED = ("parquet", "arrow", "json", "webanno", "brat", "export", *XML_NAMES, "discbracket", "psd", "penn", "conllu")


def guess_format(name: str, beginning: bytes = b"") -> str | None:
    """Return the format of a file by its suffix, or else by how it begins."""
    base = base_name(name).lower()
    for key, form in FORMATS.items():
        if base.endswith(form.suffixes):
            if key != "penn":
                return key
            # All bracketings share these suffixes.
            return next((k for k in ("discbracket", "psd") if re.search(FORMATS[k].looks_like, beginning)), key)
    return next((key for key in GUESSED if re.search(FORMATS[key].looks_like, beginning)), None)


def check_encoding(name: str, encoding: str, path: str = "") -> None:
    """Raise an error for an encoding in which the files of a format cannot be read."""
    if name in XML_NAMES:
        if not is_readable_xml(encoding):
            raise TreebankError(f"XML cannot be read in {encoding!r}; use utf-8, utf-16 or latin-1", path)
    elif name not in ("parquet", "arrow") and not keeps_ascii(encoding):
        raise TreebankError(f"the encoding {encoding!r} is not compatible with ASCII; use utf-8 or latin-1", path)


def check_arguments(path: str | PathLike[str], format: str | None, encoding: str = "utf-8") -> str:
    """Check the arguments of ``read`` and ``write``; return the path as a string."""
    if not isinstance(path, (str, PathLike)):
        raise TypeError(f"expected a path (str or os.PathLike), got {type(path).__name__}: {path!r:.50}")
    if format and format not in FORMATS:
        raise TreebankError(f"unknown format {format!r}; choose one of {', '.join(FORMATS)}")
    if not is_encoding(encoding):
        raise TreebankError(f"unknown encoding {encoding!r}")
    return fspath(path)


def write(
    trees: Iterable[Tree],
    path: str | PathLike[str],
    format: str | None = None,
    *,
    encoding: str = "utf-8",
    heads: HeadRules | str | None = None,
    on_error: ErrorHandler = stop,
) -> int:
    """Write trees and return how many. The file appears when all of them are written, or not at all.

    The ``format`` follows from the suffix of the ``path``; ``encoding`` is for formats of text.
    ``heads`` are head rules or their name for CoNLL-U, which stores trees as dependencies; without any, children that
    are marked as heads are heads. A tree that the format cannot represent raises a TreebankError, or is left out if
    ``on_error`` takes the error. Example: ``dt.write([tree], "trees.export")``.
    """
    path = check_arguments(path, format, encoding)
    if isinstance(trees, (str, bytes, Tree)) or not isinstance(trees, Iterable):
        hint = "a single Tree: pass [tree]" if isinstance(trees, Tree) else f"{type(trees).__name__}: {trees!r:.50}"
        raise TypeError(f"expected an iterable of trees, got {hint}")
    name = format or guess_format(path)
    if name is None:
        hint = f"an .xml file may be {', '.join(XML_NAMES)}; " if base_name(path).endswith(XML_SUFFIX) else ""
        raise TreebankError(f"cannot tell the format from the name; {hint}specify one of {', '.join(FORMATS)}", path)
    if is_archive(path):
        raise TreebankError("archives can be read but not written", path)
    check_encoding(name, encoding, path)
    writer = FORMATS[name].writer(HeadRules.of(heads), encoding)
    text_path = other_file(path, "ann", "txt") if name == "brat" else ""
    if exists(text_path) and not exists(path):
        raise TreebankError(f"the text would overwrite {text_path}; choose another name", path)
    count = 0
    current = ""
    trees = iter(trees)
    first = list(islice(trees, 1))  # an input that cannot be read leaves the output file unchanged

    def counted() -> Iterator[Tree]:
        nonlocal count, current
        for tree in chain(first, trees):
            if not isinstance(tree, Tree):
                raise TypeError(f"expected a Tree, got {type(tree).__name__}: {tree!r:.50}")
            current = tree.id
            if on_error is not stop:
                try:
                    writer.check(tree)
                except TreebankError as error:
                    on_error(error)
                    continue
            if texts:
                texts.write(encode_text(f"{' '.join(tree.words)}\n"))
            yield tree
            count += 1

    try:
        with writable(text_path) if text_path else nullcontext() as texts, writable(path) as stream:
            encode, encode_text = (codecs.getincrementalencoder(encoding)().encode for _ in range(2))
            for piece in writer.file(counted()):
                stream.write(piece if isinstance(piece, bytes) else encode(piece))
    except UnicodeEncodeError as error:
        unwritable = error.object[error.start]
        raise TreebankError(f"sentence {current}: {unwritable!r} cannot be written in {encoding}", path) from None
    return count
