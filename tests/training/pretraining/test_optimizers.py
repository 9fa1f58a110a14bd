"""Optimisers: singular values near 1, steps of AdamW's size, and AdamW itself where it is asked for."""

import pytest
import torch
from torch import nn

from discotree.config.pretraining import PretrainingSettings
from discotree.training.pretraining.optimizers import EncoderOptimizer, orthogonal


def weights_of(*shapes):
    torch.manual_seed(0)
    names = ["layers.0.a", "layers.1.a", "layers.0.wide", "words", "layers.0.bias"]
    return {name: nn.Parameter(torch.randn(shape)) for name, shape in zip(names, shapes, strict=True)}


SHAPES = ((6, 6), (6, 6), (4, 9), (20, 6), (6,))


def gradients(weights, seed):
    torch.manual_seed(seed)
    for weight in weights.values():
        weight.grad = torch.randn_like(weight)


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 5, 20), (2, 20, 5)])
def test_singular_values_become_about_one_and_their_vectors_stay(shape):
    torch.manual_seed(1)
    matrices = torch.randn(shape) * 7
    found = orthogonal(matrices)
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    middle = left.mT @ found @ right.mT
    values = torch.diagonal(middle, dim1=1, dim2=2)
    assert ((values > 0.5) & (values < 1.4)).all()
    torch.testing.assert_close(middle, torch.diag_embed(values), rtol=0, atol=1e-3)


def test_matrices_of_layers_get_muon_and_all_else_adamw():
    weights = weights_of(*SHAPES)
    optimizer = EncoderOptimizer(weights, PretrainingSettings(optimizer="muon", weight_decay=0.0, clip=0.0))
    assert sorted(optimizer.rest) == ["layers.0.bias", "words"]
    before = {name: weight.detach().clone() for name, weight in weights.items()}
    gradients(weights, 1)
    optimizer.step(0.01)
    steps = {name: (weight - before[name]).detach() for name, weight in weights.items()}
    sizes = {name: step.square().mean().sqrt().item() for name, step in steps.items()}
    assert sizes["words"] == pytest.approx(0.01, rel=0.01)  # AdamW's first step
    assert sizes["layers.0.a"] == pytest.approx(0.2 * 0.01, rel=0.4)
    assert sizes["layers.0.wide"] == pytest.approx(0.2 * 0.01, rel=0.4)
    assert all(weight.grad is None for weight in weights.values())


def test_matrices_of_one_shape_do_not_mix():
    both = weights_of(*SHAPES)
    gradients(both, 1)
    alone = {name: nn.Parameter(both[name].detach().clone()) for name in ("layers.1.a", "words")}
    for name, weight in alone.items():
        weight.grad = both[name].grad.clone()
    for weights in (both, alone):
        EncoderOptimizer(weights, PretrainingSettings(optimizer="muon", clip=0.0)).step(0.01)
    torch.testing.assert_close(both["layers.1.a"], alone["layers.1.a"])


def test_without_muon_it_is_torchs_adamw():
    ours, theirs = weights_of(*SHAPES), weights_of(*SHAPES)
    optimizer = EncoderOptimizer(ours, PretrainingSettings(optimizer="adamw", weight_decay=0.1, clip=0.5))
    matrices = [weight for weight in theirs.values() if weight.ndim > 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": [theirs["layers.0.bias"]], "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, 0.02, (0.9, 0.98), 1e-6)
    for seed in range(4):
        gradients(ours, seed)
        gradients(theirs, seed)
        optimizer.step(0.02)
        nn.utils.clip_grad_norm_(theirs.values(), 0.5)
        adam.step()
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name])


@pytest.mark.parametrize("kind", ["muon", "adamw"])
def test_loading_its_tensors_resumes_it(kind):
    settings = PretrainingSettings(optimizer=kind)
    one, two = weights_of(*SHAPES), weights_of(*SHAPES)
    first, second = EncoderOptimizer(one, settings), EncoderOptimizer(two, settings)
    for seed in range(3):
        gradients(one, seed)
        first.step(0.01)
    for name, value in second.tensors().items():
        value.copy_(first.tensors()[name])
    for weights, optimizer in ((one, first), (two, second)):
        gradients(weights, 9)
        optimizer.step(0.01)
    assert all(torch.equal(one[name], two[name]) for name in one)
