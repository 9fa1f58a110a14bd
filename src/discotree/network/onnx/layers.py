"""Layers in float32 or int8.

An int8 layer multiplies whole numbers: weights with one step for each output, and inputs rounded to 255 steps. Weights
that are stored as such rows lose nothing. The steps of inputs must not depend on the other sentences of a batch, or
these would change trees: inputs lie between -1 and 1, or are divided by the largest of their row. ONNX Runtime's LSTM
chooses the steps by itself, from the smallest to the largest number of the batch. So its inputs and its hidden state
have *anchors* beside them, two constant features that meet weights of 0: the largest and the smallest possible value.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from discotree.network.onnx.graph import MICROSOFT, Graph
from discotree.network.weights import Floats, Rows, Weight, dense

# Kernels for x86 without VNNI add two products of an input (≤ 255) and a weight in 16 bits: 2 · 255 · 63 fits,
# 2 · 255 · 127 does not.
LARGEST = 63
ZERO = 128  # the number that stands for an input of 0
TINY = 1e-30
ANCHORS = 2  # constant features 1 and -1
SATURATED = 40.0  # before a sigmoid or twice tanh: exactly 1 behind it
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


def linear(
    graph: Graph, name: str, weight: Weight, bias: Floats | None, x: str, int8: bool, bounded: bool = False
) -> str:
    """Multiply with a matrix (out, in) and add a vector: (…, in) → (…, out).

    Inputs that are ``bounded`` lie between -1 and 1.
    """
    added = "" if bias is None else graph.array(name + ".bias", bias.astype(np.float32))
    if not int8:
        product = graph.add("MatMul", x, graph.array(name + ".weight", dense(weight).T))
        return graph.add("Add", product, added) if added else product
    quantised = rows(weight)
    matrix, steps = graph.array(name + ".weight", quantised.numbers.T), graph.array(name + ".step", quantised.step)
    step, zero = graph.constant(1 / (ZERO - 1), np.float32), graph.constant(ZERO, np.uint8)
    if bounded:
        numbers = graph.add("QuantizeLinear", x, step, zero)
        return graph.add("MatMulIntegerToFloat", numbers, matrix, step, steps, zero, "", added, domain=MICROSOFT)
    largest = graph.add("ReduceMax", graph.add("Abs", x), axes=(-1,), keepdims=1)
    largest = graph.add("Max", largest, graph.constant(TINY, np.float32))
    numbers = graph.add("QuantizeLinear", graph.add("Div", x, largest), step, zero)
    product = graph.add("MatMulIntegerToFloat", numbers, matrix, step, steps, zero, domain=MICROSOFT)
    product = graph.add("Mul", product, largest)
    return graph.add("Add", product, added) if added else product


def _transposed(numbers: npt.NDArray[np.int8], order: npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    """Return rows in a certain order as columns, some at a time: twice as fast as all at once."""
    result = np.empty(numbers.shape[::-1], np.int8)
    for begin in range(0, len(result), COLUMNS):
        part = slice(begin, begin + COLUMNS)
        result[part] = numbers[:, part].T[:, order]
    return result


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
    int8: bool,
) -> tuple[str, str]:
    """Run an LSTM over x (N, B, D) → outputs (N, directions, B, H) and final cells (directions, B, H).

    Outputs beyond the ``lengths`` are 0. With int8, x must have anchors, and the last features of outputs are anchors.
    """
    if int8:
        directions, start = (
            [_anchored(*weights) for weights in directions],
            _anchored_start(graph, directions, x, start),
        )
    size = directions[0][1].shape[1]
    order = np.concatenate([np.arange(gate * size, (gate + 1) * size) for gate in GATES])
    bias = np.stack([np.concatenate([of_x[order], of_h[order]]) for _, _, of_x, of_h in directions])
    added = graph.array(name + ".bias", bias.astype(np.float32))
    direction = "bidirectional" if len(directions) == 2 else "forward"
    hidden, cells = start or ("", "")
    if not int8:
        names = [
            graph.array(f"{name}.{kind}", np.stack([dense(weights[k])[order] for weights in directions]))
            for k, kind in enumerate(("input", "hidden"))
        ]
        inputs = (x, *names, added, lengths, hidden, cells)
        y, _, final = graph.several(3, "LSTM", *inputs, direction=direction, hidden_size=size)
        return y, final
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
    return y, graph.slice(final, 0, -ANCHORS, 2)


def _anchored(of_inputs: Weight, of_hidden: Weight, input_bias: Floats, hidden_bias: Floats) -> Direction:
    """Add two cells that keep their content for ever: nothing enters, nothing is forgotten, all is shown."""
    size = of_hidden.shape[1]
    ends = np.repeat(np.arange(1, 5) * size, ANCHORS)  # behind each of the gates
    gates = np.repeat(
        np.array([-SATURATED, SATURATED, 0, SATURATED], np.float32), ANCHORS
    )  # input, forget, cell, output
    weights = [_with_rows(weight, ends) for weight in (of_inputs, widened(of_hidden, size))]
    biases = [np.insert(input_bias, ends, gates), np.insert(hidden_bias, ends, 0)]
    return weights[0], weights[1], biases[0], biases[1]


def _with_rows(weight: Weight, positions: npt.NDArray[np.int64]) -> Rows:
    whole = rows(weight)
    return Rows(np.insert(whole.numbers, positions, 0, axis=0), np.insert(whole.step, positions, 1))


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
