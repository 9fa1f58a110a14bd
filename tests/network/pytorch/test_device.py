"""A device that is not there, or cannot do what the network needs, is one sentence and no traceback."""

import pytest
import torch

from discotree.errors import ConfigError, ModelError
from discotree.network.pytorch.engine import usable

NAMES = [
    "cuda:7",
    "mps",
    "nonsense",
    "meta",
    "hpu",
    "privateuseone",
    "xla",
    "cuda:-1",
    "cuda:99999999999999999999",
    "\0",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_device_that_cannot_be_used_is_named_with_those_that_can(name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ModelError, match=r"^the device '.+' cannot be used: .+; available: cpu$") as caught:
        usable(name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 350


def test_the_error_is_the_callers():
    with pytest.raises(ConfigError, match=r"^training\.device: the device 'nonsense' cannot be used"):
        usable("nonsense", ConfigError, "training.device: ")


def test_a_device_that_is_there_is_returned():
    assert usable("cpu") == torch.device("cpu")
    assert usable(torch.device("cpu")) == torch.device("cpu")
    assert usable() == torch.device("cuda" if torch.cuda.is_available() else "cpu")
