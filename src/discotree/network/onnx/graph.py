"""Build ONNX graphs from operations and layers, and write them as files, without the package onnx.

Only the few messages of https://onnx.ai/onnx/repo-docs/IR.html that a graph needs are written. A message is a sequence
of fields. A field starts with its number and its kind: 0 for an integer in groups of seven bits, 2 for a length and as
many bytes, 5 for four bytes.

An int8 layer multiplies integers: weights with one scale for each output, and inputs quantized to 255 steps. Weights
that are stored as a QuantizedMatrix lose nothing. The scale of the inputs must not depend on the other sentences of a
batch, because these would then change trees: inputs lie between -1 and 1, or are divided by the largest value of their
row. ONNX Runtime's LSTM chooses its own scale, from the smallest to the largest value of the batch. Its inputs and its
hidden state therefore have *anchors*, two constant features with weights of 0: the largest and the smallest possible
value.
"""

import struct
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discotree.network.arrays import F32, I64, Array
from discotree.network.scores import TINY
from discotree.network.weights import MAX_INT8, QuantizedMatrix, Weight, dense

Attribute = int | float | str | Sequence[int]

FORMAT_VERSION = 8
TYPES = {
    np.dtype(name): number
    for name, number in (
        *(("float32", 1), ("uint8", 2), ("int8", 3), ("int32", 6)),
        *(("int64", 7), ("bool", 9), ("float16", 10), ("float64", 11)),
    )
}
FLOAT, INT, STRING, INTS = 1, 2, 3, 7  # kinds of attributes
_SHORT = [bytes([value]) for value in range(0x80)]
EXTERNAL = 1  # the data of a tensor is not in the file


def node_message(
    kind: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Mapping[str, Attribute], domain: str = ""
) -> bytes:
    """Return one operation. An input without a name is left out."""
    return (
        b"".join(_text(1, part) for part in inputs)
        + b"".join(_text(2, part) for part in outputs)
        + _text(3, outputs[0])
        + _text(4, kind)
        + b"".join(_bytes(5, attribute_message(*item)) for item in attributes.items())
        + _text(7, domain)
    )


def attribute_message(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + b"\x15" + struct.pack("<f", value) + _number(20, FLOAT)
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, INT)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _number(20, STRING)
    return _text(1, name) + b"".join(_number(8, part) for part in value) + _number(20, INTS)


def tensor_message(name: str, array: Array, inside: bool) -> bytes:
    """Return an array with its data ``inside``, or one whose data is passed when the model is loaded."""
    head = b"".join(_number(1, size) for size in array.shape) + _number(2, TYPES[array.dtype]) + _text(8, name)
    if inside:
        return head + _bytes(9, array.astype(array.dtype.newbyteorder("<")).tobytes())
    return head + _bytes(13, _pair("location", "elsewhere")) + _number(14, EXTERNAL)


def value_message(name: str, dtype: npt.DTypeLike, shape: Sequence[str | int]) -> bytes:
    """Return an input or an output; sizes that vary have names."""
    sizes = (_number(1, size) if isinstance(size, int) else _text(2, size) for size in shape)
    array = _number(1, TYPES[np.dtype(dtype)]) + _bytes(2, b"".join(_bytes(1, size) for size in sizes))
    return _text(1, name) + _bytes(2, _bytes(1, array))


def _pair(key: str, text: str) -> bytes:
    return _text(1, key) + _text(2, text)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode("utf-8"))


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    if 0 <= value <= 0x7F:  # nearly all of them
        return _SHORT[value]
    value &= (1 << 64) - 1  # a negative number takes ten bytes
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])


OPSET = 17
MICROSOFT, MICROSOFT_OPSET = "com.microsoft", 1  # operations of ONNX Runtime beyond the standard
PRODUCER = "discotree"
END = 1 << 62  # beyond the end of every axis
SMALL = 1024  # bytes of an array that is always written to the file


class Graph:
    """Operations in the order in which they run. Values have names; operations return those of their outputs."""

    def __init__(self, name: str, compact: bool = False) -> None:
        """A ``compact`` graph keeps weights in as few bits as they are stored in, and converts them to float32."""
        self.name = name
        self.compact = compact
        self.arrays: dict[str, Array] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._nodes: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._count = 0
        self._domains = {"": OPSET}

    def input(self, name: str, dtype: npt.DTypeLike, shape: Sequence[str | int]) -> str:
        self._inputs.append(value_message(name, dtype, shape))
        return name

    def output(self, name: str, value: str, dtype: npt.DTypeLike, shape: Sequence[str | int]) -> None:
        """Make a value an output with a name."""
        self._nodes.append(node_message("Identity", [value], [name], {}))
        self._outputs.append(value_message(name, dtype, shape))

    def array(self, name: str, array: Array) -> str:
        """Add a weight."""
        self.arrays[name] = np.ascontiguousarray(array)
        return name

    def constant(self, value: Any, dtype: npt.DTypeLike = np.int64) -> str:
        """Return the name of a small array; equal ones are shared."""
        array = np.asarray(value, dtype)
        key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.array(self._new("constant"), array)
        return self._constants[key]

    def add(self, kind: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """Add an operation with one output."""
        return self.several(1, kind, *inputs, domain=domain, **attributes)[0]

    def several(self, count: int, kind: str, *inputs: str, domain: str = "", **attributes: Attribute) -> list[str]:
        """Add an operation with several outputs."""
        outputs = [self._new(kind.lower()) for _ in range(count)]
        self._nodes.append(node_message(kind, inputs, outputs, attributes, domain))
        if domain:
            self._domains[domain] = MICROSOFT_OPSET
        return outputs

    def model(self, inside: bool = False, metadata: Mapping[str, str] | None = None) -> bytes:
        """Return the file, with all weights ``inside`` or without the large ones: see ``external_weights``."""
        tensors = [tensor_message(name, a, inside or a.nbytes <= SMALL) for name, a in self.arrays.items()]
        graph = [
            *(_bytes(1, part) for part in self._nodes),
            _text(2, self.name),
            *(_bytes(5, part) for part in tensors),
            *(_bytes(11, part) for part in self._inputs),
            *(_bytes(12, part) for part in self._outputs),
        ]
        opsets = (_text(1, domain) + _number(2, version) for domain, version in self._domains.items())
        parts = [
            _number(1, FORMAT_VERSION),
            _text(2, PRODUCER),
            _bytes(7, b"".join(graph)),
            *(_bytes(8, opset) for opset in opsets),
            *(_bytes(14, _pair(key, value)) for key, value in (metadata or {}).items()),
        ]
        return b"".join(parts)

    def external_weights(self) -> dict[str, Array]:
        """Return the weights that have to be passed when a file without them is loaded."""
        return {name: array for name, array in self.arrays.items() if array.nbytes > SMALL}

    # Shorthands

    def cast(self, x: str, dtype: npt.DTypeLike) -> str:
        return self.add("Cast", x, to=TYPES[np.dtype(dtype)])

    def shape(self, x: str, axis: int) -> str:
        """Return the size along an axis as a vector of one number."""
        return self.add("Shape", x, start=axis, end=axis + 1)

    def count(self, size: str) -> str:
        """Return 0, 1, … below a size, which is a vector of one number."""
        return self.add("Range", self.constant(0), self.add("Squeeze", size), self.constant(1))

    def reshape(self, x: str, *sizes: int | str) -> str:
        """Change the shape; a size is a number (-1: the remaining size, 0: as before) or a vector of one number."""
        if all(isinstance(size, int) for size in sizes):
            return self.add("Reshape", x, self.constant(sizes))
        parts = [self.constant([size]) if isinstance(size, int) else size for size in sizes]
        return self.add("Reshape", x, self.add("Concat", *parts, axis=0))

    def slice(self, x: str, begin: int, end: int, axis: int) -> str:
        """Return a part along an axis; negative numbers count from the end."""
        return self.add("Slice", x, self.constant([begin]), self.constant([end]), self.constant([axis]))

    def unsqueeze(self, x: str, *axes: int) -> str:
        return self.add("Unsqueeze", x, self.constant(axes))

    def _new(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count}"


# Layers

ZERO_POINT = 128  # the uint8 value that stands for an input of 0
ANCHORS = 2  # constant features 1 and -1
SATURATED = 40.0  # tanh and sigmoid of this are exactly 1 in single precision
# Biases of the input, forget, cell and output gate of a cell that never changes and is always visible.
LATCH_BIAS = (-SATURATED, SATURATED, 0.0, SATURATED)
TABLE_ROWS = 4096  # rows of an embedding in float32 at a time
TRANSPOSED_ROWS = 64  # rows of a matrix to transpose at a time
Direction = tuple[Weight, Weight, F32, F32]  # weights of the inputs and of the hidden state, a bias for each
GATES = (0, 3, 1, 2)  # ONNX has input, output, forget, cell; PyTorch has input, forget, cell, output
MAX_UINT8 = 255
POSITIVE_ZERO_POINT = 16  # for inputs whose negative values are small, such as the output of GELU


def quantized(weight: Weight) -> QuantizedMatrix:
    """Return a weight as int8 values that are small enough for every kernel: see MAX_INT8."""
    if (
        isinstance(weight, QuantizedMatrix)
        and -MAX_INT8 <= weight.values.min(initial=0) <= weight.values.max(initial=0) <= MAX_INT8
    ):
        return weight
    floats = dense(weight)
    flat = np.abs(floats.reshape(len(floats), -1))
    scale = np.maximum(flat.max(1, initial=0) / np.float32(MAX_INT8), np.finfo(np.float32).tiny)
    values = np.rint(floats / scale.reshape(-1, *[1] * (floats.ndim - 1)))
    return QuantizedMatrix(values.astype(np.int8), scale)


def stacked(weights: Sequence[Weight]) -> Weight:
    """Concatenate matrices by their rows."""
    if all(isinstance(weight, QuantizedMatrix) for weight in weights):
        parts = [weight for weight in weights if isinstance(weight, QuantizedMatrix)]
        return QuantizedMatrix(
            np.concatenate([part.values for part in parts]), np.concatenate([part.scale for part in parts])
        )
    return np.concatenate([dense(weight) for weight in weights])


def part(weight: Weight, where: tuple[slice | I64, ...]) -> Weight:
    """Return some rows and columns of a weight."""
    return (
        QuantizedMatrix(weight.values[where], weight.scale[where[0]])
        if isinstance(weight, QuantizedMatrix)
        else weight[where]
    )


def largest(table: Weight) -> F32:
    """Return the largest magnitude in each column of a table, without copying all of it to floats."""
    maxima = np.zeros(table.shape[1], np.float32)
    for begin in range(0, table.shape[0], TABLE_ROWS):
        values = np.abs(dense(part(table, (slice(begin, begin + TABLE_ROWS),))))
        np.maximum(maxima, values.max(0), out=maxima)
    return maxima


def embedding(graph: Graph, name: str, table: Weight, ids: str) -> str:
    """Look up vectors: ids (…) → (…, D). Quantized values become floats after the look-up, which saves memory."""
    if not isinstance(table, QuantizedMatrix):
        return graph.cast(graph.add("Gather", graph.array(name, table), ids), np.float32)
    values = graph.cast(graph.add("Gather", graph.array(name, table.values), ids), np.float32)
    scale = graph.add("Gather", graph.array(name + ".step", table.scale.astype(np.float32)), ids)
    return graph.add("Mul", values, graph.unsqueeze(scale, -1))


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


def float_matrix(graph: Graph, name: str, weight: Weight, transpose: bool = False) -> str:
    """Add a matrix that float32 operations use.

    A compact graph converts it by an operation on a constant, which a runtime computes once, when it loads the graph.
    """
    if not graph.compact or not (isinstance(weight, QuantizedMatrix) or weight.dtype == np.float16):
        return graph.array(name, transposed(dense(weight)) if transpose else dense(weight))
    values = weight.values if isinstance(weight, QuantizedMatrix) else weight
    floats = graph.cast(graph.array(name, transposed(values) if transpose else values), np.float32)
    if not isinstance(weight, QuantizedMatrix):
        return floats
    # Not DequantizeLinear: ONNX Runtime fuses it with the product, which it then computes with rounded inputs.
    scale = weight.scale.astype(np.float32)
    return graph.add("Mul", floats, graph.array(name + ".step", scale if transpose else scale[:, None]))


def linear(
    graph: Graph,
    name: str,
    weight: Weight,
    bias: F32 | None,
    x: str,
    int8: bool,
    bounded: bool = False,
    twice: bool = False,
) -> str:
    """Multiply with a matrix (out, in) and add a vector: (…, in) → (…, out).

    Inputs that are ``bounded`` lie between -1 and 1. With ``twice``, their rounding errors are quantized and multiplied
    as well, which is almost as exact as float32 and takes less time.
    """
    added = "" if bias is None else graph.array(name + ".bias", bias.astype(np.float32))
    if not int8:
        product = graph.add("MatMul", x, float_matrix(graph, name + ".weight", weight, transpose=True))
        return graph.add("Add", product, added) if added else product
    quantised = quantized(weight)
    matrix = graph.array(name + ".weight", transposed(quantised.values))
    scales = graph.array(name + ".step", quantised.scale)
    zero, largest = graph.constant(ZERO_POINT, np.uint8), ""
    if not bounded:
        largest = graph.add("ReduceMax", graph.add("Abs", x), axes=(-1,), keepdims=1)
        largest = graph.add("Max", largest, graph.constant(TINY, np.float32))
        x = graph.add("Div", x, largest)

    def product_of(x: str, scale: str, added: str) -> tuple[str, str]:
        values = graph.add("QuantizeLinear", x, scale, zero)
        product = graph.add("MatMulIntegerToFloat", values, matrix, scale, scales, zero, "", added, domain=MICROSOFT)
        return product, values

    scale = graph.constant(1 / (ZERO_POINT - 1), np.float32)
    product, values = product_of(x, scale, added if bounded else "")
    if twice:
        errors = graph.add("Sub", x, graph.add("DequantizeLinear", values, scale, zero))
        finer = graph.constant(0.5 / (ZERO_POINT - 1) ** 2, np.float32)  # an error is at most half a step
        product = graph.add("Add", product, product_of(errors, finer, "")[0])
    if not largest:
        return product
    product = graph.add("Mul", product, largest)
    return graph.add("Add", product, added) if added else product


def insert_anchors(weight: Weight, *positions: int) -> Weight:
    """Insert columns of 0 for anchors at these positions."""
    columns = np.repeat(positions, ANCHORS)
    if isinstance(weight, QuantizedMatrix):
        return QuantizedMatrix(np.insert(weight.values, columns, 0, axis=1), weight.scale)
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

    Outputs beyond the ``lengths`` are 0. With ``anchors`` it is an int8 layer: x has two anchors before each of these
    positions, and the last two features of an output are anchors.
    """
    size = directions[0][1].shape[1]
    options: dict[str, Any] = {"direction": "bidirectional" if len(directions) == 2 else "forward"}
    if anchors is None:
        order = np.concatenate([np.arange(gate * size, (gate + 1) * size) for gate in GATES])
        bias = np.stack([np.concatenate([of_x[order], of_h[order]]) for _, _, of_x, of_h in directions])
        names = []
        for k, kind in enumerate(("input", "hidden")):
            weight, shape = stacked([part(each[k], (order,)) for each in directions]), (len(directions), 4 * size, -1)
            if graph.compact:
                names.append(graph.reshape(float_matrix(graph, f"{name}.{kind}", weight), *shape))
            else:
                names.append(graph.array(f"{name}.{kind}", dense(weight).reshape(shape)))
        inputs = (x, *names, graph.array(name + ".bias", bias.astype(np.float32)), lengths, *(start or ("", "")))
        y, _, final = graph.several(3, "LSTM", *inputs, hidden_size=size, **options)
        return y, final
    bias = np.stack([np.concatenate([_gates(of_x, LATCH_BIAS), _gates(of_h)]) for _, _, of_x, of_h in directions])
    names, scales = [], []
    for k, (kind, positions) in enumerate((("input", anchors), ("hidden", [size]))):
        parts = [quantized(weights[k]) for weights in directions]
        names.append(graph.array(f"{name}.{kind}", _columns([part.values for part in parts], positions)))
        scales.append(graph.array(f"{name}.{kind}.step", np.stack([_gates(part.scale) for part in parts])))
        scales.append(graph.array(f"{name}.{kind}.zero", np.zeros((len(parts), 4 * (size + ANCHORS)), np.int8)))
    start = _anchored_start(graph, directions, x, start)
    inputs = (x, *names, graph.array(name + ".bias", bias.astype(np.float32)), lengths, *start, "", *scales)
    options |= {"domain": MICROSOFT, "hidden_size": size + ANCHORS}
    y, _, final = graph.several(3, "DynamicQuantizeLSTM", *inputs, **options)
    return y, graph.slice(final, 0, -ANCHORS, 2)


def _gates(vector: F32, anchors: Sequence[float] = (0, 0, 0, 0)) -> F32:
    """Return a vector (4·H) in ONNX's order of gates, with values for the anchors of each gate: (4·(H+2))."""
    parts = vector.reshape(4, -1)
    extra = np.repeat(np.array(anchors, np.float32)[:, None], ANCHORS, 1)
    reordered: F32 = np.concatenate([parts, extra], 1)[list(GATES)].reshape(-1).astype(np.float32)
    return reordered


def _columns(matrices: Sequence[npt.NDArray[np.int8]], anchors: Sequence[int]) -> npt.NDArray[np.int8]:
    """Return matrices (4·H, D) transposed and in ONNX's order, with 0 for anchors of outputs and inputs."""
    inputs, size = matrices[0].shape[1], matrices[0].shape[0] // 4
    result = np.zeros((len(matrices), inputs + ANCHORS * len(anchors), 4, size + ANCHORS), np.int8)
    for matrix, columns in zip(matrices, result, strict=True):
        gates = matrix.reshape(4, size, inputs)
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
    """Copy a matrix to its transpose, some rows at a time: this fits into the caches and takes half the time."""
    for begin in range(0, len(matrix), TRANSPOSED_ROWS):
        target[:, begin : begin + TRANSPOSED_ROWS] = matrix[begin : begin + TRANSPOSED_ROWS].T


def _anchored_start(
    graph: Graph, directions: Sequence[Direction], x: str, start: tuple[str, str] | None
) -> tuple[str, str]:
    """Return the initial hidden state and cells (directions, B, H), with anchors."""
    count, size = len(directions), directions[0][1].shape[1]
    states = []
    for k, content in enumerate(([1.0, -1.0], [SATURATED, -SATURATED])):
        zeros = [0.0] * size if start is None else []
        vector = graph.array(f"start.{len(zeros)}.{k}", np.array([zeros + content], np.float32)[None])
        width = graph.constant([len(zeros) + ANCHORS])
        shape = graph.add("Concat", graph.constant([count]), graph.shape(x, 1), width, axis=0)
        anchors = graph.add("Expand", vector, shape)
        states.append(anchors if start is None else graph.add("Concat", start[k], anchors, axis=-1))
    return states[0], states[1]


def row_products(
    graph: Graph, names: Sequence[str], weights: Sequence[Weight], x: str, zero_point: int = ZERO_POINT
) -> list[str]:
    """Multiply inputs (T, in) with matrices (out, in): (T, out) each. Every row of inputs has its own scale.

    The inputs are quantized once. ONNX Runtime's product needs the same zero point in all rows, so the scale of a row
    leaves room for its smallest and its largest value: the zero point says how the 255 steps are divided between them.
    """
    zero = graph.constant(zero_point, np.uint8)
    ends = [
        graph.add("Mul", graph.add(kind, x, axes=(1,), keepdims=0), graph.constant(1 / room, np.float32))
        for kind, room in (("ReduceMax", MAX_UINT8 - zero_point), ("ReduceMin", -zero_point))
    ]
    scale = graph.add("Max", *ends, graph.constant(TINY, np.float32))  # (T,)
    values = graph.add("QuantizeLinear", x, scale, graph.add("Expand", zero, graph.shape(x, 0)), axis=0)
    one, column = graph.constant(1, np.float32), graph.unsqueeze(scale, 1)
    products = []
    for name, weight in zip(names, weights, strict=True):
        quantised = quantized(weight)
        matrix = graph.array(name + ".weight", transposed(quantised.values))
        scales = graph.array(name, quantised.scale)
        product = graph.add("MatMulIntegerToFloat", values, matrix, one, scales, zero, domain=MICROSOFT)
        products.append(graph.add("Mul", product, column))
    return products
