"""Decoding: Scores → heads and labels. Pure functions; the other sentences of a batch make no difference.

The probability of a labelled tree is the product of p(head) · p(label | head) over its words.

greedy   the paper's search: from left to right, every word takes the best head that closes no cycle
beam     the same with several hypotheses, as in the paper's code: see ``beam_search``
exact    the most probable tree among those with exactly one word on the dummy root

Mostly the best heads of all words already form a tree. This is checked for all sentences at once; only the others are
searched, one by one. Scores may be hostile: what is infinite or not a number counts as impossible, and is chosen only
where nothing else is left. So there always is a tree.

Shapes: B sentences, N words in the longest of them, n words in one, L labels, K labels to choose from. In here
heads are columns 0..N: column 0 is the dummy root, column j + 1 is the word at position j. Outside they are
positions, -1 for the dummy root.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from discotree.errors import ConfigError
from discotree.network.arborescence import IMPOSSIBLE, Floats, Ints, arborescence
from discotree.network.scores import Scores, label_scores

Array = TypeVar("Array", Floats, Ints)


@dataclass(frozen=True, eq=False)
class Decoded:
    """The trees of a batch. Beyond the end of a sentence heads are -1, and all else is undefined."""

    heads: Ints  # (B, N) positions, -1 for the dummy root
    labels: Ints  # (B, N)
    arc_probability: Floats  # (B, N) p(head) of the chosen heads
    label_probability: Floats  # (B, N) p(label | head) of the chosen labels
    log_probability: Floats  # (B,) log p(tree)


def decode(scores: Scores, method: str = "exact", beam: int = 10, levels: Tensor | None = None) -> Decoded:
    """Find the best trees by one of METHODS.

    Given the ``levels`` of all labels (L,), the dependents that join one phrase agree on its label: see ``agree``.
    """
    if method not in METHODS:
        raise ConfigError(f"unknown decoding method {method!r}, expected one of {', '.join(METHODS)}")
    if beam < 1:
        raise ConfigError(f"a beam of {beam} keeps no hypothesis, expected at least 1")
    with torch.no_grad():
        best, which = scores.best_labels()  # (B, N, N+1)
    arcs, best_labels = legal_arcs(scores), finite(best)
    names: Ints = which.cpu().numpy()
    columns = METHODS[method](arcs, arcs + best_labels, scores.lengths.numpy(), beam)  # (B, N)
    arc, label, labels = _pick(arcs, columns), _pick(best_labels, columns), _pick(names, columns)
    if levels is not None:
        before, labels = labels, agree(scores, columns - 1, labels, levels)
        sentence, word = np.nonzero(labels != before)
        given = _label_rows(scores, sentence, word, columns[sentence, word])  # (changed, L)
        label[sentence, word] = _pick(given, labels[sentence, word])
    arc, label = log_of(arc), log_of(label)
    total = np.where(scores.mask.cpu().numpy(), arc + label, 0.0).sum(1)
    return Decoded(columns - 1, labels, np.exp(arc), np.exp(label), total)


def agree(scores: Scores, heads: Ints, labels: Ints, levels: Tensor) -> Ints:
    """Return the labels (B, N) after all dependents that join the same phrase have agreed on one.

    A phrase is a head (B, N) together with the level that a dependent's own label has. Where its dependents
    differ, it gets the label of that level with the largest sum of log-probabilities over all of them.
    """
    level = levels.cpu().numpy()  # (L,)
    sentence, word = np.nonzero(scores.mask.cpu().numpy() & (heads >= 0))  # the root's labels name no phrase
    head, label = heads[sentence, word], labels[sentence, word]
    _, rank = np.unique(level, return_inverse=True)
    _, phrase = np.unique((sentence * heads.shape[1] + head) * len(level) + rank[label], return_inverse=True)
    names = np.bincount(np.unique(phrase * len(level) + label) // len(level))  # number of labels per phrase
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
    """Find the trees of the largest weight with one word on the root; the first step is that of ``arborescence``."""
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
    """Find trees by beam search.

    If the best arcs stay the best when labels count, and form a tree, then their hypothesis leads at every step, and
    there is no need to search; with a width of 1, labels do not matter. (This holds to the last bit: adding the same
    number to both keeps two numbers in order.)
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


def acyclic(columns: Ints) -> npt.NDArray[np.bool_]:
    """Return (B,): whether all heads (B, N) of a sentence lead to the root. Every step follows twice as many arcs."""
    b, n = columns.shape
    root = np.arange(0, b * (n + 1), n + 1)[:, None]
    follow = np.hstack([root, root + columns]).ravel()
    for _ in range(n.bit_length()):
        follow = follow[follow]
    arrived: npt.NDArray[np.bool_] = (follow.reshape(b, n + 1) == root).all(1)
    return arrived


def legal_arcs(scores: Scores) -> Floats:
    """Return the scores of arcs (B, N, N+1), finite, but -inf where there is no arc: a word on itself, padding."""
    columns = torch.arange(scores.arcs.shape[2])
    beyond = columns > scores.lengths[:, None]  # (B, N+1)
    never = (beyond[:, None] | (columns == columns[1:, None])).to(scores.arcs.device)  # (B, N, N+1)
    legal: Floats = _sensible(scores.arcs).masked_fill(never, -torch.inf).cpu().numpy()
    return legal


def finite(scores: Tensor) -> Floats:
    """Return scores as an array, with IMPOSSIBLE for what is infinite or not a number."""
    array: Floats = _sensible(scores).cpu().numpy()
    return array


def _sensible(scores: Tensor) -> Tensor:
    """Replace what cannot be added and compared, such as NaN, by IMPOSSIBLE."""
    scores = scores.detach().double()
    return scores.masked_fill(~(scores.abs() < -IMPOSSIBLE), IMPOSSIBLE)


def log_of(scores: Floats) -> Floats:
    """Return finite scores as log-probabilities again: what is impossible is -inf."""
    return np.where(scores > IMPOSSIBLE, scores, -np.inf)


def _label_rows(scores: Scores, sentence: Ints, word: Ints, column: Ints) -> Floats:
    """Return the scores (M, L) of all labels for M words of the batch and their heads."""
    with torch.no_grad():
        given = label_scores(scores.bilinear, scores.dependents[sentence, word], scores.heads[sentence, column])
    return finite(given.float().log_softmax(-1))


def _pick(values: Array, columns: Ints) -> Array:
    """Pick from every row of the values (…, columns) the one in the given column (…)."""
    return np.take_along_axis(values, columns[..., None], -1)[..., 0]
