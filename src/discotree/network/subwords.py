"""Pretrained sub-word vectors: the pieces that words are made of, and a vector for each.

A table comes with discotree (``pieces/``, made by tools/make_pieces.py): the pieces in Latin script of Google's
multilingual sentence encoder, their vectors reduced to the directions in which they differ most. Words are cut into
the pieces that are most probable together, as that encoder was trained.

Shapes: B sentences, N words, P pieces of the longest sentence, V pieces in the table, D numbers of a vector.
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
UNKNOWN_PIECE = 0  # what no piece of the table matches
MAX_PIECES = 64  # of one token: what is longer is no word, and nothing after that says what it is
MAX_CACHED = 1 << 20  # forms whose pieces are kept, so that a parser that runs for weeks does not fill the memory


class Subwords:
    """The pieces, how probable each of them is, and their vectors."""

    def __init__(self, pieces: list[str], scores: list[float], vectors: Tensor) -> None:
        """``vectors`` (V, D); the first piece is the unknown one."""
        if not len(pieces) == len(scores) == len(vectors) > 0:
            raise ModelError(f"{len(pieces)} pieces, {len(scores)} scores, {len(vectors)} vectors")
        self.vectors = vectors
        self._scores = {piece: (score, k) for k, (piece, score) in enumerate(zip(pieces, scores, strict=True)) if k}
        self._longest = max(map(len, pieces))
        self._unknown_score = min(scores) - 10  # as the encoder's own tokenizer does it
        self._cache: dict[str, tuple[int, ...]] = {}

    @classmethod
    def load(cls, name: str) -> "Subwords":
        """A table that comes with discotree."""
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
        """The pieces of one token, at least one."""
        found = self._cache.get(form)
        if found is None:
            if len(self._cache) >= MAX_CACHED:
                self._cache.clear()
            found = self._cache[form] = self._split(form)
        return found

    def _split(self, form: str) -> tuple[int, ...]:
        text = unicodedata.normalize("NFKC", form[: MAX_PIECES * self._longest])
        text = "".join(char for char in text if unicodedata.category(char) not in ("Cc", "Cf", "Cs"))
        text = WORD_START.join(text.split())
        if any(map(str.isalnum, text)):  # punctuation follows a word without a space
            text = WORD_START + text
        return tuple(self._best(text)[:MAX_PIECES]) or (UNKNOWN_PIECE,)

    def _best(self, text: str) -> list[int]:
        """The most probable pieces of a text: for every end, the best way to get there."""
        n = len(text)
        score = [0.0] + [-math.inf] * n
        came = [(0, UNKNOWN_PIECE)] * (n + 1)  # where the last piece begins, and which one it is
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
    """From the pieces of sentences to features of their words: the first piece's, and the mean of all.

    Nothing here is trained. The table is no part of the state: it is the same in every model.
    """

    table: Tensor

    def __init__(self, subwords: Subwords) -> None:
        super().__init__()
        self.register_buffer("table", subwords.vectors, persistent=False)
        self.size = 2 * subwords.vectors.shape[1]

    def forward(self, pieces: Tensor, first: Tensor, last: Tensor) -> Tensor:
        """``pieces`` (B, P); ``first`` and ``last`` (B, N) are each word's places in a row. Gives (B, N, size).

        Words that only fill up a row may name any place, such as 0.
        """
        vectors = self.table[pieces]  # (B, P, D)
        return torch.cat([first_of(vectors, first), mean_of(vectors, first, last)], dim=-1)


def first_of(vectors: Tensor, first: Tensor) -> Tensor:
    """(B, P, D) → (B, N, D): the vector of each word's first piece."""
    return vectors[torch.arange(len(vectors), device=vectors.device)[:, None], first]


def mean_of(vectors: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """(B, P, D) → (B, N, D): the mean over each word's pieces."""
    sums = nn.functional.pad(vectors.double().cumsum(1), (0, 0, 1, 0))  # (B, P+1, D)
    return ((first_of(sums, last + 1) - first_of(sums, first)) / (last - first + 1)[..., None]).float()
