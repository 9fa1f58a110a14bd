"""Pieces of a bar: solid ones, and dotted ones where it bridges a gap; free where another line passes."""

from collections.abc import Sequence

Interval = tuple[int, int]


def bar_pieces(
    left: int, right: int, gaps: Sequence[Interval], holes: Sequence[Interval]
) -> tuple[list[Interval], list[Interval]]:
    """Return the solid pieces of a bar and those that bridge a gap; holes are left out of both."""
    bridges: list[Interval] = []
    for start, end in gaps:
        bridges += _between(max(left, start), min(right, end), holes)
    return _between(left, right, [*holes, *bridges]), bridges


def _between(start: int, end: int, holes: Sequence[Interval]) -> list[Interval]:
    """Return the pieces of a line between its holes."""
    pieces = []
    for left, right in sorted(holes):
        if start < min(left, end):
            pieces.append((start, min(left, end)))
        start = max(start, right)
    if start < end:
        pieces.append((start, end))
    return pieces
