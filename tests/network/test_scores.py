"""Scores of labels: in one go, piece by piece, and by the definition."""

import numpy as np
import pytest
from support.scores import bilinear_labeler, random_scores

from discotree.network import scores as module
from discotree.network.scores import Auxiliary, Scores, grouped_labeler, join_batches, log_softmax

LENGTHS = [4, 1, 6]
BILINEAR = np.random.default_rng(3).normal(size=(5, 3, 3)).astype(np.float32)


def by_definition(bilinear, dependents, heads):
    """(M, L): log-probabilities of every label of every arc, one arc at a time."""
    rows = [[d @ matrix @ h for matrix in bilinear] for d, h in zip(dependents, heads, strict=True)]
    scores = np.array(rows, float).reshape(-1, len(bilinear))
    return scores - np.log(np.exp(scores).sum(1, keepdims=True))


@pytest.fixture(scope="module")
def scores():
    return random_scores(LENGTHS, labels=5, features=3)


@pytest.fixture(scope="module")
def expected(scores):
    """(B, N, N+1, L), arc by arc."""
    labels = [scores.labels_of(np.full(scores.arcs.shape[:2], column)) for column in range(scores.arcs.shape[2])]
    return np.stack(labels, 2)


def test_the_mask_says_which_words_are_there(scores):
    assert len(scores) == 3
    assert scores.mask.sum(1).tolist() == LENGTHS
    assert np.array_equal(scores.mask, -np.sort(-scores.mask.astype(int), 1))


@pytest.mark.parametrize("chunk", [1, 20, 10**6])
@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_a_labeler_knows_the_labels_of_any_arcs(count, chunk, monkeypatch):
    monkeypatch.setattr(module, "PROJECTED", chunk)
    rng = np.random.default_rng(count)
    dependents, heads = rng.normal(size=(2, count, 3)).astype(np.float32)
    heads = heads[np.sort(rng.integers(0, count, count) // 3)] if count else heads  # some arcs share their head
    found = bilinear_labeler(BILINEAR)(dependents, heads)
    assert found.shape == (count, 5)
    assert found.dtype == np.float32
    assert np.allclose(found, by_definition(BILINEAR, dependents, heads), atol=1e-5)


def test_what_all_heads_have_in_common_may_be_added_apart():
    rng = np.random.default_rng(1)
    dependents, heads = rng.normal(size=(2, 40, 3)).astype(np.float32) * 5
    heads = heads[np.sort(rng.integers(0, 40, 40) // 3)]
    heads[:, -1] = 1
    asked = []

    def project(some):
        asked.append(some[:, :-1])
        return np.einsum("lij,hj->hil", BILINEAR[:, :, :-1], some[:, :-1]).reshape(len(some), -1)

    label = grouped_labeler(project, 5, lambda some: some @ BILINEAR[:, :, -1].T)
    assert np.allclose(label(dependents, heads), by_definition(BILINEAR, dependents, heads), rtol=1e-3, atol=1e-3)
    assert np.abs(np.concatenate(asked)).max() == 1
    assert label(dependents[:0], heads[:0]).shape == (0, 5)
    assert np.isfinite(label(np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32))).all()


def test_features_may_be_anything():
    label = bilinear_labeler(BILINEAR)
    ones = np.ones((4, 3), np.float32)
    strange = np.array([1, np.nan, np.inf, 1e38], np.float32)[:, None] * ones
    found = label(strange, strange)
    assert np.isfinite(found[0]).all()
    assert not np.isfinite(found[1:]).all(1).any()


def test_no_label_is_more_than_certain():
    scores = np.random.default_rng(0).normal(size=(10_000, 4)).astype(np.float32) * 30
    assert log_softmax(scores).max() <= 0
    assert log_softmax(scores[:, :1]).max() == log_softmax(scores[:, :1]).min() == 0
    assert log_softmax(scores[:, :0]).shape == (10_000, 0)


def test_labels_of_given_heads(scores):
    heads = np.random.default_rng(0).integers(0, 7, (3, 6))
    found = scores.labels_of(heads)
    for b in range(3):
        alone = scores.labeler(scores.dependents[b], scores.heads[b, heads[b]])
        assert np.allclose(found[b], alone, atol=1e-5)


@pytest.mark.parametrize("chunk", [1, 100, 1000, module.CHUNK])
def test_best_labels_do_not_depend_on_how_many_are_looked_at_together(scores, expected, chunk, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", chunk)
    mask = scores.mask[:, :, None] & np.pad(scores.mask, ((0, 0), (1, 0)), constant_values=True)[:, None]
    order = np.argsort(-expected, -1)
    several, ids = scores.top_labels(3)
    assert np.allclose(several[mask], -np.sort(-expected, -1)[mask][:, :3], atol=1e-5)
    assert np.array_equal(ids[mask], order[mask][:, :3])
    assert not several[~mask].any()
    best, which = scores.best_labels(*np.nonzero(mask))
    assert np.allclose(best, expected.max(-1)[mask], atol=1e-5)
    assert np.array_equal(which, ids[mask][:, 0])


def test_there_are_no_more_best_labels_than_labels(scores):
    best, which = scores.top_labels(99)
    assert best.shape == which.shape == (3, 6, 7, 5)
    assert (np.sort(which[2], -1) == np.arange(5)).all()
    assert (np.diff(best[2]) <= 0).all()


@pytest.mark.parametrize(("limit", "sizes"), [(0, [[2], [1], [3]]), (15, [[2, 1], [3]]), (100, [[2, 1, 3]])])
def test_batches_that_follow_each_other_are_joined(monkeypatch, limit, sizes):
    monkeypatch.setattr(module, "MAX_JOINED", limit)
    whole = random_scores([1, 3, 5, 6, 2, 4], 1)
    classes = np.arange(36).reshape(6, 6)
    batches = []
    for part in np.split(np.arange(6), [2, 3]):
        n = whole.lengths[part].max()
        auxiliary = {"tag": Auxiliary(classes[part, :n], classes[part, :n] / 7)}
        arrays = whole.arcs[part, :n, : n + 1], whole.dependents[part, :n], whole.heads[part, : n + 1]
        batches.append((part, Scores(whole.lengths[part], *arrays, whole.labeler, auxiliary, (arrays[0], arrays[0]))))
    joined = list(join_batches(batches))
    assert [list(map(len, groups)) for groups, _ in joined] == sizes
    assert np.array_equal(np.concatenate([part for groups, _ in joined for part in groups]), np.arange(6))
    rows = [(scores, b) for _, scores in joined for b in range(len(scores))]
    for row, (scores, b) in enumerate(rows):
        n = int(whole.lengths[row])
        assert scores.lengths[b] == n
        assert np.array_equal(scores.arcs[b, :n, : n + 1], whole.arcs[row, :n, : n + 1])
        assert (scores.arcs[b, :, n + 1 :] == -np.inf).all()
        assert np.array_equal(scores.best[0][b, :n, : n + 1], whole.arcs[row, :n, : n + 1])
        assert np.array_equal(scores.dependents[b, :n], whole.dependents[row, :n])
        assert np.array_equal(scores.heads[b, : n + 1], whole.heads[row, : n + 1])
        assert np.array_equal(scores.auxiliary["tag"].classes[b, :n], classes[row, :n])
        assert np.array_equal(scores.auxiliary["tag"].log_probability[b, :n], classes[row, :n] / 7)
