"""A view shows the nodes of its tree, as a plain walk through the tree finds them."""

import random
from dataclasses import replace

from queries.test_query import random_case
from support.strategies import random_tree

from discotree import SecondaryEdge, Tree
from discotree.queries.language import FEATURES
from discotree.queries.match import Columns, TreeView
from discotree.trees.tree import FUNCTION


def assert_view_of(view, tree):
    """Compare everything that a view tells with the nodes of the tree."""
    n, nodes = len(tree), list(tree.nodes())
    items = [*range(n), *nodes]
    address = {id(node): n + k for k, node in enumerate(nodes)}
    children = [
        [] if isinstance(item, int) else [c if isinstance(c, int) else address[id(c)] for c in item.children]
        for item in items
    ]
    parents = [next((up for up, below in enumerate(children) if k in below), -1) for k in range(len(items))]
    masks = [1 << item if isinstance(item, int) else item.mask for item in items]
    first = [(mask & -mask).bit_length() - 1 for mask in masks]
    assert (view.terminals, view.size, view.id, list(view.words)) == (n, len(items), tree.id, list(tree.words))
    assert (view.parents, view.first, list(map(view.mask, range(view.size)))) == (parents, first, masks)
    assert [list(view.below(k)) for k in range(view.size)] == children
    assert [view.last(k) for k in range(view.size)] == [mask.bit_length() - 1 for mask in masks]
    for position in range(-1, n + 1):
        assert list(view.beginning(position)) == [k for k in range(view.size) if first[k] == position]
    for k in range(view.size):
        above, up = [], k
        while (up := parents[up]) >= 0:
            above.append(up)
        assert view.ancestors(k) == above
        assert sorted(view.descendants(k)) == [x for x in range(view.size) if x != k and k in view.ancestors(x)]
        assert view.siblings(k) == ([] if parents[k] < 0 else [c for c in children[parents[k]] if c != k])
        ends = {e.parent for e in tree.secondary if e.child == k} | {e.child for e in tree.secondary if e.parent == k}
        assert view.secondary(k) == sorted(ends)
        values = [view.value(k, feature) for feature in FEATURES]
        edge = None if items[k] is tree.root else (tree.tokens[k][FUNCTION] if k < n else items[k].function)
        if k < n:
            word, tag, lemma, morph, _ = tree.tokens[k]
            assert values == [None if v == "--" else v for v in (word, lemma, tag, morph)] + [None, edge]
        else:
            assert values == [None] * 4 + [None if items[k].label == "--" else items[k].label, edge]
        for feature, value in zip(FEATURES, values, strict=True):
            assert value is None or k in view.with_value(feature, value)
    assert (view.tree, view.tree.comment, view.nodes) == (tree, tree.comment, nodes)
    assert list(view.columns.secondary) == list(tree.secondary)


def test_a_view_shows_the_nodes_of_its_tree():
    rng = random.Random(1)
    gaps = 0
    for _ in range(100):
        small, large = random_case(rng), random_tree(rng, rng.randint(5, 15), odd=True)
        large = replace(large, comment="c", confidences=(0.5,), secondary=(SecondaryEdge("x", 3, len(large)),))
        for tree in (small, large):
            assert_view_of(TreeView(tree), tree)
            assert_view_of(TreeView(Columns.from_tree(tree)), tree)
            gaps = max(gaps, tree.gap_degree)
    assert gaps >= 3


def test_a_deep_tree_has_a_view():
    tree = Tree.parse("(ROOT" + " (A" * 3000 + " (N 0=w)" + ")" * 3001)
    view = TreeView(Columns.from_tree(tree))
    assert view.parents == [3001, -1, *range(1, 3001)]
    assert len(view.descendants(view.terminals)) == 3001


def test_the_tree_is_built_when_it_is_needed():
    view = TreeView(Columns.from_tree(Tree.parse("(ROOT (NP (ART 0=das) (NN 2=Haus)) (V 1=hat))", id="7")))
    assert view.with_value("word", "Haus") == [2]
    assert (view.id, view.mask(4), view.last(4)) == ("7", 0b101, 2)
    assert "tree" not in vars(view)
    assert view.tree is view.tree
