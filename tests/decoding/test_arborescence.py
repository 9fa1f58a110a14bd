"""The best tree against all trees, and where recursion, rounding or the root's one child could go wrong."""

from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discotree.decoding.decode import arborescence, find_cycles
from discotree.network.scores import IMPOSSIBLE


def is_tree(heads) -> bool:
    """Whether all words lead to the root, and only one hangs on it. Heads are columns: word k is column k + 1."""
    for head in heads:
        for _ in heads:
            head = heads[head - 1] if head else 0
        if head:
            return False
    return list(heads).count(0) == 1


@lru_cache
def all_trees(n: int) -> np.ndarray:
    return np.array([heads for heads in product(range(n + 1), repeat=n) if is_tree(heads)])


def total(weights, heads) -> np.ndarray:
    return weights[np.arange(len(weights)), heads].sum(-1)


@st.composite
def tables(draw) -> np.ndarray:
    """Weights of many kinds: all different, with ties, with arcs that are impossible, with a root nobody likes."""
    n = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = rng.normal(size=(n, n + 1)) * draw(st.sampled_from([1.0, 10.0]))
    if draw(st.booleans()):
        weights = weights.round() / 4
    weights[:, 0] += draw(st.sampled_from([0.0, 5.0, -1000.0]))
    weights[rng.random((n, n + 1)) < draw(st.sampled_from([0.0, 0.0, 0.3, 1.0]))] = IMPOSSIBLE
    return weights


def test_there_are_as_many_trees_as_cayley_counted() -> None:
    assert [len(all_trees(n)) for n in range(1, 7)] == [n ** (n - 1) for n in range(1, 7)]


@given(tables())
def test_no_tree_is_better(weights) -> None:
    heads = arborescence(weights)
    assert is_tree(heads.tolist())
    assert total(weights, heads) == pytest.approx(total(weights, all_trees(len(weights))).max(), rel=1e-12)


@given(tables())
def test_a_constant_for_the_root_changes_nothing(weights) -> None:
    shifted = weights.copy()
    shifted[:, 0] -= 1024.0
    assert total(weights, arborescence(shifted)) == pytest.approx(total(weights, arborescence(weights)), rel=1e-12)


def test_impossible_arcs_cost_the_others_no_digits() -> None:
    weights = np.full((4, 5), IMPOSSIBLE)
    weights[0, 0], weights[1, 1] = -1.0, -2.0
    weights[2, [2, 4]] = -3.0, -1.0  # words 2 and 3 like each other best: who breaks the cycle is a matter of 1e-12
    weights[3, [2, 3]] = -3.0 + 1e-12, -1.0
    assert arborescence(weights).tolist() == [0, 1, 4, 2]
    weights[2, 2] += 2e-12
    assert arborescence(weights).tolist() == [0, 1, 2, 3]


def test_the_weights_stay_as_they_are() -> None:
    weights = np.zeros((5, 6))
    arborescence(weights)
    assert not weights.any()


def test_cycles_are_found_wherever_they_hang() -> None:
    assert find_cycles([0, 0, 1, 2]) == []
    assert find_cycles([0, 2, 1, 1, 5, 4, 6, 0]) == [[1, 2], [4, 5], [6]]


def nested(n: int) -> np.ndarray:
    """Every contracted cycle is closed again by the next word: n - 1 contractions, one inside the other."""
    weights = -np.maximum(np.arange(n)[:, None], np.arange(-1, n)).astype(float)
    weights[:, 0] = -3.0 * n
    return weights


def paired(n: int) -> np.ndarray:
    """Neighbours prefer each other, then pairs do, then pairs of pairs, with a little noise."""
    words = np.arange(n)
    distance = np.bitwise_xor(words[:, None], np.arange(n)).astype(float)
    return np.hstack([np.full((n, 1), -float(n)), -np.log1p(distance)]) + np.random.default_rng(1).random((n, n + 1))


@pytest.mark.parametrize("make", [nested, paired, lambda n: np.zeros((n, n + 1))], ids=["nested", "paired", "equal"])
def test_long_sentences_with_many_cycles(make) -> None:
    weights = make(1500)
    heads = arborescence(weights)
    assert find_cycles([0, *heads.tolist()]) == []
    assert (heads == 0).sum() == 1
    small = make(6)
    assert total(small, arborescence(small)) == pytest.approx(total(small, all_trees(6)).max())
