"""Trees in letters and lines, for a terminal or a plain text file.

Each row of the grid becomes a line of labels and a line of bars. In a bar, ┌ ┬ ┐ ├ ┼ ┤ lead down to a child of the node
above, ┴ is where that node sits on its bar, and a plain │ is somebody else's: it crosses, and the bar goes on behind
it. In ASCII, + leads to a child and | crosses. A line that ends at a label belongs to it, and no other line does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from discotree.drawing.layout import PITCH, Bar, Grid, layout
from discotree.drawing.letters import BLANK, HIDDEN, clean, terminal_width
from discotree.drawing.spacing import Column, centred, packed, rooms
from discotree.trees.tree import NONE, Tree

COLOR, RESET = "\x1b[35m", "\x1b[0m"
STEP = 2  # from one thing in a line to the next: one cell stays free between them


class _Signs(NamedTuple):
    joints: str  # by four bits: whether lines lead up, down, to the left, to the right
    bar: str
    stem: str
    cut: str  # where a bar goes on in another panel
    blank: str  # stands for a text without any visible letter
    hidden: str  # stands for a character that would disturb the lines


BOX = _Signs("   ─ ┌┐┬ └┘┴│├┤┼", "─", "│", "…", BLANK, HIDDEN)
ASCII = _Signs("   - +++ ---|+++", "-", "|", "..", "_", "?")


def draw_text(
    tree: Tree, *, ascii: bool = False, color: bool = False, width: int | None = None, functions: bool = False
) -> str:
    """Draw a tree as lines of text, without a newline at the end.

    ``color`` highlights discontinuous constituents: their labels, their bars and the stems to their children. A
    drawing wider than ``width`` is cut into panels; only a word or a label too wide by itself still exceeds it.
    ``functions`` shows NP-SB for an NP with the function SB.
    """
    sheet = _sheet(layout(tree), ASCII if ascii else BOX, color, functions)
    text = "\n\n".join("\n".join(_lines(sheet, panel)) for panel in _panels(sheet, width))
    return text.replace(RESET + COLOR, "")  # signs were painted one by one


@dataclass(slots=True)
class _Sheet:
    """A grid with what is to be written into it. ``texts`` and ``drops`` go by address."""

    grid: Grid
    signs: _Signs
    texts: list[str]  # labels and tags; no tags where no word has one
    forms: list[str]
    columns: list[Column]
    drops: list[list[int]]  # for each node the columns of its children
    lit: set[int]  # the nodes to highlight

    def painted(self, text: str, node: int) -> str:
        return f"{COLOR}{text}{RESET}" if node in self.lit else text


def _sheet(grid: Grid, signs: _Signs, color: bool, functions: bool) -> _Sheet:
    tokens, nodes, size = grid.tree.tokens, [*grid.tree.nodes()], len(grid.tree.tokens)
    names = [(token.tag, token.function) for token in tokens] + [(node.label, node.function) for node in nodes]
    texts = [clean(f"{a}-{b}" if functions and b != NONE else a, signs.blank, signs.hidden) for a, b in names]
    if all(text == NONE for text in texts[:size]):
        texts[:size] = [""] * size
    forms = [clean(token.form, signs.blank, signs.hidden) for token in tokens]
    widths = [terminal_width(text) for text in texts]
    widths[:size] = [max(widths[word], terminal_width(form)) for word, form in enumerate(forms)]
    drops: list[list[int]] = [[] for _ in texts]
    for parent, child in grid.edges:
        drops[parent].append(grid.cells[child].column)
    lit = {address for address, node in enumerate(nodes, size) if color and node.is_discontinuous}
    columns = rooms(grid, [((width - 1) // 2, width // 2) for width in widths])
    return _Sheet(grid, signs, texts, forms, columns, drops, lit)


class _Panel(NamedTuple):
    """Columns that are drawn side by side: all of them, unless there is a width to keep to."""

    start: int
    stop: int
    margin: int  # the cells at the left where bars come in
    edge: int  # the first cell behind all texts
    columns: list[Column]
    places: dict[int, int]  # of the columns


def _panels(sheet: _Sheet, width: int | None) -> list[_Panel]:
    """As few panels as the width allows, all about as wide."""
    panels = _cut(sheet, width)
    if width is not None and len(panels) > 1:
        narrow = 0
        while width - narrow > 1:
            middle = (narrow + width) // 2
            others = _cut(sheet, middle)
            if len(others) > len(panels):
                narrow = middle
            else:
                width, panels = middle, others
    return [
        panel._replace(places=centred(sheet.grid.rows, panel.columns, panel.places, panel.edge - 1, STEP))
        for panel in panels
    ]


def _cut(sheet: _Sheet, width: int | None) -> list[_Panel]:
    """Fill panel after panel with as many words as go in, and at least one."""
    bars, rest = sheet.grid.bars, sheet.columns
    panels: list[_Panel] = []
    while rest:
        start = rest[0][0]
        margin = max([terminal_width(_incoming(sheet, bar)) for bar in bars if bar.start < start <= bar.end], default=0)
        places: dict[int, int] = {}
        edge = margin
        edges: dict[int, int] = {}  # where the panel would end if it stopped there
        for (_, cells), (column, place) in zip(rest, packed(sheet.grid.rows, rest, margin, STEP), strict=True):
            stop = column - column % PITCH + PITCH
            if width is not None and place >= width and stop > start + PITCH:
                edges.pop(stop, None)  # a word stays together with what stands between it and the next
                break
            places[column] = place
            edges[stop] = edge = max(edge, place + 1 + max([room.right for room in cells]))
        for stop in reversed(edges):
            if width is None or edges[stop] + _overhang(sheet, start, stop) <= width:
                break
        places = {column: place for column, place in places.items() if column < stop}
        panels.append(_Panel(start, stop, margin, edges[stop], rest[: len(places)], places))
        rest = rest[len(places) :]
    return panels


def _incoming(sheet: _Sheet, bar: Bar) -> str:
    """How a bar begins that comes from the panel before."""
    return sheet.texts[bar.node] + sheet.signs.cut + sheet.signs.bar


def _outgoing(sheet: _Sheet, bar: Bar, start: int, stop: int) -> str:
    """How a bar ends that goes on in the next panel: with its name, if that stands nowhere else in this one."""
    named = bar.start < start or sheet.grid.cells[bar.node].column < stop
    return sheet.signs.bar + sheet.signs.cut + ("" if named else sheet.texts[bar.node])


def _overhang(sheet: _Sheet, start: int, stop: int) -> int:
    leaving = [bar for bar in sheet.grid.bars if bar.start < stop <= bar.end]
    return max([terminal_width(_outgoing(sheet, bar, start, stop)) for bar in leaving], default=0)


def _lines(sheet: _Sheet, panel: _Panel) -> Iterator[str]:
    """The lines of one panel from top to bottom. Rows of which it shows nothing but stems are left out."""
    cells, texts, places = sheet.grid.cells, sheet.texts, panel.places
    rows: dict[int, list[Bar]] = {}
    for bar in sheet.grid.bars:
        if bar.start < panel.stop and panel.start <= bar.end:
            rows.setdefault(bar.row, []).append(bar)
    stems = [" "] * panel.edge  # those that pass
    for row in sorted(rows):
        line = stems.copy()
        labelled = [(bar.node, places[column]) for bar in rows[row] if (column := cells[bar.node].column) in places]
        for node, place in labelled:
            stems[place] = " "
            _write(line, place, texts[node], sheet.painted(texts[node], node))
        if labelled:
            yield "".join(line).rstrip()
        line = stems.copy()
        for bar in rows[row]:
            _draw(sheet, panel, bar, line, stems)
        yield "".join(line).rstrip()
    for below in (texts, sheet.forms) if any(texts[: len(sheet.forms)]) else (sheet.forms,):
        line = [" "] * panel.edge
        for word in range(panel.start // PITCH, panel.stop // PITCH):
            _write(line, places[PITCH * word], below[word], below[word])
        yield "".join(line).rstrip()


def _write(line: list[str], place: int, text: str, painted: str) -> None:
    """Write a text with its middle at this place: all of it into its first cell, nothing into the others."""
    width = terminal_width(text)
    start = place - (width - 1) // 2
    line[start : start + width] = [painted, *[""] * (width - 1)]


def _draw(sheet: _Sheet, panel: _Panel, bar: Bar, line: list[str], stems: list[str]) -> None:
    """Draw a bar into a line that has the passing stems already, and let its own stems begin."""
    signs, node, places = sheet.signs, bar.node, panel.places
    comes, goes = bar.start < panel.start, panel.stop <= bar.end
    left = panel.margin if comes else places[bar.start]
    right = panel.edge if goes else places[bar.end] + 1
    stroke = sheet.painted(signs.bar, node)
    line[left:right] = [stroke if sign == " " else sign for sign in line[left:right]]
    own, drops = sheet.grid.cells[node].column, sheet.drops[node]
    for column in {own, *drops}.intersection(places):
        down = column in drops
        bits = 8 * (column == own) + 4 * down + 2 * (column > bar.start) + (column < bar.end)
        line[places[column]] = sheet.painted(signs.joints[bits], node)
        if down:
            stems[places[column]] = sheet.painted(signs.stem, node)
    if comes:
        name = _incoming(sheet, bar)
        line[left - terminal_width(name) : left] = [sheet.painted(name, node), *[""] * (terminal_width(name) - 1)]
    if goes:
        line.append(sheet.painted(_outgoing(sheet, bar, panel.start, panel.stop), node))
