"""Write trees into a file, all of them or none."""

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from os import PathLike

from discotree.encoding.head_rules import HeadRules
from discotree.errors import TreebankError
from discotree.files.names import base_name, is_archive
from discotree.files.writing import writable
from discotree.treebanks.formats import FORMATS, XML_SUFFIX, check_encoding, format_named, guess_format
from discotree.treebanks.reading import check_known_encoding, checked_path
from discotree.treebanks.source import ErrorHandler, stop
from discotree.treebanks.writer import WriterOptions
from discotree.trees.tree import Tree


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

    ``heads`` are head rules or their name for CoNLL-U, which holds the encoding; without any, children marked as
    heads are heads. A tree that the format cannot hold raises a TreebankError, or is left out when ``on_error``
    takes the error.
    """
    path = checked_path(path)
    if isinstance(trees, (str, bytes, Tree)) or not isinstance(trees, Iterable):
        hint = "a single Tree: pass [tree]" if isinstance(trees, Tree) else f"{type(trees).__name__}: {trees!r:.50}"
        raise TypeError(f"expected an iterable of trees, got {hint}")
    name = format or guess_format(path)
    if name is None:
        hint = "an .xml file may be tigerxml or alpino; " if base_name(path).endswith(XML_SUFFIX) else ""
        raise TreebankError(f"write in what format? {hint}Name one of {', '.join(FORMATS)}", path)
    chosen = format_named(name)
    if is_archive(path):
        raise TreebankError("archives can be read but not written", path)
    check_known_encoding(encoding)
    check_encoding(chosen, encoding, path)
    options = WriterOptions(HeadRules.of(heads), encoding)
    count = 0
    current = ""
    trees = iter(trees)
    first = list(islice(trees, 1))  # input that cannot be read leaves the output alone

    def counted() -> Iterator[Tree]:
        nonlocal count, current
        for tree in chain(first, trees):
            if not isinstance(tree, Tree):
                raise TypeError(f"expected a Tree, got {type(tree).__name__}: {tree!r:.50}")
            current = tree.id
            if on_error is not stop:
                try:
                    chosen.check(tree)
                except TreebankError as error:
                    on_error(error)
                    continue
            yield tree
            count += 1

    try:
        with writable(path) as stream:
            encode = codecs.getincrementalencoder(encoding)().encode
            for piece in chosen.write(counted(), options):
                stream.write(piece if isinstance(piece, bytes) else encode(piece))
    except UnicodeEncodeError as error:
        unwritable = error.object[error.start]
        raise TreebankError(f"sentence {current}: {unwritable!r} cannot be written in {encoding}", path) from None
    return count
