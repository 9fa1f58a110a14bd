"""The predicates of queries: what they take, and when they hold."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discotree.queries.tree_view import TreeView

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


DISCONTINUOUS, GAP_DEGREE = "discontinuous", "gap-degree"


def arity(view: TreeView, nodes: Sequence[int], numbers: Sequence[float]) -> bool:
    """A node has so many children; a word has none."""
    return _among(len(view.below(nodes[0])), numbers)


def tokenarity(view: TreeView, nodes: Sequence[int], numbers: Sequence[float]) -> bool:
    """So many words are below a node; a word counts itself."""
    return _among(view.mask(nodes[0]).bit_count(), numbers)


def gap_degree(view: TreeView, nodes: Sequence[int], numbers: Sequence[float]) -> bool:
    """A node has so many gaps."""
    mask = view.mask(nodes[0])
    return _among((mask & ~(mask << 1)).bit_count() - 1, numbers)


def within(view: TreeView, nodes: Sequence[int], numbers: Sequence[float]) -> bool:
    """A word of one node and a word of the other are at most so many words apart; 1 for neighbours, 0 for a shared one.

    The order of the two does not matter.
    """
    left, right = (view.mask(node) for node in nodes)
    distance = int(min(numbers[0], view.terminals))
    return any(left << k & right or right << k & left for k in range(distance + 1))


def root(view: TreeView, nodes: Sequence[int], _: Sequence[float]) -> bool:
    """A node has none above it."""
    return view.parents[nodes[0]] < 0


def discontinuous(view: TreeView, nodes: Sequence[int], _: Sequence[float]) -> bool:
    """A node has a gap."""
    return not gap_degree(view, nodes, (0,))


def continuous(view: TreeView, nodes: Sequence[int], _: Sequence[float]) -> bool:
    """A node has no gap; words never have one."""
    return gap_degree(view, nodes, (0,))


def confidence(view: TreeView, node: int) -> float | None:
    """Return the parser's confidence of a constituent; None for words, and in trees without confidences."""
    known = view.confidences
    index = node - view.terminals
    return known[index] if index >= 0 and len(known) == view.size - view.terminals else None


def _among(value: int, numbers: Sequence[float]) -> bool:
    """Tell whether a value is the only number, or lies between the two."""
    return numbers[0] <= value <= numbers[-1]


@dataclass(frozen=True)
class Signature:
    """What a predicate takes, and how it is decided."""

    holds: Callable[[TreeView, Sequence[int], Sequence[float]], bool]
    nodes: int = 1
    min_numbers: int = 0
    max_numbers: int = 0
    is_compared: bool = False  # a value of the node, compared with a number


def _never(*_: object) -> bool:
    return False


PREDICATES = {
    "root": Signature(root),
    "arity": Signature(arity, 1, 1, 2),
    "tokenarity": Signature(tokenarity, 1, 1, 2),
    "continuous": Signature(continuous),
    DISCONTINUOUS: Signature(discontinuous),
    GAP_DEGREE: Signature(gap_degree, 1, 1, 2),
    "within": Signature(within, 2, 1, 1),
    "confidence": Signature(_never, is_compared=True),
}


def asks_for_gaps(predicate: str, numbers: Sequence[float]) -> bool:
    """Tell whether a predicate holds of discontinuous nodes alone."""
    return predicate == DISCONTINUOUS or (predicate == GAP_DEGREE and numbers[0] > 0)


def decide(view: TreeView, predicate: str, nodes: Sequence[int], numbers: Sequence[float], comparison: str) -> bool:
    """Tell whether a predicate holds of nodes."""
    if comparison:
        found = confidence(view, nodes[0])
        return found is not None and COMPARISONS[comparison](found, numbers[0])
    return PREDICATES[predicate].holds(view, nodes, numbers)
