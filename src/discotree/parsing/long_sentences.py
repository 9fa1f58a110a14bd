"""Sentences that are too long for the network: split into parts, and their trees joined again."""

import dataclasses
import logging
import math
from collections.abc import Sequence

from discotree.trees.tree import Token, Tree

MAX_WORDS = 10_000  # per sentence: a node's positions are a bit set, so trees grow with the square of their words
WHOLE_WORDS = 1000  # a longer sentence is parsed in parts
PART_WORDS = 250  # many short parts fill a batch, and scoring takes time with the square of their words
LAST_WORDS = frozenset(".?!;:…")  # good ends of a part

notices = logging.getLogger("discotree")


def in_parts(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """Split a sentence into parts of at most PART_WORDS, after the last of LAST_WORDS in the second half of each."""
    if len(tokens) <= WHOLE_WORDS:
        return [tokens]
    parts = []
    begin = 0
    while begin < len(tokens):
        end = begin + PART_WORDS
        if end < len(tokens):
            candidates = range(end, end - PART_WORDS // 2, -1)
            end = next((candidate for candidate in candidates if tokens[candidate - 1].form in LAST_WORDS), end)
        parts.append(tokens[begin:end])
        begin = end
    notices.warning("a sentence of %d words is parsed in %d parts, each by itself", len(tokens), len(parts))
    return parts


def joined(trees: list[Tree]) -> Tree:
    """Join the trees of the parts of one sentence under one root."""
    if len(trees) == 1:
        return trees[0]
    tokens: list[Token] = []
    token_parents: list[int] = []
    nodes: list[tuple[str, str, int]] = []
    for tree in trees:
        own_token_parents, own_nodes = tree.parents()
        first = len(nodes)
        token_parents += [parent + first if parent >= 0 else parent for parent in own_token_parents]
        nodes += [(label, function, parent + first if parent >= 0 else parent) for label, function, parent in own_nodes]
        tokens += tree.tokens
    root = trees[0].root
    whole = Tree.from_parents(tokens, token_parents, nodes, root=(root.label, root.function), id=trees[0].id)
    inner = [value for tree in trees for value in tree.confidences[1:]]
    sizes = [len(tree.confidences) for tree in trees]
    expected = sum((tree.confidence or 0.0) * size for tree, size in zip(trees, sizes, strict=True)) / max(
        1, sum(sizes)
    )
    return dataclasses.replace(
        whole,
        confidence=expected,
        confidences=(math.prod(tree.confidences[0] for tree in trees), *inner),
    )
