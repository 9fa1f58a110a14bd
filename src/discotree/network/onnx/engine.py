"""ONNX Runtime as an engine: graphs are built from settings and weights, so a model brings no graph of its own."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from discotree.config import NetworkSettings
from discotree.network.batch import Batch, Ints
from discotree.network.cores import usable_cores
from discotree.network.onnx import graphs
from discotree.network.onnx.graph import Graph
from discotree.network.onnx.network import Network
from discotree.network.onnx.session import Session
from discotree.network.onnx.windows import Windows
from discotree.network.scores import Auxiliary, Floats32, Labeler, Scores, grouped_labeler
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab
from discotree.network.weights import Weights

Precision = Literal["int8", "float32"]
BATCH_WORDS = 500  # more no longer fit the caches of a processor
READ_AHEAD = 20  # batches for each thread
SMALL = BATCH_WORDS // 2  # words of a batch that all cores run together
CHUNK = 1 << 20  # most numbers in an intermediate result
GRAPHS = {
    "characters": graphs.characters,
    "transformer": graphs.transformer,
    "network": graphs.network,
    "labeler": graphs.labeler,
    "label_constants": graphs.label_constants,
}


class OnnxEngine:
    """A network on the CPU.

    Every core scores a batch of its own, which is faster than all of them on one: there is nothing to wait for in each
    of the many small steps of an LSTM. Only as long as small batches come one by one, all cores share each of them.
    """

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
        self.windows = None
        if isinstance(pieces, Pretrained) and self.network.encoder is not None:
            self.windows = Windows.of(self.network.encoder, settings, pieces.where)
        self.label_count = len(vocab.labels)
        self._graphs: dict[str, Graph] = {}
        self._begin(threads or usable_cores())

    def _begin(self, threads: int) -> None:
        self.threads = threads
        self.ahead = threads + 1
        self.read_ahead = READ_AHEAD * threads
        self._workers = ThreadPoolExecutor(threads, "discotree-onnx")
        self._under_way = 0
        self._sessions: dict[tuple[str, int], Session] = {}
        self._lock = threading.RLock()

    def forked(self) -> None:
        """Begin anew with one thread: those of the first process do not exist, and ending them would take for ever."""
        _ENDLESS.append((self._workers, self._sessions))
        self._begin(1)

    def start(self, batch: Batch) -> Callable[[], Scores]:
        """Begin to score a batch."""
        with self._lock:
            alone = not self._under_way and ("network", 1) not in self._sessions
            together = alone and batch.words.size <= SMALL
            self._under_way += 1
        return self._workers.submit(self._scores, batch, self.threads if together else 1).result

    def _session(self, name: str, threads: int) -> Session:
        """Return the session of a graph, which is loaded when it is first needed."""
        with self._lock:
            if name not in self._graphs:
                if name == "network":
                    self._measure(threads)
                self._graphs[name] = GRAPHS[name](self.network)
            if (name, threads) not in self._sessions:
                if threads == 1:
                    self._sessions.pop((name, self.threads), None)  # each may have a copy of the weights
                self._sessions[name, threads] = Session(self._graphs[name], threads)
            return self._sessions[name, threads]

    def _measure(self, threads: int) -> None:
        """Find how large the features of a Transformer get, where the network rounds them."""
        encoder = self.network.encoder
        if encoder is not None and self.network.int8:
            ranges = encoder.ranges(self._session("transformer", threads).run)
            self.network = replace(self.network, encoder_ranges=ranges)

    @property
    def labels(self) -> Labeler:
        """Scores labels. An engine that kept this would refer to itself, and its memory wait for the collector."""
        return grouped_labeler(self._projected, self.label_count, self._constants if self.network.int8 else None)

    def _projected(self, heads: Floats32) -> Floats32:
        """Return the weights (H, K · L) that labels give the features of a dependent, for heads (H, K)."""
        weights: Floats32 = self._session("labeler", 1).run({"heads": heads})["weights"]
        return weights

    def _constants(self, dependents: Floats32) -> Floats32:
        """Return the scores (M, L) of labels for dependents (M, K) whatever their heads, without numpy's threads."""
        scores: Floats32 = self._session("label_constants", 1).run({"dependents": dependents})["scores"]
        return scores

    def _scores(self, batch: Batch, threads: int) -> Scores:
        try:
            arrays: dict[str, Any] = dict(vars(batch))
            if self.settings.char_filters:
                arrays["characters"] = self._vectors_of_forms(batch.chars, threads)
            if self.windows is not None:
                run = self._session("transformer", threads).run
                arrays["vectors"] = self.windows.read(run, batch.pieces, batch.last.max(1) + 1)
            found = self._session("network", threads).run(arrays)
        finally:
            with self._lock:
                self._under_way -= 1
        auxiliary = {
            head: Auxiliary(found[f"{head}.classes"], found[f"{head}.log_probability"]) for head in self.network.heads
        }
        return Scores(batch.lengths, found["arcs"], found["dependents"], found["heads"], self.labels, auxiliary)

    def _vectors_of_forms(self, chars: Ints, threads: int) -> Floats32:
        """Return the vectors of distinct words (U, filters), some at a time."""
        settings, run = self.settings, self._session("characters", threads).run
        columns = chars.shape[1] + settings.char_window
        step = max(1, CHUNK // (columns * max(settings.char_filters, settings.char_window * settings.char_size)))
        parts = [run({"chars": chars[k : k + step]})["characters"] for k in range(0, len(chars), step)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


_ENDLESS: list[Any] = []  # what a forked process may neither use nor end
