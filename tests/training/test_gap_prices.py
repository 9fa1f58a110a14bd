"""Prices of gaps are chosen on held-out trees, and never make these worse."""

from dataclasses import replace

import numpy as np
import pytest
from support.networks import TREES, parser_of, split_of

from discotree.config import Decoding
from discotree.evaluation.parseval import evaluate
from discotree.training import gap_prices as module
from discotree.training.gap_prices import Totals, Trials, candidates, fit_gap_prices
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


def scored(parser, split, prices) -> Totals:
    decoding = replace(FREE, gap_prices=prices)
    trees = parser.parse_tokens(split.inputs, decoding, [tree.id for tree in split.trees])
    score = evaluate(split.trees, trees)
    counts = [[s.gold, s.predicted, s.matched] for s in (score, score.discontinuous)]
    return Totals(np.array(counts).ravel())


def test_trials_count_what_the_parser_would_find(parser, split):
    trials = Trials.of(parser, split)
    assert len(trials.looks) > 5
    for prices in ({}, {"S": 1.0}, {"S": 1.0, "VP": 0.3}, {"S": 1.0}, {"NP": 2.0, "VP": 0.3}):
        counts = trials.counts(prices).sum(0) + trials.without[~trials.with_gaps].sum(0)
        found, expected = Totals(counts), scored(parser, split, prices)
        assert (found.f1, found.discontinuous_f1) == (expected.f1, expected.discontinuous_f1)


def test_what_was_asked_before_is_not_searched_again(parser, split, monkeypatch):
    trials = Trials.of(parser, split)
    first = trials.counts({"S": 1.0})
    monkeypatch.setattr(module, "close_gaps", None)
    assert np.array_equal(trials.counts({"S": 1.0, "unheard-of": 3.0}), first)


@pytest.mark.parametrize("common", [1, 5, module.COMMON])
def test_no_candidate_lowers_a_score(parser, split, monkeypatch, common):
    monkeypatch.setattr(module, "COMMON", common)
    none = scored(parser, split, {})
    found = candidates(Trials.of(parser, split))
    assert set(found) == {"one price", "by label", "chosen"}
    for prices in found.values():
        assert scored(parser, split, prices).no_worse_than(none)
    assert found["chosen"] == fit_gap_prices(parser, split)
    assert scored(parser, split, found["chosen"]).score > none.score
    assert len(set(found["one price"].values())) <= 1
    Decoding(gap_prices=found["chosen"])  # the settings take them


def test_rare_labels_share_a_price(parser, split, monkeypatch):
    trials = Trials.of(parser, split)
    frequent, count = trials.gaps.most_common(1)[0]
    monkeypatch.setattr(module, "COMMON", count)
    prices = candidates(trials)["by label"]
    assert len({prices.get(label, 0.0) for label in trials.labels if trials.gaps[label] < count}) == 1
    assert trials.gaps[frequent] == count


def test_trees_without_gaps_need_no_prices(parser):
    flat = [Tree.parse(f"(ROOT (S (X 0=a{k}) (X 1=b)))") for k in range(5)]
    words = [replace(tree, id=f"{k}") for k, tree in enumerate(flat)]
    assert fit_gap_prices(parser, split_of(words)) == {}
