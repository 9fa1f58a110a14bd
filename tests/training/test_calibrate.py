"""Calibration is fitted on held-out trees: what it learns comes true, and metrics are not flattered."""

from dataclasses import replace

import numpy as np
import pytest
from support.networks import TREES, parser_of

from discotree import Token, evaluate
from discotree.decoding.trees import LOGARITHMS, NAMES, ConfidenceFeatures, sigmoid
from discotree.models.finding import fingerprint
from discotree.models.folder import read_model, write_model
from discotree.parsing.parser import Parser
from discotree.training.calibrate import (
    Outcomes,
    auc,
    calibrate_model,
    correlation,
    cross_validated,
    deciles,
    ece,
    fit,
    fit_logistic,
    observe,
    reliability,
)
from discotree.training.data import Split

WORDS = [[Token(form) for form in tree.words] for tree in TREES]
MANY, MANY_WORDS = [*TREES] * 6, WORDS * 6


def drawn(trees, seed=0, informative=True):
    """Outcomes of constituents whose evidence says, or does not say, how probably each is correct."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, trees)
    tree = np.repeat(np.arange(trees), counts)
    values = np.zeros((len(tree), len(NAMES)))
    values[:, : len(LOGARITHMS)] = np.log(np.clip(rng.beta(4, 1, (len(tree), len(LOGARITHMS))), 1e-6, 1))
    chance = sigmoid(4 + 6 * values[:, 0] + 5 * values[:, 2]) if informative else np.full(len(tree), 0.7)
    correct = (rng.random(len(tree)) < chance).astype(float)
    f1 = np.bincount(tree, correct, trees) / counts
    raw = rng.random(len(tree))
    labels = rng.choice(["NP", "VP"], len(tree)).tolist()
    return Outcomes(
        ConfidenceFeatures(values, labels, tree, counts), raw, rng.random(trees), np.ones(len(tree), bool), correct, f1
    )


def test_what_it_learns_comes_true_for_other_trees():
    calibration, fresh = fit(drawn(400, 1)), drawn(400, 2)
    confidence = calibration.constituents(fresh.evidence)
    found = reliability(confidence, fresh.correct)
    assert found["auc"] > 0.75
    assert found["ece"] < 0.05
    assert found["brier"] < 0.9 * found["constant"]
    expected = calibration.trees(fresh.evidence, confidence)
    assert expected.mean() == pytest.approx(fresh.f1.mean(), abs=0.03)
    assert correlation(expected, fresh.f1) > 0.3
    assert min(calibration.weights[name] for name in LOGARITHMS) >= 0
    assert fit(drawn(400, 1)) == calibration  # the same trees give the same numbers


def test_metrics_do_not_praise_what_was_learned_by_heart():
    found = fit(drawn(60, 3, informative=False)).fitted
    assert abs(found["auc"] - 0.5) < 0.12
    assert found["brier"] > 0.95 * found["constant"]
    outcomes = drawn(60, 3)
    confidence, expected = cross_validated(outcomes)
    assert confidence.shape == outcomes.correct.shape
    assert expected.shape == outcomes.f1.shape


@pytest.mark.parametrize("correct", [0.0, 1.0])
def test_all_or_nothing_correct_is_no_accident(correct):
    outcomes = drawn(30)
    extreme = replace(outcomes, correct=np.full_like(outcomes.correct, correct), f1=np.full_like(outcomes.f1, correct))
    confidence = fit(extreme).constituents(outcomes.evidence)
    assert np.abs(confidence - correct).max() < 0.1


# A parser


def test_outcomes_are_those_of_the_evaluator():
    parser = parser_of()
    outcomes = observe(parser, Split(TREES, inputs=WORDS))
    score = evaluate(TREES, parser._parse_tokens(WORDS, ids=[tree.id for tree in TREES]))
    assert (outcomes.correct.sum(), outcomes.counted.sum()) == (score.matched, score.predicted)
    counts = [sentence.labelled for sentence in score.sentences]
    f1 = [2 * c.matched / (c.gold + c.predicted) if c.gold + c.predicted else 1.0 for c in counts]
    assert sorted(outcomes.f1) == pytest.approx(sorted(f1))


@pytest.fixture(scope="module")
def model():
    return calibrate_model(parser_of(), Split(MANY, inputs=MANY_WORDS))


def test_a_calibrated_parser_gives_its_trees_new_confidences(model):
    plain = parser_of()
    parser = Parser(model, plain.engine)
    trees = parser._parse_tokens(WORDS)
    assert trees == plain._parse_tokens(WORDS)
    for tree in trees:
        assert tree.confidences[0] == 1.0
        assert len(tree.confidences) == sum(1 for _ in tree.nodes())
        assert all(0 < value <= 1 for value in (tree.confidence, *tree.confidences))
        (alone,) = parser._parse_tokens([tree.tokens])
        assert alone.confidence == pytest.approx(tree.confidence, rel=1e-4)
        assert alone.confidences == pytest.approx(tree.confidences, rel=1e-4)
    best = parser.k_best(WORDS[3], 3)
    assert best[0].confidences == pytest.approx(parser(WORDS[3]).confidences, rel=1e-4)
    assert len({tree.confidence for tree in best}) > 1


def test_a_model_keeps_its_calibration(model, tmp_path):
    write_model(model, tmp_path / "model")
    assert read_model(tmp_path / "model").calibration == model.calibration
    before = fingerprint(tmp_path / "model")
    Parser(model).save_pretrained(tmp_path / "copy")
    assert read_model(tmp_path / "copy").calibration == model.calibration
    (tmp_path / "model" / "calibration.json").unlink()
    assert read_model(tmp_path / "model").calibration is None
    assert fingerprint(tmp_path / "model") != before


def test_few_trees_are_not_enough():
    assert calibrate_model(parser_of(), Split(TREES[:3], inputs=WORDS[:3])).calibration is None


# Metrics


def test_metrics_are_those_of_their_definitions():
    rng = np.random.default_rng(0)
    confidence = rng.random(60).round(1)
    correct = (rng.random(60) < confidence).astype(float)
    pairs = [(a, b) for a in confidence[correct == 1] for b in confidence[correct == 0]]
    assert auc(confidence, correct) == pytest.approx(
        np.mean([1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs])
    )
    bins = [[k for k, value in enumerate(confidence) if min(int(value * 10), 9) == b] for b in range(10)]
    gaps = [abs(np.mean(confidence[b]) - np.mean(correct[b])) * len(b) / 60 for b in bins if b]
    assert ece(confidence, correct) == pytest.approx(sum(gaps))
    assert np.isnan(auc(confidence, np.ones(60)))
    assert [a for a, _ in deciles(confidence, correct)] == sorted(a for a, _ in deciles(confidence, correct))


def test_a_weight_never_has_the_wrong_sign():
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(500, 3))
    targets = (rng.random(500) < sigmoid(columns @ [2.0, -2.0, 0.0] + 0.5)).astype(float)
    bias, free = fit_logistic(columns, targets, np.zeros(3, int), 0.1)
    assert (bias, *free) == pytest.approx((0.5, 2.0, -2.0, 0.0), abs=0.5)
    _, bound = fit_logistic(columns, targets, np.array([1, 1, 1]), 0.1)
    assert bound[1] == 0
    assert (bound >= 0).all()
