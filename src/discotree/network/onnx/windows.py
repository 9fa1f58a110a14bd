"""Read pieces with a Transformer: some sentences at a time, and long ones in overlapping windows.

A piece takes its vector from the window in which it is furthest from an edge. Shapes: B sentences of P pieces, at most
K windows in each; R windows of W pieces; H features.
"""

import math
from dataclasses import dataclass

import numpy as np

from discotree.config import NetworkSettings
from discotree.errors import ModelError
from discotree.network.batch import Ints
from discotree.network.onnx.transformer import EncoderGraph, Run
from discotree.network.scores import Floats32

MAX_OVERLAP = 16  # windows that a piece may lie in
# Rows of attention have a multiple of this length: sums are made of so many at once, and what is left over would be
# summed in another order in a longer batch. Then a row's numbers are the same in every batch, to the last digit.
LANES = 16
CHUNK = 1 << 22  # most pairs of pieces that attend to each other, and most features of a layer, at a time


@dataclass(frozen=True)
class Windows:
    """How a Transformer reads sentences of any length."""

    width: int
    stride: int
    around: int  # pieces before and after a sentence
    heads: int
    features: int  # numbers in a vector of the widest layer

    @classmethod
    def of(cls, encoder: EncoderGraph, settings: NetworkSettings, where: str) -> "Windows":
        sizes = encoder.config
        around = len(encoder.before) + len(encoder.after)
        most = sizes.room - around
        width = min(settings.encoder_window or most, most)
        if width < 1:
            raise ModelError(f"{where}: it has no room for a sentence")
        stride = min(settings.encoder_stride, width) or (width + 1) // 2
        if width > MAX_OVERLAP * stride:
            least = math.ceil(width / MAX_OVERLAP)
            raise ModelError(f"{where}: encoder_stride: expected at least {least}, got {stride}")
        return cls(width, stride, around, sizes.heads, max(sizes.inner, 3 * sizes.hidden))

    def read(self, run: Run, pieces: Ints, counts: Ints) -> Floats32:
        """Run it over pieces (B, P), given how many each sentence has (B,) → vectors (B, P or more, H)."""
        width, stride = self.width, self.stride
        if pieces.shape[1] <= width:
            return self._read(run, pieces, counts)
        columns = np.arange(pieces.shape[1])  # (P,)
        windows = np.maximum(counts - width + stride - 1, 0) // stride + 1  # (B,)
        starts = np.arange(windows.max()) * stride  # (K,)
        inside = np.minimum(starts[:, None] + columns[:width], len(columns) - 1)  # (K, W)
        real = starts < (windows * stride)[:, None]  # (B, K)
        sizes = np.clip(counts[:, None] - starts, 0, width)  # (B, K)
        vectors = self._read(run, pieces[:, inside][real], sizes[real])  # (R, W, H)
        rows = real.cumsum().reshape(real.shape) - 1  # (B, K) row of each window
        nearest = np.maximum((columns - width // 2 + stride // 2) // stride, 0)  # (P,)
        nearest = np.minimum(nearest, windows[:, None] - 1)  # (B, P)
        place = np.minimum(columns - nearest * stride, width - 1)
        found: Floats32 = vectors[np.take_along_axis(rows, nearest, 1), place]
        return found

    def _read(self, run: Run, pieces: Ints, counts: Ints) -> Floats32:
        """Return the vectors of pieces that fit one window."""
        pieces = np.pad(pieces, ((0, 0), (0, -(pieces.shape[1] + self.around) % LANES)))
        columns = pieces.shape[1] + self.around
        step = max(1, CHUNK // (columns * max(self.features, self.heads * columns)))
        parts = [
            run({"pieces": pieces[k : k + step], "counts": counts[k : k + step]})["vectors"]
            for k in range(0, len(pieces), step)
        ]
        found: Floats32 = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return found
