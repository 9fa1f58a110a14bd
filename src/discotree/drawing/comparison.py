"""Draw a gold and a predicted tree in one picture, and mark the differences.

Constituents are matched as in the evaluation: by label and words, after the words and labels that ``proper.prm``
deletes have been removed. A constituent of only one tree is missing or spurious; one with the same words and a
different label is changed. Constituents that the evaluation ignores have no mark.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from discotree.drawing.measure import LabelledGrid, column_xs, ems
from discotree.drawing.options import Figure
from discotree.drawing.svg import SIZES, DrawnTree, Pen, Theme, caption, words_y_below
from discotree.drawing.text import draw_text
from discotree.evaluation.params import PROPER
from discotree.evaluation.parseval import Bracket, Labels, compare
from discotree.trees.tree import Tree

MISSING, SPURIOUS, CHANGED = "missing", "spurious", "changed"
SIGNS = {"": "", MISSING: "−", SPURIOUS: "+", CHANGED: "≠"}
ASCII_SIGNS = {"": "", MISSING: "-", SPURIOUS: "+", CHANGED: "~"}
LEGEND = "gold above, predicted below · − missing · + spurious · ≠ another label"
LEGEND_HEIGHT = 20
WORD_HEIGHT = 22  # from the words to the predicted tags below them


def difference(gold: Tree, predicted: Tree) -> tuple[Tree, list[str], list[str]]:
    """Return the predicted tree over the gold words, and the marks of the cells of both trees, by address.

    Trees over different words raise an EvaluationError.
    """
    labels = Labels(PROPER)
    comparison = compare(gold, predicted, PROPER, labels)
    predicted = comparison.predicted or predicted  # aligned: includes the deleted words that it left out
    gold_brackets, predicted_brackets = [_brackets(tree, comparison.keep, labels) for tree in (gold, predicted)]
    missing = _unmatched(gold_brackets, predicted_brackets)
    spurious = _unmatched(predicted_brackets, gold_brackets)
    tags = [
        CHANGED if comparison.keep >> k & 1 and a.tag != b.tag else ""
        for k, (a, b) in enumerate(zip(gold.tokens, predicted.tokens, strict=True))
    ]
    gold_marks = [MISSING if k in missing else "" for k in range(len(gold_brackets))]
    predicted_marks = [SPURIOUS if k in spurious else "" for k in range(len(predicted_brackets))]
    candidates: dict[int, list[int]] = defaultdict(list)
    for k in spurious:
        candidates[predicted_brackets[k][1]].append(k)
    for k in missing:
        if others := candidates[gold_brackets[k][1]]:
            gold_marks[k] = predicted_marks[others.pop(0)] = CHANGED
    return predicted, tags + gold_marks, tags + predicted_marks


def _brackets(tree: Tree, keep: int, labels: Labels) -> list[Bracket]:
    """Return the bracket of each node; its mask is 0 if it does not count."""
    counted = [(labels[node.label], node.mask & keep) for node in tree.nodes()]
    return [("", 0) if label is None else (label, mask) for label, mask in counted]


def _unmatched(brackets: Sequence[Bracket], others: Sequence[Bracket]) -> list[int]:
    """Return the indices of brackets without a match; in a unary chain of equal ones the upper ones match first."""
    remaining = Counter(others)
    unmatched = []
    for k, bracket in enumerate(brackets):
        if remaining[bracket]:
            remaining[bracket] -= 1
        elif bracket[1]:
            unmatched.append(k)
    return unmatched


def draw_comparison(
    gold: Tree,
    predicted: Tree,
    *,
    functions: bool = True,
    theme: Theme = "auto",
    style: bool = True,
) -> str:
    """Draw the gold tree above the words and the predicted one upside down below them, as SVG."""
    predicted, *marks = difference(gold, predicted)
    pen = Pen(theme, style)
    above, below = (
        LabelledGrid.measure(Figure.from_tree(tree), SIZES, functions, [SIGNS[mark] for mark in tree_marks])
        for tree, tree_marks in zip((gold, predicted), marks, strict=True)
    )
    xs, width = column_xs([above, below], SIZES)
    upper = DrawnTree(above, xs, LEGEND_HEIGHT + words_y_below(above), pen)
    forms_y = upper.words_y + (SIZES.below if above.has_tag_row else 0)
    lower = DrawnTree(below, xs, forms_y + WORD_HEIGHT, pen, up=-1)
    n = len(gold)
    tags = [
        f'<g class="{f"predicted {mark}".strip()}" data-position="{k}">{lower.tag(k, mark)}</g>'
        for k, mark in enumerate(marks[1][:n])
    ]
    legend = pen.text("caption", SIZES.margin, SIZES.margin, LEGEND)
    elements = [legend, '<g class="gold">', *upper.constituents(marks[0][n:]), "</g>", *upper.words(marks[0][:n])]
    elements += ['<g class="predicted">', *lower.constituents(marks[1][n:]), "</g>", *tags]
    height = lower.words_y + words_y_below(below)
    width = max(width, math.ceil(SIZES.tag * ems(LEGEND)) + 2 * SIZES.margin)
    description = f"gold: {gold!s} predicted: {predicted!s}"
    return pen.picture(caption(gold), description, width, height, elements)


def draw_comparison_text(
    gold: Tree,
    predicted: Tree,
    *,
    ascii: bool = False,
    color: bool = False,
    width: int | None = None,
    functions: bool = False,
    names: tuple[str, str] = ("gold", "predicted"),
) -> str:
    """Draw both trees as text, one below the other under their names, with a sign before every label that differs."""
    predicted, gold_marks, predicted_marks = difference(gold, predicted)
    signs = ASCII_SIGNS if ascii else SIGNS
    parts = []
    for name, tree, marks in zip(names, (gold, predicted), (gold_marks, predicted_marks), strict=True):
        marked = _prefix_labels(tree, [signs[mark] for mark in marks])
        parts.append(f"{name}\n{draw_text(marked, ascii=ascii, color=color, width=width, functions=functions)}")
    return "\n\n".join(parts)


def _prefix_labels(tree: Tree, signs: Sequence[str]) -> Tree:
    """Return the tree with signs in front of tags and labels, by address."""
    n = len(tree)
    token_parents, nodes = tree.parents()
    marked = [
        (sign + label, function, parent) for sign, (label, function, parent) in zip(signs[n + 1 :], nodes, strict=True)
    ]
    tokens = [token._replace(tag=sign + token.tag) for sign, token in zip(signs, tree.tokens, strict=False)]
    root = (signs[n] + tree.root.label, tree.root.function)
    return replace(tree, tokens=tuple(tokens), root=Tree.from_parents(tokens, token_parents, marked, root=root).root)
