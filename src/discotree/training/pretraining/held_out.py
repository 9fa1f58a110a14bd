"""Sentences that must not be in the text, such as those of dev and test: found in it, whatever their tokenisation.

Text is compared as letters and digits without case: everything else, whitespace included, is removed. A sentence that
is long enough is searched for inside lines. The first letters of all sentences are found at once, by their hash:

    text → codes of its letters → hash of the letters from each position on → candidates → comparison
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discotree.config import Data, load_recipe, recipe_names
from discotree.errors import ConfigError
from discotree.training.data import matching, read_splits, resolve
from discotree.treebanks import read
from discotree.trees.tree import Tree

ANCHOR = 12  # letters by which a sentence is found; one that has fewer is compared with whole lines
TABLE_BITS = 24  # size of the table that tells hashes apart; a false one costs a comparison
BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits all over
RECIPE_SUFFIX = ".toml"
_SQUEEZED_OUT = re.compile(r"[^\w\n]+|_+")  # line ends stay, so that lines can be told apart

Hashes = npt.NDArray[np.uint64]


class HeldOutSentence(NamedTuple):
    """A sentence of a treebank that must not be in the text."""

    treebank: str
    id: str
    words: tuple[str, ...]


class Found(NamedTuple):
    """A line of text, by its index in the block, that contains a held-out sentence."""

    line: int
    sentence: int


def squeezed(text: str) -> str:
    """Return the letters and digits of a text without case; line ends stay."""
    return _SQUEEZED_OUT.sub("", unicodedata.normalize("NFKC", text).casefold())


@dataclass
class HeldOut:
    """An index of sentences that must not be in the text."""

    sentences: Sequence[HeldOutSentence]
    min_words: int
    whole: dict[str, int] = field(default_factory=dict)  # short sentences, squeezed
    inside: dict[int, list[tuple[str, int]]] = field(default_factory=dict)  # others, by the hash of their beginning

    def __post_init__(self) -> None:
        seen = set()
        for number, sentence in enumerate(self.sentences):
            letters = squeezed(" ".join(sentence.words)).replace("\n", "")
            words = sum(1 for word in sentence.words if squeezed(word).strip())
            if not letters or letters in seen:
                continue
            seen.add(letters)
            self.whole[letters] = number
            if words >= self.min_words and len(letters) >= ANCHOR:
                del self.whole[letters]
                beginning = int(_hashes(letters[:ANCHOR])[0])
                self.inside.setdefault(beginning, []).append((letters, number))
        self._known = np.array(sorted(self.inside), np.uint64)
        self._table = np.zeros(1 << TABLE_BITS, bool)
        self._table[_cell(self._known)] = True

    def __len__(self) -> int:
        return len(self.sentences)

    def search(self, lines: Sequence[str]) -> list[Found]:
        """Return the lines that contain held-out sentences, each with the sentence, in the order of the text."""
        if not self.sentences:
            return []
        text = squeezed("\n".join(lines))
        found = {Found(number, self.whole[line]) for number, line in enumerate(text.split("\n")) if line in self.whole}
        hashes = _hashes(text)
        positions = np.flatnonzero(self._table[_cell(hashes)])
        positions = positions[np.isin(hashes[positions], self._known)]
        if len(positions):
            ends = np.flatnonzero(_codes(text) == ord("\n"))
            for position, line in zip(positions.tolist(), np.searchsorted(ends, positions).tolist(), strict=True):
                for letters, number in self.inside[int(hashes[position])]:
                    if text.startswith(letters, position):
                        found.add(Found(line, number))
        return sorted(found)


def _codes(text: str) -> Hashes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)


def _hashes(text: str) -> Hashes:
    """Return the hash of the ``ANCHOR`` letters from each position on, as far as there are so many."""
    one = _codes(text)
    if len(one) < ANCHOR:
        return np.zeros(0, np.uint64)
    with np.errstate(over="ignore"):
        two = one[:-1] * BASE + one[1:]
        four = two[:-2] * BASE**2 + two[2:]
        eight = four[:-4] * BASE**4 + four[4:]
        return np.asarray(eight[:-4] * BASE**4 + four[8:], np.uint64)


def _cell(hashes: Hashes) -> npt.NDArray[np.int64]:
    with np.errstate(over="ignore"):
        return ((hashes * BASE) >> np.uint64(64 - TABLE_BITS)).astype(np.int64)


# Treebanks


def held_out_sentences(names: Iterable[str]) -> list[HeldOutSentence]:
    """Return the sentences to hold out: dev and test of a recipe, or all those of a treebank."""
    found = []
    for name in names:
        found += [HeldOutSentence(Path(name).name, tree.id, tree.words) for tree in _trees(name)]
    return found


def _trees(name: str) -> list[Tree]:
    if name in recipe_names() or name.endswith(RECIPE_SUFFIX):
        trees = dev_and_test(load_recipe(name).data)
        if not trees:
            raise ConfigError(f"{name}: the recipe has neither dev nor test sentences to hold out")
        return trees
    return [tree for path in matching(name) for tree in read(path)]


def dev_and_test(data: Data) -> list[Tree]:
    """Return all sentences that a recipe scores on; training trees are read only if dev is a part of them."""
    train = data.train if data.hold_out and not data.dev else ()
    splits = read_splits(resolve(replace(data, train=train, drop_repeats=False)))
    return [*splits["dev"].trees, *splits["test"].trees]
