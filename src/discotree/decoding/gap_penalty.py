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
Most sentences have no word that can move within the limit: ``_worth_climbing`` finds the others for a whole batch.

Shapes and columns are those of ``decode``.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from discotree.decoding.phrases import Chains, Phrases
from discotree.encoding.dependencies import heads_first, split_level
from discotree.network.arrays import F64, I64
from discotree.network.scores import ArcWeights


@dataclass(frozen=True, eq=False)
class GapPenalties:
    """The gap penalties of all arc labels (L,), and the levels and phrases that these labels stand for."""

    levels: list[int]
    chains: list[tuple[str, ...]]  # the phrases that a label stands for, from top to bottom
    by_level: dict[int, I64]  # the labels of every level
    table: Chains
    penalties: Sequence[float]

    @classmethod
    def for_labels(
        cls, labels: Sequence[str], root: str, penalties: Mapping[str, float] | None = None
    ) -> "GapPenalties":
        """Return the penalties of arc labels: for each, the sum over its phrases."""
        split = [split_level(label, root) for label in labels]
        levels = [level for _, level in split]
        by_level = {level: np.flatnonzero(np.array(levels) == level) for level in sorted(set(levels))}
        chains = [chain for chain, _ in split]
        return cls(levels, chains, by_level, Chains(split), ()).with_penalties(penalties or {})

    def with_penalties(self, penalties: Mapping[str, float]) -> "GapPenalties":
        """Return the same labels with other penalties, by phrase label; the default is 0."""
        return replace(self, penalties=[sum(penalties.get(name, 0.0) for name in chain) for chain in self.chains])

    def total(self, heads: Sequence[int], labels: Sequence[int]) -> float:
        """Return the sum of the penalties of all discontinuous phrases of a tree."""
        return self.paid_for(self.phrases(heads, labels))

    def paid(self, phrases: Phrases) -> tuple[I64, F64]:
        """Return the numbers of the discontinuous phrases of a batch that have a penalty, and these penalties."""
        gap = np.flatnonzero(phrases.has_gap)
        of_chains = np.zeros(len(self.table.labels))
        of_chains[self.table.of_label] = self.penalties
        paid = of_chains[phrases.chain[gap]]
        return gap[paid > 0], paid[paid > 0]

    def has_gaps(self, heads: Sequence[int], labels: Sequence[int]) -> bool:
        """Return whether a tree has a discontinuous phrase."""
        return any(has_gap(phrase.words) for phrase in self.phrases(heads, labels))

    def phrases(self, heads: Sequence[int], labels: Sequence[int]) -> list["Phrase"]:
        """Return the phrases of a tree, lower ones first.

        If two labels compete for one phrase, the one with the more frequent chain wins, then the leftmost dependent's.
        """
        return self.phrases_and_words(*heads_first(heads), labels)[0]

    def phrases_and_words(
        self, dependents: list[list[int]], order: list[int], labels: Sequence[int]
    ) -> tuple[list["Phrase"], list[int]]:
        """Return the phrases, and for every word the bits of its descendants and itself."""
        below = [1 << position for position in range(len(labels))]
        phrases: list[Phrase] = []
        for head in reversed(order):
            if dependents[head]:
                phrases += self.spine(head, dependents[head], labels, below)
                below[head] = phrases[-1].words
        return phrases, below

    def spine(self, head: int, dependents: list[int], labels: Sequence[int], below: Sequence[int]) -> list["Phrase"]:
        """Return the phrases of a head, lower ones first; ``below`` has the descendants of its dependents."""
        words, levels = 1 << head, self.levels
        if len(dependents) == 1:
            label = labels[dependents[0]]
            return [Phrase(head, levels[label], label, words | below[dependents[0]], dependents)]
        groups: dict[int, list[int]] = {}
        for dependent in dependents:
            groups.setdefault(levels[labels[dependent]], []).append(dependent)
        phrases = []
        for level in sorted(groups) if len(groups) > 1 else groups:
            members = groups[level]
            for dependent in members:
                words |= below[dependent]
            phrases.append(Phrase(head, level, self._winner([labels[k] for k in members]), words, members))
        return phrases

    def paid_for(self, phrases: Iterable["Phrase"]) -> float:
        """Return the sum of the penalties of those phrases that are discontinuous."""
        return sum([self.penalties[phrase.label] for phrase in phrases if has_gap(phrase.words)])

    def _winner(self, labels: list[int]) -> int:
        first = labels[0]
        if labels.count(first) == len(labels):
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
FEW = 4  # sentences for which looking for those that are worth a search takes longer than searching all of them
SLACK = 0.01  # the best label of an arc may have been computed with other rounding errors than all of its labels


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
    for b in _worth_climbing(weights, heads, labels, arc_scores, penalties).tolist():
        n = int(weights.lengths[b])
        tree = heads[b, :n].tolist(), labels[b, :n].tolist(), arc_scores[b, :n].tolist()
        climbs.append(_Climb(b, weights.arcs[b, :n, : n + 1], *tree, penalties))
    active = [climb for climb in climbs if climb.propose()]
    while active:  # labels are scored for all sentences at once
        arcs = np.array([(climb.sentence, word, head + 1) for climb in active for word, head in climb.wanted]).T
        rows = weights.rows(*arcs)  # (M, L)
        best = np.column_stack([own[rows[:, own].argmax(1)] for own in penalties.by_level.values()]).tolist()
        scored = zip(weights.arcs[tuple(arcs)].tolist(), rows, best, strict=True)
        active = [climb for climb in active if climb.step(islice(scored, len(climb.wanted))) and climb.propose()]
    for climb in climbs:
        n = len(climb.heads)
        heads[climb.sentence, :n], labels[climb.sentence, :n] = climb.heads, climb.labels
    return heads, labels


def _worth_climbing(weights: ArcWeights, heads: I64, labels: I64, arc_scores: F64, penalties: GapPenalties) -> I64:
    """Return the sentences in which a word that may close a gap could move for less than all penalties: (S,)."""
    if len(heads) < FEW:
        return np.arange(len(heads))
    phrases = Phrases.of(heads, labels, weights.inside, penalties.table)
    sentence, position = phrases.sentence, phrases.position
    gap, paid = penalties.paid(phrases)
    totals = np.bincount(sentence[phrases.word[gap]], paid, len(heads))  # (B,)
    # Words that may leave a phrase, or join it: those on the way up from its ends and its first gap, and in its gaps
    covered, start = phrases.covered[gap], phrases.starts[sentence[phrases.word[gap]]]
    first, last = covered.argmax(1), covered.shape[1] - 1 - covered[:, ::-1].argmax(1)
    between = np.arange(covered.shape[1])
    missing = ~covered & (between > first[:, None]) & (between < last[:, None])
    row, column = np.nonzero(missing)
    may_move = np.isin(phrases.joins, gap)  # (T,)
    may_move[start[row] + column] = True
    head = heads[weights.inside]
    head[head >= 0] += phrases.starts[sentence[head >= 0]]
    word = np.concatenate([start + first, start + last, start + missing.argmax(1)])
    while len(word):
        may_move[word] = True
        word = np.unique(head[word])
        word = word[word >= 0]
    # The most that another head, or another label on the same head, can be worth
    word = np.flatnonzero(may_move & (head >= 0))
    b, k = sentence[word], position[word]
    bounds, rows, column = weights.bounds[b, k], np.arange(len(word)), heads[b, k] + 1
    score, arc = arc_scores[b, k], weights.arcs[b, k, column]
    with np.errstate(divide="ignore"):
        bounds[rows, column] = arc + np.log1p(-np.exp(np.minimum(score - arc, 0.0)))
    return np.unique(b[bounds[:, 1:].max(1, initial=-np.inf) >= score - totals[b] - SLACK])


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
        self.dependents, self.order = heads_first(self.heads)
        self.phrases, self.below = self.penalties.phrases_and_words(self.dependents, self.order, self.labels)
        self.paid_at: dict[int, float] = {}  # by head: the penalties of its phrases
        self.limits: dict[int, float] = {}  # by word: the penalties of the gaps that it may close by itself
        self.fills: list[tuple[Phrase, list[int]]] = []  # phrases, and the words that fill their gaps
        self.total = 0.0
        for phrase in self.phrases:
            penalty = self.penalties.penalties[phrase.label]
            if not penalty or not has_gap(phrase.words):
                continue
            self.total += penalty
            self.paid_at[phrase.head] = self.paid_at.get(phrase.head, 0.0) + penalty
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
        least, below = self.arc_scores[word] - limit, self.below[word]
        near = [head for head, score in enumerate(self.arcs[word, 1:].tolist()) if score >= least]
        if len(near) > MAX_HEADS:
            best = np.argsort(-self.arcs[word, 1:], kind="stable")[:MAX_HEADS].tolist()
            near = sorted({*best, self.heads[word]}.intersection(near))
        return [head for head in near if not below >> head & 1]

    def step(self, scored: Iterable[tuple[float, F64, list[int]]]) -> bool:
        """Take the best step if one increases the value, and return whether there may be another one.

        For each wanted arc, ``scored`` has its score, those of all labels (L,) and the best label of every level.
        """
        options = self._options(scored)
        attaching = [[option] for word, limit in self.limits.items() for option in options[word] if option.loss < limit]
        filling = [self._fill(phrase, fillers, options) for phrase, fillers in self.fills]
        best: list[Attachment] = []
        gain, remaining = MIN_GAIN, 0.0
        for candidate in [*sorted(attaching), *filter(None, filling)]:
            loss = sum(option.loss for option in candidate)
            limit = self.limits[candidate[0].word] if len(candidate) == 1 else self.total
            if limit - loss <= gain or not self.tries:
                continue
            self.tries -= 1
            saved = self._saved(candidate)
            if saved > MIN_GAIN and saved - loss > gain:
                best, gain, remaining = candidate, saved - loss, self.total - saved
        for option in best:
            self.heads[option.word], self.labels[option.word] = option.head, option.label
            self.arc_scores[option.word] -= option.loss
        return remaining > MIN_GAIN

    def _saved(self, step: list[Attachment]) -> float:
        """Return how much a step lowers the sum of penalties. Only the phrases above old and new places change."""
        heads, labels, below = self.heads, self.labels.copy(), self.below.copy()
        dependents: dict[int, list[int]] = {}  # of the words that lose or get some
        for option in step:
            labels[option.word] = option.label
            old, new = heads[option.word], option.head
            dependents[old] = [k for k in dependents.get(old, self.dependents[old]) if k != option.word]
            dependents[new] = sorted([*dependents.get(new, self.dependents[new]), option.word])
        changed: set[int] = set()
        for head in dependents:
            while head >= 0 and head not in changed:
                changed.add(head)
                head = heads[head]
        saved = 0.0
        for head in sorted(changed, key=self.order.index, reverse=True):
            group = dependents.get(head, self.dependents[head])
            phrases = self.penalties.spine(head, group, labels, below) if group else []
            below[head] = phrases[-1].words if phrases else 1 << head
            saved += self.paid_at.get(head, 0.0) - self.penalties.paid_for(phrases)
        return saved

    def _options(self, scored: Iterable[tuple[float, F64, list[int]]]) -> dict[int, list[Attachment]]:
        """Return the possible attachments of every word."""
        options: dict[int, list[Attachment]] = defaultdict(list)
        label_at = {(phrase.head, phrase.level): phrase.label for phrase in self.phrases}
        for (word, head), (arc, row, best) in zip(self.wanted, scored, strict=True):
            current = (self.heads[word], self.penalties.levels[self.labels[word]])
            for level, label in zip(self.penalties.by_level, best, strict=True):
                if (head, level) == current:
                    continue
                label = label_at.get((head, level), label)
                loss = self.arc_scores[word] - float(arc + row[label])
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
