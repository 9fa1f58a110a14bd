"""The graph of a Transformer: BERT and its relatives, as the library transformers computes them.

Shapes: R rows of P pieces, W pieces with those around a sentence, H features.
"""

import math
from dataclasses import dataclass

import numpy as np

from discotree.errors import ModelError
from discotree.network.encoder_config import EncoderConfig, LayerNames
from discotree.network.onnx.graph import END, Graph
from discotree.network.onnx.layers import embedding, linear, stacked
from discotree.network.transformer import Pretrained
from discotree.network.weights import Floats, Weights, dense

PREFIX = "encoder.pieces."
MODEL = PREFIX + "model."
NORM = ("weight", "bias")


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
        ids, mask = self._ids(graph, pieces, counts)
        x = self._embeddings(graph, ids, int8)
        mixture, scale = dense(self.weights[PREFIX + "mixture"]), dense(self.weights[PREFIX + "scale"])
        shares = np.exp(mixture - mixture.max())
        shares *= scale[0] / shares.sum()
        layers = [x]
        for number in range(self.config.layers):
            x = self._layer(graph, x, mask, LayerNames.of(self.config.kind, number), int8)
            layers.append(x)
        mixed = [
            graph.add("Mul", layer, graph.constant(share, np.float32))
            for layer, share in zip(layers[-len(shares) :], shares, strict=True)
        ]
        return graph.slice(graph.add("Sum", *mixed), len(self.before), -len(self.after) or END, 1)

    def _ids(self, graph: Graph, pieces: str, counts: str) -> tuple[str, str]:
        """Return the pieces with those around them (R, W), and 0 or -inf for each (R, 1, 1, W)."""
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
        beyond = graph.add("GreaterOrEqual", place, graph.constant(begin + end))
        infinite, zero = graph.constant(-np.inf, np.float32), graph.constant(0, np.float32)
        return ids, graph.unsqueeze(graph.add("Where", beyond, infinite, zero), 1, 2)

    def _embeddings(self, graph: Graph, ids: str, int8: bool) -> str:
        name = "embeddings."
        words = embedding(graph, MODEL + "words", self.weights[f"{MODEL}{name}word_embeddings.weight"], ids)
        table = graph.array(MODEL + "positions", self._vector(f"{name}position_embeddings.weight"))
        first = graph.constant([self.config.first_position])
        end = graph.add("Add", graph.shape(ids, 1), first)
        x = graph.add("Add", words, graph.add("Slice", table, first, end, graph.constant([0])))
        if self.config.types:
            kind = self._vector(f"{name}token_type_embeddings.weight")[0]  # all pieces are of the first type
            x = graph.add("Add", x, graph.array(MODEL + "type", kind))
        x = self._norm(graph, f"{name}LayerNorm", x)
        return self._linear(graph, x, int8, "embeddings_project") if self.config.embedding != self.config.hidden else x

    def _layer(self, graph: Graph, x: str, mask: str, names: LayerNames, int8: bool) -> str:
        heads, size = self.config.heads, self.config.hidden // self.config.heads
        joint = self._linear(graph, x, int8, names.query, names.key, names.value)
        joint = graph.add("Transpose", graph.reshape(joint, 0, 0, 3, heads, size), perm=(2, 0, 3, 1, 4))
        query, key, value = (
            graph.add("Squeeze", part, graph.constant([0])) for part in graph.several(3, "Split", joint, axis=0)
        )  # (R, heads, W, size) each
        scores = graph.add("MatMul", query, graph.add("Transpose", key, perm=(0, 1, 3, 2)))
        scores = graph.add("Mul", scores, graph.constant(1 / math.sqrt(size), np.float32))
        shares = graph.add("Softmax", graph.add("Add", scores, mask), axis=-1)
        seen = graph.add("Transpose", graph.add("MatMul", shares, value), perm=(0, 2, 1, 3))
        seen = self._linear(graph, graph.reshape(seen, 0, 0, self.config.hidden), int8, names.output)
        x = self._norm(graph, names.attention_norm, graph.add("Add", x, seen))
        inner = self._activation(graph, self._linear(graph, x, int8, names.widen))
        return self._norm(graph, names.final_norm, graph.add("Add", x, self._linear(graph, inner, int8, names.narrow)))

    def _linear(self, graph: Graph, x: str, int8: bool, *names: str) -> str:
        """Apply one linear layer, or several with their outputs side by side."""
        weight = stacked([self.weights[f"{MODEL}{name}.weight"] for name in names])
        bias = np.concatenate([self._vector(f"{name}.bias") for name in names])
        return linear(graph, MODEL + names[0], weight, bias, x, int8)

    def _norm(self, graph: Graph, name: str, x: str) -> str:
        scale, bias = (graph.array(f"{MODEL}{name}.{kind}", self._vector(f"{name}.{kind}")) for kind in NORM)
        return graph.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=self.config.epsilon)

    def _activation(self, graph: Graph, x: str) -> str:
        kind = self.config.activation
        if kind == "relu":
            return graph.add("Relu", x)
        if kind == "silu":
            return graph.add("Mul", x, graph.add("Sigmoid", x))
        half, one = graph.constant(0.5, np.float32), graph.constant(1, np.float32)
        if kind == "gelu":
            share = graph.add("Erf", graph.add("Div", x, graph.constant(math.sqrt(2), np.float32)))
        else:  # the approximation by a hyperbolic tangent
            cube = graph.add("Pow", x, graph.constant(3, np.float32))
            cube = graph.add("Add", x, graph.add("Mul", cube, graph.constant(0.044715, np.float32)))
            share = graph.add("Tanh", graph.add("Mul", cube, graph.constant(math.sqrt(2 / math.pi), np.float32)))
        return graph.add("Mul", graph.add("Mul", x, graph.add("Add", share, one)), half)

    def _vector(self, name: str) -> Floats:
        return dense(self.weights[MODEL + name])
