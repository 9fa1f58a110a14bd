"""The processes that train together: which device each takes, and what one alone does."""

import pytest
import torch

from discotree.errors import ConfigError
from discotree.training.distributed import ProcessGroup, choose_device


def test_every_process_has_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert choose_device("cuda") == "cuda:3"
    assert choose_device("cuda:1") == "cuda:1"
    assert choose_device("cpu") == "cpu"
    monkeypatch.delenv("LOCAL_RANK")
    assert choose_device("cuda") == "cuda:0"


def test_a_device_that_does_not_exist_is_refused():
    with pytest.raises(ConfigError, match=r"training.device: .*toaster"):
        ProcessGroup.join("toaster")


def test_without_torchrun_a_process_is_a_world_of_its_own(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    process_group = ProcessGroup.join("cpu")
    assert (process_group, process_group.is_first) == (ProcessGroup(), True)
    tensors = [torch.ones(2), torch.tensor(3.0)]
    process_group.add_up(tensors)
    process_group.wait()
    assert [tensor.tolist() for tensor in tensors] == [[1, 1], 3]
    assert process_group.mean({"las": 0.1 + 0.2}) == {"las": 0.1 + 0.2}


def test_only_the_process_of_rank_0_is_the_first():
    assert [ProcessGroup(rank, 3).is_first for rank in range(3)] == [True, False, False]
