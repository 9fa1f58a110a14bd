"""What every text format writes: a header, the text of each tree, a footer.

The text of a tree depends on nothing but the tree and its number in the file. So a file can be written in one go, or
one tree at a time over several runs, and its bytes are the same.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from discotree.encoding.head_rules import HeadRules
from discotree.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """What a writer may need to know beside the trees."""

    heads: HeadRules | None = None  # for CoNLL-U; without rules, children marked as heads are heads
    encoding: str = "utf-8"  # for XML, which declares it


PLAIN = WriterOptions()


class Writer(ABC):
    """Writes the trees of one file in a text format."""

    header = ""
    footer = ""

    def __init__(self, options: WriterOptions = PLAIN) -> None:
        self.options = options

    @abstractmethod
    def tree(self, tree: Tree, number: int) -> str:
        """Return the text of the ``number``-th tree, counted from 1; refuse a tree that the format cannot hold."""

    def file(self, trees: Iterable[Tree]) -> Iterator[str]:
        """Return a whole file in pieces."""
        if self.header:
            yield self.header
        for number, tree in enumerate(trees, 1):
            yield self.tree(tree, number)
        if self.footer:
            yield self.footer
