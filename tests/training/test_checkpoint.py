"""Checkpoints: tensors and state come back unchanged, or an error says which file to remove."""

import json
import os
import random
from dataclasses import dataclass, field

import pytest
import torch
from safetensors.torch import save_file

from discotree.errors import DiscotreeError, ModelError
from discotree.training.fit import CHECKPOINT, load_checkpoint, save_checkpoint


@dataclass
class State:
    epoch: int = 0
    best: float = -1.0
    history: list[dict[str, int | float]] = field(default_factory=list)


def tensors(value=0.0):
    return {
        "weights/a": torch.full((3, 4), value),
        "adam/step/a": torch.tensor(value),
        "adam/strided": torch.full((2, 6), value).T,
        "wide": torch.full((50,), value, dtype=torch.float64),
    }


STATE = State(3, 87.123456789012345, [{"loss": 0.1 + 0.2, "epoch": 1}, {"loss": float("inf"), "epoch": 2}])


@pytest.fixture
def path(tmp_path):
    path = tmp_path / CHECKPOINT
    save_checkpoint(path, tensors(1.5), STATE, "me")
    return path


def loaded(path, fingerprint="me"):
    found = tensors()
    state = load_checkpoint(path, found, State, fingerprint)
    return found, state


def message(path, fingerprint="me"):
    with pytest.raises(ModelError) as caught:
        loaded(path, fingerprint)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "remove it" in text
    return text


def test_a_checkpoint_comes_back_to_the_last_bit(path):
    found, state = loaded(path)
    assert state == STATE
    assert all(torch.equal(found[name], value) for name, value in tensors(1.5).items())


def test_loading_writes_into_the_given_tensors(path):
    found = tensors()
    kept = dict(found)
    load_checkpoint(path, found, State, "me")
    assert all(found[name] is kept[name] for name in kept)
    assert kept["adam/strided"].stride() == (1, 6)


def test_a_new_checkpoint_takes_the_place_of_the_old_one(path):
    save_checkpoint(path, tensors(2.5), State(4), "me")
    found, state = loaded(path)
    assert (state.epoch, float(found["adam/step/a"])) == (4, 2.5)
    assert [file.name for file in path.parent.iterdir()] == [CHECKPOINT]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_the_old_checkpoint_survives_a_write_that_fails(path, monkeypatch, failing):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, full)
        with pytest.raises(DiscotreeError, match="No space left on device") as caught:
            save_checkpoint(path, tensors(2.5), State(4), "me")
    assert str(path) in str(caught.value)
    assert loaded(path)[1] == STATE
    assert [file.name for file in path.parent.iterdir()] == [CHECKPOINT]


def test_a_checkpoint_of_other_settings_is_refused(path):
    assert "written with different settings or data" in message(path, "you")


@pytest.mark.parametrize("change", [{"more": torch.zeros(1)}, {"wide": None}], ids=["more", "less"])
def test_a_checkpoint_of_another_network_is_refused(path, change):
    changed = {name: value for name, value in (tensors() | change).items() if value is not None}
    save_checkpoint(path, changed, STATE, "me")
    assert "a different network" in message(path)


def test_a_checkpoint_of_other_sizes_is_refused(path):
    save_checkpoint(path, tensors() | {"weights/a": torch.zeros(4, 4)}, STATE, "me")
    assert "cannot read the checkpoint" in message(path)


def test_a_truncated_checkpoint_is_refused(path):
    whole = path.read_bytes()
    for size in {0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 1}:
        path.write_bytes(whole[:size])
        assert "cannot read the checkpoint" in message(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04.", b"PK\x03\x04" + bytes(100), b"\xff" * 64])
def test_a_foreign_file_is_refused(path, content):
    path.write_bytes(content)
    message(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    message(tmp_path / "nothing")
    message(tmp_path)


@pytest.mark.parametrize("state", [None, "", "[]", "5", "{}", '{"epoch": 1}', "[" * 100_000])
def test_a_checkpoint_without_a_state_is_refused(path, state):
    about = {"fingerprint": "me"} | ({} if state is None else {"state": state})
    save_file({name: value.contiguous() for name, value in tensors().items()}, path, about)
    assert "cannot read the checkpoint" in message(path)


def test_a_file_without_any_description_is_refused(path):
    save_file({name: value.contiguous() for name, value in tensors().items()}, path)
    assert "different settings" in message(path)


def test_flipped_bytes_are_an_error_or_another_number(path):
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    rng = random.Random(0)
    for _ in range(200):
        broken = bytearray(whole)
        broken[rng.randrange(header)] ^= 1 << rng.randrange(8)
        path.write_bytes(broken)
        complaint = f"{path}: "
        try:
            loaded(path)
        except ModelError as error:
            complaint = str(error)
        assert complaint.startswith(f"{path}: ")


def test_no_part_of_a_checkpoint_is_a_pickle(path):
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    assert set(header) == {"__metadata__", *tensors()}
