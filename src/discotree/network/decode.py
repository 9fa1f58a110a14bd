"""Decoding: Scores → heads and labels. Pure functions; the other sentences of a batch make no difference.

The probability of a labelled tree is the product of p(head) · p(label | head) over its words.

greedy   the paper's search: from left to right, every word takes the best head that closes no cycle
beam     the same with several hypotheses, as in the paper's code: see ``beam_search``
exact    the most probable tree among those with exactly one word on the dummy root

Mostly the best heads of all words already form a tree. This is checked for all sentences at once; only the others are
searched, one by one. Labels are scored only where they can matter: see ``ArcWeights``. Scores may be hostile: what is
infinite or not a number counts as impossible, and is chosen only where nothing else is left. So there always is a tree.

Shapes: B sentences, N words in the longest of them, n words in one, L labels, M arcs. In here heads are columns 0..N:
column 0 is the dummy root, column j + 1 is the word at position j. Outside they are positions, -1 for the dummy root.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from discotree.errors import ConfigError
from discotree.network.arborescence import Floats, Ints, arborescence
from discotree.network.arc_weights import ArcWeights, log_of
from discotree.network.gap_prices import GapPrices
from discotree.network.gaps import close_gaps
from discotree.network.scores import Bools, Scores

SEARCHES = 6  # searches of a sentence before the labels of all its arcs are scored
RIVAL = 0.25  # difference between the log-probabilities of heads that a label may well make up for

Array = TypeVar("Array", Floats, Ints, Bools)


@dataclass(frozen=True, eq=False)
class Decoded:
    """The trees of a batch. Beyond the end of a sentence heads are -1, and all else is undefined."""

    heads: Ints  # (B, N) positions, -1 for the dummy root
    labels: Ints  # (B, N)
    arc_probability: Floats  # (B, N) p(head) of the chosen heads
    label_probability: Floats  # (B, N) p(label | head) of the chosen labels
    log_probability: Floats  # (B,) log p(tree)


def decode(
    scores: Scores,
    method: str = "exact",
    beam: int = 10,
    levels: Ints | None = None,
    prices: GapPrices | None = None,
) -> Decoded:
    """Find the best trees by one of METHODS.

    Given the ``levels`` of all labels (L,), the dependents that join one phrase agree on its label: see ``agree``.
    Given ``prices``, trees with gaps get a second look, whatever the method: see ``gaps``. Probabilities do not
    contain prices.
    """
    if method not in METHODS:
        raise ConfigError(f"unknown decoding method {method!r}, expected one of {', '.join(METHODS)}")
    if beam < 1:
        raise ConfigError(f"a beam of {beam} keeps no hypothesis, expected at least 1")
    weights = ArcWeights(scores)
    columns = METHODS[method](weights, beam)  # (B, N)
    sentence, word = np.nonzero(weights.inside)
    weights.score(sentence, word, columns[sentence, word])
    labels = _pick(weights.names, columns)
    if levels is not None:
        labels = agree(weights, columns - 1, labels, levels)
    arc, label = _picked(weights, columns, labels)
    if prices is not None:
        heads, labels = close_gaps(weights, columns - 1, labels, arc + label, prices)
        if not np.array_equal(heads, columns - 1):
            columns = heads + 1
            weights.score(sentence, word, columns[sentence, word])
        arc, label = _picked(weights, columns, labels)
    arc, label = log_of(arc), log_of(label)
    total = np.where(weights.inside, arc + label, 0.0).sum(1)
    return Decoded(columns - 1, labels, np.exp(arc), np.exp(label), total)


def _picked(weights: ArcWeights, columns: Ints, labels: Ints) -> tuple[Floats, Floats]:
    """Return the scores (B, N) of the chosen arcs, and those of their labels, finite; their best labels are known."""
    arc, label = _pick(weights.arcs, columns), _pick(weights.labels, columns)
    sentence, word = np.nonzero(weights.inside & (labels != _pick(weights.names, columns)))
    if len(word):
        given = weights.rows(sentence, word, columns[sentence, word])  # (M, L)
        label[sentence, word] = _pick(given, labels[sentence, word])
    return arc, label


def agree(weights: ArcWeights, heads: Ints, labels: Ints, levels: Ints) -> Ints:
    """Return the labels (B, N) after all dependents that join the same phrase have agreed on one.

    A phrase is a head (B, N) together with the level that a dependent's own label has. Where its dependents
    differ, it gets the label of that level with the largest sum of log-probabilities over all of them.
    """
    sentence, word = np.nonzero(weights.inside & (heads >= 0))  # the root's labels name no phrase
    head, label = heads[sentence, word], labels[sentence, word]
    phrase = (sentence * heads.shape[1] + head) * (levels.max() + 1) + levels[label]
    order = np.lexsort((label, phrase))
    follows = phrase[order[1:]] == phrase[order[:-1]]
    differ = np.isin(phrase, phrase[order[1:]][follows & (label[order[1:]] != label[order[:-1]])])
    if not differ.any():
        return labels
    sentence, word, head, label = sentence[differ], word[differ], head[differ], label[differ]
    _, first, phrase = np.unique(phrase[differ], return_index=True, return_inverse=True)
    votes = np.zeros((len(first), len(levels)))  # (phrases, L)
    np.add.at(votes, phrase, weights.rows(sentence, word, head + 1))
    votes[levels != levels[label[first], None]] = -np.inf
    agreed = labels.copy()
    agreed[sentence, word] = votes.argmax(1)[phrase]
    return agreed


def exact(weights: ArcWeights, _beam: int) -> Ints:
    """Find the trees of the largest weight with one word on the root.

    A search over upper bounds that ends in a tree without any guess has found the best one: every other tree has at
    most the sum of its bounds, which is no larger.
    """
    columns = best_heads(weights)
    searching = np.flatnonzero(~acyclic(columns))
    for search in range(SEARCHES + 1):
        if not len(searching):
            break
        for b in searching:
            n = weights.lengths[b]
            columns[b, :n] = arborescence(weights.bounds[b, :n, : n + 1])
        guessed = weights.inside[searching] & ~_pick(weights.known[searching], columns[searching])
        row, word = np.nonzero(guessed)
        sentence = searching[row]
        searching = searching[guessed.any(1)]
        if search == SEARCHES - 1:
            weights.score_all(searching)
        else:  # the arcs that may take the place of a wrong guess, more and more of them
            bounds = weights.bounds[sentence, word]  # (M, N+1)
            least = bounds[np.arange(len(row)), columns[sentence, word]] - RIVAL * 4**search
            guess, column = np.nonzero(bounds >= least[:, None])
            weights.score(sentence[guess], word[guess], column)
    return columns


def best_heads(weights: ArcWeights) -> Ints:
    """Return the best heads (B, N) of all words but one of each sentence, the one that gains most from the root.

    If they form a tree, it is the best one: see ``arborescence``.
    """
    arcs, bounds, inside = weights.arcs, weights.bounds, weights.inside
    sentences = np.arange(len(arcs))
    # First the labels of the arcs that are the best without labels. The word on the root needs no other arc.
    columns: Ints = bounds[:, :, 1:].argmax(2) + 1
    on_root = _gains(weights, columns).argmax(1)
    columns[sentences, on_root] = 0
    sentence, word = np.nonzero(inside)
    weights.score(sentence, word, columns[sentence, word])
    # Then those of all arcs that may still be better, or as good.
    least = _pick(bounds, columns)  # (B, N): a word's best head weighs at least this
    least_gain = least[sentences, on_root] - bounds[sentences, on_root, 1:].max(1)
    wanted = bounds >= least[:, :, None]
    wanted[:, :, 0] = bounds[:, :, 0] - least >= least_gain[:, None]
    wanted[sentences, on_root] = False
    wanted &= inside[:, :, None]
    disputed = wanted[:, :, 0].any(1)
    wanted[sentences[disputed], on_root[disputed]] = True
    weights.score(*np.nonzero(wanted & (arcs > -np.inf)))
    columns = bounds[:, :, 1:].argmax(2) + 1
    columns[sentences, _gains(weights, columns).argmax(1)] = 0
    columns[~inside] = 0
    return columns


def _gains(weights: ArcWeights, columns: Ints) -> Floats:
    """Return what every word gains by hanging on the root (B, N), rather than on the given heads (B, N)."""
    return np.where(weights.inside, weights.bounds[:, :, 0] - _pick(weights.bounds, columns), -np.inf)


def beam(weights: ArcWeights, width: int) -> Ints:
    """Find trees by beam search.

    If the best arcs stay the best when labels count, and form a tree, then their hypothesis leads at every step, and
    there is no need to search; with a width of 1, labels do not matter. (This holds to the last bit: adding the same
    number to both keeps two numbers in order.)
    """
    arcs, inside = weights.arcs, weights.inside
    columns: Ints = arcs.argmax(2)
    columns[~inside] = 0
    leads = acyclic(columns)
    if width > 1:
        weights.score_all(np.arange(len(arcs)))
        leads &= (~inside | (_pick(weights.bounds, columns) >= weights.bounds.max(2))).all(1)
    for b in np.flatnonzero(~leads):
        n = weights.lengths[b]
        columns[b, :n] = beam_search(arcs[b, :n, : n + 1], weights.bounds[b, :n, : n + 1], width)
    return columns


METHODS: dict[str, Callable[[ArcWeights, int], Ints]] = {
    "greedy": lambda weights, _: beam(weights, 1),
    "beam": beam,
    "exact": exact,
}


def beam_search(arcs: Floats, weights: Floats, width: int) -> Ints:
    """Return the heads (n,) of one sentence, as columns.

    ``arcs`` (n, n+1) are the scores of arcs, ``weights`` (n, n+1) these plus the scores of their best labels.

    As in the paper's code, arcs alone decide which hypotheses survive a step. Labels count only afterwards, so the
    last one has no say. Several words may hang on the root. Ties: the better hypothesis, then the leftmost head.
    """
    n = len(arcs)
    heads = np.zeros((1, n), np.int64)  # (hypotheses, n)
    ends = np.arange(n + 1)[None]  # (hypotheses, n+1): the topmost ancestor of each column, so far
    total = np.zeros(1)  # (hypotheses,) score behind the best one: keeps all digits for the differences
    for word in range(n):
        scores = total[:, None] + arcs[word]  # (hypotheses, n+1)
        scores[ends == word + 1] = -np.inf  # such a head would close a cycle
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
    """Return the indices of the k largest values, largest first, ties from left to right; -inf does not count."""
    least = np.partition(values, -k)[-k] if k < len(values) else -np.inf
    found = np.flatnonzero((values >= least) & (values > -np.inf))
    leading: Ints = found[np.argsort(-values[found], kind="stable")[:k]]
    return leading


def acyclic(columns: Ints) -> Bools:
    """Return (B,): whether all heads (B, N) of a sentence lead to the root. Every step follows twice as many arcs."""
    b, n = columns.shape
    root = np.arange(0, b * (n + 1), n + 1)[:, None]
    follow = np.hstack([root, root + columns]).ravel()
    for _ in range(n.bit_length()):
        follow = follow[follow]
    arrived: Bools = (follow.reshape(b, n + 1) == root).all(1)
    return arrived


def _pick(values: Array, columns: Ints) -> Array:
    """Pick from every row of the values (…, columns) the one in the given column (…)."""
    rows = values.reshape(-1, values.shape[-1])
    return rows[np.arange(len(rows)), columns.ravel()].reshape(columns.shape)
