"""A parsed sentence ↔ one line of JSON: the record of its tree with offsets, which a Doc keeps for each sentence.

Text goes wherever a Doc goes: into bytes, a DocBin, another process. Text is also immutable, so the parse of a line
can be cached: however often you read attributes, each tree is built once.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from discotree.errors import TreeError
from discotree.trees.record import offsets_of
from discotree.trees.tree import Node, Tree

MAX_CACHED_SENTENCES = 1024


@dataclass(frozen=True, slots=True)
class StoredParse:
    """A parsed sentence. Nodes are numbered in the order of ``Tree.nodes``; the root is 0."""

    tree: Tree
    starts: tuple[int, ...]  # token offsets in characters from the start of the sentence
    ends: tuple[int, ...]
    nodes: tuple[Node, ...]
    node_parents: tuple[int, ...]  # -1 for the root
    token_parents: tuple[int, ...]

    def ancestors(self, position: int) -> list[int]:
        """Return the nodes above a token, the root last."""
        nodes = [self.token_parents[position]]
        while (parent := self.node_parents[nodes[-1]]) >= 0:
            nodes.append(parent)
        return nodes


def to_line(tree: Tree, offsets: Sequence[tuple[int, int]]) -> str:
    """Return the JSON of a tree and the offsets of its tokens in the sentence."""
    return json.dumps(tree.to_dict(offsets), ensure_ascii=False, separators=(",", ":"))


@lru_cache(MAX_CACHED_SENTENCES)
def from_line(line: str) -> StoredParse:
    """Return the parse that a line holds. Docs come from files, so everything is checked."""
    try:
        record = json.loads(line)
        tree = Tree.from_dict(record)
        offsets = offsets_of(record)
        if not offsets:
            raise TreeError("its tokens have no offsets")
    except (ValueError, RecursionError) as error:  # a TreeError is a ValueError, too
        raise TreeError(f"the tree stored with the Doc cannot be read: {error}") from None
    token_parents, nodes = tree.parents()
    return StoredParse(
        tree,
        tuple([start for start, _ in offsets]),
        tuple([end for _, end in offsets]),
        tuple(tree.nodes()),
        (-1, *[parent + 1 for _, _, parent in nodes]),
        tuple([parent + 1 for parent in token_parents]),
    )
