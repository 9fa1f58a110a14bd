"""Find held-out sentences, such as those of dev and test, in raw text, regardless of tokenisation.

Text is compared as letters and digits without case: everything else, whitespace included, is removed. Sentences that
are long enough are searched for inside lines; their first letters are all looked up at once, by hash:

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

from discotree.config.recipes import load_recipe, recipe_names
from discotree.config.schema import Data
from discotree.errors import ConfigError
from discotree.training.data import matching, read_held_out, resolve
from discotree.treebanks import read
from discotree.trees.tree import Tree

ANCHOR = 12  # letters by which a sentence is found; one that has fewer letters is compared with whole lines
MIN_WORDS = 5  # a sentence that has fewer words is compared with whole lines
TABLE_BITS = 24  # size of the hash table; a false positive costs a comparison
BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits all over
RECIPE_SUFFIX = ".toml"
_SQUEEZED_OUT = re.compile(r"[^\w\n]+|_+")  # line ends stay, so that lines can be told apart

Hashes = npt.NDArray[np.uint64]


class HeldOutSentence(NamedTuple):
    """A sentence of a treebank that must not be in the text."""

    treebank: str
    id: str
    words: tuple[str, ...]


def squeeze(text: str) -> str:
    """Return the letters and digits of a text without case; line ends stay."""
    return _SQUEEZED_OUT.sub("", unicodedata.normalize("NFKC", text).casefold())


@dataclass
class HeldOut:
    """An index of sentences that must not be in the text."""

    sentences: Sequence[HeldOutSentence]
    min_words: int = MIN_WORDS
    whole: dict[str, int] = field(default_factory=dict)  # short sentences, squeezed
    inside: dict[int, list[tuple[str, int]]] = field(default_factory=dict)  # others, by the hash of their beginning

    def __post_init__(self) -> None:
        seen = set()
        for number, sentence in enumerate(self.sentences):
            letters = squeeze(" ".join(sentence.words)).replace("\n", "")
            words = sum(1 for word in sentence.words if squeeze(word).strip())
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

    def search(self, lines: Sequence[str]) -> list[tuple[int, int]]:
        """Return the numbers of lines that contain held-out sentences, each with the number of the sentence."""
        if not self.sentences:
            return []
        text = squeeze("\n".join(lines))
        matches = {(number, self.whole[line]) for number, line in enumerate(text.split("\n")) if line in self.whole}
        hashes = _hashes(text)
        positions = np.flatnonzero(self._table[_cell(hashes)])
        positions = positions[np.isin(hashes[positions], self._known)]
        if len(positions):
            ends = np.flatnonzero(_codes(text) == ord("\n"))
            for position, line in zip(positions.tolist(), np.searchsorted(ends, positions).tolist(), strict=True):
                for letters, number in self.inside[int(hashes[position])]:
                    if text.startswith(letters, position):
                        matches.add((line, number))
        return sorted(matches)


def _codes(text: str) -> Hashes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)


def _hashes(text: str) -> Hashes:
    """Return the hash of the ``ANCHOR`` letters that start at each position."""
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
    """Return the sentences to hold out: dev and test of recipes, all sentences of treebanks."""
    sentences = []
    for name in names:
        if name in recipe_names() or name.endswith(RECIPE_SUFFIX):
            trees = dev_and_test(load_recipe(name).data)
            if not trees:
                raise ConfigError(f"{name}: the recipe has neither dev nor test sentences to hold out")
        else:
            trees = [tree for path in matching(name) for tree in read(path)]
        sentences += [HeldOutSentence(Path(name).name, tree.id, tree.words) for tree in trees]
    return sentences


def dev_and_test(data: Data) -> list[Tree]:
    """Return the trees of dev and test of a recipe."""
    splits = read_held_out(resolve(replace(data, drop_repeats=False)))
    return [*splits["dev"].trees, *splits["test"].trees]
