"""The processes that train together: which device each takes, and what one alone does."""

import pytest
import torch

from discotree.errors import ConfigError
from discotree.training.distributed import World, choose_device


def test_every_process_has_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert choose_device("cuda") == torch.device("cuda:3")
    assert choose_device("cuda:1") == torch.device("cuda:1")
    assert choose_device("cpu") == torch.device("cpu")
    monkeypatch.delenv("LOCAL_RANK")
    assert choose_device("cuda") == torch.device("cuda:0")


def test_a_device_that_does_not_exist_is_refused():
    with pytest.raises(ConfigError, match=r"training.device: .*toaster"):
        choose_device("toaster")


def test_without_torchrun_a_process_is_a_world_of_its_own(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    world = World.join("cpu")
    assert (world, world.is_first) == (World(), True)
    tensors = [torch.ones(2), torch.tensor(3.0)]
    world.add_up(tensors)
    world.wait()
    assert [tensor.tolist() for tensor in tensors] == [[1, 1], 3]
    assert world.mean({"las": 0.1 + 0.2}) == {"las": 0.1 + 0.2}


def test_only_the_process_of_rank_0_is_the_first():
    assert [World(rank, 3).is_first for rank in range(3)] == [True, False, False]
