"""Inventory: the labels, tags, functions and words of a treebank; and why a query matches nothing in it."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from itertools import islice

from discotree.queries.conditions import exact_values, value_test, value_uses
from discotree.queries.index import Index
from discotree.queries.language import And, Described, Expression, Feature, Holds, Matching, Or, Related, walk
from discotree.queries.match import TreeView
from discotree.queries.query import Query
from discotree.trees.tree import NONE

MAX_TREES = 10_000  # that are read; an index lists its values
MAX_COMPARED = 2000  # frequent values that may be meant by a value that does not occur
MAX_LISTED, MAX_HINTS = 8, 5

# What a feature's values are called, and a sentence about one that does not occur.
NAMES = {
    "cat": ("constituents", "label", "no constituent is called"),
    "pos": ("tags", "tag", "no word has the tag"),
    "edge": ("functions", "function", "no node has the function"),
    "word": ("words", "word", "there is no word"),
    "lemma": ("lemmas", "lemma", "no word has the lemma"),
    "morph": ("morphology", "morphology", "no word has the morphology"),
}


class Inventory:
    """The values of some features with their frequencies, in nodes or, in an index, in trees."""

    def __init__(
        self, features: Collection[str], views: Iterable[TreeView] = (), indexes: Iterable[Index] = ()
    ) -> None:
        self.values: dict[str, Counter[str]] = {feature: Counter() for feature in features}
        views = iter(views)
        for view in islice(views, MAX_TREES):
            for feature, counts in self.values.items():
                for value, nodes in view.values(feature).items():
                    counts[value] += len(nodes)
        self.is_complete = next(views, None) is None
        for index in indexes:
            for feature, counts in self.values.items():
                counts.update(index.counts(feature))
        if "edge" in self.values:
            del self.values["edge"][NONE]

    def frequent(self, feature: str, number: int | None = None) -> list[str]:
        """Return the values of a feature, the most frequent first."""
        return [value for value, _ in self.values[feature].most_common(number)]

    def explain(self, query: Query) -> list[str]:
        """Return the reasons why a query matches nothing: values that do not occur, and gaps that do not count."""
        reasons = dict.fromkeys(filter(None, map(self._missing, _required(query.graph))))
        if not reasons and any(isinstance(part, Holds) and part.about_uncounted_gaps for part in walk(query.graph)):
            return [
                "gaps of punctuation alone do not count; discontinuous(#n, all) and gap-degree(#n, 1, all) count them"
            ]
        return list(reasons)[:MAX_HINTS]

    def _missing(self, required: Feature) -> str:
        """Return a sentence if no value passes a test."""
        name, test = required
        known = self.values[name]
        plural, noun, sentence = NAMES[name]
        passes = value_test(test)
        if any(value_uses(test)) or any(passes(value, {}) for value in known):
            return ""
        where = "here" if self.is_complete else f"in the first {MAX_TREES:,} trees"
        if not known:
            return f"this treebank has no {plural}" if self.is_complete else f"there are no {plural} {where}"
        wanted = exact_values(test)
        if wanted is None:
            pattern = f"matches /{test.pattern}/" if isinstance(test, Matching) else "passes the test"
            text = f"no {noun} {pattern} {where}"
        else:
            text = f"{sentence} {' or '.join(map(repr, wanted))} {where}"
            if similar := self._similar(wanted[0], name):
                return f"{text}; did you mean {similar!r}?"
        listed = self.frequent(name, MAX_LISTED)
        more = ", …" if len(known) > len(listed) else ""
        return f"{text}; the {noun}s are {', '.join(listed)}{more}" if name in ("cat", "pos", "edge") else text

    def _similar(self, value: str, feature: str) -> str | None:
        folded = [known for known in self.values[feature] if known.casefold() == value.casefold()]
        return next(iter(folded or get_close_matches(value, self.frequent(feature, MAX_COMPARED), 1)), None)


def required_features(query: Query) -> set[str]:
    """Return the features that a query asks for."""
    return {feature.name for feature in _required(query.graph)}


def _required(expression: Expression) -> Iterator[Feature]:
    """Yield the tests of features that nodes have to pass; one of several if they are alternatives."""
    if isinstance(expression, And | Or):
        for part in expression.parts:
            yield from _required(part)
    elif isinstance(expression, Described):
        yield from _required(expression.features)
    elif isinstance(expression, Feature):
        yield expression
    elif isinstance(expression, Related) and expression.relation.name == ">" and expression.relation.label is not None:
        yield Feature("edge", expression.relation.label)
