"""The graph of a Transformer: BERT and its relatives, as the library transformers computes them.

Rows are padded for attention only: all other layers see the pieces of all rows in one sequence, without padding.
Shapes: R rows of P pieces, W pieces with those around a sentence, T pieces in all rows together, H features.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discotree.errors import ModelError
from discotree.network.encoder_config import EncoderConfig, LayerNames
from discotree.network.onnx.graph import END, MICROSOFT, Graph
from discotree.network.onnx.layers import embedding, linear, stacked
from discotree.network.onnx.row_steps import RowSteps
from discotree.network.transformer import Pretrained
from discotree.network.weights import Floats, Weights, dense

PREFIX = "encoder.pieces."
MODEL = PREFIX + "model."
NORM = ("weight", "bias")
SAMPLE = (8, 24)  # rows and columns of arbitrary pieces
PRIME = 7919  # spreads them over the vocabulary
MARGIN = 1.8  # in sentences, features get larger than in so few pieces
TANH = ("gelu_new", "gelu_pytorch_tanh")  # GELU by a hyperbolic tangent

Run = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Layout:
    """Where the pieces of a batch stand."""

    real: str  # (T,) number of each piece among the R · W cells
    rows: str  # (R, W) number of each cell among the T pieces; padding has that of a real piece
    columns: str  # (W,) 0, 1, …
    mask: str  # (R, 1, 1, W) 0 for a piece, -inf for padding


@dataclass(frozen=True)
class EncoderGraph:
    """A Transformer's sizes and weights, and the pieces that it expects around a sentence."""

    config: EncoderConfig
    before: list[int]
    after: list[int]
    weights: Weights

    @classmethod
    def of(cls, pieces: Pretrained, weights: Weights) -> "EncoderGraph":
        if pieces.config is None:
            kind = pieces.settings.get("model_type", "")
            raise ModelError(f"{pieces.where}: {kind!r:.50} needs the engine torch: pip install 'discotree[train]'")
        return cls(pieces.config, pieces.before, pieces.after, weights)

    def vectors(self, graph: Graph, pieces: str, counts: str, int8: bool) -> str:
        """Pieces (R, P) and how many there are (R,) → vectors (R, P, H): a mixture of the upper layers."""
        ids, layout = self._layout(graph, pieces, counts)
        mixture, scale = dense(self.weights[PREFIX + "mixture"]), dense(self.weights[PREFIX + "scale"])
        shares = np.exp(mixture - mixture.max())
        shares *= scale[0] / shares.sum()
        steps = RowSteps.of(graph, layout.real) if int8 else None
        x = self._embeddings(graph, ids, layout, steps)
        layers = [x]
        for number in range(self.config.layers):
            x = self._layer(graph, x, layout, LayerNames.of(self.config.kind, number), steps)
            layers.append(x)
        mixed = [
            graph.add("Mul", layer, graph.constant(share, np.float32))
            for layer, share in zip(layers[-len(shares) :], shares, strict=True)
        ]
        inside = graph.slice(layout.rows, len(self.before), -len(self.after) or END, 1)  # (R, P)
        return graph.add("Gather", graph.add("Sum", *mixed), inside)

    def ranges(self, run: Run) -> Floats:
        """Return how large each feature of its vectors gets, by running it over arbitrary pieces.

        Weights do not tell: some features are ten times as large as others, whatever the pieces are.
        """
        rows, width = SAMPLE[0], min(SAMPLE[1], self.config.room - len(self.before) - len(self.after))
        pieces = np.arange(rows * width).reshape(rows, width) * PRIME % self.config.vocab
        vectors = run({"pieces": pieces, "counts": np.linspace(1, width, rows).astype(np.int64)})["vectors"]
        largest = np.maximum(MARGIN * np.abs(vectors).max((0, 1)), np.finfo(np.float32).tiny)
        ranges: Floats = np.exp2(np.ceil(4 * np.log2(largest)) / 4).astype(np.float32)  # the last digits do not matter
        return ranges

    def _layout(self, graph: Graph, pieces: str, counts: str) -> tuple[str, Layout]:
        """Return all pieces (T,), with those around sentences, and where they stand."""
        begin, end = len(self.before), len(self.after)
        around = graph.add("Pad", pieces, graph.constant([0, begin, 0, end]))
        columns = graph.count(graph.shape(around, 1))  # (W,)
        place = graph.add("Sub", columns, graph.unsqueeze(counts, 1))  # (R, W): from ``begin`` on it is behind the end
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

    def _embeddings(self, graph: Graph, ids: str, layout: Layout, steps: RowSteps | None) -> str:
        """Pieces (T,) → what the first layer sees (T, H)."""
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
        return graph.add("Add", self._products(graph, x, steps, project)[0], self._bias(graph, project))

    def _layer(self, graph: Graph, x: str, layout: Layout, names: LayerNames, steps: RowSteps | None) -> str:
        """Return the next layer (T, H)."""
        own = (names.query, names.key, names.value)
        products = [
            graph.add("Gather", part, layout.rows) for part in self._products(graph, x, steps, *own)
        ]  # (R, W, H)
        seen = graph.reshape(self._attention(graph, products, own, layout), -1, self.config.hidden)  # (R · W, H)
        seen = self._products(graph, graph.add("Gather", seen, layout.real), steps, names.output)[0]
        x = self._normed_sum(graph, x, seen, names.output, names.attention_norm, steps)
        inner = self._activation(graph, self._products(graph, x, steps, names.widen)[0], names.widen, steps)
        narrow = self._products(graph, inner, steps and steps.mostly_positive(), names.narrow)[0]
        return self._normed_sum(graph, x, narrow, names.narrow, names.final_norm, steps)

    def _attention(self, graph: Graph, products: list[str], names: tuple[str, ...], layout: Layout) -> str:
        """Products with the weights of queries, keys and values → what each piece sees (R, W, heads, size)."""
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

    def _products(self, graph: Graph, x: str, steps: RowSteps | None, *names: str) -> list[str]:
        """Multiply (T, in) with the weights of linear layers; their biases are added later."""
        weights = [self.weights[f"{MODEL}{name}.weight"] for name in names]
        if steps is not None:
            return steps.products(graph, [MODEL + name for name in names], weights, x)
        product = linear(graph, MODEL + names[0], stacked(weights), None, x, int8=False)
        return graph.several(len(names), "Split", product, axis=-1) if len(names) > 1 else [product]

    def _normed_sum(self, graph: Graph, x: str, product: str, layer: str, norm: str, steps: RowSteps | None) -> str:
        """Add the product of a linear layer and its bias to what it was given a part of, and normalise."""
        x = graph.add("Add", graph.add("Add", x, product), self._bias(graph, layer))
        return self._normed(graph, norm, x, split=steps is not None)

    def _normed(self, graph: Graph, name: str, x: str, split: bool = False) -> str:
        """Normalise rows (T, H). ``split`` into simple operations, it takes a third of the time in ONNX Runtime."""
        scale, bias = (graph.array(f"{MODEL}{name}.{kind}", self._vector(f"{name}.{kind}")) for kind in NORM)
        if not split:
            return graph.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=self.config.epsilon)
        x = graph.add("Sub", x, graph.add("ReduceMean", x, axes=(1,), keepdims=1))
        # The sum of squares instead of their mean: ONNX Runtime does not recognise it and fuse all of this again.
        squares = graph.add("ReduceSumSquare", x, axes=(1,), keepdims=1)
        mean = graph.add("Mul", squares, graph.constant(1 / self.config.hidden, np.float32))
        deviation = graph.add("Sqrt", graph.add("Add", mean, graph.constant(self.config.epsilon, np.float32)))
        return graph.add("Add", graph.add("Mul", graph.add("Div", x, deviation), scale), bias)

    def _activation(self, graph: Graph, x: str, layer: str, steps: RowSteps | None) -> str:
        """Add the bias of a linear layer, and apply the activation."""
        kind, bias = self.config.activation, self._bias(graph, layer)
        # By a hyperbolic tangent, GELU is off by 0.0005 at most, and takes a third of the time of the error function.
        if steps is not None and kind in ("gelu", *TANH):
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

    def _vector(self, name: str) -> Floats:
        return dense(self.weights[MODEL + name])
