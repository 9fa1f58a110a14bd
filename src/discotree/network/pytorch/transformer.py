"""A pretrained Transformer below the network: any encoder that the library transformers knows, read from safetensors.

Shapes: B sentences, N words, P pieces in the longest sentence; R windows of W pieces; H numbers in a vector.
"""

import math
import re
from typing import Any

import torch
from torch import Tensor, nn

from discotree import config
from discotree.errors import ModelError
from discotree.network.pytorch.pretrained import build
from discotree.network.pytorch.subwords import first_of, mean_of
from discotree.network.transformer import Pretrained

USUAL_WINDOW = 512  # pieces, for a Transformer without a limit
MAX_WINDOW = 8192  # pieces, for a Transformer whose weights say nothing about positions
MAX_OVERLAP = 16  # windows that a piece may lie in
MAX_PAIRS = 1 << 24  # pairs of pieces that attend to each other at a time
_LAYER = re.compile(r"\.(\d+)\.")


class Transformer(nn.Module):
    """Pieces of sentences → vectors of words.

    A sentence that is too long is read in overlapping windows; each piece takes its vector from the window in which it
    is furthest from an edge.
    """

    before: Tensor
    after: Tensor

    def __init__(self, pretrained: Pretrained, settings: config.NetworkSettings) -> None:
        super().__init__()
        self.model = build(pretrained)
        self.layers = pretrained.layers
        self.size = pretrained.size
        self.pooling = settings.encoder_pooling
        self.padding = pretrained.padding
        self.mixture = nn.Parameter(torch.zeros(min(settings.encoder_layers, self.layers + 1)))
        self.scale = nn.Parameter(torch.ones(1))
        with torch.device("cpu"):
            self.register_buffer("before", torch.tensor(pretrained.before, dtype=torch.long), persistent=False)
            self.register_buffer("after", torch.tensor(pretrained.after, dtype=torch.long), persistent=False)
        most = room(self.model) - len(pretrained.before) - len(pretrained.after)
        self.window = min(settings.encoder_window or most, most)
        if self.window < 1:
            raise ModelError(f"{pretrained.where}: it has no room for a sentence")
        self.stride = min(settings.encoder_stride, self.window) or (self.window + 1) // 2
        if self.window > MAX_OVERLAP * self.stride:
            least = math.ceil(self.window / MAX_OVERLAP)
            raise ModelError(f"{pretrained.where}: encoder_stride: expected at least {least}, got {self.stride}")
        if settings.encoder_recompute:
            self.model.gradient_checkpointing_enable({"use_reentrant": False})

    def pretrained(self) -> dict[str, int]:
        """The names of the weights that were pretrained, and how many layers lie above each."""
        return {f"model.{name}": self._above(name) for name, _ in self.model.named_parameters()}

    def _above(self, name: str) -> int:
        layer = _LAYER.search(name)
        if layer:
            return self.layers - 1 - int(layer[1])
        return self.layers if "embed" in name else 0

    def train(self, mode: bool = True) -> "Transformer":
        """One that does not learn drops nothing either."""
        return super().train(mode and any(weight.requires_grad for weight in self.model.parameters()))

    def forward(self, pieces: Tensor, first: Tensor, last: Tensor) -> Tensor:
        """``pieces`` (B, P); ``first`` and ``last`` (B, N) are each word's columns in a row. Gives (B, N, H)."""
        lengths = last.amax(1) + 1  # (B,)
        vectors = (self.read if pieces.shape[1] <= self.window else self.read_in_windows)(pieces, lengths)
        return first_of(vectors, first) if self.pooling == "first" else mean_of(vectors, first, last)

    def read_in_windows(self, pieces: Tensor, lengths: Tensor) -> Tensor:
        """Return the vectors (B, P, H) of any number of pieces."""
        width, stride = self.window, self.stride
        columns = torch.arange(pieces.shape[1], device=pieces.device)  # (P,)
        counts = (lengths - width + stride - 1).clamp_min(0) // stride + 1  # (B,) windows per sentence
        starts = torch.arange(int(counts.max()), device=pieces.device) * stride  # (K,)
        inside = (starts[:, None] + columns[:width]).clamp_max(len(columns) - 1)  # (K, W)
        real = starts < (counts * stride)[:, None]  # (B, K)
        sizes = (lengths[:, None] - starts).clamp(0, width)  # (B, K)
        vectors = self.read(pieces[:, inside][real], sizes[real])  # (R, W, H)
        rows = real.flatten().cumsum(0).view_as(real) - 1  # (B, K) row of each window
        nearest = ((columns - width // 2 + stride // 2) // stride).clamp_min(0).expand_as(pieces)  # (B, P)
        nearest = torch.minimum(nearest, counts[:, None] - 1)
        return vectors[rows.gather(1, nearest), (columns - nearest * stride).clamp_max(width - 1)]

    def read(self, pieces: Tensor, lengths: Tensor) -> Tensor:
        """Return the vectors (B, P, H) of pieces that fit one window."""
        rows = max(1, MAX_PAIRS // max(1, pieces.shape[1]) ** 2)
        if rows < len(pieces):
            pairs = zip(torch.split(pieces, rows), torch.split(lengths, rows), strict=True)
            return torch.cat([self.read(*pair) for pair in pairs])
        columns = torch.arange(pieces.shape[1] + len(self.before) + len(self.after), device=pieces.device)
        begin, end = len(self.before), len(self.before) + pieces.shape[1]
        ids = pieces.new_full((len(pieces), len(columns)), self.padding)
        ids[:, :begin] = self.before
        ids[:, begin:end] = pieces.masked_fill(columns[: pieces.shape[1]] >= lengths[:, None], self.padding)
        where = begin + lengths[:, None] + columns[: len(self.after)]
        ids.scatter_(1, where, self.after.expand_as(where))
        mask = columns < (lengths + len(self.before) + len(self.after))[:, None]
        layers = self.model(input_ids=ids, attention_mask=mask.long(), output_hidden_states=True).hidden_states
        weights = self.scale * self.mixture.softmax(0)
        layers = torch.stack(layers[-len(weights) :])[:, :, begin:end]  # (layers, B, P, H)
        return (weights[:, None, None, None] * layers).sum(0)


def room(model: Any) -> int:
    """Return how many pieces a Transformer can read at once; some count positions from the id of the padding on."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
    return min(MAX_WINDOW, int(getattr(model.config, "max_position_embeddings", 0) or USUAL_WINDOW))
