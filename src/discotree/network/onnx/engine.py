"""The ONNX Runtime engine: sessions, and the threads that run them.

Graphs are built from settings and weights, so a model contains no graph.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import onnxruntime as ort  # type: ignore[import-untyped]

from discotree.config.schema import NetworkSettings
from discotree.errors import ModelError, first_line
from discotree.network.arrays import F32, I64, Array
from discotree.network.batch import Batch
from discotree.network.onnx.graph import Graph
from discotree.network.onnx.network import (
    Network,
    characters_graph,
    label_constants_graph,
    labeler_graph,
    network_graph,
    transformer_graph,
)
from discotree.network.scores import Auxiliary, Labeler, Scores, grouped_labeler
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab
from discotree.network.weights import Weights
from discotree.processes import usable_cores

FATAL = 4  # ONNX Runtime's log level; errors are raised as exceptions anyway


class Session:
    """A graph that has been loaded by ONNX Runtime. Running it releases the interpreter lock."""

    def __init__(self, graph: Graph, threads: int) -> None:
        self.name = graph.name
        options = ort.SessionOptions()
        options.log_severity_level = FATAL
        options.intra_op_num_threads = threads
        options.enable_mem_pattern = False  # sizes differ from batch to batch
        options.enable_cpu_mem_arena = False  # it holds 80 MB and saves no time
        # Spinning threads take CPU time away from decoding and save little.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._arrays = graph.external_weights()  # must live as long as the session
        self._values = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in self._arrays.items()}
        try:
            options.add_external_initializers(list(self._values), list(self._values.values()))
            if threads > 1:  # no copy of the weights: saves 20 MB for a single sentence, but slows down large batches
                for name, value in self._values.items():
                    options.add_initializer(name, value)
            self._session = ort.InferenceSession(graph.model(), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime's errors have no common base class
            raise ModelError(f"ONNX Runtime cannot load the {self.name}: {first_line(error)}") from None
        self._inputs = [value.name for value in self._session.get_inputs()]
        self._outputs = [value.name for value in self._session.get_outputs()]

    def run(self, arrays: dict[str, Any]) -> dict[str, Array]:
        """Return the outputs by name; arrays that are not inputs are ignored."""
        try:
            outputs = self._session.run(self._outputs, {name: arrays[name] for name in self._inputs})
        except Exception as error:
            raise ModelError(f"ONNX Runtime cannot run the {self.name}: {first_line(error)}") from None
        return dict(zip(self._outputs, outputs, strict=True))


Precision = Literal["int8", "float32"]
BATCH_WORDS = 500  # larger batches do not fit into the CPU caches
READ_AHEAD = 20  # batches for each thread
SMALL = BATCH_WORDS // 2  # words of a batch that is small enough to be run by all cores together
CHARACTERS_CHUNK = 1 << 20  # largest size of an intermediate result
GRAPHS = {
    "characters": characters_graph,
    "transformer": transformer_graph,
    "network": network_graph,
    "labeler": labeler_graph,
    "label_constants": label_constants_graph,
}


class OnnxEngine:
    """A network on the CPU.

    Every core scores its own batch, which is faster than all cores on one batch: they need not synchronise after each
    of the many small steps of an LSTM. While small batches arrive one by one, all cores share each of them.
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
        threads: int | None = None,
    ) -> None:
        """Use at most ``threads`` threads; by default one for each core that this process may use."""
        self.name = "onnx" if precision == "int8" else "onnx-float32"
        self.settings = settings
        self.network = Network.from_weights(settings, vocab, has_tags, pieces, weights, precision == "int8")
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

    def prepare_forks(self) -> None:
        """Load the graphs used so far again for one thread: a forked process can only use those."""
        for name, _ in list(self._sessions):
            self._session(name, 1)

    def forked(self, threads: int = 1) -> None:
        """Start again with new threads. The parent's threads do not exist here; joining them would deadlock.

        Sessions with one thread run in the thread that calls them, so they still work.
        """
        _LEAKED_ON_FORK.append((self._workers, self._sessions))
        sessions = {key: session for key, session in self._sessions.items() if key[1] == 1}
        self._begin(threads)
        self._sessions = sessions

    def start(self, batch: Batch) -> Callable[[], Scores]:
        """Start scoring a batch, and return a function that waits for its scores."""
        with self._lock:
            alone = not self._under_way and ("network", 1) not in self._sessions
            together = alone and batch.words.size <= SMALL
            self._under_way += 1
        return self._workers.submit(self._scores, batch, self.threads if together else 1).result

    def _session(self, name: str, threads: int) -> Session:
        """Return the session of a graph; it is created on first use."""
        with self._lock:
            if name not in self._graphs:
                if name == "network":
                    self._measure(threads)
                self._graphs[name] = GRAPHS[name](self.network)
            if (name, threads) not in self._sessions:
                if threads == 1:
                    self._sessions.pop((name, self.threads), None)  # each session may have a copy of the weights
                self._sessions[name, threads] = Session(self._graphs[name], threads)
            return self._sessions[name, threads]

    def _measure(self, threads: int) -> None:
        """Measure the range of the Transformer's features, which the int8 network needs to quantize them."""
        encoder = self.network.encoder
        if encoder is not None and self.network.int8:
            ranges = encoder.ranges(self._session("transformer", threads).run)
            self.network = replace(self.network, encoder_ranges=ranges)

    @property
    def labels(self) -> Labeler:
        """The labeler. Not cached: a stored closure would create a reference cycle and delay freeing the weights."""
        return grouped_labeler(self._projected, self.label_count, self._constants if self.network.int8 else None)

    def _projected(self, heads: F32) -> F32:
        """Return the weights (H, K · L) that labels give the features of a dependent, for heads (H, K)."""
        weights: F32 = self._session("labeler", 1).run({"heads": heads})["weights"]
        return weights

    def _constants(self, dependents: F32) -> F32:
        """Return the part (M, L) of the label scores of dependents (M, K) that does not depend on their heads."""
        scores: F32 = self._session("label_constants", 1).run({"dependents": dependents})["scores"]
        return scores

    def _scores(self, batch: Batch, threads: int) -> Scores:
        try:
            arrays: dict[str, Any] = dict(vars(batch))
            if self.settings.char_filters:
                arrays["characters"] = self._vectors_of_forms(batch.chars, threads)
            if self.network.encoder is not None:
                run = self._session("transformer", threads).run
                arrays["vectors"] = self.network.encoder.read(run, batch.pieces, batch.last.max(1) + 1)
            outputs = self._session("network", threads).run(arrays)
        finally:
            with self._lock:
                self._under_way -= 1
        auxiliary = {
            head: Auxiliary(outputs[f"{head}.classes"], outputs[f"{head}.log_probability"])
            for head in self.network.heads
        }
        return Scores(batch.lengths, outputs["arcs"], outputs["dependents"], outputs["heads"], self.labels, auxiliary)

    def _vectors_of_forms(self, chars: I64, threads: int) -> F32:
        """Return the vectors of distinct words (U, filters), computed in chunks."""
        settings, run = self.settings, self._session("characters", threads).run
        columns = chars.shape[1] + settings.char_window
        step = max(
            1, CHARACTERS_CHUNK // (columns * max(settings.char_filters, settings.char_window * settings.char_size))
        )
        parts = [run({"chars": chars[k : k + step]})["characters"] for k in range(0, len(chars), step)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


_LEAKED_ON_FORK: list[Any] = []  # keeps the parent's executors alive in a forked child
