"""A sentence that is too long for the network: cut in parts, and their trees put together again."""

import dataclasses
import logging
import math
from collections.abc import Sequence

from discotree.trees.tree import Token, Tree

MAX_WORDS = 1000  # of a sentence: a longer one is parsed in parts
LAST_WORDS = frozenset(".?!;:…")  # where such a sentence is best cut

notices = logging.getLogger("discotree")


def in_parts(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """A sentence in parts that are not too long, cut where a sentence might have ended if there is such a place."""
    if len(tokens) <= MAX_WORDS:
        return [tokens]
    parts = []
    begin = 0
    while begin < len(tokens):
        end = begin + MAX_WORDS
        if end < len(tokens):
            places = range(end, end - MAX_WORDS // 2, -1)
            end = next((place for place in places if tokens[place - 1].form in LAST_WORDS), end)
        parts.append(tokens[begin:end])
        begin = end
    notices.warning("a sentence of %d words is parsed in %d parts, each by itself", len(tokens), len(parts))
    return parts


def joined(trees: list[Tree]) -> Tree:
    """The trees of the parts of one sentence side by side under one root."""
    if len(trees) == 1:
        return trees[0]
    tokens: list[Token] = []
    token_parents: list[int] = []
    nodes: list[tuple[str, str, int]] = []
    for tree in trees:
        above, below = tree.parents()
        token_parents += [parent + len(nodes) if parent >= 0 else parent for parent in above]
        first = len(nodes)
        nodes += [(label, role, parent + first if parent >= 0 else parent) for label, role, parent in below]
        tokens += tree.tokens
    root = trees[0].root
    whole = Tree.from_parents(tokens, token_parents, nodes, root=(root.label, root.function), id=trees[0].id)
    inner = [value for tree in trees for value in tree.confidences[1:]]
    return dataclasses.replace(
        whole,
        confidence=math.prod(tree.confidence or 0.0 for tree in trees),
        confidences=(math.prod(tree.confidences[0] for tree in trees), *inner),
    )
