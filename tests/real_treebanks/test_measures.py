"""Clauses and T-units of English text agree with the patterns of Lu (2010), and gaps with the statistics."""

from collections import Counter
from itertools import islice

import pytest
from support.treebanks import folder

import discotree as dt
from discotree.evaluation.measures import count, summarise
from discotree.evaluation.statistics import Statistics

pytestmark = pytest.mark.data

FINITE = {"MD", "VBZ", "VBP", "VBD"}
MAIN = {"S", "SBARQ", "SINV", "SQ"}
RULES = dt.HeadRules.load("ptb")


def name(child):
    return child.tag if isinstance(child, dt.Token) else child.label


def head(node):
    return name(node.children[RULES.head_child(node.node, node.tree.tokens)])


def verb_phrases(node):
    return [child for child in node.children if name(child) == "VP"]


def is_clause(node):
    """S|SINV|SQ [> ROOT <, (VP <# VB) | <# FINITE | < (VP [<# FINITE | < CC < (VP <# FINITE)])]"""
    if node.label not in MAIN - {"SBARQ"}:
        return False
    first = node.children[0]
    is_imperative = node.parent.label == "ROOT" and name(first) == "VP" and head(first) == "VB"
    return (
        is_imperative
        or head(node) in FINITE
        or any(
            head(phrase) in FINITE
            or ("CC" in map(name, phrase.children) and any(head(inner) in FINITE for inner in verb_phrases(phrase)))
            for phrase in verb_phrases(node)
        )
    )


def is_t_unit(node):
    """S|SBARQ|SINV|SQ > ROOT | [$-- S|SBARQ|SINV|SQ !>> SBAR|VP]"""
    if node.label not in MAIN or node.parent.label == "ROOT":
        return node.label in MAIN
    siblings = list(node.parent.children)
    before = siblings[: siblings.index(node)]
    above = []
    while node := node.parent:
        above.append(node.label)
    return any(name(sibling) in MAIN for sibling in before) and not {"SBAR", "VP"} & set(above)


def lu_counts(tree):
    """Return the numbers of clauses and T-units; a fragment that contains none counts as one of each."""
    nodes = [node for node in tree if node.parent]
    numbers = []
    for matches in (is_clause, is_t_unit):
        found = [node for node in nodes if matches(node)]
        fragments = [node for node in nodes if node.label == "FRAG" and node.parent.label == "ROOT"]
        empty = [f for f in fragments if not any(set(node.positions) <= set(f.positions) for node in found)]
        numbers.append(len(found) + len(empty))
    return tuple(numbers)


def test_clauses_of_masc_agree_with_lu():
    """The figures are those of docs/measures.md."""
    equal = 0
    ours, theirs = Counter(), Counter()
    for tree in islice(dt.read(folder("DISCOTREE_DATA") / "masc" / "penn"), 3000):
        counts, (clauses, t_units) = count(tree, "penn"), lu_counts(tree)
        equal += (counts["clauses"], counts["t_units"]) == (clauses, t_units)
        ours.update(clauses=counts["clauses"], t_units=counts["t_units"])
        theirs.update(clauses=clauses, t_units=t_units)
    assert (ours["clauses"], theirs["clauses"]) == (4838, 4821)
    assert (ours["t_units"], theirs["t_units"]) == (2810, 2840)
    assert round(equal / 3000, 2) == 0.9


def test_discontinuity_of_pcc_agrees_with_the_statistics():
    trees = list(dt.read(folder("DISCOTREE_DATA") / "pcc" / "syntax"))
    statistics = Statistics.from_trees(trees).summary()
    share, _, _ = summarise([count(tree, "tiger") for tree in trees])["discontinuous"]
    assert 100 * share == pytest.approx(statistics["discontinuous_constituents_without_punctuation_percent"])
