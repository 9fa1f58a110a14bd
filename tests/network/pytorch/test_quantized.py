"""Weights rounded in training are those that are saved."""

import numpy as np
import pytest
import torch

from discotree.network.pytorch.model import rounded_rows
from discotree.network.weights import dense, rounded


@pytest.mark.parametrize("bits", [2, 4, 6, 8])
@pytest.mark.parametrize("shape", [(5, 40), (3, 4, 6), (7,), (2, 1)])
def test_training_rounds_as_files_do(bits, shape):
    weight = np.random.default_rng(bits).standard_t(3, shape).astype(np.float32)
    weight[0] = 0
    found = rounded_rows(torch.from_numpy(weight), bits).numpy()
    expected = dense(rounded({"w": weight}, bits)["w"]) if len(shape) > 1 else weight
    np.testing.assert_allclose(found, expected, rtol=1e-6)
