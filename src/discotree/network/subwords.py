"""Pretrained sub-word vectors: the pieces that words are made of, and a vector for each.

A table comes with discotree (``pieces/``, made by tools/make_pieces.py): the pieces in Latin script of Google's
multilingual sentence encoder, their vectors reduced to their principal components. A word is split into its most
probable sequence of pieces, as in the training of that encoder.

Shapes: B sentences, N words, P pieces in the longest sentence, V pieces in the table, D numbers in a vector.
"""

import math
import unicodedata
from importlib import resources
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from discotree.errors import ModelError

WORD_START = "▁"  # stands for the space in front of a word
UNKNOWN_PIECE = 0  # id of text that no piece matches
MAX_PIECES = 64  # per token: anything longer is no word, and the rest tells nothing more


class Subwords:
    """Pieces, their log-probabilities and their vectors."""

    def __init__(self, pieces: list[str], scores: list[float], vectors: Tensor) -> None:
        """The first piece is the unknown one; ``vectors`` are (V, D)."""
        if not len(pieces) == len(scores) == len(vectors) > 0:
            raise ModelError(
                f"{len(pieces)} pieces, {len(scores)} scores, {len(vectors)} vectors: expected equal numbers"
            )
        self.vectors = vectors
        self._scores = {piece: (score, k) for k, (piece, score) in enumerate(zip(pieces, scores, strict=True)) if k}
        self._longest = max(map(len, pieces))
        self._unknown_score = min(scores) - 10  # as the encoder's own tokenizer does it

    @classmethod
    def load(cls, name: str) -> "Subwords":
        """Load a table that comes with discotree."""
        path = Path(str(resources.files(__package__) / "pieces" / f"{name}.safetensors"))
        try:
            tensors = load_file(path)
            pieces = bytes(tensors["pieces"].numpy()).decode("utf-8").split("\n")
            vectors = tensors["table"].float() * tensors["scale"].float()[:, None]
            return cls(pieces, tensors["scores"].tolist(), vectors)
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise ModelError(f"{path}: the sub-word table cannot be read: {error}") from None

    def __len__(self) -> int:
        return len(self.vectors)

    def pieces(self, form: str) -> tuple[int, ...]:
        """Return the pieces of one token, at least one."""
        text = unicodedata.normalize("NFKC", form[: MAX_PIECES * self._longest])
        text = "".join(char for char in text if unicodedata.category(char) not in ("Cc", "Cf", "Cs"))
        text = WORD_START.join(text.split())
        if any(map(str.isalnum, text)):  # punctuation follows a word without a space
            text = WORD_START + text
        return tuple(self._best(text)[:MAX_PIECES]) or (UNKNOWN_PIECE,)

    def _best(self, text: str) -> list[int]:
        """Return the most probable pieces of a text, by dynamic programming over their ends."""
        n = len(text)
        score = [0.0] + [-math.inf] * n
        came = [(0, UNKNOWN_PIECE)] * (n + 1)  # start and id of the last piece
        for begin in range(n):
            so_far = score[begin]
            if so_far + self._unknown_score > score[begin + 1]:
                score[begin + 1], came[begin + 1] = so_far + self._unknown_score, (begin, UNKNOWN_PIECE)
            for end in range(begin + 1, min(n, begin + self._longest) + 1):
                known = self._scores.get(text[begin:end])
                if known is not None and so_far + known[0] > score[end]:
                    score[end], came[end] = so_far + known[0], (begin, known[1])
        pieces = []
        while n:
            n, piece = came[n]
            pieces.append(piece)
        return pieces[::-1]


class SubwordFeatures(nn.Module):
    """Pieces of sentences → features of words: the vector of the first piece, and the mean over all pieces.

    Nothing here is trained. The table is not saved with a model: it is the same for all.
    """

    table: Tensor

    def __init__(self, subwords: Subwords) -> None:
        super().__init__()
        self.register_buffer("table", subwords.vectors, persistent=False)
        self.size = 2 * subwords.vectors.shape[1]

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
