"""Scores: all that decoding may look at, as arrays; no network is needed to use them.

Shapes: B sentences, N words in the longest of them, M arcs, L arc labels, K label features. Columns of heads run
over 0..N: column 0 is the dummy root, column j + 1 is the word at position j.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

Labeler = Callable[[Floats32, Floats32], Floats32]
"""Features of dependents (M, K) and of their heads (M, K) → log-probabilities of all labels (M, L), at most 0.

Arcs with the same head come one after the other, so what depends on the head alone can be computed once.
"""

TINY = np.float32(1e-30)  # the least that features are divided by: all of them may be 0
CHUNK = 1 << 23  # most numbers in an intermediate result
PROJECTED = 1 << 21  # numbers of an intermediate result that is read again at once: they should stay in the cache


@dataclass(frozen=True)
class Auxiliary:
    """What an auxiliary head predicts: the best class of every word."""

    classes: Ints  # (B, N)
    log_probability: Floats32  # (B, N)


@dataclass(frozen=True)
class Scores:
    """What the network predicts for a batch: log-probabilities of heads, features of labels, auxiliary heads.

    Beyond the end of a sentence columns are -inf and rows are undefined.
    """

    lengths: Ints  # (B,)
    arcs: Floats32  # (B, N, N+1) log-probabilities of all heads
    dependents: Floats32  # (B, N, K) label features of every word as a dependent
    heads: Floats32  # (B, N+1, K) label features of every word, and the dummy root, as a head
    labeler: Labeler
    auxiliary: dict[str, Auxiliary]  # by auxiliary head
    best: tuple[Floats32, Ints] | None = None  # (B, N, N+1) each: log-probability and id of every arc's best label

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def mask(self) -> Bools:
        """Whether a word is there, rather than padding: (B, N)."""
        inside: Bools = np.arange(self.arcs.shape[1]) < self.lengths[:, None]
        return inside

    def label_rows(self, sentence: Ints, word: Ints, column: Ints) -> Floats32:
        """Return the log-probabilities of all labels (M, L) for M arcs of the batch."""
        rows = np.empty((len(word), 0), np.float32)
        for arcs, found in self._pieces(sentence, word, column):
            if rows.shape[1] != found.shape[1]:
                rows = np.empty((len(word), found.shape[1]), np.float32)
            rows[arcs] = found
        return rows

    def labels_of(self, heads: Ints) -> Floats32:
        """Return the log-probabilities of all labels (B, N, L), given the heads (B, N) as columns 0..N."""
        sentence, word = np.indices(heads.shape)
        rows = self.label_rows(sentence.ravel(), word.ravel(), heads.ravel())
        return rows.reshape(*heads.shape, -1)

    def best_labels(self, sentence: Ints, word: Ints, column: Ints) -> tuple[Floats32, Ints]:
        """Return the log-probability of the best label of each of M arcs, and its id: (M,) each."""
        best, which = self._top(1, sentence, word, column)
        return best[:, 0], which[:, 0]

    def top_labels(self, k: int) -> tuple[Floats32, Ints]:
        """Return log-probabilities and ids of every arc's k best labels, best first: (B, N, N+1, k) each.

        What is no arc, beyond the end of a sentence, has 0 for both.
        """
        b, n, columns = self.arcs.shape
        there = np.concatenate([np.ones((b, 1), bool), self.mask], 1)  # (B, N+1)
        arcs = np.nonzero(self.mask[:, :, None] & there[:, None])
        found, ids = self._top(k, *arcs)
        best = np.zeros((b, n, columns, found.shape[1]), np.float32)
        which = np.zeros(best.shape, np.int64)
        best[arcs], which[arcs] = found, ids
        return best, which

    def _top(self, k: int, sentence: Ints, word: Ints, column: Ints) -> tuple[Floats32, Ints]:
        best, which = np.empty((len(word), 0), np.float32), np.empty((len(word), 0), np.int64)
        for arcs, found in self._pieces(sentence, word, column):
            count = min(k, found.shape[1])
            if best.shape[1] != count:
                best, which = np.empty((len(word), count), np.float32), np.empty((len(word), count), np.int64)
            ids = found.argmax(1)[:, None] if count == 1 else np.argsort(-found, 1, kind="stable")[:, :count]
            best[arcs], which[arcs] = np.take_along_axis(found, ids, 1), ids
        return best, which

    def _pieces(self, sentence: Ints, word: Ints, column: Ints) -> Iterator[tuple[Ints, Floats32]]:
        """Ask for the labels of M arcs in an order that suits the labeler, a piece at a time; at least one."""
        order = np.argsort(sentence * self.heads.shape[1] + column, kind="stable")
        step = max(1, CHUNK // (8 * self.heads.shape[2]))  # there may be more labels than features
        for start in range(0, max(1, len(order)), step):
            arcs = order[start : start + step]
            b = sentence[arcs]
            yield arcs, self.labeler(self.dependents[b, word[arcs]], self.heads[b, column[arcs]])


def bilinear_labeler(bilinear: Floats32) -> Labeler:
    """Return the labeler of a biaffine layer (L, K, K): a label's score for a dependent and its head is d · W · h."""
    matrix = bilinear.transpose(2, 1, 0).reshape(bilinear.shape[2], -1)  # (K, K · L)
    return grouped_labeler(lambda heads: heads @ matrix, len(bilinear))


def grouped_labeler(
    project: Callable[[Floats32], Floats32], labels: int, always: Callable[[Floats32], Floats32] | None = None
) -> Labeler:
    """Return a labeler that computes W · h only once for every head.

    ``project`` takes the features of heads (H, K) to the weights that labels give a dependent's features (H, K · L).
    ``always`` takes features of dependents (M, K) to the part of their scores (M, L) that is the same for all heads;
    ``project`` then leaves this part out, and gets features between -1 and 1: there are far more weights than scores
    to be multiplied and added to.
    """

    def label(dependents: Floats32, heads: Floats32) -> Floats32:
        scores = np.empty((len(dependents), labels), np.float32)
        differs = np.ones(len(heads), bool)
        np.any(heads[1:] != heads[:-1], axis=1, out=differs[1:])
        starts = np.flatnonzero(differs)  # (H,) the first arc of every head
        arcs = np.diff(starts, append=len(heads))  # (H,) how many arcs it has
        order = np.argsort(arcs, kind="stable")  # heads with as many arcs are multiplied at once
        size = dependents.shape[1]
        features, own = dependents, heads[starts]
        if always is not None:
            largest = np.maximum(np.abs(own[:, :-1]).max(1), TINY)  # (H,); the last feature is 1
            own = own / largest[:, None]
            features = dependents * np.repeat(largest, arcs)[:, None]
        step = max(1, PROJECTED // max(1, labels * size))
        for begin in range(0, len(order), step):
            part = order[begin : begin + step]
            weights = project(own[part]).reshape(len(part), size, labels)
            count = arcs[part]
            edges = [*np.flatnonzero(np.diff(count, prepend=0)).tolist(), len(part)]
            for first, end in pairwise(edges):
                chosen = starts[part[first:end], None] + np.arange(count[first])  # (heads, arcs of each)
                scores[chosen] = features[chosen] @ weights[first:end]
        if always is not None:
            scores += always(dependents)
        return log_softmax(scores)

    def quiet(dependents: Floats32, heads: Floats32) -> Floats32:
        with np.errstate(all="ignore"):  # features may be infinite or not a number
            return label(dependents, heads)

    return quiet


def log_softmax(scores: Floats32) -> Floats32:
    """Return scores (M, L) as log-probabilities, at most 0."""
    if not scores.shape[1]:
        return scores
    below: Floats32 = scores - scores.max(1, keepdims=True)
    below -= np.log(np.exp(below).sum(1, keepdims=True))
    return below
