"""Trees as Arrow columns, one row a tree.

    id            string
    words         list of strings; tags, lemmas, morph and functions the same
    parents       list of int32: the parent of every word, an index into ``constituents``
    constituents  list of {label, function, parent, start, end, gaps, confidence}, in the order of ``Tree.nodes``: the
                  root comes first and has the parent -1; gaps are a list of {start, end}, ends are excluded
    secondary     list of {label, child, parent}, with the addresses of ``SecondaryEdge``
    comment       string
    confidence    double

The parents define the tree. ``start``, ``end`` and ``gaps`` follow from them; they are there for queries, and readers
ignore them. Missing columns read as ``--``; words, parents and constituents are required.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from typing import Any

from discotree.errors import TreeError
from discotree.treebanks.arrays import Arrays, arrow
from discotree.treebanks.limits import refusal
from discotree.treebanks.source import RunningNumber
from discotree.trees.tree import NONE, Node, SecondaryEdge, Token, Tree

TOKEN_COLUMNS = ("words", "tags", "lemmas", "morph", "functions")  # in the order of Token's fields
REQUIRED = ("words", "parents", "constituents")
BRACKETS = "tree"  # column of files that hold trees as brackets
SENTENCES = "sentences"  # column of files with several trees in a row
OPTIONAL = ("id", *TOKEN_COLUMNS[1:], "secondary", "comment", "confidence", BRACKETS, "error")
COLUMNS = frozenset({*REQUIRED, *OPTIONAL, SENTENCES})  # columns that are read
HALF = re.compile("[\ud800-\udfff]")  # half a character


@lru_cache
def schema() -> Any:
    pa = arrow()
    span = [("start", pa.int32()), ("end", pa.int32())]
    constituent = pa.struct(
        [
            ("label", pa.string()),
            ("function", pa.string()),
            ("parent", pa.int32()),
            *span,
            ("gaps", pa.list_(pa.struct(span))),
            ("confidence", pa.float64()),
        ]
    )
    edge = pa.struct([("label", pa.string()), ("child", pa.int32()), ("parent", pa.int32())])
    return pa.schema(
        [
            ("id", pa.string()),
            *((name, pa.list_(pa.string())) for name in TOKEN_COLUMNS),
            ("parents", pa.list_(pa.int32())),
            ("constituents", pa.list_(constituent)),
            ("secondary", pa.list_(edge)),
            ("comment", pa.string()),
            ("confidence", pa.float64()),
        ]
    )


# Trees → columns


def to_batch(trees: Sequence[Tree]) -> Any:
    """Return trees as one record batch; text that UTF-8 cannot hold is a TreebankError."""
    pa = arrow()
    try:
        return pa.record_batch(_arrays(pa, trees), schema=schema())
    except UnicodeEncodeError:
        for tree in trees:
            check_texts(tree)
        raise


def _arrays(pa: Any, trees: Sequence[Tree]) -> list[Any]:
    tokens: list[list[str]] = [[] for _ in TOKEN_COLUMNS]
    parents: list[int] = []
    labels: list[str] = []
    functions: list[str] = []
    node_parents: list[int] = []
    spans: list[tuple[int, int]] = []
    gaps: list[tuple[int, int]] = []
    degrees: list[int] = []  # number of gaps of every constituent
    confidences: list[float | None] = []
    counts: list[int] = []  # number of constituents of every tree
    for tree in trees:
        for column, values in zip(tokens, zip(*tree.tokens, strict=True), strict=True):
            column += values
        token_parents, nodes = tree.parents()
        parents += [parent + 1 for parent in token_parents]  # the root is constituent 0
        node_parents += [-1, *(parent + 1 for _, _, parent in nodes)]
        for node in tree.nodes():
            labels.append(node.label)
            functions.append(node.function)
            spans.append((node.first, node.mask.bit_length()))
            inner = node.gaps if node.is_discontinuous else ()
            gaps += inner
            degrees.append(len(inner))
        count = len(nodes) + 1
        counts.append(count)
        confidences += tree.confidences if len(tree.confidences) == count else [None] * count
    edges = [edge for tree in trees for edge in tree.secondary]
    lengths = [len(tree) for tree in trees]
    text, number = pa.string(), pa.int32()

    def lists(counts: list[int], values: Any) -> Any:
        return pa.ListArray.from_arrays(pa.array(accumulate(counts, initial=0), number), values)

    def structs(kind: str, columns: list[Any]) -> Any:
        return pa.StructArray.from_arrays(columns, fields=list(schema().field(kind).type.value_type))

    def numbers(pairs: list[tuple[int, int]]) -> list[Any]:
        return [pa.array([pair[k] for pair in pairs], number) for k in (0, 1)]

    constituents = [
        pa.array(labels, text),
        pa.array(functions, text),
        pa.array(node_parents, number),
        *numbers(spans),
        lists(degrees, pa.StructArray.from_arrays(numbers(gaps), ["start", "end"])),
        pa.array(confidences, pa.float64()),
    ]
    secondary = [pa.array([edge[k] for edge in edges], kind) for k, kind in enumerate((text, number, number))]
    return [
        pa.array([tree.id for tree in trees], text),
        *(lists(lengths, pa.array(column, text)) for column in tokens),
        lists(lengths, pa.array(parents, number)),
        lists(counts, structs("constituents", constituents)),
        lists([len(tree.secondary) for tree in trees], structs("secondary", secondary)),
        pa.array([tree.comment for tree in trees], text),
        pa.array([tree.confidence for tree in trees], pa.float64()),
    ]


def check_texts(tree: Tree) -> None:
    """Refuse a tree with text that UTF-8 cannot hold: half a character."""
    texts = [("id", tree.id), ("comment", tree.comment)]
    texts += [("word" if k == 0 else Token._fields[k], text) for token in tree.tokens for k, text in enumerate(token)]
    texts += [("label", text) for node in tree.nodes() for text in (node.label, node.function)]
    texts += [("secondary edge", edge.label) for edge in tree.secondary]
    if HALF.search("".join([text for _, text in texts])):
        for what, text in texts:
            if HALF.search(text):
                raise refusal(tree, "UTF-8", what, text)


# Columns → trees


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
