"""A tree and the places of its words ↔ one line of JSON, which is what a Doc keeps for each sentence.

Text goes where a Doc goes: into bytes, a DocBin, another process. And as it cannot change, what was made of it can be
kept: however often attributes are asked for, a tree is built once.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from discotree.errors import DiscotreeError, TreeError
from discotree.trees.tree import NONE, Node, Token, Tree

MAX_KEPT = 1024  # sentences


@dataclass(frozen=True, slots=True)
class Parse:
    """A parsed sentence. Nodes are numbered in the order of ``Tree.nodes``, the root is 0."""

    tree: Tree
    starts: tuple[int, ...]  # of the words, in characters from the beginning of the sentence
    ends: tuple[int, ...]
    nodes: tuple[Node, ...]
    above: tuple[int, ...]  # the parent of each node, -1 for the root
    over: tuple[int, ...]  # the parent of each word

    def way_up(self, position: int) -> list[int]:
        """The nodes over a word, the root last."""
        way = [self.over[position]]
        while (node := self.above[way[-1]]) >= 0:
            way.append(node)
        return way


def packed(tree: Tree, starts: Sequence[int], ends: Sequence[int]) -> str:
    over, nodes = tree.parents()
    columns = [None if set(column) == {NONE} else column for column in zip(*tree.tokens, strict=True)]
    root = (tree.root.label, tree.root.function)
    sure = (tree.confidence, tree.confidences)
    return json.dumps([starts, ends, columns, over, root, nodes, sure], ensure_ascii=False, separators=(",", ":"))


@lru_cache(MAX_KEPT)
def unpacked(line: str) -> Parse:
    """The inverse. Docs come from files, so nothing is taken for granted."""
    try:
        starts, ends, columns, over, (label, function), nodes, (confidence, confidences) = json.loads(line)
        columns = [column or [NONE] * len(over) for column in columns]
        _check(int, [*starts, *ends, *over, *(parent for _, _, parent in nodes)])
        _check(str, [label, function, *chain(*columns), *chain(*((label, function) for label, function, _ in nodes))])
        _check(float, confidences)
        tokens = [Token(*row) for row in zip(*columns, strict=True)]
        tree = Tree.from_parents(tokens, over, [tuple(node) for node in nodes], root=(label, function))
        if not len(starts) == len(ends) == len(tree) or starts != sorted(starts) or ends != sorted(ends):
            raise TreeError("the places of the words make no sense")
        if len(confidences) not in (0, len(nodes) + 1):
            raise TreeError("the confidences are not those of its nodes")
    except (ValueError, TypeError, RecursionError) as error:  # a TreeError is a ValueError
        raise DiscotreeError(f"the tree that is stored with the Doc cannot be read: {error}") from None
    over, nodes = tree.parents()
    return Parse(
        replace(tree, confidence=confidence, confidences=tuple(confidences)),
        tuple(starts),
        tuple(ends),
        tuple(tree.nodes()),
        (-1, *[parent + 1 for _, _, parent in nodes]),
        tuple([parent + 1 for parent in over]),
    )


def _check(kind: type, values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(f"expected {kind.__name__}, got {value!r:.50}")
