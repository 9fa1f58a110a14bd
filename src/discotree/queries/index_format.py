"""What an index stores, in what form. The record of a tree is a compressed list of its columns.

A column of strings is one string with a separator between the values: this is read in a third of the time of a list.
"""

import json
import zlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple, cast

from discotree.errors import DiscotreeError
from discotree.trees.tree import NONE, SecondaryEdge, Token, Tree

APPLICATION = 0x64747265  # tells our files from other SQLite files
FORMAT = 2
GAP_FEATURE = "gap"  # the labels of discontinuous constituents
GAP_DEGREE_FEATURE = "gap-degree"  # from 1 on
PART = 200_000  # trees whose lists are kept in memory while an index is made
MAX_TREE_BYTES = 1 << 26

# What a record that makes no sense may raise
DAMAGE = (ValueError, TypeError, IndexError, OverflowError, RecursionError, zlib.error, DiscotreeError)

_SEPARATOR = "\x7f"  # one byte in JSON; a column that holds it is stored as a list


class Columns(NamedTuple):
    """A tree as its columns. Nodes stand in the order of ``Tree.nodes``, the root first."""

    id: str
    tokens: list[list[str]]  # one column for each field of a Token
    token_parents: list[int]  # -1 for the root, k for the k-th of the other nodes
    labels: list[str]
    functions: list[str]
    node_parents: list[int]  # the same for all nodes but the root
    secondary: list[SecondaryEdge]
    comment: str
    confidence: float | None
    confidences: list[float]

    def tree(self) -> Tree:
        """Return the tree; the inverse of ``columns_of``."""
        tree = Tree.from_parents(
            list(map(Token._make, zip(*self.tokens, strict=True))),
            self.token_parents,
            list(zip(self.labels[1:], self.functions[1:], self.node_parents, strict=True)),
            root=(self.labels[0], self.functions[0]),
            id=self.id,
            secondary=self.secondary,
            comment=self.comment,
        )
        if self.confidence is None and not self.confidences:
            return tree
        return replace(tree, confidence=self.confidence, confidences=tuple(self.confidences))


def columns_of(tree: Tree) -> Columns:
    """Return the columns of a tree."""
    token_parents, nodes = tree.parents()
    return Columns(
        tree.id,
        [list(column) for column in zip(*tree.tokens, strict=True)],
        token_parents,
        [tree.root.label, *[label for label, _, _ in nodes]],
        [tree.root.function, *[function for _, function, _ in nodes]],
        [parent for _, _, parent in nodes],
        [SecondaryEdge(str(label), int(child), int(parent)) for label, child, parent in tree.secondary],
        tree.comment,
        None if tree.confidence is None else float(tree.confidence),
        list(map(float, tree.confidences)),
    )


def packed(columns: Columns) -> bytes:
    """Return the record of a tree."""
    stored = columns._replace(
        tokens=list(map(_joined, columns.tokens)),
        labels=_joined(columns.labels),
        functions=_joined(columns.functions),
    )
    record = json.dumps(stored, separators=(",", ":"), ensure_ascii=False)
    return zlib.compress(record.encode("utf-8", "surrogatepass"), 1)


def unpacked(record: bytes) -> Columns:
    """Return the columns of a record, which are those of a tree; raise one of ``DAMAGE`` if it makes no sense."""
    unpack = zlib.decompressobj()
    text = unpack.decompress(record, MAX_TREE_BYTES)
    if unpack.unconsumed_tail:
        raise ValueError(f"more than {MAX_TREE_BYTES:,} bytes")
    if not unpack.eof:  # what checks the bytes comes last
        raise ValueError("its end is missing")
    id, tokens, token_parents, labels, functions, node_parents, secondary, comment, confidence, confidences = (
        json.loads(text)
    )
    _check_types(list, tokens, token_parents, node_parents, secondary, confidences)
    _check_types(int, *token_parents, *node_parents)
    _check_types(str, id, comment)
    if confidences or confidence is not None:
        _check_types(float, *confidences, 0.0 if confidence is None else confidence)
    if len(tokens) != len(Token._fields):
        raise ValueError(f"expected {len(Token._fields)} columns of tokens")
    words, nodes = len(token_parents), len(node_parents) + 1
    tokens = [_split(column, words) for column in tokens]
    labels = _split(labels, nodes)
    if not all(labels):
        raise ValueError("a node has no label")
    _check_order(token_parents, node_parents)
    functions = _split(functions, nodes)
    secondary = [_secondary_edge(edge, words, words + nodes) for edge in secondary]
    return Columns(
        id, tokens, token_parents, labels, functions, node_parents, secondary, comment, confidence, confidences
    )


def _joined(column: list[str]) -> Any:
    """Return a column as it is stored: not at all if all values are ``NONE``, as a list if a separator is in it."""
    if column.count(NONE) == len(column):
        return None
    text = _SEPARATOR.join(column)
    return column if text.count(_SEPARATOR) >= len(column) else text


def _split(stored: object, size: int) -> list[str]:
    if stored is None:
        return [NONE] * size
    if isinstance(stored, str):
        column = stored.split(_SEPARATOR)
    else:
        _check_types(list, stored)
        column = cast(list[str], stored)
        _check_types(str, *column)
    if len(column) != size:
        raise ValueError(f"expected a column of {size} values")
    return column


def _check_types(expected: type, *values: object) -> None:
    if not {*map(type, values)} <= {expected}:
        raise TypeError(f"expected values of the type {expected.__name__}")


def _secondary_edge(stored: Iterable[Any], tokens: int, end: int) -> SecondaryEdge:
    edge = SecondaryEdge(*stored)
    _check_types(str, edge.label)
    _check_types(int, edge.child, edge.parent)
    if not (0 <= edge.child < end and tokens <= edge.parent < end):
        raise ValueError(f"{edge} leads outside the tree")
    return edge


def _check_order(token_parents: list[int], node_parents: list[int]) -> None:
    """Refuse parents that make no tree, or one whose nodes are not in the order of ``Tree.nodes``."""
    end = len(token_parents)
    if not token_parents or min(token_parents) < -1 or max(token_parents) >= len(node_parents):
        raise ValueError(f"expected words, with parents among -1..{len(node_parents) - 1}")
    path = [-1]  # from the root to the node before
    try:
        for node, parent in enumerate(node_parents):
            while path[-1] != parent:
                path.pop()
            path.append(node)
    except IndexError:
        raise ValueError(f"node {node + 1} does not come after its parent") from None
    first = [end] * (len(node_parents) + 1)  # position of the first word; the root's is the last, [-1]
    for position in range(end - 1, -1, -1):
        first[token_parents[position]] = position
    right = [end] * len(first)  # the first word of the child to the right
    for node in range(len(node_parents) - 1, -1, -1):
        parent, mine = node_parents[node], first[node]
        if mine >= right[parent]:
            raise ValueError(f"node {node + 1} has no words, or stands before a sibling to its left")
        right[parent] = mine
        if mine < first[parent]:
            first[parent] = mine
