"""Optimisers of pretraining: Muon for the matrices of layers and AdamW for all other weights, or AdamW alone.

Muon (Jordan et al. 2024) moves a matrix by its averaged gradient after all of its singular values have become about 1.
Its steps are scaled to be about as large as AdamW's (Liu et al. 2025), so both share one learning rate.

Shapes: M matrices of one shape, R rows, C columns.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from discotree.config.pretraining import PretrainingSettings

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # this polynomial brings singular values near 1
ITERATIONS = 5
ADAM_STEP = 0.2  # usual size of AdamW's steps, per weight


class EncoderOptimizer:
    """All weights of an objective, and how each of them learns."""

    def __init__(self, weights: Mapping[str, nn.Parameter], settings: PretrainingSettings) -> None:
        self.weights = dict(weights)
        self.settings = settings
        muon = settings.optimizer == "muon"
        matrices = {name: weight for name, weight in weights.items() if muon and is_layer_matrix(name, weight)}
        rest = {name: weight for name, weight in weights.items() if name not in matrices}
        self.shapes: dict[tuple[int, ...], list[nn.Parameter]] = {}
        for weight in matrices.values():
            self.shapes.setdefault(tuple(weight.shape), []).append(weight)
        self.momenta = {
            shape: torch.zeros(len(same), *shape, device=same[0].device) for shape, same in self.shapes.items()
        }
        self.rest = rest
        self.adam = self._adam()

    def _adam(self) -> torch.optim.AdamW:
        settings, values = self.settings, self.rest.values()
        device = next(iter(values)).device
        groups = [
            {"params": [value for value in values if value.ndim >= 2], "weight_decay": settings.weight_decay},
            {"params": [value for value in values if value.ndim < 2], "weight_decay": 0.0},
        ]
        betas = (settings.beta1, settings.beta2)
        adam = torch.optim.AdamW(groups, settings.learning_rate, betas, settings.epsilon, fused=device.type == "cuda")
        for value in values:  # a checkpoint is loaded into these tensors before the first step
            adam.state[value] = {
                "step": torch.zeros((), device=device if device.type == "cuda" else "cpu"),
                "exp_avg": torch.zeros_like(value),
                "exp_avg_sq": torch.zeros_like(value),
            }
        return adam

    def step(self, learning_rate: float) -> None:
        """Move all weights by their gradients, and forget these."""
        if self.settings.clip:
            nn.utils.clip_grad_norm_(self.weights.values(), self.settings.clip)
        for group in self.adam.param_groups:
            group["lr"] = learning_rate
        self.adam.step()
        with torch.no_grad():
            for shape, weights in self.shapes.items():
                self._move(weights, self.momenta[shape], learning_rate)
        for weight in self.weights.values():
            weight.grad = None

    def _move(self, weights: list[nn.Parameter], momentum: Tensor, learning_rate: float) -> None:
        """Move matrices of one shape; ``momentum`` (M, R, C) is changed."""
        gradients = torch.stack([weight.grad for weight in weights if weight.grad is not None])  # (M, R, C)
        keep = self.settings.momentum
        momentum.lerp_(gradients, 1 - keep)
        steps = orthogonal(gradients.lerp_(momentum, keep))
        size = ADAM_STEP * math.sqrt(max(momentum.shape[1:]))
        values: list[Tensor] = [*weights]
        torch._foreach_mul_(values, 1 - learning_rate * self.settings.weight_decay)
        torch._foreach_add_(values, list(steps.to(momentum.dtype).unbind()), alpha=-learning_rate * size)

    def tensors(self) -> dict[str, Tensor]:
        """Return everything that a checkpoint keeps, by name; loading writes into these very tensors."""
        result = {f"weights/{name}": weight.detach() for name, weight in self.weights.items()}
        result |= {f"muon/{'x'.join(map(str, shape))}": momentum for shape, momentum in self.momenta.items()}
        for name, weight in self.rest.items():
            result |= {f"adam/{key}/{name}": value for key, value in self.adam.state[weight].items()}
        return result


def is_layer_matrix(name: str, weight: Tensor) -> bool:
    """Tell whether a weight is a matrix between vectors, not a table of them."""
    return weight.ndim == 2 and "layers." in name


def orthogonal(matrices: Tensor) -> Tensor:
    """Return matrices (M, R, C) with the same singular vectors, whose singular values are about 1 (Newton-Schulz)."""
    first, third, fifth = COEFFICIENTS
    x: Tensor = matrices.bfloat16() if matrices.is_cuda else matrices
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = first * x + (third * square + fifth * square @ square) @ x
    return x.mT if tall else x
