"""Weights as files hold them: in half precision, or quantized to int8.

With 8 bits or less, every row of a matrix is a multiple of one scale: int8 values ``NAME`` and a scale for each row
``NAME.step``. Fewer than 8 bits still take a byte each, but compress better: a wheel, which is a zip file, stores
6 bits in about 5. Since only the size of the zip file counts, the scale follows the typical magnitude of a row's
weights, and the few weights that are much larger become larger values. If the largest weight had to fit into the bits,
it would make the scale coarse for all others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discotree.config.schema import HALF_PRECISION_BITS
from discotree.errors import ModelError
from discotree.network.arrays import F32, F64, Array

SCALE = ".step"
LARGEST = 128  # magnitude of an int8 value
# Kernels for x86 without VNNI add two products of an input (≤ 255) and a weight in 16 bits: 2 · 255 · 63 fits,
# 2 · 255 · 127 overflows.
MAX_INT8 = 63
DEVIATIONS = 3  # root mean squares of a row that its bits cover
FLOATS = (np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True, eq=False)
class QuantizedMatrix:
    """A matrix of int8 values; each row has a scale that its values are multiplied by."""

    values: npt.NDArray[np.int8]  # (rows, …)
    scale: F32  # (rows,)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def dense(self) -> F32:
        """Return the matrix in single precision."""
        product: F32 = self.values * self.scale.reshape(-1, *[1] * (self.values.ndim - 1))
        return product


Weight = Array | QuantizedMatrix
Shape = tuple[int, ...]
Weights = Mapping[str, Weight]


def dense(weight: Weight) -> F32:
    """Return a weight in single precision."""
    if isinstance(weight, QuantizedMatrix):
        return weight.dense()
    values: F32 = np.ascontiguousarray(weight, np.float32)
    return values


def numbers_of(weight: Weight) -> Array:
    """Return the floating-point numbers that a weight is stored with."""
    return weight.scale if isinstance(weight, QuantizedMatrix) else weight


def is_finite(weight: Weight) -> bool:
    """Return whether all values are finite in single precision."""
    values = numbers_of(weight)
    with np.errstate(over="ignore"):
        if isinstance(weight, QuantizedMatrix):
            values = values * np.float32(LARGEST)
        elif values.dtype == np.float64:
            values = values.astype(np.float32)
    return bool(np.isfinite(values).all())


def rounded(weights: Weights, bits: int) -> dict[str, Weight]:
    """Return the weights in the precision that they are saved in.

    Vectors, such as biases, are small and stay in half precision. A weight that is already quantized is not changed.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # readers refuse infinity
        return {name: _rounded(weight, bits) for name, weight in weights.items()}


def _rounded(weight: Weight, bits: int) -> Weight:
    if bits == HALF_PRECISION_BITS or len(weight.shape) < 2:
        return dense(weight).astype(np.float16)
    usual = (1 << (bits - 1)) - 1
    if isinstance(weight, QuantizedMatrix) and _is_rounded(weight, usual):
        return weight
    rows = dense(weight).reshape(weight.shape[0], -1)
    scale = _scales(rows, usual)
    values = np.rint(rows / np.maximum(scale, np.finfo(np.float32).tiny)[:, None])
    return QuantizedMatrix(values.astype(np.int8).reshape(weight.shape), scale)


def _scales(rows: F32, usual: int) -> F32:
    """Return the scale of each row: typical weights become values up to ``usual``, outliers values up to MAX_INT8."""
    largest = np.abs(rows).max(1, initial=0)
    scales = np.minimum(DEVIATIONS * _rms(rows), largest) / usual
    result: F32 = np.maximum(scales, largest / max(usual, MAX_INT8)).astype(np.float32)
    return result


def _is_rounded(weight: QuantizedMatrix, usual: int) -> bool:
    """Return whether these values can be the result of rounding, which adds at most one half to a value."""
    rows = weight.values.reshape(len(weight.values), -1)
    largest = np.maximum(rows.max(1, initial=0), -rows.min(1, initial=0).astype(np.int16))
    outliers = (largest <= max(usual, MAX_INT8)) & (_rms(rows) <= usual / DEVIATIONS + 0.501)
    return bool(((largest <= usual) | outliers).all())


def _rms(rows: Array) -> F64:
    """Return the root mean square of each row."""
    root: F64 = np.sqrt(np.square(rows, dtype=np.float64).sum(1) / max(1, rows.shape[1]))
    return root


def to_file(weights: Weights) -> dict[str, Array]:
    """Return the arrays to write to a file."""
    arrays: dict[str, Array] = {}
    for name, weight in weights.items():
        if isinstance(weight, QuantizedMatrix):
            arrays |= {name: np.ascontiguousarray(weight.values), name + SCALE: np.ascontiguousarray(weight.scale)}
        else:
            arrays[name] = np.ascontiguousarray(weight)
    return arrays


def from_file(arrays: Mapping[str, Array], where: str) -> dict[str, Weight]:
    """Return the weights that a file holds: the inverse of ``to_file``."""
    weights: dict[str, Weight] = {}
    for name, array in arrays.items():
        if name.endswith(SCALE) and name.removesuffix(SCALE) in arrays:
            continue
        scale = arrays.get(name + SCALE)
        if scale is None:
            weights[name] = array
        elif array.ndim < 2 or scale.shape != array.shape[:1] or array.dtype != np.int8 or scale.dtype not in FLOATS:
            raise ModelError(
                f"{where}: {name} and {name}{SCALE} do not match, expected int8 values and one scale per row"
            )
        else:
            with np.errstate(over="ignore"):
                weights[name] = QuantizedMatrix(array, scale.astype(np.float32))
    return weights


def linear_shapes(name: str, outputs: int, inputs: int) -> Iterator[tuple[str, Shape]]:
    """Yield the names and shapes of the weights of a linear layer."""
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)
