"""Weights as files hold them: in half precision, or as int8 numbers.

With 8 bits or less, every row of a matrix is a multiple of one step: int8 numbers ``NAME`` and a step for each row
``NAME.step``. Fewer than 8 bits still take a byte each, but compress better: a wheel, which is a zip file, stores
6 bits in about 5. Since it is the zip file that counts, not the largest number, the step follows the usual size of a
row's weights, and the few that are much larger become larger numbers. If the largest weight filled the bits, it would
make the step coarse for all others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discotree.config import HALF
from discotree.errors import ModelError

STEP = ".step"
LARGEST = 128  # magnitude of an int8 number
# Kernels for x86 without VNNI add two products of an input (≤ 255) and a weight in 16 bits: 2 · 255 · 63 fits,
# 2 · 255 · 127 does not.
SAFE = 63
DEVIATIONS = 3  # root mean squares of a row that its bits cover
FLOATS = (np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64))

Floats = npt.NDArray[np.float32]
Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """A matrix of small whole numbers; each row is a multiple of its step."""

    numbers: npt.NDArray[np.int8]  # (rows, …)
    step: Floats  # (rows,)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numbers.shape

    def dense(self) -> Floats:
        """Return the values."""
        steps = self.step.reshape(-1, *[1] * (self.numbers.ndim - 1))
        values: Floats = self.numbers * steps
        return values


Weight = Array | Rows  # an array of floating-point numbers, or rows of whole ones
Weights = Mapping[str, Weight]


def dense(weight: Weight) -> Floats:
    """Return a weight in single precision."""
    if isinstance(weight, Rows):
        return weight.dense()
    values: Floats = np.ascontiguousarray(weight, np.float32)
    return values


def numbers_of(weight: Weight) -> Array:
    """Return the floating-point numbers that a weight is stored with."""
    return weight.step if isinstance(weight, Rows) else weight


def is_finite(weight: Weight) -> bool:
    """Tell whether all values are numbers that fit single precision."""
    values = numbers_of(weight)
    with np.errstate(over="ignore"):
        if isinstance(weight, Rows):
            values = values * np.float32(LARGEST)
        elif values.dtype == np.float64:
            values = values.astype(np.float32)
    return bool(np.isfinite(values).all())


def rounded(weights: Weights, bits: int) -> dict[str, Weight]:
    """Return the weights in the precision that they are saved in.

    Vectors, such as biases, are few and stay in half precision. What has been rounded stays as it is.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # readers refuse infinity
        return {name: _rounded(weight, bits) for name, weight in weights.items()}


def _rounded(weight: Weight, bits: int) -> Weight:
    if bits == HALF or len(weight.shape) < 2:
        return dense(weight).astype(np.float16)
    usual = (1 << (bits - 1)) - 1
    if isinstance(weight, Rows) and _is_rounded(weight, usual):
        return weight
    rows = dense(weight).reshape(weight.shape[0], -1)
    step = _steps(rows, usual)
    numbers = np.rint(rows / np.maximum(step, np.finfo(np.float32).tiny)[:, None])
    return Rows(numbers.astype(np.int8).reshape(weight.shape), step)


def _steps(rows: Floats, usual: int) -> Floats:
    """Return the step of each row: usual weights are up to ``usual`` steps large, all others up to ``SAFE``."""
    largest = np.abs(rows).max(1, initial=0)
    steps = np.minimum(DEVIATIONS * _rms(rows), largest) / usual
    found: Floats = np.maximum(steps, largest / max(usual, SAFE)).astype(np.float32)
    return found


def _is_rounded(weight: Rows, usual: int) -> bool:
    """Tell whether rounding can have made these numbers. A number is at most half larger than before it was rounded."""
    rows = weight.numbers.reshape(len(weight.numbers), -1)
    largest = np.maximum(rows.max(1, initial=0), -rows.min(1, initial=0).astype(np.int16))
    outliers = (largest <= max(usual, SAFE)) & (_rms(rows) <= usual / DEVIATIONS + 0.501)
    return bool(((largest <= usual) | outliers).all())


def _rms(rows: Array) -> npt.NDArray[np.float64]:
    """Return the root mean square of each row."""
    found: npt.NDArray[np.float64] = np.sqrt(np.square(rows, dtype=np.float64).sum(1) / max(1, rows.shape[1]))
    return found


def to_file(weights: Weights) -> dict[str, Array]:
    """Return the arrays of a file."""
    arrays: dict[str, Array] = {}
    for name, weight in weights.items():
        if isinstance(weight, Rows):
            arrays |= {name: np.ascontiguousarray(weight.numbers), name + STEP: np.ascontiguousarray(weight.step)}
        else:
            arrays[name] = np.ascontiguousarray(weight)
    return arrays


def from_file(arrays: Mapping[str, Array], where: str) -> dict[str, Weight]:
    """Return the weights that a file holds: the inverse of ``to_file``."""
    weights: dict[str, Weight] = {}
    for name, array in arrays.items():
        if name.endswith(STEP) and name.removesuffix(STEP) in arrays:
            continue
        step = arrays.get(name + STEP)
        if step is None:
            weights[name] = array
        elif array.ndim < 2 or step.shape != array.shape[:1] or array.dtype != np.int8 or step.dtype not in FLOATS:
            raise ModelError(f"{where}: {name} and its steps do not fit: expected int8 and one step for each row")
        else:
            with np.errstate(over="ignore"):
                weights[name] = Rows(array, step.astype(np.float32))
    return weights
