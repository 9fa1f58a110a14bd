"""Fit gap penalties and calibrate confidences on held-out trees, after training. Needs numpy, but not torch.

    model = fit_on_held_out(parser, dev)         returns the model with gap penalties and calibration
    discotree calibrate MODEL                    the same for an existing model, on its recipe's dev split

Shapes: B trees, C constituents.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from discotree.decoding.trees import (
    CONSTITUENT,
    FORMAT,
    RISING,
    TREE,
    Calibration,
    ConfidenceFeatures,
    TreeBuilder,
    apply_curve,
    columns,
    confidence_features,
    sigmoid,
    tree_columns,
)
from discotree.evaluation.params import PROPER
from discotree.evaluation.parseval import Labels, compare
from discotree.models.folder import Model
from discotree.network.arrays import F64, I64, Bool
from discotree.parsing.parser import WHOLE_WORDS, Parser
from discotree.training.data import Split
from discotree.training.fit_gap_penalty import fit_gap_penalties
from discotree.trees.tree import Tree

MIN_CONSTITUENTS = 200  # too few to calibrate below this
MIN_OF_LABEL = 20  # constituents that a label needs for its own weight
FOLDS = 5
PENALTY, CURVE_PENALTY, TREE_PENALTY = 10.0, 1.0, 0.1
KNOTS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.98)  # quantiles of logits where the curve may bend
MIN_SLOPE = 0.1  # a flat curve would make constituents equal


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The features of the constituents of parsed trees, and whether they are correct."""

    evidence: ConfidenceFeatures
    raw: F64  # (C,) confidences without calibration
    raw_trees: F64  # (B,)
    counted: Bool  # (C,) whether the evaluator counts the constituent: its words are not all punctuation
    correct: F64  # (C,) 1 or 0
    f1: F64  # (B,) from 0 to 1; 1 if neither tree has brackets

    def part(self, trees: Bool) -> "Outcomes":
        """Return the outcomes of some of the trees (B,)."""
        kept = trees[self.evidence.tree]
        number = np.cumsum(trees) - 1
        names = [label for label, keep in zip(self.evidence.labels, kept.tolist(), strict=True) if keep]
        of_part = ConfidenceFeatures(
            self.evidence.values[kept], names, number[self.evidence.tree[kept]], self.evidence.counts[trees]
        )
        return Outcomes(
            of_part, self.raw[kept], self.raw_trees[trees], self.counted[kept], self.correct[kept], self.f1[trees]
        )


def fit_on_held_out(
    parser: Parser, split: Split, only_mostly_wrong: bool = False, largest_penalty: float = math.inf
) -> Model:
    """Return a parser's model with gap penalties and calibration fitted on held-out trees.

    Penalties change the trees, so they are fitted before the confidences of these trees are calibrated. See
    ``fit_gap_penalties`` for the limits of penalties.
    """
    penalties = fit_gap_penalties(parser, split, only_mostly_wrong, largest_penalty)
    decoding = replace(parser.config.decoding, gap_penalties=penalties)
    penalised = replace(parser.model, config=replace(parser.config, decoding=decoding), calibration=None)
    return calibrate_model(Parser(penalised, parser.engine), split)


def calibrate_model(parser: Parser, split: Split) -> Model:
    """Return a parser's model with a calibration fitted on held-out trees; without one if the trees are too few."""
    if not len(split):
        return replace(parser.model, calibration=None)
    outcomes = observe(parser, split)
    enough = int(outcomes.counted.sum()) >= MIN_CONSTITUENTS
    return replace(parser.model, calibration=fit(outcomes) if enough else None)


def observe(parser: Parser, split: Split) -> Outcomes:
    """Parse sentences and compare their trees with the gold standard, constituent by constituent.

    Long sentences, which are parsed in parts, are left out.
    """
    both = zip(split.trees, split.inputs, strict=True)
    pairs = [(tree, tokens) for tree, tokens in both if 0 < len(tokens) <= WHOLE_WORDS]
    raw_assembler = TreeBuilder(parser.vocab, parser.has_tags, convention=parser._tree_builder.convention)
    labels = Labels(PROPER)
    features: list[ConfidenceFeatures] = []
    raw: list[float] = []
    raw_trees: list[float] = []
    outcomes: list[tuple[bool, bool]] = []
    f1: list[float] = []
    for numbers, scores in parser._scores(parser._corpus([tokens for _, tokens in pairs])):
        decoded = parser._decode(scores)
        trees = raw_assembler.trees([pairs[number][1] for number in numbers], decoded, scores)
        features.append(confidence_features(trees, decoded, scores, parser._levels))
        for number, tree in zip(numbers.tolist(), trees, strict=True):
            raw += tree.confidences[1:]
            raw_trees.append(tree.confidence or 0.0)
            of_nodes, score = _compare_nodes(pairs[number][0], tree, labels)
            outcomes += of_nodes
            f1.append(score)
    counted, correct = np.array(outcomes, bool).reshape(-1, 2).T
    joined = ConfidenceFeatures.concatenate(features)
    return Outcomes(joined, np.array(raw), np.array(raw_trees), counted, correct.astype(float), np.array(f1))


def _compare_nodes(gold: Tree, predicted: Tree, labels: Labels) -> tuple[list[tuple[bool, bool]], float]:
    """Return for every node but the root whether it counts and whether it is correct, and the F1 of the tree."""
    comparison = compare(gold, predicted, PROPER, labels)
    unmatched = Counter(comparison.gold_brackets)
    outcomes = []
    for node in list(predicted.nodes())[1:]:
        label, mask = labels[node.label], node.mask & comparison.keep
        counts = label is not None and mask > 0
        is_correct = counts and unmatched[label or "", mask] > 0
        if is_correct:
            unmatched[label or "", mask] -= 1
        outcomes.append((counts, is_correct))
    total = len(comparison.gold_brackets) + len(comparison.predicted_brackets)
    return outcomes, 2 * sum(is_correct for _, is_correct in outcomes) / total if total else 1.0


# Fitting


def fit(outcomes: Outcomes) -> Calibration:
    """Fit a calibration, and measure by cross-validation how good it is."""
    expected, expected_f1 = cross_validated(outcomes)
    calibration = _fit_once(outcomes)
    counted = outcomes.counted
    before = reliability(outcomes.raw[counted], outcomes.correct[counted])
    after = reliability(expected[counted], outcomes.correct[counted])
    gaps = [abs(one - other) for one, other in deciles(expected_f1, outcomes.f1)]
    measured = {
        "sentences": float(len(outcomes.f1)),
        "constituents": float(counted.sum()),
        **{f"raw_{name}": value for name, value in before.items() if name != "constant"},
        **after,
        "tree_f1": float(outcomes.f1.mean()),
        "raw_tree_f1": float(outcomes.raw_trees.mean()),
        "raw_tree_correlation": correlation(outcomes.raw_trees, outcomes.f1),
        "expected_tree_f1": float(expected_f1.mean()),
        "tree_correlation": correlation(expected_f1, outcomes.f1),
        "tree_decile_error": float(np.mean(gaps)),
    }
    return replace(
        calibration, fitted={key: round(value, 6) for key, value in measured.items() if math.isfinite(value)}
    )


def cross_validated(outcomes: Outcomes) -> tuple[F64, F64]:
    """Return the confidences (C,) and the expected F1 (B,) of trees, from calibrations fitted on others."""
    confidences, expected = np.empty(len(outcomes.raw)), np.empty(len(outcomes.f1))
    for inside, outside in _folds(len(outcomes.f1)):
        calibration, other_features = _fit_once(outcomes.part(inside)), outcomes.part(outside).evidence
        values = calibration.constituents(other_features)
        confidences[outside[outcomes.evidence.tree]] = values
        expected[outside] = calibration.trees(other_features, values)
    return confidences, expected


def _folds(trees: int) -> list[tuple[Bool, Bool]]:
    """Return which trees (B,) are inside and outside of every fold; trees in a row are of similar length."""
    numbers = np.arange(trees) % FOLDS
    return [(numbers != fold, numbers == fold) for fold in range(min(FOLDS, trees))]


def _fit_once(outcomes: Outcomes) -> Calibration:
    """Fit the weights of constituents, then the curve and the weights of trees on what other folds predict."""
    seen, counted = outcomes.evidence, outcomes.counted
    frequent = Counter(label for label, counts in zip(seen.labels, counted.tolist(), strict=True) if counts)
    labels = sorted(label for label, count in frequent.items() if count >= MIN_OF_LABEL)
    number = {label: k for k, label in enumerate(labels)}
    label_number = np.array([number.get(label, -1) for label in seen.labels])
    inputs = np.hstack([columns(seen.values), label_number[:, None] == np.arange(len(labels))])  # (C, F)
    # Targets just inside 0 and 1 (Platt 1999) keep weights finite, also where all constituents are correct.
    right, wrong = (float((counted & (outcomes.correct == value)).sum()) for value in (1, 0))
    targets = np.where(outcomes.correct > 0, (right + 1) / (right + 2), 1 / (wrong + 2))
    signs = np.zeros(inputs.shape[1], np.int64)
    signs[: len(RISING)] = 1
    logits = np.zeros(len(targets))
    for inside, outside in _folds(len(outcomes.f1)):
        chosen, others = inside[seen.tree] & counted, outside[seen.tree]
        bias, weights = fit_logistic(inputs[chosen], targets[chosen], signs, PENALTY)
        logits[others] = inputs[others] @ weights + bias
    curve = _fit_curve(logits[counted], targets[counted])
    bias, weights = fit_logistic(inputs[counted], targets[counted], signs, PENALTY)
    has_any = seen.counts > 0
    of_trees = tree_columns(seen, sigmoid(apply_curve(logits, curve)))
    tree_bias, tree_weights = fit_logistic(
        of_trees[has_any], outcomes.f1[has_any], np.array([1, 1, 1, 0]), TREE_PENALTY
    )
    without = outcomes.f1[~has_any]
    return Calibration(
        FORMAT,
        bias,
        dict(zip(CONSTITUENT, weights[: len(CONSTITUENT)].tolist(), strict=True)),
        dict(zip(labels, weights[len(CONSTITUENT) :].tolist(), strict=True)),
        curve,
        tree_bias,
        dict(zip(TREE, tree_weights.tolist(), strict=True)),
        float((without.sum() + outcomes.f1.mean()) / (len(without) + 1)),
        {},
    )


def _fit_curve(logits: F64, targets: F64) -> list[list[float]]:
    """Fit how far logits have to move: a rising curve of a few pieces, each with a slope near 1."""
    knots = np.unique(np.quantile(logits, KNOTS).round(6))
    if len(knots) < 2:
        center = float(logits.mean()) if len(logits) else 0.0
        return [[center - 1, center - 1], [center + 1, center + 1]]
    widths = np.diff(knots)
    ramps = np.clip(logits[:, None] - knots[:-1], 0, widths)  # (C, pieces)
    signs = np.zeros(len(widths), np.int64)
    _, slopes = fit_logistic(ramps, targets, signs, CURVE_PENALTY, logits)
    slopes = np.maximum(slopes, MIN_SLOPE - 1)
    bias, _ = fit_logistic(ramps[:, :0], targets, signs[:0], CURVE_PENALTY, logits + ramps @ slopes)
    after = knots[0] + bias + np.concatenate([[0.0], np.cumsum(widths * (1 + slopes))])
    return [[float(x), float(y)] for x, y in zip(knots, after, strict=True)]


STEPS = 50  # Newton's method converges in about ten
TOLERANCE = 1e-7
MAX_STEP = 5.0


def fit_logistic(
    columns: F64, targets: F64, signs: I64, penalty: float, offset: F64 | float = 0.0
) -> tuple[float, F64]:
    """Return the bias and the weights (F,) that predict ``targets`` (C,), from 0 to 1, from ``columns`` (C, F).

    ``signs`` (F,) are 1 where a weight may not be negative, -1 where it may not be positive, 0 where it is free.
    Columns whose weight would have the wrong sign are left out. ``penalty`` is that of the squared weights of columns
    that are scaled to a deviation of 1. ``offset`` (C,) are logits that the fit only adds to.
    """
    mean, deviation = columns.mean(0), columns.std(0)
    scale = np.where(deviation > 1e-9, deviation, 1.0)
    scaled = (columns - mean) / scale
    used = np.flatnonzero(deviation > 1e-9)
    weights = np.zeros(columns.shape[1])
    while True:
        bias, scaled_weights = _newton(scaled[:, used], targets, penalty, offset)
        wrong = scaled_weights * signs[used] < 0
        if not wrong.any():
            break
        used = used[~wrong]
    weights[used] = scaled_weights / scale[used]
    return bias - float(mean @ weights), weights


def _newton(columns: F64, targets: F64, penalty: float, offset: F64 | float) -> tuple[float, F64]:
    with_bias = np.hstack([np.ones((len(columns), 1)), columns])
    weights = np.zeros(with_bias.shape[1])
    ridge = np.full(len(weights), penalty)
    ridge[0] = 1e-6  # the bias is free, so that the mean of the predictions is that of the targets
    for _ in range(STEPS):
        expected = sigmoid(with_bias @ weights + offset)
        gradient = with_bias.T @ (expected - targets) + ridge * weights
        curvature = (with_bias * (expected * (1 - expected))[:, None]).T @ with_bias + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        step *= min(1.0, MAX_STEP / max(float(np.abs(step).max()), 1e-12))
        weights -= step
        if np.abs(step).max() < TOLERANCE:
            break
    return float(weights[0]), weights[1:]


BINS = 10


def reliability(confidence: F64, correct: F64) -> dict[str, float]:
    """Return metrics of confidences (C,), given which constituents are correct (C,), 1 or 0.

    ``constant`` is the Brier score of the mean, which knows nothing.
    """
    return {
        "auc": auc(confidence, correct),
        "ece": ece(confidence, correct),
        "brier": float(np.mean((confidence - correct) ** 2)),
        "constant": float(np.var(correct)),
    }


def auc(confidence: F64, correct: F64) -> float:
    """Return the area under the ROC curve, ties counting half; nan where all are correct, or none is."""
    _, place, count = np.unique(confidence, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place.ravel()]
    right = float(correct.sum())
    wrong = len(correct) - right
    if not right or not wrong:
        return float("nan")
    return float((rank[correct > 0].sum() - right * (right + 1) / 2) / (right * wrong))


def ece(confidence: F64, correct: F64) -> float:
    """Return the expected calibration error."""
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, confidence - correct, BINS)
    return float(np.abs(gaps).sum() / max(1, len(bins)))


def deciles(expected: F64, actual: F64) -> list[tuple[float, float]]:
    """Return the means of expected and actual values by deciles of the expected ones, lowest first."""
    order = np.argsort(expected, kind="stable")
    return [
        (float(expected[part].mean()), float(actual[part].mean())) for part in np.array_split(order, 10) if len(part)
    ]


def correlation(expected: F64, actual: F64) -> float:
    """Return Pearson's correlation; nan where one of them never changes."""
    if len(expected) < 2 or not expected.std() or not actual.std():
        return float("nan")
    return float(np.corrcoef(expected, actual)[0, 1])
