"""Pieces → batches of sequences, all of one length, in an order that a seed and the number of the pass decide.

A sequence is [CLS], a stretch of the text in its own order, [SEP]. Nothing is padded: the end of a file is followed by
its beginning. Each pass cuts the text at other positions. Any batch can be made from its number alone, so a run that
is resumed reads on where it was.

Shapes: B sequences of a batch, L pieces of a sequence.
"""

from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from discotree.config.pretraining import SPECIAL_PIECES

AHEAD = 4  # batches that are read while the network learns
Pieces = npt.NDArray[np.unsignedinteger[Any]]


@dataclass
class Sequences:
    """The sequences of all passes over the text, by their number."""

    pieces: Sequence[Pieces]  # one array for each file
    repeats: Sequence[int]  # how many times a pass reads each file
    length: int
    begin: int  # the number of [CLS]
    end: int  # the number of [SEP]
    seed: int
    _cut: dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = field(default_factory=dict)

    @property
    def inner(self) -> int:
        """Pieces of text in a sequence."""
        return self.length - SPECIAL_PIECES

    @property
    def per_pass(self) -> int:
        return sum(-(-len(pieces) // self.inner) * n for pieces, n in zip(self.pieces, self.repeats, strict=True))

    def rows(self, first: int, count: int) -> npt.NDArray[np.int32]:
        """Return ``count`` sequences from number ``first`` on, (count, L)."""
        result = np.empty((count, self.length), np.int32)
        result[:, 0], result[:, -1] = self.begin, self.end
        numbers = np.arange(first, first + count)
        for number in np.unique(numbers // self.per_pass).tolist():
            files, starts = self._pass(number)
            rows = np.flatnonzero(numbers // self.per_pass == number)
            chosen = numbers[rows] - number * self.per_pass
            for file in np.unique(files[chosen]).tolist():
                own = files[chosen] == file
                where = (starts[chosen[own], None] + np.arange(self.inner)) % len(self.pieces[file])
                result[rows[own], 1:-1] = self.pieces[file][where]
        return result

    def _pass(self, number: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the file and the start of each sequence of a pass, in the order of training."""
        if number not in self._cut:
            draw = np.random.default_rng([self.seed, number])
            files, starts = [], []
            for file, (pieces, repeat) in enumerate(zip(self.pieces, self.repeats, strict=True)):
                for _ in range(repeat):
                    cut = np.arange(0, len(pieces), self.inner, dtype=np.int64) + draw.integers(self.inner)
                    starts.append(cut)
                    files.append(np.full(len(cut), file, np.int64))
            order = draw.permutation(self.per_pass)
            self._cut = {number - 1: self._cut[number - 1]} if number - 1 in self._cut else {}
            self._cut[number] = (np.concatenate(files)[order], np.concatenate(starts)[order])
        return self._cut[number]


def batches(sequences: Sequences, size: int, first: int, device: torch.device) -> Generator[Tensor, None, None]:
    """Yield batches (B, L) without end, from number ``first`` on; some are read ahead and copied without waiting."""
    pinned = device.type == "cuda"

    def load(number: int) -> Tensor:
        rows = torch.from_numpy(sequences.rows(number * size, size))
        return rows.pin_memory() if pinned else rows

    with ThreadPoolExecutor(1) as pool:
        pending = deque(pool.submit(load, number) for number in range(first, first + AHEAD))
        number = first + AHEAD
        while True:
            rows = pending.popleft().result()
            pending.append(pool.submit(load, number))
            number += 1
            yield rows.to(device, non_blocking=True).long()
