"""Trees as SVG: one file that needs no font, no script and no other file, in light and dark.

Every constituent is a group ``node`` with its bar, the stems to its children and its label, every word is a group
``word``, so that a page can listen to them. ``data-node`` counts constituents in the order of ``Tree.nodes``.

A bar is interrupted where somebody else's stem passes. Discontinuous constituents have a colour, and for those who
do not see it bold lines, a box around the label, and dots where the bar bridges a gap.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discotree.drawing.curves import Rectangle, on_curve, station, swung
from discotree.drawing.layout import PITCH
from discotree.drawing.letters import clean, ems
from discotree.drawing.markup import HUES, SIZES, Picture, Theme, attribute, box_around, escape, path, text_at
from discotree.drawing.sheet import Sheet, spread
from discotree.trees.tree import NONE, Node, Tree

HOLE = 5  # on either side of a stem that passes through a bar
INSET = 7  # how far into a gap the bar is solid
MAX_WORDS = 12  # in the tooltip of a constituent


def draw_svg(
    tree: Tree,
    *,
    functions: bool = True,
    theme: Theme = "auto",
    highlight: bool = True,
    ids: str = "",
    style: bool = True,
) -> str:
    """Draw a tree.

    ``highlight`` makes discontinuous constituents stand out. Given ``ids``, groups have ids that begin so, for links:
    ``{ids}node-3``, ``{ids}word-0``. Without ``style`` the drawing is for a page that has ``stylesheet()`` already.
    """
    sheet = Sheet.of(tree, SIZES, functions)
    places, width = spread([sheet], SIZES)
    side = Side(sheet, places, top_of(sheet), ids=ids)
    marks = hues(tree) if highlight else [""] * len(sheet.grid.bars)
    elements = [*side.constituents(marks), *side.words(), *side.secondary_edges()]
    height = side.words_at + (SIZES.below if sheet.has_tags else 0) + SIZES.margin + 4
    return Picture(caption(tree), str(tree), width, height, elements).svg(theme, style)


def caption(tree: Tree) -> str:
    sentence = " ".join(tree.words)
    return f"{tree.id}: {sentence}" if tree.id else sentence


def hues(tree: Tree) -> list[str]:
    """A colour for each discontinuous constituent, neighbours in the tree in different ones; nothing for the others."""
    seen = 0
    marks = []
    for node in tree.nodes():
        marks.append(f"hue{seen % HUES}" if node.is_discontinuous else "")
        seen += node.is_discontinuous
    return marks


def top_of(sheet: Sheet) -> int:
    """Where the words are when the root is at the top of the picture."""
    row = SIZES.tall if sheet.has_functions else SIZES.row
    above = SIZES.role if sheet.functions[len(sheet.forms)] else 0
    return SIZES.margin + SIZES.reach + above + (sheet.grid.rows - 1) * row


@dataclass(slots=True)
class Side:
    """A tree with its places, above its words (``up`` is 1) or upside down below them (-1)."""

    sheet: Sheet
    places: dict[int, int]  # of the columns
    words_at: int  # the middle of the row of tags, or of words where there are none
    up: int = 1
    ids: str = ""

    def x(self, address: int) -> int:
        return self.places[self.sheet.grid.cells[address].column]

    def y(self, row: int) -> int:
        pitch = SIZES.tall if self.sheet.has_functions else SIZES.row
        return self.words_at - self.up * pitch * (self.sheet.grid.rows - 1 - row)

    def top(self, address: int) -> int:
        """Where the line from the parent ends."""
        reach = SIZES.role + 8 if self.sheet.functions[address] else SIZES.reach
        return self.y(self.sheet.grid.cells[address].row) - self.up * reach

    def constituents(self, marks: Sequence[str]) -> Iterator[str]:
        """A group for each node; ``marks`` are the names of their styles, empty for a plain one."""
        sheet = self.sheet
        tree, n = sheet.grid.tree, len(sheet.forms)
        below: list[list[int]] = [[] for _ in marks]
        for parent, child in sheet.grid.edges:
            below[parent - n].append(child)
        crossed: list[list[int]] = [[] for _ in marks]
        for crossing in sheet.grid.crossings:
            crossed[crossing.node - n].append(self.places[crossing.column])
        for k, (node, mark) in enumerate(zip(tree.nodes(), marks, strict=True)):
            confidence = tree.confidences[k] if tree.confidences else None
            yield self._opening(k, node, mark, confidence)
            yield from self._lines(k, node if mark.startswith("hue") else None, below[k], crossed[k])
            x, y = self.x(n + k), self.y(sheet.grid.cells[n + k].row)
            label = sheet.labels[n + k]
            if mark:
                yield box_around(x, y, math.ceil(SIZES.label * ems(label, True)) + SIZES.box, 2 * SIZES.reach - 2)
            if sheet.functions[n + k]:
                yield text_at("function", x, y - self.up * SIZES.role, SIZES.function, sheet.functions[n + k])
            yield text_at("label", x, y, SIZES.label, label) + "</g>"

    def _opening(self, k: int, node: Node, mark: str, confidence: float | None) -> str:
        tokens = self.sheet.grid.tree.tokens
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
        identity = f" id={attribute(f'{self.ids}node-{k}')}" if self.ids else ""
        kind = f"node {mark}" if mark else "node"
        return f'<g{identity} class="{kind}" {data} tabindex="0"><title>{escape(title)}</title>'

    def _lines(self, k: int, gapped: Node | None, below: Sequence[int], crossed: Sequence[int]) -> Iterator[str]:
        """The bar with the way up to its label, and a stem for each child."""
        sheet, up = self.sheet, self.up
        bar = sheet.grid.bars[k]
        x, y = self.x(bar.node), self.y(bar.row)
        level = y + up * SIZES.bar
        gaps = gapped.gaps if gapped else ()
        solid, bridges = pieces_of(
            self.places[bar.start],
            self.places[bar.end],
            [(self.places[PITCH * (start - 1)] + INSET, self.places[PITCH * end] - INSET) for start, end in gaps],
            [(passing - HOLE, passing + HOLE) for passing in crossed],
        )
        drawn = f"M{x} {y + up * SIZES.reach}V{level}" + "".join([f"M{a} {level}H{b}" for a, b in solid])
        yield path("line", drawn)
        if bridges:
            yield path("line bridge", "".join([f"M{a} {level}H{b}" for a, b in bridges]))
        for child in below:
            yield path("line edge", f"M{self.x(child)} {level}V{self.top(child)}")

    def words(self, marks: Sequence[str] = ()) -> Iterator[str]:
        """A group for each word, with its tag and its function; ``marks`` as for constituents."""
        y = self.words_at + (SIZES.below if self.sheet.has_tags else 0)
        for position, form in enumerate(self.sheet.forms):
            kind = f"word {marks[position]}" if marks and marks[position] else "word"
            identity = f" id={attribute(f'{self.ids}word-{position}')}" if self.ids else ""
            yield (
                f'<g{identity} class="{kind}" data-position="{position}">{self.tag(position)}'
                f"{text_at('form', self.x(position), y, SIZES.form, form)}</g>"
            )

    def tag(self, position: int) -> str:
        """The tag of a word and its function."""
        sheet, x, y = self.sheet, self.x(position), self.words_at
        role, tag = sheet.functions[position], sheet.labels[position]
        above = text_at("function", x, y - self.up * SIZES.role, SIZES.function, role) if role else ""
        return above + text_at("tag", x, y, SIZES.tag, tag) if tag else above

    def secondary_edges(self) -> Iterator[str]:
        """Dashed arrows from above the child to the side of the other parent."""
        sheet = self.sheet
        obstacles = self._obstacles() if sheet.grid.tree.secondary else []
        labels = []  # on top of all curves
        for role, child, parent in sheet.grid.tree.secondary:
            label = clean(role)
            width, height = math.ceil(SIZES.function * ems(label)) + 6, 14
            curve = swung(
                (self.x(child), self.top(child)),
                (self.x(parent), self.y(sheet.grid.cells[parent].row)),
                sheet.widths[parent] // 2 + 4,
            )
            (a, b), (c, d), (e, f), (to, level) = curve
            x, y = on_curve(curve, station(curve, width, height, obstacles))
            obstacles.append((x - width // 2, y - height // 2, x + width // 2, y + height // 2))
            yield (
                f'<g class="secondary" data-child="{child}" data-parent="{parent}" data-label={attribute(role)}>'
                f"{path('line extra', f'M{a} {b}C{c} {d} {e} {f} {to} {level}')}"
                f"{path('tip', f'M{to} {level}l{-7 if e < to else 7} -4v8z')}</g>"
            )
            labels += [box_around(x, y, width, height, "behind"), text_at("function", x, y, SIZES.function, label)]
        yield from labels

    def _obstacles(self) -> list[Rectangle]:
        """Where texts and lines are."""
        grid = self.sheet.grid
        found = []
        for address, width in enumerate(self.sheet.widths):
            x, y = self.x(address), self.y(grid.cells[address].row)
            found.append((x - width // 2, self.top(address), x + width // 2, y + SIZES.reach))
        for _, row, start, end in grid.bars:
            found.append((self.places[start], self.y(row) + SIZES.bar, self.places[end], self.y(row) + SIZES.bar))
        for child, column, top, _ in grid.stems:
            found.append((self.places[column], self.y(top) + SIZES.bar, self.places[column], self.top(child)))
        return found


Stretch = tuple[int, int]


def pieces_of(
    left: int, right: int, gaps: Sequence[Stretch], holes: Sequence[Stretch]
) -> tuple[list[Stretch], list[Stretch]]:
    """The pieces of a bar that are solid, and those that bridge a gap; in the holes there is nothing."""
    bridges: list[Stretch] = []
    for start, end in gaps:
        bridges += _without(max(left, start), min(right, end), holes)
    return _without(left, right, [*holes, *bridges]), bridges


def _without(start: int, end: int, holes: Sequence[Stretch]) -> list[Stretch]:
    """The pieces of a line that are left between the holes in it."""
    pieces = []
    for left, right in sorted(holes):
        if start < min(left, end):
            pieces.append((start, min(left, end)))
        start = max(start, right)
    if start < end:
        pieces.append((start, end))
    return pieces
