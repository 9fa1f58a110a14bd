"""Scores: all that decoding may look at.

Shapes: B sentences, N words in the longest of them, L arc labels, K label features. Columns of heads run
over 0..N: column 0 is the dummy root, column j + 1 is the word at position j.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

CHUNK = 1 << 23  # most numbers in an intermediate result


@dataclass(frozen=True)
class Scores:
    """What the network predicts for a batch: log-probabilities of heads, factors of labels, auxiliary heads.

    Beyond the end of a sentence columns are -inf and rows are undefined.
    """

    lengths: Tensor  # (B,), on the CPU
    arcs: Tensor  # (B, N, N+1) log-probabilities of all heads
    dependents: Tensor  # (B, N, K) label features of every word as a dependent
    heads: Tensor  # (B, N+1, K) label features of every word, and the dummy root, as a head
    bilinear: Tensor  # (L, K, K) a label's score for features of a dependent and of its head
    auxiliary: dict[str, Tensor]  # by auxiliary head: (B, N, classes) log-probabilities
    ready: torch.cuda.Event | None = None  # CUDA event another stream can wait on

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def mask(self) -> Tensor:
        """Whether a word is there, rather than padding: (B, N)."""
        n = self.arcs.shape[1]
        return (torch.arange(n) < self.lengths[:, None]).to(self.arcs.device)

    def labels(self, heads: Tensor) -> Tensor:
        """Return the log-probabilities of all labels (B, N, L), given the heads (B, N) as columns 0..N."""
        chosen = torch.take_along_dim(self.heads, heads[..., None], 1)  # (B, N, K)
        return label_scores(self.bilinear, self.dependents, chosen).float().log_softmax(-1)

    def best_labels(self) -> tuple[Tensor, Tensor]:
        """Return the log-probability of every arc's best label, and its id: (B, N, N+1) each."""
        best, which = self.top_labels(1)
        return best[..., 0], which[..., 0]

    def top_labels(self, k: int) -> tuple[Tensor, Tensor]:
        """Return log-probabilities and ids of every arc's k best labels, best first: (B, N, N+1, k) each."""
        b, n, columns = self.arcs.shape
        count = len(self.bilinear)
        k = min(k, count)
        best = torch.empty(b, n, columns, k, device=self.arcs.device)
        which = torch.empty(b, n, columns, k, dtype=torch.long, device=self.arcs.device)
        step = max(1, CHUNK // max(1, b * count * max(columns, self.heads.shape[2])))
        for row in range(0, n, step):
            features = torch.einsum("bnk,lkm->bnlm", self.dependents[:, row : row + step], self.bilinear)
            scores = torch.einsum("bnlm,bhm->bnhl", features, self.heads).float()
            values, which[:, row : row + step] = scores.topk(k, -1) if k > 1 else scores.max(-1, keepdim=True)
            best[:, row : row + step] = values - scores.logsumexp(-1, keepdim=True)
        return best, which


def label_scores(bilinear: Tensor, dependents: Tensor, heads: Tensor) -> Tensor:
    """Return the scores of all labels (…, L) for arcs between dependents (…, K) and their heads (…, K)."""
    features = torch.einsum("...k,lkm->...lm", dependents, bilinear)
    return torch.einsum("...lm,...m->...l", features, heads)
