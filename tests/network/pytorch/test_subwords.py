"""The features that sub-words give to words."""

import numpy as np
import pytest
import torch

from discotree.network.pytorch.tensors import SubwordFeatures
from discotree.network.subwords import Subwords
from discotree.network.weights import QuantizedMatrix

COUNT, SIZE = 11, 4


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    vectors = QuantizedMatrix(rng.integers(-127, 128, (COUNT, SIZE), np.int8), rng.random(COUNT, np.float32))
    return Subwords("\n".join(["", *"abcdefghij"]).encode(), np.zeros(COUNT, np.float32), vectors)


def test_features_are_the_first_piece_and_the_mean(small):
    features = SubwordFeatures(small)
    assert features.size == 8
    pieces = torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0]])
    first, last = torch.tensor([[0, 1], [0, 0]]), torch.tensor([[0, 3], [1, 0]])
    result = features(pieces, first, last)
    assert result.shape == (2, 2, 8)
    vectors = torch.from_numpy(small.vectors.dense())
    torch.testing.assert_close(result[0, 1], torch.cat([vectors[2], vectors[[2, 3, 4]].mean(0)]))
    torch.testing.assert_close(result[1, 0], torch.cat([vectors[5], vectors[[5, 6]].mean(0)]))


def test_nothing_is_trained_and_nothing_is_saved(small):
    features = SubwordFeatures(small)
    assert not list(features.parameters())
    assert not features.state_dict()
