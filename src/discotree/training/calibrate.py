"""What is fitted on held-out trees once a network has learned: the prices of gaps, and the calibration.

    model = finished(parser, dev)                the model, with all that is fitted on held-out trees
    discotree calibrate MODEL                    the same for a model that is there, on its recipe's dev split

``finished`` is the one place that knows the steps and their order. Numpy is enough: nothing here needs torch.

Shapes: B trees, C constituents.
"""

import math
from collections import Counter
from dataclasses import asdict, dataclass, replace

import numpy as np

from discotree.evaluation.params import PROPER
from discotree.evaluation.parseval import Labels, compare
from discotree.models.model import Model
from discotree.network.arborescence import Floats
from discotree.network.assemble import Assembler
from discotree.network.calibration import (
    CONSTITUENT,
    FORMAT,
    ROOTS,
    TREE,
    Calibration,
    bent,
    columns,
    sigmoid,
    tree_columns,
)
from discotree.network.evidence import LOGARITHMS, Evidence, Probabilities, evidence, local
from discotree.network.scores import Bools
from discotree.parsing.long_sentences import WHOLE_WORDS
from discotree.parsing.parser import Parser
from discotree.training.data import Split
from discotree.training.gap_prices import fit_gap_prices
from discotree.training.logistic import fit_logistic
from discotree.training.reliability import Reliability, correlation, deciles
from discotree.trees.tree import Tree

MIN_CONSTITUENTS = 200  # fewer say too little about when a parser errs
MIN_OF_LABEL = 20  # constituents that a label needs to have a weight of its own
FOLDS = 5
PENALTY, CURVE_PENALTY, TREE_PENALTY = 10.0, 1.0, 0.1
KNOTS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.98)  # quantiles of logits where the curve may bend
MIN_SLOPE = 0.1  # a flat curve would make constituents equal


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The evidence for the constituents of parsed trees, and what became of them."""

    evidence: Evidence
    raw: Floats  # (C,) confidences without calibration
    raw_trees: Floats  # (B,)
    counted: Bools  # (C,) whether the evaluator counts the constituent: its words are not all punctuation
    correct: Floats  # (C,) 1 or 0
    f1: Floats  # (B,) from 0 to 1; 1 where there is nothing to find, and nothing was found

    def part(self, trees: Bools) -> "Outcomes":
        """Return the outcomes of some of the trees (B,)."""
        kept = trees[self.evidence.tree]
        number = np.cumsum(trees) - 1
        names = [label for label, keep in zip(self.evidence.labels, kept.tolist(), strict=True) if keep]
        of_part = Evidence(
            self.evidence.values[kept], names, number[self.evidence.tree[kept]], self.evidence.counts[trees]
        )
        return Outcomes(
            of_part, self.raw[kept], self.raw_trees[trees], self.counted[kept], self.correct[kept], self.f1[trees]
        )


def finished(parser: Parser, split: Split) -> Model:
    """Return a parser's model with all that is fitted on held-out trees.

    Prices of gaps change the trees, so they come before calibration, which is about the trees of the priced model.
    """
    decoding = replace(parser.config.decoding, gap_prices=fit_gap_prices(parser, split))
    priced = replace(parser.model, config=replace(parser.config, decoding=decoding), calibration=None)
    return calibrated(Parser(priced, parser.engine), split)


def calibrated(parser: Parser, split: Split) -> Model:
    """Return a parser's model with a calibration that is fitted on held-out trees; none if they are too few."""
    outcomes = observe(parser, split)
    enough = int(outcomes.counted.sum()) >= MIN_CONSTITUENTS
    return replace(parser.model, calibration=fit(outcomes) if enough else None)


def observe(parser: Parser, split: Split, probabilities: Probabilities = local) -> Outcomes:
    """Parse sentences and compare their trees with the gold standard, constituent by constituent.

    Sentences that are parsed in parts are left out.
    """
    both = zip(split.trees, split.inputs, strict=True)
    pairs = [(tree, tokens) for tree, tokens in both if 0 < len(tokens) <= WHOLE_WORDS]
    raw_assembler = Assembler(parser.vocab, parser.has_tags, convention=parser.assembler.convention)
    labels = Labels(PROPER)
    found: list[Evidence] = []
    raw: list[float] = []
    raw_trees: list[float] = []
    outcomes: list[tuple[bool, bool]] = []
    f1: list[float] = []
    for numbers, scores in parser.scores(parser.corpus([tokens for _, tokens in pairs])):
        decoded = parser.decode(scores)
        trees = raw_assembler.trees([pairs[number][1] for number in numbers], decoded, scores)
        found.append(evidence(trees, decoded, scores, parser.levels, probabilities))
        for number, tree in zip(numbers.tolist(), trees, strict=True):
            raw += tree.confidences[1:]
            raw_trees.append(tree.confidence or 0.0)
            of_nodes, score = _compared(pairs[number][0], tree, labels)
            outcomes += of_nodes
            f1.append(score)
    counted, correct = np.array(outcomes, bool).reshape(-1, 2).T
    joined = Evidence.joined(found) if found else Evidence(np.empty((0, 0)), [], np.empty(0, int), np.empty(0, int))
    return Outcomes(joined, np.array(raw), np.array(raw_trees), counted, correct.astype(float), np.array(f1))


def _compared(gold: Tree, predicted: Tree, labels: Labels) -> tuple[list[tuple[bool, bool]], float]:
    """Return of every node but the root whether it counts and whether it is correct, and the F1 of the tree."""
    comparison = compare(gold, predicted, PROPER, labels)
    left = Counter(comparison.gold_brackets)
    found = []
    for node in list(predicted.nodes())[1:]:
        label, mask = labels[node.label], node.mask & comparison.keep
        counts = label is not None and mask > 0
        is_correct = counts and left[label or "", mask] > 0
        if is_correct:
            left[label or "", mask] -= 1
        found.append((counts, is_correct))
    total = len(comparison.gold_brackets) + len(comparison.predicted_brackets)
    return found, 2 * sum(is_correct for _, is_correct in found) / total if total else 1.0


# Fitting


def fit(outcomes: Outcomes) -> Calibration:
    """Fit a calibration, and measure by cross-validation how good it is."""
    expected, expected_f1 = cross_validated(outcomes)
    calibration = _fitted(outcomes)
    counted = outcomes.counted
    before = Reliability.of(outcomes.raw[counted], outcomes.correct[counted])
    after = Reliability.of(expected[counted], outcomes.correct[counted])
    gaps = [abs(one - other) for one, other in deciles(expected_f1, outcomes.f1)]
    measured = {
        "sentences": float(len(outcomes.f1)),
        "constituents": float(counted.sum()),
        **{f"raw_{name}": value for name, value in asdict(before).items() if name != "constant"},
        **asdict(after),
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


def cross_validated(outcomes: Outcomes) -> tuple[Floats, Floats]:
    """Return the confidences (C,) and the expected F1 (B,) of trees, from calibrations fitted on others."""
    confidences, expected = np.empty(len(outcomes.raw)), np.empty(len(outcomes.f1))
    for inside, outside in _folds(len(outcomes.f1)):
        calibration, rest = _fitted(outcomes.part(inside)), outcomes.part(outside).evidence
        values = calibration.constituents(rest)
        confidences[outside[outcomes.evidence.tree]] = values
        expected[outside] = calibration.trees(rest, values)
    return confidences, expected


def _folds(trees: int) -> list[tuple[Bools, Bools]]:
    """Return which trees (B,) are inside and outside of every fold; trees in a row are of similar length."""
    numbers = np.arange(trees) % FOLDS
    return [(numbers != fold, numbers == fold) for fold in range(min(FOLDS, trees))]


def _fitted(outcomes: Outcomes) -> Calibration:
    """Fit the weights of constituents, then the curve and the weights of trees on what other folds predict."""
    seen, counted = outcomes.evidence, outcomes.counted
    frequent = Counter(label for label, counts in zip(seen.labels, counted.tolist(), strict=True) if counts)
    labels = sorted(label for label, count in frequent.items() if count >= MIN_OF_LABEL)
    number = {label: k for k, label in enumerate(labels)}
    own = np.array([number.get(label, -1) for label in seen.labels])
    given = np.hstack([columns(seen.values), own[:, None] == np.arange(len(labels))])  # (C, F)
    targets = _smoothed(outcomes.correct, counted)
    signs = np.zeros(given.shape[1], np.int64)
    signs[: len(LOGARITHMS) + len(ROOTS)] = 1
    logits = np.zeros(len(targets))
    for inside, outside in _folds(len(outcomes.f1)):
        chosen, others = inside[seen.tree] & counted, outside[seen.tree]
        bias, weights = fit_logistic(given[chosen], targets[chosen], signs, PENALTY)
        logits[others] = given[others] @ weights + bias
    curve = _curve(logits[counted], targets[counted])
    bias, weights = fit_logistic(given[counted], targets[counted], signs, PENALTY)
    has_any = seen.counts > 0
    of_trees = tree_columns(seen, sigmoid(bent(logits, curve)))
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


def _smoothed(correct: Floats, counted: Bools) -> Floats:
    """Return targets (C,) just inside 0 and 1 (Platt 1999): weights stay finite, also where all are correct."""
    right = float(correct[counted].sum())
    wrong = float(counted.sum()) - right
    return np.where(correct > 0, (right + 1) / (right + 2), 1 / (wrong + 2))


def _curve(logits: Floats, targets: Floats) -> list[list[float]]:
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
