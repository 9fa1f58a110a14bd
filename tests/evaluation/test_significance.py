"""The bootstrap tells a real difference between two systems from none, and is reproducible."""

import random

import pytest
from support.scoring import noisy, tree
from support.strategies import random_tree

from discotree import Tree
from discotree.errors import EvaluationError
from discotree.evaluation.analysis import bootstrap
from discotree.evaluation.parseval import Score, evaluate


def test_a_difference_is_told_from_none() -> None:
    rng = random.Random(5)
    gold = [Tree(t.tokens, t.root, str(k)) for k in range(1, 200) for t in [random_tree(rng, 9)]]
    worse = evaluate(gold, [noisy(rng, t) for t in gold])
    better = evaluate(gold, [noisy(rng, t) if k % 2 else t for k, t in enumerate(gold)])
    seen = bootstrap(worse, better, samples=300)
    assert seen.difference == pytest.approx(better.f1 - worse.f1)
    assert 0 < seen.low < seen.difference < seen.high
    assert seen.p < 0.01
    none = bootstrap(worse, worse, samples=300)
    assert (none.difference, none.low, none.high, none.p) == (0, 0, 0, 1)
    assert bootstrap(worse, better, samples=300) == seen  # the same draws every time
    assert bootstrap(worse, better, samples=300, discontinuous=True).first == pytest.approx(worse.discontinuous.f1)


def test_both_systems_are_scored_on_the_same_sentences() -> None:
    one, two = evaluate([tree("s1", "a")], [tree("s1", "a")]), evaluate([tree("s2", "a")], [tree("s2", "a")])
    with pytest.raises(EvaluationError, match="scored on different sentences"):
        bootstrap(one, two)


def test_there_is_nothing_to_sample_from_without_sentences() -> None:
    with pytest.raises(EvaluationError, match="without any sentences"):
        bootstrap(Score(), Score())
