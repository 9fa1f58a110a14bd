"""The best trees of a sentence under constraints, by best-first branch and bound. Shapes are those of ``decode``.

The score of a tree is log p(tree) minus its gap penalties; all words that join one phrase have the same label.

A *space* is a set of trees: each word has arcs and labels to choose from. ``arborescence`` finds its best tree if
constraints are ignored, which gives an upper bound. The space with the highest bound comes first. If its best tree
satisfies everything, it is the best tree of all. If not, the space is divided:

constituent  Words W are the phrase of one of them, h, at level k if, and only if, h has its head outside W, the others
             have theirs in W, words outside W have no head in W except h, and words join h at levels up to k if they
             are in W, and above k if not. One space for every h and k; if no word joins at level k, one for every
             word that may.
label        If words that join a phrase differ in their labels: one space with one of these labels, one without it.
no phrase    Words are a phrase because all words meet a condition. One space for every word that may violate its
             condition, in which the words before it meet theirs (Lawler's scheme).
penalty      The same, and one space in which all words meet their conditions. Its bound includes the gap penalty.
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
from discotree.network.scores import IMPOSSIBLE as FORBIDDEN
from discotree.network.scores import Scores, finite, legal_arcs, log_of
from discotree.trees.constraints import Constraint, IsConstituent, NotConstituent, WordHas

LEAST = -1e6  # the least weight of an arc that is not forbidden, even if the network gives it a probability of 0
ENTERING = 1e4  # more than the scores of two trees differ
MAX_STEPS = 1000  # trees that are searched before the search stops looking for the best one


@dataclass(frozen=True, eq=False)
class _Space:
    """A set of trees and, once it has been searched, its best tree."""

    weights: F64  # (n, n+1) every arc with its best label
    names: I64  # (n, n+1) that label
    columns: list[F64]  # by head: (n, L) the weights of its arcs with all labels
    places: dict[int, tuple[int, int]]  # head and level of the required phrases where they have been decided
    paid: dict[tuple[int, int], float]  # gap penalties, by head and level of the phrase, that all of its trees have
    depth: int = 0
    heads: I64 = field(default_factory=lambda: np.empty(0, np.int64))  # (n,) as columns
    value: float = 0.0  # of the best tree, with the penalties in ``paid``

    def restrict(self, arcs: Bool, columns: Mapping[int, Bool]) -> "_Space":
        """Return the part of the space with these arcs (n, n+1), and with these labels (n, L) in some columns."""
        weights = np.where(arcs, self.weights, FORBIDDEN)
        names, changed = self.names.copy(), self.columns.copy()
        for k, kept in columns.items():
            changed[k] = table = np.where(kept, changed[k], FORBIDDEN)
            names[:, k] = table.argmax(1)
            weights[:, k] = np.where(weights[:, k] > FORBIDDEN, table.max(1), FORBIDDEN)
        return replace(self, weights=weights, names=names, columns=changed, depth=self.depth + 1)


_Child = tuple[float, Callable[[], _Space]]  # an upper bound, and how to make the space


class ConstrainedSearch:
    """The search for the best trees of one sentence, whose scores these are.

    ``penalties`` have the levels and chains of all labels, and their gap penalties; ``root`` is the root's label.
    """

    def __init__(self, scores: Scores, penalties: GapPenalties, root: str) -> None:
        n = int(scores.lengths[0])
        self.n, self.penalties, self.root = n, penalties, root
        word, column = (index.ravel() for index in np.indices((n, n + 1)))
        rows = finite(scores.label_rows(np.zeros_like(word), word, column)).reshape(n, n + 1, -1)
        self.arcs, self.rows = legal_arcs(scores)[0], rows  # (n, n+1), (n, n+1, L)
        levels = np.array(penalties.levels)
        self.order: I64 = np.argsort(levels, kind="stable")  # in here, labels are sorted by level
        self.levels: I64 = levels[self.order]
        self.starts = np.flatnonzero(np.diff(self.levels, prepend=-1))  # the first label of every level
        self.chains = [penalties.chains[k] for k in self.order.tolist()]
        table = np.maximum(self.arcs[:, :, None] + rows[:, :, self.order], LEAST)
        table[np.arange(n), np.arange(n) + 1] = FORBIDDEN
        first = table[:, 0].argmax(1)  # the label on the root means nothing
        table[:, 0] = np.where(np.arange(table.shape[2]) == first[:, None], table[:, 0], FORBIDDEN)
        self.columns = [np.ascontiguousarray(table[:, k]) for k in range(n + 1)]
        self.exhausted = False  # whether the last search was stopped, so that there may be better trees

    def best(
        self, constraints: Sequence[Constraint], k: int = 1, max_steps: int = MAX_STEPS, penalise: bool = True
    ) -> list[Decoded]:
        """Return the k best trees; fewer if fewer satisfy the constraints, and none if there is none.

        Constraints on phrases over single words, tags and functions are ignored. After ``max_steps`` the search looks
        for any tree that satisfies the constraints, and ``exhausted`` is true.
        """
        self.exhausted, self.penalise = False, penalise
        self.required: dict[int, frozenset[str]] = {}  # words of a phrase, and the labels that it has to have
        self.absent: list[NotConstituent] = []
        weights = np.stack([table.max(1) for table in self.columns], 1)
        self.entering = np.zeros(weights.shape)  # (n, n+1) the number of required phrases that each arc enters
        for one in constraints:
            if isinstance(one, WordHas):
                if one.head is not None:
                    weights[one.position, np.arange(self.n + 1) != one.head + 1] = FORBIDDEN
            elif self.is_root(one) and isinstance(one, NotConstituent):
                return []
            elif isinstance(one, NotConstituent):
                self.absent.append(one)
            elif len(one.words) > 1 and not self.is_root(one):
                inside, within = self._inside(one.mask)
                self.entering += (inside[:, None] & ~within) * (one.mask not in self.required)
                labels = frozenset(filter(None, [one.label]))
                self.required[one.mask] = self.required.get(one.mask, frozenset()) | labels
        start = _Space(weights, np.stack([table.argmax(1) for table in self.columns], 1), self.columns, {}, {})
        number = count()
        waiting: list[tuple[float, int, _Space | Callable[[], _Space]]] = [(0.0, next(number), lambda: start)]
        trees: dict[tuple[bytes, bytes], Decoded] = {}
        steps = 0

        def push(bound: float, depth: int, space: _Space | Callable[[], _Space]) -> None:
            deepest_first = -LEAST * self.n * depth if self.exhausted else 0.0
            heappush(waiting, (-bound - deepest_first, next(number), space))

        while waiting and steps < 2 * max_steps:
            _, _, space = heappop(waiting)
            if callable(space):
                steps += 1
                self.exhausted |= steps == max_steps
                searched = self._search(space())
                if searched is not None:
                    push(searched.value, searched.depth, searched)
                continue
            children = self._divide(space)
            if children is None:
                arcs_and_labels = (space.heads.tobytes(), self._labels(space).tobytes())
                trees.setdefault(arcs_and_labels, self._decoded(space))  # the spaces of "label" overlap
                if len(trees) == k:
                    break
                children = self._others(space)
            for bound, make in children:
                if bound > FORBIDDEN / 2:
                    push(min(bound, space.value), space.depth + 1, make)
        self.exhausted |= steps >= 2 * max_steps
        return list(trees.values())

    def is_root(self, constraint: IsConstituent | NotConstituent) -> bool:
        """Return whether the root alone decides about a constraint."""
        return constraint.mask == (1 << self.n) - 1 and constraint.label in (None, self.root)

    def _search(self, space: _Space) -> _Space | None:
        """Return a space with its best tree, or None if it has none.

        Exactly one arc enters a required phrase from outside. Every arc that does costs extra, and the cost that all
        trees have is added to the value.
        """
        heads = arborescence(space.weights - ENTERING * self.entering)
        words = np.arange(self.n)
        chosen = space.weights[words, heads]
        if chosen.min() <= FORBIDDEN:
            return None
        extra = ENTERING * (self.entering[words, heads].sum() - len(self.required))
        return replace(space, heads=heads, value=float(chosen.sum() - extra) - sum(space.paid.values()))

    def _decoded(self, space: _Space) -> Decoded:
        words, labels = np.arange(self.n), self._labels(space)
        arc, label = log_of(self.arcs[words, space.heads]), log_of(self.rows[words, space.heads, labels])
        total = np.array([(arc + label).sum()])
        return Decoded(space.heads[None] - 1, labels[None], np.exp(arc)[None], np.exp(label)[None], total)

    def _labels(self, space: _Space) -> I64:
        labels: I64 = self.order[space.names[np.arange(self.n), space.heads]]
        return labels

    def _divide(self, space: _Space) -> list[_Child] | None:
        """Return spaces that make up this one without its best tree; None if that tree satisfies everything."""
        names = self._labels(space).tolist()
        phrases = self.penalties.phrases((space.heads - 1).tolist(), names)
        by_words = {phrase.words: phrase for phrase in phrases if self.penalties.chains[phrase.label]}
        violated: list[tuple[int, frozenset[str]]] = []
        for words, labels in self.required.items():
            phrase = by_words.get(words)
            place = space.places.get(words)
            has_labels = phrase is not None and labels.issubset(self.penalties.chains[phrase.label])
            if phrase is not None and has_labels and place in (None, (phrase.head, phrase.level)):
                continue
            if place is not None:
                head, level = place  # no word joins the head at this level: one has to
                kept = ~self._inside(words)[0][:, None] | (self.levels != level)
                return self._violating(space, np.ones_like(space.weights, bool), np.full(self.n, head + 1), kept)
            violated.append((words, labels))
        if violated:  # the phrase that lowers the bound most
            options = [self._places(space, *phrase) for phrase in violated]
            return min(options, key=lambda children: max(bound for bound, _ in children))
        for phrase in phrases:
            if len({names[member] for member in phrase.members}) > 1:
                return self._agree(space, phrase, names)
        for one in self.absent:
            phrase = by_words.get(one.mask)
            if phrase is not None and (one.label is None or one.label in self.penalties.chains[phrase.label]):
                return self._exclude(space, phrase, frozenset(filter(None, [one.label])))
        for phrase in phrases if self.penalise and not self.exhausted else ():
            is_paid = not self.penalties.penalties[phrase.label] or (phrase.head, phrase.level) in space.paid
            if not is_paid and has_gap(phrase.words):
                return self._exclude(space, phrase, None)
        return None

    def _inside(self, words: int) -> tuple[Bool, Bool]:
        """Return which words (n,), and which columns (n+1,), are in a set."""
        columns = np.array([False, *(bool(words >> k & 1) for k in range(self.n))])
        return columns[1:], columns

    def _having(self, labels: frozenset[str]) -> Bool:
        """Return which labels (L,) stand for phrases that have all of these labels."""
        return np.array([bool(chain) and labels.issubset(chain) for chain in self.chains])

    def _places(self, space: _Space, words: int, labels: frozenset[str]) -> list[_Child]:
        """Return a space for every head and level of a required phrase, with an upper bound for each.

        The bound lets every word choose its best arc, and one word join the head at that level.
        """
        (inside, within), having = self._inside(words), self._having(labels)
        members = np.flatnonzero(inside)
        m = len(members)
        is_free = (space.weights[:, members + 1].T > FORBIDDEN)[:, :, None]
        tables = np.where(is_free, [space.columns[head + 1] for head in members.tolist()], FORBIDDEN)  # (m, n, L)
        by_level = np.maximum.reduceat(tables, self.starts, axis=2)  # (m, n, K)
        joining = np.maximum.reduceat(np.where(having, tables, FORBIDDEN), self.starts, axis=2)
        none = np.full((m, self.n, 1), FORBIDDEN)
        below = np.concatenate([none, np.maximum.accumulate(by_level, 2)[:, :, :-1]], 2)
        above = np.concatenate([np.maximum.accumulate(by_level[:, :, ::-1], 2)[:, :, -2::-1], none], 2)
        others = np.where(np.eye(m, dtype=bool)[:, None], FORBIDDEN, space.weights[:, members + 1]).max(2)  # (m, n)
        outer = space.weights[:, ~within].max(1)  # (n,)
        within_phrase = np.maximum(np.maximum(below, joining), others[:, :, None])
        best = np.where(inside[:, None], within_phrase, np.maximum(above, outer[:, None]))  # (m, n, K)
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
            return replace(space.restrict(arcs, {head + 1: kept}), places={**space.places, words: (head, level)})

        return [
            (bounds[row, column], lambda head=head, level=level: make(head, level))  # type: ignore[misc]
            for row, head in enumerate(members.tolist())
            for column, level in enumerate(self.levels[self.starts].tolist())
        ]

    def _agree(self, space: _Space, phrase: Phrase, names: Sequence[int]) -> list[_Child]:
        """Return the spaces in which a phrase has a label, and in which it has not."""
        column = phrase.head + 1
        present = np.flatnonzero(np.isin(self.order, [names[member] for member in phrase.members]))
        label = present[space.columns[column][phrase.members][:, present].sum(0).argmax()]
        this = np.arange(len(self.levels)) == label
        arcs = np.ones((self.n, self.n + 1), bool)
        return [
            (space.value, lambda kept=kept: space.restrict(arcs, {column: np.broadcast_to(kept, (self.n, len(kept)))}))  # type: ignore[misc]
            for kept in (this | (self.levels != phrase.level), ~this)
        ]

    def _exclude(self, space: _Space, phrase: Phrase, absent: frozenset[str] | None) -> list[_Child]:
        """Return spaces without a phrase, and one in which its words lack the ``absent`` labels, or pay its penalty."""
        (inside, within), paid, penalty = self._inside(phrase.words), space.paid, 0.0
        arcs = inside[:, None] == within
        arcs[phrase.head] = ~within
        labels = np.where(inside[:, None], self.levels <= phrase.level, self.levels > phrase.level)
        labels[phrase.head] = False
        if absent is None:  # the penalty depends on the label, so one word has to join with it
            penalty = self.penalties.penalties[phrase.label]
            paid = {**paid, (phrase.head, phrase.level): penalty}
            arcs[phrase.members[0]], labels[phrase.members[0]] = False, self.order == phrase.label
        children = self._violating(space, arcs, np.full(self.n, phrase.head + 1), labels)
        if absent is not None:
            labels = labels & ~(self._having(absent) & (self.levels == phrase.level))
        arcs[:, phrase.head + 1] = True
        make = lambda: replace(space.restrict(arcs, {phrase.head + 1: labels}), paid=paid)  # noqa: E731
        return [*children, (space.value - penalty, make)]

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
        table = np.stack([space.columns[column][word] for word, column in enumerate(columns.tolist())])  # (n, L)
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
