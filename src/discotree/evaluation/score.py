"""Scores: counts of brackets that add up, and the metrics computed from them.

A ``Score`` holds the counts of its sentences, so scores of several files add up with ``+``. Metrics are percentages,
and nan where disco-dop has nan: where one side has no brackets, or nothing matches.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from discotree.errors import EvaluationError

Mode = Literal["labelled", "unlabelled"]


class BracketCounts(NamedTuple):
    """Numbers of brackets in one sentence or many: with their multiplicity, and distinct ones."""

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
        """Whether gold and prediction have the same brackets."""
        return self.gold == self.predicted == self.matched


class SentenceScore(NamedTuple):
    """Counts of one sentence, in all modes."""

    id: str
    length: int
    labelled: BracketCounts
    unlabelled: BracketCounts
    labelled_discontinuous: BracketCounts
    unlabelled_discontinuous: BracketCounts
    tokens: int  # words that are not deleted
    correct_tags: int
    functions: int  # words that are not deleted, and matched brackets
    correct_functions: int
    has_functions: bool  # the prediction has at least one function

    def counts(self, mode: Mode, discontinuous: bool) -> BracketCounts:
        if discontinuous:
            return self.labelled_discontinuous if mode == "labelled" else self.unlabelled_discontinuous
        return self.labelled if mode == "labelled" else self.unlabelled


def percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else math.nan


@dataclass
class Score:
    """Metrics over sentences in one mode; ``discontinuous`` and ``unlabelled`` switch to another."""

    sentences: list[SentenceScore] = field(default_factory=list)
    mode: Mode = "labelled"
    disc_only: bool = False

    def __add__(self, other: "Score") -> "Score":
        if (self.mode, self.disc_only) != (other.mode, other.disc_only):
            raise EvaluationError("scores of different modes do not add up; add those of one mode")
        return Score(self.sentences + other.sentences, self.mode, self.disc_only)

    def __radd__(self, other: int) -> "Score":
        """Support sum(), which starts with 0."""
        return self if other == 0 else NotImplemented

    @property
    def discontinuous(self) -> "Score":
        """The score of discontinuous constituents only."""
        return Score(self.sentences, self.mode, True)

    @property
    def unlabelled(self) -> "Score":
        """The score without regard to labels."""
        return Score(self.sentences, "unlabelled", self.disc_only)

    def upto(self, length: int) -> "Score":
        """Return the score of sentences of at most ``length`` words."""
        return Score([s for s in self.sentences if s.length <= length], self.mode, self.disc_only)

    @property
    def counts(self) -> BracketCounts:
        """Brackets of all sentences together."""
        return total(sentence.counts(self.mode, self.disc_only) for sentence in self.sentences)

    @property
    def gold(self) -> int:
        """Number of brackets in the gold trees."""
        return self.counts.gold

    @property
    def predicted(self) -> int:
        """Number of brackets in the predicted trees."""
        return self.counts.predicted

    @property
    def matched(self) -> int:
        """Number of brackets in both."""
        return self.counts.matched

    @property
    def precision(self) -> float:
        """Percentage of the predicted brackets that are correct."""
        return self.counts.precision

    @property
    def recall(self) -> float:
        """Percentage of the gold brackets that are found."""
        return self.counts.recall

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall: the metric that the field quotes."""
        return self.counts.f1

    @property
    def counted(self) -> list[SentenceScore]:
        """Sentences that count: all, or those with a discontinuous constituent on either side."""
        if not self.disc_only:
            return self.sentences
        return [s for s in self.sentences if (c := s.counts(self.mode, True)).gold or c.predicted]

    @property
    def longest(self) -> int:
        """Number of words in the longest sentence."""
        return max((sentence.length for sentence in self.sentences), default=0)

    @property
    def exact_match(self) -> float:
        """Percentage of the counted sentences with all brackets correct."""
        counted = self.counted
        return percent(sum(s.counts(self.mode, self.disc_only).is_exact for s in counted), len(counted))

    @property
    def pos_accuracy(self) -> float:
        """Percentage of the words that are not deleted with the correct tag."""
        return percent(sum(s.correct_tags for s in self.sentences), sum(s.tokens for s in self.sentences))

    @property
    def function_accuracy(self) -> float:
        """Percentage of the words and matched brackets with the correct function; nan where no prediction has any."""
        if not any(s.has_functions for s in self.sentences):
            return math.nan
        return percent(sum(s.correct_functions for s in self.sentences), sum(s.functions for s in self.sentences))

    def metrics(self) -> dict[str, float | int | None]:
        """Return all metrics by name, with None for nan."""
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


def total(counts: Iterable[BracketCounts]) -> BracketCounts:
    columns = list(zip(*counts, strict=True))
    return BracketCounts(*map(sum, columns)) if columns else BracketCounts()
