"""Horizontal spacing: an x for every column of a grid, given the widths of its texts.

A renderer gives the extent of each cell's text to either side of its column, in any unit. Columns are placed from left
to right, each as far left as possible; then columns between two words move towards the middle between them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from discotree.drawing.grid import PITCH, Grid


class Extent(NamedTuple):
    """Room that a cell needs: for its text, and for its stem up to the bar of its parent."""

    row: int
    top: int  # row of the parent
    left: int  # extent of the text to the left of the column
    right: int
    opens: bool  # the bar of the parent begins here
    closes: bool  # the bar of the parent ends here

    def mirrored(self) -> "Extent":
        return Extent(self.row, self.top, self.right, self.left, self.closes, self.opens)


Column = tuple[int, list[Extent]]  # number of a column, and the extents of its cells


def column_extents(grid: Grid, sides: Iterable[tuple[int, int]]) -> list[Column]:
    """Return the columns in use, given the extents of every cell's text to the left and to the right."""
    size = len(grid.tree)
    columns: dict[int, list[Extent]] = {}
    for (_, row, column, parent), (left, right) in zip(grid.cells, sides, strict=True):
        top, start, end = row, -1, -1
        if parent >= 0:
            _, top, start, end = grid.bars[parent - size]
        columns.setdefault(column, []).append(Extent(row, top, left, right, column == start, column == end))
    return sorted(columns.items())


def packed(rows: int, columns: Iterable[Column], origin: int, step: int) -> Iterator[tuple[int, int]]:
    """Yield columns with their x from left to right; texts begin at ``origin`` and keep a distance of ``step``."""
    return _sweep(rows, columns, origin, step, lambda _, lowest: lowest)


def centred(rows: int, columns: Sequence[Column], xs: dict[int, int], end: int, step: int) -> dict[int, int]:
    """Move columns between two words to the right, as far as possible; ``end`` is the last x of a text."""

    def settle(column: int, lowest: int) -> int:
        word, offset = column - column % PITCH, column % PITCH
        if not offset or word + PITCH not in xs:
            return -xs[column]
        ideal = xs[word] + (xs[word + PITCH] - xs[word]) * offset // PITCH
        return -max(xs[column], min(ideal, -lowest))

    mirrored = [(column, [extent.mirrored() for extent in cells]) for column, cells in reversed(columns)]
    return {column: -x for column, x in _sweep(rows, mirrored, -end, step, settle)}


def _sweep(
    rows: int, columns: Iterable[Column], origin: int, step: int, settle: Callable[[int, int], int]
) -> Iterator[tuple[int, int]]:
    """Yield columns with the x that ``settle`` chooses, given the lowest x that keeps the distance to the others."""
    labels = [origin - step] * rows  # last x of the labels and passing stems in each row
    bars = [origin - step] * rows  # last x in the line of the bars
    x = origin - 1
    for column, cells in columns:
        lowest = x + 1
        for row, top, left, _, opens, _ in cells:
            lowest = max(lowest, labels[row] + left + step, max(bars[top : row + 1]) + step)
            passed = labels[top + (not opens) : row]  # a bar must not begin below another node's label
            if passed:
                lowest = max(lowest, max(passed) + step)
        x = settle(column, lowest)
        for row, top, _, right, _, closes in cells:
            bars[top : row + 1] = [x] * (row + 1 - top)
            labels[top + 1 : row] = [x] * (row - top - 1)
            labels[row] = x + right
            if closes:
                labels[top] = max(labels[top], x)
        yield column, x
