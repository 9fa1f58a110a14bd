"""Prices of gaps are chosen on held-out trees, and never make these worse."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from support.networks import TREES, parser_of, split_of

from discotree.config.schema import Decoding
from discotree.evaluation.parseval import evaluate
from discotree.training import fit_gap_penalty as module
from discotree.training.fit_gap_penalty import GapPenaltyFit, f1_scores, fit_gap_penalties, no_worse
from discotree.trees.tree import Tree

FREE = Decoding(consistent=True)


@pytest.fixture(scope="module")
def parser():
    """An untrained parser: with this seed, many of its trees have gaps that should not be there."""
    made = parser_of(seed=2)
    config = replace(made.config, decoding=FREE)
    return type(made)(replace(made.model, config=config), made.engine)


@pytest.fixture(scope="module")
def split():
    return split_of([replace(tree, id=f"{k}") for k, tree in enumerate(TREES * 2)])


def scored(parser, split, penalties):
    decoding = replace(FREE, gap_penalties=penalties)
    trees = parser._parse_tokens(split.inputs, decoding, [tree.id for tree in split.trees])
    score = evaluate(split.trees, trees)
    counts = [[s.gold, s.predicted, s.matched] for s in (score, score.discontinuous)]
    return f1_scores(np.array(counts))


def test_trials_count_what_the_parser_would_find(parser, split):
    fit = GapPenaltyFit(parser, split)
    assert len(fit.trials) > 5
    for penalties in ({}, {"S": 1.0}, {"S": 1.0, "VP": 0.3}, {"S": 1.0}, {"NP": 2.0, "VP": 0.3}):
        assert fit.scores(penalties, fit.all) == scored(parser, split, penalties)


def test_penalties_that_make_no_difference_are_not_searched_again(parser, split, monkeypatch):
    fit = GapPenaltyFit(parser, split)
    first = fit.counts({"S": 1.0}, fit.all)
    fit.cache.clear()
    monkeypatch.setattr(module, "rerank_discontinuous", None)
    assert np.array_equal(fit.counts({"S": 1.0, "unheard-of": 3.0}, fit.all), first)


@pytest.mark.parametrize("common", [1, 5, module.COMMON])
def test_no_candidate_lowers_a_score(parser, split, monkeypatch, common):
    monkeypatch.setattr(module, "COMMON", common)
    none = scored(parser, split, {})
    fit = GapPenaltyFit(parser, split)
    uniform, chosen = fit.uniform(fit.all), fit.best()
    for penalties in (uniform, fit.by_label(fit.all), fit.mostly_wrong(fit.all), chosen):
        assert no_worse(scored(parser, split, penalties), none)
    assert chosen == fit_gap_penalties(parser, split)
    assert sum(scored(parser, split, chosen)) > sum(none)
    assert len(set(uniform.values())) <= 1
    Decoding(gap_penalties=chosen)  # the settings take them


def test_rare_labels_share_a_penalty(parser, split, monkeypatch):
    ((frequent, count),) = GapPenaltyFit(parser, split).gaps.most_common(1)
    monkeypatch.setattr(module, "COMMON", count)
    fit = GapPenaltyFit(parser, split)
    penalties = fit.by_label(fit.all)
    assert len({penalties.get(label, 0.0) for label in fit.rare}) == 1
    assert frequent in fit.common


def test_only_labels_whose_gaps_are_mostly_wrong_get_a_penalty_of_their_own(parser, split, monkeypatch):
    monkeypatch.setattr(module, "SUSPECT", 2)
    fit = GapPenaltyFit(parser, split)
    predicted, right = sum(fit.predicted, Counter()), sum(fit.right, Counter())
    assert predicted.total() > right.total()
    trusted, *_ = [label for label in predicted if label in fit.labels]
    for number, count in enumerate(fit.predicted):
        fit.right[number] = Counter({trusted: count[trusted]})  # as if all gaps of this label were right
    penalties = fit.mostly_wrong(fit.all)
    assert penalties
    assert trusted not in penalties


def test_no_penalty_is_above_the_largest(parser, split):
    usual = max(fit_gap_penalties(parser, split).values())
    assert usual > 0
    assert fit_gap_penalties(parser, split, largest=usual / 2) == {}


def test_of_many_sentences_with_gaps_every_nth_is_used(parser, split, monkeypatch):
    used = []

    def fit(parser, split, largest):
        used.append(list(split.trees))
        return GapPenaltyFit(parser, split, largest)

    with_gaps = len(GapPenaltyFit(parser, split).trials)
    monkeypatch.setattr(module, "GapPenaltyFit", fit)
    monkeypatch.setattr(module, "MAX_TRIALS", math.ceil(with_gaps / 2))
    fit_gap_penalties(parser, split)
    assert used == [list(split.trees), list(split.trees[::2])]
    used.clear()
    monkeypatch.setattr(module, "MAX_TRIALS", with_gaps)
    fit_gap_penalties(parser, split)
    assert used == [list(split.trees)]


def test_trees_without_gaps_need_no_penalties(parser):
    flat = [Tree.parse(f"(ROOT (S (X 0=a{k}) (X 1=b)))") for k in range(5)]
    words = [replace(tree, id=f"{k}") for k, tree in enumerate(flat)]
    assert fit_gap_penalties(parser, split_of(words)) == {}
