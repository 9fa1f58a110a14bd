"""The phrases of a whole batch as arrays: ``build_nodes`` of ``encoding.dependencies`` for many sentences at once.

A *phrase* is a chain of labels at one level of a word's spine, or the chain over a single word. The phrases of a word
follow each other, the lowest first, and each contains the one before it. A word, and the highest phrase of a word, hang
on the phrase that the word joins: that of its level on the spine of its head. If the label of that level dissolved,
this is the next higher phrase of the head, or else the one that the head joins itself.

Shapes: B sentences, N words in the longest of them, T words in all, P phrases without the roots. Phrase P + b is the
root of sentence b.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discotree.encoding.dependencies import Level
from discotree.errors import EncodingError
from discotree.network.arrays import I64, Bool

NO_CHAIN = 0  # the chain without labels: of a word without phrases of its own, or of a label that dissolves


class Chains:
    """The distinct chains of labels that a model knows, and the chain and the level of every arc label."""

    def __init__(self, levels: Sequence[Level], unaries: Sequence[tuple[str, ...]] = (), root: str = "") -> None:
        """``levels`` are those of all arc labels, ``unaries`` the chains over single words."""
        numbers: dict[tuple[str, ...], int] = {(): NO_CHAIN}
        self.of_label = np.array([numbers.setdefault(chain, len(numbers)) for chain, _ in levels], np.int64)
        self.of_unary = np.array([numbers.setdefault(chain, len(numbers)) for chain in unaries], np.int64)
        self.root = numbers.setdefault((root,), len(numbers))
        self.labels = list(numbers)  # from top to bottom
        self.level = np.unique([level for _, level in levels], return_inverse=True)[1]  # its rank among all levels


@dataclass(frozen=True, eq=False)
class Phrases:
    """The phrases of a batch."""

    sentence: I64  # (T,) of every word
    position: I64  # (T,)
    starts: I64  # (B,) index of the first word of every sentence
    word: I64  # (P,) the head of every phrase
    chain: I64  # (P,) its number in Chains
    joins: I64  # (T,) the phrase that every word joins
    lowest: I64  # (T,) the phrase right above every word
    above: I64  # (P,) the phrase right above every phrase
    covered: Bool  # (P, N)

    @classmethod
    def of(cls, heads: I64, labels: I64, inside: Bool, chains: Chains, unary: I64 | None = None) -> "Phrases":
        """Return the phrases of heads (B, N), positions or -1, labels (B, N) and classes of chains over single words.

        If the dependents of one level have different chains, the most frequent one wins, then the leftmost.
        """
        sentence, position = np.nonzero(inside)
        lengths = inside.sum(1)
        starts = lengths.cumsum() - lengths
        head = heads[inside]
        own = np.zeros(len(head), np.int64) if unary is None else chains.of_unary[unary[inside]]
        on_word = np.flatnonzero(head >= 0)
        head += starts[sentence]  # now an index of a word, except on the root
        # Levels of spines: dependents that join the same head at the same level
        key = head[on_word] * (len(chains.level) + 1) + chains.level[labels[inside][on_word]]
        order = np.argsort(key, kind="stable")
        dependents, key = on_word[order], key[order]
        is_first = starts_run(key)
        level, first = is_first.cumsum() - 1, np.flatnonzero(is_first)
        candidates = chains.of_label[labels[inside][dependents]]
        chain = candidates[first]
        for number in set(level[candidates != chain[level]].tolist()):
            chain[number] = Counter(candidates[level == number].tolist()).most_common(1)[0][0]
        # Phrases: the chain over the word alone, then the levels whose label did not dissolve
        level_head = head[dependents[first]]
        is_phrase = chain != NO_CHAIN
        higher = np.bincount(level_head[is_phrase], minlength=len(head))
        count = higher + (own != NO_CHAIN)
        end = count.cumsum()
        place = is_phrase.cumsum() - is_phrase + (own != NO_CHAIN).cumsum()[level_head]  # or the next higher phrase
        size = int(end[-1]) if len(end) else 0
        phrase_chain = np.empty(size, np.int64)
        phrase_chain[(end - count)[own != NO_CHAIN]] = own[own != NO_CHAIN]
        phrase_chain[place[is_phrase]] = chain[is_phrase]
        joins = size + sentence
        joins[dependents] = np.where(place < end[level_head], place, -1)[level]
        for _ in range(inside.shape[1]):
            if not len(lost := np.flatnonzero(joins < 0)):
                break
            joins[lost] = joins[head[lost]]
        above = np.arange(1, size + 1)
        above[end[count > 0] - 1] = joins[count > 0]
        lowest = np.where(count > 0, end - count, joins)
        covered = np.zeros((size, inside.shape[1]), bool)
        phrase, column = lowest, position
        for _ in range(size + 1):
            within = phrase < size
            phrase, column = phrase[within], column[within]
            if not len(phrase):
                break
            covered[phrase, column] = True
            phrase = above[phrase]
        else:
            raise EncodingError("heads form a cycle")
        word = np.repeat(np.arange(len(head)), count)
        return cls(sentence, position, starts, word, phrase_chain, joins, lowest, above, covered)

    def __len__(self) -> int:
        return len(self.word)

    @property
    def has_gap(self) -> Bool:
        """Whether a word between the first and the last word of a phrase is not part of it: (P,)."""
        end = self.covered.shape[1] - self.covered[:, ::-1].argmax(1)
        gaps: Bool = end - self.covered.argmax(1) > self.covered.sum(1)
        return gaps

    def outline(self, sizes: I64) -> "Outline":
        """Return the order of all nodes and words in their trees, given the numbers of labels of all chains."""
        words, roots, size = len(self.position), len(self.starts), len(self)
        lengths = np.bincount(self.sentence, minlength=roots)
        count = np.concatenate([self.covered.sum(1), lengths])  # (P+B,)
        first = np.concatenate([self.starts[self.sentence[self.word]] + self.covered.argmax(1), self.starts])  # (P+B,)
        place = np.arange(words)
        if self.has_gap.any():  # the place of a word is the number of words in earlier siblings of all that contain it
            above = np.concatenate([self.above, np.arange(size, size + roots), self.lowest])
            weight = np.concatenate([count[:size], np.zeros(roots, np.int64), np.ones(words, np.int64)])
            order = np.argsort(above * words + np.concatenate([first, place]), kind="stable")
            before = weight[order].cumsum() - weight[order]
            is_first = starts_run(above[order])
            earlier = np.empty(len(order), np.int64)
            earlier[order] = before - before[is_first][is_first.cumsum() - 1]
            earlier[size : size + roots] = 0
            while (above < size).any():  # every step follows twice as many phrases
                earlier, above = earlier + earlier[above], above[above]
            place = self.starts[self.sentence] + earlier[size + roots :]
        begin = place[first]
        larger = 2 * count  # comes first, and a root before a phrase of as many words
        larger[size:] += 1
        order = np.argsort(begin * (2 * self.covered.shape[1] + 2) - larger, kind="stable")
        nodes = np.concatenate([sizes[self.chain], np.ones(roots, np.int64)])  # (P+B,)
        opening = np.bincount(begin, nodes, words).astype(np.int64)
        closing = np.bincount(begin + count - 1, nodes, words).astype(np.int64)
        return Outline(order, nodes[order], place, opening, closing)


def starts_run(values: I64) -> Bool:
    """Return which values differ from the one before them."""
    starts = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=starts[1:])
    return starts


@dataclass(frozen=True, eq=False)
class Outline:
    """The order of nodes and words: parents before children, children from left to right."""

    phrases: I64  # (P+B,) the phrases and roots in their order
    nodes: I64  # (P+B,) the numbers of their nodes
    place: I64  # (T,) the place of every word among all words
    opening: I64  # (T,) how many nodes begin before the word in every place
    closing: I64  # (T,) how many nodes end after it
