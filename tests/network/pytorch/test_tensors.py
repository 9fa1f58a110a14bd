"""Batches as tensors: the same numbers, on the device that they were asked for."""

import dataclasses

import numpy as np
import pytest
import torch
from support.networks import TREES, corpus_for, parser_of

from discotree.network.batch import Batch, SoftTargets
from discotree.network.pytorch.model import pack, unpack
from discotree.network.pytorch.tensors import TensorBatch

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]
ARRAYS = [entry.name for entry in dataclasses.fields(Batch) if entry.name not in ("gold", "soft")]


@pytest.fixture(scope="module")
def batch():
    return corpus_for(parser_of()).batch(np.arange(len(TREES)))


@pytest.mark.parametrize("device", DEVICES)
def test_tensors_hold_the_numbers_of_the_arrays(batch, device):
    found = TensorBatch.of(batch, device)
    assert len(found) == len(batch)
    for name in ARRAYS:
        assert getattr(found, name).tolist() == getattr(batch, name).tolist(), name
    assert {name: values.tolist() for name, values in found.gold.items()} == {
        name: values.tolist() for name, values in batch.gold.items()
    }


def test_everything_but_the_lengths_is_on_the_device(batch):
    found = TensorBatch.of(batch, torch.device("meta"))
    tensors = [getattr(found, name) for name in ARRAYS if name != "lengths"] + list(found.gold.values())
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert found.lengths.device.type == "cpu"
    assert list(found.gold) == list(batch.gold)


def test_every_sentence_twice(batch):
    once = TensorBatch.of(batch)
    twice = once.twice()
    assert len(twice) == 2 * len(once)
    assert twice.chars is once.chars  # the distinct words are the same
    for name in set(ARRAYS) - {"chars"}:
        assert getattr(twice, name).tolist() == 2 * getattr(once, name).tolist(), name
    assert {name: values.tolist() for name, values in twice.gold.items()} == {
        name: 2 * values.tolist() for name, values in once.gold.items()
    }


def test_what_teachers_expect_comes_along(batch):
    shape = batch.words.shape
    random = np.random.default_rng(0)
    ids = {name: random.integers(0, 300, (*shape, 2)).astype(np.int16) for name in ("head", "label")}
    steps = {name: random.integers(0, 256, (*shape, 2)).astype(np.uint8) for name in ("head", "label")}
    soft = SoftTargets(np.arange(len(batch)) > 3, random.random(shape).astype(np.float32), ids, steps)
    found = TensorBatch.of(dataclasses.replace(batch, soft=soft)).twice().soft
    assert found.text.tolist() == 2 * soft.text.tolist()
    assert found.weights.tolist() == 2 * soft.weights.tolist()
    for name in ("head", "label"):
        assert found.ids[name].tolist() == 2 * ids[name].tolist()
        assert found.steps[name].tolist() == 2 * steps[name].tolist()


def test_the_positions_of_words_are_those_that_are_not_padding(batch):
    found = TensorBatch.of(batch)
    assert len(set(found.lengths.tolist())) > 1
    for one in (found, found.twice()):
        width = one.words.shape[1]
        expected = [row * width + k for row, length in enumerate(one.lengths.tolist()) for k in range(length)]
        assert one.word_positions().tolist() == expected


def test_unpacking_is_the_inverse_of_packing():
    lengths = torch.tensor([2, 4, 1, 4, 3])
    x = torch.rand(5, 4, 3) * (torch.arange(4) < lengths[:, None])[..., None]  # padding is zero
    packed, order, back = pack(x, lengths)
    assert lengths[order].tolist() == [4, 4, 3, 2, 1]
    assert order[back].tolist() == [0, 1, 2, 3, 4]
    torch.testing.assert_close(unpack(packed.data, packed.batch_sizes, back), x)
