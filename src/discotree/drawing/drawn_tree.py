"""Tree with coordinates, as SVG elements. A comparison has two of them over the same words."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discotree.drawing.bars import Interval, bar_pieces
from discotree.drawing.curves import Rectangle, label_parameter, point_at, secondary_curve
from discotree.drawing.glyphs import clean, ems
from discotree.drawing.grid import PITCH, Bar
from discotree.drawing.labelled_grid import LabelledGrid
from discotree.drawing.markup import SIZES, attribute, box_around, escape, path, text_at
from discotree.trees.tree import NONE, Node

HOLE = 5  # pixels left free on either side of a stem that passes through a bar
INSET = 7  # pixels by which the solid bar reaches into a gap
MAX_WORDS = 12  # words in the tooltip of a constituent


def words_y_below(labelled: LabelledGrid) -> int:
    """Return the y of the words when the root is at the top of the picture."""
    grid, top = labelled.grid, labelled.first_node
    above = any(role and cell.row == top for role, cell in zip(labelled.functions, grid.cells, strict=True))
    return SIZES.margin + SIZES.reach + SIZES.role * above + (grid.rows - 1 - top) * labelled.pitch(SIZES)


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
        return self.words_y - self.up * self.labelled.pitch(SIZES) * (self.labelled.grid.rows - 1 - row)

    @property
    def forms_y(self) -> int:
        return self.words_y + (SIZES.below if self.labelled.has_tag_row else 0)

    def text_y(self, address: int) -> int:
        """Return the y of a node's label or a word's tag; of the word itself where it has no tag."""
        if address < len(self.labelled.forms) and not self.labelled.labels[address]:
            return self.words_y if address in self.labelled.figure.roofs else self.forms_y
        return self.y(self.labelled.grid.cells[address].row)

    def top(self, address: int) -> int:
        """Return the y at which the line from the parent ends."""
        reach = SIZES.role + 8 if self.labelled.functions[address] else SIZES.reach
        return self.text_y(address) - self.up * reach

    def constituents(self, marks: Sequence[str]) -> Iterator[str]:
        """Yield a group for each node; ``marks`` are names of styles, empty for a plain one."""
        labelled = self.labelled
        tree, n = labelled.grid.tree, len(labelled.forms)
        children, crossed = labelled.grid.children, labelled.grid.crossed_columns
        for k, (node, mark) in enumerate(zip(tree.nodes(), marks, strict=True)):
            if k < labelled.first_node:
                continue
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
        figure, tokens = self.labelled.figure, self.labelled.grid.tree.tokens
        positions = node.positions
        number = figure.origins[len(tokens) + k] - figure.whole_words
        words = [position for leaf in positions for position in figure.positions[leaf]]
        shown = [tokens[position].form for position in positions[:MAX_WORDS]]
        for gap, _ in reversed(node.gaps):
            before = positions.index(gap - 1) + 1
            if before < len(shown):
                shown.insert(before, "…")
        if len(positions) > MAX_WORDS:
            shown.append("…")
        name = node.label if node.function == NONE else f"{node.label} ({node.function})"
        title = f"{name}: {' '.join(shown)}"
        data = f'data-node="{number}" data-label={attribute(node.label)}'
        if node.function != NONE:
            data += f" data-function={attribute(node.function)}"
        data += f' data-positions="{",".join(map(str, words))}"'
        if confidence is not None:
            data += f' data-confidence="{confidence:.4g}"'
            title += f"\nconfidence {confidence:.2f}"
        if names := self._names(len(tokens) + k):
            data += f" data-variables={attribute(names)}"
            title += f"\n{names}"
        identity = f" id={attribute(f'{self.ids}node-{number}')}" if self.ids else ""
        kind = f"node {mark}" if mark else "node"
        return f'<g{identity} class="{kind}" {data} tabindex="0"><title>{escape(title)}</title>'

    def _names(self, address: int) -> str:
        return " ".join(self.names[address]) if self.names else ""

    def _lines(self, k: int, gapped: Node | None, children: Sequence[int], crossed: Sequence[int]) -> Iterator[str]:
        """Yield the lines from a label to its children."""
        figure, bar = self.labelled.figure, self.labelled.grid.bars[k]
        x, below = self.x(bar.node), self.y(bar.row) + self.up * SIZES.reach
        if figure.has_triangle(children):
            yield self._roof(children[0], below)
            return
        if figure.look.is_slanted:
            yield from self._slanted(bar.row, x, below, children)
        else:
            yield from self._square(bar, x, below, gapped.gaps if gapped else (), children, crossed)
        for child in sorted(figure.roofs.intersection(children)):
            yield self._roof(child, self.top(child))

    def _square(
        self,
        bar: Bar,
        x: int,
        below: int,
        gaps: Sequence[Interval],
        children: Sequence[int],
        crossed: Sequence[int],
    ) -> Iterator[str]:
        """Yield the bar with the line up to its label, and a stem for each child."""
        level = self.y(bar.row) + self.up * SIZES.bar
        solid, bridges = bar_pieces(
            self.xs[bar.start],
            self.xs[bar.end],
            [(self.xs[PITCH * (start - 1)] + INSET, self.xs[PITCH * end] - INSET) for start, end in gaps],
            [(self.xs[column] - HOLE, self.xs[column] + HOLE) for column in crossed],
        )
        yield path("line", f"M{x} {below}V{level}" + "".join([f"M{a} {level}H{b}" for a, b in solid]))
        if bridges:
            yield path("line bridge", "".join([f"M{a} {level}H{b}" for a, b in bridges]))
        for child in children:
            yield path("line edge", f"M{self.x(child)} {level}V{self.top(child)}")

    def _slanted(self, row: int, x: int, below: int, children: Sequence[int]) -> Iterator[str]:
        """Yield a line to each child: slanted down to the texts of the next row, and straight from there."""
        level = self.y(row + 1) - self.up * (SIZES.role + 8 if self.labelled.has_functions else SIZES.reach)
        for child in children:
            drop = f"V{self.top(child)}" if self.top(child) != level else ""
            yield path("line edge", f"M{x} {below}L{self.x(child)} {level}{drop}")

    def _roof(self, leaf: int, tip: int) -> str:
        """Return the triangle over a leaf."""
        x, half = self.x(leaf), math.ceil(SIZES.form * ems(self.labelled.forms[leaf]) / 2)
        return path("line roof", f"M{x} {tip}L{x - half} {self.forms_y - SIZES.reach}H{x + half}Z")

    def words(self, marks: Sequence[str] = ()) -> Iterator[str]:
        """Yield a group for each word with its tag and its function; ``marks`` as for constituents."""
        figure, y = self.labelled.figure, self.forms_y
        for leaf, form in enumerate(self.labelled.forms):
            kind = f"word {marks[leaf]}" if marks and marks[leaf] else "word"
            first, *others = figure.positions[leaf]
            identity = f" id={attribute(f'{self.ids}word-{first}')}" if self.ids else ""
            x, below, data = self.x(leaf), "", f'data-position="{first}"'
            if others:
                data += f' data-positions="{",".join(map(str, (first, *others)))}"'
            shown = text_at("form", x, y, SIZES.form, form)
            if names := self._names(leaf):
                shown = (
                    box_around(x, y, math.ceil(SIZES.form * ems(form, True)) + SIZES.box, 2 * SIZES.reach - 2) + shown
                )
                data += f" data-variables={attribute(names)}"
            if self.labelled.glosses and self.labelled.glosses[leaf]:
                below = text_at("gloss", x, y + SIZES.below, SIZES.tag, self.labelled.glosses[leaf])
            yield f'<g{identity} class="{kind}" {data}>{self.tag(leaf)}{shown}{below}</g>'

    def tag(self, position: int) -> str:
        """Return the tag of a word and its function."""
        labelled, x, y = self.labelled, self.x(position), self.text_y(position)
        role, tag = labelled.functions[position], labelled.labels[position]
        above = text_at("function", x, y - self.up * SIZES.role, SIZES.function, role) if role else ""
        return above + text_at("tag", x, y, SIZES.tag, tag) if tag else above

    def secondary_edges(self) -> Iterator[str]:
        """Yield dashed arrows from above the child to the side of the other parent."""
        labelled = self.labelled
        obstacles = self._obstacles() if labelled.figure.secondary else []
        labels = []  # drawn last, on top of all curves
        for role, child, parent in labelled.figure.secondary:
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
        for _, row, start, end in grid.bars[self.labelled.first_node :]:
            found.append((self.xs[start], self.y(row) + SIZES.bar, self.xs[end], self.y(row) + SIZES.bar))
        for child, column, top, _ in grid.stems:
            found.append((self.xs[column], self.y(top) + SIZES.bar, self.xs[column], self.top(child)))
        return found
