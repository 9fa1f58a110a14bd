"""Tests of values and features, made ready to be called."""

import re
from collections.abc import Callable, Iterator, Mapping

from discotree.queries.language import And, Exactly, Expression, Feature, Kind, Matching, Not, Or, SameAs
from discotree.queries.tree_view import TreeView

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
        name, test = features.name, value_test(features.test)
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
    """Yield what has to hold all together, with nested ``And`` taken apart."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, And):
            waiting += reversed(part.parts)
        else:
            yield part


def same_as(expression: Expression) -> Iterator[SameAs]:
    """Yield all uses of value variables."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, SameAs):
            yield part
        elif isinstance(part, And | Or):
            waiting += reversed(part.parts)
        elif isinstance(part, Not):
            waiting.append(part.part)
        elif isinstance(part, Feature):
            waiting.append(part.test)


def alternatives(features: Expression) -> tuple[str, tuple[str, ...]] | None:
    """Return a feature and the values of which it must have one, if the expression is of that form."""
    if not isinstance(features, Feature):
        return None
    texts = exact_values(features.test)
    return None if texts is None else (features.name, texts)


def exact_values(test: Expression) -> tuple[str, ...] | None:
    """Return the only values that pass a test, if it names them."""
    choices = test.parts if isinstance(test, Or) else (test,)
    texts = tuple(choice.text for choice in choices if isinstance(choice, Exactly))
    return texts if len(texts) == len(choices) else None
