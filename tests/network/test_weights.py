"""Weights as files hold them: what rounding keeps, and that a file gives back what it got."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from safetensors.numpy import load, save

from discotree.config.schema import HALF_PRECISION_BITS
from discotree.errors import ModelError
from discotree.network.weights import MAX_INT8, QuantizedMatrix, dense, from_file, is_finite, rounded, to_file

BITS = st.sampled_from([2, 3, 5, 6, 8])
numbers = st.floats(-1000, 1000, width=32)
weight = arrays(np.float32, array_shapes(max_dims=3, max_side=5), elements=numbers)


def same(one, other):
    """Whether two weights are stored alike, number by number."""
    if isinstance(one, QuantizedMatrix) or isinstance(other, QuantizedMatrix):
        return np.array_equal(one.values, other.values) and np.array_equal(one.scale, other.scale)
    return one.dtype == other.dtype and np.array_equal(one, other)


@given(weight, BITS | st.just(HALF_PRECISION_BITS))
def test_what_was_rounded_stays_as_it_is(values, bits):
    once = rounded({"a": values}, bits)
    assert same(once["a"], rounded(once, bits)["a"])


@given(weight, BITS)
def test_rounding_to_few_bits_is_off_by_half_a_step_at_most(values, bits):
    found = rounded({"a": values}, bits)["a"]
    assert found.shape == values.shape
    if values.ndim < 2:
        assert found.dtype == np.float16
        return
    assert int(np.abs(found.values).max()) <= max(MAX_INT8, (1 << (bits - 1)) - 1)
    steps = found.scale.reshape(-1, *[1] * (values.ndim - 1))
    assert (np.abs(found.dense() - values) <= 0.5001 * steps + 1e-6).all()


def test_rows_of_zeros_have_no_step():
    found = rounded({"a": np.array([[0, 0], [1, -3]], np.float32)}, 3)["a"]
    assert found.scale.tolist() == [0, 1]
    assert found.dense().tolist() == [[0, 0], [1, -3]]


def test_fewer_bits_round_again_and_more_bits_keep_what_is_there():
    six = rounded({"a": np.linspace(-1, 1, 40, dtype=np.float32).reshape(4, 10)}, 6)
    assert rounded(six, 8)["a"] is six["a"]
    assert int(np.abs(rounded(six, 4)["a"].values).max()) == 7


def test_a_large_weight_does_not_make_the_others_coarse():
    values = np.random.default_rng(0).normal(size=(2, 400)).astype(np.float32)
    values[1, 7] = 12
    found = rounded({"a": values}, 5)["a"]
    assert found.scale[1] == pytest.approx(3 * np.sqrt(np.square(values[1]).mean()) / 15)
    assert found.values[1, 7] == round(12 / found.scale[1]) > 15
    error = np.abs(found.dense() - values).mean(1)
    assert error[1] < 1.5 * error[0]  # 4 times as large if the largest weight were 15 steps
    assert rounded({"a": found}, 5)["a"] is found
    values[1, 7] = 1000
    assert rounded({"a": values}, 5)["a"].values[1, 7] == MAX_INT8


@pytest.mark.parametrize("bits", [3, 4, 5, 6, 7])
def test_rows_of_more_bits_are_rounded_again(bits):
    values = np.random.default_rng(bits).normal(size=(4, 300)).astype(np.float32)
    finer, coarser = rounded({"a": values}, bits), rounded({"a": values}, bits - 1)["a"]
    again = rounded(finer, bits - 1)["a"]
    assert again is not finer["a"]
    assert np.allclose(again.scale, coarser.scale, rtol=0.1)


def test_half_precision_is_the_nearest_half():
    values = np.array([[0.1, 1 / 3], [65504, 1e-9]], np.float32)
    found = rounded({"a": values}, HALF_PRECISION_BITS)["a"]
    assert found.dtype == np.float16
    assert np.array_equal(found, values.astype(np.float16))
    assert np.isinf(rounded({"a": values * 100}, HALF_PRECISION_BITS)["a"]).any()  # whoever writes a model refuses it


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e300])
def test_what_fits_no_single_precision_is_not_finite(value):
    values = np.array([[1, 2], [value, 3]])
    assert not is_finite(values)
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    assert not is_finite(single)
    for bits in (HALF_PRECISION_BITS, 6):
        assert not is_finite(rounded({"a": single}, bits)["a"])
    assert is_finite(np.array([[1, 2]], np.float16))
    ones = np.ones((1, 2), np.int8)
    assert is_finite(QuantizedMatrix(ones, np.array([1e36], np.float32)))
    assert not is_finite(QuantizedMatrix(ones * 127, np.array([1e37], np.float32)))
    assert not is_finite(from_file({"a": ones, "a.step": np.array([value])}, "memory")["a"])


def test_a_row_is_its_numbers_times_its_step():
    rows = QuantizedMatrix(np.array([[[1, -2]], [[3, 4]]], np.int8), np.array([0.5, 2], np.float32))
    assert rows.shape == (2, 1, 2)
    assert rows.dense().dtype == np.float32
    assert rows.dense().tolist() == [[[0.5, -1]], [[6, 8]]]
    assert dense(rows).tolist() == rows.dense().tolist()
    assert dense(np.array([1, 2], np.float64)).dtype == np.float32


@given(st.dictionaries(st.text("ab.", min_size=1, max_size=4), weight, max_size=4), BITS | st.just(HALF_PRECISION_BITS))
def test_a_file_gives_back_what_it_got(weights, bits):
    stored = rounded(weights, bits)
    again = from_file(load(save(to_file(stored))), "memory")
    assert again.keys() == stored.keys()
    assert all(same(again[name], stored[name]) for name in stored)


ONES = np.ones((3, 2), np.int8)


@pytest.mark.parametrize(
    ("values", "step"),
    [
        (ONES, np.ones(2, np.float32)),
        (ONES, np.ones((3, 1), np.float32)),
        (ONES, np.ones((), np.float32)),
        (ONES, np.ones(3, np.int8)),
        (ONES, np.ones(3, np.complex64)),
        (ONES.astype(np.int16), np.ones(3, np.float32)),
        (ONES.astype(np.float32), np.ones(3, np.float32)),
        (ONES[:, 0], np.ones(3, np.float32)),
        (ONES[0, 0], np.ones((), np.float32)),
    ],
    ids=lambda value: f"{value.dtype}{value.shape}",
)
def test_steps_that_do_not_fit_are_refused(values, step):
    with pytest.raises(ModelError, match=r"^w\.safetensors: a\.b and a\.b\.step do not match, expected int8 values"):
        from_file({"a.b": np.asarray(values), "a.b.step": step}, "w.safetensors")


def test_a_weight_may_be_called_step():
    weights = {"a.step": np.ones(2, np.float32)}
    assert from_file(weights, "memory").keys() == weights.keys()
