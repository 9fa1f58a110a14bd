"""What the network gives: tensors, as the loss and the engine need them.

Shapes: B sentences, N words in the longest of them, L arc labels, K label features, M arcs.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

CHUNK = 1 << 23  # most numbers in an intermediate result


@dataclass(frozen=True)
class TensorScores:
    """Log-probabilities of heads, factors of labels, auxiliary heads; as in Scores."""

    arcs: Tensor  # (B, N, N+1) log-probabilities of all heads
    dependents: Tensor  # (B, N, K) label features of every word as a dependent
    heads: Tensor  # (B, N+1, K) label features of every word, and the dummy root, as a head
    bilinear: Tensor  # (L, K, K) a label's score for features of a dependent and of its head
    auxiliary: dict[str, Tensor]  # by auxiliary head: (B, N, classes) log-probabilities

    def best_labels(self) -> tuple[Tensor, Tensor]:
        """Return the log-probability of every arc's best label, and its id: (B, N, N+1) each."""
        b, n, columns = self.arcs.shape
        best = torch.empty(b, n, columns, device=self.arcs.device)
        which = torch.empty(b, n, columns, dtype=torch.int32, device=self.arcs.device)
        step = max(1, CHUNK // max(1, b * len(self.bilinear) * max(columns, self.heads.shape[2])))
        for row in range(0, n, step):
            rows = slice(row, row + step)
            features = torch.einsum("bnk,lkm->bnlm", self.dependents[:, rows], self.bilinear)
            scores = torch.einsum("bnlm,bhm->bnhl", features, self.heads).float()
            values, ids = scores.max(-1)
            best[:, rows], which[:, rows] = values - scores.logsumexp(-1), ids
        return best, which


def label_scores(bilinear: Tensor, dependents: Tensor, heads: Tensor) -> Tensor:
    """Return the scores of all labels (…, L) for arcs between dependents (…, K) and their heads (…, K)."""
    features = torch.einsum("...k,lkm->...lm", dependents, bilinear)
    return torch.einsum("...lm,...m->...l", features, heads)
