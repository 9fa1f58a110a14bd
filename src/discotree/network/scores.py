"""Scores: all that decoding may look at, as arrays; no network is needed to use them.

Shapes: B sentences, N words in the longest of them, M arcs, L arc labels, K label features. Columns of heads run
over 0..N: column 0 is the dummy root, column j + 1 is the word at position j.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, get_args

import numpy as np

from discotree.config.schema import EngineName
from discotree.errors import ConfigError
from discotree.network.arrays import F32, F64, I64, Array, Bool
from discotree.network.batch import Batch

Labeler = Callable[[F32, F32], F32]
"""Features of dependents (M, K) and of their heads (M, K) → log-probabilities of all labels (M, L), at most 0.

Arcs with the same head come one after the other, so the part that depends on the head alone can be computed once.
"""

TINY = np.float32(1e-30)  # the least that features are divided by: all of them may be 0
IMPOSSIBLE = -1e9  # the weight of an arc to avoid at all costs: far below any sum of log-probabilities, yet finite
MAX_KEPT = 1 << 14  # largest number of arcs in one call whose scores of all labels are stored
CHUNK = 1 << 23  # most numbers in an intermediate result
PROJECTED = 1 << 21  # numbers of an intermediate result that is read again at once: they should stay in the cache
MAX_JOINED = 4000  # words of batches that are decoded together, with padding


@dataclass(frozen=True)
class Auxiliary:
    """The predictions of an auxiliary head: the best class of every word."""

    classes: I64  # (B, N)
    log_probability: F32  # (B, N)


@dataclass(frozen=True)
class Scores:
    """The predictions for a batch: log-probabilities of heads, features of labels, auxiliary heads.

    Beyond the end of a sentence columns are -inf and rows are undefined.
    """

    lengths: I64  # (B,)
    arcs: F32  # (B, N, N+1) log-probabilities of all heads
    dependents: F32  # (B, N, K) label features of every word as a dependent
    heads: F32  # (B, N+1, K) label features of every word, and the dummy root, as a head
    labeler: Labeler
    auxiliary: dict[str, Auxiliary]  # by auxiliary head
    best: tuple[F32, I64] | None = None  # (B, N, N+1) each: log-probability and id of every arc's best label

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def mask(self) -> Bool:
        """Whether a word is there, rather than padding: (B, N)."""
        inside: Bool = np.arange(self.arcs.shape[1]) < self.lengths[:, None]
        return inside

    def label_rows(self, sentence: I64, word: I64, column: I64) -> F32:
        """Return the log-probabilities of all labels (M, L) for M arcs of the batch."""
        parts = list(self._pieces(sentence, word, column))
        rows = np.empty((len(word), parts[0][1].shape[1]), np.float32)
        for arcs, found in parts:
            rows[arcs] = found
        return rows

    def labels_of(self, heads: I64) -> F32:
        """Return the log-probabilities of all labels (B, N, L), given the heads (B, N) as columns 0..N."""
        sentence, word = np.indices(heads.shape)
        rows = self.label_rows(sentence.ravel(), word.ravel(), heads.ravel())
        return rows.reshape(*heads.shape, -1)

    def best_labels(self, sentence: I64, word: I64, column: I64) -> tuple[F32, I64]:
        """Return the log-probability of the best label of each of M arcs, and its id: (M,) each."""
        best, which = self._top(1, sentence, word, column)
        return best[:, 0], which[:, 0]

    def top_labels(self, k: int) -> tuple[F32, I64]:
        """Return log-probabilities and ids of every arc's k best labels, best first: (B, N, N+1, k) each.

        Beyond the end of a sentence both are 0.
        """
        b, n, columns = self.arcs.shape
        there = np.concatenate([np.ones((b, 1), bool), self.mask], 1)  # (B, N+1)
        arcs = np.nonzero(self.mask[:, :, None] & there[:, None])
        found, ids = self._top(k, *arcs)
        best = np.zeros((b, n, columns, found.shape[1]), np.float32)
        which = np.zeros(best.shape, np.int64)
        best[arcs], which[arcs] = found, ids
        return best, which

    def _top(self, k: int, sentence: I64, word: I64, column: I64) -> tuple[F32, I64]:
        order, best, which = [], [], []
        for arcs, found in self._pieces(sentence, word, column):
            ids = found.argmax(1)[:, None] if k == 1 else np.argsort(-found, 1, kind="stable")[:, :k]
            order.append(arcs)
            best.append(np.take_along_axis(found, ids, 1))
            which.append(ids)
        back = np.argsort(np.concatenate(order))
        return np.concatenate(best)[back], np.concatenate(which)[back]

    def _pieces(self, sentence: I64, word: I64, column: I64) -> Iterator[tuple[I64, F32]]:
        """Ask for the labels of M arcs in an order that suits the labeler, a piece at a time; at least one."""
        order = np.argsort(sentence * self.heads.shape[1] + column, kind="stable")
        step = max(1, CHUNK // (8 * self.heads.shape[2]))  # there may be more labels than features
        for start in range(0, max(1, len(order)), step):
            arcs = order[start : start + step]
            b = sentence[arcs]
            yield arcs, self.labeler(self.dependents[b, word[arcs]], self.heads[b, column[arcs]])


def join_batches(batches: Iterable[tuple[I64, Scores]]) -> Iterator[tuple[list[I64], Scores]]:
    """Yield the numbers of the sentences of successive batches, and the scores of these batches as those of one.

    Decoding makes hundreds of numpy calls for every batch; if the batch is small, these calls take most of the time.
    """
    numbers: list[I64] = []
    parts: list[Scores] = []
    for sentences, scores in batches:
        longest = max(part.arcs.shape[1] for part in (*parts, scores))
        if parts and (sum(map(len, parts)) + len(scores)) * longest > MAX_JOINED:
            yield numbers, _join(parts)
            numbers, parts = [], []
        numbers.append(sentences)
        parts.append(scores)
    if parts:
        yield numbers, _join(parts)


def _join(parts: Sequence[Scores]) -> Scores:
    """Return the scores of several batches, made by one engine, as those of one batch."""
    if len(parts) == 1:
        return parts[0]
    auxiliary = {
        head: Auxiliary(
            _pad_and_concatenate([part.auxiliary[head].classes for part in parts]),
            _pad_and_concatenate([part.auxiliary[head].log_probability for part in parts]),
        )
        for head in parts[0].auxiliary
    }
    best = None
    if parts[0].best is not None:
        scores, labels = zip(*[part.best for part in parts if part.best is not None], strict=True)
        best = _pad_and_concatenate(scores), _pad_and_concatenate(labels)
    return Scores(
        np.concatenate([part.lengths for part in parts]),
        _pad_and_concatenate([part.arcs for part in parts], -np.inf),
        _pad_and_concatenate([part.dependents for part in parts]),
        _pad_and_concatenate([part.heads for part in parts]),
        parts[0].labeler,
        auxiliary,
        best,
    )


def _pad_and_concatenate(arrays: Sequence[Array], filler: float = 0) -> Array:
    """Return arrays (B, …) as one, padded to the largest of them."""
    shape = np.max([array.shape for array in arrays], 0)
    joined = np.full((sum(map(len, arrays)), *shape[1:]), filler, arrays[0].dtype)
    begin = 0
    for array in arrays:
        joined[(slice(begin, begin := begin + len(array)), *map(slice, array.shape[1:]))] = array
    return joined


def grouped_labeler(project: Callable[[F32], F32], labels: int, always: Callable[[F32], F32] | None = None) -> Labeler:
    """Return a labeler that computes W · h only once for every head.

    ``project`` takes the features of heads (H, K) to the weights that labels give a dependent's features (H, K · L).
    ``always`` takes features of dependents (M, K) to the part of their scores (M, L) that is the same for all heads;
    ``project`` then leaves this part out, and gets features between -1 and 1: there are far more weights than scores
    to be multiplied and added to.
    """

    def label(dependents: F32, heads: F32) -> F32:
        scores = np.empty((len(dependents), labels), np.float32)
        differs = np.ones(len(heads), bool)
        np.any(heads[1:] != heads[:-1], axis=1, out=differs[1:])
        starts = np.flatnonzero(differs)  # (H,) the first arc of every head
        arcs = np.bincount(differs.cumsum() - 1)  # (H,) how many arcs it has
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
            edges = [0, *(np.flatnonzero(count[1:] != count[:-1]) + 1).tolist(), len(part)]
            for first, end in pairwise(edges):
                chosen = starts[part[first:end], None] + np.arange(count[first])  # (heads, arcs of each)
                scores[chosen] = features[chosen] @ weights[first:end]
        if always is not None:
            scores += always(dependents)
        return log_softmax(scores)

    def quiet(dependents: F32, heads: F32) -> F32:
        with np.errstate(all="ignore"):  # features may be infinite or not a number
            return label(dependents, heads)

    return quiet


def log_softmax(scores: F32) -> F32:
    """Return scores (M, L) as log-probabilities, at most 0."""
    if not scores.shape[1]:
        return scores
    below: F32 = scores - scores.max(1, keepdims=True)
    below -= np.log(np.exp(below).sum(1, keepdims=True))
    return below


class ArcWeights:
    """The weights of all arcs of a batch: log p(head) + log p(best label | head).

    Log-probabilities are at most 0, so log p(head) alone is an upper bound where labels have not been scored.
    """

    def __init__(self, scores: Scores) -> None:
        self.scores = scores
        self.lengths = scores.lengths
        self.inside: Bool = scores.mask  # (B, N)
        self.arcs = legal_arcs(scores)  # (B, N, N+1), and so are the next four
        shape = self.arcs.shape
        if scores.best is None:
            self.known: Bool = np.zeros(shape, bool)  # whether labels were scored
            self.labels: F64 = np.zeros(shape)  # log-probability of the best label
            self.names: I64 = np.zeros(shape, np.int64)  # the best label
            self.bounds: F64 = self.arcs.copy()  # the weights, or upper bounds of them
        else:
            self.known = np.ones(shape, bool)
            self.labels, self.names = finite(scores.best[0]), scores.best[1]
            self.bounds = self.arcs + self.labels
        self._row = np.full(shape, -1, np.int32)  # number of the stored row of scores, or -1
        self._rows: list[F32] = []

    def score(self, sentence: I64, word: I64, column: I64) -> None:
        """Score the labels of M arcs that have not been scored yet."""
        new = ~self.known[sentence, word, column]
        if not new.any():
            return
        arcs = sentence[new], word[new], column[new]
        if len(arcs[0]) > MAX_KEPT:
            best, names = self.scores.best_labels(*arcs)
        else:
            rows = self._score_rows(*arcs)
            names = rows.argmax(1)
            best = rows[np.arange(len(rows)), names]
        self.known[arcs] = True
        self.labels[arcs], self.names[arcs] = finite(best), names
        self.bounds[arcs] = self.arcs[arcs] + self.labels[arcs]

    def score_all(self, sentences: I64) -> None:
        """Score the labels of all arcs of some sentences."""
        row, word, column = np.nonzero(self.inside[sentences, :, None] & (self.arcs[sentences] > -np.inf))
        self.score(sentences[row], word, column)

    def rows(self, sentence: I64, word: I64, column: I64) -> F64:
        """Return the scores (M, L) of all labels for M arcs, finite."""
        new = self._row[sentence, word, column] < 0
        if new.any() or not self._rows:
            self._score_rows(sentence[new], word[new], column[new])
        self._rows = [np.concatenate(self._rows)]
        return finite(self._rows[0][self._row[sentence, word, column]])

    def _score_rows(self, sentence: I64, word: I64, column: I64) -> F32:
        """Return the scores (M, L) of all labels for M arcs, and store them."""
        rows = self.scores.label_rows(sentence, word, column)
        first = sum(map(len, self._rows))
        self._row[sentence, word, column] = np.arange(first, first + len(rows))
        self._rows.append(rows)
        return rows


def legal_arcs(scores: Scores) -> F64:
    """Return the scores of arcs (B, N, N+1): finite, but -inf for a word on itself and for padding."""
    legal = finite(scores.arcs)
    words = np.arange(legal.shape[1])
    legal[:, words, words + 1] = -np.inf
    beyond = np.arange(legal.shape[2]) > scores.lengths[:, None]  # (B, N+1)
    np.copyto(legal, -np.inf, where=beyond[:, None])
    return legal


def finite(scores: F32) -> F64:
    """Return scores with infinity and NaN replaced by IMPOSSIBLE, so that they can be added and compared."""
    result: F64 = scores.astype(np.float64)
    np.copyto(result, IMPOSSIBLE, where=~(np.abs(scores) < -IMPOSSIBLE))
    return result


def log_of(scores: F64) -> F64:
    """Return finite scores as log-probabilities again: IMPOSSIBLE becomes -inf."""
    return np.where(scores > IMPOSSIBLE, scores, -np.inf)


ENGINES: tuple[str, ...] = get_args(EngineName)


class Engine(Protocol):
    """Scores batches of sentences for a parser."""

    batch_words: int  # words of a batch that it is fastest with
    ahead: int  # batches to begin before the scores of the first are used
    read_ahead: int  # batches to make of one group of sentences, so that each holds sentences of similar length

    @property
    def name(self) -> str: ...  # one of ENGINES

    @property
    def device(self) -> str: ...  # "cpu", "cuda", "cuda:1"

    def prepare_forks(self) -> None:
        """Bring the weights into the form that forked processes can share."""

    def forked(self, threads: int = 1, /) -> None:
        """Make the engine work in a forked process, in which the threads of its parent do not exist."""

    def start(self, batch: Batch) -> Callable[[], Scores]:
        """Begin to score a batch, and return a function that waits for the scores."""


def check_engine(name: str | None) -> None:
    """Raise ConfigError for a name that no engine has."""
    if name not in (None, *ENGINES):
        raise ConfigError(f"unknown engine {name!r:.50}, expected one of {', '.join(ENGINES)}")
