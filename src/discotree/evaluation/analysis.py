"""Error analysis: F1 by label, gap degree and length, confusions, the worst sentences, attachment scores.

``Analysis`` observes the comparisons that ``evaluate`` makes:

    analysis = Analysis(params)
    score = evaluate(gold, predicted, params, observe=analysis)
    analysis.tables["label"]["NP"].f1
"""

import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from discotree.encoding.dependencies import to_dependencies
from discotree.encoding.head_rules import HeadRules
from discotree.evaluation.params import PROPER, Params
from discotree.evaluation.parseval import Bracket, Comparison, is_discontinuous
from discotree.evaluation.score import BracketCounts, percent

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


@dataclass(frozen=True)
class Arcs:
    """Attachment scores of the augmented dependencies over all words, including punctuation."""

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
    """Observer that gathers tables while ``evaluate`` runs; pass it as ``observe``."""

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
        if len(self._worst) == self.n_worst and errors <= self._worst[0][0]:
            return
        words = comparison.gold.words
        worst = Worst(
            errors,
            comparison.gold.id,
            words,
            tuple(_as_text(bracket, words) for bracket in sorted(missing.elements(), key=_by_position)),
            tuple(_as_text(bracket, words) for bracket in sorted(spurious.elements(), key=_by_position)),
        )
        entry = (errors, -self._seen, worst)  # among equally bad sentences the first ones win
        if len(self._worst) < self.n_worst:
            heapq.heappush(self._worst, entry)
        elif self.n_worst:
            heapq.heapreplace(self._worst, entry)

    def _attach(self, comparison: Comparison, rules: HeadRules) -> None:
        heads = labelled = 0
        if comparison.predicted is not None:  # a missing parse has no correct arcs
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
        outside = keep & ~mask & ~(start - 1)  # kept words after the start of the block that are not in it
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


def _by_position(bracket: Bracket) -> tuple[int, int, str]:
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
