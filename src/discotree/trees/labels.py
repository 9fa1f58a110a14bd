r"""Composite labels: chains of unaries, and a label with its level on a spine.

S+VP        an S over a VP, its only child
NP#2        the second phrase on its head word's spine, an NP
\+  \\      a + or a \ that belongs to a label
\^ROOT      a label that equals the root's but belongs to a node inside the tree
"""

import re
from functools import lru_cache

from discotree.trees.tree import NONE

LEVEL = "#"
JOINER = "+"
ESCAPE = "\\"
NOT_THE_ROOT = "\\^"

_SPECIAL = re.compile(r"[\\+]")
_PIECE = re.compile(r"\\.?|[^\\+]+|\+", re.DOTALL)  # an escaped character, plain text, or a joiner
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MAX_DIGITS = 9
_CACHED = 10_000  # labels, so about 10 MB at most
_MAX_CACHED_CHARS = 200


def escape(label: str, root: str = "") -> str:
    """Return a label that can be part of a chain in a tree whose root is labelled ``root``."""
    escaped = _SPECIAL.sub(r"\\\g<0>", label) if JOINER in label or ESCAPE in label else label
    return NOT_THE_ROOT + escaped if label == root else escaped


def split_chain(chain: str, root: str = "") -> tuple[str, ...]:
    """Return the labels of a chain, top to bottom, unescaped; the root label is left out."""
    return (_split_chain if len(chain) + len(root) <= _MAX_CACHED_CHARS else _split_chain.__wrapped__)(chain, root)


@lru_cache(_CACHED)
def _split_chain(chain: str, root: str) -> tuple[str, ...]:
    links = [""]
    for piece in _PIECE.findall(chain):
        if piece == JOINER:
            links.append("")
        else:
            links[-1] += piece
    raw_root = escape(root)
    return tuple(_unescape(link) or NONE for link in links if link != raw_root or not root)


def _unescape(label: str) -> str:
    if ESCAPE not in label:
        return label
    return _ESCAPED.sub(r"\1", label.removeprefix(NOT_THE_ROOT))


def split_level(label: str, root: str = "") -> tuple[tuple[str, ...], int]:
    """Return the chain of labels and the level of an arc's label; a missing level counts as 1."""
    return (_split_level if len(label) + len(root) <= _MAX_CACHED_CHARS else _split_level.__wrapped__)(label, root)


@lru_cache(_CACHED)
def _split_level(label: str, root: str) -> tuple[tuple[str, ...], int]:
    name, separator, level = label.rpartition(LEVEL)
    if separator and level.isascii() and level.isdecimal() and len(level) <= _MAX_DIGITS:
        return split_chain(name, root), int(level)
    return split_chain(label, root), 1
