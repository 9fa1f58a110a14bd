"""The search under constraints against an enumeration of all heads and labels."""

import numpy as np
import pytest
from support.pages import ROOT
from test_project import load

from discotree.decoding import constrained
from discotree.parsing.constrained import minimal

benchmark = load(ROOT / "benchmarks" / "constraints.py")


def test_the_best_trees_are_those_of_an_enumeration():
    wrong, impossible = benchmark.compare(300, {3: 1.0})
    assert wrong == 0
    assert 30 < impossible < 200  # neither all constraints can be satisfied, nor none


@pytest.mark.slow
def test_the_best_trees_of_longer_sentences_are_those_of_an_enumeration():
    assert benchmark.compare(5000, benchmark.WEIGHTS)[0] == 0


def test_gap_penalties_change_the_best_tree():
    """Otherwise the comparison with the enumeration would not test them."""
    cases = [case for case in benchmark.cases(200, {3: 1.0}) if case.expected()]
    assert any(
        not np.isclose(
            benchmark.enumeration(3).values(case.scores, case.constraints, True)[0],
            benchmark.enumeration(3).values(case.scores, case.constraints, False)[0],
        )
        for case in cases
    )


def test_conflicts_are_minimal():
    every = benchmark.enumeration(3)
    sizes = set()
    for case in benchmark.cases(150, {3: 1.0}):
        if case.expected():
            continue
        search = case.search()
        conflict = minimal(case.constraints, lambda constraints, search=search: not search.best(constraints))
        assert not every.satisfying(conflict).any()
        for one in conflict:
            assert every.satisfying([other for other in conflict if other is not one]).any()
        sizes.add(len(conflict))
    assert sizes >= {1, 2}


def test_a_search_that_is_stopped_still_finds_a_tree_that_satisfies_the_constraints():
    every, stopped = benchmark.enumeration(3), 0
    for case in benchmark.cases(200, {3: 1.0}):
        search = case.search()
        (tree,) = search.best(case.constraints, max_steps=2) or [None]
        if tree is None:
            assert search.exhausted or not case.expected()
            continue
        same = (every.heads == tree.heads[0]).all(1) & ((every.labels == tree.labels[0]) | (every.heads < 0)).all(1)
        assert every.satisfying(case.constraints)[same].all()
        stopped += search.exhausted
    assert stopped


def test_without_requirements_the_tree_is_that_of_the_decoder():
    """Where all words that join a phrase agree on its label."""
    from discotree.decoding.decode import decode

    agreed = 0
    for case in benchmark.cases(60, {3: 1.0}):
        search = case.search()
        (tree,) = search.best([], penalise=False)
        plain = decode(case.scores)
        assert tree.log_probability <= plain.log_probability + 1e-6
        agreed += np.array_equal(tree.heads, plain.heads) and np.array_equal(tree.labels, plain.labels)
    assert agreed > 30


def test_weights_of_forbidden_arcs_are_below_those_of_improbable_ones():
    assert constrained.FORBIDDEN < 200 * constrained.LEAST
