"""A graph in the making: operations, the arrays they use, inputs and outputs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discotree.network.onnx import protobuf
from discotree.network.onnx.protobuf import Array, Attribute

OPSET = 17
MICROSOFT, MICROSOFT_OPSET = "com.microsoft", 1  # operations of ONNX Runtime beyond the standard
PRODUCER = "discotree"
END = 1 << 62  # the end of every axis
SMALL = 1024  # bytes of an array that is always part of the file


class Graph:
    """Operations in the order in which they run. Values have names; operations return those of their outputs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.arrays: dict[str, Array] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._nodes: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._count = 0
        self._domains = {"": OPSET}

    def input(self, name: str, dtype: npt.DTypeLike, shape: Sequence[str | int]) -> str:
        self._inputs.append(protobuf.value(name, dtype, shape))
        return name

    def output(self, name: str, value: str, dtype: npt.DTypeLike, shape: Sequence[str | int]) -> None:
        """Give a value a name of its own."""
        self._nodes.append(protobuf.node("Identity", [value], [name], {}))
        self._outputs.append(protobuf.value(name, dtype, shape))

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
        self._nodes.append(protobuf.node(kind, inputs, outputs, attributes, domain))
        if domain:
            self._domains[domain] = MICROSOFT_OPSET
        return outputs

    def model(self, inside: bool = False, metadata: Mapping[str, str] | None = None) -> bytes:
        """Return the file, with all weights ``inside`` or without the large ones: see ``elsewhere``."""
        tensors = (protobuf.tensor(name, a, inside or a.nbytes <= SMALL) for name, a in self.arrays.items())
        graph = protobuf.graph(self.name, self._nodes, tensors, self._inputs, self._outputs)
        return protobuf.model(graph, self._domains, metadata or {}, PRODUCER)

    def elsewhere(self) -> dict[str, Array]:
        """Return the weights that a file without them needs at load."""
        return {name: array for name, array in self.arrays.items() if array.nbytes > SMALL}

    # Shorthands

    def cast(self, x: str, dtype: npt.DTypeLike) -> str:
        return self.add("Cast", x, to=protobuf.TYPES[np.dtype(dtype)])

    def shape(self, x: str, axis: int) -> str:
        """Return the size along an axis as a vector of one number."""
        return self.add("Shape", x, start=axis, end=axis + 1)

    def count(self, size: str) -> str:
        """Return 0, 1, … below a size, which is a vector of one number."""
        return self.add("Range", self.constant(0), self.add("Squeeze", size), self.constant(1))

    def reshape(self, x: str, *sizes: int | str) -> str:
        """Change the shape; a size is a number, -1 for the rest, 0 for what it was, or a vector of one number."""
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
