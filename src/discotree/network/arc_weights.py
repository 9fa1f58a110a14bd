"""The weights of arcs; labels are scored only where they can matter. Shapes and columns are those of `decode`."""

import numpy as np

from discotree.network.arborescence import IMPOSSIBLE, Floats, Ints
from discotree.network.scores import Bools, Floats32, Scores

MAX_KEPT = 1 << 14  # arcs that the scores of all labels are kept of, at most, from one call


class ArcWeights:
    """The weights of all arcs of a batch: log p(head) + log p(best label | head).

    No label has a log-probability above 0. So where labels were not scored, log p(head) alone is an upper bound.
    """

    def __init__(self, scores: Scores) -> None:
        self.scores = scores
        self.lengths = scores.lengths
        self.inside: Bools = scores.mask  # (B, N)
        self.arcs = legal_arcs(scores)  # (B, N, N+1), and so are the next four
        shape = self.arcs.shape
        if scores.best is None:
            self.known: Bools = np.zeros(shape, bool)  # whether labels were scored
            self.labels: Floats = np.zeros(shape)  # log-probability of the best label
            self.names: Ints = np.zeros(shape, np.int64)  # the best label
            self.bounds: Floats = self.arcs.copy()  # the weights, or upper bounds of them
        else:
            self.known = np.ones(shape, bool)
            self.labels, self.names = finite(scores.best[0]), scores.best[1].astype(np.int64, copy=False)
            self.bounds = self.arcs + self.labels
        self._row: Ints = np.full(shape, -1)  # number of the row of scores, if it was kept
        self._rows: list[Floats32] = []

    def score(self, sentence: Ints, word: Ints, column: Ints) -> None:
        """Score the labels of M arcs, where that has not been done yet."""
        new = ~self.known[sentence, word, column]
        if not new.any():
            return
        arcs = sentence[new], word[new], column[new]
        if len(arcs[0]) > MAX_KEPT:
            best, names = self.scores.best_labels(*arcs)
        else:
            rows = self._kept(*arcs)
            names = rows.argmax(1)
            best = rows[np.arange(len(rows)), names]
        self.known[arcs] = True
        self.labels[arcs], self.names[arcs] = finite(best), names
        self.bounds[arcs] = self.arcs[arcs] + self.labels[arcs]

    def score_all(self, sentences: Ints) -> None:
        """Score the labels of all arcs of some sentences."""
        row, word, column = np.nonzero(self.inside[sentences, :, None] & (self.arcs[sentences] > -np.inf))
        self.score(sentences[row], word, column)

    def rows(self, sentence: Ints, word: Ints, column: Ints) -> Floats:
        """Return the scores (M, L) of all labels for M arcs, finite."""
        new = self._row[sentence, word, column] < 0
        if new.any() or not self._rows:
            self._kept(sentence[new], word[new], column[new])
        self._rows = [np.concatenate(self._rows)]
        return finite(self._rows[0][self._row[sentence, word, column]])

    def _kept(self, sentence: Ints, word: Ints, column: Ints) -> Floats32:
        """Return the scores (M, L) of all labels for M arcs, and keep them."""
        rows = self.scores.label_rows(sentence, word, column)
        first = sum(map(len, self._rows))
        self._row[sentence, word, column] = np.arange(first, first + len(rows))
        self._rows.append(rows)
        return rows


def legal_arcs(scores: Scores) -> Floats:
    """Return the scores of arcs (B, N, N+1), finite, but -inf where there is no arc: a word on itself, padding."""
    legal = finite(scores.arcs)
    words = np.arange(legal.shape[1])
    legal[:, words, words + 1] = -np.inf
    beyond = np.arange(legal.shape[2]) > scores.lengths[:, None]  # (B, N+1)
    legal += np.where(beyond, -np.inf, 0.0)[:, None]
    return legal


def finite(scores: Floats32) -> Floats:
    """Return scores with IMPOSSIBLE for what cannot be added and compared: what is infinite or not a number."""
    sensible: Floats = scores.astype(np.float64)
    sensible[~(np.abs(sensible) < -IMPOSSIBLE)] = IMPOSSIBLE
    return sensible


def log_of(scores: Floats) -> Floats:
    """Return finite scores as log-probabilities again: what is impossible is -inf."""
    return np.where(scores > IMPOSSIBLE, scores, -np.inf)
