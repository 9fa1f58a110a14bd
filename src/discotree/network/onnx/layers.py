"""Layers in float32 or int8.

An int8 layer multiplies whole numbers: weights with one step for each output, and inputs rounded to 255 steps. Weights
that are stored as such rows lose nothing. The steps of inputs must not depend on the other sentences of a batch, or
these would change trees: inputs lie between -1 and 1, or are divided by the largest of their row. ONNX Runtime's LSTM
chooses the steps by itself, from the smallest to the largest number of the batch. So its inputs and its hidden state
have *anchors* beside them, two constant features that meet weights of 0: the largest and the smallest possible value.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discotree.network.onnx.graph import MICROSOFT, Graph
from discotree.network.scores import TINY
from discotree.network.weights import SAFE, Array, Floats, Rows, Weight, dense

LARGEST = SAFE  # a weight
ZERO = 128  # the number that stands for an input of 0
ANCHORS = 2  # constant features 1 and -1
SATURATED = 40.0  # tanh and sigmoid of it are exactly 1
# Biases of the input, forget, cell and output gate of a cell that keeps its content for ever, and shows all of it.
KEEPING = (-SATURATED, SATURATED, 0.0, SATURATED)
TABLE_ROWS = 4096  # rows of an embedding in float32 at a time
ROWS = 64  # rows of a matrix to transpose at a time
Direction = tuple[Weight, Weight, Floats, Floats]  # weights of the inputs and of the hidden state, a bias for each
GATES = (0, 3, 1, 2)  # ONNX has input, output, forget, cell; PyTorch has input, forget, cell, output


def rows(weight: Weight) -> Rows:
    """Return a weight as rows of whole numbers that no kernel overflows on."""
    if (
        isinstance(weight, Rows)
        and -LARGEST <= weight.numbers.min(initial=0) <= weight.numbers.max(initial=0) <= LARGEST
    ):
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


def largest(table: Weight) -> Floats:
    """Return the largest magnitude in each column of a table; a large one is never in memory as floats."""
    found = np.zeros(table.shape[1], np.float32)
    for begin in range(0, table.shape[0], TABLE_ROWS):
        values = np.abs(dense(part(table, (slice(begin, begin + TABLE_ROWS),))))
        np.maximum(found, values.max(0), out=found)
    return found


def embedding(graph: Graph, name: str, table: Weight, ids: str) -> str:
    """Look vectors up: ids (…) → (…, D). Whole numbers become floats after the look-up, not before."""
    if not isinstance(table, Rows):
        return graph.cast(graph.add("Gather", graph.array(name, table), ids), np.float32)
    numbers = graph.cast(graph.add("Gather", graph.array(name, table.numbers), ids), np.float32)
    step = graph.add("Gather", graph.array(name + ".step", table.step.astype(np.float32)), ids)
    return graph.add("Mul", numbers, graph.unsqueeze(step, -1))


def first_of(graph: Graph, vectors: str, index: str) -> str:
    """Return the vectors (B, P, D) at an index (N, B) of each sentence: (N, B, D)."""
    rows, columns = graph.shape(vectors, 0), graph.shape(vectors, 1)
    flat = graph.reshape(vectors, graph.add("Mul", rows, columns), graph.shape(vectors, 2))
    starts = graph.add("Mul", graph.count(rows), columns)
    return graph.add("Gather", flat, graph.add("Add", index, starts))


def mean_of(graph: Graph, vectors: str, first: str, last: str) -> str:
    """Return the mean over each word's pieces, from sums in double precision: (N, B, D)."""
    sums = graph.add("CumSum", graph.cast(vectors, np.float64), graph.constant(1))
    sums = graph.add("Pad", sums, graph.constant([0, 1, 0, 0, 0, 0]))
    total = graph.add(
        "Sub", first_of(graph, sums, graph.add("Add", last, graph.constant(1))), first_of(graph, sums, first)
    )
    count = graph.add("Add", graph.add("Sub", last, first), graph.constant(1))
    return graph.cast(graph.add("Div", total, graph.unsqueeze(graph.cast(count, np.float64), -1)), np.float32)


def linear(
    graph: Graph,
    name: str,
    weight: Weight,
    bias: Floats | None,
    x: str,
    int8: bool,
    bounded: bool = False,
    twice: bool = False,
) -> str:
    """Multiply with a matrix (out, in) and add a vector: (…, in) → (…, out).

    Inputs that are ``bounded`` lie between -1 and 1. With ``twice``, their rounding errors are multiplied as well:
    almost as exact as float32, in less time.
    """
    added = "" if bias is None else graph.array(name + ".bias", bias.astype(np.float32))
    if not int8:
        product = graph.add("MatMul", x, graph.array(name + ".weight", transposed(dense(weight))))
        return graph.add("Add", product, added) if added else product
    quantised = rows(weight)
    matrix = graph.array(name + ".weight", transposed(quantised.numbers))
    steps = graph.array(name + ".step", quantised.step)
    zero, largest = graph.constant(ZERO, np.uint8), ""
    if not bounded:
        largest = graph.add("ReduceMax", graph.add("Abs", x), axes=(-1,), keepdims=1)
        largest = graph.add("Max", largest, graph.constant(TINY, np.float32))
        x = graph.add("Div", x, largest)

    def product_of(x: str, step: str, added: str) -> tuple[str, str]:
        numbers = graph.add("QuantizeLinear", x, step, zero)
        product = graph.add("MatMulIntegerToFloat", numbers, matrix, step, steps, zero, "", added, domain=MICROSOFT)
        return product, numbers

    step = graph.constant(1 / (ZERO - 1), np.float32)
    product, numbers = product_of(x, step, added if bounded else "")
    if twice:
        errors = graph.add("Sub", x, graph.add("DequantizeLinear", numbers, step, zero))
        finer = graph.constant(0.5 / (ZERO - 1) ** 2, np.float32)  # an error is at most half a step
        product = graph.add("Add", product, product_of(errors, finer, "")[0])
    if not largest:
        return product
    product = graph.add("Mul", product, largest)
    return graph.add("Add", product, added) if added else product


def widened(weight: Weight, *positions: int) -> Weight:
    """Insert columns of 0 for anchors at these positions."""
    columns = np.repeat(positions, ANCHORS)
    if isinstance(weight, Rows):
        return Rows(np.insert(weight.numbers, columns, 0, axis=1), weight.step)
    return np.insert(weight, columns, 0, axis=1)


def lstm(
    graph: Graph,
    name: str,
    directions: Sequence[Direction],
    x: str,
    lengths: str,
    start: tuple[str, str] | None,
    anchors: Sequence[int] | None = None,
) -> tuple[str, str]:
    """Run an LSTM over x (N, B, D) → outputs (N, directions, B, H) and final cells (directions, B, H).

    Outputs beyond the ``lengths`` are 0. It is an int8 layer if there are ``anchors``: then x has two features without
    weights before each of these positions, and the last two of an output are anchors.
    """
    size = directions[0][1].shape[1]
    options: dict[str, Any] = {"direction": "bidirectional" if len(directions) == 2 else "forward"}
    if anchors is None:
        order = np.concatenate([np.arange(gate * size, (gate + 1) * size) for gate in GATES])
        bias = np.stack([np.concatenate([of_x[order], of_h[order]]) for _, _, of_x, of_h in directions])
        names = [
            graph.array(f"{name}.{kind}", np.stack([dense(weights[k])[order] for weights in directions]))
            for k, kind in enumerate(("input", "hidden"))
        ]
        inputs = (x, *names, graph.array(name + ".bias", bias.astype(np.float32)), lengths, *(start or ("", "")))
        y, _, final = graph.several(3, "LSTM", *inputs, hidden_size=size, **options)
        return y, final
    bias = np.stack([np.concatenate([_gates(of_x, KEEPING), _gates(of_h)]) for _, _, of_x, of_h in directions])
    names, steps = [], []
    for k, (kind, positions) in enumerate((("input", anchors), ("hidden", [size]))):
        parts = [rows(weights[k]) for weights in directions]
        names.append(graph.array(f"{name}.{kind}", _columns([part.numbers for part in parts], positions)))
        steps.append(graph.array(f"{name}.{kind}.step", np.stack([_gates(part.step) for part in parts])))
        steps.append(graph.array(f"{name}.{kind}.zero", np.zeros((len(parts), 4 * (size + ANCHORS)), np.int8)))
    start = _anchored_start(graph, directions, x, start)
    inputs = (x, *names, graph.array(name + ".bias", bias.astype(np.float32)), lengths, *start, "", *steps)
    options |= {"domain": MICROSOFT, "hidden_size": size + ANCHORS}
    y, _, final = graph.several(3, "DynamicQuantizeLSTM", *inputs, **options)
    return y, graph.slice(final, 0, -ANCHORS, 2)


def _gates(vector: Floats, anchors: Sequence[float] = (0, 0, 0, 0)) -> Floats:
    """Return a vector (4·H) in ONNX's order, with numbers for the anchors of each gate: (4·(H+2))."""
    parts = vector.reshape(4, -1)
    extra = np.repeat(np.array(anchors, np.float32)[:, None], ANCHORS, 1)
    found: Floats = np.concatenate([parts, extra], 1)[list(GATES)].reshape(-1).astype(np.float32)
    return found


def _columns(matrices: Sequence[npt.NDArray[np.int8]], anchors: Sequence[int]) -> npt.NDArray[np.int8]:
    """Return matrices (4·H, D) transposed and in ONNX's order, with 0 for anchors of outputs and inputs."""
    inputs, size = matrices[0].shape[1], matrices[0].shape[0] // 4
    result = np.zeros((len(matrices), inputs + ANCHORS * len(anchors), 4, size + ANCHORS), np.int8)
    for numbers, columns in zip(matrices, result, strict=True):
        gates = numbers.reshape(4, size, inputs)
        for shift, (left, right) in enumerate(pairwise([0, *anchors, inputs])):
            moved = slice(left + ANCHORS * shift, right + ANCHORS * shift)
            for to, gate in enumerate(GATES):
                _transpose(gates[gate, :, left:right], columns[moved, to, :size])
    return result.reshape(len(matrices), result.shape[1], -1)


def transposed(matrix: Array) -> Array:
    result = np.empty(matrix.shape[::-1], matrix.dtype)
    _transpose(matrix, result)
    return result


def _transpose(matrix: Array, target: Array) -> None:
    """Copy a matrix to its transpose. Some rows at a time take half the time of all at once: they fit the caches."""
    for begin in range(0, len(matrix), ROWS):
        target[:, begin : begin + ROWS] = matrix[begin : begin + ROWS].T


def _anchored_start(
    graph: Graph, directions: Sequence[Direction], x: str, start: tuple[str, str] | None
) -> tuple[str, str]:
    """Return the hidden state and the cells (directions, B, H) to start with, anchors included."""
    count, size = len(directions), directions[0][1].shape[1]
    found = []
    for k, content in enumerate(([1.0, -1.0], [SATURATED, -SATURATED])):
        own = [0.0] * size if start is None else []
        vector = graph.array(f"start.{size if start is None else 0}.{k}", np.array([own + content], np.float32)[None])
        width = graph.constant([len(own) + ANCHORS])
        shape = graph.add("Concat", graph.constant([count]), graph.shape(x, 1), width, axis=0)
        anchors = graph.add("Expand", vector, shape)
        found.append(anchors if start is None else graph.add("Concat", start[k], anchors, axis=-1))
    return found[0], found[1]
