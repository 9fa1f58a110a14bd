"""The best trees of a sentence under constraints, by best-first branch and bound. Shapes are those of ``decode``.

The score of a tree is log p(tree) minus its gap penalties; all words that join one phrase have the same label.

A *space* is a set of labelled trees: each word has a set of arcs and labels to choose from. ``arborescence`` finds the
best of them that may violate constraints, and its weight is an upper bound for all others. The space with the highest
bound comes first. If its tree satisfies everything, it is the best tree of all. If not, the space is divided:

constituent  Words W are a phrase of the head h at level k if, and only if, the other words of W have heads in W, h does
             not, no other word has a head in W apart from h, W joins h at levels up to k, and other words above it. One
             space for every h and k; and if no word joins at level k, one for every word that may.
label        If the words that join a phrase have different labels: one space in which all have the label that suits
             them best, and one without this label.
no phrase    The words of a tree that are a phrase because all of their arcs meet conditions: one space for every word
             i, in which i violates its condition and the words before it meet theirs (Lawler's scheme).
penalty      The same, and one space in which all words meet their conditions: its bound includes the gap penalty.
next best    The same, with the arcs and labels of the best tree as conditions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count

import numpy as np

from discotree.decoding.decode import Decoded, arborescence
from discotree.decoding.gap_penalty import GapPenalties, Phrase, has_gap
from discotree.network.arrays import F64, I64, Bool
from discotree.network.scores import IMPOSSIBLE, Scores, finite, legal_arcs, log_of

FORBIDDEN = IMPOSSIBLE
LEAST = -1e6  # the least weight of an arc that is not forbidden, even if the network gives it a probability of 0
ENTERING = 1e4  # more than the scores of two trees differ
MAX_STEPS = 1000  # trees that are searched before the search stops looking for the best one


@dataclass(frozen=True)
class Requirements:
    """Conditions on a tree. Words are bit sets."""

    phrases: Mapping[int, frozenset[str]] = field(default_factory=dict)  # two or more words, and labels that they have
    not_phrases: Sequence[tuple[int, str | None]] = ()  # words, and the label that they do not have; None: no phrase
    heads: Mapping[int, int] = field(default_factory=dict)  # positions; -1 for the dummy root

    def __bool__(self) -> bool:
        return bool(self.phrases or self.not_phrases or self.heads)


class _Column:
    """The arcs from one head: the weights (n, L) of all labels, and the largest of every level, which are stored."""

    def __init__(self, table: F64, starts: I64) -> None:
        self.table, self.starts = table, starts
        self.weights: F64 = table.max(1)
        self.names: I64 = table.argmax(1)
        self._by_level: dict[frozenset[str] | None, F64] = {}

    def by_level(self, labels: frozenset[str] | None = None, having: Bool | None = None) -> F64:
        """Return the largest weights (n, K) by level, given ``labels`` only of those that are ``having`` them (L,)."""
        if labels not in self._by_level:
            table = self.table if having is None else np.where(having, self.table, FORBIDDEN)
            self._by_level[labels] = np.maximum.reduceat(table, self.starts, axis=1)
        return self._by_level[labels]


@dataclass(frozen=True, eq=False)
class _Space:
    """A set of trees and, once it has been searched, its best tree."""

    weights: F64  # (n, n+1) every arc with its best label
    names: I64  # (n, n+1) that label
    columns: list[_Column]
    places: dict[int, tuple[int, int]]  # head and level of the required phrases where they have been decided
    paid: dict[tuple[int, int], float]  # gap penalties, by head and level of the phrase, that all of its trees have
    depth: int = 0
    heads: I64 = field(default_factory=lambda: np.empty(0, np.int64))  # (n,) as columns
    value: float = 0.0  # of the best tree, with the penalties in ``paid``

    def restrict(self, arcs: Bool, columns: Mapping[int, Bool], place: Mapping[int, tuple[int, int]] | None = None,
                 paid: Mapping[tuple[int, int], float] | None = None) -> "_Space":  # fmt: skip
        """Return the part of the space with these arcs (n, n+1), and with these labels (n, L) in some columns."""
        weights = np.where(arcs, self.weights, FORBIDDEN)
        names, changed = self.names, self.columns
        if columns:
            names, changed = names.copy(), changed.copy()
        for k, kept in columns.items():
            changed[k] = column = _Column(np.where(kept, changed[k].table, FORBIDDEN), changed[k].starts)
            names[:, k] = column.names
            weights[:, k] = np.where(weights[:, k] > FORBIDDEN, column.weights, FORBIDDEN)
        return _Space(
            weights, names, changed, {**self.places, **(place or {})}, {**self.paid, **(paid or {})}, self.depth + 1
        )

    def search(self, entering: I64, phrases: int) -> "_Space | None":
        """Return the space with its best tree, or None if it has none.

        Exactly one arc enters a required phrase from outside; ``entering`` (n, n+1) is the number of phrases that each
        arc enters, ``phrases`` that of all. An arc that enters one costs extra, and what all trees pay is refunded.
        """
        weights = self.weights - ENTERING * entering if phrases else self.weights
        heads = arborescence(weights)
        words = np.arange(len(heads))
        chosen = self.weights[words, heads]
        if chosen.min() <= FORBIDDEN:
            return None
        extra = ENTERING * (int(entering[words, heads].sum()) - phrases)
        return replace(self, heads=heads, value=float(chosen.sum()) - extra - sum(self.paid.values()))


_Child = tuple[float, Callable[[], _Space]]  # an upper bound, and how to make the space


class ConstrainedSearch:
    """The search for the best trees of one sentence, whose scores these are.

    ``penalties`` have the levels and chains of all labels, and their gap penalties.
    """

    def __init__(self, scores: Scores, penalties: GapPenalties) -> None:
        n = int(scores.lengths[0])
        self.n, self.penalties = n, penalties
        word, column = (index.ravel() for index in np.indices((n, n + 1)))
        rows = finite(scores.label_rows(np.zeros_like(word), word, column)).reshape(n, n + 1, -1)
        self.arcs, self.rows = legal_arcs(scores)[0], rows  # (n, n+1), (n, n+1, L)
        levels = np.array(penalties.levels)
        self.order: I64 = np.argsort(levels, kind="stable")  # in here, labels are sorted by level
        self.levels: I64 = levels[self.order]
        self.starts = np.flatnonzero(np.diff(self.levels, prepend=-1))  # the first label of every level
        self.known_levels: I64 = self.levels[self.starts]
        self.chains = [penalties.chains[k] for k in self.order.tolist()]
        table = np.maximum(self.arcs[:, :, None] + rows[:, :, self.order], LEAST)
        table[np.arange(n), np.arange(n) + 1] = FORBIDDEN
        first = table[:, 0].argmax(1)  # the label on the root means nothing
        table[:, 0] = np.where(np.arange(table.shape[2]) == first[:, None], table[:, 0], FORBIDDEN)
        self.columns = [_Column(np.ascontiguousarray(table[:, k]), self.starts) for k in range(n + 1)]
        self._known: dict[frozenset[str], Bool] = {}
        self.exhausted = False  # whether the last search was stopped, so that there may be better trees

    def best(
        self, required: Requirements, k: int = 1, max_steps: int = MAX_STEPS, penalise: bool = True
    ) -> list[Decoded]:
        """Return the k best trees; fewer if fewer satisfy the requirements, and none if there is none.

        After ``max_steps`` the search goes for any tree that satisfies the requirements, and ``exhausted`` is true.
        """
        self.exhausted = False
        weights = np.stack([column.weights for column in self.columns], 1)
        for word, head in required.heads.items():
            weights[word, np.arange(self.n + 1) != head + 1] = FORBIDDEN
        start = _Space(weights, np.stack([column.names for column in self.columns], 1), self.columns, {}, {})
        entering = np.zeros((self.n, self.n + 1), np.int64)
        for phrase in required.phrases:
            inside = self._members(phrase)
            entering += inside[:, None] & ~np.concatenate([[False], inside])
        number = count()
        waiting: list[tuple[float, int, _Space | Callable[[], _Space]]] = [(0.0, next(number), lambda: start)]
        trees: list[Decoded] = []
        steps = 0
        while waiting and steps < 2 * max_steps:
            bound, _, space = heappop(waiting)
            if callable(space):
                steps += 1
                self.exhausted |= steps == max_steps
                searched = space().search(entering, len(required.phrases))
                if searched is not None:
                    self._push(waiting, number, searched.value, searched.depth, searched)
                continue
            children = self._divide(space, required, penalise)
            if children is None:
                tree = self._decoded(space)
                if not any(_same(tree, other) for other in trees):  # the spaces of "label" overlap
                    trees.append(tree)
                if len(trees) == k:
                    break
                children = self._others(space)
            for bound, make in children:
                if bound > FORBIDDEN / 2:
                    self._push(waiting, number, min(bound, space.value), space.depth + 1, make)
        self.exhausted |= steps >= 2 * max_steps
        return trees

    def _push(self, waiting, number, bound, depth, space) -> None:  # type: ignore[no-untyped-def]
        dive = -LEAST * self.n * depth if self.exhausted else 0.0
        heappush(waiting, (-bound - dive, next(number), space))

    def _decoded(self, space: _Space) -> Decoded:
        words, labels = np.arange(self.n), self._labels(space)
        arc, label = log_of(self.arcs[words, space.heads]), log_of(self.rows[words, space.heads, labels])
        total = np.array([(arc + label).sum()])
        return Decoded(space.heads[None] - 1, labels[None], np.exp(arc)[None], np.exp(label)[None], total)

    def _labels(self, space: _Space) -> I64:
        labels: I64 = self.order[space.names[np.arange(self.n), space.heads]]
        return labels

    def _divide(self, space: _Space, required: Requirements, penalise: bool) -> list[_Child] | None:
        """Return spaces that make up this one without its best tree; None if that tree satisfies everything."""
        names = self._labels(space).tolist()
        phrases, _ = self.penalties.phrases((space.heads - 1).tolist(), names)
        by_words = {phrase.words: phrase for phrase in phrases if self.penalties.chains[phrase.label]}
        violated: list[tuple[int, frozenset[str]]] = []
        for words, labels in required.phrases.items():
            phrase = by_words.get(words)
            place = space.places.get(words)
            is_placed = phrase is not None and place in (None, (phrase.head, phrase.level))
            if phrase is not None and is_placed and labels.issubset(self.penalties.chains[phrase.label]):
                continue
            if place:
                return self._joining(space, words, *place)
            violated.append((words, labels))
        if violated:  # the phrase that lowers the bound most
            options = [self._places(space, *phrase) for phrase in violated]
            return min(options, key=lambda children: max(bound for bound, _ in children))
        for phrase in phrases:
            if len({names[member] for member in phrase.members}) > 1:
                return self._agree(space, phrase, names)
        for words, label in required.not_phrases:
            phrase = by_words.get(words)
            if phrase is not None and (label is None or label in self.penalties.chains[phrase.label]):
                return self._without(space, phrase, label)
        for phrase in phrases if penalise else ():
            penalty = self.penalties.penalties[phrase.label]
            if penalty and has_gap(phrase.words) and (phrase.head, phrase.level) not in space.paid:
                return self._penalised(space, phrase, penalty)
        return None

    def _members(self, words: int) -> Bool:
        return np.array([bool(words >> k & 1) for k in range(self.n)])

    def _having(self, labels: frozenset[str]) -> Bool:
        """Return which labels (L,) stand for phrases that have all of these labels."""
        if labels not in self._known:
            self._known[labels] = np.array([bool(chain) and labels.issubset(chain) for chain in self.chains])
        return self._known[labels]

    def _places(self, space: _Space, words: int, labels: frozenset[str]) -> list[_Child]:
        """Return a space for every head and level of a required phrase, with an upper bound for each.

        The bound lets every word choose its best arc, and one word join the head at that level.
        """
        inside, having = self._members(words), self._having(labels)
        members = np.flatnonzero(inside)
        m, within = len(members), np.concatenate([[False], inside])
        is_free = (space.weights[:, members + 1].T > FORBIDDEN)[:, :, None]
        heads = [space.columns[head + 1] for head in members.tolist()]
        by_level = np.where(is_free, [head.by_level() for head in heads], FORBIDDEN)  # (m, n, K)
        joining = np.where(is_free, [head.by_level(labels, having) for head in heads], FORBIDDEN)
        none = np.full((m, self.n, 1), FORBIDDEN)
        below = np.concatenate([none, np.maximum.accumulate(by_level, 2)[:, :, :-1]], 2)
        above = np.concatenate([np.maximum.accumulate(by_level[:, :, ::-1], 2)[:, :, -2::-1], none], 2)
        others = np.where(np.eye(m, dtype=bool)[:, None], FORBIDDEN, space.weights[None, :, members + 1]).max(
            2
        )  # (m, n)
        outer = space.weights[:, ~within].max(1)  # (n,)
        best = np.where(
            inside[:, None],
            np.maximum(np.maximum(below, joining), others[:, :, None]),
            np.maximum(above, outer[:, None]),
        )  # (m, n, K)
        best[np.arange(m), members] = outer[members, None]
        loss = np.where(inside[:, None], joining - best, -np.inf)
        loss[np.arange(m), members] = -np.inf
        bounds = best.sum(1) + loss.max(1) - sum(space.paid.values())  # (m, K)

        def make(head: int, level: int) -> _Space:
            arcs = inside[:, None] == within
            arcs[head] = ~within
            arcs[:, head + 1] = True
            up_to = (self.levels < level) | ((self.levels == level) & having)
            kept = np.where(inside[:, None], up_to, self.levels > level)
            return space.restrict(arcs, {head + 1: kept}, place={words: (head, level)})

        return [
            (bounds[row, column], lambda head=head, level=level: make(head, level))  # type: ignore[misc]
            for row, head in enumerate(members.tolist())
            for column, level in enumerate(self.known_levels.tolist())
        ]

    def _joining(self, space: _Space, words: int, head: int, level: int) -> list[_Child]:
        """Return a space for every word that may be the first to join a head at a level."""
        members = [k for k in np.flatnonzero(self._members(words)).tolist() if k != head]
        at_level = self.levels == level

        def make(first: int) -> _Space:
            arcs = np.ones((self.n, self.n + 1), bool)
            arcs[first] = np.arange(self.n + 1) == head + 1
            kept = np.ones((self.n, len(self.levels)), bool)
            kept[[k for k in members if k < first]] = ~at_level
            kept[first] = at_level
            return space.restrict(arcs, {head + 1: kept})

        best = np.where(at_level, space.columns[head + 1].table, FORBIDDEN).max(1)
        best = np.where(space.weights[:, head + 1] > FORBIDDEN, best, FORBIDDEN)
        free = space.weights.max(1)
        bounds = free.sum() - free + best - sum(space.paid.values())
        return [(bounds[first], lambda first=first: make(first)) for first in members]  # type: ignore[misc]

    def _agree(self, space: _Space, phrase: Phrase, names: Sequence[int]) -> list[_Child]:
        """Return the spaces in which a phrase has a label, and in which it has not."""
        column = phrase.head + 1
        present = np.flatnonzero(np.isin(self.order, [names[member] for member in phrase.members]))
        label = present[space.columns[column].table[phrase.members][:, present].sum(0).argmax()]
        this = np.arange(len(self.levels)) == label
        arcs = np.ones((self.n, self.n + 1), bool)
        return [
            (space.value, lambda kept=kept: space.restrict(arcs, {column: np.broadcast_to(kept, (self.n, len(kept)))}))  # type: ignore[misc]
            for kept in (this | (self.levels != phrase.level), ~this)
        ]

    def _conditions(self, phrase: Phrase) -> tuple[Bool, Bool]:
        """Return the arcs (n, n+1), and the labels (n, L) of the head's dependents, that make words a phrase."""
        inside = self._members(phrase.words)
        within = np.concatenate([[False], inside])
        arcs = inside[:, None] == within
        arcs[phrase.head] = ~within
        labels = np.where(inside[:, None], self.levels <= phrase.level, self.levels > phrase.level)
        labels[phrase.head] = False
        return arcs, labels

    def _without(self, space: _Space, phrase: Phrase, label: str | None) -> list[_Child]:
        """Return the spaces in which the words of a phrase are no phrase with this label."""
        arcs, labels = self._conditions(phrase)
        columns = np.full(self.n, phrase.head + 1)
        children = self._violating(space, arcs, columns, labels)
        having = self._having(frozenset() if label is None else frozenset([label])) & (self.levels == phrase.level)
        arcs[:, phrase.head + 1] = True
        children.append((space.value, lambda: space.restrict(arcs, {phrase.head + 1: labels & ~having})))
        return children

    def _penalised(self, space: _Space, phrase: Phrase, penalty: float) -> list[_Child]:
        """Return the spaces without a phrase that has a gap, and the one that has it and pays its penalty."""
        arcs, labels = self._conditions(phrase)
        first = phrase.members[0]
        arcs[first] = False
        labels[first] = self.order == phrase.label
        children = self._violating(space, arcs, np.full(self.n, phrase.head + 1), labels)
        arcs[:, phrase.head + 1] = True
        paid = {(phrase.head, phrase.level): penalty}
        children.append((space.value - penalty, lambda: space.restrict(arcs, {phrase.head + 1: labels}, paid=paid)))
        return children

    def _others(self, space: _Space) -> list[_Child]:
        """Return the spaces that make up this one without its best tree."""
        labels = np.arange(len(self.levels)) == space.names[np.arange(self.n), space.heads][:, None]
        return self._violating(space, np.zeros((self.n, self.n + 1), bool), space.heads, labels)

    def _violating(self, space: _Space, arcs: Bool, columns: I64, labels: Bool) -> list[_Child]:
        """Return for every word the space in which it violates its condition, and the words before it meet theirs.

        A word meets its condition with one of the ``arcs`` (n, n+1), or with one of the ``labels`` (n, L) on the head
        in its own one of the ``columns`` (n,).
        """
        words = np.arange(self.n)
        arcs = arcs.copy()
        arcs[words, columns] = False
        rest = ~arcs
        rest[words, columns] = False
        table = np.stack([space.columns[column].table[word] for word, column in enumerate(columns.tolist())])  # (n, L)
        table = np.where((space.weights[words, columns] > FORBIDDEN)[:, None], table, FORBIDDEN)

        def best(arcs: Bool, labels: Bool) -> F64:
            on_arcs: F64 = np.where(arcs, space.weights, FORBIDDEN).max(1)
            on_labels: F64 = np.where(labels, table, FORBIDDEN).max(1)
            return np.maximum(on_arcs, on_labels)

        meeting, violating, free = best(arcs, labels), best(rest, ~labels), space.weights.max(1)
        bounds = meeting.cumsum() - meeting + violating + free[::-1].cumsum()[::-1] - free - sum(space.paid.values())

        def make(word: int) -> _Space:
            kept = np.ones((self.n, self.n + 1), bool)
            kept[:word], kept[word] = arcs[:word], rest[word]
            kept[words[: word + 1], columns[: word + 1]] = True
            tables = {}
            for column in set(columns[: word + 1].tolist()):
                here = columns == column
                tables[column] = np.ones(labels.shape, bool)
                tables[column][:word][here[:word]] = labels[:word][here[:word]]
                if here[word]:
                    tables[column][word] = ~labels[word]
            return space.restrict(kept, tables)

        return [(bounds[word], lambda word=word: make(word)) for word in range(self.n)]  # type: ignore[misc]


def _same(tree: Decoded, other: Decoded) -> bool:
    return np.array_equal(tree.heads, other.heads) and np.array_equal(tree.labels, other.labels)
