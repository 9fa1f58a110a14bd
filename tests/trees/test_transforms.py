"""Transforms: what they promise, and that their inverses undo them."""

import pytest
from hypothesis import given
from support.strategies import trees_with_edges

from discotree import Node, Tree
from discotree.trees.transforms import (
    add_root,
    collapse_unaries,
    join_functions,
    restore_unaries,
    split_functions,
    strip_functions,
    strip_root,
    transform,
)


@given(trees_with_edges())
def test_unaries_collapse_and_come_back(tree: Tree) -> None:
    collapsed = collapse_unaries(tree)
    for node in collapsed.nodes():
        only = node.children[0] if len(node.children) == 1 else 0
        assert isinstance(only, int) or node is collapsed.root
    assert restore_unaries(collapsed) == tree


def test_a_collapsed_chain_reads_from_top_to_bottom() -> None:
    tree = Tree.parse("(ROOT (S (VP (A+B (NN 0=a) (NN 1=b)))))")
    assert repr(collapse_unaries(tree).root) == r"(ROOT (S+VP+A\+B 0 1))"


@given(trees_with_edges())
def test_functions_join_and_split(tree: Tree) -> None:
    plain = all("-" not in node.label for node in tree.nodes())
    if plain and tree.root.function == "--":
        assert split_functions(join_functions(tree)) == tree
    assert all(node.function == "--" for node in strip_functions(tree).nodes())
    assert all(token.function == "--" for token in strip_functions(tree).tokens)


def test_labels_that_begin_with_a_dash_are_not_split() -> None:
    tree = Tree.parse("(ROOT (-- (NN 0=a)) (NP- (NN 1=b)))")
    assert split_functions(tree) == tree


@given(trees_with_edges())
def test_a_root_is_added_and_stripped(tree: Tree) -> None:
    bare = Tree(tree.tokens, Node("S", tree.root.children, tree.root.function), tree.id, tree.secondary)
    rooted = add_root(bare)
    assert rooted.root.label == "ROOT"
    assert add_root(rooted) == rooted
    assert strip_root(rooted) == bare
    assert strip_root(rooted).secondary == bare.secondary


def test_a_root_with_several_children_stays() -> None:
    tree = Tree.parse("(ROOT (S (NN 0=a)) ($. 1=.))")
    assert strip_root(tree) == tree


def test_transform_rejects_what_it_does_not_know() -> None:
    tree = Tree.parse("(ROOT (NN 0=a))")
    assert transform(tree) == tree
    with pytest.raises(KeyError):
        transform(tree, punctuation="eat")  # type: ignore[arg-type]
