"""Agreement between annotators, on trees whose disagreements are known."""

import math
import random
from dataclasses import replace

import pytest
from support.scoring import noisy
from support.strategies import random_tree

from discotree import Node, Token, Tree, evaluate
from discotree.evaluation.agreement import Agreement, Pairs

WORDS = [Token("saw", "V"), Token("the", "D"), Token("man", "N"), Token("with", "P"), Token("glasses", "N")]
PP = Node("PP", [3, 4], "MO")
HIGH = Tree(tuple(WORDS), Node("ROOT", [Node("VP", [0, Node("NP", [1, 2], "OA"), PP])]), "1")
LOW = Tree(tuple(WORDS), Node("ROOT", [Node("VP", [0, Node("NP", [1, 2, PP], "OA")])]), "1")


def kappa_of(first: str, second: str) -> float:
    pairs = Pairs()
    pairs.counts.update(zip(first, second, strict=True))
    return pairs.kappa


def test_kappa_on_examples_with_known_values() -> None:
    # Cohen's example with 50 decisions: 20 both yes, 5 yes/no, 10 no/yes, 15 both no.
    assert kappa_of("y" * 25 + "n" * 25, "y" * 20 + "n" * 5 + "y" * 10 + "n" * 15) == pytest.approx(0.4)
    assert kappa_of("aabb", "aabb") == pytest.approx(1)
    assert kappa_of("aabb", "abab") == pytest.approx(0)
    assert kappa_of("ab", "ba") == pytest.approx(-1)
    assert math.isnan(kappa_of("aa", "aa"))
    assert math.isnan(kappa_of("", ""))


def test_an_attachment_is_one_disagreement() -> None:
    found = Agreement([HIGH], [LOW])
    assert found.attachments == {("PP", "VP", "NP"): 1}
    assert found.labels == {("NP", "–"): 1, ("–", "NP"): 1}
    assert Agreement([LOW], [HIGH]).attachments == {("PP", "NP", "VP"): 1}


def test_the_same_label_elsewhere_is_another_constituent() -> None:
    tokens = tuple(Token(form, "N") for form in "abcde")
    left = Tree(tokens, Node("ROOT", [Node("X", [0, 1, 2]), Node("X", [3, 4])]), "1")
    right = Tree(tokens, Node("ROOT", [Node("X", [0, 1]), Node("X", [2, 3, 4])]), "1")
    assert Agreement([left], [right]).attachments == {("N", "X", "X"): 1}


def test_equal_trees_agree_in_everything() -> None:
    found = Agreement([HIGH], [HIGH])
    assert (found.score.f1, found.tags.percentage, found.tags.kappa) == (100, 100, 1)
    assert (found.functions.percentage, found.functions.kappa) == (100, 1)
    assert not found.labels
    assert not found.attachments
    assert not found.tags.disagreements


def test_tags_and_functions() -> None:
    tokens = (WORDS[0]._replace(tag="N"), *WORDS[1:])
    object_ = Node("NP", [1, 2], "SB")
    other = replace(HIGH, tokens=tokens, root=Node("ROOT", [Node("VP", [0, object_, PP])]))
    found = Agreement([HIGH], [other])
    assert found.tags.disagreements == {("V", "N"): 1}
    assert found.tags.percentage == 80
    assert found.functions.disagreements == {("OA", "SB"): 1}
    assert found.functions.counts.total() == 5 + 3


def test_functions_that_one_annotator_does_not_give_are_no_disagreements() -> None:
    bare = replace(HIGH, root=Node("ROOT", [Node("VP", [0, Node("NP", [1, 2]), Node("PP", [3, 4])])]))
    found = Agreement([HIGH], [bare])
    assert math.isnan(found.functions.percentage)
    assert math.isnan(found.functions.kappa)
    assert not found.functions.disagreements


def test_the_figures_are_those_of_the_evaluation() -> None:
    rng = random.Random(7)
    first = [replace(random_tree(rng, 9), id=str(k)) for k in range(1, 40)]
    second = [noisy(rng, tree) for tree in first]
    found, score = Agreement(first, second), evaluate(first, second)
    assert found.score.metrics() == score.metrics()
    assert found.tags.percentage == pytest.approx(score.pos_accuracy)
    assert found.labels
    assert found.attachments
    assert Agreement(second, first).score.discontinuous.f1 == pytest.approx(score.discontinuous.f1)
