"""Tree ↔ Record: a tree as JSON and back, without loss but for its comment."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discotree.errors import TreeError
from discotree.integrations.web.schemas import ConstituentRecord, EdgeRecord, TokenRecord, TreeRecord
from discotree.treebanks.discbracket import format_discbracket
from discotree.trees.tree import NONE, SecondaryEdge, Token, Tree, rounded

ORDER = "constituents must come with parents before children, children from left to right, and no two may overlap"

Offsets = Sequence[tuple[int, int]]


def fields_of(tree: Tree, offsets: Offsets = ()) -> dict[str, Any]:
    """What a record has; ``offsets`` are those of the words in the text."""
    words = [TokenRecord(form=token.form) for token in tree.tokens]
    if offsets:
        words = [TokenRecord(form=word.form, start=a, end=b) for word, (a, b) in zip(words, offsets, strict=True)]
    return {
        "id": tree.id,
        "tokens": words,
        "tags": _column([token.tag for token in tree.tokens]),
        "lemmas": _column([token.lemma for token in tree.tokens]),
        "morph": _column([token.morph for token in tree.tokens]),
        "functions": _column([token.function for token in tree.tokens]),
        "constituents": [
            ConstituentRecord(
                label=row.label,
                function=row.function,
                positions=list(row.positions),
                confidence=rounded(row.confidence),
            )
            for row in tree.constituents()
        ],
        "secondary": [EdgeRecord(label=label, child=child, parent=parent) for label, child, parent in tree.secondary],
        "confidence": rounded(tree.confidence),
        "discbracket": format_discbracket(tree),
    }


def record_of(tree: Tree, offsets: Offsets = ()) -> TreeRecord:
    return TreeRecord(**fields_of(tree, offsets))


def tree_of(record: TreeRecord) -> Tree:
    """The tree of a record; one that makes no sense is a TreeError."""
    n = len(record.tokens)
    columns = [_filled(name, getattr(record, name), n) for name in ("tags", "lemmas", "morph", "functions")]
    tokens = [Token(word.form, *rest) for word, *rest in zip(record.tokens, *columns, strict=True)]
    root, *phrases = record.constituents
    if sorted(root.positions) != list(range(n)):
        raise TreeError("the first constituent must be the root, which has all words")
    masks = [_mask(phrase.positions, n) for phrase in record.constituents]
    token_parents = [-1] * n
    nodes: list[tuple[str, str, int]] = []
    above = [0]  # the root and the way down from it, as offsets in ``masks``
    for place, phrase in enumerate(phrases, 1):
        while above and masks[place] & ~masks[above[-1]]:
            above.pop()
        if not above:
            raise TreeError(ORDER)
        nodes.append((phrase.label, phrase.function, above[-1] - 1))
        above.append(place)
        for position in phrase.positions:
            token_parents[position] = place - 1
    edges = [SecondaryEdge(edge.label, edge.child, edge.parent) for edge in record.secondary]
    if any(edge.parent < n for edge in edges):
        raise TreeError("a secondary edge leads to a word")
    tree = Tree.from_parents(
        tokens, token_parents, nodes, root=(root.label, root.function), id=record.id, secondary=edges
    )
    if [node.mask for node in tree.nodes()] != masks:
        raise TreeError(ORDER)
    sure = [phrase.confidence for phrase in record.constituents]
    known = tuple([value for value in sure if value is not None])
    return replace(tree, confidence=record.confidence, confidences=known if len(known) == len(sure) else ())


def _mask(positions: Sequence[int], n: int) -> int:
    if max(positions) >= n:
        raise TreeError(f"there is no word {max(positions)}, only {n}")
    return sum(1 << position for position in set(positions))


def _column(values: list[str]) -> list[str]:
    """One for each word, or nothing where no word has any."""
    return [] if values.count(NONE) == len(values) else values


def _filled(name: str, values: list[str], n: int) -> list[str]:
    if values and len(values) != n:
        raise TreeError(f"there are {n} words but {len(values)} {name}")
    return values or [NONE] * n
