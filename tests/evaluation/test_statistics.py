"""Statistics of treebanks: every count on a known tree, and sums."""

import random

from support.strategies import random_tree

from discotree.evaluation.statistics import Statistics
from discotree.trees.tree import Tree


def test_the_counts_of_a_known_tree() -> None:
    """The NP has a gap of one word, the PP one of only a comma, which does not count."""
    tree = Tree.parse("(ROOT (S (NP (NN 0=a) (NN 2=b)) (VV 1=c) (PP (NN 3=d) (NN 5=e)) ($, 4=,) (VP (VP (VV 6=f)))))")
    summary = Statistics.from_trees([tree]).summary()
    assert (summary["trees"], summary["tokens"], summary["max_length"]) == (1, 7, 7)
    assert (summary["constituents"], summary["labels"], summary["tags"]) == (5, 4, 3)
    assert summary["gap_degrees"] == {"0": 4, "1": 1}
    assert summary["discontinuous_constituents_without_punctuation_percent"] == 20
    assert (summary["unary_over_phrase_percent"], summary["unary_over_word_percent"]) == (20, 20)
    assert summary["lengths"] == {"7": 1}


def test_a_gap_of_punctuation_counts_only_as_it_stands() -> None:
    found = Statistics.from_trees([Tree.parse("(ROOT (S (NP (NN 0=a) (NN 2=b)) ($, 1=,)))")])
    assert (found.discontinuous, found.discontinuous_without_punctuation) == (1, 0)


def test_statistics_add_up() -> None:
    rng = random.Random(3)
    trees = [random_tree(rng, 8) for _ in range(40)]
    assert Statistics.from_trees(trees[:13]) + Statistics.from_trees(trees[13:]) == Statistics.from_trees(trees)


def test_an_empty_treebank_has_no_percentages() -> None:
    summary = Statistics.from_trees([]).summary()
    assert summary["trees"] == 0
    assert summary["mean_length"] is summary["discontinuous_trees_percent"] is None
