"""What gaps cost: the phrases that heads and labels stand for, and which of them are discontinuous.

Shapes and columns are those of ``decode``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from discotree.encoding.spines import heads_first
from discotree.network.arborescence import Ints
from discotree.network.scores import Bools
from discotree.trees.labels import split_level


@dataclass(frozen=True, eq=False)
class GapPrices:
    """What the gaps of a phrase cost, and what else labels say about phrases; each has an entry per arc label (L,)."""

    levels: list[int]
    chains: list[tuple[str, ...]]  # the phrases that a label stands for, from top to bottom
    by_level: dict[int, Ints]  # the labels of every level
    prices: Sequence[float]

    @classmethod
    def of(cls, labels: Sequence[str], root: str, prices: Mapping[str, float] | None = None) -> "GapPrices":
        """Return the prices of arc labels: for each, the sum of the prices of its phrases."""
        split = [split_level(label, root) for label in labels]
        levels = [level for _, level in split]
        by_level = {level: np.flatnonzero(np.array(levels) == level) for level in sorted(set(levels))}
        return cls(levels, [chain for chain, _ in split], by_level, ()).priced(prices or {})

    def priced(self, prices: Mapping[str, float]) -> "GapPrices":
        """Return the same labels with other prices; a phrase without a price costs nothing."""
        return replace(self, prices=[sum(prices.get(name, 0.0) for name in chain) for chain in self.chains])

    def paid(self, heads: Sequence[int], labels: Sequence[int]) -> float:
        """Return the sum of the prices of all discontinuous phrases of a tree."""
        return sum(self.prices[phrase.label] for phrase in self.phrases(heads, labels)[0] if has_gap(phrase.words))

    def phrases(self, heads: Sequence[int], labels: Sequence[int]) -> tuple[list["Phrase"], list[int]]:
        """Return the phrases of a tree, lower ones first, and for every word the bits of all words below it.

        Of two labels in one place the one whose phrases are the most frequent wins, then the leftmost dependent's.
        """
        dependents, order = heads_first(heads)
        below = [1 << position for position in range(len(heads))]
        levels, found = self.levels, []
        for head in reversed(order):
            group = dependents[head]
            if not group:
                continue
            words = below[head]
            groups: dict[int, list[int]] = {}
            for dependent in group:
                groups.setdefault(levels[labels[dependent]], []).append(dependent)
            for level in sorted(groups) if len(groups) > 1 else groups:
                members = groups[level]
                for dependent in members:
                    words |= below[dependent]
                found.append(Phrase(head, level, self._winner([labels[k] for k in members]), words, members))
            below[head] = words
        return found, below

    def _winner(self, labels: list[int]) -> int:
        first = labels[0]
        if len(labels) == 1 or all(label == first for label in labels):
            return first
        chains = [self.chains[label] for label in labels]
        return labels[chains.index(Counter(chains).most_common(1)[0][0])]


class Phrase(NamedTuple):
    """A phrase of a tree of dependencies."""

    head: int
    level: int
    label: int
    words: int  # a bit for each
    members: list[int]  # the dependents that join the head at this level

    @property
    def gaps(self) -> int:
        """The words between the first and the last one that are not in the phrase: a bit for each."""
        return ((1 << self.words.bit_length()) - (self.words & -self.words)) & ~self.words


def has_gap(words: int) -> bool:
    """Return whether bits that are not set lie between those that are."""
    return bool(words + (words & -words) & words)


def discontinuous(heads: Ints, levels: Ints, inside: Bools) -> Bools:
    """Return (B,): whether trees with these heads (B, N) and levels of arcs (B, N) have a discontinuous phrase."""
    b, n = heads.shape
    size = n + 1
    position = np.tile(np.arange(-1, n), b)  # each sentence has its dummy root, then its words
    up = (np.arange(0, b * size, size)[:, None] + np.pad(np.where(inside, heads + 1, 0), ((0, 0), (1, 0)))).ravel()
    depth, ancestor = np.pad(inside, ((0, 0), (1, 0))).ravel().astype(np.int64), up
    for _ in range(n.bit_length()):  # every step follows twice as many arcs
        depth, ancestor = depth + depth[ancestor], ancestor[ancestor]
    first, last, count = position.copy(), position.copy(), np.ones(b * size, np.int64)  # words below each node
    order = np.argsort(-depth, kind="stable")
    order = order[depth[order] > 1]  # neither dummy roots nor the words on them
    for nodes in np.split(order, np.flatnonzero(np.diff(depth[order])) + 1):  # from the deepest to the highest
        np.minimum.at(first, up[nodes], first[nodes])
        np.maximum.at(last, up[nodes], last[nodes])
        np.add.at(count, up[nodes], count[nodes])
    # Dependents by head and level: the words of a phrase are its head's, and those of all dependents up to its level.
    level = np.pad(levels, ((0, 0), (1, 0))).ravel()
    order = order[np.lexsort((level[order], up[order]))]
    head = up[order]
    begins = np.diff(head, prepend=-1) != 0
    group = begins.cumsum()
    first = np.minimum(np.minimum.accumulate(first[order] - group * size) + group * size, position[head])
    last = np.maximum(np.maximum.accumulate(last[order] + group * size) - group * size, position[head])
    total = count[order].cumsum()
    words = 1 + total - (total - count[order])[begins][group - 1]
    ends = (np.diff(head, append=-1) != 0) | (np.diff(level[order], append=-1) != 0)
    found = np.zeros(b, bool)
    found[head[ends & (last - first + 1 != words)] // size] = True
    return found
