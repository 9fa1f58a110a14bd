"""Rows of whole numbers for int8 layers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discotree.network.onnx.layers import LARGEST, part, ranges_of, rows, shifts, stacked
from discotree.network.weights import Rows, dense


def random_rows(seed, largest, shape=(6, 8)):
    rng = np.random.default_rng(seed)
    return Rows(rng.integers(-largest, largest + 1, shape).astype(np.int8), rng.random(shape[0]).astype(np.float32))


def test_what_is_stored_as_small_numbers_stays_as_it_is():
    weight = random_rows(0, 31)
    assert rows(weight) is weight


@given(st.integers(0, 100), st.booleans())
def test_others_are_rounded_to_numbers_that_no_kernel_overflows_on(seed, is_rows):
    weight = random_rows(seed, 127) if is_rows else np.random.default_rng(seed).normal(size=(5, 2, 3))
    found = rows(weight)
    error = np.abs(dense(found) - dense(weight)).reshape(len(found.numbers), -1).max(1)
    assert np.abs(found.numbers).max() <= LARGEST
    assert (error <= 0.501 * found.step).all()


def test_a_row_of_zeros():
    assert np.array_equal(rows(np.zeros((2, 3), np.float32)).dense(), np.zeros((2, 3)))


def test_parts_and_stacks_are_those_of_the_values():
    first, second = random_rows(1, 31), random_rows(2, 31)
    where = (slice(1, 4), slice(None, -1))
    for a, b in ((first, second), (dense(first), second)):
        assert np.array_equal(dense(stacked([a, b])), np.concatenate([dense(a), dense(b)]))
        assert np.array_equal(dense(part(a, where)), dense(a)[where])


@given(st.integers(0, 200), st.integers(1, 63))
def test_halving_inputs_and_doubling_weights_changes_nothing_but_their_range(seed, largest):
    weights = [random_rows(seed, largest), random_rows(seed + 1, largest)]
    x = np.random.default_rng(seed).normal(size=(20, 8)).astype(np.float32) * np.float32([1, 1, 9, 1, 1, 20, 0, 1])
    halved = shifts(weights, np.abs(x).max(0))
    smaller = x / 2.0**halved
    for weight in weights:
        doubled = Rows(weight.numbers << halved, weight.step)
        assert np.abs(doubled.numbers.astype(int)).max() <= LARGEST
        assert np.allclose(smaller @ doubled.dense().T, x @ weight.dense().T, rtol=1e-4, atol=1e-4)
    assert np.abs(smaller).max() <= np.abs(x).max()
    assert (halved >= 0).all()


def test_the_ranges_of_a_table():
    table = np.repeat(np.array([[1.0, -3.0, 0.0]], np.float32), 40, 0)
    assert ranges_of(table).tolist() == [1, 3, 0]
