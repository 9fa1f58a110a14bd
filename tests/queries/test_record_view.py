"""The view of a tree from its columns shows what the view of the tree itself shows."""

import random
from dataclasses import replace

from queries.test_query import random_case
from support.strategies import random_tree

from discotree import SecondaryEdge, Tree
from discotree.queries.index_format import columns_of
from discotree.queries.language import FEATURES
from discotree.queries.record_view import RecordView
from discotree.queries.tree_view import TreeView


def shown(view):
    """Everything that a view tells, under its name."""
    addresses = range(view.size)
    facts = {name: getattr(view, name) for name in ("terminals", "size", "parents", "children", "first", "edges", "id")}
    facts |= {name: list(getattr(view, name)) for name in ("words", "secondary_edges", "confidences")}
    facts["values"] = {feature: view.values(feature) for feature in FEATURES}
    facts["value"] = [[view.value(address, feature) for feature in FEATURES] for address in addresses]
    facts["with_value"] = [
        list(view.with_value(name, value)) for name in FEATURES for value in ("NP", "w1", "--", "NN")
    ]
    facts["beginning"] = [list(view.beginning(position)) for position in range(-1, view.terminals + 1)]
    for name in ("mask", "last", "ancestors", "descendants", "siblings", "secondary"):
        facts[name] = [getattr(view, name)(address) for address in addresses]
    facts["below"] = [list(view.below(address)) for address in addresses]
    return facts


def assert_same_view(view, tree):
    expected = TreeView(tree)
    assert shown(view) == shown(expected)
    assert (view.tree, view.tree.comment, view.nodes) == (tree, tree.comment, expected.nodes)


def test_the_view_from_columns_is_the_view_of_the_tree():
    rng = random.Random(1)
    gaps = 0
    for _ in range(150):
        small, large = random_case(rng), random_tree(rng, rng.randint(5, 15), odd=True)
        large = replace(large, comment="c", confidences=(0.5,), secondary=(SecondaryEdge("x", 3, len(large)),))
        for tree in (small, large):
            assert_same_view(RecordView(columns_of(tree)), tree)
            gaps = max(gaps, tree.gap_degree)
    assert gaps >= 3


def test_a_deep_tree_has_a_view():
    tree = Tree.parse("(ROOT" + " (A" * 3000 + " (N 0=w)" + ")" * 3001)
    view = RecordView(columns_of(tree))
    assert view.parents == TreeView(tree).parents
    assert len(view.descendants(view.terminals)) == 3001


def test_the_tree_is_built_when_it_is_asked_for():
    view = RecordView(columns_of(Tree.parse("(ROOT (NP (ART 0=das) (NN 2=Haus)) (V 1=hat))", id="7")))
    assert view.with_value("word", "Haus") == [2]
    assert (view.id, view.mask(4), view.last(4)) == ("7", 0b101, 2)
    assert "tree" not in vars(view)
    assert view.tree is view.tree
