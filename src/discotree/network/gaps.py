"""A second look at trees with gaps. Shapes and columns are those of ``decode``.

Arcs are scored one by one, so nothing tells a search that phrases with gaps are rare. A model may therefore have a
price for the gaps of every phrase label. The *value* of a labelled tree is

    log p(tree) - the sum of the prices of its discontinuous phrases.

A phrase is discontinuous if a word between its first and its last one is not in it, however many gaps there are; a
chain such as S+VP costs the price of each label. From the tree that the decoder found, ``close_gaps`` climbs: it takes
the step that raises the value most, until none raises it. A step has to lower the sum of prices, and is one of these:

attach   A word that is not on the root gets another head, other than the root, or another level on its head's spine.
fill     The words that hold all gaps of a phrase, two or more, attach at once: each at the best place in that phrase.
         They have to hold nothing but the gaps.

A word that joins a phrase takes its label; one that makes a new phrase takes the most probable label of that level. It
keeps its head or goes to one of its ``HEADS`` most probable ones. Of equal steps the first counts: ``attach`` before
``fill``, then the more probable.

Hardly any step can pay. A word closes a gap only if the phrase is contiguous with it, or contiguous or gone without it.
The prices of these phrases limit what its new place may cost, and labels are scored only within that limit.
"""

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from discotree.network.arborescence import Floats, Ints
from discotree.network.arc_weights import ArcWeights
from discotree.network.gap_prices import GapPrices, Phrase, discontinuous, has_gap

HEADS = 8  # most probable heads of a word that it may go to
TRIES = 1000  # steps that are tried for a sentence: a network that knows nothing would try them all
LEAST = 1e-6  # a smaller gain is a matter of rounding


class Attachment(NamedTuple):
    """A new place for a word."""

    loss: float  # log-probability that the tree loses
    word: int
    head: int
    level: int
    label: int


def close_gaps(weights: ArcWeights, heads: Ints, labels: Ints, own: Floats, prices: GapPrices) -> tuple[Ints, Ints]:
    """Return heads and labels (B, N) after a second look at the sentences with gaps.

    ``own`` (B, N) has the log-probabilities of the arcs with their labels, finite.
    """
    heads, labels = heads.copy(), labels.copy()
    climbs = [
        _Climb(
            b, weights.arcs[b, :n, : n + 1], heads[b, :n].tolist(), labels[b, :n].tolist(), own[b, :n].tolist(), prices
        )
        for b in np.flatnonzero(discontinuous(heads, np.array(prices.levels)[labels], weights.inside)).tolist()
        for n in [int(weights.lengths[b])]
    ]
    climbing = [climb for climb in climbs if climb.look()]
    while climbing:  # labels are scored for all sentences at once
        arcs = [(climb.sentence, word, head + 1) for climb in climbing for word, head in climb.wanted]
        rows = iter(weights.rows(*np.array(arcs).T))
        climbing = [climb for climb in climbing if climb.step([next(rows) for _ in climb.wanted]) and climb.look()]
    for climb in climbs:
        n = len(climb.heads)
        heads[climb.sentence, :n], labels[climb.sentence, :n] = climb.heads, climb.labels
    return heads, labels


class _Climb:
    """The second look at one sentence: its tree so far, and the steps that may raise the value."""

    def __init__(
        self, sentence: int, arcs: Floats, heads: list[int], labels: list[int], own: list[float], prices: GapPrices
    ) -> None:
        self.sentence = sentence
        self.arcs = arcs  # (n, n+1)
        self.heads, self.labels = heads, labels
        self.own = own  # log-probabilities of the arcs with their labels
        self.prices = prices
        self.tries = TRIES  # tries left

    def look(self) -> bool:
        """Find the words that may close a gap, and the arcs (word, head) whose labels are ``wanted``, if any."""
        phrases, self.below = self.prices.phrases(self.heads, self.labels)
        self.phrase_at = {(phrase.head, phrase.level): phrase for phrase in phrases}
        self.limits: dict[int, float] = {}  # by word: the prices of the gaps that it may close by itself
        self.fills: list[tuple[Phrase, list[int]]] = []  # phrases, and the words that hold their gaps
        self.paid = 0.0
        for phrase in phrases:
            price = self.prices.prices[phrase.label] if has_gap(phrase.words) else 0.0
            if not price:
                continue
            self.paid += price
            holders = self._holders(phrase.gaps)
            if len(holders) > 1:
                self.fills.append((phrase, holders))
            for word in self._leavers(phrase) | self._joiners(phrase):
                self.limits[word] = self.limits.get(word, 0.0) + price
        limits = self.limits | {word: self.paid for _, holders in self.fills for word in holders}
        self.wanted = [(word, head) for word in sorted(limits) for head in self._near(word, limits[word])]
        return bool(self.wanted)

    def _leavers(self, phrase: Phrase) -> set[int]:
        """Return the words without which a phrase is contiguous, or gone, or has another label."""
        found: set[int] = set()
        words = phrase.words
        for end in ((words & -words).bit_length() - 1, words.bit_length() - 1):
            while end != phrase.head:  # what leaves takes the first word along, or the last
                if not has_gap(words & ~self.below[end]):
                    found.add(end)
                end = self.heads[end]
        if len({self.labels[member] for member in phrase.members}) > 1 or len(phrase.members) == 1:
            found.update(phrase.members)
        return found

    def _joiners(self, phrase: Phrase) -> set[int]:
        """Return the words that make a phrase contiguous if they join it with all that is below them."""
        found: set[int] = set()
        words, gaps = phrase.words, phrase.gaps
        word = (gaps & -gaps).bit_length() - 1
        while word >= 0 and not self.below[word] & words:  # above that, words would join what is below them
            if not has_gap(words | self.below[word]) and self.heads[word] >= 0:
                found.add(word)
            word = self.heads[word]
        return found

    def _holders(self, gaps: int) -> list[int]:
        """Return the words that, with all that is below them, are these gaps; none if there are no such words."""
        found = []
        for word in range((gaps & -gaps).bit_length() - 1, gaps.bit_length()):
            head = self.heads[word]
            if gaps >> word & 1 and (head < 0 or not gaps >> head & 1):
                if head < 0 or self.below[word] & ~gaps:
                    return []
                found.append(word)
        return found

    def _near(self, word: int, limit: float) -> list[int]:
        """Return the heads that a word may have without losing more than the limit, not counting labels."""
        row = self.arcs[word, 1:]
        best = np.argsort(-row, kind="stable")[:HEADS].tolist()
        least, below = self.own[word] - limit, self.below[word]
        return [head for head in sorted({*best, self.heads[word]}) if row[head] >= least and not below >> head & 1]

    def step(self, rows: list[Floats]) -> bool:
        """Take the best step, if one raises the value; ``rows`` are the labels' scores (L,) for each wanted arc."""
        options = self._options(rows)
        attaching = [[option] for word, limit in self.limits.items() for option in options[word] if option.loss < limit]
        filling = [self._filled(phrase, holders, options) for phrase, holders in self.fills]
        best: list[Attachment] = []
        most = LEAST
        for taken in [*sorted(attaching), *filter(None, filling)]:
            loss = sum(option.loss for option in taken)
            limit = self.limits[taken[0].word] if len(taken) == 1 else self.paid
            if limit - loss <= most or not self.tries:
                continue
            self.tries -= 1
            heads, labels = self.heads.copy(), self.labels.copy()
            for option in taken:
                heads[option.word], labels[option.word] = option.head, option.label
            saved = self.paid - self.prices.paid(heads, labels)
            if saved > LEAST and saved - loss > most:
                best, most = taken, saved - loss
        for option in best:
            self.heads[option.word], self.labels[option.word] = option.head, option.label
            self.own[option.word] -= option.loss
        return bool(best)

    def _options(self, rows: list[Floats]) -> dict[int, list[Attachment]]:
        """Return what every word may attach to, of what was wanted."""
        options: dict[int, list[Attachment]] = defaultdict(list)
        for (word, head), row in zip(self.wanted, rows, strict=True):
            now = (self.heads[word], self.prices.levels[self.labels[word]])
            for level, labels in self.prices.by_level.items():
                if (head, level) == now:
                    continue
                phrase = self.phrase_at.get((head, level))
                label = int(labels[row[labels].argmax()]) if phrase is None else phrase.label
                loss = self.own[word] - float(self.arcs[word, head + 1] + row[label])
                options[word].append(Attachment(loss, word, head, level, label))
        return options

    def _filled(self, phrase: Phrase, holders: list[int], options: dict[int, list[Attachment]]) -> list[Attachment]:
        """Return the best attachments of the words that hold the gaps of a phrase; nothing if one has none."""
        taken = []
        for word in holders:
            inside = [
                option
                for option in options[word]
                if phrase.words >> option.head & 1 and (option.head != phrase.head or option.level <= phrase.level)
            ]
            if not inside:
                return []
            taken.append(min(inside))
        return taken
