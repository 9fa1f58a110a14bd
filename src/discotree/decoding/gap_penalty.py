"""Gap penalties for the labels of phrases, and a second search that closes gaps that are not worth their penalty.

Arcs are scored one by one, so nothing tells the search that discontinuous phrases are rare. A model may therefore have
a gap penalty for every phrase label. The *value* of a labelled tree is

    log p(tree) - the sum of the penalties of its discontinuous phrases.

A phrase is discontinuous if a word between its first and its last word is not part of it; the number of gaps does not
matter. A chain such as S+VP has the sum of the penalties of its labels. ``rerank_discontinuous`` starts from the
decoded tree and climbs: it takes the step that increases the value most, until no step does. A step has to lower the
sum of penalties, and is one of these:

attach   A word that is not on the root gets another head, other than the root, or another level on its head's spine.
fill     The words that fill all gaps of a phrase, two or more, are attached together, each at the best place in that
         phrase. Together with their descendants they have to be exactly the gaps.

A word that joins a phrase takes its label; a word that creates a new phrase takes the most probable label of that
level. It keeps its head or moves to one of its ``MAX_HEADS`` most probable heads. Ties go to ``attach`` before
``fill``, then to the more probable step.

Few steps can pay off. A word closes a gap only if the phrase is contiguous with it, or contiguous or gone without it.
The penalties of these phrases limit how much its new place may cost, and labels are scored only within that limit.

Shapes and columns are those of ``decode``.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from discotree.encoding.dependencies import heads_first, split_level
from discotree.network.arrays import F64, I64
from discotree.network.scores import ArcWeights


@dataclass(frozen=True, eq=False)
class GapPenalties:
    """The gap penalties of all arc labels (L,), and the levels and phrases that these labels stand for."""

    levels: list[int]
    chains: list[tuple[str, ...]]  # the phrases that a label stands for, from top to bottom
    by_level: dict[int, I64]  # the labels of every level
    penalties: Sequence[float]

    @classmethod
    def for_labels(
        cls, labels: Sequence[str], root: str, penalties: Mapping[str, float] | None = None
    ) -> "GapPenalties":
        """Return the penalties of arc labels: for each, the sum over its phrases."""
        split = [split_level(label, root) for label in labels]
        levels = [level for _, level in split]
        by_level = {level: np.flatnonzero(np.array(levels) == level) for level in sorted(set(levels))}
        return cls(levels, [chain for chain, _ in split], by_level, ()).with_penalties(penalties or {})

    def with_penalties(self, penalties: Mapping[str, float]) -> "GapPenalties":
        """Return the same labels with other penalties, by phrase label; the default is 0."""
        return replace(self, penalties=[sum(penalties.get(name, 0.0) for name in chain) for chain in self.chains])

    def total(self, heads: Sequence[int], labels: Sequence[int]) -> float:
        """Return the sum of the penalties of all discontinuous phrases of a tree."""
        return sum(self.penalties[phrase.label] for phrase in self.phrases(heads, labels)[0] if has_gap(phrase.words))

    def has_gaps(self, heads: Sequence[int], labels: Sequence[int]) -> bool:
        """Return whether a tree has a discontinuous phrase."""
        return any(has_gap(phrase.words) for phrase in self.phrases(heads, labels)[0])

    def phrases(self, heads: Sequence[int], labels: Sequence[int]) -> tuple[list["Phrase"], list[int]]:
        """Return the phrases of a tree, lower ones first, and for every word the bits of its descendants and itself.

        If two labels compete for one phrase, the one with the more frequent chain wins, then the leftmost dependent's.
        """
        dependents, order = heads_first(heads)
        below = [1 << position for position in range(len(heads))]
        levels, phrases = self.levels, []
        for head in reversed(order):
            group = dependents[head]
            if not group:
                continue
            words = below[head]
            groups: dict[int, list[int]] = {}
            for dependent in group:
                groups.setdefault(levels[labels[dependent]], []).append(dependent)
            for level in sorted(groups) if len(groups) > 1 else groups:
                members = groups[level]
                for dependent in members:
                    words |= below[dependent]
                phrases.append(Phrase(head, level, self._winner([labels[k] for k in members]), words, members))
            below[head] = words
        return phrases, below

    def _winner(self, labels: list[int]) -> int:
        first = labels[0]
        if len(labels) == 1 or all(label == first for label in labels):
            return first
        chains = [self.chains[label] for label in labels]
        return labels[chains.index(Counter(chains).most_common(1)[0][0])]


class Phrase(NamedTuple):
    """A phrase of a dependency tree."""

    head: int
    level: int
    label: int
    words: int  # a bit for each
    members: list[int]  # the dependents that join the head at this level

    @property
    def gaps(self) -> int:
        """The words between the first and the last word that are not in the phrase: a bit for each."""
        return ((1 << self.words.bit_length()) - (self.words & -self.words)) & ~self.words


def has_gap(words: int) -> bool:
    """Return whether a 0 lies between two bits that are 1."""
    return bool(words + (words & -words) & words)


MAX_HEADS = 8  # heads that a word may move to, the most probable ones
MAX_TRIES = 1000  # steps that are tried for a sentence: bounds the search for untrained networks
MIN_GAIN = 1e-6  # smaller gains are rounding errors


class Attachment(NamedTuple):
    """A new place for a word."""

    loss: float  # log-probability that the tree loses
    word: int
    head: int
    level: int
    label: int


def rerank_discontinuous(
    weights: ArcWeights, heads: I64, labels: I64, arc_scores: F64, penalties: GapPenalties
) -> tuple[I64, I64]:
    """Return heads and labels (B, N) after the search for better trees.

    ``arc_scores`` (B, N) are the log-probabilities of the arcs with their labels, finite.
    """
    heads, labels = heads.copy(), labels.copy()
    climbs = []
    for b, n in enumerate(weights.lengths.tolist()):
        tree = heads[b, :n].tolist(), labels[b, :n].tolist(), arc_scores[b, :n].tolist()
        climbs.append(_Climb(b, weights.arcs[b, :n, : n + 1], *tree, penalties))
    active = [climb for climb in climbs if climb.propose()]
    while active:  # labels are scored for all sentences at once
        arcs = [(climb.sentence, word, head + 1) for climb in active for word, head in climb.wanted]
        rows = iter(weights.rows(*np.array(arcs).T))
        active = [climb for climb in active if climb.step([next(rows) for _ in climb.wanted]) and climb.propose()]
    for climb in climbs:
        n = len(climb.heads)
        heads[climb.sentence, :n], labels[climb.sentence, :n] = climb.heads, climb.labels
    return heads, labels


class _Climb:
    """The search for one sentence: its current tree, and the steps that may increase the value."""

    def __init__(
        self,
        sentence: int,
        arcs: F64,
        heads: list[int],
        labels: list[int],
        arc_scores: list[float],
        penalties: GapPenalties,
    ) -> None:
        self.sentence = sentence
        self.arcs = arcs  # (n, n+1)
        self.heads, self.labels = heads, labels
        self.arc_scores = arc_scores  # log-probabilities of the arcs with their labels
        self.penalties = penalties
        self.tries = MAX_TRIES  # tries left

    def propose(self) -> bool:
        """Find the words that may close a gap, and the arcs (word, head) whose labels are ``wanted``; False if none."""
        phrases, self.below = self.penalties.phrases(self.heads, self.labels)
        self.phrase_at = {(phrase.head, phrase.level): phrase for phrase in phrases}
        self.limits: dict[int, float] = {}  # by word: the penalties of the gaps that it may close by itself
        self.fills: list[tuple[Phrase, list[int]]] = []  # phrases, and the words that fill their gaps
        self.total = 0.0
        for phrase in phrases:
            penalty = self.penalties.penalties[phrase.label] if has_gap(phrase.words) else 0.0
            if not penalty:
                continue
            self.total += penalty
            fillers = self._fillers(phrase.gaps)
            if len(fillers) > 1:
                self.fills.append((phrase, fillers))
            for word in self._leavers(phrase) | self._joiners(phrase):
                self.limits[word] = self.limits.get(word, 0.0) + penalty
        limits = self.limits | {word: self.total for _, fillers in self.fills for word in fillers}
        self.wanted = [(word, head) for word in sorted(limits) for head in self._near(word, limits[word])]
        return bool(self.wanted)

    def _leavers(self, phrase: Phrase) -> set[int]:
        """Return the words without which a phrase is contiguous, or gone, or has another label."""
        leavers: set[int] = set()
        words = phrase.words
        for end in ((words & -words).bit_length() - 1, words.bit_length() - 1):
            while end != phrase.head:  # a word that leaves takes the first word of the phrase along, or the last
                if not has_gap(words & ~self.below[end]):
                    leavers.add(end)
                end = self.heads[end]
        if len({self.labels[member] for member in phrase.members}) > 1 or len(phrase.members) == 1:
            leavers.update(phrase.members)
        return leavers

    def _joiners(self, phrase: Phrase) -> set[int]:
        """Return the words that make a phrase contiguous if they join it with all their descendants."""
        joiners: set[int] = set()
        words, gaps = phrase.words, phrase.gaps
        word = (gaps & -gaps).bit_length() - 1
        while word >= 0 and not self.below[word] & words:  # further up, words would join their own descendants
            if not has_gap(words | self.below[word]) and self.heads[word] >= 0:
                joiners.add(word)
            word = self.heads[word]
        return joiners

    def _fillers(self, gaps: int) -> list[int]:
        """Return the words that are exactly these gaps, together with their descendants, or an empty list."""
        fillers = []
        for word in range((gaps & -gaps).bit_length() - 1, gaps.bit_length()):
            head = self.heads[word]
            if gaps >> word & 1 and (head < 0 or not gaps >> head & 1):
                if head < 0 or self.below[word] & ~gaps:
                    return []
                fillers.append(word)
        return fillers

    def _near(self, word: int, limit: float) -> list[int]:
        """Return the heads that cost a word at most the limit, before labels are counted."""
        row = self.arcs[word, 1:]
        best = np.argsort(-row, kind="stable")[:MAX_HEADS].tolist()
        least, below = self.arc_scores[word] - limit, self.below[word]
        return [head for head in sorted({*best, self.heads[word]}) if row[head] >= least and not below >> head & 1]

    def step(self, rows: list[F64]) -> bool:
        """Take the best step if one increases the value; ``rows`` are the labels' scores (L,) for each wanted arc."""
        options = self._options(rows)
        attaching = [[option] for word, limit in self.limits.items() for option in options[word] if option.loss < limit]
        filling = [self._fill(phrase, fillers, options) for phrase, fillers in self.fills]
        best: list[Attachment] = []
        gain = MIN_GAIN
        for candidate in [*sorted(attaching), *filter(None, filling)]:
            loss = sum(option.loss for option in candidate)
            limit = self.limits[candidate[0].word] if len(candidate) == 1 else self.total
            if limit - loss <= gain or not self.tries:
                continue
            self.tries -= 1
            heads, labels = self.heads.copy(), self.labels.copy()
            for option in candidate:
                heads[option.word], labels[option.word] = option.head, option.label
            saved = self.total - self.penalties.total(heads, labels)
            if saved > MIN_GAIN and saved - loss > gain:
                best, gain = candidate, saved - loss
        for option in best:
            self.heads[option.word], self.labels[option.word] = option.head, option.label
            self.arc_scores[option.word] -= option.loss
        return bool(best)

    def _options(self, rows: list[F64]) -> dict[int, list[Attachment]]:
        """Return the possible attachments of every word, given the labels' scores (L,) for each wanted arc."""
        options: dict[int, list[Attachment]] = defaultdict(list)
        for (word, head), row in zip(self.wanted, rows, strict=True):
            current = (self.heads[word], self.penalties.levels[self.labels[word]])
            for level, labels in self.penalties.by_level.items():
                if (head, level) == current:
                    continue
                phrase = self.phrase_at.get((head, level))
                label = int(labels[row[labels].argmax()]) if phrase is None else phrase.label
                loss = self.arc_scores[word] - float(self.arcs[word, head + 1] + row[label])
                options[word].append(Attachment(loss, word, head, level, label))
        return options

    def _fill(self, phrase: Phrase, fillers: list[int], options: dict[int, list[Attachment]]) -> list[Attachment]:
        """Return the best attachments inside a phrase of the words that fill its gaps; none if a word has none."""
        attachments = []
        for word in fillers:
            inside = [
                option
                for option in options[word]
                if phrase.words >> option.head & 1 and (option.head != phrase.head or option.level <= phrase.level)
            ]
            if not inside:
                return []
            attachments.append(min(inside))
        return attachments
