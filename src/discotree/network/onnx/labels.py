"""The graph that scores the labels of arcs: a biaffine layer.

Shapes: G heads, D dependents of each, M dependents, K label features with the constant 1, L labels.
"""

from dataclasses import dataclass

import numpy as np

from discotree.network.onnx.graph import Graph
from discotree.network.onnx.layers import linear, part
from discotree.network.weights import Floats, Rows, Weight, dense

ALL = slice(None)
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

    def weights(self, graph: Graph, heads: str) -> str:
        """Label features of heads (G, K) → the weights that labels give the features of a dependent (G, K · L)."""
        weight, bias = self._parts()
        return linear(graph, NAME, weight, bias, self._without_constant(graph, heads), self.int8)

    def products(self, graph: Graph, heads: str) -> str:
        """Return the same in int8 for features between -1 and 1, without what is the same for all heads."""
        weight, _ = self._parts()
        return linear(graph, NAME, weight, None, self._without_constant(graph, heads), self.int8, bounded=True)

    def constants(self, graph: Graph, dependents: str) -> str:
        """Label features of dependents (M, K) → the part of their scores (M, L) that is the same for all heads."""
        weights = self._parts()[1].reshape(self.size, self.count)
        return graph.add("MatMul", dependents, graph.array("label_constants", weights.astype(np.float32)))

    def _without_constant(self, graph: Graph, heads: str) -> str:
        return graph.slice(heads, 0, self.size - 1, 1)

    def _parts(self) -> tuple[Weight, Floats]:
        """Return the weights (K · L, K - 1) of the features of heads, and those (K · L,) of their constant 1."""
        flat: Weight
        if isinstance(self.bilinear, Rows):
            numbers = self.bilinear.numbers.swapaxes(0, 1).reshape(-1, self.size)
            flat = Rows(numbers, np.tile(self.bilinear.step, self.size))
        else:
            flat = dense(self.bilinear).swapaxes(0, 1).reshape(-1, self.size)  # (K · L, K)
        return part(flat, (ALL, slice(-1))), dense(part(flat, (ALL, slice(-1, None))))[:, 0]
