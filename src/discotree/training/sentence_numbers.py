"""The sentences of a source that a recipe names by their numbers: ``"1-18602"``, ``"5,7,10-"``."""

import re
from math import inf

from discotree.config import DataSource
from discotree.errors import ConfigError, TreebankError
from discotree.trees.tree import Tree


def numbered(trees: list[Tree | None], source: DataSource) -> list[Tree | None]:
    """Select the trees whose numbers, counted from 1, the source names."""
    if not source.sentences:
        return trees
    ranges = [_range(text.strip(), source) for text in source.sentences.split(",")]
    missing = [number for bounds in ranges for number in bounds if len(trees) < number < inf]
    if missing:
        # Another version of the treebank, in which the ranges would make another split
        raise TreebankError(f"expected a sentence {missing[0]:,}, but there are only {len(trees):,}", source.file)
    return [tree for number, tree in enumerate(trees, 1) if any(first <= number <= last for first, last in ranges)]


def _range(text: str, source: DataSource) -> tuple[int, float]:
    found = re.fullmatch(r"(\d+)(-(\d*))?", text)
    if not found:
        raise ConfigError(f"{source.file}: sentences: expected a range such as 1-18602, 7 or 20-, got {text!r}")
    first = int(found[1])
    last = first if found[2] is None else int(found[3]) if found[3] else inf
    if not 1 <= first <= last:
        raise ConfigError(f"{source.file}: sentences: expected a rising range that starts at 1 or later, got {text!r}")
    return first, last
