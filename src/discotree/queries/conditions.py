"""The conditions of queries: tests of values and features, relations between nodes, and predicates.

>  >LABEL  >2,4  >*   dominance: the right node is a child of the left one, 2 to 4 steps below it, anywhere below it.
                      A label is that of the edge above the right node.
>@l  >@r              the right node is the left-most, right-most terminal of a non-terminal
.  .2,4  .*           precedence of the left-most terminals: the right one is 1 word later, 2 to 4 words, any number
$  $.*                two children of one node; the left-most terminal of the left one comes first
>~  >~LABEL           a secondary edge leads from the left node, the parent, to the right one
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from discotree.queries.language import (
    CONTINUOUS,
    DISCONTINUOUS,
    GAP_DEGREE,
    And,
    Exactly,
    Expression,
    Feature,
    Holds,
    Kind,
    Matching,
    Not,
    Or,
    Relation,
    SameAs,
    walk,
)
from discotree.queries.match import TreeView

Values = Mapping[str, str]  # the value variables, by name
ValueTest = Callable[[str, Values], bool]
FeatureTest = Callable[[TreeView, int, Values], bool]


def value_test(test: Expression) -> ValueTest:
    """Return the test of a value as a function."""
    if isinstance(test, Exactly):
        text = test.text
        return lambda value, _: value == text
    if isinstance(test, Matching):
        full_match = re.compile(test.pattern).fullmatch
        return lambda value, _: full_match(value) is not None
    if isinstance(test, SameAs):
        variable = test.variable
        return lambda value, values: values[variable] == value
    if isinstance(test, Not):
        inner = value_test(test.part)
        return lambda value, values: not inner(value, values)
    parts = [value_test(part) for part in _parts(test)]
    if isinstance(test, And):
        return lambda value, values: all(part(value, values) for part in parts)
    return lambda value, values: any(part(value, values) for part in parts)


def feature_test(features: Expression) -> FeatureTest:
    """Return the test of a node's features as a function."""
    if isinstance(features, Kind):
        terminal = features.terminal
        return lambda view, node, _: (node < view.terminals) == terminal
    if isinstance(features, Feature):
        name, texts = features.name, exact_values(features.test)
        if texts:
            return lambda view, node, _: view.value(node, name) in texts
        test = value_test(features.test)
        return lambda view, node, values: (value := view.value(node, name)) is not None and test(value, values)
    if isinstance(features, Not):
        inner = feature_test(features.part)
        return lambda view, node, values: not inner(view, node, values)
    parts = [feature_test(part) for part in _parts(features)]
    if isinstance(features, And):
        return lambda view, node, values: all(part(view, node, values) for part in parts)
    return lambda view, node, values: any(part(view, node, values) for part in parts)


def _parts(expression: Expression) -> tuple[Expression, ...]:
    assert isinstance(expression, And | Or), expression
    return expression.parts


def conjuncts(expression: Expression) -> Iterator[Expression]:
    """Yield the parts of a conjunction, with nested ``And`` flattened."""
    if isinstance(expression, And):
        for part in expression.parts:
            yield from conjuncts(part)
    else:
        yield expression


def value_uses(expression: Expression) -> Iterator[SameAs]:
    """Yield all uses of value variables in an expression."""
    return (part for part in walk(expression) if isinstance(part, SameAs))


def exact_values(test: Expression) -> tuple[str, ...] | None:
    """Return the only values that pass a test, if it lists them."""
    if isinstance(test, Exactly):
        return (test.text,)
    parts = list(map(exact_values, test.parts)) if isinstance(test, Or) else [None]
    return None if None in parts else tuple(chain.from_iterable(filter(None, parts)))


def related(view: TreeView, left: int, relation: Relation, right: int, label: ValueTest | None) -> bool:
    """Return whether a relation holds between two nodes; ``label`` is its test of the edge's label."""
    name = relation.name
    if name == ">":
        if label and not ((edge := view.edges[right]) is not None and label(edge, {})):
            return False
        above, steps = right, 0
        while above >= 0 and (relation.farthest is None or steps < relation.farthest):
            above, steps = view.parents[above], steps + 1
            if above == left:
                return steps >= relation.nearest  # a node is above another one only once
        return False
    if name == ".":
        distance = view.first[right] - view.first[left]
        return distance >= relation.nearest and (relation.farthest is None or distance <= relation.farthest)
    if name in ("$", "$.*"):
        parent = view.parents[left]
        if parent < 0 or parent != view.parents[right] or left == right:
            return False
        return name == "$" or view.first[left] < view.first[right]
    if name == ">~":
        return any(
            edge.parent == left and edge.child == right and (label is None or label(edge.label, {}))
            for edge in view.columns.secondary
        )
    if left < view.terminals:
        return False
    return right == (view.first[left] if name == ">@l" else view.last(left))


def partners(view: TreeView, relation: Relation, known: int, known_is_left: bool) -> Iterable[int] | None:
    """Return the nodes to try on the other side of a relation; None if the relation excludes hardly any."""
    name = relation.name
    if name == ">":
        if known_is_left:
            return view.below(known) if relation.farthest == 1 else view.descendants(known)
        if relation.farthest == 1:
            return (parent,) if (parent := view.parents[known]) >= 0 else ()
        return view.ancestors(known)[: relation.farthest]
    if name in ("$", "$.*"):
        return view.siblings(known)
    if name == ">~":
        return view.secondary(known)
    if name == ".":
        if relation.farthest is None:
            return None
        steps = range(relation.nearest, min(relation.farthest, view.terminals) + 1)
        sign = 1 if known_is_left else -1
        return [node for step in steps for node in view.beginning(view.first[known] + sign * step)]
    if known_is_left:
        return (view.first[known] if name == ">@l" else view.last(known),)
    return view.ancestors(known)


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def asks_for_gaps(statement: Holds) -> bool:
    """Return whether a predicate holds of discontinuous nodes alone."""
    return statement.predicate == DISCONTINUOUS or (statement.predicate == GAP_DEGREE and statement.numbers[0] > 0)


def holds(view: TreeView, statement: Holds, nodes: Sequence[int]) -> bool:
    """Return whether the predicate of a statement holds for nodes.

    Gaps of only punctuation count with ``all_gaps``. ``within`` means that a word of one node and a word of the other
    are at most this far apart: 1 for neighbours, 0 for a shared word. The order of the two does not matter.
    """
    predicate, _, numbers, comparison, all_gaps = statement
    node = nodes[0]
    if predicate == "confidence":
        confidence = view.confidence(node)
        return confidence is not None and COMPARISONS[comparison](confidence, numbers[0])
    if predicate == "root":
        return view.parents[node] < 0
    if predicate == "within":
        left, right = (view.mask(node) for node in nodes)
        distance = int(min(numbers[0], view.terminals))
        return any(left << k & right or right << k & left for k in range(distance + 1))
    if predicate == "arity":
        value = len(view.below(node))
    elif predicate == "tokenarity":
        value = view.mask(node).bit_count()
    else:
        value = view.gap_degree(node, all_gaps)
    if predicate in (CONTINUOUS, DISCONTINUOUS):
        return (value > 0) == (predicate == DISCONTINUOUS)
    return numbers[0] <= value <= numbers[-1]
