"""Batches as tensors, on any device."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from discotree.network.batch import Batch, SoftTargets
from discotree.network.subwords import Subwords

ARRAYS = ("words", "tags", "chars", "form", "pieces", "first", "last")


def copy_to(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor from the CPU to a device. The CPU does not wait for the work that a GPU still has to do."""
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


@dataclass(frozen=True, eq=False)
class TensorTargets:
    """Soft targets as the loss reads them; names and shapes are those of SoftTargets."""

    text: Tensor
    weights: Tensor
    ids: dict[str, Tensor]
    steps: dict[str, Tensor]

    @classmethod
    def of(cls, soft: SoftTargets, device: torch.device) -> "TensorTargets":
        """Copy targets to a device, as small as they are."""

        def copied(arrays: "dict[str, Any]") -> dict[str, Tensor]:
            stacked = copy_to(torch.from_numpy(np.stack(list(arrays.values()))), device)
            return dict(zip(arrays, stacked.unbind(), strict=True))

        text, weights = (copy_to(torch.from_numpy(array), device) for array in (soft.text, soft.weights))
        return cls(text, weights, copied(soft.ids), copied(soft.steps))

    def twice(self) -> "TensorTargets":
        """Return the targets of every sentence twice: all of them, then all of them again."""
        ids, steps = ({name: torch.cat([own, own]) for name, own in part.items()} for part in (self.ids, self.steps))
        return TensorTargets(torch.cat([self.text] * 2), torch.cat([self.weights] * 2), ids, steps)


@dataclass(frozen=True, eq=False)
class TensorBatch:
    """A batch as the network reads it; names and shapes are those of Batch."""

    lengths: Tensor  # stays on the CPU
    words: Tensor
    tags: Tensor
    chars: Tensor
    form: Tensor
    pieces: Tensor
    first: Tensor
    last: Tensor
    gold: dict[str, Tensor] = field(default_factory=dict)
    soft: TensorTargets | None = None

    @classmethod
    def of(cls, batch: Batch, device: torch.device | str = "cpu") -> "TensorBatch":
        """Copy a batch to a device. A GPU gets it in one copy, because every copy has a latency."""
        arrays = [*(getattr(batch, name) for name in ARRAYS), *batch.gold.values()]
        device = torch.device(device)
        if device.type == "cuda":
            flat = torch.from_numpy(np.concatenate([array.ravel() for array in arrays]))
            parts = torch.split(copy_to(flat, device), [array.size for array in arrays])
            tensors = [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]
        else:
            tensors = [torch.from_numpy(array).to(device) for array in arrays]
        count = len(ARRAYS)
        gold = dict(zip(batch.gold, tensors[count:], strict=True))
        soft = TensorTargets.of(batch.soft, device) if batch.soft else None
        named = dict(zip(ARRAYS, tensors[:count], strict=True))
        return cls(torch.from_numpy(batch.lengths), **named, gold=gold, soft=soft)

    def __len__(self) -> int:
        return len(self.lengths)

    def word_positions(self) -> Tensor:
        """Return the indices (T,) of all words in the flattened batch (B·N,), without padding.

        They are computed on the CPU. If a GPU computed them, the CPU would have to wait for the result.
        """
        inside = torch.arange(self.words.shape[1]) < self.lengths[:, None]
        return copy_to(inside.flatten().nonzero()[:, 0], self.words.device)

    def twice(self) -> "TensorBatch":
        """Return a batch of every sentence twice: all of them, then all of them again."""
        shared = ("chars", "gold", "soft")  # the distinct words are the same
        doubled = {name: torch.cat([value, value]) for name, value in vars(self).items() if name not in shared}
        gold = {name: torch.cat([value, value]) for name, value in self.gold.items()}
        return TensorBatch(**doubled, chars=self.chars, gold=gold, soft=self.soft.twice() if self.soft else None)


class SubwordFeatures(nn.Module):
    """Pieces of sentences → features of words: the vector of the first piece, and the mean over all pieces.

    Nothing here is trained. The table is not saved with a model: it is the same for all.
    """

    table: Tensor

    def __init__(self, subwords: Subwords) -> None:
        super().__init__()
        with torch.device("cpu"):
            self.register_buffer("table", torch.from_numpy(subwords.vectors.dense()), persistent=False)
        self.size = subwords.size

    def forward(self, pieces: Tensor, first: Tensor, last: Tensor) -> Tensor:
        """Return features (B, N, size) from pieces (B, P) and the indices (B, N) of each word's first and last piece.

        The indices of padding may be any, such as 0.
        """
        vectors = self.table[pieces]  # (B, P, D)
        return torch.cat([first_of(vectors, first), mean_of(vectors, first, last)], dim=-1)


def first_of(vectors: Tensor, first: Tensor) -> Tensor:
    """Return the vector of each word's first piece: (B, P, D) → (B, N, D)."""
    return vectors[torch.arange(len(vectors), device=vectors.device)[:, None], first]


def mean_of(vectors: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """Return the mean over each word's pieces: (B, P, D) → (B, N, D)."""
    sums = nn.functional.pad(vectors.double().cumsum(1), (0, 0, 1, 0))  # (B, P+1, D)
    return ((first_of(sums, last + 1) - first_of(sums, first)) / (last - first + 1)[..., None]).float()
