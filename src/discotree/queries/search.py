"""Find a query in trees, in a treebank or in an index."""

import os
from collections.abc import Iterable, Iterator
from os import PathLike
from typing import TYPE_CHECKING

from discotree.queries.first_look import FirstLook
from discotree.queries.index import is_index, search_index
from discotree.queries.match import Match
from discotree.queries.query import Query
from discotree.treebanks.pieces import read_pieces
from discotree.trees.tree import Tree

if TYPE_CHECKING:
    from discotree.queries.rows import Row
    from discotree.treebanks.dataframes import Table


class Matches(Iterator[Match]):
    """All matches of a query, tree by tree: a stream to go through once, or to make one table of."""

    def __init__(self, matches: Iterable[Match], query: Query) -> None:
        self.matches = iter(matches)
        self.query = query

    def __next__(self) -> Match:
        return next(self.matches)

    def table(self) -> "Table[Row]":
        """Return a row for every match: what each variable stands for, with its words, label, edge and positions."""
        from discotree.queries.rows import binding_table, row

        return binding_table((row(match) for match in self), self.query)

    def counts(self, *keys: str) -> "Table[Row]":
        """Count matches by features of variables, such as ``#n.cat`` or ``#p``; the most frequent come first."""
        from discotree.queries.rows import GroupKey, count, count_table

        found = [GroupKey(key, self.query) for key in keys]
        return count_table(count(self, found), found)


def search(trees: Iterable[Tree] | str | PathLike[str], query: str | Query) -> Matches:
    """Find a query in trees, or in the trees of a file or an index; return all matches, tree by tree."""
    found = query if isinstance(query, Query) else Query(query)
    if isinstance(trees, str | PathLike):
        if is_index(os.fspath(trees)):
            return Matches(search_index(trees, found), found)
        trees = _possible(trees, FirstLook(found))
    elif isinstance(trees, Tree) or not isinstance(trees, Iterable):
        raise TypeError(f"expected trees or a file of them, got {type(trees).__name__}; for one tree, pass [tree]")
    return Matches((match for tree in trees for match in found.matches(tree)), found)


def _possible(path: str | PathLike[str], first_look: FirstLook) -> Iterator[Tree]:
    """Yield the trees of a file, without those in which the query cannot be found."""
    for piece in read_pieces(path):
        if first_look(piece):
            yield from piece.trees()
