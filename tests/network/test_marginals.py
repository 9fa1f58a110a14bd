"""Marginals are those of the definition: the share of all trees, weighed by their arcs, that have an arc."""

from itertools import product

import numpy as np
import pytest
from support.scores import KINDS, random_scores

from discotree.network.decode import acyclic
from discotree.network.marginals import marginals
from discotree.network.scores import Scores


def by_enumeration(arcs):
    """The same from all trees with one word on the root; arcs (n, n+1) are logarithms."""
    n = len(arcs)
    share = np.zeros((n, n + 1))
    for heads in product(range(n + 1), repeat=n):
        columns = np.array(heads)
        if heads.count(0) == 1 and acyclic(columns[None])[0] and not (columns == np.arange(1, n + 1)).any():
            share[np.arange(n), columns] += np.exp(arcs[np.arange(n), columns].astype(np.float64).sum())
    return share / share[0].sum()


@pytest.mark.parametrize("kind", ["plain", "peaked", "ties"])
@pytest.mark.parametrize("seed", range(4))
def test_they_are_those_of_all_trees(kind, seed):
    lengths = [1, 5, 3, 2, 4]
    scores = random_scores(lengths, seed, kind)
    found = marginals(scores)
    for row, n in enumerate(lengths):
        assert found[row, :n, : n + 1] == pytest.approx(by_enumeration(scores.arcs[row, :n, : n + 1]), abs=1e-6)
        assert not found[row, n:].any()
        assert not found[row, :, n + 1 :].any()


def scores_of(arcs):
    arcs = np.array(arcs, np.float32)
    return Scores(np.array([arcs.shape[1]] * len(arcs)), arcs, arcs, arcs, lambda one, _: one, {})


@pytest.mark.parametrize("strength", [10.0, 20.0, 40.0, 400.0])
def test_two_words_that_want_each_other_share_the_root(strength):
    """Without the root the two arcs form a cycle: one of the words must give way, and neither has to more."""
    found = marginals(scores_of([[[-strength, -90, 0], [-strength, 0, -90]]]))[0]
    assert found == pytest.approx(np.array([[0.5, 0, 0.5], [0.5, 0.5, 0]]), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_the_scores_every_word_has_a_head(kind):
    scores = random_scores([7, 1, 12, 12], 3, kind)
    found = marginals(scores)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert found.sum(2)[scores.mask] == pytest.approx(1.0)
    assert not found[:, np.arange(12), np.arange(1, 13)].any()


def test_other_sentences_make_no_difference():
    together = random_scores([6, 3, 9], 5, "peaked")
    found = marginals(together)
    alone = Scores(together.lengths[:1], together.arcs[:1, :6, :7], *[together.arcs] * 2, together.labeler, {})
    assert marginals(alone)[0] == pytest.approx(found[0, :6, :7], abs=1e-12)


def test_a_singular_matrix_costs_only_its_own_sentence(monkeypatch):
    scores = random_scores([4, 4], 1)
    expected = marginals(scores)
    inverse = np.linalg.inv

    def failing(matrix):
        if matrix.ndim == 3 or calls.append(1) or len(calls) == 1:
            raise np.linalg.LinAlgError
        return inverse(matrix)

    calls = []
    monkeypatch.setattr(np.linalg, "inv", failing)
    found = marginals(scores)
    assert found[1] == pytest.approx(expected[1])
    local = np.where(np.isfinite(scores.arcs[0]), np.exp(scores.arcs[0].astype(np.float64)), 0)
    local[np.arange(4), np.arange(1, 5)] = 0
    assert found[0] == pytest.approx(local / local.sum(1, keepdims=True), rel=1e-5)
