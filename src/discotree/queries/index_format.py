"""What an index stores, in what form. The record of a tree is a compressed list of its columns."""

import json
import zlib
from dataclasses import replace

from discotree.errors import DiscotreeError
from discotree.trees.tree import SecondaryEdge, Token, Tree

APPLICATION = 0x64747265  # tells our files from other SQLite files
FORMAT = 1
GAP_FEATURE = "gap"  # the labels of discontinuous constituents
PART = 200_000  # trees whose lists are kept in memory while an index is made
MAX_TREE_BYTES = 1 << 26

# What a record that makes no sense may raise
DAMAGE = (ValueError, TypeError, IndexError, OverflowError, RecursionError, zlib.error, DiscotreeError)


def packed(tree: Tree) -> bytes:
    """Return the record of a tree."""
    token_parents, nodes = tree.parents()
    columns = list(zip(*tree.tokens, strict=True))
    by_column = list(zip(*nodes, strict=True)) or [(), (), ()]  # labels, functions, parents
    root = (tree.root.label, tree.root.function)
    confidence = None if tree.confidence is None else float(tree.confidence)
    rest = (tree.secondary, tree.comment, confidence, list(map(float, tree.confidences)))
    record = json.dumps([tree.id, columns, token_parents, *by_column, root, *rest], separators=(",", ":"))
    return zlib.compress(record.encode(), 1)


def unpacked(record: bytes) -> Tree:
    """Return the tree of a record; raise ValueError, TypeError or an error of ours for one that makes no sense."""
    unpack = zlib.decompressobj()
    text = unpack.decompress(record, MAX_TREE_BYTES)
    if unpack.unconsumed_tail:
        raise ValueError(f"more than {MAX_TREE_BYTES:,} bytes")
    id, columns, token_parents, labels, functions, node_parents, root, secondary, comment, confidence, confidences = (
        json.loads(text)
    )
    _check_types(str, *columns, labels, functions, root, [id, comment])
    _check_types(int, token_parents, node_parents)
    _check_types(float, confidences, [] if confidence is None else [confidence])
    tree = Tree.from_parents(
        list(map(Token._make, zip(*columns, strict=True))),
        token_parents,
        list(zip(labels, functions, node_parents, strict=True)),
        root=(root[0], root[1]),
        id=id,
        secondary=[SecondaryEdge(str(label), int(child), int(parent)) for label, child, parent in secondary],
        comment=comment,
    )
    if confidence is None and not confidences:
        return tree
    return replace(tree, confidence=confidence, confidences=tuple(confidences))


def _check_types(expected: type, *columns: list[object]) -> None:
    for column in columns:
        if not {*map(type, column)} <= {expected}:
            raise TypeError(f"expected {expected.__name__} values")
