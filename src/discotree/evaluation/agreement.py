"""Agreement between two annotators of the same sentences.

    agreement = Agreement(first, second)
    agreement.score.f1, agreement.score.discontinuous.f1, agreement.tags.kappa

Brackets, tags and functions are compared as in ``parseval``, with the trees of the first annotator as gold trees: F1 is
the same in both directions, as long as both annotators tag the same words as punctuation.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator

from discotree.evaluation.analysis import Analysis
from discotree.evaluation.params import PROPER
from discotree.evaluation.parseval import Bracket, Comparison, evaluate, function_pairs, percent
from discotree.trees.tree import NONE, Node, Tree


class Pairs:
    """The values that two annotators gave to the same items, with their counts."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    @property
    def percentage(self) -> float:
        """Percentage of the items with equal values; nan if one annotator gave no values."""
        if any({NONE}.issuperset(values) for values in zip(*self.counts, strict=True)):
            return math.nan
        return percent(sum(times for (a, b), times in self.counts.items() if a == b), self.counts.total())

    @property
    def kappa(self) -> float:
        """Cohen's kappa: 1 for full agreement, 0 for that expected by chance; nan if there is only one value."""
        first: Counter[str] = Counter()
        second: Counter[str] = Counter()
        for (a, b), times in self.counts.items():
            first[a] += times
            second[b] += times
        chance = percent(sum(first[value] * second[value] for value in first), self.counts.total() ** 2)
        return (self.percentage - chance) / (100 - chance) if chance != 100 else math.nan

    @property
    def disagreements(self) -> Counter[tuple[str, str]]:
        """Pairs of different values; none if one annotator gave no values."""
        if math.isnan(self.percentage):
            return Counter()
        return Counter({pair: times for pair, times in self.counts.items() if pair[0] != pair[1]})


class Agreement:
    """The values and disagreements of two annotators of the same sentences (see ``common_trees``).

    ``labels`` has different labels over the same words, and "–" for a constituent that only the other annotator has.
    ``attachments`` has words (by tag) and constituents that are attached to different constituents: the item, its
    parent in the trees of the first annotator, and that of the second.
    """

    def __init__(self, first: Iterable[Tree], second: Iterable[Tree]) -> None:
        self.tags, self.functions = Pairs(), Pairs()
        self.attachments: Counter[tuple[str, str, str]] = Counter()
        self.analysis = Analysis(PROPER, worst=0)
        self.score = evaluate(first, second, observe=self._observe)
        self.labels = self.analysis.confusions

    def _observe(self, comparison: Comparison) -> None:
        self.analysis(comparison)
        first, second, keep = comparison[:3]
        assert second is not None
        tokens = zip(first.tokens, second.tokens, strict=True)
        self.tags.counts.update((a.tag, b.tag) for k, (a, b) in enumerate(tokens) if keep >> k & 1)
        self.functions.counts.update(function_pairs(comparison))
        self.attachments.update(_attachments(first, second, keep))


def _attachments(first: Tree, second: Tree, keep: int) -> Iterator[tuple[str, str, str]]:
    """Yield the words and shared constituents that are attached to different constituents.

    Constituents over the same words differ in their labels at most. Two constituents with the same label count as the
    same one if they share words besides the attached ones: an NP without its PP is still the NP of its other words.
    """
    others = _parents(second, keep)
    for item, (label, mask) in _parents(first, keep).items():
        other_label, other_mask = others.get(item, (label, mask))
        shared = mask & other_mask & ~item[1]
        if mask != other_mask and not (label == other_label and shared):
            yield item[0] or first.tokens[item[1].bit_length() - 1].tag, label, other_label


def _parents(tree: Tree, keep: int) -> dict[Bracket, Bracket]:
    """Return the lowest constituents above words (without a label) and constituents that have more words than these."""
    parents: dict[Bracket, Bracket] = {}
    stack: list[tuple[Node | int, Bracket]] = [(tree.root, ("", 0))]
    while stack:
        item, parent = stack.pop()
        label, mask = ("", 1 << item & keep) if isinstance(item, int) else (item.label, item.mask & keep)
        if mask and parent[1]:
            parents.setdefault((label, mask), parent)
        if isinstance(item, Node):
            for child in item.children:
                child_mask = (1 << child if isinstance(child, int) else child.mask) & keep
                stack.append((child, parent if child_mask == mask else (label, mask)))
    return parents
