"""The graph of a network: settings, vocabulary and weights → operations, as network/pytorch/model.py runs them.

LSTMs read time first, so everything between the look-up of words and the scores is laid out as (N, B, …). Shapes: B
sentences, N words, N+1 positions with the dummy root in front, U distinct words of C characters, P pieces, H encoder
features, A arc features, K label features with the constant 1, L labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discotree.config import NetworkSettings
from discotree.network.onnx.graph import END, Graph
from discotree.network.onnx.labels import LabelGraph
from discotree.network.onnx.layers import (
    ANCHORS,
    Direction,
    embedding,
    first_of,
    largest,
    linear,
    lstm,
    mean_of,
    part,
    stacked,
    widened,
)
from discotree.network.onnx.transformer import EncoderGraph
from discotree.network.shapes import outputs
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import PADDING, Vocab
from discotree.network.weights import Floats, Weight, Weights, dense

ALL = slice(None)
LENGTHS = "lengths"
Dimensions = tuple[str | int, ...]
WORDS: Dimensions = ("sentences", "words")


@dataclass(frozen=True)
class Network:
    """What graphs are made of."""

    settings: NetworkSettings
    weights: Weights
    has_tags: bool
    heads: Sequence[str]  # the auxiliary heads
    table: Weight | None  # vectors of sub-words
    encoder: EncoderGraph | None  # or a Transformer
    int8: bool
    encoder_ranges: Floats | None = None  # how large the Transformer's features get, for int8

    @classmethod
    def of(
        cls,
        settings: NetworkSettings,
        vocab: Vocab,
        has_tags: bool,
        pieces: Subwords | Pretrained | None,
        weights: Weights,
        int8: bool,
    ) -> "Network":
        table = pieces.vectors if isinstance(pieces, Subwords) else None
        encoder = EncoderGraph.of(pieces, weights) if isinstance(pieces, Pretrained) else None
        return cls(settings, weights, has_tags, list(outputs(settings, vocab)), table, encoder, int8)

    def characters(self, graph: Graph, chars: str) -> str:
        """Characters (U, C) → a vector for each distinct word (U, filters)."""
        window, name = self.settings.char_window, "encoder.chars.convolution"
        letters = embedding(graph, "encoder.chars.table", self.weights["encoder.chars.table.weight"], chars)
        padded = graph.add("Pad", letters, graph.constant([0, window - 1, 0, 0, window - 1, 0]))
        # One product over all windows takes a third of the time of a convolution for each word.
        shifted = [graph.slice(padded, k, k - window + 1 or END, 1) for k in range(window)]
        x = graph.add("Concat", *shifted, axis=-1)  # (U, C + window - 1, window · size)
        filters = dense(self.weights[f"{name}.weight"]).swapaxes(1, 2)  # (filters, window, size)
        filters = filters.reshape(len(filters), -1)
        x = linear(graph, name, filters, self._vector(f"{name}.bias"), x, int8=False)
        real = graph.cast(graph.add("Not", graph.add("Equal", chars, graph.constant(PADDING))), np.int64)
        ends = graph.add("ReduceSum", real, graph.constant([1]), keepdims=1)  # (U, 1)
        ends = graph.add("Max", graph.add("Add", ends, graph.constant(window - 1)), graph.constant(1))
        beyond = graph.add("GreaterOrEqual", graph.count(graph.shape(x, 1)), ends)  # (U, C + window - 1)
        infinite, zero = graph.constant(-np.inf, np.float32), graph.constant(0, np.float32)
        x = graph.add("Add", x, graph.unsqueeze(graph.add("Where", beyond, infinite, zero), 2))
        return graph.add("Tanh", graph.add("ReduceMax", x, axes=(1,), keepdims=0))

    def scores(self, graph: Graph, characters: str, vectors: str) -> dict[str, str]:
        """Return arcs (B, N, N+1), label features (B, N, K) and (B, N+1, K), and auxiliary classes (B, N).

        ``characters`` are the vectors of distinct words, ``vectors`` (B, P, ·) those of pieces.
        """
        lengths = graph.input(LENGTHS, np.int64, ("sentences",))
        x = self._positions(graph, lengths, characters, vectors)
        x, summary = self._encoder(graph, x, lengths)
        states = self._decoder(graph, x, summary, lengths)
        return self._outputs(graph, x, states, lengths)

    @property
    def labels(self) -> LabelGraph:
        """What scores the labels of arcs."""
        return LabelGraph(self.weights["label_bilinear"], self.int8)

    def _vector(self, name: str) -> Floats:
        return dense(self.weights[name])

    def _positions(self, graph: Graph, lengths: str, characters: str, vectors: str) -> str:
        """Return the inputs of the encoder (N+1, B, ·)."""
        parts = []
        if self.settings.word_size:
            parts.append(embedding(graph, "encoder.words", self.weights["encoder.words.weight"], _ids(graph, "words")))
        if self.settings.char_filters:
            parts.append(graph.add("Gather", characters, _ids(graph, "form")))
        if self.has_tags:
            parts.append(embedding(graph, "encoder.tags", self.weights["encoder.tags.weight"], _ids(graph, "tags")))
        if self.table is not None:
            pieces = graph.input("pieces", np.int64, ("sentences", "pieces"))
            vectors = embedding(graph, "subwords", self.table, pieces)
        if vectors:
            first, last = _ids(graph, "first"), _ids(graph, "last")
            if self.table is not None or self.settings.encoder_pooling == "first":
                parts.append(first_of(graph, vectors, first))
            if self.table is not None or self.settings.encoder_pooling == "mean":
                parts.append(mean_of(graph, vectors, first, last))
        x = graph.add("Concat", *parts, axis=-1) if len(parts) > 1 else parts[0]  # (N, B, D)
        root = self._vector("encoder.root")
        shape = graph.add("Concat", graph.constant([1]), graph.shape(lengths, 0), graph.constant([len(root)]), axis=0)
        first_row = graph.add("Expand", graph.array("encoder.root", root[None, None]), shape)
        return graph.add("Concat", first_row, x, axis=0)

    def _encoder(self, graph: Graph, x: str, lengths: str) -> tuple[str, str]:
        """Return vectors (N+1, B, H) and a summary (B, H) of each sentence."""
        ends = graph.add("Add", lengths, graph.constant(1))
        if not self.settings.lstm_layers:
            inside = graph.add("Less", graph.unsqueeze(graph.count(graph.shape(x, 0)), 1), ends)  # (N+1, B)
            x = graph.add("Mul", x, graph.unsqueeze(graph.cast(inside, np.float32), -1))
            total = graph.add("ReduceSum", x, graph.constant([0]), keepdims=0)
            return x, graph.add("Div", total, graph.unsqueeze(graph.cast(ends, np.float32), -1))
        ends = graph.cast(ends, np.int32)
        cells = ""
        for layer in range(self.settings.lstm_layers):
            name = f"encoder.lstm.layers.{layer}"
            directions = [self._lstm(name, suffix) for suffix in ("", "_reverse")]
            anchors = self._anchors
            if self.int8 and layer == 0:
                x, directions = self._equalised(graph, x, directions)
                anchors = [directions[0][0].shape[1]]
            y, cells = lstm(graph, name, directions, x, ends, None, anchors)
            x = graph.reshape(graph.add("Transpose", y, perm=(0, 2, 1, 3)), 0, 0, -1)
        cells = graph.add("Transpose", cells, perm=(1, 0, 2))
        return x, graph.reshape(cells, 0, 2 * self.settings.lstm_size)

    def _equalised(self, graph: Graph, x: str, directions: list[Direction]) -> tuple[str, list[Direction]]:
        """Divide inputs by how large they can get, and multiply the weights that meet them; add anchors.

        All inputs share one step. Those of sub-words are ten times as large as the others, which would be lost in it.
        """
        ranges = self._ranges()
        x = graph.add("Div", x, graph.array("encoder.ranges", ranges))
        if self.encoder is not None:
            x = graph.add("Clip", x, graph.constant(-1, np.float32), graph.constant(1, np.float32))
        x = graph.add("Pad", x, graph.constant([0, 0, 0, 0, 0, ANCHORS]))
        anchors = np.array([*np.zeros(len(ranges)), 1, -1], np.float32)
        x = graph.add("Add", x, graph.array("encoder.anchors", anchors))
        return x, [(dense(of_x) * ranges, *rest) for of_x, *rest in directions]  # type: ignore[misc]

    def _widened(self, weight: Weight) -> Weight:
        """Make room in a weight of the encoder's vectors for their anchors, if they have any."""
        return widened(weight, *self._anchors) if self._anchors else weight

    def _of_states(self, weight: Weight) -> Weight:
        """Make room in a weight of the decoder's states for their anchors, if they have any."""
        return widened(weight, self.settings.decoder_size) if self._anchors else weight

    @property
    def _anchors(self) -> list[int] | None:
        """Where anchors stand in the encoder's vectors. With them, vectors and states lie between -1 and 1."""
        size = self.settings.lstm_size
        return [size, 2 * size] if self.int8 and self.settings.lstm_layers else None

    def _ranges(self) -> Floats:
        """Return how large each input of the encoder can get, or usually gets if a Transformer gives it."""
        parts = []
        if self.settings.word_size:
            parts.append(largest(self.weights["encoder.words.weight"]))
        if self.settings.char_filters:
            parts.append(np.ones(self.settings.char_filters, np.float32))  # tanh stays below
        if self.has_tags:
            parts.append(largest(self.weights["encoder.tags.weight"]))
        if self.table is not None:
            parts += [largest(self.table)] * 2
        elif self.encoder_ranges is not None:
            parts.append(self.encoder_ranges)
        ranges: Floats = np.maximum(np.concatenate(parts), np.abs(self._vector("encoder.root")))
        return np.maximum(ranges, np.finfo(np.float32).tiny)

    def _lstm(self, name: str, suffix: str) -> Direction:
        weights = (self.weights[f"{name}.weight_{kind}_l0{suffix}"] for kind in ("ih", "hh"))
        biases = (self._vector(f"{name}.bias_{kind}_l0{suffix}") for kind in ("ih", "hh"))
        return (*weights, *biases)  # type: ignore[return-value]

    def _decoder(self, graph: Graph, vectors: str, summary: str, lengths: str) -> str:
        """Return a state for every word (N, B, S): an LSTM over each vector and its neighbours."""
        words = graph.slice(vectors, 1, END, 0)
        padded = graph.add("Pad", words, graph.constant([1, 0, 0, 1, 0, 0]))
        around = graph.add("Add", graph.slice(padded, 0, -2, 0), graph.slice(padded, 2, END, 0))
        weight, bias = self.weights["decoder.start.weight"], self._vector("decoder.start.bias")
        cell = graph.unsqueeze(linear(graph, "decoder.start", weight, bias, summary, self.int8), 0)
        start = graph.add("Tanh", cell), cell
        ends = graph.cast(lengths, np.int32)
        x = graph.add("Add", words, around)
        if self._anchors:  # sums of three lie between -3 and 3, also at the ends of a sentence
            size = self.settings.lstm_size
            own = np.array([*np.ones(size), 0, 0] * 2, np.float32)
            anchors = np.array([*np.zeros(size), 3, -3] * 2, np.float32)
            x = graph.add("Mul", x, graph.array("decoder.own", own))
            x = graph.add("Add", x, graph.array("decoder.anchors", anchors))
        y, _ = lstm(graph, "decoder.lstm", [self._lstm("decoder.lstm", "")], x, ends, start, self._anchors)
        return graph.add("Squeeze", y, graph.constant([1]))

    def _outputs(self, graph: Graph, vectors: str, states: str, lengths: str) -> dict[str, str]:
        """Arcs are scored almost exactly, because rounding changes trees; all others share a product."""
        features = self.weights["arc_head.weight"].shape[1]
        auxiliary = [self.weights[f"auxiliary.{head}.weight"] for head in self.heads]
        sizes = [self.settings.label_size, *(weight.shape[0] for weight in auxiliary)]
        own = [self.weights["label_head.weight"], *(part(weight, (ALL, slice(features))) for weight in auxiliary)]
        bounded = self._anchors is not None
        zeros = [np.zeros(size, np.float32) for size in sizes[1:]]
        bias = np.concatenate([self._vector("label_head.bias"), *zeros])
        x = linear(graph, "vectors", self._widened(stacked(own)), bias, vectors, self.int8, bounded)
        label_heads, *of_vectors = graph.several(len(sizes), "Split", x, graph.constant(sizes), axis=-1)
        own = [
            self.weights["label_dependent.weight"],
            *(part(weight, (ALL, slice(features, None))) for weight in auxiliary),
        ]
        names = ["label_dependent.bias", *(f"auxiliary.{head}.bias" for head in self.heads)]
        bias = np.concatenate([self._vector(name) for name in names])
        weight = self._of_states(stacked(own))
        x = linear(graph, "states", weight, bias, states, self.int8, bounded=True)
        label_dependents, *of_states = graph.several(len(sizes), "Split", x, graph.constant(sizes), axis=-1)
        result = {
            "arcs": self._arcs(graph, states, vectors, lengths),
            "dependents": _features(graph, label_dependents),
            "heads": _features(graph, label_heads),
        }
        for head, of_state, of_vector in zip(self.heads, of_states, of_vectors, strict=True):
            scores = graph.add("Add", of_state, graph.slice(of_vector, 1, END, 0))  # (N, B, classes)
            scores = graph.add("LogSoftmax", scores, axis=-1)
            best = graph.add("ReduceMax", scores, axes=(2,), keepdims=0)
            which = graph.add("ArgMax", scores, axis=2, keepdims=0)
            result[f"{head}.classes"] = graph.add("Transpose", which, perm=(1, 0))
            result[f"{head}.log_probability"] = graph.add("Transpose", best, perm=(1, 0))
        return result

    def _arcs(self, graph: Graph, states: str, vectors: str, lengths: str) -> str:
        """Return log-probabilities of heads (B, N, N+1)."""
        name, weight = "arc_dependent", self._of_states(self.weights["arc_dependent.weight"])
        bias = self._vector(f"{name}.bias")
        dependents = linear(graph, name, weight, bias, states, self.int8, bounded=True, twice=True)
        name, weight = "arc_head", self._widened(self.weights["arc_head.weight"])
        bias, bounded = self._vector(f"{name}.bias"), self._anchors is not None
        heads = linear(graph, name, weight, bias, vectors, self.int8, bounded, twice=True)
        bilinear = self.weights["arc_bilinear"]  # (A+1, A+1): dependent, head
        size = self.settings.arc_size
        bias = dense(part(bilinear, (ALL, slice(-1, None))))[:, 0]  # meets the constant 1 of heads
        x = graph.add("Elu", heads)
        weight = part(bilinear, (ALL, slice(-1)))
        x = linear(graph, "arc_bilinear", weight, bias, x, self.int8, twice=True)  # (N+1, B, A+1)
        factors, constants = graph.several(2, "Split", x, graph.constant([size, 1]), axis=-1)
        dependents = graph.add("Transpose", graph.add("Elu", dependents), perm=(1, 0, 2))
        scores = graph.add("MatMul", dependents, graph.add("Transpose", factors, perm=(1, 2, 0)))
        constants = graph.add("Transpose", constants, perm=(1, 2, 0))  # (B, 1, N+1)
        beyond = graph.add("Greater", graph.count(graph.shape(x, 0)), graph.unsqueeze(lengths, 1))
        infinite = graph.constant(-np.inf, np.float32)
        constants = graph.add("Where", graph.unsqueeze(beyond, 1), infinite, constants)
        return graph.add("LogSoftmax", graph.add("Add", scores, constants), axis=-1)


def _ids(graph: Graph, name: str) -> str:
    """Add an input of whole numbers (B, N); return it as (N, B)."""
    return graph.add("Transpose", graph.input(name, np.int64, WORDS), perm=(1, 0))


def _features(graph: Graph, x: str) -> str:
    """Return label features (N, B, K-1) → (B, N, K): ELU, and the constant 1."""
    x = graph.add("Transpose", graph.add("Elu", x), perm=(1, 0, 2))
    return graph.add("Pad", x, graph.constant([0, 0, 0, 0, 0, 1]), graph.constant(1, np.float32))
