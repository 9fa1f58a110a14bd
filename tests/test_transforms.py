"""Transforms: what they promise, and that their inverses undo them."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_tree

from discotree import Node, SecondaryEdge, Token, Tree
from discotree.punctuation import is_punctuation, move_punctuation, remove_punctuation, root_punctuation
from discotree.transforms import (
    add_root,
    collapse_unaries,
    join_functions,
    restore_unaries,
    split_functions,
    strip_functions,
    strip_root,
    transform,
)
from discotree.treebank.discbracket import format_discbracket, parse_discbracket


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Random trees with a secondary edge or two."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    tree = random_tree(rng, draw(st.integers(1, 12)))
    end = len(tree) + sum(1 for _ in tree.nodes())
    edges = [SecondaryEdge("MO", rng.randrange(end), rng.randrange(len(tree), end)) for _ in range(rng.randrange(3))]
    return Tree(tree.tokens, tree.root, tree.id, tuple(edges))


def with_marks(tree: Tree, every: int) -> Tree:
    """The tree with every n-th word turned into a comma."""
    tokens = [Token(",", "$,") if k % every == 0 else Token(t.form, "NN") for k, t in enumerate(tree.tokens)]
    return Tree(tuple(tokens), tree.root, tree.id, tree.secondary)


def moved(line: str) -> str:
    return format_discbracket(move_punctuation(parse_discbracket(line)))


def test_a_comma_on_the_root_goes_to_the_phrase_around_it() -> None:
    assert (
        moved("(ROOT (S (NN 0=a) (NP (NN 1=b) (NN 3=c))) ($, 2=,) ($. 4=.))")
        == "(ROOT (S (NN 0=a) (NP (NN 1=b) ($, 2=,) (NN 3=c))) ($. 4=.))"
    )


def test_a_mark_between_phrases_goes_to_the_lowest_phrase_over_both() -> None:
    assert (
        moved("(ROOT (S (NP (NN 0=a) (NN 1=b)) (VP (VV 3=c) (NN 4=d))) ($, 2=,))")
        == "(ROOT (S (NP (NN 0=a) (NN 1=b)) ($, 2=,) (VP (VV 3=c) (NN 4=d))))"
    )


def test_a_mark_that_does_no_harm_stays() -> None:
    """Brackets that the treebank has inside their phrase are not torn out of it."""
    line = "(ROOT (NP (NN 0=a) (PRN (-LRB- 1=-LRB-) (NN 2=b) (-RRB- 3=-RRB-)) (NN 4=c)))"
    assert moved(line) == line


def test_a_mark_behind_one_that_leaves_leaves_as_well() -> None:
    """The second mark may only stay with the word before it while the first one is there, too."""
    assert (
        moved("(ROOT (S (NP (NN 0=a) ($, 2=,)) (NN 3=b)) ($[ 1=-))")
        == "(ROOT (S (NP (NN 0=a)) ($[ 1=-) ($, 2=,) (NN 3=b)))"
    )


def test_a_phrase_of_marks_moves_as_one() -> None:
    assert (
        moved("(ROOT (S (NN 0=a) (NN 3=b)) (PRN ($[ 1=-) ($, 2=,)))")
        == "(ROOT (S (NN 0=a) (PRN ($[ 1=-) ($, 2=,)) (NN 3=b)))"
    )


@given(trees())
def test_moving_leaves_the_gaps_that_removing_leaves(tree: Tree) -> None:
    for every in (2, 3):
        tree = with_marks(tree, every)
        if all(map(is_punctuation, tree.tokens)):
            continue
        low, bare = move_punctuation(tree), remove_punctuation(tree)
        assert remove_punctuation(low) == bare
        marks = sum(1 << k for k, token in enumerate(tree.tokens) if is_punctuation(token))
        left = Counter((node.label, node.block_degree) for node in low.nodes() if node.mask & ~marks)
        assert left == Counter((node.label, node.block_degree) for node in bare.nodes())
        assert move_punctuation(low) == low


@given(trees())
def test_marks_on_the_root_are_children_of_the_root(tree: Tree) -> None:
    tree = with_marks(tree, 2)
    raised = root_punctuation(tree)
    on_root = {child for child in raised.root.children if isinstance(child, int)}
    assert on_root >= {k for k, token in enumerate(tree.tokens) if is_punctuation(token)}
    assert remove_punctuation(raised) == remove_punctuation(tree) or all(map(is_punctuation, tree.tokens))


def test_a_sentence_of_nothing_but_punctuation_survives_removal() -> None:
    tree = parse_discbracket("(ROOT (S ($. 0=!) ($. 1=?)))")
    assert remove_punctuation(tree) == tree
    assert move_punctuation(tree) == tree


def test_removal_renumbers_and_takes_empty_phrases_and_their_edges_along() -> None:
    tokens = (Token(",", "$,"), Token("a", "NN"), Token("b", "NN"))
    comma = Node("PRN", [0])
    tree = Tree(
        tokens, Node("ROOT", [comma, Node("S", [1, 2])]), "x", (SecondaryEdge("MO", 1, 4), SecondaryEdge("SB", 2, 5))
    )
    bare = remove_punctuation(tree)
    assert format_discbracket(bare) == "(ROOT (S (NN 0=a) (NN 1=b)))"
    assert bare.secondary == (SecondaryEdge("SB", 1, 3),)
    assert bare.id == "x"


@given(trees())
def test_unaries_collapse_and_come_back(tree: Tree) -> None:
    collapsed = collapse_unaries(tree)
    for node in collapsed.nodes():
        only = node.children[0] if len(node.children) == 1 else 0
        assert isinstance(only, int) or node is collapsed.root
    assert restore_unaries(collapsed) == tree


def test_a_collapsed_chain_reads_from_top_to_bottom() -> None:
    tree = parse_discbracket("(ROOT (S (VP (A+B (NN 0=a) (NN 1=b)))))")
    assert repr(collapse_unaries(tree).root) == r"(ROOT (S+VP+A\+B 0 1))"


@given(trees())
def test_functions_join_and_split(tree: Tree) -> None:
    plain = all("-" not in node.label for node in tree.nodes())
    if plain and tree.root.function == "--":
        assert split_functions(join_functions(tree)) == tree
    assert all(node.function == "--" for node in strip_functions(tree).nodes())
    assert all(token.function == "--" for token in strip_functions(tree).tokens)


def test_labels_that_begin_with_a_dash_are_not_split() -> None:
    tree = parse_discbracket("(ROOT (-- (NN 0=a)) (NP- (NN 1=b)))")
    assert split_functions(tree) == tree


@given(trees())
def test_a_root_is_added_and_stripped(tree: Tree) -> None:
    bare = Tree(tree.tokens, Node("S", tree.root.children, tree.root.function), tree.id, tree.secondary)
    rooted = add_root(bare)
    assert rooted.root.label == "ROOT"
    assert add_root(rooted) == rooted
    assert strip_root(rooted) == bare
    assert strip_root(rooted).secondary == bare.secondary


def test_a_root_with_several_children_stays() -> None:
    tree = parse_discbracket("(ROOT (S (NN 0=a)) ($. 1=.))")
    assert strip_root(tree) == tree


def test_transform_rejects_what_it_does_not_know() -> None:
    tree = parse_discbracket("(ROOT (NN 0=a))")
    assert transform(tree) == tree
    with pytest.raises(KeyError):
        transform(tree, punctuation="eat")  # type: ignore[arg-type]
