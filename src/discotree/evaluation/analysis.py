"""What is wrong with the trees: tables, confusions, the worst sentences, arcs, and whether a difference is luck.

``Analysis`` looks at the comparisons that ``evaluate`` makes:

    analysis = Analysis(params)
    score = evaluate(gold, predicted, params, observe=analysis)
    analysis.tables["label"]["NP"].f1
"""

import heapq
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from discotree.encoding.dependencies import to_dependencies
from discotree.encoding.head_rules import HeadRules
from discotree.errors import EvaluationError
from discotree.evaluation.params import PROPER, Params
from discotree.evaluation.parseval import Bracket, Comparison, is_discontinuous
from discotree.evaluation.score import Counts, Score, Sentence, percent

TABLES = {
    "label": "by label",
    "gap": "by gap degree",
    "length": "by length of the constituent, in words",
    "sentence": "by length of the sentence, in words",
}
CONSTITUENT_BINS = (1, 2, 3, 4, 5, 10, 20, 40)
SENTENCE_BINS = tuple(range(10, 101, 10))
ANY_LABEL = "any"  # in tables of an unlabelled score
NOTHING = "–"  # in confusions: a bracket that the other side does not have at all


class Worst(NamedTuple):
    """A sentence with many errors."""

    errors: int
    id: str
    words: tuple[str, ...]
    missing: tuple[str, ...]  # brackets as text
    spurious: tuple[str, ...]


@dataclass(frozen=True)
class Arcs:
    """Attachment scores of the augmented dependencies, over all words, punctuation included."""

    tokens: int = 0
    heads: int = 0
    labelled: int = 0

    @property
    def uas(self) -> float:
        return percent(self.heads, self.tokens)

    @property
    def las(self) -> float:
        return percent(self.labelled, self.tokens)


class Analysis:
    """Gathers tables while ``evaluate`` runs; pass it as ``observe``."""

    def __init__(
        self,
        params: Params = PROPER,
        *,
        labelled: bool = True,
        disc_only: bool = False,
        rules: HeadRules | None = None,
        worst: int = 20,
    ) -> None:
        self.params = params
        self.labelled = labelled and params.labelled
        self.disc_only = disc_only or params.disc_only
        self.rules = rules
        self.n_worst = worst
        self.confusions: Counter[tuple[str, str]] = Counter()
        self.arcs = Arcs()
        self._counts: dict[str, dict[tuple[int, str], list[int]]] = {
            name: defaultdict(lambda: [0, 0, 0]) for name in TABLES
        }
        self._worst: list[tuple[int, int, Worst]] = []
        self._seen = 0

    def __call__(self, comparison: Comparison) -> None:
        self._seen += 1
        keep = comparison.keep
        gold, predicted = (
            Counter(b for b in brackets if not self.disc_only or is_discontinuous(b[1], keep))
            for brackets in (comparison.gold_brackets, comparison.predicted_brackets)
        )
        if not self.labelled:
            gold, predicted = (_unlabelled(counter) for counter in (gold, predicted))
        both = gold & predicted
        missing, spurious = gold - both, predicted - both
        for column, counter in enumerate((gold, predicted, both)):
            for bracket, times in counter.items():
                for name, key in self._keys(bracket, comparison):
                    self._counts[name][key][column] += times
        if missing or spurious:
            self._confuse(missing, spurious)
            self._remember(comparison, missing, spurious)
        if self.rules is not None:
            self._attach(comparison, self.rules)

    @property
    def tables(self) -> dict[str, dict[str, Counts]]:
        """By name of the table, then by row: labels by frequency, everything else in order."""
        tables = {}
        for name, rows in self._counts.items():
            order = sorted(rows)
            if name == "label":
                order.sort(key=lambda key, rows=rows: -rows[key][0])  # type: ignore[misc]
            tables[name] = {key[1]: Counts(*rows[key]) for key in order}
        return tables

    @property
    def worst(self) -> list[Worst]:
        """The sentences with the most errors, worst first."""
        return [worst for _, _, worst in sorted(self._worst, reverse=True)]

    def _keys(self, bracket: Bracket, comparison: Comparison) -> list[tuple[str, tuple[int, str]]]:
        label, mask = bracket
        gaps = _gap_degree(mask, comparison.keep)
        return [
            ("label", (0, label)),
            ("gap", (gaps, str(gaps))),
            ("length", _bin(mask.bit_count(), CONSTITUENT_BINS)),
            ("sentence", _bin(len(comparison.gold), SENTENCE_BINS)),
        ]

    def _confuse(self, missing: Counter[Bracket], spurious: Counter[Bracket]) -> None:
        """Pair what is missing with what was predicted over the same words, in the order of the labels."""
        left: dict[int, list[str]] = defaultdict(list)
        for label, mask in sorted(spurious.elements()):
            left[mask].append(label)
        for label, mask in sorted(missing.elements()):
            self.confusions[label, left[mask].pop(0) if left[mask] else NOTHING] += 1
        for labels in left.values():
            self.confusions.update((NOTHING, label) for label in labels)

    def _remember(self, comparison: Comparison, missing: Counter[Bracket], spurious: Counter[Bracket]) -> None:
        errors = missing.total() + spurious.total()
        if len(self._worst) == self.n_worst and errors <= self._worst[0][0]:
            return
        words = comparison.gold.words
        worst = Worst(
            errors,
            comparison.gold.id,
            words,
            tuple(_as_text(bracket, words) for bracket in sorted(missing.elements(), key=_place)),
            tuple(_as_text(bracket, words) for bracket in sorted(spurious.elements(), key=_place)),
        )
        entry = (errors, -self._seen, worst)  # of equally bad sentences the first ones stay
        if len(self._worst) < self.n_worst:
            heapq.heappush(self._worst, entry)
        elif self.n_worst:
            heapq.heapreplace(self._worst, entry)

    def _attach(self, comparison: Comparison, rules: HeadRules) -> None:
        heads = labelled = 0
        if comparison.predicted is not None:  # a missing parse has no arcs right
            gold, predicted = (to_dependencies(tree, rules) for tree in (comparison.gold, comparison.predicted))
            for a, b, x, y in zip(gold.heads, predicted.heads, gold.labels, predicted.labels, strict=True):
                heads += a == b
                labelled += a == b and x == y
        old = self.arcs
        self.arcs = Arcs(old.tokens + len(comparison.gold), old.heads + heads, old.labelled + labelled)


def _unlabelled(brackets: Counter[Bracket]) -> Counter[Bracket]:
    counter: Counter[Bracket] = Counter()
    for (_, mask), times in brackets.items():
        counter[ANY_LABEL, mask] += times
    return counter


def _gap_degree(mask: int, keep: int) -> int:
    gaps = 0
    while is_discontinuous(mask, keep):
        start = mask & -mask
        outside = keep & ~mask & ~(start - 1)  # what was kept after the start of the block but is not in it
        block_end = outside & -outside
        mask &= ~(block_end - 1)
        gaps += 1
    return gaps


def _bin(value: int, upper_bounds: tuple[int, ...]) -> tuple[int, str]:
    lower = 1
    for k, upper in enumerate(upper_bounds):
        if value <= upper:
            return k, str(upper) if lower == upper else f"{lower}–{upper}"
        lower = upper + 1
    return len(upper_bounds), f"{lower}+"


def _place(bracket: Bracket) -> tuple[int, int, str]:
    label, mask = bracket
    return mask & -mask, -mask.bit_count(), label


def _as_text(bracket: Bracket, words: tuple[str, ...]) -> str:
    label, mask = bracket
    pieces = []
    position = 0
    last = -1
    while mask:
        if mask & 1:
            if last >= 0 and position > last + 1:
                pieces.append("…")
            pieces.append(words[position])
            last = position
        mask >>= 1
        position += 1
    return f"{label}: {' '.join(pieces)}"


# Two systems


class Difference(NamedTuple):
    """How much better the second system is than the first, in points, with a 95 % confidence interval.

    ``p`` is the chance to see a difference at least this large when the two are equally good.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float


FIELD = 40  # bits for a sum of counts


def bootstrap(
    first: Score, second: Score, *, samples: int = 1000, seed: int = 0, discontinuous: bool | None = None
) -> Difference:
    """A paired bootstrap test on F1: sentences are drawn again and again, the same ones for both systems."""
    if [s.id for s in first.sentences] != [s.id for s in second.sentences]:
        raise EvaluationError("the two systems were not scored on the same sentences in the same order")
    if not first.sentences:
        raise EvaluationError("there are no sentences to draw from")
    gaps = first.disc_only if discontinuous is None else discontinuous

    def packed(a: Sentence, b: Sentence) -> int:
        """Four counts in one number, so that one sum adds them all."""
        x, y = a.counts(first.mode, gaps), b.counts(second.mode, gaps)
        number = 0
        for value in (x.gold + x.predicted, x.matched, y.gold + y.predicted, y.matched):
            number = number << FIELD | value
        return number

    numbers = [packed(a, b) for a, b in zip(first.sentences, second.sentences, strict=True)]
    observed = _f1_pair(sum(numbers))
    rng = random.Random(seed)
    draw: Callable[[], int] = lambda: sum(rng.choices(numbers, k=len(numbers)))  # noqa: E731 - the hot line
    drawn = [_f1_pair(draw()) for _ in range(samples)]
    difference = observed[1] - observed[0]
    differences = sorted(b - a for a, b in drawn)
    extreme = sum(abs(d - difference) >= abs(difference) for d in differences)
    return Difference(
        observed[0],
        observed[1],
        difference,
        differences[math.floor(0.025 * (samples - 1))],
        differences[math.ceil(0.975 * (samples - 1))],
        (extreme + 1) / (samples + 1),
    )


def _f1_pair(number: int) -> tuple[float, float]:
    """F1 of both systems; unlike in a score, no match at all is 0 here, so that differences can be taken."""
    mask = (1 << FIELD) - 1
    brackets_a, matched_a, brackets_b, matched_b = (number >> FIELD * k & mask for k in (3, 2, 1, 0))
    return (
        200 * matched_a / brackets_a if brackets_a else 0.0,
        200 * matched_b / brackets_b if brackets_b else 0.0,
    )
