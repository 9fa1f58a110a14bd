"""Trees as self-contained SVG, in light and dark, without fonts, scripts or other files.

Every constituent is a group ``node`` with its bar, the stems to its children and its label; every word is a group
``word``. A page can attach events to them. ``data-node`` numbers constituents in the order of ``Tree.nodes``.

A bar is interrupted where another node's stem passes. Discontinuous constituents have a colour and, for readers who do
not see it, bold lines, a box around the label, and dots where the bar bridges a gap. So do nodes that a query binds.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discotree.drawing.curves import Rectangle, label_parameter, point_at, secondary_curve
from discotree.drawing.glyphs import clean, ems
from discotree.drawing.grid import PITCH
from discotree.drawing.highlights import Highlight, Highlights
from discotree.drawing.labelled_grid import LabelledGrid, column_xs
from discotree.drawing.markup import SIZES, Picture, Theme, attribute, box_around, escape, path, text_at
from discotree.trees.tree import NONE, Node, Tree

HOLE = 5  # pixels left free on either side of a stem that passes through a bar
INSET = 7  # pixels by which the solid bar reaches into a gap
LEGEND_HEIGHT = 34
MAX_WORDS = 12  # words in the tooltip of a constituent


def draw_svg(
    tree: Tree,
    *,
    functions: bool = True,
    theme: Theme = "auto",
    highlight: Highlight = True,
    ids: str = "",
    style: bool = True,
) -> str:
    """Draw a tree as SVG.

    ``highlight`` makes discontinuous constituents stand out, or words and nodes that it maps names to: those that
    ``Query.nodes`` finds in the tree, for example. ``ids`` is a prefix that gives groups ids for links:
    ``{ids}node-3``, ``{ids}word-0``. Without ``style`` the drawing is for a page that has ``stylesheet()`` already.
    """
    n = len(tree)
    highlights = Highlights.of(tree, highlight)
    boxed = {address for address, names in enumerate(highlights.names) if names}
    labelled = LabelledGrid.of(tree, SIZES, functions, boxed=boxed)
    xs, width = column_xs([labelled], SIZES)
    legend, legend_width = legend_elements(highlights.legend)
    top = LEGEND_HEIGHT if legend else 0
    drawn = DrawnTree(labelled, xs, top + words_y_below(labelled), ids=ids, names=highlights.names)
    elements = [*legend, *drawn.constituents(highlights.styles[n:]), *drawn.words(highlights.styles[:n])]
    elements += drawn.secondary_edges()
    height = drawn.words_y + (SIZES.below if labelled.has_tags else 0) + SIZES.margin + 4
    width = max(width, legend_width)
    return Picture(caption(tree), str(tree), width, height, elements).svg(theme, style)


def caption(tree: Tree) -> str:
    sentence = " ".join(tree.words)
    return f"{tree.id}: {sentence}" if tree.id else sentence


def legend_elements(legend: Sequence[tuple[str, str]]) -> tuple[list[str], int]:
    """Return the boxed names of a legend side by side, and the width that they need."""
    elements, x, y = [], SIZES.margin, SIZES.margin + SIZES.reach
    for name, style in legend:
        text = clean(name)
        width = math.ceil(SIZES.label * ems(text, True)) + SIZES.box
        box = box_around(x + width / 2, y, width, 2 * SIZES.reach - 2)
        label = text_at("label", x + width / 2, y, SIZES.label, text)
        elements.append(f'<g class="legend {style}">{box}{label}</g>')
        x += width + SIZES.step
    return elements, x - SIZES.step + SIZES.margin


def words_y_below(labelled: LabelledGrid) -> int:
    """Return the y of the words when the root is at the top of the picture."""
    row = SIZES.tall if labelled.has_functions else SIZES.row
    above = SIZES.role if labelled.functions[len(labelled.forms)] else 0
    return SIZES.margin + SIZES.reach + above + (labelled.grid.rows - 1) * row


@dataclass(slots=True)
class DrawnTree:
    """Tree with coordinates, above its words (``up`` is 1) or upside down below them (-1)."""

    labelled: LabelledGrid
    xs: dict[int, int]  # by column
    words_y: int  # middle of the row of tags, or of the words where there are no tags
    up: int = 1
    ids: str = ""
    names: Sequence[tuple[str, ...]] = ()  # by address, for highlighted cells

    def x(self, address: int) -> int:
        return self.xs[self.labelled.grid.cells[address].column]

    def y(self, row: int) -> int:
        pitch = SIZES.tall if self.labelled.has_functions else SIZES.row
        return self.words_y - self.up * pitch * (self.labelled.grid.rows - 1 - row)

    def top(self, address: int) -> int:
        """Return the y at which the line from the parent ends."""
        reach = SIZES.role + 8 if self.labelled.functions[address] else SIZES.reach
        return self.y(self.labelled.grid.cells[address].row) - self.up * reach

    def constituents(self, marks: Sequence[str]) -> Iterator[str]:
        """Yield a group for each node; ``marks`` are names of styles, empty for a plain one."""
        labelled = self.labelled
        tree, n = labelled.grid.tree, len(labelled.forms)
        children, crossed = labelled.grid.children, labelled.grid.crossed_columns
        for k, (node, mark) in enumerate(zip(tree.nodes(), marks, strict=True)):
            confidence = tree.confidences[k] if tree.confidences else None
            yield self._opening(k, node, mark, confidence)
            yield from self._lines(k, node if mark.startswith("hue") else None, children[k], crossed[k])
            x, y = self.x(n + k), self.y(labelled.grid.cells[n + k].row)
            label = labelled.labels[n + k]
            if mark:
                yield box_around(x, y, math.ceil(SIZES.label * ems(label, True)) + SIZES.box, 2 * SIZES.reach - 2)
            if labelled.functions[n + k]:
                yield text_at("function", x, y - self.up * SIZES.role, SIZES.function, labelled.functions[n + k])
            yield text_at("label", x, y, SIZES.label, label) + "</g>"

    def _opening(self, k: int, node: Node, mark: str, confidence: float | None) -> str:
        tokens = self.labelled.grid.tree.tokens
        positions = node.positions
        shown = [tokens[position].form for position in positions[:MAX_WORDS]]
        for gap, _ in reversed(node.gaps):
            before = positions.index(gap - 1) + 1
            if before < len(shown):
                shown.insert(before, "…")
        if len(positions) > MAX_WORDS:
            shown.append("…")
        name = node.label if node.function == NONE else f"{node.label} ({node.function})"
        title = f"{name}: {' '.join(shown)}"
        data = f'data-node="{k}" data-label={attribute(node.label)}'
        if node.function != NONE:
            data += f" data-function={attribute(node.function)}"
        data += f' data-positions="{",".join(map(str, positions))}"'
        if confidence is not None:
            data += f' data-confidence="{confidence:.4g}"'
            title += f"\nconfidence {confidence:.2f}"
        if names := self._names(len(tokens) + k):
            data += f" data-variables={attribute(names)}"
            title += f"\n{names}"
        identity = f" id={attribute(f'{self.ids}node-{k}')}" if self.ids else ""
        kind = f"node {mark}" if mark else "node"
        return f'<g{identity} class="{kind}" {data} tabindex="0"><title>{escape(title)}</title>'

    def _names(self, address: int) -> str:
        return " ".join(self.names[address]) if self.names else ""

    def _lines(self, k: int, gapped: Node | None, children: Sequence[int], crossed: Sequence[int]) -> Iterator[str]:
        """Yield the bar with the line up to its label, and a stem for each child."""
        labelled, up = self.labelled, self.up
        bar = labelled.grid.bars[k]
        x, y = self.x(bar.node), self.y(bar.row)
        level = y + up * SIZES.bar
        gaps = gapped.gaps if gapped else ()
        solid, bridges = bar_pieces(
            self.xs[bar.start],
            self.xs[bar.end],
            [(self.xs[PITCH * (start - 1)] + INSET, self.xs[PITCH * end] - INSET) for start, end in gaps],
            [(self.xs[column] - HOLE, self.xs[column] + HOLE) for column in crossed],
        )
        drawn = f"M{x} {y + up * SIZES.reach}V{level}" + "".join([f"M{a} {level}H{b}" for a, b in solid])
        yield path("line", drawn)
        if bridges:
            yield path("line bridge", "".join([f"M{a} {level}H{b}" for a, b in bridges]))
        for child in children:
            yield path("line edge", f"M{self.x(child)} {level}V{self.top(child)}")

    def words(self, marks: Sequence[str] = ()) -> Iterator[str]:
        """Yield a group for each word with its tag and its function; ``marks`` as for constituents."""
        y = self.words_y + (SIZES.below if self.labelled.has_tags else 0)
        for position, form in enumerate(self.labelled.forms):
            kind = f"word {marks[position]}" if marks and marks[position] else "word"
            identity = f" id={attribute(f'{self.ids}word-{position}')}" if self.ids else ""
            x, box, data = self.x(position), "", f'data-position="{position}"'
            if names := self._names(position):
                box = box_around(x, y, math.ceil(SIZES.form * ems(form, True)) + SIZES.box, 2 * SIZES.reach - 2)
                data += f" data-variables={attribute(names)}"
            yield (
                f'<g{identity} class="{kind}" {data}>{self.tag(position)}'
                f"{box}{text_at('form', x, y, SIZES.form, form)}</g>"
            )

    def tag(self, position: int) -> str:
        """Return the tag of a word and its function."""
        labelled, x, y = self.labelled, self.x(position), self.words_y
        role, tag = labelled.functions[position], labelled.labels[position]
        above = text_at("function", x, y - self.up * SIZES.role, SIZES.function, role) if role else ""
        return above + text_at("tag", x, y, SIZES.tag, tag) if tag else above

    def secondary_edges(self) -> Iterator[str]:
        """Yield dashed arrows from above the child to the side of the other parent."""
        labelled = self.labelled
        obstacles = self._obstacles() if labelled.grid.tree.secondary else []
        labels = []  # drawn last, on top of all curves
        for role, child, parent in labelled.grid.tree.secondary:
            label = clean(role)
            width, height = math.ceil(SIZES.function * ems(label)) + 6, 14
            curve = secondary_curve(
                (self.x(child), self.top(child)),
                (self.x(parent), self.y(labelled.grid.cells[parent].row)),
                labelled.widths[parent] // 2 + 4,
            )
            (a, b), (c, d), (e, f), (to, level) = curve
            x, y = point_at(curve, label_parameter(curve, width, height, obstacles))
            obstacles.append((x - width // 2, y - height // 2, x + width // 2, y + height // 2))
            yield (
                f'<g class="secondary" data-child="{child}" data-parent="{parent}" data-label={attribute(role)}>'
                f"{path('line extra', f'M{a} {b}C{c} {d} {e} {f} {to} {level}')}"
                f"{path('tip', f'M{to} {level}l{-7 if e < to else 7} -4v8z')}</g>"
            )
            labels += [box_around(x, y, width, height, "behind"), text_at("function", x, y, SIZES.function, label)]
        yield from labels

    def _obstacles(self) -> list[Rectangle]:
        """Return the rectangles of all texts and lines."""
        grid = self.labelled.grid
        found = []
        for address, width in enumerate(self.labelled.widths):
            x, y = self.x(address), self.y(grid.cells[address].row)
            found.append((x - width // 2, self.top(address), x + width // 2, y + SIZES.reach))
        for _, row, start, end in grid.bars:
            found.append((self.xs[start], self.y(row) + SIZES.bar, self.xs[end], self.y(row) + SIZES.bar))
        for child, column, top, _ in grid.stems:
            found.append((self.xs[column], self.y(top) + SIZES.bar, self.xs[column], self.top(child)))
        return found


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
