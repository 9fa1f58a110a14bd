"""Grid of a tree: the cells of its words and nodes, and the lines between them."""

from dataclasses import dataclass
from typing import NamedTuple

from discotree.trees.tree import Node, Tree

PITCH = 4  # columns from one word to the next


class Cell(NamedTuple):
    """Row and column of a node or a token."""

    item: Node | int  # a node, or a token's position
    row: int
    column: int
    parent: int  # address of the parent's cell, -1 for the root


class Bar(NamedTuple):
    """Horizontal line right below a node, over all its children; a point where there is one child."""

    node: int  # address of its cell
    row: int
    start: int  # first column
    end: int  # last column


class Stem(NamedTuple):
    """Vertical line from a parent's bar, right below row ``top``, to the child in row ``bottom``."""

    child: int  # address of its cell
    column: int
    top: int
    bottom: int


class Crossing(NamedTuple):
    """Point where a bar passes the stem of another node's child."""

    node: int  # address of the cell above the bar
    child: int  # address of the cell below the stem
    row: int  # row of the bar
    column: int  # column of the stem


@dataclass(frozen=True, slots=True)
class Grid:
    """Tree with a cell for every token and node.

    Cells have the addresses that secondary edges use: a token's is its position, and that of the k-th node in the order
    of ``Tree.nodes`` is ``len(tree) + k``. Word ``i`` is in column ``PITCH * i``. Most columns between words are empty;
    a renderer may stretch or squeeze columns as long as it keeps their order.
    """

    tree: Tree
    rows: int
    columns: int
    cells: tuple[Cell, ...]
    bars: tuple[Bar, ...]  # one per node, in the order of the nodes
    crossings: tuple[Crossing, ...]

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Addresses of parent and child for every cell but the root's."""
        return tuple((cell.parent, child) for child, cell in enumerate(self.cells) if cell.parent >= 0)

    @property
    def children(self) -> list[list[int]]:
        """Addresses of the children of each node, in the order of the nodes."""
        size = len(self.tree)
        children: list[list[int]] = [[] for _ in self.bars]
        for parent, child in self.edges:
            children[parent - size].append(child)
        return children

    @property
    def crossed_columns(self) -> list[list[int]]:
        """Columns where other nodes' stems pass through the bar of each node, in the order of the nodes."""
        size = len(self.tree)
        columns: list[list[int]] = [[] for _ in self.bars]
        for crossing in self.crossings:
            columns[crossing.node - size].append(crossing.column)
        return columns

    @property
    def stems(self) -> tuple[Stem, ...]:
        """One stem per edge, in the same order."""
        cells = self.cells
        return tuple(
            Stem(child, cells[child].column, cells[parent].row, cells[child].row) for parent, child in self.edges
        )
