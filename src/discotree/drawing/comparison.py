"""Gold against predicted tree in one picture, with the differences marked.

Constituents are matched as in the evaluation: by label and words, after the words and labels that the parameters delete
are deleted. A constituent of one tree only is missing or spurious; one with the same words but another label is
changed. What the evaluation does not count has no mark.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from discotree.drawing.drawn_tree import DrawnTree, words_y_below
from discotree.drawing.figure import Figure
from discotree.drawing.glyphs import ems
from discotree.drawing.labelled_grid import LabelledGrid, column_xs
from discotree.drawing.markup import SIZES, Picture, Theme, text_at
from discotree.drawing.svg import caption
from discotree.drawing.text import draw_text
from discotree.evaluation.params import PROPER, Params
from discotree.evaluation.parseval import Bracket, Labels, compare
from discotree.trees.tree import Tree

MISSING, SPURIOUS, CHANGED = "missing", "spurious", "changed"
SIGNS = {"": "", MISSING: "−", SPURIOUS: "+", CHANGED: "≠"}
ASCII_SIGNS = {"": "", MISSING: "-", SPURIOUS: "+", CHANGED: "~"}
LEGEND = "gold above, predicted below · − missing · + spurious · ≠ another label"
LEGEND_HEIGHT = 20
WORD_HEIGHT = 22  # from the words to the predicted tags below them


class Difference(NamedTuple):
    """Two trees over the same words, and the marks of their cells by address."""

    gold: Tree
    predicted: Tree
    gold_marks: list[str]
    predicted_marks: list[str]


def difference(gold: Tree, predicted: Tree, params: Params = PROPER) -> Difference:
    """Compare two trees; trees over different words raise an EvaluationError."""
    labels = Labels(params)
    comparison = compare(gold, predicted, params, labels)
    predicted = comparison.predicted or predicted  # aligned: with the deleted words that it left out
    ours, theirs = [_brackets(tree, comparison.keep, labels) for tree in (gold, predicted)]
    missing, spurious = _unmatched(ours, theirs), _unmatched(theirs, ours)
    tags = [
        CHANGED if comparison.keep >> k & 1 and a.tag != b.tag else ""
        for k, (a, b) in enumerate(zip(gold.tokens, predicted.tokens, strict=True))
    ]
    gold_marks = [MISSING if k in missing else "" for k in range(len(ours))]
    predicted_marks = [SPURIOUS if k in spurious else "" for k in range(len(theirs))]
    candidates: dict[int, list[int]] = defaultdict(list)
    for k in spurious:
        candidates[_mask(theirs[k])].append(k)
    for k in missing:
        if others := candidates[_mask(ours[k])]:
            gold_marks[k] = predicted_marks[others.pop(0)] = CHANGED
    return Difference(gold, predicted, tags + gold_marks, tags + predicted_marks)


def _brackets(tree: Tree, keep: int, labels: Labels) -> list[Bracket | None]:
    """Return the bracket of each node, None where it does not count."""
    brackets: list[Bracket | None] = []
    for node in tree.nodes():
        label, mask = labels[node.label], node.mask & keep
        brackets.append((label, mask) if label is not None and mask else None)
    return brackets


def _mask(bracket: Bracket | None) -> int:
    return bracket[1] if bracket else 0


def _unmatched(brackets: Sequence[Bracket | None], others: Sequence[Bracket | None]) -> list[int]:
    """Return the indices of brackets that the others lack; in a chain of equal ones the upper ones match."""
    remaining = Counter(others)
    unmatched = []
    for k, bracket in enumerate(brackets):
        if bracket is None:
            continue
        if remaining[bracket]:
            remaining[bracket] -= 1
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
    """Draw the gold tree above the words and the predicted one upside down below them, as SVG."""
    gold, predicted, *marks = difference(gold, predicted, params)
    above, below = (
        LabelledGrid.of(Figure.of(tree), SIZES, functions, [SIGNS[mark] for mark in of_tree])
        for tree, of_tree in zip((gold, predicted), marks, strict=True)
    )
    xs, width = column_xs([above, below], SIZES)
    upper = DrawnTree(above, xs, LEGEND_HEIGHT + words_y_below(above))
    forms_y = upper.words_y + (SIZES.below if above.has_tag_row else 0)
    lower = DrawnTree(below, xs, forms_y + WORD_HEIGHT, up=-1)
    n = len(gold)
    tags = [
        f'<g class="{f"predicted {mark}".strip()}" data-position="{k}">{lower.tag(k)}</g>'
        for k, mark in enumerate(marks[1][:n])
    ]
    legend = text_at("caption", SIZES.margin, SIZES.margin, SIZES.tag, LEGEND)
    elements = [legend, '<g class="gold">', *upper.constituents(marks[0][n:]), "</g>", *upper.words(marks[0][:n])]
    elements += ['<g class="predicted">', *lower.constituents(marks[1][n:]), "</g>", *tags]
    height = lower.words_y + words_y_below(below)
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
    """Draw both trees as text, one below the other, with a sign before every label that differs."""
    gold, predicted, gold_marks, predicted_marks = difference(gold, predicted, params)
    signs = ASCII_SIGNS if ascii else SIGNS
    parts = []
    for name, tree, marks in (("gold", gold, gold_marks), ("predicted", predicted, predicted_marks)):
        marked = _renamed(tree, [signs[mark] for mark in marks])
        parts.append(f"{name}\n{draw_text(marked, ascii=ascii, color=color, width=width, functions=functions)}")
    return "\n\n".join(parts)


def _renamed(tree: Tree, signs: Sequence[str]) -> Tree:
    """Return the tree with signs in front of tags and labels, by address."""
    n = len(tree)
    token_parents, nodes = tree.parents()
    marked = [
        (sign + label, function, parent) for sign, (label, function, parent) in zip(signs[n + 1 :], nodes, strict=True)
    ]
    tokens = [token._replace(tag=sign + token.tag) for sign, token in zip(signs, tree.tokens, strict=False)]
    root = (signs[n] + tree.root.label, tree.root.function)
    return replace(tree, tokens=tuple(tokens), root=Tree.from_parents(tokens, token_parents, marked, root=root).root)
