"""Read trees from Arrow columns; columns.py describes them.

Files come from anywhere: a row gives a tree, or a TreeError that says what is wrong with it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from discotree.errors import TreeError
from discotree.treebanks.arrays import Arrays
from discotree.treebanks.columns import BRACKETS, TOKEN_COLUMNS
from discotree.treebanks.source import RunningNumber
from discotree.trees.tree import NONE, Node, SecondaryEdge, Token, Tree


def from_batch(batch: Any, seen: int) -> Iterator[Tree | TreeError]:
    """Return the trees of a record batch, or errors for broken ones; ``seen`` rows came before it."""
    given = Arrays(batch)
    columns = (
        zip(*(given.lists(name) for name in TOKEN_COLUMNS), strict=True),
        given.lists("parents"),
        zip(*given.structs("constituents", ("label", "function", "parent", "confidence")), strict=True),
        zip(*given.structs("secondary", SecondaryEdge._fields), strict=True),
        _ids(given, seen),
        given.values("comment"),
        given.values("confidence"),
    )
    return map(_tree_or_error, given.values("error"), *columns)


def from_brackets(batch: Any, seen: int) -> Iterator[Tree | TreeError]:
    """Return the trees of a record batch that holds them as brackets, as version 0.1 of ``discotree bulk`` wrote them.

    ``functions`` are those of the words, then those of the nodes; ``error`` says why a row has no tree.
    """
    given = Arrays(batch)
    return map(
        _parsed,
        given.values(BRACKETS),
        given.lists("functions"),
        _ids(given, seen),
        given.values("confidence"),
        given.values("error"),
    )


def _ids(given: Arrays, seen: int) -> list[str]:
    """Return the ids, which may be numbers; a row without one gets the number of the row."""
    ids = enumerate(given.values("id"), seen + 1)
    return [RunningNumber(row) if value is None or value == "" else str(value) for row, value in ids]


def _parsed(
    text: str | None, functions: list[Any] | None, id: str, confidence: float | None, reason: str | None
) -> Tree | TreeError:
    if text is None:
        return TreeError(reason or "there is no tree")
    try:
        tree = Tree.parse(text, id)
        if functions is not None:
            tree = _with_functions(tree, functions)
    except TreeError as error:
        return error
    return tree if confidence is None else replace(tree, confidence=confidence)


def _with_functions(tree: Tree, functions: list[Any]) -> Tree:
    n = len(tree)
    token_parents, nodes = tree.parents()
    functions = _complete(functions, n + 1 + len(nodes), "functions")
    return Tree.from_parents(
        [token._replace(function=function) for token, function in zip(tree.tokens, functions, strict=False)],
        token_parents,
        [(label, functions[n + k], parent) for k, (label, _, parent) in enumerate(nodes, 1)],
        root=(tree.root.label, functions[n]),
        id=tree.id,
    )


def _tree_or_error(reason: str | None, *row: Any) -> Tree | TreeError:
    if reason:
        return TreeError(reason)
    try:
        return _tree(*row)
    except TreeError as error:
        return error


def _tree(
    tokens: Sequence[list[Any] | None],
    parents: list[Any] | None,
    constituents: Sequence[list[Any] | None],
    secondary: Sequence[list[Any] | None],
    id: str,
    comment: str | None,
    confidence: float | None,
) -> Tree:
    words = tokens[0]
    if not words or None in words:
        raise TreeError("a word is missing" if words else "there are no words")
    n = len(words)
    others = [_complete(values, n, name) for name, values in zip(TOKEN_COLUMNS[1:], tokens[1:], strict=True)]
    nodes = _nodes(n, parents, *constituents[:3])
    edges = list(zip(*(ends or () for ends in secondary), strict=True))
    if any(None in edge for edge in edges):
        raise TreeError("a secondary edge is not complete")
    confidences = constituents[3]
    if confidences and None in confidences:
        confidences = None
    if (edges or confidences) and any(node is not other for node, other in zip(nodes, nodes[0].nodes(), strict=True)):
        raise TreeError("the constituents are not in order: parents before children, children from left to right")
    return Tree(
        tuple(map(Token, words, *others)),
        nodes[0],
        id,
        tuple([SecondaryEdge(*edge) for edge in edges]),
        comment or "",
        confidence,
        tuple(confidences or ()),
    )


def _nodes(
    n: int,
    parents: list[int | None] | None,
    labels: list[str] | None,
    functions: list[Any] | None,
    node_parents: list[int | None] | None,
) -> list[Node]:
    """Return the nodes in the order given. Parents come before their children, so there is no cycle."""
    if not labels or not node_parents or node_parents[0] != -1:
        raise TreeError("the first constituent has to be the root, with the parent -1")
    count = len(labels)
    functions = _complete(functions, count, "functions")
    children: list[list[Node | int]] = [[] for _ in labels]
    if parents is None or len(parents) != n:
        raise TreeError(f"there are {len(parents or ())} parents, expected {n}")
    for position, parent in enumerate(parents):
        if parent is None or not 0 <= parent < count:
            raise TreeError(f"word {position} has the parent {parent}, but there are {count} constituents")
        children[parent].append(position)
    nodes: list[Any] = [None] * count
    for k in range(count - 1, -1, -1):
        try:
            nodes[k] = node = Node(labels[k], children[k], functions[k])
        except TreeError as error:
            raise TreeError(f"constituent {k}: {error}") from None
        if k:
            parent = node_parents[k]
            if parent is None or not 0 <= parent < k:
                raise TreeError(f"constituent {k} has the parent {parent}: it has to be one before it")
            children[parent].append(node)
    return nodes


def _complete(values: list[Any] | None, size: int, name: str) -> list[Any]:
    """Return one value for every word or constituent."""
    if values is None:
        return [NONE] * size
    if len(values) != size:
        raise TreeError(f"there are {len(values)} {name}, expected {size}")
    return [NONE if value is None else value for value in values] if None in values else values
