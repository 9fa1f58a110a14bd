"""Weights as files hold them: in half precision, or as int8 numbers.

With 8 bits or less, every row of a matrix is a multiple of one step: int8 numbers ``NAME`` and a step for each row
``NAME.step``. Fewer than 8 bits still take a byte each, but compress better: a wheel, which is a zip file, stores
6 bits in about 5.
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
    largest = (1 << (bits - 1)) - 1
    if isinstance(weight, Rows) and int(np.abs(weight.numbers).max(initial=0)) <= largest:
        return weight
    rows = dense(weight).reshape(weight.shape[0], -1)
    step = np.abs(rows).max(1, initial=0) / np.float32(largest)
    numbers = np.rint(rows / np.maximum(step, np.finfo(np.float32).tiny)[:, None])
    return Rows(numbers.astype(np.int8).reshape(weight.shape), step)


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
