"""Inventory: the labels, tags, functions and words of a treebank; and why a query matches nothing in it."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from itertools import chain, islice
from unicodedata import normalize

from discotree.queries.conditions import exact_values, value_test, value_uses
from discotree.queries.index import Index
from discotree.queries.language import And, Described, Expression, Feature, Holds, Matching, Or, Related
from discotree.queries.match import TreeView
from discotree.queries.query import Query
from discotree.trees.tree import NONE

MAX_TREES = 10_000  # that are read; an index lists its values
MAX_COMPARED = 2000  # frequent values that may be meant by a value that does not occur
MAX_LISTED, MAX_REASONS = 8, 5

NAMES = {  # of a feature and its values, and the beginning of a sentence about a value that does not occur
    "cat": ("label", "constituents", "no constituent is called"),
    "pos": ("tag", "tags", "no word has the tag"),
    "edge": ("function", "functions", "no node has the function"),
    "word": ("word", "words", "there is no word"),
    "lemma": ("lemma", "lemmas", "no word has the lemma"),
    "morph": ("morphology", "morphology", "no word has the morphology"),
}


class Inventory:
    """The values of some features with their frequencies, in nodes or, in an index, in trees."""

    def __init__(self, features: Collection[str], views: Iterable[TreeView], indexes: Iterable[Index]) -> None:
        self.values: dict[str, Counter[str]] = {feature: Counter() for feature in features}
        views, indexes = iter(views), list(indexes)
        self.has_confidences = bool(indexes)  # an index does not list them: perhaps
        for view in islice(views, MAX_TREES):
            self.has_confidences |= bool(view.columns.confidences)
            for feature, counts in self.values.items():
                counts.update({value: len(nodes) for value, nodes in view.values(feature).items()})
        self.is_complete = next(views, None) is None
        for index in indexes:
            for feature, counts in self.values.items():
                counts.update(index.counts(feature))
        self.values.get("edge", Counter()).pop(NONE, None)

    def frequent(self, feature: str, number: int) -> list[str]:
        """Return the most frequent values of a feature."""
        return [value for value, _ in self.values[feature].most_common(number)]

    def missing(self, required: Feature) -> str:
        """Return a sentence if no value passes a test of a feature."""
        name, test = required
        known, passes = self.values[name], value_test(test)
        if any(value_uses(test)) or any(passes(value, {}) for value in known):
            return ""
        noun, plural, sentence = NAMES[name]
        where = "here" if self.is_complete else f"in the first {MAX_TREES:,} trees"
        if not known:
            return f"this treebank has no {plural}" if self.is_complete else f"there are no {plural} {where}"
        wanted = exact_values(test)
        if wanted:
            wanted = tuple(dict.fromkeys(normalize("NFC", value) for value in wanted))
            text = f"{sentence} {' or '.join(map(repr, wanted))} {where}"
            same = [value for value in known if normalize("NFC", value).casefold() == wanted[0].casefold()]
            if similar := same or get_close_matches(wanted[0], self.frequent(name, MAX_COMPARED), 1):
                return f"{text}; did you mean {similar[0]!r}?"
        else:
            text = (
                f"no {noun} {f'matches /{test.pattern}/' if isinstance(test, Matching) else 'passes the test'} {where}"
            )
        if name not in ("cat", "pos", "edge"):
            return text
        more = ", …" if len(known) > MAX_LISTED else ""
        return f"{text}; the {noun}s are {', '.join(self.frequent(name, MAX_LISTED))}{more}"


def explain(query: Query, views: Iterable[TreeView], indexes: Iterable[Index] = ()) -> list[str]:
    """Return the reasons why a query matches nothing in a treebank: labels, words … that do not occur."""
    inventory = Inventory({feature.name for feature in _required(query.graph)}, views, indexes)
    return list(dict.fromkeys(_reasons(query.graph, inventory)))[:MAX_REASONS]


def _reasons(expression: Expression, inventory: Inventory) -> list[str]:
    """Return the reasons why an expression matches nothing; alternatives need one each."""
    if isinstance(expression, Described):
        return _reasons(expression.features, inventory)
    if isinstance(expression, Holds) and expression.predicate == "confidence" and not inventory.has_confidences:
        return ["these trees have no confidences; parsed trees keep theirs in the formats json and parquet"]
    if not isinstance(expression, And | Or):
        return [reason for required in _required(expression) if (reason := inventory.missing(required))]
    parts = [_reasons(part, inventory) for part in expression.parts]
    return list(chain.from_iterable(parts)) if isinstance(expression, And) or all(parts) else []


def _required(expression: Expression) -> Iterator[Feature]:
    """Yield the tests of features in an expression that are not negated."""
    if isinstance(expression, And | Or):
        for part in expression.parts:
            yield from _required(part)
    elif isinstance(expression, Described):
        yield from _required(expression.features)
    elif isinstance(expression, Feature):
        yield expression
    elif isinstance(expression, Related) and expression.relation.name == ">" and expression.relation.label:
        yield Feature("edge", expression.relation.label)
