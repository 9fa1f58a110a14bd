"""Scores: counts of brackets that add up, and the figures that are made of them.

A ``Score`` is the list of its sentences' counts, so scores of parts add up with ``+``. Figures are percentages, and
nan where disco-dop says nan: where one side has no brackets, or nothing matches.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from discotree.errors import EvaluationError

Mode = Literal["labelled", "unlabelled"]


class Counts(NamedTuple):
    """Brackets of one sentence or of many: with their multiplicity, and the distinct ones."""

    gold: int = 0
    predicted: int = 0
    matched: int = 0
    gold_distinct: int = 0
    predicted_distinct: int = 0

    @property
    def precision(self) -> float:
        return percent(self.matched, self.predicted)

    @property
    def recall(self) -> float:
        return percent(self.matched, self.gold)

    @property
    def f1(self) -> float:
        if not self.matched or not self.gold or not self.predicted:
            return math.nan
        return 200 * self.matched / (self.gold + self.predicted)

    @property
    def is_exact(self) -> bool:
        """Whether both sides have the same brackets."""
        return self.gold == self.predicted == self.matched


class Sentence(NamedTuple):
    """What one sentence contributes."""

    id: str
    length: int
    labelled: Counts
    unlabelled: Counts
    labelled_discontinuous: Counts
    unlabelled_discontinuous: Counts
    tokens: int  # words that are not deleted, and those of them with the right tag
    correct_tags: int
    functions: int  # words that are not deleted and matched brackets, and those of them with the right function
    correct_functions: int
    has_functions: bool  # whether the prediction has any

    def counts(self, mode: Mode, discontinuous: bool) -> Counts:
        if discontinuous:
            return self.labelled_discontinuous if mode == "labelled" else self.unlabelled_discontinuous
        return self.labelled if mode == "labelled" else self.unlabelled


def percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else math.nan


@dataclass
class Score:
    """Figures over sentences, in one mode; ``discontinuous`` and ``unlabelled`` give the same in another."""

    sentences: list[Sentence] = field(default_factory=list)
    mode: Mode = "labelled"
    disc_only: bool = False

    def __add__(self, other: "Score") -> "Score":
        if (self.mode, self.disc_only) != (other.mode, other.disc_only):
            raise EvaluationError("scores of different modes do not add up")
        return Score(self.sentences + other.sentences, self.mode, self.disc_only)

    def __radd__(self, other: int) -> "Score":
        """So that sum() works, which begins with 0."""
        return self if other == 0 else NotImplemented

    @property
    def discontinuous(self) -> "Score":
        """Only discontinuous constituents."""
        return Score(self.sentences, self.mode, True)

    @property
    def unlabelled(self) -> "Score":
        """Labels do not count."""
        return Score(self.sentences, "unlabelled", self.disc_only)

    def upto(self, length: int) -> "Score":
        """Only sentences up to this length."""
        return Score([s for s in self.sentences if s.length <= length], self.mode, self.disc_only)

    @property
    def counts(self) -> Counts:
        """Brackets of all sentences together."""
        return total(sentence.counts(self.mode, self.disc_only) for sentence in self.sentences)

    @property
    def gold(self) -> int:
        """How many brackets the gold trees have."""
        return self.counts.gold

    @property
    def predicted(self) -> int:
        """How many brackets the predicted trees have."""
        return self.counts.predicted

    @property
    def matched(self) -> int:
        """How many brackets are in both."""
        return self.counts.matched

    @property
    def precision(self) -> float:
        """Of the predicted brackets, how many are right."""
        return self.counts.precision

    @property
    def recall(self) -> float:
        """Of the gold brackets, how many were found."""
        return self.counts.recall

    @property
    def f1(self) -> float:
        """The figure that the field quotes: the harmonic mean of precision and recall."""
        return self.counts.f1

    @property
    def counted(self) -> list[Sentence]:
        """The sentences that count: all, or those with a discontinuous constituent on either side."""
        if not self.disc_only:
            return self.sentences
        return [s for s in self.sentences if (c := s.counts(self.mode, True)).gold or c.predicted]

    @property
    def longest(self) -> int:
        """Words of the longest sentence."""
        return max((sentence.length for sentence in self.sentences), default=0)

    @property
    def exact_match(self) -> float:
        """Of the sentences that count, how many have all brackets right."""
        counted = self.counted
        return percent(sum(s.counts(self.mode, self.disc_only).is_exact for s in counted), len(counted))

    @property
    def pos_accuracy(self) -> float:
        """Of the words that are not deleted, how many have the right tag."""
        return percent(sum(s.correct_tags for s in self.sentences), sum(s.tokens for s in self.sentences))

    @property
    def function_accuracy(self) -> float:
        """Of the words, and of the brackets that were found, how many have the right function.

        Not a number where no prediction has a function at all.
        """
        if not any(s.has_functions for s in self.sentences):
            return math.nan
        return percent(sum(s.correct_functions for s in self.sentences), sum(s.functions for s in self.sentences))

    def figures(self) -> dict[str, float | int | None]:
        """All figures by name, None for nan."""
        counts = self.counts
        values = {
            "sentences": len(self.counted),
            "longest_sentence": self.longest,
            "gold": counts.gold,
            "predicted": counts.predicted,
            "matched": counts.matched,
            "gold_distinct": counts.gold_distinct,
            "predicted_distinct": counts.predicted_distinct,
            "precision": counts.precision,
            "recall": counts.recall,
            "f1": counts.f1,
            "exact_match": self.exact_match,
            "pos_accuracy": self.pos_accuracy,
            "function_accuracy": self.function_accuracy,
        }
        return {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in values.items()}


def total(counts: Iterable[Counts]) -> Counts:
    columns = list(zip(*counts, strict=True))
    return Counts(*map(sum, columns)) if columns else Counts()
