r"""How labels are put together: chains of unaries, and a label with its level on a spine.

S+VP        an S over a VP, its only child
NP#2        the second phrase on its head word's spine, an NP
\+  \\      a + or a \ that belongs to a label
\^ROOT      a label that looks like the root's but stands below the top on purpose
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


def escape(label: str, root: str = "") -> str:
    """A label that can stand in a chain below the root label ``root``."""
    escaped = _SPECIAL.sub(r"\\\g<0>", label) if JOINER in label or ESCAPE in label else label
    return NOT_THE_ROOT + escaped if label == root else escaped


@lru_cache(maxsize=50_000)
def split_chain(chain: str, root: str = "") -> tuple[str, ...]:
    """The labels of a chain, top to bottom, unescaped; what is the root label is left out."""
    parts = [""]
    for piece in _PIECE.findall(chain):
        if piece == JOINER:
            parts.append("")
        else:
            parts[-1] += piece
    raw_root = escape(root)
    return tuple(_unescape(part) or NONE for part in parts if part != raw_root or not root)


def _unescape(label: str) -> str:
    if ESCAPE not in label:
        return label
    return _ESCAPED.sub(r"\1", label.removeprefix(NOT_THE_ROOT))


@lru_cache(maxsize=50_000)
def split_level(label: str, root: str = "") -> tuple[tuple[str, ...], int]:
    """The chain of labels and the level of an arc's label; no level counts as 1."""
    name, separator, level = label.rpartition(LEVEL)
    if separator and level.isascii() and level.isdecimal() and len(level) <= _MAX_DIGITS:
        return split_chain(name, root), int(level)
    return split_chain(label, root), 1
