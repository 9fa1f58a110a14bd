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

There is one more weight, for the logit of the lowest of the probabilities closed, held, head, label and unary, because
a single wrong decision makes a constituent wrong.

Probabilities are those that the network gives each word by itself. Exact marginals over trees are no better:
docs/lab/models.md has the comparison.

A constituent's confidence is a logistic function of its features, followed by an increasing piecewise linear curve.
Weights of probabilities and their logarithms are never negative: an arc that becomes more probable cannot lower a
confidence. A tree's confidence is its expected F1, a logistic function of its constituents' confidences. Both are
fitted on held-out trees by `discotree calibrate`, and a model keeps them in calibration.json.

Shapes: B sentences and their trees, N words in the longest of them, C constituents.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, pairwise, repeat
from typing import Any
from weakref import ReferenceType, ref

import numpy as np
import numpy.typing as npt

from discotree.decoding.decode import Decoded
from discotree.decoding.phrases import Chains, Phrases, starts_run
from discotree.encoding.dependencies import split_chain, split_level
from discotree.errors import ConfigError, ModelError
from discotree.evaluation.params import PROPER
from discotree.network.arrays import F32, F64, I64, Bool
from discotree.network.scores import Auxiliary, Scores, legal_arcs
from discotree.network.vocab import Vocab
from discotree.text.segmentation import Convention, tag_of
from discotree.trees.tree import (
    NONE,
    Token,
    TokenColumns,
    Tree,
    outlined_tree,
    set_confidences,
    set_offsets,
    token_columns,
)
from discotree.validation import from_table

LOGARITHMS = (
    *("closed", "closed_all", "held", "held_all", "head"),
    *("label", "outer", "upper", "function", "unary", "sentence"),
)
OTHERS = ("gap", "size", "words", "single", "chain")
NAMES = (*LOGARITHMS, *OTHERS)
CHAIN = NAMES.index("chain")
DECISIVE = [NAMES.index(name) for name in ("closed", "held", "head", "label", "unary")]

# Larger products would start threads that spin for a while afterwards, which takes more time than it saves.
SINGLE_THREADED = 1 << 17  # multiplications of a product of matrices
BLOCK = 256  # rows of a product of a matrix and a vector

LEAST = 1e-6  # smaller probabilities are set to this one
RATED = ("function", "unary")  # the auxiliary heads whose probabilities are features
MAX_KEPT = 80  # words of a sentence whose scores are kept until its confidences are asked for: 26 KB
MAX_CELLS = 1 << 17  # constituents times words per step: the intermediate results should stay in the cache


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
    legal = legal_arcs(scores)
    return np.exp(np.minimum(legal, 0.0, out=legal), out=legal)


def confidence_features(trees: Sequence[Tree], decoded: Decoded, scores: Scores, levels: I64) -> ConfidenceFeatures:
    """Return the features of the constituents of a batch of trees; ``levels`` (L,) are those of all labels."""
    n = scores.arcs.shape[1]
    counted = np.zeros(decoded.heads.shape, bool)
    counted[scores.mask] = counted_words(trees)
    evidence = _Evidence.of(counted, decoded, scores, levels)
    nodes = [list(tree.nodes())[1:] for tree in trees]
    counts = np.array([len(below) for below in nodes], np.int64)
    tree = np.repeat(np.arange(len(trees)), counts)
    size = n // 8 + 1  # bytes of a mask
    bits = b"".join([node.mask.to_bytes(size, "little") for below in nodes for node in below])
    masks = np.frombuffer(bits, np.uint8).reshape(-1, size)
    covered = np.unpackbits(masks, axis=1, count=n, bitorder="little").astype(bool)
    heads = decoded.heads[tree]  # (C, N)
    on_word_inside = (heads >= 0) & np.take_along_axis(covered, np.maximum(heads, 0), 1)
    head = (covered & ~on_word_inside).argmax(1)  # of several words, the leftmost
    values = _values(evidence, tree, covered, head)
    values[:, CHAIN] = [len(node.children) == 1 for below in nodes for node in below]
    return ConfidenceFeatures(values, [node.label for below in nodes for node in below], tree, counts)


@dataclass(frozen=True, eq=False)
class _Evidence:
    """The words of a batch, with the probabilities that the network gives them."""

    arcs: F64  # (B, N, N) probability of every word as a head, from the dependent's point of view
    heads: I64  # (B, N) positions, -1 for the dummy root
    levels: I64  # (B, N) of their labels
    chosen: F64  # (B, N) probability of the head
    label: F64  # (B, N) log p(label | head)
    function: F64  # (B, N) log-probability of the function
    unary: F64  # (B, N) log-probability of the phrases over this word alone
    counted: Bool  # (B, N) whether the evaluator counts the word
    counted_before: I64  # (B, N+1) the number of such words before it
    sentence: F64  # (B,) mean of log p(head)
    dependents: I64  # the dependents of every word, one word after the other
    dependent_ends: I64  # (B·N+1,) where those of every word begin, and where the last ones end
    lengths: I64  # (B,)

    @classmethod
    def of(cls, counted: Bool, decoded: Decoded, scores: Scores, levels: I64) -> "_Evidence":
        arcs = arc_probabilities(scores)
        zeros = np.zeros(decoded.heads.shape)
        chosen = arcs[np.arange(len(arcs))[:, None], np.arange(arcs.shape[1]), decoded.heads + 1]
        auxiliary = {name: found.log_probability.astype(np.float64) for name, found in scores.auxiliary.items()}
        b, word = np.nonzero(decoded.heads >= 0)
        head = b * arcs.shape[1] + decoded.heads[b, word]
        ends = np.bincount(head, minlength=zeros.size).cumsum()
        return cls(
            arcs[:, :, 1:],
            decoded.heads,
            levels[np.where(scores.mask, decoded.labels, 0)],
            chosen,
            _log(decoded.label_probability),
            _bounded(auxiliary.get("function", zeros)),
            _bounded(auxiliary.get("unary", zeros)),
            counted,
            np.hstack([np.zeros((len(counted), 1), np.int64), counted.cumsum(1)]),
            _sum(_log(chosen), counted) / np.maximum(counted.sum(1), 1),
            word[np.argsort(head, kind="stable")],
            np.append(0, ends),
            scores.lengths,
        )


def counted_words(trees: Sequence[Tree]) -> list[bool]:
    """Return for every word of some trees whether the evaluator counts it, which it does not for punctuation."""
    words = [pair for tree in trees for pair in zip(*token_columns(tree)[:2], strict=True)]
    kept = {tag for tag in {tag for _, tag in words} if PROPER.eq_label.get(tag, tag) not in PROPER.delete_label}
    return [tag in kept and form not in PROPER.delete_word for form, tag in words]


def _values(evidence: _Evidence, tree: I64, covered: Bool, head: I64) -> F64:
    """Return the features (C, len(NAMES)) of constituents, given the words that each covers (C, N) and its head (C,).

    Whether there is one child is left open.
    """
    step = max(1, MAX_CELLS // max(1, covered.shape[1]))
    parts = [slice(begin, begin + step) for begin in range(0, len(tree), step)]
    found = [_part(evidence, tree[part], covered[part], head[part]) for part in parts]
    return np.concatenate([np.empty((0, len(NAMES))), *found])


def _part(batch: _Evidence, tree: I64, covered: Bool, head: I64) -> F64:
    rows = np.arange(len(tree))
    # The probability of every word to hang on a word inside: products of blocks, each of rows of one tree
    size = covered.shape[1]
    is_first = np.ones(len(tree), bool)
    is_first[1:] = tree[1:] != tree[:-1]
    number = (rows - rows[is_first][is_first.cumsum() - 1]) % max(1, SINGLE_THREADED // max(1, size * size))
    place = (number == 0).cumsum() - 1, number
    trees = tree[number == 0]
    blocks = np.zeros((len(trees), number.max() + 1, size))
    blocks[place] = covered
    inside = (blocks @ batch.arcs[trees].transpose(0, 2, 1))[place]
    # The words that hang on the head: (row, word) of each
    number = tree * size + head
    count = batch.dependent_ends[number + 1] - batch.dependent_ends[number]
    row = np.repeat(rows, count)
    word = batch.dependents[np.repeat(batch.dependent_ends[number + 1] - count.cumsum(), count) + np.arange(len(row))]
    sentence, is_below = tree[row], covered[row, word]
    # Logarithms: of a word inside to hang on a word inside, of others not to; dependents of the head may do so
    logs = 1 - inside
    upper = row[~is_below], word[~is_below]
    logs[upper] = 1 - (inside[upper] - batch.chosen[sentence, word][~is_below])
    of_head = _log(logs[rows, head])
    np.copyto(logs, inside, where=covered)
    logs = _log(logs)
    counted = batch.counted[tree]
    members = covered & counted
    closed = np.where(counted & ~covered, logs, 0.0)
    first, last = members.argmax(1), members.shape[1] - members[:, ::-1].argmax(1)
    words = members.sum(1)
    has_gap = (words > 0) & (batch.counted_before[tree, last] - batch.counted_before[tree, first] > words)
    members[rows, head] = False
    held = np.where(members, logs, 0.0)
    # The labels of words that join the phrase, and of those that join the same head higher up
    is_counted = batch.counted[sentence, word]
    level = np.where(is_below & is_counted, batch.levels[sentence, word], -1)
    highest = np.full(len(rows), -1)
    np.maximum.at(highest, row, level)
    joins = (level >= 0) & (level == highest[row])
    higher = is_counted & ~is_below
    joining, joining_higher = np.zeros(len(rows)), np.zeros(len(rows))
    np.minimum.at(joining, row[joins], batch.label[sentence[joins], word[joins]])
    np.minimum.at(joining_higher, row[higher], batch.label[sentence[higher], word[higher]])
    sizes = covered.sum(1)
    return np.array([
        closed.min(1, initial=0.0),
        closed.sum(1),
        held.min(1, initial=0.0),
        held.sum(1),
        of_head,
        joining,
        batch.label[tree, head],
        joining_higher,
        batch.function[tree, head],
        batch.unary[tree, head],
        batch.sentence[tree],
        has_gap,
        np.log(sizes),
        np.log(batch.lengths)[tree],
        sizes == 1,
        np.zeros(len(tree)),
    ]).T  # fmt: skip


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
WEAKEST = "weakest"
RISING = (*LOGARITHMS, *ROOTS, WEAKEST)  # their weights are never negative
CONSTITUENT = (*RISING, *OTHERS)
TREE = ("mean", "least", "mean_log", "count")
MAX_LOGIT = 30.0
ROOT_CONFIDENCE = 1.0  # the root covers all words, so it is always correct
MARGIN = 1e-3  # between a probability and 0 or 1


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
        if isinstance(table, dict) and isinstance(table.get("weights"), dict):
            table["weights"].setdefault(WEAKEST, 0.0)  # fitted by version 0.3 or earlier
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
        values = columns(features.values)
        blocks = [values[k : k + BLOCK] @ self._weights for k in range(0, len(values), BLOCK)]
        return sigmoid(apply_curve(np.concatenate([[], *blocks]) + labels + self.bias, self.curve))

    def trees(self, features: ConfidenceFeatures, confidences: F64) -> F64:
        """Return the expected F1 (B,) of trees, given the confidences (C,) of their constituents."""
        expected = sigmoid(tree_columns(features, confidences) @ self._tree_weights + self.tree_bias)
        return np.where(features.counts > 0, expected, self.empty)


def columns(values: F64) -> F64:
    """Return the columns (C, F) that the weights CONSTITUENT multiply, given the features (C, len(NAMES))."""
    logarithms = np.minimum(values[:, : len(LOGARITHMS)], 0.0)
    weakest = logit(np.exp(logarithms[:, DECISIVE].min(1, keepdims=True)))
    return np.hstack([logarithms, -np.sqrt(-logarithms), weakest, values[:, len(LOGARITHMS) : len(NAMES)]])


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


class Rater:
    """Computes the confidences of some trees of a batch when those of the first one are asked for.

    Until then every tree has its own evidence, so that a tree does not keep that of others in memory: the scores of
    arcs (n, n+1), the scores of words (4, n), the words of its C nodes without the root (C, n), and their labels,
    heads and whether they have one child (3, C).
    """

    def __init__(self, builder: "TreeBuilder", calibration: Calibration) -> None:
        self.builder = builder
        self.calibration = calibration
        self.trees: list[ReferenceType[Tree]] = []

    def rate(self) -> None:
        """Set the confidences of all trees that are still in use and have none."""
        living = [tree for reference in self.trees if (tree := reference()) is not None]
        found = [(tree, kept) for tree in living if (kept := tree._evidence) is not None]
        if not found:  # another thread has been faster
            return
        trees = [tree for tree, _ in found]
        _, all_arcs, all_words, all_covered, all_nodes = zip(*[kept for _, kept in found], strict=True)
        lengths, counts = np.array(list(map(len, trees))), np.array(list(map(len, all_covered)))
        size, n = len(trees), int(lengths.max())
        heads, words = np.full((size, n), -1), np.zeros((4, size, n))
        arcs = np.full((size, n, n + 1), -np.inf, np.float32)
        covered = np.zeros((counts.sum(), n), bool)
        ends = counts.cumsum().tolist()
        for b, (end, tree) in enumerate(zip(ends, trees, strict=True)):
            m = len(tree)
            heads[b, :m], words[:, b, :m], arcs[b, :m, : m + 1] = tree.heads, all_words[b], all_arcs[b]
            covered[end - len(all_covered[b]) : end, :m] = all_covered[b]
        label, head, has_one_child = np.concatenate(all_nodes, 1).astype(np.int64)
        labels, probability, *logs = words
        auxiliary = {name: Auxiliary(heads, log.astype(np.float32)) for name, log in zip(RATED, logs, strict=True)}
        scores = Scores(lengths, arcs, arcs, arcs, lambda *_: arcs, auxiliary)
        decoded = Decoded(heads, labels.astype(np.int64), probability, probability, lengths)
        counted = np.zeros(heads.shape, bool)
        counted[scores.mask] = counted_words(trees)
        evidence = _Evidence.of(counted, decoded, scores, self.builder.label_levels)
        tree_of_node = np.repeat(np.arange(size), counts)
        values = _values(evidence, tree_of_node, covered, head)
        values[:, CHAIN] = has_one_child
        names = self.builder.label_array[1 + label].tolist()
        features = ConfidenceFeatures(values, names, tree_of_node, counts)
        of_nodes = self.calibration.constituents(features)
        expected = self.calibration.trees(features, of_nodes).tolist()
        for tree, confidence, part in zip(trees, expected, np.split(of_nodes, ends[:-1]), strict=True):
            set_confidences(tree, confidence, (ROOT_CONFIDENCE, *part.tolist()))


def evidence_of(
    rates: Sequence[Callable[[], None]],
    decoded: Decoded,
    scores: Scores,
    covered: Bool,
    nodes: npt.NDArray[np.int16],
    counts: I64,
) -> Iterator[tuple[Callable[[], None], F32, F64, Bool, npt.NDArray[np.int16]]]:
    """Yield the evidence for every tree: ``rate`` of its rater, and arrays."""
    zeros = np.zeros(decoded.heads.shape)
    logs = [scores.auxiliary[head].log_probability if head in scores.auxiliary else zeros for head in RATED]
    words: F64 = np.stack([decoded.labels, decoded.label_probability, *logs])  # (4, B, N)
    begin = 0
    for b, (rate, n, count) in enumerate(zip(rates, scores.lengths.tolist(), counts.tolist(), strict=True)):
        own = slice(begin, begin := begin + count)
        arcs = scores.arcs[b, :n, : n + 1].copy()
        yield rate, arcs, words[:, b, :n].copy(), covered[own, :n].copy(), nodes[:, own].copy()


# Trees


class TreeBuilder:
    """Builds the trees of a model's predictions, a batch at a time."""

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
        self.label_levels = np.array(vocab.levels)
        self.names = {head: alphabet.symbols for head, alphabet in vocab.outputs.items()}
        self.tags = {tag: k for k, tag in enumerate(self.names.get("tag", ()))}
        self.unaries = [split_chain(chain, vocab.root) if chain else () for chain in self.names.get("unary", ())]
        self.lemma_rules, self.known_words = vocab.lemmas, vocab.words.ids
        self.known_lemmas: dict[tuple[str, str], str] = {}  # only of the vocabulary's words: no text of users is kept
        levels = [split_level(label, vocab.root) for label in vocab.labels.symbols]
        self.chains = Chains(levels, self.unaries, vocab.root)
        labels = {label: k for k, label in enumerate(dict.fromkeys(chain.from_iterable(self.chains.labels)))}
        self.labels, self.root = list(labels), labels[vocab.root]
        self.name_arrays = {head: np.array(names, object) for head, names in self.names.items()}
        self.label_array = np.array([None, *labels], object)
        # The labels of all chains, from top to bottom, one chain after the other
        self.chain_labels = np.array([labels[label] for names in self.chains.labels for label in names], np.int64)
        self.chain_sizes = np.array(list(map(len, self.chains.labels)), np.int64)
        self.chain_ends = self.chain_sizes.cumsum()
        # The most frequent functions of head children in training
        self.usual = {tuple(pair.split(" ", 1)): name for pair, name in vocab.head_functions.items()}
        self.functions = list(dict.fromkeys([*self.names.get("function", ()), *self.usual.values(), NONE]))
        self.function_array, self.no_function = np.array(self.functions, object), self.functions.index(NONE)
        self.usual_of_labels = self._usual_functions(self.labels)
        self.usual_of_tags = self._usual_functions(list(self.tags))

    def _usual_functions(self, children: Sequence[str]) -> I64:
        """Return the numbers of the usual functions of head children: (labels, children)."""
        number = {name: k for k, name in enumerate(self.functions)}
        rows = [[number[self.usual.get((label, child), NONE)] for child in children] for label in self.labels]
        return np.array(rows, np.int64)

    def trees(
        self,
        sentences: Sequence[Sequence[Token]],
        decoded: Decoded,
        scores: Scores,
        ids: Sequence[str] = (),
        groups: Sequence[int] = (),
    ) -> list[Tree]:
        """Return the trees of a batch of sentences. Their tokens and nodes are made when they are asked for.

        ``groups`` are the sizes of successive groups of sentences whose confidences are computed together, by default
        that of the whole batch. More padding would change the last digits of confidences.

        Confidences are calibrated if there is a calibration. If not, a phrase has the product of the probabilities of
        the arcs that join it, with the labels that were predicted for them, and a phrase over a single word has the
        probability of its chain. The confidence of the tree is then the mean of its constituents.
        """
        unary = scores.auxiliary.get("unary")
        inside = scores.mask
        phrases = Phrases.of(decoded.heads, decoded.labels, inside, self.chains, unary.classes if unary else None)
        outline = phrases.outline(self.chain_sizes)
        columns, functions = self._columns(sentences, decoded, scores, phrases)

        # Nodes in the order of Tree.nodes(): the labels of a chain follow each other, from top to bottom
        sizes = outline.nodes
        phrase = np.repeat(outline.phrases, sizes)  # (nodes,)
        chains = np.concatenate([phrases.chain, np.full(len(sentences), self.chains.root)])[outline.phrases]
        tops = sizes.cumsum() - sizes
        number = np.repeat(self.chain_ends[chains] - sizes - tops, sizes) + np.arange(len(phrase))
        label = self.chain_labels[number]
        function = np.full(len(phrase), self.no_function)
        if "function" in scores.auxiliary:
            function[1:] = self.usual_of_labels[label[:-1], label[1:]]  # inside chains
            function[tops] = functions[outline.phrases]
        counts = np.bincount(
            np.concatenate([phrases.sentence[phrases.word], np.arange(len(sentences))])[phrase]
        )  # (B,)
        # Outlines: the labels of the nodes that begin before a word, the word, and None for each node that ends there
        widths = outline.opening + 1 + outline.closing
        begins = widths.cumsum() - widths
        cells = np.zeros(widths.sum(), np.int64)
        before = outline.opening.cumsum() - outline.opening
        cells[np.repeat(begins - before, outline.opening) + np.arange(len(label))] = 1 + label
        cells[(begins + outline.opening)[outline.place]] = 1 + len(self.labels) + phrases.position
        items = np.concatenate([self.label_array, np.arange(inside.shape[1]).astype(object)])[cells].tolist()
        function_names = self.function_array[function].tolist()
        heads = decoded.heads.tolist()
        ends = zip(
            [*phrases.starts.tolist(), len(phrases.sentence)],
            [*begins[phrases.starts].tolist(), len(items)],
            [0, *counts.cumsum().tolist()],
            strict=True,
        )
        group_sizes = list(groups) or [len(sentences)]
        raters = [Rater(self, self.calibration) for _ in group_sizes] if self.calibration else []
        evidence: Iterator[Any] = repeat(None)
        if raters:
            is_top = np.zeros(len(phrase) + 1, bool)
            is_top[tops] = is_top[-1] = True
            inner = np.flatnonzero(phrase < len(phrases))
            covered, head = phrases.covered[phrase[inner]], phrases.position[phrases.word[phrase[inner]]]
            has_one_child = ~is_top[inner + 1] | (covered.sum(1) == 1)
            nodes = np.stack([label[inner], head, has_one_child]).astype(np.int16)
            rates = [rater.rate for rater, size in zip(raters, group_sizes, strict=True) for _ in range(size)]
            evidence = evidence_of(rates, decoded, scores, covered, nodes, counts - 1)
        trees = [
            outlined_tree(
                tuple([column[word:end_word] for column in columns]),  # type: ignore[arg-type]
                (items[item:end_item], function_names[node:end_node]),
                ids[b] if ids else "",
                tuple(heads[b][: end_word - word]),
                next(evidence),
            )
            for b, ((word, item, node), (end_word, end_item, end_node)) in enumerate(pairwise(ends))
        ]
        if any(words[0].start is not None for words in sentences):
            for tree, words in zip(trees, sentences, strict=True):
                set_offsets(tree, words)
        if raters:
            references = map(ref, trees)
            lengths = iter(scores.lengths.tolist())
            for rater, size in zip(raters, group_sizes, strict=True):
                rater.trees = list(islice(references, size))
                if max(islice(lengths, size), default=0) > MAX_KEPT:
                    rater.rate()
        else:
            parts = np.split(_products(decoded, scores, phrases)[phrase], counts.cumsum()[:-1])
            for tree, part in zip(trees, map(tuple, map(np.ndarray.tolist, parts)), strict=True):
                set_confidences(tree, mean_confidence(part), part)
        return trees

    def _columns(
        self, sentences: Sequence[Sequence[Token]], decoded: Decoded, scores: Scores, phrases: Phrases
    ) -> tuple[TokenColumns, I64]:
        """Return the words of a batch as they were predicted, and the functions of phrases and roots (P+B,)."""
        inside, auxiliary = scores.mask, scores.auxiliary
        words = chain.from_iterable(sentences)
        forms, tags, lemmas, morphs, functions = map(list, zip(*words, strict=True))
        if "morph" in auxiliary:
            morphs = self.name_arrays["morph"][auxiliary["morph"].classes[inside]].tolist()
        if "tag" in auxiliary and not self.keeps_tags:
            tag, usual_of_tags = auxiliary["tag"].classes[inside], self.usual_of_tags
            if self.convention:
                odd = [form for form in set(forms) if not (form.isascii() and form.isalnum())]
                numbers = {form: self.tags.get(tag_of(form, self.convention), -1) for form in odd}
                if max(numbers.values(), default=-1) >= 0:
                    better = np.array([numbers.get(form, -1) for form in forms])
                    changed = (better >= 0) & (better != tag)
                    tag = np.where(changed, better, tag)
                    if "morph" in auxiliary:  # it was predicted for the other tag
                        morphs = np.where(changed, NONE, np.array(morphs, object)).tolist()
            tags = self.name_arrays["tag"][tag].tolist()
        elif "function" in auxiliary:
            distinct = list(dict.fromkeys(tags))
            usual_of_tags = self._usual_functions(distinct)
            tag = np.array(list(map({name: k for k, name in enumerate(distinct)}.__getitem__, tags)), np.int64)
        of_phrases = np.full(len(phrases) + len(sentences), self.no_function)
        head = decoded.heads[inside]
        if "function" in auxiliary:
            of_words = self._functions(
                head, auxiliary["function"].classes[inside], phrases, usual_of_tags, tag, of_phrases
            )
            functions = self.function_array[of_words].tolist()
        if self.lemma_rules is not None:
            heads = np.where(head < 0, head, head + phrases.starts[phrases.sentence]).tolist()
            lemmas = self.lemma_rules.lemmas(forms, tags, functions, heads, self.known_words, self.known_lemmas)
        return (tuple(forms), tuple(tags), tuple(lemmas), tuple(morphs), tuple(functions)), of_phrases

    def _functions(
        self, head: I64, predicted: I64, phrases: Phrases, usual_of_tags: I64, tag: I64, of_phrases: I64
    ) -> I64:
        """Return the functions of words (T,), given those that were predicted for them, and set those of phrases.

        The highest phrase of a word has the function that was predicted for the word. All others are head children and
        have the most frequent function of such a child in training, as has the child of the root.
        """
        chain, word = phrases.chain, phrases.word
        low = self.chain_labels[self.chain_ends[chain] - 1]
        top = self.chain_labels[self.chain_ends[chain] - self.chain_sizes[chain]]
        is_inner = word[1:] == word[:-1]
        highest = np.full(len(head), -1)
        highest[word] = top  # the last phrase of a word is the highest one
        function = np.where(head < 0, self.no_function, predicted)
        on_root = np.flatnonzero(head < 0)
        first = on_root[starts_run(phrases.sentence[on_root])]
        below_root = self.usual_of_labels[self.root, highest[first]]
        function[first] = np.where(highest[first] < 0, usual_of_tags[self.root, tag[first]], below_root)
        of_phrases[: len(phrases)] = function[word]
        inner = np.flatnonzero(is_inner)
        of_phrases[inner] = self.usual_of_labels[low[inner + 1], top[inner]]
        heads = np.flatnonzero(highest >= 0)
        function[heads] = usual_of_tags[low[phrases.lowest[heads]], tag[heads]]
        return function


def _products(decoded: Decoded, scores: Scores, phrases: Phrases) -> F64:
    """Return confidences of phrases and roots (P+B,) that are not calibrated."""
    inside = scores.mask
    values = np.ones(len(phrases) + len(scores))
    np.multiply.at(values, phrases.joins, (decoded.arc_probability * decoded.label_probability)[inside])
    if "unary" in scores.auxiliary:
        alone = np.flatnonzero(phrases.covered.sum(1) == 1)
        values[alone] = np.exp(scores.auxiliary["unary"].log_probability[inside][phrases.word[alone]])
    return values


def mean_confidence(confidences: Sequence[float]) -> float:
    """Return the mean confidence of a tree's constituents without its root, or that of the root if it is alone."""
    inner = confidences[1:] or confidences
    return sum(inner) / len(inner)
