"""Layers in float32 or int8.

An int8 layer multiplies whole numbers: weights with one step for each output, inputs rounded at run time to 256 steps
between the smallest and the largest of the batch. Weights that are stored as such rows lose nothing.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discotree.network.onnx.graph import MICROSOFT, Graph
from discotree.network.weights import Floats, Rows, Weight, dense

# Kernels for x86 without VNNI add two products of an input (≤ 255) and a weight in 16 bits: 2 · 255 · 63 fits,
# 2 · 255 · 127 does not.
LARGEST = 63
COLUMNS = 32  # bytes of every row that are transposed at a time
Direction = tuple[Weight, Weight, Floats, Floats]  # weights of the inputs and of the hidden state, a bias for each
GATES = (0, 3, 1, 2)  # ONNX has input, output, forget, cell; PyTorch has input, forget, cell, output


def rows(weight: Weight) -> Rows:
    """Return a weight as rows of whole numbers that no kernel overflows on."""
    if isinstance(weight, Rows) and int(np.abs(weight.numbers).max(initial=0)) <= LARGEST:
        return weight
    values = dense(weight)
    flat = np.abs(values.reshape(len(values), -1))
    step = np.maximum(flat.max(1, initial=0) / np.float32(LARGEST), np.finfo(np.float32).tiny)
    numbers = np.rint(values / step.reshape(-1, *[1] * (values.ndim - 1)))
    return Rows(numbers.astype(np.int8), step)


def stacked(weights: Sequence[Weight]) -> Weight:
    """Return several matrices as one, below each other."""
    if all(isinstance(weight, Rows) for weight in weights):
        parts = [weight for weight in weights if isinstance(weight, Rows)]
        return Rows(np.concatenate([part.numbers for part in parts]), np.concatenate([part.step for part in parts]))
    return np.concatenate([dense(weight) for weight in weights])


def part(weight: Weight, where: tuple[slice, ...]) -> Weight:
    """Return some rows and columns of a weight."""
    return Rows(weight.numbers[where], weight.step[where[0]]) if isinstance(weight, Rows) else weight[where]


def embedding(graph: Graph, name: str, table: Weight, ids: str) -> str:
    """Look vectors up: ids (…) → (…, D). Whole numbers become floats after the look-up, not before."""
    if not isinstance(table, Rows):
        return graph.cast(graph.add("Gather", graph.array(name, table), ids), np.float32)
    numbers = graph.cast(graph.add("Gather", graph.array(name, table.numbers), ids), np.float32)
    step = graph.add("Gather", graph.array(name + ".step", table.step.astype(np.float32)), ids)
    return graph.add("Mul", numbers, graph.unsqueeze(step, -1))


def linear(graph: Graph, name: str, weight: Weight, bias: Floats | None, x: str, int8: bool) -> str:
    """Multiply with a matrix (out, in) and add a vector: (…, in) → (…, out)."""
    added = "" if bias is None else graph.array(name + ".bias", bias.astype(np.float32))
    if int8:
        quantised = rows(weight)
        matrix = graph.array(name + ".weight", quantised.numbers.T)
        step = graph.array(name + ".step", quantised.step)
        return graph.add("DynamicQuantizeMatMul", x, matrix, step, "", added, domain=MICROSOFT)
    product = graph.add("MatMul", x, graph.array(name + ".weight", dense(weight).T))
    return graph.add("Add", product, added) if added else product


def _transposed(numbers: npt.NDArray[np.int8], order: npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    """Return rows in a certain order as columns, some at a time: twice as fast as all at once."""
    result = np.empty(numbers.shape[::-1], np.int8)
    for begin in range(0, len(result), COLUMNS):
        part = slice(begin, begin + COLUMNS)
        result[part] = numbers[:, part].T[:, order]
    return result


def lstm(
    graph: Graph,
    name: str,
    directions: Sequence[Direction],
    x: str,
    lengths: str,
    start: tuple[str, str] | None,
    int8: bool,
) -> tuple[str, str]:
    """Run an LSTM over x (N, B, D) → outputs (N, directions, B, H) and final cells (directions, B, H).

    Outputs beyond the ``lengths`` are 0.
    """
    size = directions[0][1].shape[1]
    order = np.concatenate([np.arange(gate * size, (gate + 1) * size) for gate in GATES])
    bias = np.stack([np.concatenate([of_x[order], of_h[order]]) for _, _, of_x, of_h in directions])
    added = graph.array(name + ".bias", bias.astype(np.float32))
    direction = "bidirectional" if len(directions) == 2 else "forward"
    hidden, cells = start or ("", "")
    if int8:
        names, steps = [], []
        for k, kind in enumerate(("input", "hidden")):
            parts = [rows(weights[k]) for weights in directions]
            names.append(graph.array(f"{name}.{kind}", np.stack([_transposed(part.numbers, order) for part in parts])))
            steps.append(graph.array(f"{name}.{kind}.step", np.stack([part.step[order] for part in parts])))
            steps.append(graph.array(f"{name}.{kind}.zero", np.zeros((len(parts), 4 * size), np.int8)))
        inputs = (x, *names, added, lengths, hidden, cells, "", *steps)
        y, _, final = graph.several(
            3, "DynamicQuantizeLSTM", *inputs, domain=MICROSOFT, direction=direction, hidden_size=size
        )
    else:
        names = [
            graph.array(f"{name}.{kind}", np.stack([dense(weights[k])[order] for weights in directions]))
            for k, kind in enumerate(("input", "hidden"))
        ]
        inputs = (x, *names, added, lengths, hidden, cells)
        y, _, final = graph.several(3, "LSTM", *inputs, direction=direction, hidden_size=size)
    return y, final
