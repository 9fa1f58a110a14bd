"""Calibration: evidence for constituents → confidences that come true, and the expected F1 of every tree.

A constituent's confidence is a logistic function of its evidence, bent by a rising curve. Weights of logarithms of
probabilities are never negative: an arc that becomes more probable lowers no confidence that rests on it. A tree's
confidence is its expected F1, a logistic function of its constituents' confidences. Both are fitted on held-out trees
by `discotree calibrate`, and a model keeps them in calibration.json.

Shapes: B trees, C constituents.
"""

import dataclasses
import json
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discotree.errors import ModelError
from discotree.network.arborescence import Floats
from discotree.network.evidence import LOGARITHMS, NAMES, OTHERS, Evidence
from discotree.network.vocab import MAX_SYMBOL_CHARS
from discotree.validation import from_table

FORMAT = 1  # version of the file; a reader refuses a newer one
ROOTS = tuple(f"{name}_root" for name in LOGARITHMS)  # minus the square root of minus the logarithm
CONSTITUENT = (*LOGARITHMS, *ROOTS, *OTHERS)
TREE = ("mean", "least", "mean_log", "count")
MAX_WEIGHT = 1e4
MAX_LABELS = 10_000
MAX_KNOTS = 100
MAX_LOGIT = 30.0
ROOT_CONFIDENCE = 1.0  # the root covers all words, so it is always correct
MARGIN = 1e-3  # between a mean confidence and 0 or 1


@dataclass(frozen=True)
class Calibration:
    """What turns evidence into confidences."""

    format: int
    bias: float
    weights: dict[str, float]  # by name in CONSTITUENT
    labels: dict[str, float]  # weights of the labels that were frequent enough
    curve: list[list[float]]  # pairs of logits, before and after; rising
    tree_bias: float
    tree_weights: dict[str, float]  # by name in TREE
    empty: float  # expected F1 of a tree that has no constituents but its root
    fitted: dict[str, float]  # what it was fitted on, and how good it is there by cross-validation

    @classmethod
    def from_json(cls, text: str, where: str) -> "Calibration":
        """Read calibration.json; anything that was not written by ``to_json`` is a ModelError."""
        try:
            table = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{where}: not a calibration: {error}") from None
        version = table.get("format") if isinstance(table, dict) else None
        if type(version) is not int:
            raise ModelError(f"{where}: not a calibration: it has no format")
        if version > FORMAT:
            raise ModelError(f"{where}: made by a newer discotree (format {version}, this one knows {FORMAT})")
        found = from_table(cls, table, where, ModelError, complete=True)
        if problem := found._problem():
            raise ModelError(f"{where}: {problem}")
        return found

    def to_json(self) -> str:
        """Return the content of calibration.json; inverts ``from_json``."""
        return json.dumps(dataclasses.asdict(self), indent=1, ensure_ascii=False) + "\n"

    def _problem(self) -> str:
        """Say what makes no sense, "" if all does."""
        for name, found, expected in (
            ("weights", self.weights, CONSTITUENT),
            ("tree_weights", self.tree_weights, TREE),
        ):
            if sorted(found) != sorted(expected):
                return f"{name}: expected the keys {', '.join(expected)}"
        if len(self.labels) > MAX_LABELS or any(len(label) > MAX_SYMBOL_CHARS for label in self.labels):
            return f"labels: expected at most {MAX_LABELS:,} of at most {MAX_SYMBOL_CHARS:,} characters"
        if not 2 <= len(self.curve) <= MAX_KNOTS or any(len(pair) != 2 for pair in self.curve):
            return f"curve: expected from 2 to {MAX_KNOTS} pairs of numbers"
        numbers = [self.bias, self.tree_bias, *self.weights.values(), *self.tree_weights.values()]
        numbers += [*self.labels.values(), *(number for pair in self.curve for number in pair)]
        if not all(abs(number) <= MAX_WEIGHT for number in numbers):  # also what is not a number
            return f"expected numbers from -{MAX_WEIGHT:,.0f} to {MAX_WEIGHT:,.0f}"
        if not all(math.isfinite(number) for number in self.fitted.values()):
            return "fitted: expected finite numbers"
        if not 0 <= self.empty <= 1:
            return f"empty: expected a number from 0 to 1, got {self.empty}"
        for before, after in zip(self.curve, self.curve[1:], strict=False):
            if not (before[0] < after[0] and before[1] <= after[1]):
                return "curve: expected rising numbers"
        return ""

    @cached_property
    def _weights(self) -> Floats:
        return np.array([self.weights[name] for name in CONSTITUENT])

    @cached_property
    def _tree_weights(self) -> Floats:
        return np.array([self.tree_weights[name] for name in TREE])

    def constituents(self, evidence: Evidence) -> Floats:
        """Return the confidences (C,) of constituents."""
        labels = np.array([self.labels.get(label, 0.0) for label in evidence.labels])
        return sigmoid(bent(columns(evidence.values) @ self._weights + labels + self.bias, self.curve))

    def trees(self, evidence: Evidence, confidences: Floats) -> Floats:
        """Return the expected F1 (B,) of trees, given the confidences (C,) of their constituents."""
        expected = sigmoid(tree_columns(evidence, confidences) @ self._tree_weights + self.tree_bias)
        return np.where(evidence.counts > 0, expected, self.empty)


def columns(values: Floats) -> Floats:
    """Return what the weights CONSTITUENT belong to (C, F), given the evidence (C, len(NAMES))."""
    logarithms = np.minimum(values[:, : len(LOGARITHMS)], 0.0)
    return np.hstack([logarithms, -np.sqrt(-logarithms), values[:, len(LOGARITHMS) : len(NAMES)]])


def tree_columns(evidence: Evidence, confidences: Floats) -> Floats:
    """Return what the weights TREE belong to (B, F); rows of trees without constituents mean nothing."""
    trees, tree = len(evidence.counts), evidence.tree
    count = np.maximum(evidence.counts, 1)
    mean = np.bincount(tree, confidences, trees) / count
    least = np.ones(trees)
    np.minimum.at(least, tree, confidences)
    logs = np.bincount(tree, np.log(np.maximum(confidences, MARGIN)), trees) / count
    return np.column_stack([logit(mean), np.log(np.maximum(least, MARGIN)), logs, np.log(count)])


def bent(logits: Floats, curve: list[list[float]]) -> Floats:
    """Return logits after a rising curve, which goes on with a slope of 1 at both ends."""
    before, after = np.array(curve).T
    within = np.clip(logits, before[0], before[-1])
    bent: Floats = np.interp(within, before, after) + (logits - within)
    return bent


def logit(probabilities: Floats) -> Floats:
    bounded = np.clip(probabilities, MARGIN, 1 - MARGIN)
    found: Floats = np.log(bounded / (1 - bounded))
    return found


def sigmoid(logits: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-np.clip(logits, -MAX_LOGIT, MAX_LOGIT)))
    return found
