"""Gold against predicted in one picture: both trees over the same words, and what differs is marked.

Constituents are matched as the evaluator does it, by their label and the set of their words, after what the parameters
delete is deleted. What is in one tree only is missing or spurious; where both have a constituent over the same words
under different names, it has changed. What the evaluator does not count has no mark.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from discotree.drawing.letters import ems
from discotree.drawing.markup import SIZES, Picture, Theme, text_at
from discotree.drawing.sheet import Sheet, spread
from discotree.drawing.svg import Side, caption, top_of
from discotree.drawing.text import draw_text
from discotree.evaluation.params import PROPER, Params
from discotree.evaluation.parseval import Bracket, Labels, compare
from discotree.trees.tree import Tree

MISSING, SPURIOUS, CHANGED = "missing", "spurious", "changed"
SIGNS = {"": "", MISSING: "−", SPURIOUS: "+", CHANGED: "≠"}
ASCII_SIGNS = {"": "", MISSING: "-", SPURIOUS: "+", CHANGED: "~"}
LEGEND = "gold above, predicted below · − missing · + spurious · ≠ another label"
LINE = 20  # for the legend
APART = 22  # the words and what is below them


class Difference(NamedTuple):
    """Two trees over the same words, and for every address of each the mark of what stands there."""

    gold: Tree
    predicted: Tree
    gold_marks: list[str]
    predicted_marks: list[str]


def difference(gold: Tree, predicted: Tree, params: Params = PROPER) -> Difference:
    """Compare two trees; trees over different words are an EvaluationError."""
    labels = Labels(params)
    comparison = compare(gold, predicted, params, labels)
    predicted = comparison.predicted or predicted  # has the words back that it may leave out
    ours, theirs = [_brackets(tree, comparison.keep, labels) for tree in (gold, predicted)]
    missing, spurious = _unmatched(ours, theirs), _unmatched(theirs, ours)
    tags = [
        CHANGED if comparison.keep >> k & 1 and a.tag != b.tag else ""
        for k, (a, b) in enumerate(zip(gold.tokens, predicted.tokens, strict=True))
    ]
    gold_marks = [MISSING if k in missing else "" for k in range(len(ours))]
    predicted_marks = [SPURIOUS if k in spurious else "" for k in range(len(theirs))]
    waiting: dict[int, list[int]] = defaultdict(list)
    for k in spurious:
        waiting[_mask(theirs[k])].append(k)
    for k in missing:
        if others := waiting[_mask(ours[k])]:
            gold_marks[k] = predicted_marks[others.pop(0)] = CHANGED
    return Difference(gold, predicted, tags + gold_marks, tags + predicted_marks)


def _brackets(tree: Tree, keep: int, labels: Labels) -> list[Bracket | None]:
    """What each node counts as, None where it does not count."""
    brackets: list[Bracket | None] = []
    for node in tree.nodes():
        label, mask = labels[node.label], node.mask & keep
        brackets.append((label, mask) if label is not None and mask else None)
    return brackets


def _mask(bracket: Bracket | None) -> int:
    return bracket[1] if bracket else 0


def _unmatched(brackets: Sequence[Bracket | None], others: Sequence[Bracket | None]) -> list[int]:
    """Which of the brackets the others do not have; of a chain of equal ones the upper ones match."""
    left = Counter(others)
    unmatched = []
    for k, bracket in enumerate(brackets):
        if bracket is None:
            continue
        if left[bracket]:
            left[bracket] -= 1
        else:
            unmatched.append(k)
    return unmatched


def draw_comparison(
    gold: Tree,
    predicted: Tree,
    params: Params = PROPER,
    *,
    functions: bool = True,
    theme: Theme = "auto",
    style: bool = True,
) -> str:
    """Draw the gold tree above the words and the predicted one, upside down, below them, as SVG."""
    gold, predicted, *marks = difference(gold, predicted, params)
    above, below = (
        Sheet.of(tree, SIZES, functions, [SIGNS[mark] for mark in of_tree])
        for tree, of_tree in zip((gold, predicted), marks, strict=True)
    )
    places, width = spread([above, below], SIZES)
    upper = Side(above, places, LINE + top_of(above))
    forms_at = upper.words_at + (SIZES.below if above.has_tags else 0)
    lower = Side(below, places, forms_at + APART, up=-1)
    n = len(gold)
    tags = [
        f'<g class="{f"predicted {mark}".strip()}" data-position="{k}">{lower.tag(k)}</g>'
        for k, mark in enumerate(marks[1][:n])
    ]
    legend = text_at("caption", SIZES.margin, SIZES.margin, SIZES.tag, LEGEND)
    elements = [legend, '<g class="gold">', *upper.constituents(marks[0][n:]), "</g>", *upper.words(marks[0][:n])]
    elements += ['<g class="predicted">', *lower.constituents(marks[1][n:]), "</g>", *tags]
    height = lower.words_at + top_of(below)
    width = max(width, math.ceil(SIZES.tag * ems(LEGEND)) + 2 * SIZES.margin)
    description = f"gold: {gold!s} predicted: {predicted!s}"
    return Picture(caption(gold), description, width, height, elements).svg(theme, style)


def draw_comparison_text(
    gold: Tree,
    predicted: Tree,
    params: Params = PROPER,
    *,
    ascii: bool = False,
    color: bool = False,
    width: int | None = None,
    functions: bool = False,
) -> str:
    """Draw both trees as lines of text, one below the other, with a sign in front of every label that differs."""
    gold, predicted, gold_marks, predicted_marks = difference(gold, predicted, params)
    signs = ASCII_SIGNS if ascii else SIGNS
    parts = []
    for name, tree, marks in (("gold", gold, gold_marks), ("predicted", predicted, predicted_marks)):
        marked = _renamed(tree, [signs[mark] for mark in marks])
        parts.append(f"{name}\n{draw_text(marked, ascii=ascii, color=color, width=width, functions=functions)}")
    return "\n\n".join(parts)


def _renamed(tree: Tree, signs: Sequence[str]) -> Tree:
    """The tree with signs in front of tags and labels, by address."""
    n = len(tree)
    token_parents, nodes = tree.parents()
    marked = [
        (sign + label, function, parent) for sign, (label, function, parent) in zip(signs[n + 1 :], nodes, strict=True)
    ]
    tokens = [token._replace(tag=sign + token.tag) for sign, token in zip(signs, tree.tokens, strict=False)]
    root = (signs[n] + tree.root.label, tree.root.function)
    return replace(tree, tokens=tuple(tokens), root=Tree.from_parents(tokens, token_parents, marked, root=root).root)
