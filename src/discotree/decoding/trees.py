"""Heads and labels → trees: the last arrow, with tags, functions and the confidence of every node.

A constituent is correct if its label and its words are, except for punctuation: that is how `evaluation` counts. The
features therefore describe whether the network sees exactly these words below the head. It does not matter which word
inside another word inside hangs on, because the constituent is the same.

Logarithms of probabilities, at most 0:
    closed     the least of p(not on a word inside), over the words outside; the head of the phrase may be theirs
    closed_all the sum over these words
    held       the least of p(on a word inside), over the words inside but the head
    held_all   the sum over these words
    head       p(not on a word inside) of the head
    label      the least p(label | head) of the words that join the phrase to its head
    outer      p(label | head) of the head, whose label names the phrase around this one
    upper      the least p(label | head) of the words that join the same head higher up
    function   p(function) of the head
    unary      p(phrases over this word alone) of the head
    sentence   the mean of p(head) over the words of the sentence
Others:
    gap        whether the words have a gap
    size       log of the number of words, with punctuation
    words      log of the number of words in the sentence
    single     whether there is one word
    chain      whether there is one child

Probabilities are those that the network gives each word by itself. Exact marginals over trees are no better:
docs/models.md has the comparison.

A constituent's confidence is a logistic function of its features, followed by an increasing piecewise linear curve.
Weights of logarithms of probabilities are never negative: an arc that becomes more probable cannot lower a confidence.
A tree's confidence is its expected F1, a logistic function of its constituents' confidences. Both are fitted on
held-out trees by `discotree calibrate`, and a model keeps them in calibration.json.

Shapes: B sentences and their trees, N words in the longest of them, C constituents.
"""

import dataclasses
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from discotree.decoding.decode import Decoded
from discotree.encoding.dependencies import DUMMY_ROOT, Phrase, build_nodes, split_chain, split_level
from discotree.errors import ConfigError, ModelError
from discotree.evaluation.params import PROPER
from discotree.network.arrays import F64, I64, Bool
from discotree.network.scores import Scores, legal_arcs
from discotree.network.vocab import Vocab
from discotree.text.segmentation import Convention, tag_of
from discotree.trees.tree import NONE, Token, Tree
from discotree.validation import from_table

LOGARITHMS = (
    *("closed", "closed_all", "held", "held_all", "head"),
    *("label", "outer", "upper", "function", "unary", "sentence"),
)
OTHERS = ("gap", "size", "words", "single", "chain")
NAMES = (*LOGARITHMS, *OTHERS)

LEAST = 1e-6  # smaller probabilities are set to this one
MAX_CELLS = 1 << 20  # constituents times words per step: a tree may have very many constituents


@dataclass(frozen=True, eq=False)
class ConfidenceFeatures:
    """The features of all constituents of some trees except their roots, tree by tree in the order of ``nodes()``."""

    values: F64  # (C, len(NAMES))
    labels: list[str]  # (C,)
    tree: I64  # (C,) the number of its tree
    counts: I64  # (B,) constituents of every tree

    @classmethod
    def concatenate(cls, parts: "Sequence[ConfidenceFeatures]") -> "ConfidenceFeatures":
        """Join the features of several lists of trees into those of one list."""
        starts = np.cumsum([0, *(len(part.counts) for part in parts)])
        return cls(
            np.concatenate([part.values for part in parts]),
            [label for part in parts for label in part.labels],
            np.concatenate([part.tree + start for part, start in zip(parts, starts, strict=False)]),
            np.concatenate([part.counts for part in parts]),
        )


def arc_probabilities(scores: Scores) -> F64:
    """Return the probabilities of arcs as the network gives them, each word by itself."""
    probabilities: F64 = np.exp(np.minimum(legal_arcs(scores), 0.0))
    return probabilities


def confidence_features(trees: Sequence[Tree], decoded: Decoded, scores: Scores, levels: I64) -> ConfidenceFeatures:
    """Return the features of the constituents of a batch of trees; ``levels`` (L,) are those of all labels."""
    n = scores.arcs.shape[1]
    batch = _Words.from_scores(trees, decoded, scores, levels)
    nodes = [list(tree.nodes())[1:] for tree in trees]
    counts = np.array([len(below) for below in nodes], np.int64)
    tree = np.repeat(np.arange(len(trees)), counts)
    size = n // 8 + 1  # bytes of a mask
    bits = b"".join([node.mask.to_bytes(size, "little") for below in nodes for node in below])
    masks = np.frombuffer(bits, np.uint8).reshape(-1, size)
    single = np.array([len(node.children) == 1 for below in nodes for node in below], bool)
    step = max(1, MAX_CELLS // max(1, n))
    pieces = [np.empty((0, len(NAMES)))]
    for begin in range(0, len(tree), step):
        part = slice(begin, begin + step)
        covered = np.unpackbits(masks[part], axis=1, count=n, bitorder="little").astype(bool)
        pieces.append(_values(batch, tree[part], covered, single[part]))
    return ConfidenceFeatures(np.concatenate(pieces), [node.label for below in nodes for node in below], tree, counts)


@dataclass(frozen=True, eq=False)
class _Words:
    """The words of a batch, with the probabilities that the network gives them."""

    arcs: F64  # (B, N, N) probability of every word as a head, from the dependent's point of view
    heads: I64  # (B, N) positions, -1 for the dummy root
    levels: I64  # (B, N) of their labels
    chosen: F64  # (B, N) probability of the head
    label: F64  # (B, N) log p(label | head)
    function: F64  # (B, N) log-probability of the function
    unary: F64  # (B, N) log-probability of the phrases over this word alone
    counted: Bool  # (B, N) whether the evaluator counts the word
    lengths: I64  # (B,)

    @classmethod
    def from_scores(cls, trees: Sequence[Tree], decoded: Decoded, scores: Scores, levels: I64) -> "_Words":
        arcs = arc_probabilities(scores)
        counted = np.zeros(decoded.heads.shape, bool)
        for row, tree in zip(counted, trees, strict=True):
            row[: len(tree)] = [is_counted(token) for token in tree.tokens]
        zeros = np.zeros(decoded.heads.shape)
        auxiliary = {name: found.log_probability.astype(np.float64) for name, found in scores.auxiliary.items()}
        return cls(
            arcs[:, :, 1:],
            decoded.heads,
            levels[np.where(scores.mask, decoded.labels, 0)],
            arcs[np.arange(len(arcs))[:, None], np.arange(arcs.shape[1]), decoded.heads + 1],
            _log(decoded.label_probability),
            _bounded(auxiliary.get("function", zeros)),
            _bounded(auxiliary.get("unary", zeros)),
            counted,
            scores.lengths,
        )


def is_counted(token: Token) -> bool:
    """Return whether the evaluator counts a word, which it does not for punctuation."""
    tag = PROPER.eq_label.get(token.tag, token.tag)
    return tag not in PROPER.delete_label and token.form not in PROPER.delete_word


def _values(batch: _Words, tree: I64, covered: Bool, chain: Bool) -> F64:
    """Return the features (C, len(NAMES)) of constituents, given the words that each covers (C, N)."""
    rows = np.arange(len(tree))
    heads = batch.heads[tree]  # (C, N)
    on_word = heads >= 0
    head_is_inside = on_word & covered[rows[:, None], np.maximum(heads, 0)]
    head = (covered & ~head_is_inside).argmax(1)  # (C,): of several words, the leftmost
    hangs_on_head = heads == head[:, None]
    # The probability of every word to hang on a word inside
    inside = np.empty(covered.shape)
    edges = [*np.flatnonzero(np.diff(tree, prepend=-1)).tolist(), len(tree)]
    for begin, end in pairwise(edges):
        inside[begin:end] = covered[begin:end] @ batch.arcs[tree[begin]].T
    counted = batch.counted[tree]
    upper = hangs_on_head & ~covered
    held = _log(inside)
    closed = _log(1 - np.where(upper, inside - batch.chosen[tree], inside))
    of_head = closed[rows, head]
    members = covered & counted
    below = members.copy()
    below[rows, head] = False
    outside = counted & ~covered
    level = np.where(hangs_on_head & below, batch.levels[tree], -1)
    joining = (level >= 0) & (level == level.max(1, initial=-1)[:, None])
    label = batch.label[tree]
    first, last = members.argmax(1), members.shape[1] - members[:, ::-1].argmax(1)
    positions = np.arange(members.shape[1])
    between = (positions >= first[:, None]) & (positions < last[:, None])
    sizes = covered.sum(1)
    words = np.maximum(batch.counted.sum(1), 1)
    return np.array([
        _least(closed, outside),
        _sum(closed, outside),
        _least(held, below),
        _sum(held, below),
        of_head,
        _least(label, joining),
        label[rows, head],
        _least(label, upper & counted),
        batch.function[tree, head],
        batch.unary[tree, head],
        (_sum(_log(batch.chosen), batch.counted) / words)[tree],
        (between & outside).any(1) & members.any(1),
        np.log(sizes),
        np.log(batch.lengths)[tree],
        sizes == 1,
        chain,
    ]).T  # fmt: skip


def _least(values: F64, where: Bool) -> F64:
    """Return the least of a row's values (C, N) where there are any, else 0."""
    least: F64 = np.where(where, values, 0.0).min(1, initial=0.0)
    return least


def _sum(values: F64, where: Bool) -> F64:
    total: F64 = np.where(where, values, 0.0).sum(1)
    return total


def _log(probabilities: F64) -> F64:
    """Return logarithms of probabilities, bounded; NaN counts as improbable."""
    logarithms: F64 = np.log(np.fmin(np.fmax(probabilities, LEAST), 1.0))
    return logarithms


def _bounded(logarithms: F64) -> F64:
    bounded: F64 = np.fmin(np.fmax(logarithms, np.log(LEAST)), 0.0)
    return bounded


FORMAT = 1  # version of the file; a reader refuses a newer one
ROOTS = tuple(f"{name}_root" for name in LOGARITHMS)  # minus the square root of minus the logarithm
CONSTITUENT = (*LOGARITHMS, *ROOTS, *OTHERS)
TREE = ("mean", "least", "mean_log", "count")
MAX_LOGIT = 30.0
ROOT_CONFIDENCE = 1.0  # the root covers all words, so it is always correct
MARGIN = 1e-3  # between a mean confidence and 0 or 1


@dataclass(frozen=True)
class Calibration:
    """Weights that turn features into confidences."""

    format: int
    bias: float
    weights: dict[str, float]  # by name in CONSTITUENT
    labels: dict[str, float]  # weights of the labels that were frequent enough
    curve: list[list[float]]  # pairs of logits, before and after; rising
    tree_bias: float
    tree_weights: dict[str, float]  # by name in TREE
    empty: float  # expected F1 of a tree that has no constituents but its root
    fitted: dict[str, float]  # the number of trees and its cross-validated quality

    @classmethod
    def from_json(cls, text: str, where: str) -> "Calibration":
        """Read the content of calibration.json; raises ModelError if it is not valid."""
        try:
            table = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{where}: not a calibration: {error}") from None
        return from_table(cls, table, where, ModelError, complete=True)

    def to_json(self) -> str:
        """Return the content of calibration.json; inverts ``from_json``."""
        return json.dumps(dataclasses.asdict(self), indent=1, ensure_ascii=False) + "\n"

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise ConfigError(f"format {self.format}, expected {FORMAT}; use the version of discotree that wrote it")
        for name, weights, expected in (
            ("weights", self.weights, CONSTITUENT),
            ("tree_weights", self.tree_weights, TREE),
        ):
            if sorted(weights) != sorted(expected):
                raise ConfigError(f"{name}: expected the keys {', '.join(expected)}")
        if any(len(pair) != 2 for pair in self.curve) or len(self.curve) < 2:
            raise ConfigError("curve: expected at least 2 pairs of numbers")
        numbers = [self.bias, self.tree_bias, self.empty, *self.weights.values(), *self.tree_weights.values()]
        numbers += [*self.labels.values(), *self.fitted.values(), *(number for pair in self.curve for number in pair)]
        if not all(map(math.isfinite, numbers)):
            raise ConfigError("expected finite numbers")
        if not 0 <= self.empty <= 1:
            raise ConfigError(f"empty: expected a number from 0 to 1, got {self.empty}")
        if not all(before[0] < after[0] and before[1] <= after[1] for before, after in pairwise(self.curve)):
            raise ConfigError("curve: expected increasing numbers")

    @cached_property
    def _weights(self) -> F64:
        return np.array([self.weights[name] for name in CONSTITUENT])

    @cached_property
    def _tree_weights(self) -> F64:
        return np.array([self.tree_weights[name] for name in TREE])

    def constituents(self, features: ConfidenceFeatures) -> F64:
        """Return the confidences (C,) of constituents."""
        labels = np.array([self.labels.get(label, 0.0) for label in features.labels])
        return sigmoid(apply_curve(columns(features.values) @ self._weights + labels + self.bias, self.curve))

    def trees(self, features: ConfidenceFeatures, confidences: F64) -> F64:
        """Return the expected F1 (B,) of trees, given the confidences (C,) of their constituents."""
        expected = sigmoid(tree_columns(features, confidences) @ self._tree_weights + self.tree_bias)
        return np.where(features.counts > 0, expected, self.empty)


def columns(values: F64) -> F64:
    """Return the columns (C, F) that the weights CONSTITUENT multiply, given the features (C, len(NAMES))."""
    logarithms = np.minimum(values[:, : len(LOGARITHMS)], 0.0)
    return np.hstack([logarithms, -np.sqrt(-logarithms), values[:, len(LOGARITHMS) : len(NAMES)]])


def tree_columns(features: ConfidenceFeatures, confidences: F64) -> F64:
    """Return the columns (B, F) that the weights TREE multiply; rows of trees without constituents are undefined."""
    trees, tree = len(features.counts), features.tree
    count = np.maximum(features.counts, 1)
    mean = np.bincount(tree, confidences, trees) / count
    least = np.ones(trees)
    np.minimum.at(least, tree, confidences)
    logs = np.bincount(tree, np.log(np.maximum(confidences, MARGIN)), trees) / count
    return np.column_stack([logit(mean), np.log(np.maximum(least, MARGIN)), logs, np.log(count)])


def apply_curve(logits: F64, curve: list[list[float]]) -> F64:
    """Map logits by an increasing piecewise linear curve, which continues with a slope of 1 at both ends."""
    before, after = np.array(curve).T
    within = np.clip(logits, before[0], before[-1])
    mapped: F64 = np.interp(within, before, after) + (logits - within)
    return mapped


def logit(probabilities: F64) -> F64:
    bounded = np.clip(probabilities, MARGIN, 1 - MARGIN)
    logits: F64 = np.log(bounded / (1 - bounded))
    return logits


def sigmoid(logits: F64) -> F64:
    probabilities: F64 = 1 / (1 + np.exp(-np.clip(logits, -MAX_LOGIT, MAX_LOGIT)))
    return probabilities


# Trees

_new = tuple.__new__  # makes a Token from its fields without the Python-level __new__ of a NamedTuple


@dataclass(frozen=True)
class Prediction:
    """The predictions for the words of one sentence."""

    heads: list[int]  # positions, -1 for the dummy root
    labels: list[int]
    arc_probabilities: list[float]  # probability of each word's arc with its label
    auxiliary: dict[str, list[int]]  # by auxiliary head: a class for every word
    unary_probabilities: list[float]  # probability of the class that the auxiliary head "unary" chose for each word

    @classmethod
    def for_batch(cls, decoded: Decoded, scores: Scores) -> Iterator["Prediction"]:
        """Yield the predictions for every sentence of a batch."""
        classes = {head: output.classes.tolist() for head, output in scores.auxiliary.items()}
        unary = scores.auxiliary.get("unary")
        probabilities = None if unary is None else np.exp(unary.log_probability).tolist()
        heads, labels = decoded.heads.tolist(), decoded.labels.tolist()
        arcs = (decoded.arc_probability * decoded.label_probability).tolist()
        for row, n in enumerate(scores.lengths.tolist()):
            unaries = [1.0] * n if probabilities is None else probabilities[row][:n]
            yield cls(
                heads[row][:n],
                labels[row][:n],
                arcs[row][:n],
                {head: rows[row][:n] for head, rows in classes.items()},
                unaries,
            )


class TreeBuilder:
    """Builds the trees of a model's predictions: ``build_nodes`` with the model's functions and confidences."""

    def __init__(
        self,
        vocab: Vocab,
        keeps_tags: bool = False,
        calibration: Calibration | None = None,
        convention: Convention | None = None,
    ) -> None:
        """``keeps_tags`` leaves the words the tags that they come with, even if tags are predicted.

        With the ``convention`` of a language, tokens that are not words, such as emojis and URLs, get the tag that the
        language has for them, if the model knows that tag: treebanks have too few of them to learn from.
        """
        self.keeps_tags = keeps_tags
        self.calibration = calibration
        self.convention = convention
        self.known_tags = frozenset(vocab.outputs["tag"].symbols) if "tag" in vocab.outputs else frozenset()
        self.label_levels = np.array(vocab.levels)
        self.root = vocab.root
        self.levels = [split_level(label, vocab.root) for label in vocab.labels.symbols]
        self.names = {head: alphabet.symbols for head, alphabet in vocab.outputs.items()}
        self.unaries = [split_chain(chain, vocab.root) if chain else () for chain in self.names.get("unary", ())]
        self.head_functions = {tuple(pair.split(" ", 1)): name for pair, name in vocab.head_functions.items()}
        self.lemma_rules, self.known_words = vocab.lemmas, vocab.words.ids

    def trees(
        self, sentences: Sequence[Sequence[Token]], decoded: Decoded, scores: Scores, ids: Sequence[str] = ()
    ) -> list[Tree]:
        """Return the trees of a batch of sentences, with calibrated confidences if there is a calibration."""
        trees = list(map(self.tree, sentences, Prediction.for_batch(decoded, scores), ids or [""] * len(sentences)))
        if self.calibration is None:
            return trees
        return with_confidences(trees, confidence_features(trees, decoded, scores, self.label_levels), self.calibration)

    def tree(self, tokens: Sequence[Token], prediction: Prediction, sentence_id: str = "") -> Tree:
        """Return the tree of one sentence, with confidences that are not calibrated: see ``build_nodes``.

        Arcs count with the labels that were predicted for them, even if their phrase got another one. The confidence of
        the tree is the mean of its constituents.
        """
        forms, tags, lemmas, morphs, functions = self._columns(tokens, prediction)
        heads = prediction.heads
        first_on_root = heads.index(DUMMY_ROOT)
        usual, root_label = self.head_functions, self.root

        def node_functions(position: int, spine: Sequence[Phrase]) -> Sequence[str]:
            """Return the functions of a spine, and set that of its word.

            The largest phrase has the function that was predicted for the word. All others are head children and have
            the most frequent function of such a child in training.
            """
            top = NONE
            if heads[position] != DUMMY_ROOT:
                top = functions[position]
            elif position == first_on_root:
                top = usual.get((root_label, spine[-1][0] if spine else tags[position]), NONE)
            if not spine:
                functions[position] = top
                return ()
            functions[position] = usual.get((spine[0][0], tags[position]), NONE)
            if len(spine) == 1:
                return (top,)
            functions_below = [usual.get((upper[0], lower[0]), NONE) for lower, upper in pairwise(spine)]
            functions_below.append(top)
            return functions_below

        levels = self.levels
        root, confidences = build_nodes(
            heads,
            [levels[k] for k in prediction.labels],
            self._chains(prediction),
            root_label,
            node_functions if "function" in prediction.auxiliary else _no_functions,
            prediction.arc_probabilities,
            prediction.unary_probabilities,
        )
        if self.lemma_rules is not None:
            lemmas = self.lemma_rules.lemmas(forms, tags, functions, heads, self.known_words)
        words = tuple([_new(Token, row) for row in zip(forms, tags, lemmas, morphs, functions, strict=True)])
        if tokens[0].start is not None:
            words = tuple([Token(*word, token.start, token.end) for word, token in zip(words, tokens, strict=True)])
        return Tree(words, root, sentence_id, (), "", mean_confidence(confidences), confidences, tuple(heads))

    def _columns(
        self, tokens: Sequence[Token], prediction: Prediction
    ) -> tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[str], list[str]]:
        """Return the words column by column, with predicted tags, morphology and functions where there are any."""
        forms, tags, lemmas, morphs, functions = zip(*tokens, strict=True)
        predicted_tags = None if self.keeps_tags else self._named(prediction, "tag")
        predicted_morphs = self._named(prediction, "morph")
        if predicted_tags and self.convention:
            for k, form in enumerate(forms):
                if (tag := tag_of(form, self.convention)) in self.known_tags and tag != predicted_tags[k]:
                    predicted_tags[k] = tag
                    if predicted_morphs:
                        predicted_morphs[k] = NONE  # it was predicted for the other tag
        return (
            forms,
            predicted_tags or tags,
            lemmas,
            predicted_morphs or morphs,
            self._named(prediction, "function") or list(functions),
        )

    def _named(self, prediction: Prediction, head: str) -> list[str] | None:
        """Return the names of the classes that an auxiliary head predicted; None if the model has no such head."""
        classes = prediction.auxiliary.get(head)
        if classes is None:
            return None
        names = self.names[head]
        return [names[k] for k in classes]

    def _chains(self, prediction: Prediction) -> Sequence[tuple[str, ...]]:
        """Return for every word the labels, from top to bottom, of the phrases over this word alone."""
        classes = prediction.auxiliary.get("unary")
        return [()] * len(prediction.heads) if classes is None else [self.unaries[k] for k in classes]


def _no_functions(_position: int, _spine: Sequence[Phrase]) -> Sequence[str]:
    return ()


def with_confidences(trees: Sequence[Tree], features: ConfidenceFeatures, calibration: Calibration) -> list[Tree]:
    """Return trees with calibrated confidences."""
    values = calibration.constituents(features)
    expected = calibration.trees(features, values).tolist()
    ends = np.cumsum(features.counts).tolist()
    starts = [0, *ends]
    inner = values.tolist()
    return [
        replace(tree, confidence=whole, confidences=(ROOT_CONFIDENCE, *inner[start:end]))
        for tree, whole, start, end in zip(trees, expected, starts, ends, strict=False)
    ]


def mean_confidence(confidences: Sequence[float]) -> float:
    """Return the mean confidence of a tree's constituents without its root, or that of the root if it is alone."""
    inner = confidences[1:] or confidences
    return sum(inner) / len(inner)
