"""Transforms: what they promise, and that their inverses undo them."""

import pytest
from hypothesis import given
from support.strategies import trees_with_edges

from discotree import Node, Tree
from discotree.trees.transforms import (
    add_root,
    join_functions,
    split_functions,
    strip_functions,
    transform,
)


@given(trees_with_edges())
def test_functions_join_and_split(tree: Tree) -> None:
    plain = all("-" not in node.label for node in tree.nodes())
    if plain and tree.root.function == "--":
        assert split_functions(join_functions(tree)) == tree
    assert all(node.function == "--" for node in strip_functions(tree).nodes())
    assert all(token.function is None for token in strip_functions(tree).tokens)


def test_labels_that_begin_with_a_dash_are_not_split() -> None:
    tree = Tree.parse("(ROOT (-- (NN 0=a)) (NP- (NN 1=b)))")
    assert split_functions(tree) == tree


@given(trees_with_edges())
def test_a_root_is_added_once(tree: Tree) -> None:
    bare = Tree(tree.tokens, Node("S", tree.root.children, tree.root.function), tree.id, tree.secondary)
    rooted = add_root(bare)
    assert (rooted.root.label, rooted.root.children) == ("ROOT", (bare.root,))
    assert add_root(rooted) == rooted


def test_transform_rejects_what_it_does_not_know() -> None:
    tree = Tree.parse("(ROOT (NN 0=a))")
    assert transform(tree) == tree
    with pytest.raises(KeyError):
        transform(tree, punctuation="eat")  # type: ignore[arg-type]
