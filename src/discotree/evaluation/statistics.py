"""Statistics of a treebank: sizes, labels, unaries and discontinuity.

A constituent is any phrase except the virtual root. "Without punctuation" means that punctuation is removed first, as
is usual in the literature: a gap that contains only a comma does not count.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from discotree.trees.punctuation import is_punctuation, remove_punctuation
from discotree.trees.tree import NONE, Tree


@dataclass
class Statistics:
    """Counts of a treebank that add up: ``from_trees(a) + from_trees(b)`` equals ``from_trees(a + b)``."""

    trees: int = 0
    tokens: int = 0
    longest: int = 0
    discontinuous: int = 0  # trees
    discontinuous_without_punctuation: int = 0  # trees
    constituents: int = 0
    unary_over_phrase: int = 0
    unary_over_word: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)  # of phrases and words, without "--"
    tags: Counter[str] = field(default_factory=Counter)
    gap_degrees: Counter[int] = field(default_factory=Counter)  # constituents without punctuation
    lengths: Counter[int] = field(default_factory=Counter)  # sentences by number of tokens

    @classmethod
    def from_trees(cls, trees: Iterable[Tree]) -> "Statistics":
        """Count the trees of a treebank."""
        statistics = cls()
        for tree in trees:
            statistics.add(tree)
        return statistics

    def add(self, tree: Tree) -> None:
        self.trees += 1
        self.tokens += len(tree)
        self.longest = max(self.longest, len(tree))
        self.lengths[len(tree)] += 1
        self.tags.update([token.tag for token in tree.tokens])
        self.functions.update([token.function for token in tree.tokens if token.function])
        self.discontinuous += tree.is_discontinuous
        for node in tree.nodes():
            if node is tree.root:
                continue
            self.constituents += 1
            self.labels[node.label] += 1
            if node.function != NONE:
                self.functions[node.function] += 1
            if len(node.children) == 1:
                if isinstance(node.children[0], int):
                    self.unary_over_word += 1
                else:
                    self.unary_over_phrase += 1
        if all(map(is_punctuation, tree.tokens)):
            return
        bare = remove_punctuation(tree)
        self.discontinuous_without_punctuation += bare.is_discontinuous
        self.gap_degrees.update([node.gap_degree for node in bare.nodes() if node is not bare.root])

    def __add__(self, other: "Statistics") -> "Statistics":
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return Statistics(**{**sums, "longest": max(self.longest, other.longest)})

    def summary(self) -> dict[str, Any]:
        """Return the numbers that papers report. Percentages are not rounded; they are None if nothing was counted."""
        bare = sum(self.gap_degrees.values())
        return {
            "trees": self.trees,
            "tokens": self.tokens,
            "mean_length": self.tokens / self.trees if self.trees else None,
            "max_length": self.longest,
            "discontinuous_trees_percent": _percent(self.discontinuous, self.trees),
            "discontinuous_trees_without_punctuation_percent": _percent(
                self.discontinuous_without_punctuation, self.trees
            ),
            "discontinuous_constituents_without_punctuation_percent": _percent(bare - self.gap_degrees[0], bare),
            "constituents": self.constituents,
            "labels": len(self.labels),
            "tags": len(self.tags),
            "unary_over_phrase_percent": _percent(self.unary_over_phrase, self.constituents),
            "unary_over_word_percent": _percent(self.unary_over_word, self.constituents),
            "gap_degrees": {str(degree): self.gap_degrees[degree] for degree in sorted(self.gap_degrees)},
            "lengths": {str(length): self.lengths[length] for length in sorted(self.lengths)},
        }


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None
