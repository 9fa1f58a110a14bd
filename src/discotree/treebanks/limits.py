"""Refuse trees that a format cannot hold, before anything is lost or breaks the file."""

import re
from collections.abc import Sequence

from discotree.errors import TreebankError
from discotree.trees.tree import Tree

WHITE_SPACE = re.compile(r"[ \t\n\r\f\v\x1c-\x1f]")  # separates fields in plain-text formats
CONTROL_SPACE = re.compile(r"[\t\n\r\f\v\x1c-\x1f]")  # a plain space in a lemma becomes _


def refusal(tree: Tree, format: str, what: str, text: str) -> TreebankError:
    return TreebankError(f"sentence {tree.id}: the {what} {text!r} is one that {format} cannot hold")


def check(tree: Tree, format: str, what: str, texts: Sequence[str], forbidden: re.Pattern[str] = WHITE_SPACE) -> None:
    """Refuse texts that are empty or match the forbidden pattern."""
    if "" in texts or forbidden.search("".join(texts)):
        for text in texts:
            if not text or forbidden.search(text):
                raise refusal(tree, format, what, text)


def labels_of(tree: Tree) -> list[str]:
    return [node.label for node in tree.nodes()]
