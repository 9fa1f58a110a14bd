"""Pretrained sub-word vectors: the pieces that words are made of, and a vector for each.

A table comes with discotree (``pieces/``, made by tools/make_pieces.py): the pieces in Latin script of Google's
multilingual sentence encoder, their vectors reduced to their principal components. A word is split into its most
probable sequence of pieces, as in the training of that encoder.

Shapes: V pieces in the table, D numbers in a vector.
"""

import json
import math
import unicodedata
from importlib import resources
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from discotree.errors import ModelError
from discotree.network.arrays import F32
from discotree.network.weights import QuantizedMatrix

WORD_START = "▁"  # stands for the space in front of a word
UNKNOWN_PIECE = 0  # id of text that no piece matches
MAX_PIECES = 64  # per token; the others are ignored


class Subwords:
    """Pieces, their log-probabilities and their vectors."""

    def __init__(self, pieces: bytes, scores: F32, vectors: QuantizedMatrix) -> None:
        """``pieces`` has one piece per line, the unknown one first; ``vectors`` are (V, D)."""
        names = pieces.decode("utf-8").split("\n")
        counts = len(names), len(scores), vectors.shape[0]
        if len({*counts}) > 1:
            raise ModelError("{} pieces, {} scores, {} vectors: expected equal numbers".format(*counts))
        self.vectors = vectors
        self._ids = dict(zip(names[1:], range(1, len(names)), strict=True))
        self._longest = max(map(len, names))
        self._scores: list[float] = scores.tolist()
        self._unknown_score = float(scores.min()) - 10  # as in the encoder's own tokenizer

    @classmethod
    def load(cls, name: str) -> "Subwords":
        """Load a table that comes with discotree."""
        path = Path(str(resources.files(__package__) / "pieces" / f"{name}.safetensors"))
        try:
            tensors = load_file(path)
            vectors = QuantizedMatrix(tensors["table"], tensors["scale"].astype(np.float32))
            return cls(tensors["pieces"].tobytes(), tensors["scores"], vectors)
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise ModelError(f"{path}: the sub-word table cannot be read: {error}") from None

    def __len__(self) -> int:
        return self.vectors.shape[0]

    @property
    def size(self) -> int:
        """The number of features of a word: the vector of its first piece, and the mean over all pieces."""
        return 2 * self.vectors.shape[1]

    def pieces(self, form: str) -> tuple[int, ...]:
        """Return the pieces of one token, at least one."""
        text = unicodedata.normalize("NFKC", form[: MAX_PIECES * self._longest])
        text = "".join(char for char in text if unicodedata.category(char) not in ("Cc", "Cf", "Cs"))
        text = WORD_START.join(text.split())
        if any(map(str.isalnum, text)):  # punctuation follows a word without a space
            text = WORD_START + text
        return tuple(self._best(text)[:MAX_PIECES]) or (UNKNOWN_PIECE,)

    def table(self) -> tuple[list[str], F32]:
        """Return all pieces in the order of their ids, the unknown one first, and their log-probabilities."""
        return ["", *self._ids], np.array(self._scores, np.float32)

    def to_json(self) -> str:
        """Return the ids of all pieces but the unknown one, and the log-probability of each id."""
        return json.dumps({"ids": self._ids, "scores": self._scores}, ensure_ascii=False)

    def _best(self, text: str) -> list[int]:
        """Return the most probable pieces of a text, by dynamic programming over their ends."""
        n = len(text)
        scores, ids, longest = self._scores, self._ids, self._longest
        score = [0.0] + [-math.inf] * n
        came = [(0, UNKNOWN_PIECE)] * (n + 1)  # start and id of the last piece
        for begin in range(n):
            so_far = score[begin]
            if so_far + self._unknown_score > score[begin + 1]:
                score[begin + 1], came[begin + 1] = so_far + self._unknown_score, (begin, UNKNOWN_PIECE)
            for end in range(begin + 1, min(n, begin + longest) + 1):
                piece = ids.get(text[begin:end])
                if piece is not None and so_far + scores[piece] > score[end]:
                    score[end], came[end] = so_far + scores[piece], (begin, piece)
        pieces: list[int] = []
        while n:
            n, piece = came[n]
            pieces.append(piece)
        return pieces[::-1]
