"""How good confidences are: AUC, ECE and Brier score of constituents, deciles of trees.

AUC    probability that a correct constituent has a higher confidence than a wrong one; 0.5 is chance
ECE    mean distance between confidence and accuracy over BINS bins of equal width, weighted by their sizes
Brier  mean squared distance between a confidence and what happened, 1 or 0
"""

from dataclasses import dataclass

import numpy as np

from discotree.network.arborescence import Floats

BINS = 10


@dataclass(frozen=True)
class Reliability:
    """The metrics of confidences; ``constant`` is the Brier score of the mean, which knows nothing."""

    auc: float
    ece: float
    brier: float
    constant: float

    @classmethod
    def of(cls, confidence: Floats, correct: Floats) -> "Reliability":
        """Measure confidences (C,) against what is correct (C,), 1 or 0."""
        return cls(
            auc(confidence, correct),
            ece(confidence, correct),
            float(np.mean((confidence - correct) ** 2)),
            float(np.var(correct)),
        )


def auc(confidence: Floats, correct: Floats) -> float:
    """Return the area under the ROC curve, ties counting half; nan where all are correct, or none is."""
    _, place, count = np.unique(confidence, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place.ravel()]
    right = float(correct.sum())
    wrong = len(correct) - right
    if not right or not wrong:
        return float("nan")
    return float((rank[correct > 0].sum() - right * (right + 1) / 2) / (right * wrong))


def ece(confidence: Floats, correct: Floats) -> float:
    """Return the expected calibration error."""
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, confidence - correct, BINS)
    return float(np.abs(gaps).sum() / max(1, len(bins)))


def deciles(expected: Floats, found: Floats) -> list[tuple[float, float]]:
    """Return the means of expected and found values, tenth by tenth, from the least expected on."""
    order = np.argsort(expected, kind="stable")
    return [
        (float(expected[part].mean()), float(found[part].mean())) for part in np.array_split(order, 10) if len(part)
    ]


def correlation(expected: Floats, found: Floats) -> float:
    """Return Pearson's correlation; nan where one of them never changes."""
    if len(expected) < 2 or not expected.std() or not found.std():
        return float("nan")
    return float(np.corrcoef(expected, found)[0, 1])
