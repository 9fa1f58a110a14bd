"""Int8 products in which every row of inputs has a step of its own, so that no row depends on the others.

A row is rounded to 255 steps between its smallest and its largest number. ONNX Runtime's product wants the same zero in
all rows, so their steps make room for both ends: the number that stands for 0 says how the 255 are divided.
Shapes: T rows of inputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discotree.network.onnx.graph import MICROSOFT, Graph
from discotree.network.onnx.layers import ZERO, rows, transposed
from discotree.network.scores import TINY
from discotree.network.weights import Weight

LARGEST = 255  # an input
POSITIVE_ZERO = 16  # stands for 0 where negative numbers are small, as those that GELU lets through


@dataclass(frozen=True)
class RowSteps:
    """How rows of inputs are rounded."""

    count: str  # (1,) T
    zero: int  # stands for 0

    @classmethod
    def of(cls, graph: Graph, like: str) -> "RowSteps":
        """Round as many rows as another array has, symmetrically around 0."""
        return cls(graph.shape(like, 0), ZERO)

    def mostly_positive(self) -> "RowSteps":
        """Give most of the 255 steps to numbers above 0."""
        return replace(self, zero=POSITIVE_ZERO)

    def products(self, graph: Graph, names: Sequence[str], weights: Sequence[Weight], x: str) -> list[str]:
        """Multiply inputs (T, in), which are rounded once, with matrices (out, in): (T, out) each."""
        zero = graph.constant(self.zero, np.uint8)
        ends = [
            graph.add("Mul", graph.add(kind, x, axes=(1,), keepdims=0), graph.constant(1 / room, np.float32))
            for kind, room in (("ReduceMax", LARGEST - self.zero), ("ReduceMin", -self.zero))
        ]
        step = graph.add("Max", *ends, graph.constant(TINY, np.float32))  # (T,)
        numbers = graph.add("QuantizeLinear", x, step, graph.add("Expand", zero, self.count), axis=0)
        one, column = graph.constant(1, np.float32), graph.unsqueeze(step, 1)
        found = []
        for name, weight in zip(names, weights, strict=True):
            quantised = rows(weight)
            matrix = graph.array(name + ".weight", transposed(quantised.numbers))
            steps = graph.array(name, quantised.step)
            product = graph.add("MatMulIntegerToFloat", numbers, matrix, one, steps, zero, domain=MICROSOFT)
            found.append(graph.add("Mul", product, column))
        return found
