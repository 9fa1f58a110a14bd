"""RecordView: the view of a tree in an index, from its columns. What a query does not ask for is not computed."""

from collections.abc import Sequence
from functools import cached_property

from discotree.queries.index_format import Columns
from discotree.queries.tree_view import FIELDS, TreeView
from discotree.trees.node import lowest_bit
from discotree.trees.tree import NONE, Node, SecondaryEdge, Tree


class RecordView(TreeView):
    """A ``TreeView`` that has everything but the tree, which is built when somebody asks for it.

    Nobody sets what is cached here, so mypy's objection that it cannot be set (``override``) does not matter.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.terminals = len(columns.token_parents)
        self.size = self.terminals + len(columns.labels)
        self._by_value = {}
        self._by_first = []

    @cached_property
    def tree(self) -> Tree:  # type: ignore[override]
        return self.columns.tree()

    @cached_property
    def nodes(self) -> list[Node]:  # type: ignore[override]
        return list(self.tree.nodes())

    @cached_property
    def parents(self) -> list[int]:  # type: ignore[override]
        root = self.terminals  # the address of node k is root + k, counted with the root
        columns = self.columns
        above_nodes = [root + 1 + parent for parent in columns.node_parents]
        return [*[root + 1 + parent for parent in columns.token_parents], -1, *above_nodes]

    @cached_property
    def masks(self) -> list[int]:
        """The terminals of every non-terminal as a bit set."""
        masks = [0] * len(self.columns.labels)
        for position, parent in enumerate(self.columns.token_parents):
            masks[parent + 1] |= 1 << position
        parents = self.columns.node_parents
        for node in range(len(parents), 0, -1):
            masks[parents[node - 1] + 1] |= masks[node]
        return masks

    @cached_property
    def first(self) -> list[int]:  # type: ignore[override]
        return [*range(self.terminals), *map(lowest_bit, self.masks)]

    @cached_property
    def children(self) -> list[list[int]]:  # type: ignore[override]
        below: list[list[int]] = [[] for _ in self.columns.labels]
        for address, parent in enumerate(self.parents):
            if parent >= 0:
                below[parent - self.terminals].append(address)
        for addresses in below:
            if len(addresses) > 1:
                addresses.sort(key=self.first.__getitem__)
        return below

    @cached_property
    def edges(self) -> list[str | None]:  # type: ignore[override]
        return [*self.columns.tokens[FIELDS["edge"]], None, *self.columns.functions[1:]]

    @property
    def id(self) -> str:
        return self.columns.id

    @property
    def words(self) -> Sequence[str]:
        return self.columns.tokens[FIELDS["word"]]

    @property
    def secondary_edges(self) -> Sequence[SecondaryEdge]:
        return self.columns.secondary

    @property
    def confidences(self) -> Sequence[float]:
        return self.columns.confidences

    def value(self, address: int, feature: str) -> str | None:
        if feature == "edge":
            return self.edges[address]
        if (feature == "cat") == (address < self.terminals):
            return None
        column = self._column(feature)
        found = column[address - self.terminals] if feature == "cat" else column[address]
        return None if found == NONE else found

    def _column(self, feature: str) -> list[str]:
        return self.columns.labels if feature == "cat" else self.columns.tokens[FIELDS[feature]]

    def values(self, feature: str) -> dict[str, list[int]]:
        table = self._by_value.get(feature)
        if table is None:
            table = self._by_value[feature] = {}
            column = self.edges if feature == "edge" else self._column(feature)
            lacking = None if feature == "edge" else NONE
            for address, value in enumerate(column, self.terminals if feature == "cat" else 0):
                if value is not None and value != lacking:
                    table.setdefault(value, []).append(address)
        return table

    def mask(self, address: int) -> int:
        return 1 << address if address < self.terminals else self.masks[address - self.terminals]
