"""QuantizedMatrix of whole numbers for int8 layers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discotree.network.onnx.graph import part, quantized, stacked
from discotree.network.weights import MAX_INT8, QuantizedMatrix, dense


def random_rows(seed, largest, shape=(6, 8)):
    rng = np.random.default_rng(seed)
    return QuantizedMatrix(
        rng.integers(-largest, largest + 1, shape).astype(np.int8), rng.random(shape[0]).astype(np.float32)
    )


def test_what_is_stored_as_small_numbers_stays_as_it_is():
    weight = random_rows(0, 31)
    assert quantized(weight) is weight


@given(st.integers(0, 100), st.booleans())
def test_others_are_rounded_to_numbers_that_no_kernel_overflows_on(seed, is_rows):
    weight = random_rows(seed, 127) if is_rows else np.random.default_rng(seed).normal(size=(5, 2, 3))
    found = quantized(weight)
    error = np.abs(dense(found) - dense(weight)).reshape(len(found.values), -1).max(1)
    assert np.abs(found.values).max() <= MAX_INT8
    assert (error <= 0.501 * found.scale).all()


def test_a_row_of_zeros():
    assert np.array_equal(quantized(np.zeros((2, 3), np.float32)).dense(), np.zeros((2, 3)))


def test_parts_and_stacks_are_those_of_the_values():
    first, second = random_rows(1, 31), random_rows(2, 31)
    where = (slice(1, 4), slice(None, -1))
    for a, b in ((first, second), (dense(first), second)):
        assert np.array_equal(dense(stacked([a, b])), np.concatenate([dense(a), dense(b)]))
        assert np.array_equal(dense(part(a, where)), dense(a)[where])
