import copy
import dataclasses
import pickle
import random
import sys

import pytest
from hypothesis import given
from support.helpers import DEEP, tree_of
from support.strategies import HOLDS, random_tree, trees

from discotree import (
    DiscotreeError,
    HeadRules,
    Node,
    SecondaryEdge,
    Token,
    Tree,
    TreebankError,
    TreeError,
    evaluate,
    read,
    tables,
    to_dependencies,
    to_tree,
)
from discotree.drawing.svg import draw_svg
from discotree.drawing.text import draw_text
from discotree.trees.tree import NONE, ROOT, node_columns, outlined_tree, parse_line, token_columns, tree_of_columns

AB = (Token("a"), Token("b"))


# What may not exist


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Node("NP", []), "'NP' has no children"),
        (lambda: Node("", [0]), "has no label"),
        (lambda: Node("NP", [-1]), "-1 is not a token position"),
        (lambda: Node("NP", [0, 0]), "'NP' covers token 0 twice"),
        (lambda: Node("S", [2, Node("NP", [1, 2])]), "'S' covers token 2 twice"),
        (lambda: Tree(AB, Node(ROOT, [1])), "does not cover token 0 .'a'"),
        (lambda: Tree(AB, Node(ROOT, [0, 1, 3])), "covers token 3, but there are only 2 tokens"),
        (lambda: Tree((), Node(ROOT, [0])), "covers token 0, but there are only 0 tokens"),
        (lambda: Tree(AB, Node(ROOT, [0, 1]), secondary=(SecondaryEdge("SB", 0, 3),)), "leads outside the tree"),
        (lambda: Tree(AB, Node(ROOT, [0, 1]), secondary=(SecondaryEdge("SB", 0, 1),)), "leads outside the tree"),
        (lambda: Tree(AB, Node(ROOT, [0, 1]), secondary=(SecondaryEdge("SB", -1, 2),)), "leads outside the tree"),
    ],
)
def test_illegal_trees_refuse_to_exist_and_say_why(make, message):
    with pytest.raises(TreeError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Node("NP", ["a"]), "'NP': expected a Node or an int as a child, got 'a'"),
        (lambda: Node("NP", [True]), "'NP': expected a Node or an int as a child, got True"),
        (lambda: Tree("abc", Node(ROOT, [0, 1, 2])), "expected a sequence of Tokens, got 'abc'"),
        (lambda: Tree(5, Node(ROOT, [0])), "expected a sequence of Tokens, got 5"),
        (lambda: Tree(("a", "b"), Node(ROOT, [0, 1])), "expected a sequence of Tokens, got 'a' among them"),
        (lambda: Tree((*AB, None), Node(ROOT, [0, 1, 2])), "expected a sequence of Tokens, got None among them"),
        (lambda: Tree(AB, "(ROOT 0 1)"), r"expected a Node as the root, got '\(ROOT 0 1\)'"),
        (lambda: Tree.parse(5), "expected a line of brackets, got 5"),
        (lambda: to_dependencies("(ROOT 0)", None), "expected a Tree, got str"),
    ],
)
def test_a_wrong_type_is_refused_with_what_was_expected(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_a_tree_error_is_a_value_error_and_ours():
    assert issubclass(TreeError, ValueError)
    assert issubclass(TreeError, DiscotreeError)


def test_nodes_and_trees_cannot_be_changed():
    node = Node("NP", [0, 1])
    for change in (
        lambda: setattr(node, "label", "VP"),
        lambda: delattr(node, "children"),
        lambda: setattr(Tree(AB, node), "id", "7"),
        lambda: setattr(AB[0], "form", "c"),
    ):
        with pytest.raises(AttributeError):
            change()
    assert node.label == "NP"


def test_tokens_may_come_in_any_sequence():
    assert Tree(list(AB), Node(ROOT, [0, 1])).tokens == AB


# Brackets


@given(trees(HOLDS["discbracket"]))
def test_the_brackets_of_a_tree_are_read_again(tree):
    assert Tree.parse(str(tree), tree.id) == tree
    assert Tree.parse(f" {tree}\n", tree.id) == tree


# Looking around in a tree

FIGURE = tree_of("(ROOT (S (NP (PPER 0=Es) (NP (PIS 2=nichts) (NN 3=Interessantes))) (VVFIN 1=kam)) ($. 4=.))")


def test_columns_of_tokens_and_nodes_that_have_not_been_made_are_theirs():
    rng = random.Random(4)
    for _ in range(100):
        columns, outline = parse_line(str(random_tree(rng, rng.randrange(1, 12))))
        read = tree_of_columns(columns, outline, "1")
        parsed = outlined_tree(columns[0], outline, "1")
        nodes = [(node.label, node.function, node.mask) for node in Tree.parse(str(read)).nodes()]
        for tree in (read, parsed):
            assert list(zip(*node_columns(tree), strict=True)) == nodes
            assert list(zip(*token_columns(tree), strict=True)) == list(tree.tokens)


def test_nodes_are_found_by_label_function_and_gaps():
    outer, inner = FIGURE.find("NP")
    assert (outer.positions, inner.positions) == ((0, 2, 3), (2, 3))
    assert FIGURE.find("NP", discontinuous=True) == [outer]
    assert FIGURE.find("NP", discontinuous=False) == [inner]
    assert FIGURE.find(discontinuous=True) == [outer]
    assert FIGURE.find() == list(FIGURE) == FIGURE.constituents()
    assert [node.node for node in FIGURE] == list(FIGURE.nodes())
    assert FIGURE.find("VP") == []
    subject = Tree(AB, Node(ROOT, [Node("NP", [0], "SB"), Node("NP", [1], "OA")])).find(function="SB")
    assert [node.positions for node in subject] == [(0,)]


def test_a_node_has_a_text_with_its_gaps():
    assert [FIGURE.text(node) for node in FIGURE.find("NP")] == ["Es … nichts Interessantes", "nichts Interessantes"]
    assert FIGURE.text() == "Es kam nichts Interessantes ."
    assert FIGURE.text(1) == "kam"
    assert FIGURE.text(FIGURE.find("NP")[0], gap=" ") == "Es nichts Interessantes"


@given(trees(HOLDS["conllu"]))
def test_every_child_knows_its_parent(tree):
    assert tree.parent(tree.root) is None
    for node in tree.nodes():
        for child in node.children:
            assert tree.parent(child) is node


@pytest.mark.parametrize("stranger", [5, -1, Node("NP", [0, 2]), Node("NP", [7]), Node("X", [0, 1, 2, 3, 4])])
def test_what_is_not_in_the_tree_has_no_parent_there(stranger):
    with pytest.raises(TreeError, match="is not in the tree"):
        FIGURE.parent(stranger)


@pytest.mark.parametrize("shape", DEEP)
def test_parents_are_found_in_deep_trees(shape):
    tree = DEEP[shape](2000)
    deepest = list(tree.nodes())[-1]
    assert deepest in tree.parent(deepest).children


# Constituents


def test_a_node_of_a_tree_is_comfortable():
    outer, inner = FIGURE["NP"]
    assert repr(outer) == "<NP: Es … nichts Interessantes>"
    assert (outer.text, outer.words) == ("Es … nichts Interessantes", ("Es", "nichts", "Interessantes"))
    assert (inner.parent, outer.parent.label, outer.parent.parent.parent) == (outer, "S", None)
    assert outer.children == (FIGURE.tokens[0], inner)
    assert outer.children[1].children == inner.tokens == FIGURE.tokens[2:4]
    assert (outer.spans, outer.gaps, outer.gap_degree, outer.block_degree) == (((0, 1), (2, 4)), ((1, 2),), 1, 2)
    assert (outer.is_discontinuous, inner.is_discontinuous) == (True, False)
    assert [node.label for node in FIGURE] == ["ROOT", "S", "NP", "NP"]
    assert FIGURE["VP"] == []
    assert pickle.loads(pickle.dumps(inner)) == inner != outer
    assert len({inner, FIGURE["NP"][1], outer}) == 2
    with pytest.raises(TypeError, match=r"expected a label, as in tree\['NP'\], got 0; words are in tree.tokens"):
        FIGURE[0]
    with pytest.raises(
        AttributeError, match=r"has no attribute 'text'; use for node in tree, tree\['NP'\] or tree.find"
    ):
        _ = FIGURE.root.text


def test_children_have_the_confidences_of_their_nodes():
    tree = dataclasses.replace(FIGURE, confidences=(1.0, 0.5, 0.25, 0.125))
    (clause,) = tree["S"]
    assert [child.confidence for child in clause.children if not isinstance(child, Token)] == [0.25]
    assert clause.children[0].children[1].confidence == 0.125


def test_a_missing_lemma_or_function_is_none():
    bare = Token("Hund", "NN")
    assert (bare.lemma, bare.morph, bare.function, bare.start, bare.end) == (None,) * 5
    assert tuple(bare) == ("Hund", "NN", NONE, NONE, NONE)
    assert bare == Token("Hund", "NN", None, None, None) == bare._replace(lemma=None)
    full = Token("Hund", "NN", "hund", "Nom", "SB", 3, 7)
    assert (full.lemma, full.morph, full.function, full.start, full.end) == ("hund", "Nom", "SB", 3, 7)
    assert full._replace(tag="NE").start == 3
    for token in (bare, full):
        again = eval(repr(token), {"Token": Token})
        assert (again, again.start, again.end) == (token, token.start, token.end)
        for copied in (copy.copy(token), pickle.loads(pickle.dumps(token))):
            assert (copied, copied.start, copied.end) == (token, token.start, token.end)
    assert repr(bare) == "Token('Hund', tag='NN')"
    tree = Tree((bare,), Node(ROOT, [Node("NP", [0], "SB")]))
    assert [node.function for node in tree] == [None, "SB"]


def test_a_head_that_the_treebank_marks_is_found():
    tokens = [Token("Es", "PPER", function="SB"), Token("kam", "VVFIN", function="HD"), Token(".", "$.")]
    tree = Tree(tokens, Node(ROOT, [Node("S", [0, 1]), 2]))
    assert [node.head for node in tree] == [None, tokens[1]]
    assert [node.head for node in tree_of("(ROOT (S (NP (N 0=a)) (V 1=b)))")] == [None, None, Token("a", "N")]


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "PDF", "export", "json"])
def test_a_tree_is_saved_as_its_suffix_says(tmp_path, suffix):
    path = tmp_path / f"tree.{suffix}"
    FIGURE.save(path)
    content = path.read_bytes()
    beginnings = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    if suffix.lower() in beginnings:
        assert content.startswith(beginnings[suffix.lower()])
    else:
        assert next(read(path)).root == FIGURE.root
    assert FIGURE.to_svg(theme="dark") == draw_svg(FIGURE, theme="dark")


def test_a_tree_that_cannot_be_saved_says_why(tmp_path):
    with pytest.raises(TreebankError, match="cannot tell the format from the name"):
        FIGURE.save(tmp_path / "tree.doc")


def test_a_tree_becomes_one_of_nltk():
    nltk = pytest.importorskip("nltk")
    assert FIGURE.to_nltk(tags=False) == nltk.Tree.fromstring("(ROOT (S (NP 0 (NP 2 3)) 1) 4)", read_leaf=int)


def test_a_single_tree_is_not_a_list_of_trees():
    for attempt in (lambda: evaluate(FIGURE, [FIGURE]), lambda: tables.constituents(FIGURE)):
        with pytest.raises(TypeError, match=r"pass \[tree\]"):
            attempt()


def test_trees_are_single_values_in_a_table():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"tree": [FIGURE, FIGURE]})
    assert frame["tree"].map(len).tolist() == [5, 5]
    assert frame["tree"][0] is FIGURE


# Parent pointers


@given(trees(HOLDS["tigerxml"]))
def test_from_parents_undoes_parents_and_keeps_secondary_edges(tree):
    token_parents, nodes = tree.parents()
    again = Tree.from_parents(
        tree.tokens,
        token_parents,
        nodes,
        root=(tree.root.label, tree.root.function),
        id=tree.id,
        secondary=tree.secondary,
    )
    assert again == tree
    assert again.secondary == tree.secondary


def end_of(tree, address):
    """What an address names, whatever order the nodes are in."""
    return address if address < len(tree) else list(tree.nodes())[address - len(tree)]


def test_secondary_edges_point_at_the_same_nodes_whatever_order_the_nodes_were_given_in():
    rng = random.Random(5)
    for _ in range(200):
        tree = random_tree(rng, rng.randrange(1, 9))
        n, (token_parents, nodes) = len(tree), tree.parents()
        end = n + 1 + len(nodes)
        edges = [SecondaryEdge("SB", rng.randrange(end), rng.randrange(n, end)) for _ in range(3)]
        order = rng.sample(range(len(nodes)), len(nodes))  # the new list of nodes, as indices of the old one
        place = {old: new for new, old in enumerate(order)} | {-1: -1}
        moved = [
            SecondaryEdge(
                label,
                child if child < n else n + 1 + place[child - n - 1],
                n + 1 + place[parent - n - 1],
            )
            for label, child, parent in edges
        ]
        again = Tree.from_parents(
            tree.tokens,
            [place[parent] for parent in token_parents],
            [(nodes[old][0], nodes[old][1], place[nodes[old][2]]) for old in order],
            secondary=moved,
            id=tree.id,
        )
        assert again == tree
        for old, new in zip(edges, again.secondary, strict=True):
            assert end_of(again, new.child) == end_of(tree, old.child)
            assert end_of(again, new.parent) == end_of(tree, old.parent)


def test_parents_of_a_small_tree():
    tree = tree_of("(ROOT (S (NP (D 0=das) (N 2=Haus)) (V 1=hat)) ($. 3=.))")
    assert tree.parents() == ([1, 0, 1, -1], [("S", NONE, -1), ("NP", NONE, 0)])


@pytest.mark.parametrize(
    ("token_parents", "nodes", "message", "node"),
    [
        ([0], [("A", NONE, 1), ("B", NONE, 0)], "'A' is part of a cycle", 0),
        ([-1], [("A", NONE, 0)], "'A' is part of a cycle", 0),
        ([0], [("A", NONE, -1), ("B", NONE, 0)], "'B' has no children", 1),
    ],
)
def test_from_parents_says_which_node_is_wrong(token_parents, nodes, message, node):
    with pytest.raises(TreeError, match=message) as caught:
        Tree.from_parents([Token("a")], token_parents, nodes)
    assert caught.value.node == node


def naive_from_parents(token_parents, nodes):
    """Return the root, or the message of the error and the node that it is about."""
    below = [-1]
    for index in below:
        below += [k for k, (_, _, parent) in enumerate(nodes) if parent == index]
    for k, (label, _, _) in enumerate(nodes):
        if k not in below:
            return f"node {label!r} is part of a cycle", k
    built = {}
    for index in reversed(below):
        label, function, _ = nodes[index] if index >= 0 else (ROOT, NONE, None)
        children = [k for k, parent in enumerate(token_parents) if parent == index]
        children += [built[k] for k, (_, _, parent) in enumerate(nodes) if parent == index]
        if not label or not children:
            return f"node {label!r} has no {'children' if label else 'label'}", index
        built[index] = Node(label, children, function)
    return built[-1]


def test_from_parents_agrees_with_its_definition():
    rng = random.Random(3)
    kinds = set()
    for _ in range(3000):
        size, count = rng.randrange(1, 6), rng.randrange(5)
        nodes = [
            (rng.choice("ABCDEFGH") if rng.random() < 0.97 else "", "F", rng.randrange(-1, count)) for _ in range(count)
        ]
        token_parents = [rng.randrange(-1, count) for _ in range(size)]
        try:
            tree = Tree.from_parents([Token("a")] * size, token_parents, nodes)
        except TreeError as error:
            found = (str(error), error.node)
            kinds.add(str(error)[8:])
        else:
            found = tree.root
            assert list(zip(*node_columns(tree), strict=True)) == [
                (node.label, node.function, node.mask) for node in tree.nodes()
            ]
        assert found == naive_from_parents(token_parents, nodes)
    assert {" is part of a cycle", " has no children"} <= kinds


@pytest.mark.parametrize("parent", [-2, 1, 2, 99])
def test_from_parents_refuses_parents_that_are_not_there(parent):
    with pytest.raises(TreeError):
        Tree.from_parents([Token("a"), Token("b")], [0, parent], [("A", NONE, -1)])
    with pytest.raises(TreeError):
        Tree.from_parents([Token("a"), Token("b")], [0, -1], [("A", NONE, parent)])


def test_from_parents_refuses_secondary_edges_that_lead_outside():
    with pytest.raises(TreeError):
        Tree.from_parents([Token("a")], [-1], [], secondary=[SecondaryEdge("SB", 0, 9)])


# Deep trees


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2000, 5000])
@pytest.mark.parametrize("shape", DEEP)
def test_a_deep_tree_is_as_good_as_any_other(shape, depth):
    assert depth > sys.getrecursionlimit()
    tree, twin = DEEP[shape](depth), DEEP[shape](depth)
    assert tree == twin
    assert tree.root != Node("OTHER", tree.root.children)
    assert hash(tree) == hash(twin)
    assert repr(tree.root).endswith(" …")
    assert max(len(repr(tree.root)), len(repr(tree))) < 1100
    assert str(tree).count("(") == depth + 1 + len(tree)
    assert Tree.parse(str(tree), tree.id) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert copy.deepcopy(tree) == tree
    assert sum(1 for _ in tree.nodes()) == depth + 1
    assert not tree.is_discontinuous
    assert Tree.from_parents(tree.tokens, *tree.parents(), id=tree.id) == tree


@pytest.mark.slow
@given(trees(HOLDS["alpino"]))
def test_pickles_and_copies_are_equal_in_every_respect(tree):
    for twin in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree), copy.copy(tree)):
        assert twin == tree
        assert hash(twin) == hash(tree)
        assert (twin.secondary, twin.comment) == (tree.secondary, tree.comment)
        assert all(type(token) is Token for token in twin.tokens)


# What a tree can do with the help of the floors above


def test_a_tree_draws_itself() -> None:
    tree = tree_of("(ROOT (S (NP (PPER 0=Es) (NN 2=nichts)) (VVFIN 1=kam)))")
    assert tree.draw() == draw_text(tree)
    assert tree.draw(ascii=True, width=10, functions=True) == draw_text(tree, ascii=True, width=10, functions=True)
    assert "\x1b[" in tree.draw(color=True)
    assert tree._repr_svg_() == draw_svg(tree)


def test_a_tree_encodes_itself() -> None:
    tree = tree_of("(ROOT (S (NP (PPER 0=Es) (NN 2=nichts)) (VVFIN 1=kam)))")
    rules = HeadRules.load("negra")
    assert tree.dependencies("negra") == tree.dependencies(rules) == to_dependencies(tree, rules)
    assert to_tree(tree.dependencies()) == tree
    tokens = (tree.tokens[0], tree.tokens[1]._replace(function="HD"))
    marked = Tree(tokens, Node("ROOT", [Node("S", [0, 1])]))
    assert marked.dependencies().heads == (1, -1)


def test_constituents_are_the_nodes_with_their_confidences() -> None:
    tree = tree_of("(ROOT (S (NP (PPER 0=Es) (NN 2=nichts)) (VVFIN 1=kam)))")
    found = tree.constituents()[2]
    assert (found.label, found.function, found.positions, found.confidence) == ("NP", None, (0, 2), None)
    sure = dataclasses.replace(tree, confidences=(1.0, 0.5, 0.25))
    assert [row.confidence for row in sure.constituents()] == [1.0, 0.5, 0.25]
    other = dataclasses.replace(sure, root=sure.root.children[0])
    assert [row.confidence for row in other.constituents()] == [None, None]
