"""The k best labelled trees of a sentence. Shapes and columns are those of ``decode``."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

import numpy as np

from discotree.decoding.decode import Decoded, arborescence
from discotree.decoding.gap_penalty import GapPenalties
from discotree.network.arrays import F64, I64
from discotree.network.scores import IMPOSSIBLE, ArcWeights, Scores, finite, legal_arcs, log_of

ROUNDING = 1e-6  # more than the rounding error of a sum of scores


def k_best(scores: Scores, k: int) -> list[Decoded]:
    """Return the k most probable labelled trees of one sentence, best first, with one word on the dummy root.

    ``scores`` are those of this sentence alone. There are fewer trees if fewer are possible, but always at least one.
    """
    best, names = scores.top_labels(k)  # (1, n, n+1, K): no arc needs a label that k others beat
    choices = possible_sum(legal_arcs(scores)[0, :, :, None], finite(best[0]))  # (n, n+1, K)
    trees = _k_best(choices, names[0], k)
    weights, word = ArcWeights(scores), np.arange(scores.lengths[0])
    wanted = np.zeros(scores.arcs.shape, bool)
    for columns, _, _ in trees:
        wanted[0, word, columns] = True
    weights.rows(*np.nonzero(wanted))  # all at once
    decoded = []
    for columns, labels, log_probability in trees:
        label = weights.rows(np.zeros_like(word), word, columns)[word, labels]
        arc = np.exp(log_of(weights.arcs[0, word, columns]))
        total = np.array([log_probability])
        decoded.append(Decoded(columns[None] - 1, labels[None], arc[None], np.exp(log_of(label))[None], total))
    return decoded


@dataclass(frozen=True, eq=False)
class _Space:
    """A subset of all trees and its best tree: the first words are fixed to their arcs, some arcs are ruled out.

    An arc loses its labels in order, the best one first, so a rank says which are left.
    """

    weights: F64  # (n, n+1) every arc with the best label that is left
    ranks: I64  # (n, n+1) the rank of that label, 0 is the best of all
    fixed: int  # number of words that are fixed, from the left
    heads: I64  # (n,) the best tree, as columns
    chosen: F64  # (n,) the weights of its arcs


def _k_best(choices: F64, names: I64, k: int) -> list[tuple[I64, I64, float]]:
    """Find the heads (n,), as columns, labels (n,) and log-probabilities of the k best trees by Lawler's scheme.

    ``choices`` (n, n+1, K) are the weights of all arcs with their K best labels, ``names`` (n, n+1, K) these labels.

    Without its best tree, a space splits into one smaller space for every word i that is not fixed: the words before
    i are fixed to the tree's arcs, and the arc of i is ruled out. A smaller space waits with a bound, and its best tree
    is searched only when no other bound is higher.
    """
    n = len(choices)
    words, number = np.arange(n), count()
    choices = np.concatenate([choices, np.full((n, n + 1, 1), IMPOSSIBLE)], 2)  # an arc that runs out of labels

    def best_of(weights: F64, ranks: I64, fixed: int) -> _Space:
        heads = arborescence(weights)
        return _Space(weights, ranks, fixed, heads, weights[words, heads])

    start = best_of(choices[:, :, 0], np.zeros((n, n + 1), np.int64), 0)
    waiting: list[tuple[float, int, _Space, int | None]] = [(0.0, next(number), start, None)]
    candidates: list[tuple[I64, I64, float]] = []
    while waiting and len(candidates) < k:
        _, _, space, word = heappop(waiting)
        heads, ranks, chosen = space.heads, space.ranks, space.chosen
        if word is not None:
            weights, ranks = space.weights.copy(), ranks.copy()
            weights[:word] = IMPOSSIBLE
            weights[words[:word], heads[:word]] = chosen[:word]
            ranks[word, heads[word]] += 1
            weights[word, heads[word]] = choices[word, heads[word], ranks[word, heads[word]]]
            smaller = best_of(weights, ranks, word)
            if smaller.chosen.min() > IMPOSSIBLE:
                heappush(waiting, (-smaller.chosen.sum(), next(number), smaller, None))
            continue
        rank = ranks[words, heads]
        candidates.append((heads, names[words, heads, rank], float(log_of(chosen).sum())))
        if chosen.min() <= IMPOSSIBLE:
            break  # all other trees are impossible
        others = space.weights.copy()
        others[words, heads] = choices[words, heads, rank + 1]
        other, free = others.max(1), space.weights.max(1)  # (n,): each word's best other arc, its best arc
        bounds = chosen.cumsum() - chosen + other + free[::-1].cumsum()[::-1] - free
        for word in range(space.fixed, n):
            if other[word] > IMPOSSIBLE:
                bound = min(bounds[word] + ROUNDING, chosen.sum())
                heappush(waiting, (-bound, next(number), space, word))
    return candidates


def possible_sum(arcs: F64, labels: F64) -> F64:
    """Add scores; the sum is impossible if one of them is, even if the other is above 0."""
    total = arcs + labels
    return np.where(np.minimum(arcs, labels) > IMPOSSIBLE, total, np.minimum(total, IMPOSSIBLE))


def rank_with_penalties(decoded: Sequence[Decoded], penalties: GapPenalties) -> list[Decoded]:
    """Sort the trees of one sentence by log-probability minus gap penalties, best first."""

    def cost(tree: Decoded) -> float:
        return penalties.total(tree.heads[0].tolist(), tree.labels[0].tolist()) - float(tree.log_probability[0])

    return sorted(decoded, key=cost)
