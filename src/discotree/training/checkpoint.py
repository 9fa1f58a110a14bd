"""Where a training run stands, on disk: one safetensors file, written whole or not at all."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from discotree.errors import ModelError
from discotree.treebanks.source import writable

FILE = "checkpoint.safetensors"


def save_checkpoint(path: Path, tensors: dict[str, Tensor], state: Any, identity: str) -> None:
    """Replace the checkpoint by a new one; a power cut leaves one of them."""
    about = {"state": json.dumps(asdict(state)), "identity": identity}
    with writable(str(path)) as stream:
        stream.write(save({name: value.contiguous() for name, value in tensors.items()}, about))


def load_checkpoint(path: Path, tensors: dict[str, Tensor], state: Any, identity: str) -> None:
    """Fill the tensors and the state from a checkpoint of the same run."""
    try:
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
            if about.get("identity") != identity:
                raise ModelError(
                    f"{path}: a checkpoint of another run (other settings or data); remove it to start anew"
                )
            if set(file.keys()) != tensors.keys():
                raise ModelError(f"{path}: a checkpoint of another network: remove it first")
            with torch.no_grad():
                for name, value in tensors.items():
                    found = file.get_tensor(name)
                    if (found.shape, found.dtype) != (value.shape, value.dtype):
                        raise ValueError(f"{name} is {tuple(found.shape)}, {found.dtype}")
                    value.copy_(found)
            saved = json.loads(about["state"])
            for entry in fields(state):
                kind = type(getattr(state, entry.name))
                setattr(state, entry.name, _of_kind(kind, saved[entry.name], entry.name))
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ModelError(f"{path}: the checkpoint cannot be read, remove it to start anew: {error}") from None


def _of_kind(kind: type, value: Any, name: str) -> Any:
    if isinstance(value, int) and kind is float:
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"{name} is {value!r}")
    return value
