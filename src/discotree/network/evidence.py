"""Evidence for constituents: the few numbers per constituent that say whether it is correct.

A constituent is correct if its label and its words are, punctuation aside: that is how `evaluation` counts. So the
evidence asks whether the network sees these words, and no others, below its head. Arcs count whatever they join: where
a word inside might hang on another word inside, the constituent is the same.

Logarithms of probabilities, at most 0:
    closed     the least of p(not on a word inside), over the words outside; the phrase's own head may be theirs, too
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

Probabilities are those that the network gives each word by itself. Exact marginals over trees (`marginals`) tell no
more: docs/models.md has the comparison.

Shapes: B sentences, N words in the longest of them, C constituents.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discotree.evaluation.params import PROPER
from discotree.network.arborescence import Floats, Ints
from discotree.network.arc_weights import legal_arcs
from discotree.network.decode import Decoded
from discotree.network.scores import Bools, Scores
from discotree.trees.tree import Token, Tree

LOGARITHMS = (
    *("closed", "closed_all", "held", "held_all", "head"),
    *("label", "outer", "upper", "function", "unary", "sentence"),
)
OTHERS = ("gap", "size", "words", "single", "chain")
NAMES = (*LOGARITHMS, *OTHERS)

LEAST = 1e-6  # probabilities below are all the same
MAX_CELLS = 1 << 20  # constituents times words that are looked at at once: a tree may have very many constituents

Probabilities = Callable[[Scores], Floats]
"""Scores → probabilities of all arcs (B, N, N+1), 0 where there is none."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence for all constituents of some trees but their roots, tree by tree in the order of ``nodes()``."""

    values: Floats  # (C, len(NAMES))
    labels: list[str]  # (C,)
    tree: Ints  # (C,) the number of its tree
    counts: Ints  # (B,) constituents of every tree

    @classmethod
    def joined(cls, parts: "Sequence[Evidence]") -> "Evidence":
        """Join the evidence of several lists of trees into that of one list."""
        starts = np.cumsum([0, *(len(part.counts) for part in parts)])
        return cls(
            np.concatenate([part.values for part in parts]),
            [label for part in parts for label in part.labels],
            np.concatenate([part.tree + start for part, start in zip(parts, starts, strict=False)]),
            np.concatenate([part.counts for part in parts]),
        )


def local(scores: Scores) -> Floats:
    """Return the probabilities of arcs as the network gives them, each word by itself."""
    found: Floats = np.exp(np.minimum(legal_arcs(scores), 0.0))
    return found


def evidence(
    trees: Sequence[Tree], decoded: Decoded, scores: Scores, levels: Ints, probabilities: Probabilities = local
) -> Evidence:
    """Return the evidence for the constituents of a batch of trees; ``levels`` (L,) are those of all labels."""
    n = scores.arcs.shape[1]
    batch = _Words.of(trees, decoded, scores, levels, probabilities)
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
    return Evidence(np.concatenate(pieces), [node.label for below in nodes for node in below], tree, counts)


@dataclass(frozen=True, eq=False)
class _Words:
    """What is known about the words of a batch; logarithms of probabilities are at most 0."""

    arcs: Floats  # (B, N, N) probability of every word as a head, from the dependent's point of view
    heads: Ints  # (B, N) positions, -1 for the dummy root
    levels: Ints  # (B, N) of their labels
    chosen: Floats  # (B, N) probability of the head
    label: Floats  # (B, N) log p(label | head)
    function: Floats  # (B, N) log-probability of the function
    unary: Floats  # (B, N) log-probability of the phrases over this word alone
    counted: Bools  # (B, N) whether the evaluator counts the word
    lengths: Ints  # (B,)

    @classmethod
    def of(
        cls, trees: Sequence[Tree], decoded: Decoded, scores: Scores, levels: Ints, probabilities: Probabilities
    ) -> "_Words":
        arcs = probabilities(scores)
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
    """Return whether the evaluator counts a word: it leaves out punctuation."""
    tag = PROPER.eq_label.get(token.tag, token.tag)
    return tag not in PROPER.delete_label and token.form not in PROPER.delete_word


def _values(batch: _Words, tree: Ints, covered: Bools, chain: Bools) -> Floats:
    """Return the evidence (C, len(NAMES)) for constituents, given the words that each covers (C, N)."""
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


def _least(values: Floats, where: Bools) -> Floats:
    """Return the least of a row's values (C, N) where there are any, else 0."""
    found: Floats = np.where(where, values, 0.0).min(1, initial=0.0)
    return found


def _sum(values: Floats, where: Bools) -> Floats:
    found: Floats = np.where(where, values, 0.0).sum(1)
    return found


def _log(probabilities: Floats) -> Floats:
    """Return logarithms of probabilities, bounded; what is not a number counts as improbable."""
    found: Floats = np.log(np.fmin(np.fmax(probabilities, LEAST), 1.0))
    return found


def _bounded(logarithms: Floats) -> Floats:
    found: Floats = np.fmin(np.fmax(logarithms, np.log(LEAST)), 0.0)
    return found
