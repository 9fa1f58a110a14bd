"""Gold against predicted: the marks are what the evaluation counts."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.helpers import tree_of
from support.pictures import FIGURE1, WRONG, some_trees
from support.strategies import random_tree
from support.svgs import groups, parsed, text_of

from discotree import EvaluationError
from discotree.drawing import (
    draw_comparison,
    draw_comparison_text,
    draw_text,
)
from discotree.drawing.comparison import CHANGED, MISSING, SPURIOUS, difference
from discotree.evaluation.parseval import compare, match


@given(st.integers(0, 2**32), st.integers(1, 10))
def test_what_differs_is_what_the_evaluator_counts(seed, size):
    rng = random.Random(seed)
    gold, predicted = random_tree(rng, size), random_tree(rng, size)
    comparison = compare(gold, predicted)
    counts = match(comparison.gold_brackets, comparison.predicted_brackets)
    _, *marks = difference(gold, predicted)
    ours, theirs = (Counter(of_tree[size:]) for of_tree in marks)
    assert ours[MISSING] + ours[CHANGED] == counts.gold - counts.matched
    assert theirs[SPURIOUS] + theirs[CHANGED] == counts.predicted - counts.matched
    assert ours[CHANGED] == theirs[CHANGED]
    assert not ours[SPURIOUS]
    assert not theirs[MISSING]
    same = match([mask for _, mask in comparison.gold_brackets], [mask for _, mask in comparison.predicted_brackets])
    assert counts.matched + ours[CHANGED] == same.matched
    picture = parsed(draw_comparison(gold, predicted))
    drawn = Counter(group.get("class").split()[-1] for group in groups(picture, "node"))
    assert drawn[MISSING] == ours[MISSING]
    assert drawn[SPURIOUS] == theirs[SPURIOUS]
    assert drawn[CHANGED] == ours[CHANGED] + theirs[CHANGED]
    assert len(groups(picture, "word")) == size


@given(some_trees)
def test_a_tree_does_not_differ_from_itself(tree):
    assert set(difference(tree, tree)[1] + difference(tree, tree)[2]) == {""}
    text = draw_comparison_text(tree, tree)
    assert text == f"gold\n{draw_text(tree)}\n\npredicted\n{draw_text(tree)}"


def test_a_prediction_may_leave_out_punctuation():
    short = tree_of("(ROOT (S (PPER 0=Es) (VVFIN 1=kam) (NP (PIS 2=nichts) (NN 3=Interessantes))))")
    picture = parsed(draw_comparison(FIGURE1, short))
    assert len(groups(picture, "word")) == 5
    assert len(groups(picture, MISSING)) == 1


def test_trees_over_different_words_cannot_be_compared():
    with pytest.raises(EvaluationError, match="word 1 is 'Es'"):
        draw_comparison(FIGURE1, tree_of("(ROOT (a 0=a) (b 1=b) (c 2=c) (d 3=d) (e 4=e))"))


def test_a_word_is_not_taken_for_markup():
    gold = tree_of('(ROOT (A 0="word") (B 1=</g>))')
    picture = parsed(draw_comparison(gold, tree_of('(ROOT (C 0="word") (B 1=</g>))')))
    assert [text_of(group, "form").text for group in groups(picture, "word")] == ['"word"', "</g>"]
    assert [group.get("class") for group in groups(picture, CHANGED)] == ["word changed", "predicted changed"]


def test_comparisons_in_ascii():
    text = draw_comparison_text(FIGURE1, WRONG, ascii=True)
    assert text.isascii()
    assert "-NP" in text
    assert "~AP" in text
