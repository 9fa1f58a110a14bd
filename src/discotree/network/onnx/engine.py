"""ONNX Runtime as an engine: graphs are built from settings and weights, so a model brings no graph of its own."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np

from discotree.config import NetworkSettings
from discotree.network.batch import Batch, Ints
from discotree.network.onnx import graphs
from discotree.network.onnx.network import Network
from discotree.network.onnx.session import Session
from discotree.network.onnx.windows import Reader
from discotree.network.scores import Auxiliary, Floats32, Scores
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab
from discotree.network.weights import Weights

Precision = Literal["int8", "float32"]
BATCH_WORDS = 1000  # more no longer fit the caches of a processor
CHUNK = 1 << 22  # most numbers in an intermediate result
MAX_DEPENDENTS = 16  # dependents of one head that are labelled at once


class OnnxEngine:
    """A network on the CPU. One thread runs it, so that its next batch is scored while the last one is decoded."""

    device = "cpu"
    batch_words = BATCH_WORDS

    def __init__(
        self,
        settings: NetworkSettings,
        vocab: Vocab,
        has_tags: bool,
        pieces: Subwords | Pretrained | None,
        weights: Weights,
        precision: Precision = "int8",
        threads: int = 0,
    ) -> None:
        """Use at most so many ``threads``; 0: one for each core that this process may use."""
        self.name = "onnx" if precision == "int8" else "onnx-float32"
        self.settings = settings
        self.network = Network.of(settings, vocab, has_tags, pieces, weights, precision == "int8")
        self.pieces = pieces
        self._start(threads or usable_cores())

    def _start(self, threads: int) -> None:
        self._worker = ThreadPoolExecutor(1, "discotree-onnx")
        self._characters = Session(graphs.characters(self.network), threads) if self.settings.char_filters else None
        self._reader = None
        if isinstance(self.pieces, Pretrained) and self.network.encoder is not None:
            session = Session(graphs.transformer(self.network.encoder, self.network.int8), threads)
            self._reader = Reader(self.network.encoder, self.settings, session, self.pieces.where)
        self._network = Session(graphs.network(self.network), threads)
        self._labeler = Session(graphs.labeler(self.network), threads)

    def forked(self) -> None:
        """Begin anew with one thread: those of the first process do not exist, and ending them would take for ever."""
        _ENDLESS.append((self._worker, self._characters, self._reader, self._network, self._labeler))
        self._start(1)

    def start(self, batch: Batch) -> Callable[[], Scores]:
        """Begin to score a batch."""
        return self._worker.submit(self._scores, batch).result

    def labels(self, dependents: Floats32, heads: Floats32) -> Floats32:
        """Return the log-probabilities (M, L) of labels, given the features of dependents and of heads (M, K).

        A head is projected once for all dependents that follow each other, which takes most of the time.
        """
        count, size = self.network.weights["label_bilinear"].shape[:2]
        if not len(heads):
            return np.empty((0, count), np.float32)
        slot = _run_lengths(heads) % MAX_DEPENDENTS  # (M,) place among the dependents of a head
        first = np.flatnonzero(slot == 0)  # (G,)
        group = np.cumsum(slot == 0) - 1  # (M,)
        padded = np.zeros((len(first), int(slot.max()) + 1, size), np.float32)
        padded[group, slot] = dependents
        step = max(1, CHUNK // (count * (size + padded.shape[1])))
        parts = []
        for begin in range(0, len(first), step):
            part = slice(begin, begin + step)
            parts.append(self._labeler.run({"heads": heads[first[part]], "dependents": padded[part]})["labels"])
        found: Floats32 = np.concatenate(parts)[group, slot]
        return found

    def _scores(self, batch: Batch) -> Scores:
        arrays: dict[str, Any] = dict(vars(batch))
        if self._characters is not None:
            arrays["characters"] = self._vectors_of_forms(self._characters, batch.chars)
        if self._reader is not None:
            arrays["vectors"] = self._reader.read(batch.pieces, batch.last.max(1) + 1)
        found = self._network.run(arrays)
        auxiliary = {
            head: Auxiliary(found[f"{head}.classes"], found[f"{head}.log_probability"]) for head in self.network.heads
        }
        return Scores(batch.lengths, found["arcs"], found["dependents"], found["heads"], self.labels, auxiliary)

    def _vectors_of_forms(self, session: Session, chars: Ints) -> Floats32:
        """Return the vectors of distinct words (U, filters), some at a time."""
        settings = self.settings
        columns = chars.shape[1] + settings.char_window
        step = max(1, 4 * CHUNK // (columns * max(settings.char_filters, settings.char_window * settings.char_size)))
        parts = [session.run({"chars": chars[k : k + step]})["characters"] for k in range(0, len(chars), step)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


_ENDLESS: list[Any] = []  # what a forked process may neither use nor end


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run_lengths(rows: Floats32) -> Ints:
    """Return how many rows right before each one are equal to it."""
    index = np.arange(len(rows))
    differs = np.ones(len(rows), bool)
    np.any(rows[1:] != rows[:-1], axis=1, out=differs[1:])
    lengths: Ints = index - np.maximum.accumulate(np.where(differs, index, 0))
    return lengths
