"""Constraints, partial trees, and brackets in a text."""

import re

import pytest

import discotree as dt
from discotree import ConstraintError, InputError, IsConstituent, NotConstituent, WordHas, partial_tree
from discotree.trees.constraints import check_constraints, constraints_of, impose

FORMS = ["A", "man", "arrived", "yesterday", "who", "nobody", "knew"]


@pytest.mark.parametrize(
    ("text", "brackets"),
    [
        ("a b", "(ROOT (-- 0=a) (-- 1=b))"),
        ("[NP a b ] c", "(ROOT (NP (-- 0=a) (-- 1=b)) (-- 2=c))"),
        ("[ a b ] c", "(ROOT (-- (-- 0=a) (-- 1=b)) (-- 2=c))"),
        ("[NP a ] b [ … c ]", "(ROOT (NP (-- 0=a) (-- 2=c)) (-- 1=b))"),
        ("[NP a ] b [ ... c ]", "(ROOT (NP (-- 0=a) (-- 2=c)) (-- 1=b))"),
        ("[NP a ] [VP b ] [NP … c ]", "(ROOT (NP (-- 0=a) (-- 2=c)) (VP (-- 1=b)))"),
        ("[NP a ] [VP b ] [ … c ]", "(ROOT (NP (-- 0=a)) (VP (-- 1=b) (-- 2=c)))"),
        ("[NP=1 a ] [NP b ] [=1 … c ]", "(ROOT (NP (-- 0=a) (-- 2=c)) (NP (-- 1=b)))"),
        ("[NP a ] b [ … c ] d [ … e ]", "(ROOT (NP (-- 0=a) (-- 2=c) (-- 4=e)) (-- 1=b) (-- 3=d))"),
        ("[S [VP a b ] ] c", "(ROOT (S (VP (-- 0=a) (-- 1=b))) (-- 2=c))"),
        ("[S a [NP b ] [ … d ] ] c", "(ROOT (S (-- 0=a) (NP (-- 1=b) (-- 2=d))) (-- 3=c))"),
        (r"\a] \[b c[d", "(ROOT (-- 0=a]) (-- 1=[b) (-- 2=c[d))"),
        (r"\[ a \] [ \… ] \\", r"(ROOT (-- 0=[) (-- 1=a) (-- 2=]) (-- (-- 3=…)) (-- 4=\))"),
        ("a … b", "(ROOT (-- 0=a) (-- 1=…) (-- 2=b))"),
    ],
)
def test_brackets_make_a_partial_tree(text, brackets):
    assert partial_tree(text, "7") == dt.Tree.parse(brackets, "7")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a [NP b", "character 3: the bracket is not closed"),
        ("a ] b", "character 3: no bracket is open here"),
        ("a [NP ] b", "character 3: the brackets are empty"),
        ("[NP a ] b [ … ]", "character 11: the brackets are empty"),
        ("a [ … b ]", "character 3: '[ …' continues a constituent, but none that fits is closed before it"),
        ("[NP a ] [VP … b ]", "character 9: '[VP …' continues a constituent, but none that fits is closed before it"),
        ("[NP a] b", "character 5: expected '[', '[LABEL' or ']', got 'a]'; put spaces around brackets"),
        ("[NP]b", "character 1: expected '[', '[LABEL' or ']', got '[NP]b'"),
        ("a \\ b", "a backslash stands alone"),
        ("", "the text has no words"),
        ("[ ]", "character 1: the brackets are empty"),
        ("[A a [B b ] ] [B … c ]", "they share words, and neither contains the other"),
    ],
)
def test_errors_in_brackets_name_the_character(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        partial_tree(text)


def test_the_parts_of_a_partial_tree_are_constraints():
    tree = dt.Tree.parse("(ROOT (NP (DT 0=A) (-- 1=man)) (-- (-- 2=arrived) (-- 3=here)))")
    expected = [IsConstituent([0, 1], "NP"), IsConstituent([2, 3]), WordHas(0, tag="DT")]
    assert constraints_of(tree) == expected
    assert constraints_of(dt.Tree.parse("(S (-- 0=Go) (-- 1=on))")) == [IsConstituent([0, 1], "S")]


def test_words_are_sorted_positions():
    assert IsConstituent([3, 1, 1]).words == (1, 3) == NotConstituent(range(1, 4, 2)).words
    for words in ([], "ab", [-1], ["a"], 3, [1.0]):
        with pytest.raises(InputError, match="words are given by their positions"):
            IsConstituent(words)
    for arguments in ((-1,), ("a",), (1, None, 1), (1, None, -2)):
        with pytest.raises(InputError):
            WordHas(*arguments)


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (IsConstituent([0, 1], "NP"), IsConstituent([1, 2]), "neither contains the other"),
        (IsConstituent([0, 1], "NP"), NotConstituent([0, 1]), "contradict"),
        (NotConstituent([0, 1], "NP"), IsConstituent([0, 1], "NP"), "contradict"),
        (IsConstituent([0, 1], "NP", "SBJ"), IsConstituent([0, 1], "NP", "OBJ"), "one function"),
        (WordHas(1, tag="NN"), WordHas(1, tag="VB"), "one tag"),
        (WordHas(1, head=2), WordHas(1, head=0), "one head"),
        (WordHas(1, function="SBJ"), WordHas(1, function="OBJ"), "one function"),
    ],
)
def test_two_constraints_that_conflict_are_named(one, other, reason):
    harmless = IsConstituent([4, 5, 6])
    with pytest.raises(ConstraintError, match=reason) as error:
        check_constraints([harmless, one, other], FORMS)
    assert error.value.constraints == (one, other)


def test_constraints_that_go_together_are_accepted():
    check_constraints(
        [
            IsConstituent([0, 1], "NP", "SBJ"),
            IsConstituent([0, 1], "S", "CLR"),
            IsConstituent([0, 1, 4], "NP"),
            NotConstituent([0, 1], "VP"),
            NotConstituent([1, 2]),
            WordHas(1, tag="NN"),
            WordHas(1, head=2),
            WordHas(2, head=-1),
        ],
        FORMS,
    )
    with pytest.raises(InputError, match="the sentence has only 7 words"):
        check_constraints([WordHas(1, head=7)], FORMS)
    with pytest.raises(TypeError, match="expected an IsConstituent, a NotConstituent or a WordHas, got 'NP'"):
        check_constraints(["NP"], FORMS)


def test_tags_and_functions_are_imposed():
    tree = dt.Tree.parse("(ROOT (S (VP (A 0=a) (B 1=b)) (C 2=c)))")
    constraints = [
        WordHas(0, tag="X", function="HD"),
        IsConstituent([0, 1], "VP", "OC"),
        IsConstituent([0, 1, 2], "S", "Q"),
    ]
    changed = impose(tree, constraints)
    assert changed.tokens[0] == dt.Token("a", "X", function="HD")
    assert [(node.label, node.function) for node in changed.nodes()] == [("ROOT", "--"), ("S", "Q"), ("VP", "OC")]
    assert impose(tree, [IsConstituent([0, 1])]) == tree
