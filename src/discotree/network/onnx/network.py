"""The graph of a network: settings, vocabulary and weights → operations, as network/pytorch/model.py runs them.

LSTMs read time first, so everything between the look-up of words and the scores is laid out as (N, B, …). Shapes: B
sentences, N words, N+1 positions with the dummy root in front, U distinct words of C characters, P pieces, H encoder
features, A arc features, K label features with the constant 1, L labels.

A Transformer below the network is BERT or one of its relatives, as the library transformers computes them. Its rows are
padded for attention only: all other layers see the pieces of all rows in one sequence, without padding. Shapes there: R
rows of P pieces, W pieces with those around a sentence, T pieces in all rows together, H features.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discotree.config.schema import NetworkSettings
from discotree.errors import ModelError
from discotree.network.arrays import F32, I64
from discotree.network.onnx.graph import (
    ANCHORS,
    END,
    MICROSOFT,
    POSITIVE_ZERO_POINT,
    ZERO_POINT,
    Direction,
    Graph,
    embedding,
    first_of,
    insert_anchors,
    largest,
    linear,
    lstm,
    mean_of,
    part,
    row_products,
    stacked,
)
from discotree.network.subwords import Subwords
from discotree.network.transformer import EncoderConfig, LayerNames, Pretrained
from discotree.network.vocab import PADDING, Vocab
from discotree.network.weights import QuantizedMatrix, Weight, Weights, dense

PREFIX = "encoder.pieces."
MODEL = PREFIX + "model."
NORM = ("weight", "bias")
SAMPLE = (8, 24)  # rows and columns of the pieces that ranges are measured with
PRIME = 7919  # spreads them over the vocabulary
MARGIN = 1.8  # features are larger in real sentences than in this sample
TANH = ("gelu_new", "gelu_pytorch_tanh")  # GELU by a hyperbolic tangent

# Rows of attention are padded to a multiple of this length, so that their sums are computed in the same order, and have
# the same last digit, whatever else is in the batch.
SIMD_WIDTH = 16
ATTENTION_CHUNK = 1 << 22  # largest number of pairs of pieces that attend to each other, and of features of a layer

Run = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Layout:
    """The positions of the pieces of a batch."""

    real: str  # (T,) number of each piece among the R · W cells
    rows: str  # (R, W) number of each cell among the T pieces; padding has that of a real piece
    columns: str  # (W,) 0, 1, …
    mask: str  # (R, 1, 1, W) 0 for a piece, -inf for padding


@dataclass(frozen=True)
class EncoderGraph:
    """The sizes and weights of a Transformer, and the pieces that it expects around a sentence."""

    config: EncoderConfig
    before: list[int]
    after: list[int]
    weights: Weights
    int8: bool

    @classmethod
    def from_weights(cls, pieces: Pretrained, weights: Weights, int8: bool) -> "EncoderGraph":
        if pieces.config is None:
            kind = pieces.settings.get("model_type", "")
            raise ModelError(
                f"{pieces.where}: the type {kind!r:.50} needs the engine torch; run pip install 'discotree[train]'"
            )
        return cls(pieces.config, pieces.before, pieces.after, weights, int8)

    def vectors(self, graph: Graph, pieces: str, counts: str) -> str:
        """Pieces (R, P) and their counts (R,) → vectors (R, P, H): a weighted sum of the upper layers."""
        ids, layout = self._layout(graph, pieces, counts)
        mixture, scale = dense(self.weights[PREFIX + "mixture"]), dense(self.weights[PREFIX + "scale"])
        shares = np.exp(mixture - mixture.max())
        shares *= scale[0] / shares.sum()
        x = self._embeddings(graph, ids, layout)
        layers = [x]
        for number in range(self.config.layers):
            x = self._layer(graph, x, layout, LayerNames.for_layer(self.config.kind, number))
            layers.append(x)
        mixed = [
            graph.add("Mul", layer, graph.constant(share, np.float32))
            for layer, share in zip(layers[-len(shares) :], shares, strict=True)
        ]
        inside = graph.slice(layout.rows, len(self.before), -len(self.after) or END, 1)  # (R, P)
        return graph.add("Gather", graph.add("Sum", *mixed), inside)

    def ranges(self, run: Run) -> F32:
        """Return the range of each feature of the vectors, measured by running the Transformer over arbitrary pieces.

        It cannot be read off the weights: some features are ten times as large as others, whatever the pieces are.
        """
        rows, width = SAMPLE[0], min(SAMPLE[1], self.width)
        pieces = np.arange(rows * width).reshape(rows, width) * PRIME % self.config.vocab
        vectors = run({"pieces": pieces, "counts": np.linspace(1, width, rows).astype(np.int64)})["vectors"]
        largest = np.maximum(MARGIN * np.abs(vectors).max((0, 1)), np.finfo(np.float32).tiny)
        ranges: F32 = np.exp2(np.ceil(4 * np.log2(largest)) / 4).astype(
            np.float32
        )  # rounded, so that the last digits do not matter
        return ranges

    @property
    def width(self) -> int:
        """The largest number of pieces in a window."""
        return self.config.room - len(self.before) - len(self.after)

    def read(self, run: Run, pieces: I64, counts: I64) -> F32:
        """Run the Transformer over pieces (B, P), given their counts (B,) → vectors (B, P or more, H).

        Long sentences are read in overlapping windows; a piece takes its vector from the window in which it is furthest
        from an edge. Shapes: at most K windows in a sentence; R windows of W pieces.
        """
        width = self.width
        stride = (width + 1) // 2
        if pieces.shape[1] <= width:
            return self._read(run, pieces, counts)
        columns = np.arange(pieces.shape[1])  # (P,)
        windows = np.maximum(counts - width + stride - 1, 0) // stride + 1  # (B,)
        starts = np.arange(windows.max()) * stride  # (K,)
        inside = np.minimum(starts[:, None] + columns[:width], len(columns) - 1)  # (K, W)
        real = starts < (windows * stride)[:, None]  # (B, K)
        sizes = np.clip(counts[:, None] - starts, 0, width)  # (B, K)
        vectors = self._read(run, pieces[:, inside][real], sizes[real])  # (R, W, H)
        rows = real.cumsum().reshape(real.shape) - 1  # (B, K) row of each window
        nearest = np.maximum((columns - width // 2 + stride // 2) // stride, 0)  # (P,)
        nearest = np.minimum(nearest, windows[:, None] - 1)  # (B, P)
        place = np.minimum(columns - nearest * stride, width - 1)
        chosen: F32 = vectors[np.take_along_axis(rows, nearest, 1), place]
        return chosen

    def _read(self, run: Run, pieces: I64, counts: I64) -> F32:
        """Return the vectors of pieces that fit one window, some sentences at a time."""
        sizes, around = self.config, len(self.before) + len(self.after)
        pieces = np.pad(pieces, ((0, 0), (0, -(pieces.shape[1] + around) % SIMD_WIDTH)))
        columns = pieces.shape[1] + around
        step = max(1, ATTENTION_CHUNK // (columns * max(sizes.inner, 3 * sizes.hidden, sizes.heads * columns)))
        parts = [
            run({"pieces": pieces[k : k + step], "counts": counts[k : k + step]})["vectors"]
            for k in range(0, len(pieces), step)
        ]
        vectors: F32 = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return vectors

    def _layout(self, graph: Graph, pieces: str, counts: str) -> tuple[str, Layout]:
        """Return all pieces (T,), with those around sentences, and their layout."""
        begin, end = len(self.before), len(self.after)
        around = graph.add("Pad", pieces, graph.constant([0, begin, 0, end]))
        columns = graph.count(graph.shape(around, 1))  # (W,)
        place = graph.add(
            "Sub", columns, graph.unsqueeze(counts, 1)
        )  # (R, W): values from ``begin`` on are behind the end
        known = np.array([*self.before, *self.after, self.config.padding])
        index = graph.add("Clip", place, graph.constant(begin), graph.constant(begin + end))
        behind = graph.add("Gather", graph.constant(known), index)
        inside = graph.add("Less", place, graph.constant(begin))
        ids = graph.add("Where", inside, around, behind)
        if begin:
            first = graph.add("Gather", graph.constant(known), graph.add("Min", columns, graph.constant(begin)))
            ids = graph.add("Where", graph.add("Less", columns, graph.constant(begin)), first, ids)
        real = graph.add("Less", place, graph.constant(begin + end))  # (R, W)
        infinite, zero = graph.constant(-np.inf, np.float32), graph.constant(0, np.float32)
        mask = graph.unsqueeze(graph.add("Where", real, zero, infinite), 1, 2)
        real = graph.reshape(real, -1)
        which = graph.add("Squeeze", graph.add("NonZero", real), graph.constant([0]))
        numbers = graph.add("CumSum", graph.cast(real, np.int64), graph.constant(0))
        numbers = graph.add("Max", graph.add("Sub", numbers, graph.constant(1)), graph.constant(0))
        rows = graph.add("Reshape", numbers, graph.add("Shape", place))
        return graph.add("Gather", graph.reshape(ids, -1), which), Layout(which, rows, columns, mask)

    def _embeddings(self, graph: Graph, ids: str, layout: Layout) -> str:
        """Pieces (T,) → the inputs of the first layer (T, H)."""
        name = "embeddings."
        words = embedding(graph, MODEL + "words", self.weights[f"{MODEL}{name}word_embeddings.weight"], ids)
        column = graph.add("Mod", layout.real, graph.shape(layout.columns, 0))
        position = graph.add("Add", column, graph.constant(self.config.first_position))
        table = self.weights[f"{MODEL}{name}position_embeddings.weight"]
        x = graph.add("Add", words, embedding(graph, MODEL + "positions", table, position))
        if self.config.types:
            kind = self._vector(f"{name}token_type_embeddings.weight")[0]  # all pieces are of the first type
            x = graph.add("Add", x, graph.array(MODEL + "type", kind))
        x, project = self._normed(graph, f"{name}LayerNorm", x), "embeddings_project"
        if self.config.embedding == self.config.hidden:
            return x
        return graph.add("Add", self._products(graph, x, project)[0], self._bias(graph, project))

    def _layer(self, graph: Graph, x: str, layout: Layout, names: LayerNames) -> str:
        """Return the next layer (T, H)."""
        attention = (names.query, names.key, names.value)
        products = [
            graph.add("Gather", part, layout.rows) for part in self._products(graph, x, *attention)
        ]  # (R, W, H)
        seen = graph.reshape(self._attention(graph, products, attention, layout), -1, self.config.hidden)  # (R · W, H)
        seen = self._products(graph, graph.add("Gather", seen, layout.real), names.output)[0]
        x = self._normed_sum(graph, x, seen, names.output, names.attention_norm)
        inner = self._activation(graph, self._products(graph, x, names.widen)[0], names.widen)
        narrow = self._products(graph, inner, names.narrow, zero_point=POSITIVE_ZERO_POINT)[0]
        return self._normed_sum(graph, x, narrow, names.narrow, names.final_norm)

    def _attention(self, graph: Graph, products: list[str], names: tuple[str, ...], layout: Layout) -> str:
        """Products with the weights of queries, keys and values → the output of attention (R, W, heads, size)."""
        heads, size = self.config.heads, self.config.hidden // self.config.heads
        query, key, value = (
            graph.reshape(graph.add("Add", part, self._bias(graph, name)), 0, 0, heads, size)
            for part, name in zip(products, names, strict=True)
        )
        query, value = (graph.add("Transpose", part, perm=(0, 2, 1, 3)) for part in (query, value))
        scores = graph.add("MatMul", query, graph.add("Transpose", key, perm=(0, 2, 3, 1)))
        scores = graph.add("Mul", scores, graph.constant(1 / math.sqrt(size), np.float32))
        shares = graph.add("Softmax", graph.add("Add", scores, layout.mask), axis=-1)
        return graph.add("Transpose", graph.add("MatMul", shares, value), perm=(0, 2, 1, 3))

    def _products(self, graph: Graph, x: str, *names: str, zero_point: int = ZERO_POINT) -> list[str]:
        """Multiply (T, in) with the weights of linear layers; their biases are added later."""
        weights = [self.weights[f"{MODEL}{name}.weight"] for name in names]
        if self.int8:
            return row_products(graph, [MODEL + name for name in names], weights, x, zero_point)
        product = linear(graph, MODEL + names[0], stacked(weights), None, x, int8=False)
        return graph.several(len(names), "Split", product, axis=-1) if len(names) > 1 else [product]

    def _normed_sum(self, graph: Graph, x: str, product: str, layer: str, norm: str) -> str:
        """Add the output of a linear layer to the residual and normalise."""
        x = graph.add("Add", graph.add("Add", x, product), self._bias(graph, layer))
        return self._normed(graph, norm, x, split=self.int8)

    def _normed(self, graph: Graph, name: str, x: str, split: bool = False) -> str:
        """Normalise rows (T, H). ``split`` into simple operations, this takes a third of the time in ONNX Runtime."""
        scale, bias = (graph.array(f"{MODEL}{name}.{kind}", self._vector(f"{name}.{kind}")) for kind in NORM)
        if not split:
            return graph.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=self.config.epsilon)
        x = graph.add("Sub", x, graph.add("ReduceMean", x, axes=(1,), keepdims=1))
        # The sum of squares, not their mean, so that ONNX Runtime does not fuse all of this into one operation again.
        squares = graph.add("ReduceSumSquare", x, axes=(1,), keepdims=1)
        mean = graph.add("Mul", squares, graph.constant(1 / self.config.hidden, np.float32))
        deviation = graph.add("Sqrt", graph.add("Add", mean, graph.constant(self.config.epsilon, np.float32)))
        return graph.add("Add", graph.add("Mul", graph.add("Div", x, deviation), scale), bias)

    def _activation(self, graph: Graph, x: str, layer: str) -> str:
        """Add the bias of a linear layer, and apply the activation."""
        kind, bias = self.config.activation, self._bias(graph, layer)
        # GELU by tanh has an error of at most 0.0005 and takes a third of the time of the error function.
        if self.int8 and kind in ("gelu", *TANH):
            return graph.add("FastGelu", x, bias, domain=MICROSOFT)
        x = graph.add("Add", x, bias)
        if kind == "relu":
            return graph.add("Relu", x)
        if kind == "silu":
            return graph.add("Mul", x, graph.add("Sigmoid", x))
        half, one = graph.constant(0.5, np.float32), graph.constant(1, np.float32)
        if kind == "gelu":
            share = graph.add("Erf", graph.add("Div", x, graph.constant(math.sqrt(2), np.float32)))
        else:
            cube = graph.add("Pow", x, graph.constant(3, np.float32))
            cube = graph.add("Add", x, graph.add("Mul", cube, graph.constant(0.044715, np.float32)))
            share = graph.add("Tanh", graph.add("Mul", cube, graph.constant(math.sqrt(2 / math.pi), np.float32)))
        return graph.add("Mul", graph.add("Mul", x, graph.add("Add", share, one)), half)

    def _bias(self, graph: Graph, layer: str) -> str:
        return graph.array(f"{MODEL}{layer}.bias", self._vector(f"{layer}.bias"))

    def _vector(self, name: str) -> F32:
        return dense(self.weights[MODEL + name])


NAME = "label_bilinear"


@dataclass(frozen=True, eq=False)
class LabelGraph:
    """A label's score for a dependent and its head is d · W · h."""

    bilinear: Weight  # (L, K, K): label, dependent, head
    int8: bool

    @property
    def count(self) -> int:
        """L, the number of labels."""
        return self.bilinear.shape[0]

    @property
    def size(self) -> int:
        """K, the number of features."""
        return self.bilinear.shape[1]

    def scores(self, graph: Graph, dependents: str, heads: str) -> str:
        """Label features of heads (G, K) and of dependents of each (G, D, K) → log-probabilities (G, D, L)."""
        weights = graph.reshape(self.weights(graph, heads), -1, self.size, self.count)
        return graph.add("LogSoftmax", graph.add("MatMul", dependents, weights), axis=-1)

    def weights(self, graph: Graph, heads: str, bounded: bool = False) -> str:
        """Label features of heads (G, K) → the weights that labels give the features of a dependent (G, K · L).

        If features are ``bounded`` by -1 and 1, the part that is the same for all heads is left out.
        """
        weight, bias = self._parts()
        features = graph.slice(heads, 0, self.size - 1, 1)  # without the constant 1
        return linear(graph, NAME, weight, None if bounded else bias, features, self.int8, bounded)

    def constants(self, graph: Graph, dependents: str) -> str:
        """Label features of dependents (M, K) → the part of their scores (M, L) that is the same for all heads."""
        weights = self._parts()[1].reshape(self.size, self.count)
        return graph.add("MatMul", dependents, graph.array("label_constants", weights.astype(np.float32)))

    def _parts(self) -> tuple[Weight, F32]:
        """Return the weights (K · L, K - 1) of the features of heads, and those (K · L,) of their constant 1."""
        flat: Weight
        if isinstance(self.bilinear, QuantizedMatrix):
            values = self.bilinear.values.swapaxes(0, 1).reshape(-1, self.size)
            flat = QuantizedMatrix(values, np.tile(self.bilinear.scale, self.size))
        else:
            flat = dense(self.bilinear).swapaxes(0, 1).reshape(-1, self.size)  # (K · L, K)
        return part(flat, (ALL, slice(-1))), dense(part(flat, (ALL, slice(-1, None))))[:, 0]


ALL = slice(None)
LENGTHS = "lengths"
Dimensions = tuple[str | int, ...]
WORDS: Dimensions = ("sentences", "words")


@dataclass(frozen=True)
class Network:
    """The settings and weights that graphs are built from."""

    settings: NetworkSettings
    weights: Weights
    has_tags: bool
    heads: Sequence[str]  # the auxiliary heads
    table: Weight | None  # vectors of sub-words
    encoder: EncoderGraph | None  # or a Transformer
    int8: bool
    encoder_ranges: F32 | None = None  # largest magnitudes of the Transformer's features, for int8
    subword_size: int = 0  # if sub-word vectors are looked up outside the graph: the features that it gets of a word

    @classmethod
    def from_weights(
        cls,
        settings: NetworkSettings,
        vocab: Vocab,
        has_tags: bool,
        pieces: Subwords | Pretrained | None,
        weights: Weights,
        int8: bool,
    ) -> "Network":
        table = pieces.vectors if isinstance(pieces, Subwords) else None
        encoder = EncoderGraph.from_weights(pieces, weights, int8) if isinstance(pieces, Pretrained) else None
        return cls(
            settings, weights, has_tags, list(vocab.class_counts(settings.auxiliary_heads)), table, encoder, int8
        )

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
        """The graph that scores the labels of arcs."""
        return LabelGraph(self.weights["label_bilinear"], self.int8)

    def _vector(self, name: str) -> F32:
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
        if self.subword_size:
            features = graph.input("subwords", np.float32, (*WORDS, self.subword_size))
            parts.append(graph.add("Transpose", features, perm=(1, 0, 2)))
        if self.table is not None:
            pieces = graph.input("pieces", np.int64, ("sentences", "pieces"))
            vectors = embedding(graph, "subwords", self.table, pieces)
        if vectors:
            first, last = _ids(graph, "first"), _ids(graph, "last")
            if self.table is not None:
                parts.append(first_of(graph, vectors, first))
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
                x, directions = self._equalise(graph, x, directions)
                anchors = [directions[0][0].shape[1]]
            y, cells = lstm(graph, name, directions, x, ends, None, anchors)
            x = graph.reshape(graph.add("Transpose", y, perm=(0, 2, 1, 3)), 0, 0, -1)
        cells = graph.add("Transpose", cells, perm=(1, 0, 2))
        return x, graph.reshape(cells, 0, 2 * self.settings.lstm_size)

    def _equalise(self, graph: Graph, x: str, directions: list[Direction]) -> tuple[str, list[Direction]]:
        """Divide inputs by their largest magnitude, multiply their weights by it, and add anchors.

        All inputs share one scale. Sub-word features are ten times as large as the others, which would lose precision.
        """
        ranges = self._ranges()
        x = graph.add("Div", x, graph.array("encoder.ranges", ranges))
        if self.encoder is not None:
            x = graph.add("Clip", x, graph.constant(-1, np.float32), graph.constant(1, np.float32))
        x = graph.add("Pad", x, graph.constant([0, 0, 0, 0, 0, ANCHORS]))
        anchors = np.array([*np.zeros(len(ranges)), 1, -1], np.float32)
        x = graph.add("Add", x, graph.array("encoder.anchors", anchors))
        return x, [(dense(of_x) * ranges, *rest) for of_x, *rest in directions]  # type: ignore[misc]

    def _for_vectors(self, weight: Weight) -> Weight:
        """Insert columns for the anchors of the encoder's vectors into a weight, if there are any."""
        return insert_anchors(weight, *self._anchors) if self._anchors else weight

    def _for_states(self, weight: Weight) -> Weight:
        """Insert columns for the anchors of the decoder's states into a weight, if there are any."""
        return insert_anchors(weight, self.settings.decoder_size) if self._anchors else weight

    @property
    def _anchors(self) -> list[int] | None:
        """The positions of anchors in the encoder's vectors. With anchors, vectors and states lie between -1 and 1."""
        size = self.settings.lstm_size
        return [size, 2 * size] if self.int8 and self.settings.lstm_layers else None

    def _ranges(self) -> F32:
        """Return the largest magnitude of each input of the encoder; that of a Transformer is measured."""
        parts = []
        if self.settings.word_size:
            parts.append(largest(self.weights["encoder.words.weight"]))
        if self.settings.char_filters:
            parts.append(np.ones(self.settings.char_filters, np.float32))  # tanh is below 1
        if self.has_tags:
            parts.append(largest(self.weights["encoder.tags.weight"]))
        if self.table is not None:
            parts += [largest(self.table)] * 2
        elif self.encoder_ranges is not None:
            parts.append(self.encoder_ranges)
        ranges: F32 = np.maximum(np.concatenate(parts), np.abs(self._vector("encoder.root")))
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
        """Return the scores. Arcs are almost exact, because rounding changes trees; all others share a product."""
        features = self.weights["arc_head.weight"].shape[1]
        auxiliary = [self.weights[f"auxiliary.{head}.weight"] for head in self.heads]
        sizes = [self.settings.label_size, *(weight.shape[0] for weight in auxiliary)]
        own = [self.weights["label_head.weight"], *(part(weight, (ALL, slice(features))) for weight in auxiliary)]
        bounded = self._anchors is not None
        zeros = [np.zeros(size, np.float32) for size in sizes[1:]]
        bias = np.concatenate([self._vector("label_head.bias"), *zeros])
        x = linear(graph, "vectors", self._for_vectors(stacked(own)), bias, vectors, self.int8, bounded)
        label_heads, *of_vectors = graph.several(len(sizes), "Split", x, graph.constant(sizes), axis=-1)
        own = [
            self.weights["label_dependent.weight"],
            *(part(weight, (ALL, slice(features, None))) for weight in auxiliary),
        ]
        names = ["label_dependent.bias", *(f"auxiliary.{head}.bias" for head in self.heads)]
        bias = np.concatenate([self._vector(name) for name in names])
        weight = self._for_states(stacked(own))
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
        name, weight = "arc_dependent", self._for_states(self.weights["arc_dependent.weight"])
        bias = self._vector(f"{name}.bias")
        dependents = linear(graph, name, weight, bias, states, self.int8, bounded=True, twice=True)
        name, weight = "arc_head", self._for_vectors(self.weights["arc_head.weight"])
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


CLASSES = ".classes"


def characters_graph(network: Network) -> Graph:
    """Characters of distinct words → their vectors."""
    graph = Graph("characters")
    chars = graph.input("chars", np.int64, ("forms", "characters"))
    graph.output("characters", network.characters(graph, chars), np.float32, ("forms", network.settings.char_filters))
    return graph


def transformer_graph(network: Network) -> Graph:
    """Pieces and their counts → vectors of pieces."""
    assert network.encoder is not None
    graph = Graph("Transformer")
    pieces = graph.input("pieces", np.int64, ("sentences", "pieces"))
    counts = graph.input("counts", np.int64, ("sentences",))
    vectors = network.encoder.vectors(graph, pieces, counts)
    graph.output("vectors", vectors, np.float32, ("sentences", "pieces", network.encoder.config.hidden))
    return graph


def network_graph(network: Network) -> Graph:
    """Sentences, with the vectors of characters and pieces → scores."""
    graph = Graph("network")
    settings, vectors, characters = network.settings, "", ""
    if settings.char_filters:
        characters = graph.input("characters", np.float32, ("forms", settings.char_filters))
    if network.encoder is not None:
        vectors = graph.input("vectors", np.float32, ("sentences", "pieces", network.encoder.config.hidden))
    add_outputs(graph, network, network.scores(graph, characters, vectors))
    return graph


def add_outputs(graph: Graph, network: Network, scores: dict[str, str]) -> None:
    size = network.settings.label_size + 1
    shapes: dict[str, Dimensions] = {
        "arcs": ("sentences", "words", "positions"),
        "dependents": ("sentences", "words", size),
        "heads": ("sentences", "positions", size),
    }
    for name, value in scores.items():
        dtype = np.int64 if name.endswith(CLASSES) else np.float32
        graph.output(name, value, dtype, shapes.get(name, WORDS))


def labeler_graph(network: Network, compact: bool = False) -> Graph:
    """Label features of heads → the weights that labels give the features of a dependent.

    In int8 the features are between -1 and 1, and ``label_constants`` has the part that is the same for all heads.
    """
    graph, labels = Graph("labeler", compact), network.labels
    heads = graph.input("heads", np.float32, ("heads", labels.size))
    weights = labels.weights(graph, heads, bounded=labels.int8)
    graph.output("weights", weights, np.float32, ("heads", labels.count * labels.size))
    return graph


def label_constants_graph(network: Network) -> Graph:
    """Label features of dependents → the part of their scores that is the same for all heads."""
    graph, labels = Graph("label_constants"), network.labels
    dependents = graph.input("dependents", np.float32, ("arcs", labels.size))
    graph.output("scores", labels.constants(graph, dependents), np.float32, ("arcs", labels.count))
    return graph
