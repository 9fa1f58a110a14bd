"""Scores of labels: in one go, piece by piece, and by the definition."""

import pytest
import torch
from support.scores import random_scores

from discotree.network import scores as module
from discotree.network.scores import label_scores

LENGTHS = [4, 1, 6]


def by_definition(scores):
    """(B, N, N+1, L): log-probabilities of every label of every arc, one arc at a time."""
    b, n, columns = scores.arcs.shape
    result = torch.empty(b, n, columns, len(scores.bilinear))
    for i, j, k in torch.cartesian_prod(torch.arange(b), torch.arange(n), torch.arange(columns)).tolist():
        rows = [scores.dependents[i, j] @ matrix @ scores.heads[i, k] for matrix in scores.bilinear]
        result[i, j, k] = torch.stack(rows).log_softmax(0)
    return result


@pytest.fixture(scope="module")
def scores():
    return random_scores(LENGTHS, labels=5, features=3)


@pytest.fixture(scope="module")
def expected(scores):
    return by_definition(scores)


def test_the_mask_says_which_words_are_there(scores):
    assert len(scores) == 3
    assert scores.mask.sum(1).tolist() == LENGTHS
    assert torch.equal(scores.mask, scores.mask.sort(1, descending=True).values)


def test_labels_of_given_heads(scores, expected):
    heads = torch.randint(0, 7, (3, 6), generator=torch.Generator().manual_seed(0))
    found = scores.labels(heads)
    for b in range(3):
        for k in range(6):
            torch.testing.assert_close(found[b, k], expected[b, k, heads[b, k]])


@pytest.mark.parametrize("chunk", [1, 100, 1000, module.CHUNK])
def test_best_labels_do_not_depend_on_how_many_are_looked_at_together(scores, expected, chunk, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", chunk)
    best, which = scores.best_labels()
    wanted = expected.max(-1)
    torch.testing.assert_close(best, wanted.values)
    assert torch.equal(which, wanted.indices)
    several, ids = scores.top_labels(3)
    torch.testing.assert_close(several, expected.topk(3, -1).values)
    assert torch.equal(ids, expected.topk(3, -1).indices)


def test_there_are_no_more_best_labels_than_labels(scores, expected):
    best, which = scores.top_labels(99)
    assert best.shape == which.shape == (3, 6, 7, 5)
    torch.testing.assert_close(best, expected.sort(-1, descending=True).values)


def test_label_scores_work_for_any_number_of_arcs():
    bilinear, dependents, heads = torch.randn(4, 3, 3), torch.randn(2, 5, 3), torch.randn(2, 5, 3)
    found = label_scores(bilinear, dependents, heads)
    assert found.shape == (2, 5, 4)
    torch.testing.assert_close(label_scores(bilinear, dependents[1, 2], heads[1, 2]), found[1, 2])
    torch.testing.assert_close(found[0, 1, 3], dependents[0, 1] @ bilinear[3] @ heads[0, 1])
    assert label_scores(bilinear, dependents[:0], heads[:0]).shape == (0, 5, 4)
