"""Weights in the precision that they will be saved in, as tensors on any device: for training that knows of it."""

import torch
from torch import Tensor

from discotree.network.weights import DEVIATIONS, SAFE


def rounded_rows(weight: Tensor, bits: int) -> Tensor:
    """Return a weight with every row rounded to multiples of its step, as ``network.weights.rounded`` does it.

    Vectors, such as biases, stay as they are.
    """
    if weight.ndim < 2:
        return weight
    usual = (1 << (bits - 1)) - 1
    rows = weight.reshape(len(weight), -1)
    largest = rows.abs().amax(1) if rows.shape[1] else rows.new_zeros(len(rows))
    deviation = rows.double().square().mean(1).sqrt()
    steps = torch.minimum(DEVIATIONS * deviation, largest.double()) / usual
    steps = torch.maximum(steps, largest.double() / max(usual, SAFE)).to(weight.dtype)
    tiny = torch.finfo(weight.dtype).tiny
    return ((rows / steps.clamp_min(tiny)[:, None]).round() * steps[:, None]).reshape(weight.shape)
