"""Find the pieces of a table by their text.

A table has 85,000 pieces, and a sentence needs a few hundred. So they stay bytes, sorted by how they begin; those that
begin like a word become strings when such a word comes.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

WORD_START = "▁"  # stands for the space in front of a word
_MARK = np.frombuffer(WORD_START.encode(), np.uint8)
_END = ord("\n")
_KEYS = 1 << 16

Ints = npt.NDArray[np.int64]


class PieceIndex:
    """The ids of pieces. Their key is how they begin: two bytes, or one and ``_END``, after a WORD_START; or else 0."""

    def __init__(self, text: bytes) -> None:
        """Index the lines of a text, whose numbers are the ids; the first one is not looked up."""
        self.text = text
        codes = np.frombuffer(text + bytes([_END] * (len(_MARK) + 2)), np.uint8)
        self._ends = np.flatnonzero(codes[: len(text) + 1] == _END)
        self._starts = np.concatenate([[0], self._ends[:-1] + 1])
        is_marked = np.logical_and.reduce([codes[self._starts + k] == code for k, code in enumerate(_MARK)])
        first = self._starts + len(_MARK) * is_marked
        keys = codes[first].astype(np.uint16) << 8 | codes[first + 1]
        keys[codes[first] == _END] = 0
        self._order = np.argsort(keys, kind="stable")
        self._groups = np.concatenate([[0], np.bincount(keys, minlength=_KEYS).cumsum()])
        self._found: dict[bytes, tuple[dict[str, int], int]] = {}
        self.longest = self._longest()

    def __len__(self) -> int:
        return len(self._starts)

    def ids(self) -> dict[str, int]:
        """Return the ids of all pieces."""
        pieces = self.text.decode("utf-8").split("\n")
        return dict(zip(pieces[1:], range(1, len(pieces)), strict=True))  # no tuples, to save memory

    def beginning(self, text: str, begin: int) -> tuple[Mapping[str, int], int]:
        """Return the ids of pieces, among them all that a text has at a place, and the length of the longest."""
        begin += text[begin] == WORD_START
        key = text[begin : begin + 2].encode("utf-8")[:2]
        found = self._found.get(key)
        if found is None:
            ids = self._decoded(key)
            found = self._found[key] = ids, max(map(len, ids), default=0)
        return found

    def _decoded(self, key: bytes) -> dict[str, int]:
        """Return the pieces that begin like this, or are no longer than one byte of it."""
        keys = {0, *(key[0] << 8 | code for code in (_END, *key[1:]))} if key else {0}
        ids = np.concatenate([self._order[self._groups[k] : self._groups[k + 1]] for k in keys])
        ids = ids[ids > 0]
        return dict(zip(self._pieces(ids), ids.tolist(), strict=True))

    def _pieces(self, ids: Ints) -> list[str]:
        spans = zip(self._starts[ids].tolist(), self._ends[ids].tolist(), strict=True)
        lines = [self.text[start:end] for start, end in spans]
        return b"\n".join(lines).decode("utf-8").split("\n") if lines else []  # one by one takes twice as long

    def _longest(self) -> int:
        """Return the characters of the longest piece; no piece has more characters than bytes."""
        sizes = self._ends - self._starts
        (some,) = self._pieces(sizes.argmax(keepdims=True))
        return max(map(len, self._pieces(np.flatnonzero(sizes > len(some)))), default=len(some))
