"""Grid of a tree with its texts and their widths, for renderers with proportional fonts.

A renderer gives font sizes and distances in ``Sizes``, in a unit of its own. Trees over the same words can share their
columns, so that one can be drawn above the words and the other below.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from discotree.drawing.figure import Figure
from discotree.drawing.glyphs import clean, ems
from discotree.drawing.grid import Grid
from discotree.drawing.layout import layout
from discotree.drawing.spacing import Extent, centred, column_extents, packed
from discotree.trees.tree import NONE


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
    below: int  # from a tag to its word, and from a word to its gloss
    slant: int  # extra height of a row for slanted lines


@dataclass(frozen=True, slots=True)
class LabelledGrid:
    """Grid with its texts. ``labels``, ``functions`` and ``widths`` are indexed by address."""

    figure: Figure
    grid: Grid
    labels: list[str]  # tags of words, labels of nodes; empty for words without a tag and for a hidden root
    functions: list[str]  # empty where there is none
    forms: list[str]
    glosses: list[str]  # none where no word has one
    widths: list[int]

    @classmethod
    def of(
        cls, figure: Figure, sizes: Sizes, functions: bool, marks: Sequence[str] = (), boxed: Collection[int] = ()
    ) -> "LabelledGrid":
        """Lay out a tree and measure its texts.

        ``marks`` are put in front of labels and tags, by address. ``boxed`` are the addresses of cells that get a box
        beside those that always have room for one: discontinuous constituents and marked cells.
        """
        tree, look = figure.tree, figure.look
        n = len(tree.tokens)
        nodes = [*tree.nodes()]
        named = [(token.tag, token.function) for token in tree.tokens]
        named += [(node.label, node.function) for node in nodes]
        labels = [clean(label) for label, _ in named]
        if not look.tags or all(label == NONE for label in labels[:n]):
            labels[:n] = [""] * n
        if marks:
            labels = [mark + label for mark, label in zip(marks, labels, strict=True)]
        roles = [clean(role) if functions and role != NONE else "" for _, role in named]
        for leaf in figure.roofs:
            labels[leaf] = ""
        forms = [clean(token.form) for token in tree.tokens]
        glosses = [clean(gloss) if gloss else "" for gloss in figure.glosses]
        widths = [sizes.label * ems(label, True) for label in labels]
        for address, node in enumerate(nodes, n):
            if node.is_discontinuous or (marks and marks[address]) or address in boxed:
                widths[address] += sizes.box
        for word, form in enumerate(forms):
            width = sizes.form * ems(form, True) + sizes.box if word in boxed else sizes.form * ems(form)
            gloss = sizes.tag * ems(glosses[word]) if glosses else 0
            widths[word] = max(width, sizes.tag * ems(labels[word], word in boxed), gloss)
        for address, role in enumerate(roles):
            if role:
                widths[address] = max(widths[address], sizes.function * ems(role))
        if not look.root:
            labels[n], roles[n], widths[n] = "", "", 0
        return cls(figure, layout(tree), labels, roles, forms, glosses, [math.ceil(width) for width in widths])

    @property
    def has_tag_row(self) -> bool:
        """Whether there is a row between the tree and the words, for tags or for triangles."""
        return bool(self.figure.roofs) or any(self.labels[: len(self.forms)])

    @property
    def has_functions(self) -> bool:
        return any(self.functions)

    @property
    def first_node(self) -> int:
        """Index of the first node that is drawn, and the top row: a hidden root is alone in row 0."""
        return 0 if self.figure.look.root else 1

    def pitch(self, sizes: Sizes) -> int:
        """Return the distance from one row to the next."""
        slant = sizes.slant if self.figure.look.is_slanted else 0
        return (sizes.tall if self.has_functions else sizes.row) + slant


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
