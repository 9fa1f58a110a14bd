"""Paired bootstrap test: is one system better than another by more than chance?"""

import math
import random
from collections.abc import Callable
from typing import NamedTuple

from discotree.errors import EvaluationError
from discotree.evaluation.score import Score, SentenceScore

FIELD_BITS = 40  # room for one sum of counts


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


def bootstrap(
    first: Score, second: Score, *, samples: int = 1000, seed: int = 0, discontinuous: bool | None = None
) -> BootstrapResult:
    """Test a difference in F1 by resampling the sentences, the same ones for both systems.

    ``discontinuous`` chooses the constituents to count; without it the first score decides.
    """
    if [s.id for s in first.sentences] != [s.id for s in second.sentences]:
        raise EvaluationError("the two systems were not scored on the same sentences in the same order")
    if not first.sentences:
        raise EvaluationError("there are no sentences to sample from")
    disc_only = first.disc_only if discontinuous is None else discontinuous

    def packed(a: SentenceScore, b: SentenceScore) -> int:
        """Pack four counts into one number, so that one sum adds them all."""
        x, y = a.counts(first.mode, disc_only), b.counts(second.mode, disc_only)
        number = 0
        for value in (x.gold + x.predicted, x.matched, y.gold + y.predicted, y.matched):
            number = number << FIELD_BITS | value
        return number

    numbers = [packed(a, b) for a, b in zip(first.sentences, second.sentences, strict=True)]
    observed = _f1_pair(sum(numbers))
    rng = random.Random(seed)
    resample: Callable[[], int] = lambda: sum(rng.choices(numbers, k=len(numbers)))  # noqa: E731 - the hot line
    resampled = [_f1_pair(resample()) for _ in range(samples)]
    difference = observed[1] - observed[0]
    differences = sorted(b - a for a, b in resampled)
    extreme = sum(abs(d - difference) >= abs(difference) for d in differences)
    return BootstrapResult(
        observed[0],
        observed[1],
        difference,
        differences[math.floor(0.025 * (samples - 1))],
        differences[math.ceil(0.975 * (samples - 1))],
        (extreme + 1) / (samples + 1),
    )


def _f1_pair(number: int) -> tuple[float, float]:
    """Return F1 of both systems; without a match it is 0, not nan as in a score, so that differences exist."""
    mask = (1 << FIELD_BITS) - 1
    brackets_a, matched_a, brackets_b, matched_b = (number >> FIELD_BITS * k & mask for k in (3, 2, 1, 0))
    return (
        200 * matched_a / brackets_a if brackets_a else 0.0,
        200 * matched_b / brackets_b if brackets_b else 0.0,
    )
