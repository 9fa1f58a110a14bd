"""Sub-word vectors as features of words.

Shapes: B sentences, N words, P pieces in the longest sentence, D numbers in a vector.
"""

import torch
from torch import Tensor, nn

from discotree.network.subwords import Subwords


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
