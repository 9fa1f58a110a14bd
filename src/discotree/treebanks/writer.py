"""The base class of writers, and checks for text that a format cannot represent.

A file consists of a header, the text of each tree, and a footer. The text of a tree depends only on the tree and its
number in the file, so a file that is written in several runs has the same bytes as one that is written at once.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from discotree.encoding.head_rules import HeadRules
from discotree.errors import TreebankError
from discotree.files.writing import NOT_XML
from discotree.treebanks.source import declaration
from discotree.trees.tree import Tree


class Writer:
    """Writes the trees of one file."""

    header = ""
    footer = ""

    def __init__(self, heads: HeadRules | None = None, encoding: str = "utf-8") -> None:
        """``heads`` are for CoNLL-U; without rules, children that are marked as heads are heads."""
        self.heads = HeadRules.of(heads)
        self.encoding = encoding

    def tree(self, tree: Tree, number: int) -> str:
        """Return the text of the ``number``-th tree, counted from 1, or raise an error if that is not possible."""
        raise NotImplementedError

    def check(self, tree: Tree) -> None:
        """Raise a TreebankError for a tree that the format cannot represent."""
        self.tree(tree, 1)

    def file(self, trees: Iterable[Tree]) -> Iterator[Any]:
        """Yield the content of a whole file: text, or bytes in binary formats."""
        if self.header:
            yield self.header
        for number, tree in enumerate(trees, 1):
            yield self.tree(tree, number)
        if self.footer:
            yield self.footer


class DocumentWriter(Writer):
    """Writes files in which offsets and the numbers of annotations continue from sentence to sentence."""

    def part(self, tree: Tree, number: int, offset: int, count: int) -> tuple[str, int, int]:
        """Return the text of a tree at an offset, after ``count`` annotations, and the next offset and count."""
        raise NotImplementedError

    def tree(self, tree: Tree, number: int) -> str:
        return self.part(tree, number, 0, 0)[0]

    def file(self, trees: Iterable[Tree]) -> Iterator[str]:
        offset = count = 0
        yield self.header
        for number, tree in enumerate(trees, 1):
            text, offset, count = self.part(tree, number, offset, count)
            yield text


WHITE_SPACE = re.compile(r"[ \t\n\r\f\v\x1c-\x1f]")  # separates fields in plain-text formats
CONTROL_SPACE = re.compile(r"[\t\n\r\f\v\x1c-\x1f]")  # a plain space in a lemma becomes _
OUTER_SPACE = re.compile(r"^\s|\s$|[\t\n\r]")  # in a word, where a format holds the text of a sentence


def unsupported(tree: Tree, format: str, what: str, text: str) -> TreebankError:
    """Return the error for a text that a format cannot represent."""
    return TreebankError(f"sentence {tree.id}: {format} cannot represent the {what} {text!r}")


def check_texts(
    tree: Tree, format: str, what: str, texts: Sequence[str], forbidden: re.Pattern[str] = WHITE_SPACE
) -> None:
    """Raise an error for texts that are empty or match the forbidden pattern."""
    if "" in texts or forbidden.search("".join(texts)):
        for text in texts:
            if not text or forbidden.search(text):
                raise unsupported(tree, format, what, text)


class XmlWriter(Writer):
    """Writes XML, which declares its encoding."""

    name = ""  # of the format

    def __init__(self, heads: HeadRules | None = None, encoding: str = "utf-8") -> None:
        super().__init__(heads, encoding)
        self.header = f"{declaration(encoding)}\n{self.header}"

    def tree(self, tree: Tree, number: int) -> str:
        text = self.element(tree, number)
        check_texts(tree, self.name, "word", tree.words, NOT_XML)
        check_texts(tree, self.name, "text", [text], NOT_XML)
        return text

    def element(self, tree: Tree, number: int) -> str:
        """Return the element of a tree; characters that XML forbids are found later."""
        raise NotImplementedError
