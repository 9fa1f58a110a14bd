"""From columns to places along a line: how near things may come to each other, given how wide their texts are.

A renderer says how far the text of each cell reaches to either side of its column, in any unit. Columns then take
their places from left to right, each as far left as it can be, and afterwards what stands between two words moves
towards the middle between them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from discotree.drawing.layout import PITCH, Grid


class Room(NamedTuple):
    """What a cell needs: place for its text, and a free way up to the bar of its parent."""

    row: int
    top: int  # the row of the parent
    left: int  # how far the text reaches to either side
    right: int
    opens: bool  # whether the bar of the parent begins here
    closes: bool

    def mirrored(self) -> "Room":
        return Room(self.row, self.top, self.right, self.left, self.closes, self.opens)


Column = tuple[int, list[Room]]  # a number, and what the cells in it need


def rooms(grid: Grid, sides: Iterable[tuple[int, int]]) -> list[Column]:
    """The columns in use, given how far each cell's text reaches to its left and to its right."""
    size = len(grid.tree)
    columns: dict[int, list[Room]] = {}
    for (_, row, column, parent), (left, right) in zip(grid.cells, sides, strict=True):
        top, start, end = row, -1, -1
        if parent >= 0:
            _, top, start, end = grid.bars[parent - size]
        columns.setdefault(column, []).append(Room(row, top, left, right, column == start, column == end))
    return sorted(columns.items())


def packed(rows: int, columns: Iterable[Column], origin: int, step: int) -> Iterator[tuple[int, int]]:
    """Columns with their places, from left to right; texts begin at ``origin``, and things are ``step`` apart."""
    return _sweep(rows, columns, origin, step, lambda _, lowest: lowest)


def centred(rows: int, columns: Sequence[Column], places: dict[int, int], end: int, step: int) -> dict[int, int]:
    """Move what stands between two words to the right, as far as there is room; ``end`` is the last place of a text."""

    def settle(column: int, lowest: int) -> int:
        word, offset = column - column % PITCH, column % PITCH
        if not offset or word + PITCH not in places:
            return -places[column]
        ideal = places[word] + (places[word + PITCH] - places[word]) * offset // PITCH
        return -max(places[column], min(ideal, -lowest))

    mirrored = [(column, [room.mirrored() for room in cells]) for column, cells in reversed(columns)]
    return {column: -place for column, place in _sweep(rows, mirrored, -end, step, settle)}


def _sweep(
    rows: int, columns: Iterable[Column], origin: int, step: int, settle: Callable[[int, int], int]
) -> Iterator[tuple[int, int]]:
    """Go through the columns; ``settle`` is told the lowest place where nothing comes too near to what is there."""
    labels = [origin - step] * rows  # how far the labels and passing stems of each row reach
    bars = [origin - step] * rows  # and what is in the line of the bars
    place = origin - 1
    for column, cells in columns:
        lowest = place + 1
        for row, top, left, _, opens, _ in cells:
            lowest = max(lowest, labels[row] + left + step, max(bars[top : row + 1]) + step)
            passed = labels[top + (not opens) : row]  # a bar must not begin under somebody else's label
            if passed:
                lowest = max(lowest, max(passed) + step)
        place = settle(column, lowest)
        for row, top, _, right, _, closes in cells:
            bars[top : row + 1] = [place] * (row + 1 - top)
            labels[top + 1 : row] = [place] * (row - top - 1)
            labels[row] = place + right
            if closes:
                labels[top] = max(labels[top], place)
        yield column, place
