"""Checkpoints of a training run: one safetensors file, written whole or not at all."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from discotree.errors import ModelError
from discotree.files.writing import writable
from discotree.validation import from_table

T = TypeVar("T")
FILE = "checkpoint.safetensors"


def save_checkpoint(path: Path, tensors: dict[str, Tensor], state: Any, identity: str) -> None:
    """Replace the checkpoint by a new one; a power cut leaves the old or the new one.

    ``identity`` tells runs apart: a checkpoint is only loaded with the identity that it was saved with.
    """
    about = {"state": json.dumps(asdict(state)), "identity": identity}
    with writable(str(path)) as stream:
        stream.write(save({name: value.contiguous() for name, value in tensors.items()}, about))


def load_checkpoint(path: Path, tensors: dict[str, Tensor], kind: type[T], identity: str) -> T:
    """Fill the tensors from a checkpoint of the same run; return its state, a dataclass of this kind."""
    try:
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
            if about.get("identity") != identity:
                raise ModelError(
                    f"{path}: a checkpoint of another run (other settings or data); remove it to start over"
                )
            if set(file.keys()) != tensors.keys():
                raise ModelError(f"{path}: a checkpoint of another network; remove it to start over")
            with torch.no_grad():
                for name, value in tensors.items():
                    found = file.get_tensor(name)
                    if (found.shape, found.dtype) != (value.shape, value.dtype):
                        raise ValueError(f"{name} is {tuple(found.shape)}, {found.dtype}")
                    value.copy_(found)
            return from_table(kind, json.loads(about["state"]), "state", complete=True)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ModelError(f"{path}: the checkpoint cannot be read; remove it to start over: {error}") from None
