"""Decoding: Scores → heads and labels. Pure functions; a sentence's company in its batch makes no difference.

The probability of a labelled tree is the product of p(head) · p(label | head) over its words.

greedy   the paper's search: from left to right every word takes the best head that closes no cycle
beam     the same with several hypotheses, just as the paper's code has it: see ``beam_search``
exact    the most probable tree among those with exactly one word on the dummy root

Most often every word's best head makes a tree already. That is checked for all sentences at once; only the
others are searched, one by one. Scores may be hostile: what is infinite or not a number counts as impossible, and
is taken where nothing else is left. So there always is a tree.

Shapes: B sentences, N words in the longest of them, n words in one, L labels, K labels to choose from. In here
heads are columns 0..N: column 0 is the dummy root, column j + 1 is the word at position j. Outside they are
positions, -1 for the dummy root.
"""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from discotree.errors import DiscotreeError
from discotree.network.arborescence import IMPOSSIBLE, Floats, Ints, arborescence
from discotree.network.scores import Scores, label_scores

Array = TypeVar("Array", Floats, Ints)

ROUNDING = 1e-6  # more than what adding up a sentence's scores in another order may change


@dataclass(frozen=True, eq=False)
class Decoded:
    """The trees of a batch. Beyond a sentence's length heads are -1 and the rest means nothing."""

    heads: Ints  # (B, N) positions, -1 for the dummy root
    labels: Ints  # (B, N)
    arc_probability: Floats  # (B, N) p(head) of the chosen heads
    label_probability: Floats  # (B, N) p(label | head) of the chosen labels
    log_probability: Floats  # (B,) of the tree


class Candidate(NamedTuple):
    """One of the best trees of a sentence."""

    heads: Ints  # (n,) positions, -1 for the dummy root
    labels: Ints  # (n,)
    log_probability: float


def decode(scores: Scores, method: str = "exact", beam: int = 10, levels: Tensor | None = None) -> Decoded:
    """The best trees, found by one of METHODS.

    Given the level of every label (L,), the dependents that join one phrase agree on its label: see ``agree``.
    """
    if method not in METHODS:
        raise DiscotreeError(f"no decoding method {method!r}, only {', '.join(METHODS)}")
    if beam < 1:
        raise DiscotreeError(f"a beam of {beam} keeps no hypothesis")
    with torch.no_grad():
        best, which = scores.best_labels()  # (B, N, N+1)
    arcs, best_labels = _legal(scores), _finite(best)
    names: Ints = which.cpu().numpy()
    columns = METHODS[method](arcs, arcs + best_labels, scores.lengths.numpy(), beam)  # (B, N)
    arc, label, labels = _pick(arcs, columns), _pick(best_labels, columns), _pick(names, columns)
    if levels is not None:
        before, labels = labels, agree(scores, columns - 1, labels, levels)
        sentence, word = np.nonzero(labels != before)
        given = _label_rows(scores, sentence, word, columns[sentence, word])  # (changed, L)
        label[sentence, word] = _pick(given, labels[sentence, word])
    arc, label = _log(arc), _log(label)
    total = np.where(scores.mask.cpu().numpy(), arc + label, 0.0).sum(1)
    return Decoded(columns - 1, labels, np.exp(arc), np.exp(label), total)


def agree(scores: Scores, heads: Ints, labels: Ints, levels: Tensor) -> Ints:
    """(B, N): the labels after all dependents that join the same phrase have agreed on one.

    A phrase is a head (B, N) together with the level that a dependent's own label has. Where its dependents
    differ, it gets the label of that level with the largest sum of log-probabilities over all of them.
    """
    level = levels.cpu().numpy()  # (L,)
    sentence, word = np.nonzero(scores.mask.cpu().numpy() & (heads >= 0))  # labels on the dummy root name no phrase
    head, label = heads[sentence, word], labels[sentence, word]
    _, rank = np.unique(level, return_inverse=True)
    _, phrase = np.unique((sentence * heads.shape[1] + head) * len(level) + rank[label], return_inverse=True)
    names = np.bincount(np.unique(phrase * len(level) + label) // len(level))  # how many labels a phrase has
    differ = names[phrase] > 1
    sentence, word, head, label = sentence[differ], word[differ], head[differ], label[differ]
    first, phrase = np.unique(phrase[differ], return_index=True, return_inverse=True)[1:]
    votes = np.zeros((len(first), len(level)))  # (phrases, L)
    np.add.at(votes, phrase, _label_rows(scores, sentence, word, head + 1))
    votes[level != level[label[first], None]] = -np.inf
    agreed = labels.copy()
    agreed[sentence, word] = votes.argmax(1)[phrase]
    return agreed


def exact(arcs: Floats, weights: Floats, lengths: Ints, _beam: int) -> Ints:
    """The trees of the largest weight with one word on the root. The first step of ``arborescence``, for all."""
    beyond = np.arange(arcs.shape[1]) >= lengths[:, None]  # (B, N)
    columns: Ints = weights[:, :, 1:].argmax(2) + 1
    gain = weights[:, :, 0] - _pick(weights, columns)
    gain[beyond] = -np.inf
    columns[np.arange(len(columns)), gain.argmax(1)] = 0
    columns[beyond] = 0
    for b in np.flatnonzero(~acyclic(columns)):
        n = lengths[b]
        columns[b, :n] = arborescence(weights[b, :n, : n + 1])
    return columns


def beam(arcs: Floats, weights: Floats, lengths: Ints, width: int) -> Ints:
    """The trees that beam search finds.

    If all the best arcs stay the best when labels count, and form a tree, then at every step their hypothesis is
    not behind any other and none can overtake it; without rivals, labels do not matter. So there is no need to
    search. (This holds to the last bit because additions keep the order of what is added to the same number.)
    """
    beyond = np.arange(arcs.shape[1]) >= lengths[:, None]  # (B, N)
    columns: Ints = arcs.argmax(2)
    columns[beyond] = 0
    undisputed = beyond | (_pick(weights, columns) >= weights.max(2)) | (width == 1)
    for b in np.flatnonzero(~(acyclic(columns) & undisputed.all(1))):
        n = lengths[b]
        columns[b, :n] = beam_search(arcs[b, :n, : n + 1], weights[b, :n, : n + 1], width)
    return columns


METHODS: dict[str, Callable[[Floats, Floats, Ints, int], Ints]] = {
    "greedy": lambda arcs, weights, lengths, _: beam(arcs, weights, lengths, 1),
    "beam": beam,
    "exact": exact,
}


def beam_search(arcs: Floats, weights: Floats, width: int) -> Ints:
    """(n,) heads of one sentence, given the arcs' scores (n, n+1) and these plus their best labels' (n, n+1).

    As in the paper's code, arcs alone decide which hypotheses survive a step. Only then the labels count, too,
    so the last one has no say. Several words may hang on the root. Ties: the better hypothesis, then the
    leftmost head.
    """
    n = len(arcs)
    heads = np.zeros((1, n), np.int64)  # (hypotheses, n)
    ends = np.arange(n + 1)[None]  # (hypotheses, n+1): where the way up from each column ends, so far
    total = np.zeros(1)  # (hypotheses,) what each is behind the best one, which keeps all digits for what differs
    for word in range(n):
        scores = total[:, None] + arcs[word]  # (hypotheses, n+1)
        scores[ends == word + 1] = -np.inf  # there the way up leads to the word itself
        hypothesis, head = np.divmod(_leading(scores.ravel(), width), n + 1)
        ends = ends[hypothesis]
        ends = np.where(ends == word + 1, np.take_along_axis(ends, head[:, None], 1), ends)
        heads = heads[hypothesis]
        heads[:, word] = head
        total = total[hypothesis] + weights[word, head]
        total -= total.max()
    best: Ints = heads[0]
    return best


def _leading(values: Floats, k: int) -> Ints:
    """Where the k largest values are, largest first, ties from left to right; -inf does not count."""
    least = np.partition(values, -k)[-k] if k < len(values) else -np.inf
    found = np.flatnonzero((values >= least) & (values > -np.inf))
    leading: Ints = found[np.argsort(-values[found], kind="stable")[:k]]
    return leading


def acyclic(columns: Ints) -> npt.NDArray[np.bool_]:
    """(B,): in which sentences all heads (B, N) lead to the root, by following twice as many with every step."""
    b, n = columns.shape
    root = np.arange(0, b * (n + 1), n + 1)[:, None]
    follow = np.hstack([root, root + columns]).ravel()
    for _ in range(n.bit_length()):
        follow = follow[follow]
    arrived: npt.NDArray[np.bool_] = (follow.reshape(b, n + 1) == root).all(1)
    return arrived


def k_best(scores: Scores, k: int) -> list[list[Candidate]]:
    """The k most probable labelled trees of every sentence, best first, with one word on the dummy root.

    There are fewer where fewer are possible, but always one.
    """
    with torch.no_grad():
        best, which = scores.top_labels(k)  # (B, N, N+1, K): no arc needs a label that k others beat
    arcs, labels, names = _legal(scores), _finite(best), which.cpu().numpy()
    found = []
    for b, n in enumerate(scores.lengths.tolist()):
        choices = _sum(arcs[b, :n, : n + 1, None], labels[b, :n, : n + 1])  # (n, n+1, K)
        found.append(_k_best(choices, names[b, :n, : n + 1], k))
    return found


@dataclass(frozen=True, eq=False)
class _Space:
    """Some of all trees, and the best one of them: some words are fixed to their arcs, some arcs are ruled out.

    When an arc with its label is ruled out, it has the best label left. So a rank says which ones are.
    """

    weights: Floats  # (n, n+1) of each arc with the best label left
    ranks: Ints  # (n, n+1) of that label, 0 is the best of all
    fixed: int  # how many words are fixed, from the left
    heads: Ints  # (n,) of the best tree
    chosen: Floats  # (n,) the weights of its arcs


def _k_best(choices: Floats, names: Ints, k: int) -> list[Candidate]:
    """The k best trees by Lawler's scheme, given weights (n, n+1, K) of arcs with their K best labels, and these.

    A space without its best tree falls into one smaller space for every word i that is not fixed: the words
    before i are fixed to the tree's arcs and that of i is ruled out. A smaller space waits with a bound, and its
    best tree is searched only when no other promises more.
    """
    n = len(choices)
    words, number = np.arange(n), count()
    choices = np.concatenate([choices, np.full((n, n + 1, 1), IMPOSSIBLE)], 2)  # for an arc that runs out of labels

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
        found.append(Candidate(heads - 1, names[words, heads, rank], float(_log(chosen).sum())))
        if chosen.min() <= IMPOSSIBLE:
            break  # if the best tree is impossible, all are
        others = space.weights.copy()
        others[words, heads] = choices[words, heads, rank + 1]
        other, free = others.max(1), space.weights.max(1)  # (n,): of the word's other arcs, of all its arcs
        bounds = chosen.cumsum() - chosen + other + free[::-1].cumsum()[::-1] - free
        for word in range(space.fixed, n):
            if other[word] > IMPOSSIBLE:
                bound = min(bounds[word] + ROUNDING, chosen.sum())
                heappush(waiting, (-bound, next(number), space, word))
    return found


def _legal(scores: Scores) -> Floats:
    """(B, N, N+1): the arcs' scores, finite, but -inf for what is no arc: a word's own column and those beyond."""
    columns = torch.arange(scores.arcs.shape[2])
    beyond = columns > scores.lengths[:, None]  # (B, N+1)
    never = (beyond[:, None] | (columns == columns[1:, None])).to(scores.arcs.device)  # (B, N, N+1)
    legal: Floats = _sensible(scores.arcs).masked_fill(never, -torch.inf).cpu().numpy()
    return legal


def _finite(scores: Tensor) -> Floats:
    finite: Floats = _sensible(scores).cpu().numpy()
    return finite


def _sensible(scores: Tensor) -> Tensor:
    """Log-probabilities for which adding, subtracting and comparing make sense, whatever they were."""
    scores = scores.detach().double()
    return scores.masked_fill(~(scores.abs() < -IMPOSSIBLE), IMPOSSIBLE)


def _sum(arcs: Floats, labels: Floats) -> Floats:
    """Add scores so that an impossible one stays impossible, also where the other is above 0."""
    total = arcs + labels
    return np.where(np.minimum(arcs, labels) > IMPOSSIBLE, total, np.minimum(total, IMPOSSIBLE))


def _log(finite: Floats) -> Floats:
    """Log-probabilities again: what is impossible is -inf."""
    return np.where(finite > IMPOSSIBLE, finite, -np.inf)


def _label_rows(scores: Scores, sentence: Ints, word: Ints, column: Ints) -> Floats:
    """(M, L): the labels' scores for M words, wherever they are, and their heads."""
    with torch.no_grad():
        given = label_scores(scores.bilinear, scores.dependents[sentence, word], scores.heads[sentence, column])
    return _finite(given.float().log_softmax(-1))


def _pick(values: Array, columns: Ints) -> Array:
    """(…): of every row of the values (…, columns) the one in the given column (…)."""
    return np.take_along_axis(values, columns[..., None], -1)[..., 0]
