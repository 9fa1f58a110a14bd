"""Match gold trees with predicted ones: by their ids, or by their order where one side only counts its sentences.

A reader makes up numbers where a format has no ids, and parsers write such numbers as ids (``#BOS 1``, ``#BOS 2``), so
numbers from 1 or 0 say nothing about the other file. They may be ids of their own, too: then the words decide.
"""

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from discotree.errors import EvaluationError
from discotree.treebanks.source import RunningNumber
from discotree.trees.tree import Tree

Row = tuple[int, Tree | None, Tree | None]  # position, and the gold and the predicted tree there


def paired(
    gold: Iterable[Tree], predicted: Iterable[Tree], *, missing_as_empty: bool = False
) -> Iterator[tuple[int, Tree, Tree | None]]:
    """Yield gold trees with their positions and predictions.

    Only trees that wait for a counterpart are kept, and all from the first difference on while one side only counts.
    """
    matcher = _Matcher()
    held: list[Row] = []
    counting = {"gold": True, "predicted": True}  # sides with nothing but running numbers so far
    for position, (g, p) in enumerate(zip_longest(gold, predicted), 1):
        counting["gold"] &= g is None or _is_number(g.id, position)
        counting["predicted"] &= p is None or _is_number(p.id, position)
        if g is not None and p is not None and (g.id == p.id or _is_nameless(g, position) or _is_nameless(p, position)):
            yield position, g, p
        elif any(counting.values()):
            held.append((position, g, p))
        else:
            for row in held:
                yield from matcher.add(*row)
            held.clear()
            yield from matcher.add(position, g, p)
    by_order = _matches_by_order(held)
    for position, g, p in held:
        if by_order and g is not None and p is not None:
            yield position, g, p
        else:
            yield from matcher.add(position, g, p)
    yield from matcher.unmatched_gold(missing_as_empty)


class _Matcher:
    """Matches trees by id, in any order."""

    def __init__(self) -> None:
        self.gold: dict[str, tuple[int, Tree]] = {}
        self.predicted: dict[str, Tree] = {}

    def add(self, position: int, gold: Tree | None, predicted: Tree | None) -> Iterator[tuple[int, Tree, Tree]]:
        if gold is not None:
            if gold.id in self.gold:
                raise EvaluationError(f"sentence {gold.id} is twice in the gold file; ids must be unique")
            if gold.id in self.predicted:
                yield position, gold, self.predicted.pop(gold.id)
            else:
                self.gold[gold.id] = (position, gold)
        if predicted is not None:
            if predicted.id in self.predicted:
                raise EvaluationError(f"sentence {predicted.id} is twice in the predicted file; ids must be unique")
            if predicted.id in self.gold:
                yield *self.gold.pop(predicted.id), predicted
            else:
                self.predicted[predicted.id] = predicted

    def unmatched_gold(self, missing_as_empty: bool) -> Iterator[tuple[int, Tree, None]]:
        """Yield the gold trees without a prediction; refuse predictions without a gold tree."""
        if self.predicted:
            first_ids = ", ".join(list(self.predicted)[:5])
            raise EvaluationError(f"{len(self.predicted):,} predicted sentences are not in the gold file: {first_ids}")
        if self.gold and not missing_as_empty:
            first_ids = ", ".join(list(self.gold)[:5])
            raise EvaluationError(f"{len(self.gold):,} gold sentences have no prediction: {first_ids}")
        for position, tree in self.gold.values():
            yield position, tree, None


def _is_nameless(tree: Tree, position: int) -> bool:
    """Return whether a reader made up the id: the file has none."""
    return not tree.id or (isinstance(tree.id, RunningNumber) and tree.id == str(position))


def _is_number(id: str, position: int) -> bool:
    return not id or isinstance(id, RunningNumber) or id in (str(position), str(position - 1))


def _matches_by_order(rows: list[Row]) -> bool:
    """Return whether order rather than ids matches these trees, one side of which only counts."""
    gold = {g.id: g for _, g, _ in rows if g is not None}
    predicted = {p.id: p for _, _, p in rows if p is not None}
    shared = gold.keys() & predicted.keys()
    if not shared:
        return True
    if len(shared) == len(predicted) and all(_agree(gold[id], predicted[id]) for id in shared):
        return False
    return all(_agree(g, p) for _, g, p in rows if g is not None and p is not None)


def _agree(gold: Tree, predicted: Tree) -> bool:
    """Return whether the predicted words are among the gold words, in their order; deleted ones may be left out."""
    if gold.words == predicted.words:
        return True
    remaining = iter(gold.words)
    return all(word in remaining for word in predicted.words)
