"""Error analysis: F1 by label, gap degree and length, confusions, the worst sentences, attachment scores.

``Analysis`` observes the comparisons that ``evaluate`` makes:

    analysis = Analysis(params)
    score = evaluate(gold, predicted, params, observe=analysis)
    analysis.tables["label"]["NP"].f1
"""

import heapq
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from discotree.encoding.dependencies import to_dependencies
from discotree.encoding.head_rules import HeadRules
from discotree.errors import EvaluationError
from discotree.evaluation.params import PROPER, Params
from discotree.evaluation.parseval import (
    Bracket,
    BracketCounts,
    Comparison,
    Score,
    is_discontinuous,
    percent,
)
from discotree.trees.punctuation import gap_degree
from discotree.trees.tree import GAP, mask_spans

TABLES = {
    "label": "by label",
    "gap": "by gap degree",
    "length": "by length of the constituent, in words",
    "sentence": "by length of the sentence, in words",
}
CONSTITUENT_BINS = (1, 2, 3, 4, 5, 10, 20, 40)
SENTENCE_BINS = tuple(range(10, 101, 10))
ANY_LABEL = "any"  # the one label in tables of an unlabelled score
NOTHING = "–"  # in confusions: no bracket over these words on this side


class Worst(NamedTuple):
    """Sentence with many errors; its brackets are text."""

    errors: int
    id: str
    words: tuple[str, ...]
    missing: tuple[str, ...]
    spurious: tuple[str, ...]


class Analysis:
    """Observer that gathers tables while ``evaluate`` runs; pass it as ``observe``."""

    def __init__(self, params: Params = PROPER, *, rules: HeadRules | None = None, worst: int = 20) -> None:
        self.params = params
        self.rules = rules
        self.n_worst = worst
        self.confusions: Counter[tuple[str, str]] = Counter()
        self._arcs = [0, 0, 0]  # words, and those with the correct head, and with its correct label
        self._counts: dict[str, dict[tuple[int, str], list[int]]] = {
            name: defaultdict(lambda: [0, 0, 0]) for name in TABLES
        }
        self._worst: list[tuple[int, int, Worst]] = []
        self._seen = 0

    def __call__(self, comparison: Comparison) -> None:
        self._seen += 1
        keep = comparison.keep
        gold, predicted = (
            Counter(
                (label if self.params.labelled else ANY_LABEL, mask)
                for label, mask in brackets
                if not self.params.disc_only or is_discontinuous(mask, keep)
            )
            for brackets in (comparison.gold_brackets, comparison.predicted_brackets)
        )
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
    def tables(self) -> dict[str, dict[str, BracketCounts]]:
        """Counts by table and row: labels by frequency, all other rows in ascending order."""
        tables = {}
        for name, rows in self._counts.items():
            order = sorted(rows)
            if name == "label":
                order.sort(key=lambda key, rows=rows: -rows[key][0])  # type: ignore[misc]
            tables[name] = {key[1]: BracketCounts(*rows[key]) for key in order}
        return tables

    @property
    def worst(self) -> list[Worst]:
        """Sentences with the most errors, worst first."""
        return [worst for _, _, worst in self._worst]

    @property
    def attachment(self) -> dict[str, float]:
        """UAS and LAS of the augmented dependencies over all words, including punctuation."""
        words, heads, labelled = self._arcs
        return {"uas": percent(heads, words), "las": percent(labelled, words)}

    def _keys(self, bracket: Bracket, comparison: Comparison) -> list[tuple[str, tuple[int, str]]]:
        label, mask = bracket
        gaps = gap_degree(mask, comparison.keep)
        return [
            ("label", (0, label)),
            ("gap", (gaps, str(gaps))),
            ("length", _bin(mask.bit_count(), CONSTITUENT_BINS)),
            ("sentence", _bin(len(comparison.gold), SENTENCE_BINS)),
        ]

    def _confuse(self, missing: Counter[Bracket], spurious: Counter[Bracket]) -> None:
        """Pair missing with spurious brackets over the same words, in the order of their labels."""
        unpaired: dict[int, list[str]] = defaultdict(list)
        for label, mask in sorted(spurious.elements()):
            unpaired[mask].append(label)
        for label, mask in sorted(missing.elements()):
            self.confusions[label, unpaired[mask].pop(0) if unpaired[mask] else NOTHING] += 1
        for labels in unpaired.values():
            self.confusions.update((NOTHING, label) for label in labels)

    def _remember(self, comparison: Comparison, missing: Counter[Bracket], spurious: Counter[Bracket]) -> None:
        errors = missing.total() + spurious.total()
        if len(self._worst) == self.n_worst > 0 and errors <= self._worst[-1][0]:
            return
        words = comparison.gold.words
        worst = Worst(
            errors,
            comparison.gold.id,
            words,
            tuple(_as_text(bracket, words) for bracket in sorted(missing.elements(), key=_by_position)),
            tuple(_as_text(bracket, words) for bracket in sorted(spurious.elements(), key=_by_position)),
        )
        # Of sentences with equally many errors, the first ones are kept.
        self._worst = heapq.nlargest(self.n_worst, [*self._worst, (errors, -self._seen, worst)])

    def _attach(self, comparison: Comparison, rules: HeadRules) -> None:
        self._arcs[0] += len(comparison.gold)
        if comparison.predicted is not None:  # a missing parse has no correct arcs
            gold, predicted = (to_dependencies(tree, rules) for tree in (comparison.gold, comparison.predicted))
            for a, b, x, y in zip(gold.heads, predicted.heads, gold.labels, predicted.labels, strict=True):
                self._arcs[1] += a == b
                self._arcs[2] += a == b and x == y


def _bin(value: int, upper_bounds: tuple[int, ...]) -> tuple[int, str]:
    lower = 1
    for k, upper in enumerate(upper_bounds):
        if value <= upper:
            return k, str(upper) if lower == upper else f"{lower}–{upper}"
        lower = upper + 1
    return len(upper_bounds), f"{lower}+"


def _by_position(bracket: Bracket) -> tuple[int, int, str]:
    label, mask = bracket
    return mask & -mask, -mask.bit_count(), label


def _as_text(bracket: Bracket, words: tuple[str, ...]) -> str:
    label, mask = bracket
    return f"{label}: {GAP.join([' '.join(words[start:end]) for start, end in mask_spans(mask)])}"


FIELD_BITS = 40  # for the sum of one count over a sample


class BootstrapResult(NamedTuple):
    """F1 of two systems and the second's gain over the first, in points, with its 95 % confidence interval.

    ``p`` is the probability of a difference at least this large between two equally good systems.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float

    @property
    def p_text(self) -> str:
        """``p`` for readers: ``= 0.042``; a value that 1000 samples cannot distinguish from 0 is ``≤ 0.001``."""
        return "≤ 0.001" if self.p <= 0.001 else f"= {self.p:.3f}"


def bootstrap(
    first: Score, second: Score, *, samples: int = 1000, seed: int = 0, discontinuous: bool | None = None
) -> BootstrapResult:
    """Test a difference in F1 by resampling the sentences, the same ones for both systems.

    ``discontinuous`` selects the constituents to count; by default the mode of the first score is used.
    """
    if [s.id for s in first.sentences] != [s.id for s in second.sentences]:
        raise EvaluationError("cannot compare systems that were scored on different sentences or in a different order")
    if not first.sentences:
        raise EvaluationError("cannot compare systems without any sentences")
    disc_only = first.disc_only if discontinuous is None else discontinuous

    systems = [[s.counts(score.mode, disc_only) for s in score.sentences] for score in (first, second)]
    rows = [(a.gold + a.predicted, a.matched, b.gold + b.predicted, b.matched) for a, b in zip(*systems, strict=True)]

    def f1s(counts: Sequence[int]) -> list[float]:
        """Return F1 of both systems; without a match it is 0, not nan as in a score, so that differences exist."""
        return [200 * counts[k + 1] / counts[k] if counts[k] else 0.0 for k in (0, 2)]

    observed = f1s([sum(column) for column in zip(*rows, strict=True)])
    difference = observed[1] - observed[0]
    differences = [b - a for a, b in map(f1s, resample(rows, samples, seed))]
    extreme = sum(abs(d - difference) >= abs(difference) for d in differences)
    low, high = percentile_interval(differences)
    return BootstrapResult(observed[0], observed[1], difference, low, high, (extreme + 1) / (samples + 1))


def resample(rows: Sequence[Sequence[int]], samples: int = 1000, seed: int = 0) -> Iterator[list[int]]:
    """Yield the sums of the columns over samples of the rows, each as large as all rows and drawn with replacement."""
    # The counts of a row are packed into one number, so that one sum adds them all.
    packed = [sum(count << FIELD_BITS * k for k, count in enumerate(row)) for row in rows]
    rng = random.Random(seed)
    for _ in range(samples):
        total = sum(rng.choices(packed, k=len(packed)))
        yield [total >> FIELD_BITS * k & (1 << FIELD_BITS) - 1 for k in range(len(rows[0]))]


def percentile_interval(values: Iterable[float]) -> tuple[float, float]:
    """Return the bounds of the middle 95 % of some values."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return ordered[math.floor(0.025 * last)], ordered[math.ceil(0.975 * last)]
