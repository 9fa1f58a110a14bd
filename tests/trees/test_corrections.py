"""Corrections of trees as constraints, and the trees that are proposed after parsing again."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from support.strategies import random_tree

import discotree as dt
from discotree import IsConstituent, NotConstituent, SecondaryEdge, Token, Tree, WordHas
from discotree.trees.constraints import Constraint, check_constraints
from discotree.trees.corrections import corrections, proposal, satisfies, secondary_ends

WORDS = "(D 0=a) (N 1=b) (P 2=c) (N 3=d) (V 4=e)"
FLAT = f"(ROOT {WORDS})"
NESTED = "(ROOT (S (NP (D 0=a) (N 1=b)) (PP (P 2=c) (N 3=d)) (V 4=e)))"
ATTACHED = "(ROOT (S (NP (D 0=a) (N 1=b) (PP (P 2=c) (N 3=d))) (V 4=e)))"
AROUND = IsConstituent(range(5), "S")


@pytest.mark.parametrize(
    ("before", "after", "constraints"),
    [
        (NESTED, NESTED, []),
        (FLAT, "(ROOT (NP (D 0=a) (N 1=b)) (P 2=c) (N 3=d) (V 4=e))", [IsConstituent([0, 1], "NP")]),
        ("(ROOT (NP (D 0=a) (N 1=b)) (P 2=c) (N 3=d) (V 4=e))", FLAT, [NotConstituent([0, 1])]),
        (NESTED, NESTED.replace("PP", "VP"), [IsConstituent([2, 3], "VP"), AROUND, NotConstituent([2, 3], "PP")]),
        (NESTED, ATTACHED, [IsConstituent([0, 1, 2, 3], "NP"), AROUND, NotConstituent([0, 1])]),
        (ATTACHED, NESTED, [IsConstituent([0, 1], "NP"), AROUND, NotConstituent([0, 1, 2, 3])]),
        (FLAT, "(ROOT (D 0=a) (NP (N 1=b)) (P 2=c) (N 3=d) (V 4=e))", [IsConstituent([1], "NP")]),
        (FLAT, "(ROOT (NP (D 0=a) (V 4=e)) (N 1=b) (P 2=c) (N 3=d))", [IsConstituent([0, 4], "NP")]),
        (FLAT, f"(ROOT (S {WORDS}))", [AROUND]),
        (f"(ROOT (S {WORDS}))", FLAT, [NotConstituent(range(5), "S")]),
        (f"(ROOT (ROOT {WORDS}))", FLAT, []),  # no tree is without the root
        (FLAT, f"(TOP {WORDS})", []),
        (FLAT, FLAT.replace("N 1", "X 1"), [WordHas(1, "X")]),
    ],
)
def test_a_correction_is_what_differs(before: str, after: str, constraints: list[Constraint]) -> None:
    found = corrections(Tree.parse(before), Tree.parse(after))
    assert set(found) == set(constraints)
    assert len(found) == len(constraints)


def with_functions(brackets: str, words: str, *nodes: str) -> Tree:
    """Return a tree with functions for its words and for its constituents without the root."""
    tree = Tree.parse(brackets)
    tokens = [token._replace(function=name) for token, name in zip(tree.tokens, words.split(), strict=True)]
    token_parents, rows = tree.parents()
    named = [(label, name, parent) for (label, _, parent), name in zip(rows, nodes, strict=True)]
    return tree.rebuild(token_parents, named, tokens)


def test_functions_that_were_changed_are_constraints() -> None:
    before = with_functions(NESTED, "d h d h h", "--", "sb", "mo")
    after = with_functions(NESTED, "d x d -- h", "--", "ob", "--")
    assert corrections(before, after) == [
        IsConstituent([0, 1], "NP", "ob"),
        IsConstituent([2, 3], "PP", "--"),
        WordHas(1, function="x"),
        WordHas(3, function="--"),
    ]


def test_a_function_that_was_only_carried_along_is_not_a_constraint() -> None:
    before = with_functions(NESTED, "d h d h h", "--", "sb", "mo")
    moved = with_functions(ATTACHED, "d h d h h", "--", "sb", "mo")
    assert IsConstituent([0, 1, 2, 3], "NP") in corrections(before, moved)
    renamed = with_functions(ATTACHED, "d h d h h", "--", "ob", "mo")
    assert IsConstituent([0, 1, 2, 3], "NP", "ob") in corrections(before, renamed)


def test_earlier_corrections_stay_unless_the_annotator_undoes_them() -> None:
    flat, nested, attached = (Tree.parse(text) for text in (FLAT, NESTED, ATTACHED))
    first = corrections(flat, nested)
    assert first == [AROUND, IsConstituent([0, 1], "NP"), IsConstituent([2, 3], "PP")]
    second = corrections(nested, attached, first)
    assert second == [AROUND, IsConstituent([2, 3], "PP"), IsConstituent([0, 1, 2, 3], "NP"), NotConstituent([0, 1])]
    assert corrections(attached, flat, second) == [
        NotConstituent([0, 1]),
        NotConstituent(range(5), "S"),
        NotConstituent([0, 1, 2, 3]),
        NotConstituent([2, 3]),
    ]


def test_the_corrected_tree_always_satisfies_its_constraints() -> None:
    rng = random.Random(3)
    different = 0
    for _ in range(300):
        size = rng.randint(1, 7)
        trees = [replace(random_tree(rng, size), id="") for _ in range(3)]
        trees = [replace(tree, tokens=trees[0].tokens) for tree in trees]
        constraints: list[Constraint] = []
        for before, after in pairwise(trees):
            constraints = corrections(before, after, constraints)
            assert all(satisfies(after, constraint) for constraint in constraints)
            check_constraints(constraints, after.words)
        keys = [{(node.mask, node.label) for node in tree.nodes()} for tree in trees]
        if keys[1] != keys[2]:
            different += 1
            assert not all(satisfies(trees[1], constraint) for constraint in constraints)
    assert different > 100


def test_whether_a_tree_satisfies_a_constraint() -> None:
    tree = replace(with_functions(NESTED, "d h d h h", "--", "sb", "mo"), heads=(1, 4, 3, 4, -1))
    for constraint in (
        IsConstituent([0, 1]),
        IsConstituent([0, 1], "NP", "sb"),
        NotConstituent([0, 1], "PP"),
        NotConstituent([1, 2]),
        WordHas(0, "D", 1, "d"),
    ):
        assert satisfies(tree, constraint), constraint
    for constraint in (
        IsConstituent([1, 2]),
        IsConstituent([0, 1], "PP"),
        IsConstituent([0, 1], "NP", "mo"),
        NotConstituent([0, 1]),
        WordHas(0, "N"),
        WordHas(0, head=2),
        WordHas(0, function="h"),
    ):
        assert not satisfies(tree, constraint), constraint


# Proposals


def propose(before: Tree, corrected: Tree, parsed: Tree) -> Tree | None:
    return proposal(parsed, corrected, [*corrections(before, corrected), *secondary_ends(corrected)])


def test_constituents_and_functions_are_the_parsed_ones() -> None:
    corrected = with_functions("(ROOT (NP (D 0=a) (N 1=b) (P 2=c) (N 3=d)) (V 4=e))", "d h d h h", "sb")
    parsed = with_functions("(ROOT (NP (D 0=a) (N 1=b) (PP (P 2=c) (N 3=d))) (V 4=e))", "d h x h h", "ob", "mo")
    assert propose(with_functions(FLAT, "d h d h h"), corrected, parsed) is None  # the annotator has set sb
    before = with_functions("(ROOT (NP (D 0=a) (N 1=b) (P 2=c)) (N 3=d) (V 4=e))", "d h d h h", "sb")
    assert propose(before, corrected, parsed) == parsed


def test_everything_else_stays_as_it_is() -> None:
    tokens = [Token(form, f"T{form}", f"L{form}", f"M{form}", start=k, end=k + 1) for k, form in enumerate("abcde")]
    edges = (SecondaryEdge("sb", 0, 5), SecondaryEdge("mo", 7, 6), SecondaryEdge("x", 4, 7))
    corrected = replace(Tree.parse(ATTACHED, "7"), tokens=tuple(tokens), secondary=edges, comment="odd")
    corrected = replace(corrected, root=dt.Node("TOP", corrected.root.children, "r"))
    parsed = Tree.parse("(ROOT (S (NP (D 0=a) (N 1=b) (PP (P 2=c) (NP (N 3=d)))) (V 4=e)))")
    found = propose(replace(Tree.parse(NESTED), tokens=tuple(tokens)), corrected, parsed)
    assert found is not None
    assert found.tokens == corrected.tokens
    assert [token.start for token in found.tokens] == [0, 1, 2, 3, 4]
    assert (found.id, found.comment, found.root.label, found.root.function) == ("7", "odd", "TOP", "r")
    assert found.secondary == edges  # the new NP comes after the ends of all edges
    assert [node.label for node in found.nodes()] == ["TOP", "S", "NP", "PP", "NP"]


def test_nothing_is_proposed_if_nothing_changes_or_a_constraint_is_violated() -> None:
    before, corrected = Tree.parse(NESTED), Tree.parse(ATTACHED)
    assert propose(before, corrected, corrected) is None
    assert propose(before, corrected, before) is None
    parsed = Tree.parse("(ROOT (S (NP (D 0=a) (N 1=b) (PP (P 2=c) (NP (N 3=d)))) (V 4=e)))")
    assert proposal(parsed, corrected, [NotConstituent([3])]) is None


def test_the_ends_of_secondary_edges_are_constraints() -> None:
    tree = replace(Tree.parse(NESTED), secondary=(SecondaryEdge("sb", 0, 5), SecondaryEdge("mo", 8, 7)))
    assert secondary_ends(tree) == [IsConstituent([0, 1], "NP"), IsConstituent([2, 3], "PP")]
