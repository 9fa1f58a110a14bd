"""The k best labelled trees of a sentence. Shapes and columns are those of ``decode``."""

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np

from discotree.network.arborescence import IMPOSSIBLE, Floats, Ints, arborescence
from discotree.network.arc_weights import finite, legal_arcs, log_of
from discotree.network.scores import Scores

ROUNDING = 1e-6  # more than what adding up a sentence's scores in another order may change


class Candidate(NamedTuple):
    """One of the best trees of a sentence."""

    heads: Ints  # (n,) positions, -1 for the dummy root
    labels: Ints  # (n,)
    log_probability: float


def k_best(scores: Scores, k: int) -> list[list[Candidate]]:
    """Return the k most probable labelled trees of every sentence, best first, with one word on the dummy root.

    There are fewer where fewer are possible, but always one.
    """
    best, names = scores.top_labels(k)  # (B, N, N+1, K): no arc needs a label that k others beat
    arcs, labels = legal_arcs(scores), finite(best)
    found = []
    for b, n in enumerate(scores.lengths.tolist()):
        choices = possible_sum(arcs[b, :n, : n + 1, None], labels[b, :n, : n + 1])  # (n, n+1, K)
        found.append(_k_best(choices, names[b, :n, : n + 1], k))
    return found


@dataclass(frozen=True, eq=False)
class _Space:
    """A subset of all trees and its best tree: the first words are fixed to their arcs, some arcs are ruled out.

    An arc loses its labels from the best one on, so a rank says which are left.
    """

    weights: Floats  # (n, n+1) every arc with the best label that is left
    ranks: Ints  # (n, n+1) the rank of that label, 0 is the best of all
    fixed: int  # number of words that are fixed, from the left
    heads: Ints  # (n,) the best tree, as columns
    chosen: Floats  # (n,) the weights of its arcs


def _k_best(choices: Floats, names: Ints, k: int) -> list[Candidate]:
    """Find the k best trees of a sentence by Lawler's scheme.

    ``choices`` (n, n+1, K) are the weights of all arcs with their K best labels, ``names`` (n, n+1, K) these labels.

    Without its best tree, a space splits into one smaller space for every word i that is not fixed: the words before
    i are fixed to the tree's arcs, and the arc of i is ruled out. A smaller space waits with a bound, and its best tree
    is searched only when no other bound is higher.
    """
    n = len(choices)
    words, number = np.arange(n), count()
    choices = np.concatenate([choices, np.full((n, n + 1, 1), IMPOSSIBLE)], 2)  # an arc that runs out of labels

    def best_of(weights: Floats, ranks: Ints, fixed: int) -> _Space:
        heads = arborescence(weights)
        return _Space(weights, ranks, fixed, heads, weights[words, heads])

    start = best_of(choices[:, :, 0], np.zeros((n, n + 1), np.int64), 0)
    waiting: list[tuple[float, int, _Space, int | None]] = [(0.0, next(number), start, None)]
    found: list[Candidate] = []
    while waiting and len(found) < k:
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
        found.append(Candidate(heads - 1, names[words, heads, rank], float(log_of(chosen).sum())))
        if chosen.min() <= IMPOSSIBLE:
            break  # all others are impossible, too
        others = space.weights.copy()
        others[words, heads] = choices[words, heads, rank + 1]
        other, free = others.max(1), space.weights.max(1)  # (n,): each word's best other arc, its best arc
        bounds = chosen.cumsum() - chosen + other + free[::-1].cumsum()[::-1] - free
        for word in range(space.fixed, n):
            if other[word] > IMPOSSIBLE:
                bound = min(bounds[word] + ROUNDING, chosen.sum())
                heappush(waiting, (-bound, next(number), space, word))
    return found


def possible_sum(arcs: Floats, labels: Floats) -> Floats:
    """Add scores so that an impossible one stays impossible, also where the other is above 0."""
    total = arcs + labels
    return np.where(np.minimum(arcs, labels) > IMPOSSIBLE, total, np.minimum(total, IMPOSSIBLE))
