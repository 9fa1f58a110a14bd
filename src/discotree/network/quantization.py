"""Weights as files hold them: in half precision, or as int8 numbers.

With 8 bits or less, every row of a matrix is a multiple of one step: int8 numbers ``NAME`` and a step for each row
``NAME.step``. Fewer than 8 bits still take a byte each, but compress better: a wheel, which is a zip file, stores
6 bits in about 5.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from discotree.config import HALF
from discotree.errors import ModelError

STEP = ".step"
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)  # float8 has no arithmetic


def packed(weights: Mapping[str, Tensor], bits: int) -> dict[str, Tensor]:
    """Return the tensors of the file. Vectors, such as biases, are few and stay in half precision."""
    result = {}
    for name, value in weights.items():
        if bits == HALF or value.dim() < 2:
            result[name] = value.half().cpu().contiguous()
        else:
            largest = (1 << (bits - 1)) - 1
            rows = value.float().flatten(1)
            step = rows.abs().amax(1) / largest
            numbers = (rows / step.clamp_min(torch.finfo(torch.float32).tiny)[:, None]).round()
            result[name] = numbers.to(torch.int8).view(value.shape).cpu().contiguous()
            result[name + STEP] = step.cpu()
    return result


def unpacked(tensors: Mapping[str, Tensor], where: str) -> dict[str, Tensor]:
    """Return the weights: single precision where the file has int8, half precision elsewhere."""
    result = {}
    for name, value in tensors.items():
        if name.removesuffix(STEP) in tensors and name.endswith(STEP):
            continue
        step = tensors.get(name + STEP)
        if step is None:
            result[name] = value
        elif (
            value.dim() < 2
            or step.shape != value.shape[:1]
            or (value.dtype, step.dtype in FLOATS) != (torch.int8, True)
        ):
            raise ModelError(f"{where}: {name} and its steps do not fit: expected int8 and one step for each row")
        else:
            result[name] = (value.flatten(1).float() * step.float()[:, None]).view(value.shape)
    return result
