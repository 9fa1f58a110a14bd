"""Decoding: Scores → heads and labels. Pure functions; the other sentences of a batch make no difference.

The probability of a labelled tree is the product of p(head) · p(label | head) over its words.

greedy   the paper's search: from left to right, every word takes the best head that closes no cycle
beam     the same with several hypotheses, as in the paper's code: see ``beam_search``
exact    the most probable tree among those with exactly one word on the dummy root

The best heads of all words usually form a tree already. The exact search checks this for all sentences at once, and
only the other sentences are searched, one by one. Labels are scored only where they can matter: see ``ArcWeights``.
Infinite scores and NaN count as impossible and are chosen only if nothing else is possible, so there is always a tree.

Shapes: B sentences, N words in the longest of them, n words in one, L labels, M arcs. In here heads are columns 0..N:
column 0 is the dummy root, column j + 1 is the word at position j. Outside they are positions, -1 for the dummy root.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from discotree.decoding.gap_penalty import GapPenalties, rerank_discontinuous
from discotree.errors import ConfigError
from discotree.network.arrays import F64, I64, Bool
from discotree.network.scores import ArcWeights, Scores, log_of

MAX_SEARCHES = 6  # searches of a sentence before the labels of all its arcs are scored
RIVAL = 0.25  # a head this much less probable, in log-probability, may still win because of its label

Array = TypeVar("Array", F64, I64, Bool)


@dataclass(frozen=True, eq=False)
class Decoded:
    """The trees of a batch. Beyond the end of a sentence heads are -1, and everything else is undefined."""

    heads: I64  # (B, N) positions, -1 for the dummy root
    labels: I64  # (B, N)
    arc_probability: F64  # (B, N) p(head) of the chosen heads
    label_probability: F64  # (B, N) p(label | head) of the chosen labels
    log_probability: F64  # (B,) log p(tree)


def decode(
    scores: Scores,
    method: str = "exact",
    beam: int = 10,
    levels: I64 | None = None,
    penalties: GapPenalties | None = None,
) -> Decoded:
    """Find the best trees by one of METHODS.

    Given the ``levels`` of all labels (L,), the dependents that join one phrase agree on its label: see ``agree``.
    Given gap ``penalties``, trees with gaps are reranked after the search: see ``rerank_discontinuous``. Probabilities
    do not include penalties.
    """
    if method not in METHODS:
        raise ConfigError(f"unknown decoding method {method!r}, expected one of {', '.join(METHODS)}")
    if beam < 1:
        raise ConfigError(f"beam: expected at least 1, got {beam}")
    weights = ArcWeights(scores)
    columns = METHODS[method](weights, beam)  # (B, N)
    sentence, word = np.nonzero(weights.inside)
    weights.score(sentence, word, columns[sentence, word])
    labels = _pick(weights.names, columns).astype(np.int64, copy=False)
    if levels is not None:
        labels = agree(weights, columns - 1, labels, levels)
    arc, label = _chosen_scores(weights, columns, labels)
    if penalties is not None:
        heads, other_labels = rerank_discontinuous(weights, columns - 1, labels, arc + label, penalties)
        if not (np.array_equal(heads, columns - 1) and np.array_equal(labels, other_labels)):
            columns, labels = heads + 1, other_labels
            weights.score(sentence, word, columns[sentence, word])
            arc, label = _chosen_scores(weights, columns, labels)
    arc, label = log_of(arc), log_of(label)
    total = np.where(weights.inside, arc + label, 0.0).sum(1)
    return Decoded(columns - 1, labels, np.exp(arc), np.exp(label), total)


def _chosen_scores(weights: ArcWeights, columns: I64, labels: I64) -> tuple[F64, F64]:
    """Return the scores (B, N) of the chosen arcs and of their labels, finite; the arcs must have been scored."""
    arc, label = _pick(weights.arcs, columns), _pick(weights.labels, columns)
    sentence, word = np.nonzero(weights.inside & (labels != _pick(weights.names, columns)))
    if len(word):
        rows = weights.rows(sentence, word, columns[sentence, word])  # (M, L)
        label[sentence, word] = _pick(rows, labels[sentence, word])
    return arc, label


def agree(weights: ArcWeights, heads: I64, labels: I64, levels: I64) -> I64:
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


def exact(weights: ArcWeights, _beam: int) -> I64:
    """Find the trees of the largest weight with one word on the root.

    A search over upper bounds that ends in a tree without any guess has found the best one: every other tree has at
    most the sum of its bounds, which is no larger.
    """
    columns = best_heads(weights)
    searching = np.flatnonzero(~acyclic(columns))
    for search in range(MAX_SEARCHES + 1):
        if not len(searching):
            break
        for b in searching:
            n = weights.lengths[b]
            columns[b, :n] = arborescence(weights.bounds[b, :n, : n + 1])
        guessed = weights.inside[searching] & ~_pick(weights.known[searching], columns[searching])
        row, word = np.nonzero(guessed)
        sentence = searching[row]
        searching = searching[guessed.any(1)]
        if search == MAX_SEARCHES - 1:
            weights.score_all(searching)
        else:  # score more and more of the arcs that may replace a wrong guess
            bounds = weights.bounds[sentence, word]  # (M, N+1)
            least = bounds[np.arange(len(row)), columns[sentence, word]] - RIVAL * 4**search
            guess, column = np.nonzero(bounds >= least[:, None])
            weights.score(sentence[guess], word[guess], column)
    return columns


def best_heads(weights: ArcWeights) -> I64:
    """Return the best heads (B, N) of all words but one of each sentence, the one that gains most from the root.

    If they form a tree, it is the best one: see ``arborescence``.
    """
    arcs, bounds, inside = weights.arcs, weights.bounds, weights.inside
    sentences = np.arange(len(arcs))
    # First score the labels of the arcs that are best without labels. The word on the root needs no other arc.
    columns: I64 = bounds[:, :, 1:].argmax(2) + 1
    on_root = _gains(weights, columns).argmax(1)
    columns[sentences, on_root] = 0
    if weights.scores.best is not None:  # all labels are known
        columns[~inside] = 0
        return columns
    sentence, word = np.nonzero(inside)
    weights.score(sentence, word, columns[sentence, word])
    # Then score those of all arcs that may still be better, or as good.
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


def _gains(weights: ArcWeights, columns: I64) -> F64:
    """Return how much every word gains by hanging on the root rather than on the given heads (B, N): (B, N)."""
    return np.where(weights.inside, weights.bounds[:, :, 0] - _pick(weights.bounds, columns), -np.inf)


def beam(weights: ArcWeights, width: int) -> I64:
    """Find trees by beam search; with a width of 1, labels do not matter."""
    if width > 1:
        weights.score_all(np.arange(len(weights.arcs)))
    columns = np.zeros(weights.inside.shape, np.int64)
    for b, n in enumerate(weights.lengths):
        columns[b, :n] = beam_search(weights.arcs[b, :n, : n + 1], weights.bounds[b, :n, : n + 1], width)
    return columns


METHODS: dict[str, Callable[[ArcWeights, int], I64]] = {
    "greedy": lambda weights, _: beam(weights, 1),
    "beam": beam,
    "exact": exact,
}


def beam_search(arcs: F64, weights: F64, width: int) -> I64:
    """Return the heads (n,) of one sentence, as columns.

    ``arcs`` (n, n+1) are the scores of arcs, ``weights`` (n, n+1) these plus the scores of their best labels.

    As in the paper's code, arcs alone decide which hypotheses survive a step. Labels count only afterwards, so the
    label of the last arc has no influence. Several words may hang on the root. Ties: the better hypothesis, then the
    leftmost head.
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
    best: I64 = heads[0]
    return best


def _leading(values: F64, k: int) -> I64:
    """Return the indices of the k largest values, largest first, ties from left to right; -inf is left out."""
    least = np.partition(values, -k)[-k] if k < len(values) else -np.inf
    candidates = np.flatnonzero((values >= least) & (values > -np.inf))
    leading: I64 = candidates[np.argsort(-values[candidates], kind="stable")[:k]]
    return leading


def acyclic(columns: I64) -> Bool:
    """Return (B,): whether all heads (B, N) of a sentence lead to the root. Every step follows twice as many arcs."""
    b, n = columns.shape
    root = np.arange(0, b * (n + 1), n + 1)[:, None]
    follow = np.concatenate([root, root + columns], 1).ravel()
    for _ in range(n.bit_length()):
        follow = follow[follow]
    arrived: Bool = (follow.reshape(b, n + 1) == root).all(1)
    return arrived


def _pick(values: Array, columns: I64) -> Array:
    """Pick from every row of the values (…, columns) the one in the given column (…)."""
    rows = values.reshape(-1, values.shape[-1])
    return rows[np.arange(len(rows)), columns.ravel()].reshape(columns.shape)


def arborescence(weights: F64) -> I64:
    """Return the heads (n,), columns 0..n, of the best tree with one word on the root: Chu-Liu/Edmonds, no recursion.

    Arcs have finite weights (n, n+1); a word's weight on itself is ignored. Words count from 1 in here, so that the row
    and the column of a word have the same number. Every contraction takes O(n) per node of the cycle: O(n²) in all.

    The usual way to allow only one word on the root, a penalty on the root's arcs, loses precision. Instead, let every
    node take its best arc from another word, and let its *gain* be the difference to hanging on the root. No tree with
    one root child is better than all the best arcs together plus the largest gain, so if these arcs form a tree, it is
    the best one. If not, they form cycles; each is contracted into one node, and the search continues.
    """
    size = len(weights) + 1
    every = np.arange(size)
    table = np.empty((size, size))  # weights of arcs between the remaining nodes, a row per dependent
    table[0] = 0.0  # the root has no head: the row is not used
    table[1:] = weights
    table.ravel()[:: size + 1] = -np.inf
    arcs = np.arange(size * size).reshape(size, size)  # row * size + column of the words' arc behind each weight

    heads = table[:, 1:].argmax(1) + 1  # the best heads other than the root
    best = table[every, heads]
    gain = table[:, 0] - best
    heads[0], gain[0] = 0, -np.inf

    node = list(range(size))  # in each row: a word, or a contracted cycle with a number of its own
    parent = [0] * size  # by node: the node that it was contracted into
    chosen = [0] * size  # by node: the arc between words that it took
    while True:
        pointers: list[int] = heads.tolist()
        pointers[int(gain.argmax())] = 0
        cycles = find_cycles(pointers)
        if not cycles:
            break
        for cycle in cycles:
            for row in cycle:
                chosen[node[row]] = int(arcs[row, pointers[row]])
                parent[node[row]] = len(parent)
            row = cycle[0]  # the contracted cycle takes this row
            node[row] = len(parent)
            parent.append(0)
            chosen.append(0)

            rows = np.array(cycle)
            into = table[rows] - best[rows, None]  # (cycle, size): entering here costs the arc that closed the cycle
            enter = into.argmax(0)
            table[row] = into[enter, every]
            arcs[row] = arcs[rows[enter], every]
            leave = rows[table[:, rows].argmax(1)]
            table[:, row] = table[every, leave]
            arcs[:, row] = arcs[every, leave]

            gone = rows[1:]
            table[row, row] = -np.inf
            table[:, gone] = -np.inf
            stands = every.copy()
            stands[rows] = row
            heads = stands[heads]
            heads[gone], gain[gone] = 0, -np.inf
            heads[row] = head = table[row, 1:].argmax() + 1
            best[row] = table[row, head]
            gain[row] = table[row, 0] - best[row]
    if len(parent) == size:
        return np.array(pointers[1:])
    for row in range(1, size):
        if not parent[node[row]]:
            chosen[node[row]] = int(arcs[row, pointers[row]])
    return expand(size, parent, chosen)


def find_cycles(pointers: list[int]) -> list[list[int]]:
    """Return the cycles of a function over 0..n, where 0 is the end of every path."""
    cycles = []
    seen = [0] * len(pointers)
    seen[0] = -1
    for start in range(1, len(pointers)):
        node = start
        while not seen[node]:
            seen[node] = start
            node = pointers[node]
        if seen[node] == start:
            cycle = [node]
            while pointers[cycle[-1]] != node:
                cycle.append(pointers[cycle[-1]])
            cycles.append(cycle)
    return cycles


def expand(size: int, parent: list[int], chosen: list[int]) -> I64:
    """Return the heads of the words. An arc into a contracted cycle replaces those of the nodes around its word."""
    heads = np.zeros(size, np.int64)
    entered = [False] * len(parent)
    for node in range(len(parent) - 1, 0, -1):  # contracted last, expanded first
        if not entered[node]:
            word, heads[word] = divmod(chosen[node], size)
            while word != node:
                entered[word] = True
                word = parent[word]
    return heads[1:]
