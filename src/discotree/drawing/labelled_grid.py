"""Grid of a tree with its texts and their widths, for renderers with proportional fonts.

A renderer gives font sizes and distances in ``Sizes``, in a unit of its own. Trees over the same words can share their
columns, so that one can be drawn above the words and the other below.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from discotree.drawing.glyphs import clean, ems
from discotree.drawing.grid import Grid
from discotree.drawing.layout import layout
from discotree.drawing.spacing import Extent, centred, column_extents, packed
from discotree.trees.tree import NONE, Tree


class Sizes(NamedTuple):
    """Font sizes and distances; vertical distances are between the middles of texts."""

    label: float
    tag: float
    form: float
    function: float
    margin: int
    step: int  # horizontal distance between neighbours
    box: int  # extra width of a box around a label
    reach: int  # from a label to the ends of its lines
    bar: int  # from a label to its bar
    role: int  # from a label up to its function
    row: int  # from a label to a child's label, without functions
    tall: int  # from a label to a child's label, with functions
    below: int  # from a tag to its word


@dataclass(frozen=True, slots=True)
class LabelledGrid:
    """Grid with its texts. ``labels``, ``functions`` and ``widths`` are indexed by address."""

    grid: Grid
    labels: list[str]  # tags of words, labels of nodes; tags are empty where no word has one
    functions: list[str]  # empty where there is none
    forms: list[str]
    widths: list[int]

    @classmethod
    def of(
        cls, tree: Tree, sizes: Sizes, functions: bool, marks: Sequence[str] = (), boxed: Collection[int] = ()
    ) -> "LabelledGrid":
        """Lay out a tree and measure its texts.

        ``marks`` are put in front of labels and tags, by address. ``boxed`` are the addresses of cells that get a box
        beside those that always have room for one: discontinuous constituents and marked cells.
        """
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
            if node.is_discontinuous or (marks and marks[address]) or address in boxed:
                widths[address] += sizes.box
        for word, form in enumerate(forms):
            width = sizes.form * ems(form, True) + sizes.box if word in boxed else sizes.form * ems(form)
            widths[word] = max(width, sizes.tag * ems(labels[word], word in boxed))
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


def column_xs(labelled_grids: Sequence[LabelledGrid], sizes: Sizes) -> tuple[dict[int, int], int]:
    """Return the x of every column of trees over the same words, and the total width."""
    rows = 0
    merged: dict[int, list[Extent]] = {}
    for labelled in labelled_grids:
        sides = [((width + 1) // 2, (width + 1) // 2) for width in labelled.widths]
        for column, cells in column_extents(labelled.grid, sides):
            merged.setdefault(column, []).extend(
                [extent._replace(row=extent.row + rows, top=extent.top + rows) for extent in cells] if rows else cells
            )
        rows += labelled.grid.rows
    columns = sorted(merged.items())
    xs = dict(packed(rows, columns, sizes.margin, sizes.step))
    end = max([xs[column] + extent.right for column, cells in columns for extent in cells])
    return centred(rows, columns, xs, end, sizes.step), end + sizes.margin
