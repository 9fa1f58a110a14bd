"""Discontinuous Parseval, equal to disco-dop to the digit.

A bracket is a label with the set of words below it. The words and labels that the parameters delete (punctuation, root
symbols) are deleted first, by the gold tree's tags, and gaps are determined after that. Brackets are pooled over all
sentences and counted with their multiplicity: a unary chain X over X counts twice.

A ``Score`` holds the counts of its sentences, so scores of several files can be added with ``+``. Metrics are
percentages. As in disco-dop they are nan if one side has no brackets, or if nothing matches.

    score = evaluate(gold, predicted)
    score.f1, score.discontinuous.f1, score.upto(40).f1
"""

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat, zip_longest
from operator import itemgetter
from os import PathLike
from typing import Literal, NamedTuple

from discotree.errors import EvaluationError, list_some
from discotree.evaluation.params import PROPER, Params
from discotree.treebanks.source import RunningNumber
from discotree.trees.tree import FUNCTION, NONE, NodeColumns, Tree, node_columns, token_columns

Mode = Literal["labelled", "unlabelled"]


class BracketCounts(NamedTuple):
    """Numbers of brackets in one sentence or many: with their multiplicity, and distinct ones."""

    gold: int = 0
    predicted: int = 0
    matched: int = 0
    gold_distinct: int = 0
    predicted_distinct: int = 0

    @property
    def precision(self) -> float:
        return percent(self.matched, self.predicted)

    @property
    def recall(self) -> float:
        return percent(self.matched, self.gold)

    @property
    def f1(self) -> float:
        if not self.matched or not self.gold or not self.predicted:
            return math.nan
        return 200 * self.matched / (self.gold + self.predicted)


class SentenceScore(NamedTuple):
    """Counts of one sentence, in all modes."""

    id: str
    length: int
    labelled: BracketCounts
    unlabelled: BracketCounts
    labelled_discontinuous: BracketCounts
    unlabelled_discontinuous: BracketCounts
    tokens: int  # words that are not deleted
    correct_tags: int
    functions: int  # words that are not deleted, and matched brackets
    correct_functions: int
    has_functions: bool  # the prediction has at least one function
    lemmas: int  # words that are not deleted, with a gold lemma
    correct_lemmas: int
    has_lemmas: bool  # the prediction has at least one lemma

    def counts(self, mode: Mode, discontinuous: bool) -> BracketCounts:
        if discontinuous:
            return self.labelled_discontinuous if mode == "labelled" else self.unlabelled_discontinuous
        return self.labelled if mode == "labelled" else self.unlabelled


_NO_BRACKETS = BracketCounts()


def percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else math.nan


@dataclass
class Score:
    """Metrics over sentences in one mode; ``discontinuous`` and ``unlabelled`` switch to another."""

    sentences: list[SentenceScore] = field(default_factory=list)
    mode: Mode = "labelled"
    disc_only: bool = False

    def __add__(self, other: "Score") -> "Score":
        if (self.mode, self.disc_only) != (other.mode, other.disc_only):
            raise EvaluationError("cannot add scores of different modes (labelled or unlabelled, discontinuous or all)")
        return Score(self.sentences + other.sentences, self.mode, self.disc_only)

    def __radd__(self, other: int) -> "Score":
        """Support sum(), which starts with 0."""
        return self if other == 0 else NotImplemented

    @property
    def discontinuous(self) -> "Score":
        """The score of discontinuous constituents only."""
        return Score(self.sentences, self.mode, True)

    @property
    def unlabelled(self) -> "Score":
        """The score without regard to labels."""
        return Score(self.sentences, "unlabelled", self.disc_only)

    def upto(self, length: int) -> "Score":
        """Return the score of sentences of at most ``length`` words."""
        return Score([s for s in self.sentences if s.length <= length], self.mode, self.disc_only)

    @property
    def counts(self) -> BracketCounts:
        """Brackets of all sentences together."""
        return total(sentence.counts(self.mode, self.disc_only) for sentence in self.sentences)

    @property
    def gold(self) -> int:
        """Number of brackets in the gold trees."""
        return self.counts.gold

    @property
    def predicted(self) -> int:
        """Number of brackets in the predicted trees."""
        return self.counts.predicted

    @property
    def matched(self) -> int:
        """Number of brackets in both."""
        return self.counts.matched

    @property
    def precision(self) -> float:
        """Percentage of the predicted brackets that are correct."""
        return self.counts.precision

    @property
    def recall(self) -> float:
        """Percentage of the gold brackets that are found."""
        return self.counts.recall

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, the usual metric."""
        return self.counts.f1

    @property
    def counted(self) -> list[SentenceScore]:
        """Sentences that count: all, or those with a discontinuous constituent on either side."""
        if not self.disc_only:
            return self.sentences
        return [s for s in self.sentences if (c := s.counts(self.mode, True)).gold or c.predicted]

    @property
    def longest(self) -> int:
        """Number of words in the longest sentence."""
        return max((sentence.length for sentence in self.sentences), default=0)

    @property
    def exact_match(self) -> float:
        """Percentage of the counted sentences with all brackets correct."""
        counts = [s.counts(self.mode, self.disc_only) for s in self.counted]
        return percent(sum(c.gold == c.predicted == c.matched for c in counts), len(counts))

    @property
    def pos_accuracy(self) -> float:
        """Percentage of the words that are not deleted with the correct tag, in the counted sentences."""
        return percent(sum(s.correct_tags for s in self.counted), sum(s.tokens for s in self.counted))

    @property
    def function_accuracy(self) -> float:
        """Percentage of the words and matched brackets with the correct function; nan if no prediction has any."""
        if not any(s.has_functions for s in self.sentences):
            return math.nan
        return percent(sum(s.correct_functions for s in self.counted), sum(s.functions for s in self.counted))

    @property
    def lemma_accuracy(self) -> float:
        """Percentage of the words with a gold lemma that have it; nan if no gold tree or no prediction has lemmas."""
        if not any(s.has_lemmas for s in self.sentences):
            return math.nan
        return percent(sum(s.correct_lemmas for s in self.counted), sum(s.lemmas for s in self.counted))

    def metrics(self) -> dict[str, float | int | None]:
        """Return all metrics by name, with None for nan."""
        counts = self.counts
        values = {
            "sentences": len(self.counted),
            "longest_sentence": self.longest,
            "gold": counts.gold,
            "predicted": counts.predicted,
            "matched": counts.matched,
            "gold_distinct": counts.gold_distinct,
            "predicted_distinct": counts.predicted_distinct,
            "precision": counts.precision,
            "recall": counts.recall,
            "f1": counts.f1,
            "exact_match": self.exact_match,
            "pos_accuracy": self.pos_accuracy,
            "function_accuracy": self.function_accuracy,
            "lemma_accuracy": self.lemma_accuracy,
        }
        return {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in values.items()}


def total(counts: Iterable[BracketCounts]) -> BracketCounts:
    columns = list(zip(*counts, strict=True))
    return BracketCounts(*map(sum, columns)) if columns else BracketCounts()


Row = tuple[int, Tree | None, Tree | None]  # position, and the gold and the predicted tree there


def pair_trees(
    gold: Iterable[Tree], predicted: Iterable[Tree], *, missing_as_empty: bool = False
) -> Iterator[tuple[int, Tree, Tree | None]]:
    """Yield gold trees with their positions and predictions, matched by id or by order.

    Trees are matched by order if one side has only running numbers. A reader numbers the trees if a format has no ids,
    and parsers write such numbers as ids (``#BOS 1``, ``#BOS 2``), so numbers from 1 or 0 say nothing about the other
    file. If the numbers could also be real ids, the words decide.

    Only trees that wait for a counterpart stay in memory. While one side has only running numbers, this applies to all
    trees from the first difference.
    """
    gold_waiting: dict[str, tuple[int, Tree]] = {}
    predicted_waiting: dict[str, Tree] = {}

    def match_by_id(position: int, gold: Tree | None, predicted: Tree | None) -> Iterator[tuple[int, Tree, Tree]]:
        if gold is not None:
            if gold.id in gold_waiting:
                raise EvaluationError(f"duplicate sentence id {gold.id!r} in the gold file")
            if gold.id in predicted_waiting:
                yield position, gold, predicted_waiting.pop(gold.id)
            else:
                gold_waiting[gold.id] = (position, gold)
        if predicted is not None:
            if predicted.id in predicted_waiting:
                raise EvaluationError(f"duplicate sentence id {predicted.id!r} in the predicted file")
            if predicted.id in gold_waiting:
                yield *gold_waiting.pop(predicted.id), predicted
            else:
                predicted_waiting[predicted.id] = predicted

    held: list[Row] = []
    counting = {"gold": True, "predicted": True}  # sides with nothing but running numbers so far
    for position, (g, p) in enumerate(zip_longest(gold, predicted), 1):
        counting["gold"] &= g is None or _is_number(g.id, position)
        counting["predicted"] &= p is None or _is_number(p.id, position)
        if g is not None and p is not None and (g.id == p.id or _is_nameless(g, position) or _is_nameless(p, position)):
            yield position, g, p
            continue
        held.append((position, g, p))
        if not any(counting.values()):
            for row in held:
                yield from match_by_id(*row)
            held.clear()
    by_order = _matches_by_order(held)
    for position, g, p in held:
        if by_order and g is not None and p is not None:
            yield position, g, p
        else:
            yield from match_by_id(position, g, p)
    if predicted_waiting:
        raise EvaluationError(
            f"{len(predicted_waiting):,} predicted sentences are not in the gold file: {list_some(predicted_waiting)}",
            "--common leaves them out",
        )
    if gold_waiting and not missing_as_empty:
        raise EvaluationError(
            f"{len(gold_waiting):,} gold sentences have no prediction: {list_some(gold_waiting)}",
            "--missing-as-empty counts them as empty parses, --common leaves them out",
        )
    for position, tree in gold_waiting.values():
        yield position, tree, None


def common_trees(files: Sequence[Iterable[Tree]]) -> list[tuple[Tree, ...]]:
    """Return the sentences that are in all files, in the order of the first file and with its ids.

    Sentences are matched by id and words, then by words alone, then by id alone if only some words are left out. A
    numeric id may be just the number of the sentence in its file, so it is not enough without the words.
    """
    rows: list[tuple[Tree, ...]] = [(tree,) for tree in files[0]]
    for file in files[1:]:
        unmatched = list(file)
        pairs: dict[int, Tree] = {}
        for key in (lambda t: (t.id, t.words), lambda t: t.words, lambda t: t.words if t.id.isdecimal() else t.id):
            waiting: dict[object, deque[Tree]] = {}
            for tree in unmatched:
                waiting.setdefault(key(tree), deque()).append(tree)
            for k, (gold, *_) in enumerate(rows):
                if k not in pairs and (found := waiting.get(key(gold))) and _agree(gold, found[0]):
                    pairs[k] = found.popleft()
            unmatched = [tree for queue in waiting.values() for tree in queue]
        rows = [(*row, replace(pairs[k], id=row[0].id)) for k, row in enumerate(rows) if k in pairs]
    return rows


def _is_nameless(tree: Tree, position: int) -> bool:
    """Return whether a reader made up the id because the file has none."""
    return not tree.id or (isinstance(tree.id, RunningNumber) and tree.id == str(position))


def _is_number(id: str, position: int) -> bool:
    return not id or isinstance(id, RunningNumber) or id in (str(position), str(position - 1))


def _matches_by_order(rows: list[Row]) -> bool:
    """Return whether to match these trees by order instead of id; one side has only running numbers."""
    gold = {g.id: g for _, g, _ in rows if g is not None}
    predicted = {p.id: p for _, _, p in rows if p is not None}
    shared = gold.keys() & predicted.keys()
    if not shared:
        return True
    if len(shared) == len(predicted) and all(_agree(gold[id], predicted[id]) for id in shared):
        return False
    return all(_agree(g, p) for _, g, p in rows if g is not None and p is not None)


def _agree(gold: Tree, predicted: Tree) -> bool:
    """Return whether the predicted words are among the gold words, in their order; deleted ones may be left out."""
    if gold.words == predicted.words:
        return True
    remaining = iter(gold.words)
    return all(word in remaining for word in predicted.words)


_FUNCTION = re.compile(r"[-=]")
_NOTHING = frozenset({NONE})

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
    """Return the Score of predicted trees against gold trees of the same sentences.

    Sentences are matched by id, or by order if one side has only running numbers (see ``pair_trees``). A sentence
    without counterpart raises an EvaluationError; with ``missing_as_empty`` a missing prediction counts as an empty
    one. ``params`` are those of the evaluator, and ``observe`` is called with every comparison (see analysis.py).
    Example: ``dt.evaluate([tree], [tree]).f1``.
    """
    if any(isinstance(trees, Tree | str | PathLike) for trees in (gold, predicted)):
        raise TypeError("expected two iterables of trees: pass [tree] for a single tree, and dt.read(path) for a file")
    labels = Labels(params)
    sentences = []
    for position, gold_tree, predicted_tree in pair_trees(gold, predicted, missing_as_empty=missing_as_empty):
        comparison = compare(gold_tree, predicted_tree, params, labels)
        sentences.append((position, _score_sentence(comparison, params)))
        if observe is not None:
            observe(comparison)
    sentences.sort(key=itemgetter(0))
    mode: Mode = "labelled" if params.labelled else "unlabelled"
    return Score([sentence for _, sentence in sentences], mode, params.disc_only)


class Labels(dict[str, str | None]):
    """Map the label of a phrase to the label that counts, None if it is deleted. Functions after - or = are removed."""

    def __init__(self, params: Params) -> None:
        super().__init__()
        self.params = params
        eq, deleted = params.eq_label, params.delete_label
        self.deleted_tags = {tag for tag in {*deleted, *eq} if eq.get(tag, tag) in deleted}

    def __missing__(self, label: str) -> str | None:
        name = label if label.startswith("-") else _FUNCTION.split(label, maxsplit=1)[0] or label
        name = self.params.eq_label.get(name, name)
        self[label] = counted = None if name in self.params.delete_label else name
        return counted


def compare(gold: Tree, predicted: Tree | None, params: Params = PROPER, labels: Labels | None = None) -> Comparison:
    """Return the brackets that count in a gold tree and its prediction."""
    labels = labels if labels is not None else Labels(params)
    words, tags, *_ = token_columns(gold)
    keep = (1 << len(words)) - 1
    delete_tags, delete_words = labels.deleted_tags, params.delete_word
    pairs = zip(words, tags, strict=True)
    for position in [k for k, (word, tag) in enumerate(pairs) if tag in delete_tags or word in delete_words]:
        keep ^= 1 << position
    if predicted is not None and words != token_columns(predicted)[0]:
        predicted = _align(gold, predicted, keep)
    gold_columns = node_columns(gold)
    gold_brackets, gold_functions = brackets = _brackets(gold_columns, keep, labels)
    if predicted is None:
        brackets = [], []
    elif (columns := node_columns(predicted)) != gold_columns:
        brackets = _brackets(columns, keep, labels)
    return Comparison(gold, predicted, keep, gold_brackets, brackets[0], gold_functions, brackets[1])


def _brackets(columns: NodeColumns, keep: int, labels: Labels) -> tuple[list[Bracket], list[str]]:
    names, functions, masks = columns
    brackets = [
        (label, kept)
        for label, mask in zip(map(labels.__getitem__, names), masks, strict=True)
        if label is not None and (kept := mask & keep)
    ]
    if _NOTHING.issuperset(functions):
        return brackets, [NONE] * len(brackets)
    rows = zip(names, functions, masks, strict=True)
    return brackets, [function for name, function, mask in rows if labels[name] is not None and mask & keep]


def is_discontinuous(mask: int, keep: int) -> bool:
    """Return whether kept words are missing between the first and the last word of the mask."""
    return (mask | ~keep) + (mask & -mask) & mask != 0  # the sum has no bit of an unbroken stretch that begins a mask


def _align(gold: Tree, predicted: Tree, keep: int) -> Tree:
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
        name = gold.id or predicted.id
        for k, (a, b) in enumerate(zip(gold.words, predicted.words, strict=False), 1):
            if a != b:
                raise EvaluationError(f"sentence {name}: word {k} is {a!r} in the gold file, but {b!r} is predicted")
        raise EvaluationError(f"sentence {name}: {len(gold)} words in the gold file, {len(predicted)} predicted")
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


def _score_sentence(comparison: Comparison, params: Params) -> SentenceScore:
    gold, predicted, keep, gold_brackets, predicted_brackets = comparison[:5]
    _, gold_tags, gold_lemmas, _, gold_functions = token_columns(gold)
    length = len(gold_tags)
    if params.delete_label_for_length:
        length -= sum(tag in params.delete_label_for_length for tag in gold_tags)
    labelled = match(gold_brackets, predicted_brackets)
    gold_masks, predicted_masks = [m for _, m in gold_brackets], [m for _, m in predicted_brackets]
    unlabelled = match(gold_masks, predicted_masks)
    labelled_gaps = unlabelled_gaps = _NO_BRACKETS
    deleted = ~keep
    gaps = {m for m in {*gold_masks, *predicted_masks} if (m | deleted) + (m & -m) & m}  # as in is_discontinuous
    if gaps:
        gold_gaps = [b for b in gold_brackets if b[1] in gaps]
        predicted_gaps = [b for b in predicted_brackets if b[1] in gaps]
        labelled_gaps = match(gold_gaps, predicted_gaps)
        unlabelled_gaps = match([b[1] for b in gold_gaps], [b[1] for b in predicted_gaps])
    tokens = correct_tags = correct_functions = keep.bit_count()
    lemmas = correct_lemmas = 0
    if not _NOTHING.issuperset(gold_lemmas):
        lemmas = correct_lemmas = _count_kept(keep, [lemma != NONE for lemma in gold_lemmas])
    functions = tokens + labelled.matched
    has_lemmas = has_functions = False
    if predicted is None:
        correct_tags = correct_lemmas = functions = correct_functions = 0
    else:
        _, tags, other_lemmas, _, other_functions = token_columns(predicted)
        has_lemmas = not _NOTHING.issuperset(other_lemmas)
        # A system that predicts no function in any sentence does not label functions, and gets no score for them.
        has_functions = not _NOTHING.issuperset([*other_functions, *comparison.predicted_functions])
        if gold_tags != tags:
            eq = params.eq_label
            pairs = zip(gold_tags, tags, strict=True)
            correct_tags = _count_kept(keep, [a == b or eq.get(a, a) == eq.get(b, b) for a, b in pairs])
        if gold_lemmas != other_lemmas:
            pairs = zip(gold_lemmas, other_lemmas, strict=True)
            correct_lemmas = _count_kept(keep, [a == b != NONE for a, b in pairs])
        if gold_functions != other_functions:
            correct_functions = _count_kept(keep, map(str.__eq__, gold_functions, other_functions))
        if has_functions or not _NOTHING.issuperset(comparison.gold_functions):
            correct_functions += sum([a == b for a, b in _bracket_functions(comparison)])
        else:
            correct_functions += labelled.matched
    return SentenceScore(
        gold.id, length, labelled, unlabelled, labelled_gaps, unlabelled_gaps,
        tokens, correct_tags, functions, correct_functions, has_functions, lemmas, correct_lemmas, has_lemmas,
    )  # fmt: skip


def _count_kept(keep: int, values: Iterable[bool]) -> int:
    """Return how many of the words that are not deleted have the value True."""
    return sum([keep >> position & 1 for position, value in enumerate(values) if value])


def match(gold: list[Bracket] | list[int], predicted: list[Bracket] | list[int]) -> BracketCounts:
    """Count brackets, or bare masks; one that both sides have several times matches the smaller number of times."""
    gold_set = set(gold)
    if gold == predicted:
        return BracketCounts(len(gold), len(gold), len(gold), len(gold_set), len(gold_set))
    predicted_set = set(predicted)
    if len(gold_set) == len(gold) or len(predicted_set) == len(predicted):
        matched = len(gold_set & predicted_set)  # a bracket that one side has once matches once
    else:
        matched = (Counter(gold) & Counter(predicted)).total()
    return BracketCounts(len(gold), len(predicted), matched, len(gold_set), len(predicted_set))


def function_pairs(comparison: Comparison) -> list[tuple[str, str]]:
    """Return the gold and the predicted functions of words and matched brackets."""
    gold, predicted, keep = comparison[:3]
    if predicted is None:
        return []
    tokens = zip(gold.tokens, predicted.tokens, strict=True)
    pairs = [(a[FUNCTION], b[FUNCTION]) for k, (a, b) in enumerate(tokens) if keep >> k & 1]
    return pairs + _bracket_functions(comparison)


def _bracket_functions(comparison: Comparison) -> list[tuple[str, str]]:
    """Return the gold and the predicted functions of matched brackets."""
    gold, predicted = comparison.gold_brackets, comparison.predicted_brackets
    gold_functions = dict(zip(gold, comparison.gold_functions, strict=True))
    functions = comparison.predicted_functions
    if len(gold_functions) == len(gold):
        found = map(gold_functions.pop, predicted, repeat(None))
        return [(a, b) for a, b in zip(found, functions, strict=True) if a is not None]
    chains: dict[Bracket, list[str]] = {}  # a unary chain of equal brackets has several functions, from top to bottom
    for bracket, function in zip(gold, comparison.gold_functions, strict=True):
        chains.setdefault(bracket, []).append(function)
    pairs = zip(predicted, functions, strict=True)
    return [(chains[bracket].pop(0), function) for bracket, function in pairs if chains.get(bracket)]
