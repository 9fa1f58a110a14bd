import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from support.helpers import brackets_of, tree_of
from support.strategies import HOLDS, random_tree, trees, trees_with_edges

from discotree import Node, SecondaryEdge, Token, Tree
from discotree.trees.punctuation import (
    TAGS,
    is_punctuation,
    is_punctuation_tag,
    move_punctuation,
    remove_punctuation,
    remove_tokens,
    root_punctuation,
)


@pytest.mark.parametrize("tag", sorted(tag for tags in TAGS.values() for tag in tags))
def test_the_tag_decides_whatever_the_form(tag):
    assert is_punctuation_tag(tag)
    assert is_punctuation(Token("word", tag))


@pytest.mark.parametrize("tag", ["NN", "$", "#", "SYM", "LS", "CARD", "XY", "P", "N-A"])
def test_a_word_by_its_tag_is_no_punctuation_whatever_the_form(tag):
    assert not is_punctuation_tag(tag)
    assert not is_punctuation(Token(".", tag))


@pytest.mark.parametrize("tag", ["", "--", "_", "__", "UNKNOWN"])
def test_without_a_tag_the_form_decides(tag):
    for mark in (".", ",", "...", "«", "„", "–", "(", "?!", "''"):
        assert is_punctuation(Token(mark, tag)), mark
    for word in ("a", "1", "%", "&", "#", "@", "*", "§", "a.", "U.S.", "$", "+", "``"):
        assert not is_punctuation(Token(word, tag)), word


# Moving


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            "(ROOT (S (N 0=a) (V 2=b)) ($, 1=,))",
            "(ROOT (S (N 0=a) ($, 1=,) (V 2=b)))",
            id="a mark in a gap goes into the phrase around it",
        ),
        pytest.param(
            "(ROOT (S (NP (N 0=a) (N 2=b)) (V 3=c)) ($, 1=,) ($. 4=.))",
            "(ROOT (S (NP (N 0=a) ($, 1=,) (N 2=b)) (V 3=c)) ($. 4=.))",
            id="the lowest phrase, and the full stop stays",
        ),
        pytest.param(
            "(ROOT (S (NP (N 0=a)) (VP (V 2=b))) ($, 1=,))",
            "(ROOT (S (NP (N 0=a)) ($, 1=,) (VP (V 2=b))))",
            id="between two phrases it goes to their parent",
        ),
        pytest.param(
            "(ROOT (S (NP (N 0=a) ($, 1=,)) (V 2=b)))",
            "(ROOT (S (NP (N 0=a) ($, 1=,)) (V 2=b)))",
            id="a mark that makes no gap stays",
        ),
        pytest.param(
            "(ROOT (NP (N 0=a) ($, 2=,)) (V 1=b) (V 3=c))",
            "(ROOT (NP (N 0=a)) (V 1=b) ($, 2=,) (V 3=c))",
            id="a mark that makes a gap leaves",
        ),
        pytest.param(
            "(ROOT ($[ 0=-) ($[ 1=-))",
            "(ROOT ($[ 0=-) ($[ 1=-))",
            id="nothing but marks stays as it is",
        ),
    ],
)
def test_marks_move_to_where_they_make_no_gap(given, expected):
    assert brackets_of([move_punctuation(tree_of(given))]) == [expected]


def gaps_due_to_punctuation(tree):
    """Nodes with words that have a gap, but none when punctuation is left out."""
    marks = {k for k, token in enumerate(tree.tokens) if is_punctuation(token)}
    spoken = [k for k in range(len(tree)) if k not in marks]
    place = {position: k for k, position in enumerate(spoken)}
    found = []
    for node in tree.nodes():
        rest = [place[p] for p in node.positions if p in place]
        if rest and node.is_discontinuous and rest[-1] - rest[0] == len(rest) - 1:
            found.append(node)
    return found


def random_trees(seed, count):
    rng = random.Random(seed)
    return [random_tree(rng, rng.randrange(1, 12)) for _ in range(count)]


def words_below(tree):
    """Every phrase with words as its label, function and words, in a fixed order."""
    marks = {k for k, token in enumerate(tree.tokens) if is_punctuation(token)}
    phrases = [(node.label, node.function, tuple(sorted(set(node.positions) - marks))) for node in tree.nodes()]
    return sorted(phrase for phrase in phrases if phrase[2])


def test_no_gap_is_due_to_punctuation_alone_after_moving():
    for tree in random_trees(1, 2000):
        moved = move_punctuation(tree)
        if not all(map(is_punctuation, tree.tokens)):
            assert not gaps_due_to_punctuation(moved), tree
            assert words_below(moved) == words_below(tree), tree
        assert (moved.tokens, moved.id) == (tree.tokens, tree.id)


def test_moving_twice_is_moving_once():
    for tree in random_trees(2, 1000):
        moved = move_punctuation(tree)
        assert move_punctuation(moved) == moved


# Removing, and hanging on the root


def test_removing_takes_the_phrases_along_that_it_leaves_empty():
    tree = tree_of("(ROOT (S (NP (N 0=a)) (PRN (X ($, 1=,)) ($, 2=,)) (V 3=b)) ($. 4=.))", "7")
    assert brackets_of([remove_punctuation(tree)]) == ["(ROOT (S (NP (N 0=a)) (V 1=b)))"]
    assert remove_punctuation(tree).id == "7"


def test_a_sentence_of_nothing_but_punctuation_stays_as_it_is():
    tree = tree_of("(ROOT (X ($. 0=.) ($. 1=.)))")
    assert remove_punctuation(tree) == tree
    assert move_punctuation(tree) == tree


def test_removing_leaves_the_words_and_their_phrases():
    for tree in random_trees(3, 1000):
        bare = remove_punctuation(tree)
        if all(map(is_punctuation, tree.tokens)):
            assert bare == tree
            continue
        assert bare.tokens == tuple(token for token in tree.tokens if not is_punctuation(token))
        assert len(words_below(tree)) == sum(1 for _ in bare.nodes())


def test_hanging_on_the_root():
    tree = tree_of("(ROOT (S (NP (N 0=a) ($, 1=,)) (PRN ($, 2=,)) (V 3=b) ($. 4=.)))")
    assert brackets_of([root_punctuation(tree)]) == ["(ROOT (S (NP (N 0=a)) (V 3=b)) ($, 1=,) ($, 2=,) ($. 4=.))"]


@given(trees(HOLDS["conllu"]))
def test_trees_without_punctuation_do_not_change(tree):
    tree = replace(tree, tokens=tuple(token._replace(tag="NN") for token in tree.tokens))
    for function in (move_punctuation, remove_punctuation, root_punctuation):
        assert function(tree) == tree


@pytest.mark.parametrize("function", [move_punctuation, root_punctuation, remove_punctuation])
def test_secondary_edges_and_comments_come_along(function):
    tree = tree_of("(ROOT (PRN ($, 0=,)) (S (NP (N 1=a) (N 3=b)) ($, 2=,) (V 4=c)))")
    s, np = 7, 8  # addresses: 5 words, then ROOT, PRN, S, NP
    edges = (SecondaryEdge("SB", 4, np), SecondaryEdge("X", np, s), SecondaryEdge("P", 2, s), SecondaryEdge("Q", 6, s))
    result = function(replace(tree, secondary=edges, comment="checked"))
    assert result.comment == "checked"
    order = [*range(len(result)), *result.nodes()]
    named = [
        (label, *(end if isinstance(end, int) else end.label for end in (order[child], order[parent])))
        for label, child, parent in result.secondary
    ]
    last = len(result) - 1
    assert ("SB", last, "NP") in named
    assert ("X", "NP", "S") in named
    assert (("P", 2, "S") in named) == (function is not remove_punctuation)
    assert any(label == "Q" for label, *_ in named) == (function is move_punctuation)


def with_marks(tree: Tree, every: int) -> Tree:
    """The tree with every n-th word turned into a comma."""
    tokens = [Token(",", "$,") if k % every == 0 else Token(t.form, "NN") for k, t in enumerate(tree.tokens)]
    return Tree(tuple(tokens), tree.root, tree.id, tree.secondary)


def moved(line: str) -> str:
    return str(move_punctuation(Tree.parse(line)))


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


@given(trees_with_edges())
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


@given(trees_with_edges())
def test_marks_on_the_root_are_children_of_the_root(tree: Tree) -> None:
    tree = with_marks(tree, 2)
    raised = root_punctuation(tree)
    on_root = {child for child in raised.root.children if isinstance(child, int)}
    assert on_root >= {k for k, token in enumerate(tree.tokens) if is_punctuation(token)}
    assert remove_punctuation(raised) == remove_punctuation(tree) or all(map(is_punctuation, tree.tokens))


def test_removal_renumbers_and_takes_empty_phrases_and_their_edges_along() -> None:
    tokens = (Token(",", "$,"), Token("a", "NN"), Token("b", "NN"))
    comma = Node("PRN", [0])
    tree = Tree(
        tokens, Node("ROOT", [comma, Node("S", [1, 2])]), "x", (SecondaryEdge("MO", 1, 4), SecondaryEdge("SB", 2, 5))
    )
    bare = remove_punctuation(tree)
    assert str(bare) == "(ROOT (S (NN 0=a) (NN 1=b)))"
    assert bare.secondary == (SecondaryEdge("SB", 1, 3),)
    assert bare.id == "x"


def test_words_leave_and_empty_phrases_with_them():
    tree = Tree.parse("(ROOT (S (NP (NN 0=a) (NN 2=c)) (VP (X (SU 1=b)))))")
    assert remove_tokens(tree, {1}) == Tree.parse("(ROOT (S (NP (NN 0=a) (NN 1=c))))")
    assert remove_tokens(tree, {0, 1, 2}) is None
