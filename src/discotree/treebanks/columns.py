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
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from discotree.treebanks.arrays import arrow
from discotree.treebanks.limits import refusal
from discotree.trees.tree import Token, Tree

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
