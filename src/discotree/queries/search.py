"""Find a query in trees, in a treebank or in an index."""

import os
from collections.abc import Iterable, Iterator
from os import PathLike

from discotree.queries.index import is_index, search_index
from discotree.queries.match import Match
from discotree.queries.query import Query
from discotree.treebanks import read
from discotree.trees.tree import Tree


def search(trees: Iterable[Tree] | str | PathLike[str], query: str | Query) -> Iterator[Match]:
    """Find a query in trees, or in the trees of a file or an index; yield all matches, tree by tree."""
    found = query if isinstance(query, Query) else Query(query)
    if isinstance(trees, str | PathLike):
        if is_index(os.fspath(trees)):
            return search_index(trees, found)
        trees = read(trees)
    elif isinstance(trees, Tree) or not isinstance(trees, Iterable):
        raise TypeError(f"expected trees or a file of them, got {type(trees).__name__}; for one tree, pass [tree]")
    return (match for tree in trees for match in found.matches(tree))
