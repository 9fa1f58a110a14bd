"""Write ONNX files: the few messages of https://onnx.ai/onnx/repo-docs/IR.html that a graph needs.

A message is a sequence of fields. A field starts with its number and its kind: 0 for a whole number in groups of seven
bits, 2 for a length and as many bytes, 5 for four bytes.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
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
EXTERNAL = 1  # the numbers of a tensor are elsewhere


def model(graph: bytes, opsets: Mapping[str, int], metadata: Mapping[str, str], producer: str) -> bytes:
    """Return a whole file."""
    return (
        _number(1, FORMAT_VERSION)
        + _text(2, producer)
        + _bytes(7, graph)
        + b"".join(_bytes(8, _text(1, domain) + _number(2, version)) for domain, version in opsets.items())
        + b"".join(_bytes(14, _pair(key, value)) for key, value in metadata.items())
    )


def graph(
    name: str, nodes: Iterable[bytes], tensors: Iterable[bytes], inputs: Iterable[bytes], outputs: Iterable[bytes]
) -> bytes:
    return (
        b"".join(_bytes(1, part) for part in nodes)
        + _text(2, name)
        + b"".join(_bytes(5, part) for part in tensors)
        + b"".join(_bytes(11, part) for part in inputs)
        + b"".join(_bytes(12, part) for part in outputs)
    )


def node(
    kind: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Mapping[str, Attribute], domain: str = ""
) -> bytes:
    """Return one operation. An input without a name is left out."""
    return (
        b"".join(_text(1, part) for part in inputs)
        + b"".join(_text(2, part) for part in outputs)
        + _text(3, outputs[0])
        + _text(4, kind)
        + b"".join(_bytes(5, attribute(*item)) for item in attributes.items())
        + _text(7, domain)
    )


def attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + b"\x15" + struct.pack("<f", value) + _number(20, FLOAT)
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, INT)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _number(20, STRING)
    return _text(1, name) + b"".join(_number(8, part) for part in value) + _number(20, INTS)


def tensor(name: str, array: Array, inside: bool) -> bytes:
    """Return an array with its numbers ``inside``, or one whose numbers are handed over at load."""
    head = b"".join(_number(1, size) for size in array.shape) + _number(2, TYPES[array.dtype]) + _text(8, name)
    if inside:
        return head + _bytes(9, array.astype(array.dtype.newbyteorder("<")).tobytes())
    return head + _bytes(13, _pair("location", "elsewhere")) + _number(14, EXTERNAL)


def value(name: str, dtype: npt.DTypeLike, shape: Sequence[str | int]) -> bytes:
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
