"""Discontinuous Parseval, equal to disco-dop to the digit.

A bracket is a label with the set of words below it. The words and labels that the parameters delete (punctuation, root
symbols) are deleted first, by the gold tree's tags; what is discontinuous is decided after that. Brackets are pooled
over all sentences and counted with their multiplicity: a unary chain X over X counts twice.

    score = evaluate(gold, predicted)
    score.f1, score.discontinuous.f1, score.upto(40).f1
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import NamedTuple, NoReturn

from discotree.errors import EvaluationError
from discotree.evaluation.pairing import paired
from discotree.evaluation.params import PROPER, Params
from discotree.evaluation.score import BracketCounts, Mode, Score, SentenceScore
from discotree.trees.tree import NONE, Tree

_FUNCTION = re.compile(r"[-=]")
NO_BRACKETS = BracketCounts()

Bracket = tuple[str, int]  # label, and mask over the gold tree's positions without deleted words


class Comparison(NamedTuple):
    """Brackets of the gold and predicted tree of one sentence. ``keep`` has a bit for every word not deleted."""

    gold: Tree
    predicted: Tree | None  # None: there is no parse
    keep: int
    gold_brackets: list[Bracket]
    predicted_brackets: list[Bracket]
    gold_functions: list[str]  # one per bracket
    predicted_functions: list[str]


Observer = Callable[[Comparison], None]


def evaluate(
    gold: Iterable[Tree],
    predicted: Iterable[Tree],
    params: Params = PROPER,
    *,
    missing_as_empty: bool = False,
    observe: Observer | None = None,
) -> Score:
    """Compare two streams of trees over the same sentences.

    Sentences are matched by their ids, or by their order where one side has only running numbers (see
    pairing.py). A sentence without counterpart raises an EvaluationError; with ``missing_as_empty`` a missing
    prediction counts as an empty one. ``observe`` is called with every comparison (see analysis.py).
    """
    labels = Labels(params)
    sentences = []
    for position, gold_tree, predicted_tree in paired(gold, predicted, missing_as_empty=missing_as_empty):
        comparison = compare(gold_tree, predicted_tree, params, labels)
        sentences.append((position, _sentence(comparison, params)))
        if observe is not None:
            observe(comparison)
    sentences.sort(key=itemgetter(0))
    mode: Mode = "labelled" if params.labelled else "unlabelled"
    return Score([sentence for _, sentence in sentences], mode, params.disc_only)


class Labels(dict[str, str | None]):
    """Label that a phrase's label counts as, None where it is deleted. Functions after - or = are left out."""

    def __init__(self, params: Params) -> None:
        super().__init__()
        self.params = params

    def __missing__(self, label: str) -> str | None:
        name = label if label.startswith("-") else _FUNCTION.split(label, maxsplit=1)[0] or label
        name = self.params.eq_label.get(name, name)
        self[label] = counted = None if name in self.params.delete_label else name
        return counted


def compare(gold: Tree, predicted: Tree | None, params: Params = PROPER, labels: Labels | None = None) -> Comparison:
    """Return the brackets that count in a gold tree and its prediction."""
    labels = labels if labels is not None else Labels(params)
    eq, deleted, deleted_words = params.eq_label, params.delete_label, params.delete_word
    keep = 0
    bit = 1
    for form, tag, _, _, _ in gold.tokens:
        if eq.get(tag, tag) not in deleted and form not in deleted_words:
            keep |= bit
        bit <<= 1
    if predicted is not None and not _same_words(gold, predicted):
        predicted = _aligned(gold, predicted, keep)
    gold_brackets, gold_functions = _brackets(gold, keep, labels)
    predicted_brackets, predicted_functions = _brackets(predicted, keep, labels) if predicted is not None else ([], [])
    return Comparison(gold, predicted, keep, gold_brackets, predicted_brackets, gold_functions, predicted_functions)


def _brackets(tree: Tree, keep: int, labels: Labels) -> tuple[list[Bracket], list[str]]:
    brackets = []
    functions = []
    for node in tree.nodes():
        label = labels[node.label]
        if label is not None:
            mask = node.mask & keep
            if mask:
                brackets.append((label, mask))
                functions.append(node.function)
    return brackets, functions


def is_discontinuous(mask: int, keep: int) -> bool:
    """Return whether kept words are missing between the first and the last word of the mask."""
    return ((1 << mask.bit_length()) - (mask & -mask)) & keep != mask


def _same_words(gold: Tree, predicted: Tree) -> bool:
    if len(gold) != len(predicted):
        return False
    return all(a[0] == b[0] for a, b in zip(gold.tokens, predicted.tokens, strict=True))


def _aligned(gold: Tree, predicted: Tree, keep: int) -> Tree:
    """Return the prediction on the gold tree's positions; it may leave out words that are deleted anyway.

    As in disco-dop, words are aligned before EQ_WORD applies, which therefore has no effect.
    """
    positions = []
    position = 0
    for token in predicted.tokens:
        while position < len(gold) and gold.tokens[position].form != token.form:
            position += 1
        positions.append(position)
        position += 1
    skipped = set(range(len(gold))).difference(positions)
    if (positions and positions[-1] >= len(gold)) or any(keep >> k & 1 for k in skipped):
        _explain_words(gold, predicted)
    if not skipped:
        return predicted
    token_parents, nodes = predicted.parents()
    by_position = dict(zip(positions, range(len(predicted)), strict=True))
    return Tree.from_parents(
        [predicted.tokens[by_position[k]] if k in by_position else gold.tokens[k] for k in range(len(gold))],
        [token_parents[by_position[k]] if k in by_position else -1 for k in range(len(gold))],
        nodes,
        root=(predicted.root.label, predicted.root.function),
        id=predicted.id,
    )


def _explain_words(gold: Tree, predicted: Tree) -> NoReturn:
    name = gold.id or predicted.id
    for k, (a, b) in enumerate(zip(gold.words, predicted.words, strict=False)):
        if a != b:
            raise EvaluationError(f"sentence {name}: word {k + 1} is {a!r} in the gold file, but {b!r} is predicted")
    raise EvaluationError(f"sentence {name}: {len(gold)} words in the gold file, {len(predicted)} predicted")


def _sentence(comparison: Comparison, params: Params) -> SentenceScore:
    gold, predicted, keep, gold_brackets, predicted_brackets = comparison[:5]
    length = len(gold)
    if params.delete_label_for_length:
        length -= sum(token.tag in params.delete_label_for_length for token in gold.tokens)
    gold_gaps = [b for b in gold_brackets if is_discontinuous(b[1], keep)]
    predicted_gaps = [b for b in predicted_brackets if is_discontinuous(b[1], keep)]
    labelled = match(gold_brackets, predicted_brackets)
    labelled_gaps = match(gold_gaps, predicted_gaps) if gold_gaps or predicted_gaps else NO_BRACKETS
    unlabelled = match([b[1] for b in gold_brackets], [b[1] for b in predicted_brackets])
    unlabelled_gaps = (
        match([b[1] for b in gold_gaps], [b[1] for b in predicted_gaps]) if gold_gaps or predicted_gaps else NO_BRACKETS
    )
    tokens = keep.bit_count()
    correct_tags = 0
    if predicted is not None:
        eq = params.eq_label
        for position, (a, b) in enumerate(zip(gold.tokens, predicted.tokens, strict=True)):
            if keep >> position & 1 and (a[1] == b[1] or eq.get(a[1], a[1]) == eq.get(b[1], b[1])):
                correct_tags += 1
    functions, correct_functions, has_functions = _functions(comparison, labelled.matched)
    return SentenceScore(
        gold.id, length, labelled, unlabelled, labelled_gaps, unlabelled_gaps,
        tokens, correct_tags, functions, correct_functions, has_functions,
    )  # fmt: skip


def match(gold: list[Bracket] | list[int], predicted: list[Bracket] | list[int]) -> BracketCounts:
    """Count brackets, or bare masks; one that both sides have several times matches the smaller number of times."""
    gold_set, predicted_set = set(gold), set(predicted)
    if len(gold_set) == len(gold) or len(predicted_set) == len(predicted):
        matched = len(gold_set & predicted_set)  # a bracket that one side has once matches once
    else:
        matched = (Counter(gold) & Counter(predicted)).total()
    return BracketCounts(len(gold), len(predicted), matched, len(gold_set), len(predicted_set))


def _functions(comparison: Comparison, matched: int) -> tuple[int, int, bool]:
    """Return the number of words and matched brackets, how many have the correct function, and if any was predicted.

    A system that predicts no function in any sentence does not label functions, and gets no score for them.
    """
    gold, predicted, keep = comparison[:3]
    if predicted is None:
        return 0, 0, False
    predicted_functions = [token.function for token in predicted.tokens]
    has_any = not {NONE}.issuperset(predicted_functions) or not {NONE}.issuperset(comparison.predicted_functions)
    if not has_any and {NONE}.issuperset([token.function for token in gold.tokens] + comparison.gold_functions):
        return keep.bit_count() + matched, keep.bit_count() + matched, False
    correct = 0
    for position, function in enumerate(predicted_functions):
        if keep >> position & 1 and gold.tokens[position].function == function:
            correct += 1
    total = keep.bit_count()
    gold_functions: dict[Bracket, list[str]] = {}  # a unary chain of equal brackets has several, from top to bottom
    for bracket, function in zip(comparison.gold_brackets, comparison.gold_functions, strict=True):
        gold_functions.setdefault(bracket, []).append(function)
    for bracket, function in zip(comparison.predicted_brackets, comparison.predicted_functions, strict=True):
        if gold_functions.get(bracket):
            total += 1
            correct += gold_functions[bracket].pop(0) == function
    return total, correct, has_any
