import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.helpers import tree_of
from support.strategies import HOLDS, trees

from discotree import Node, SecondaryEdge, Token, Tree
from discotree.trees.tree import ROOT

AB = (Token("a"), Token("b"))


# Order and equality


def test_children_stand_in_the_order_of_their_first_token():
    late, early = Node("NP", [1, 3]), Node("VP", [0, 4])
    assert Node("S", [2, late, early]).children == (early, late, 2)


def test_equality_ignores_the_order_that_children_were_given_in():
    one, two = Node("S", [Node("A", [0, 2]), Node("B", [1]), 3]), Node("S", [3, Node("B", [1]), Node("A", [2, 0])])
    assert one == two
    assert hash(one) == hash(two)


@pytest.mark.parametrize(
    "other",
    [
        Node("S", [Node("A", [0, 1]), 2], "HD"),
        Node("X", [Node("A", [0, 1]), 2]),
        Node("S", [Node("A", [0]), 1, 2]),
        Node("S", [Node("B", [0, 1]), 2]),
        Node("S", [Node("A", [0, 1], "HD"), 2]),
        Node("S", [Node("A", [0, 1]), Node("A", [2])]),
        Node("S", [Node("A", [0, 2]), 1]),
        "(S (A 0 1) 2)",
    ],
)
def test_labels_functions_and_branches_make_nodes_differ(other):
    assert Node("S", [Node("A", [0, 1]), 2]) != other


def test_trees_differ_by_words_and_id_but_not_by_comment_and_secondary_edges():
    root = Node(ROOT, [0, 1])
    tree = Tree(AB, root, "1")
    assert tree == Tree(AB, root, "1", (SecondaryEdge("SB", 0, 2),), "checked")
    assert tree != Tree(AB, root, "2")
    assert tree != Tree((Token("a"), Token("b", lemma="B")), root, "1")
    assert len({tree, Tree(AB, Node(ROOT, [1, 0]), "1")}) == 1


# Yields, gaps and degrees against their definitions


@given(st.sets(st.integers(0, 40), min_size=1, max_size=15))
def test_yields_blocks_gaps_and_degrees_are_what_their_names_say(positions):
    node = Node("X", positions)
    ordered = sorted(positions)
    starts = [p for p in ordered if p - 1 not in positions]
    ends = [p + 1 for p in ordered if p + 1 not in positions]
    assert node.positions == tuple(ordered)
    assert node.first == ordered[0]
    assert node.spans == tuple(zip(starts, ends, strict=True))
    assert node.gaps == tuple(zip(ends[:-1], starts[1:], strict=True))
    assert node.block_degree == len(starts)
    assert node.gap_degree == len(starts) - 1
    assert node.is_discontinuous == (len(starts) > 1)


def naive_yield(node):
    return sorted(p for child in node.children for p in ([child] if isinstance(child, int) else naive_yield(child)))


def naive_degree(node):
    positions = naive_yield(node)
    return sum(p + 1 not in positions for p in positions)


def naive_order(node):
    return [node, *(below for child in node.children if isinstance(child, Node) for below in naive_order(child))]


@given(trees(HOLDS["conllu"]))
def test_a_tree_is_as_discontinuous_as_its_worst_node(tree):
    degrees = [naive_degree(node) for node in tree.nodes()]
    assert [node.positions for node in tree.nodes()] == [tuple(naive_yield(node)) for node in tree.nodes()]
    assert tree.block_degree == max(degrees)
    assert tree.gap_degree == max(degrees) - 1
    assert tree.is_discontinuous == (max(degrees) > 1)


@given(trees(HOLDS["conllu"]))
def test_nodes_come_parents_first_and_from_left_to_right(tree):
    assert [id(node) for node in tree.nodes()] == [id(node) for node in naive_order(tree.root)]
    for node in tree.nodes():
        firsts = [child if isinstance(child, int) else child.first for child in node.children]
        assert firsts == sorted(firsts)


def test_words_length_and_repr():
    tree = tree_of("(ROOT (NP (D 0=das) (N 2=Haus)) (V 1=hat))")
    assert tree.words == ("das", "hat", "Haus")
    assert len(tree) == 3
    assert repr(tree.root) == "(ROOT (NP 0 2) 1)"
    assert repr(tree) == "Tree.parse('(ROOT (NP (D 0=das) (N 2=Haus)) (V 1=hat))', id='')"
    assert eval(repr(tree), {"Tree": Tree}) == tree
