"""A tree that is ready to be drawn with proportional letters: its grid, its texts, and how far apart things have to be.

A medium says in ``Sizes`` how large its letters and distances are, in its own unit. Trees over the same words can
share their columns, so that one can be drawn above and the other below the words.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from discotree.drawing.layout import Grid, layout
from discotree.drawing.letters import clean, ems
from discotree.drawing.spacing import Room, centred, packed, rooms
from discotree.trees.tree import NONE, Tree


class Sizes(NamedTuple):
    """Font sizes and distances, vertical ones between the middles of texts."""

    label: float
    tag: float
    form: float
    function: float
    margin: int
    step: int  # between things side by side
    box: int  # by how much a box is wider than the label in it
    reach: int  # from a label to where lines end at it
    bar: int  # from a label to its bar
    role: int  # from a label up to its function
    row: int  # from a label to a child's label, in rows without functions
    tall: int  # and with functions
    below: int  # from a tag to its word


@dataclass(frozen=True, slots=True)
class Sheet:
    """A grid with its texts. ``labels``, ``functions`` and ``widths`` go by address."""

    grid: Grid
    labels: list[str]  # those of words are tags; empty where no word has one
    functions: list[str]  # empty: none
    forms: list[str]
    widths: list[int]

    @classmethod
    def of(cls, tree: Tree, sizes: Sizes, functions: bool, marks: Sequence[str] = ()) -> "Sheet":
        """``marks`` go in front of labels and tags, by address."""
        n = len(tree.tokens)
        nodes = [*tree.nodes()]
        named = [(token.tag, token.function) for token in tree.tokens]
        named += [(node.label, node.function) for node in nodes]
        labels = [clean(label) for label, _ in named]
        if all(label == NONE for label in labels[:n]):
            labels[:n] = [""] * n
        if marks:
            labels = [mark + label for mark, label in zip(marks, labels, strict=True)]
        roles = [clean(role) if functions and role != NONE else "" for _, role in named]
        forms = [clean(token.form) for token in tree.tokens]
        widths = [sizes.label * ems(label, True) for label in labels]
        for address, node in enumerate(nodes, n):
            if node.is_discontinuous or (marks and marks[address]):
                widths[address] += sizes.box
        for word, form in enumerate(forms):
            widths[word] = max(sizes.form * ems(form), sizes.tag * ems(labels[word]))
        for address, role in enumerate(roles):
            if role:
                widths[address] = max(widths[address], sizes.function * ems(role))
        return cls(layout(tree), labels, roles, forms, [math.ceil(width) for width in widths])

    @property
    def has_tags(self) -> bool:
        return any(self.labels[: len(self.forms)])

    @property
    def has_functions(self) -> bool:
        return any(self.functions)


def spread(sheets: Sequence[Sheet], sizes: Sizes) -> tuple[dict[int, int], int]:
    """A place for every column of trees over the same words, and the width of all."""
    rows = 0
    merged: dict[int, list[Room]] = {}
    for sheet in sheets:
        sides = [((width + 1) // 2, (width + 1) // 2) for width in sheet.widths]
        for column, cells in rooms(sheet.grid, sides):
            merged.setdefault(column, []).extend(
                [room._replace(row=room.row + rows, top=room.top + rows) for room in cells] if rows else cells
            )
        rows += sheet.grid.rows
    columns = sorted(merged.items())
    places = dict(packed(rows, columns, sizes.margin, sizes.step))
    end = max([places[column] + room.right for column, cells in columns for room in cells])
    return centred(rows, columns, places, end, sizes.step), end + sizes.margin
