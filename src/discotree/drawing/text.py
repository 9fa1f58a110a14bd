"""Draw trees as text, for a terminal or a plain text file.

Each row of the grid becomes a line of labels and a line of bars. In a bar, ┌ ┬ ┐ ├ ┼ ┤ lead down to a child of the node
above, ┴ connects that node to its bar, and a plain │ is the stem of another node's child, which crosses the bar. In
ASCII, + leads to a child and | crosses. Only lines that belong to a label end at it. A triangle is a roof right above
its words, ╱──┴──╲. A highlighted node is shown as #n:NP if it has a query variable, and as *NP otherwise.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from discotree.drawing.layout import PITCH, Bar, Column, Grid, centre_columns, column_extents, layout, pack_columns
from discotree.drawing.measure import HIDDEN, NO_TEXT, clean, terminal_width
from discotree.drawing.options import DEFAULT, DrawingOptions, Figure, Highlight
from discotree.errors import InputError
from discotree.trees.tree import FUNCTION, NONE, Tree

COLOR, RESET = "\x1b[35m", "\x1b[0m"
COLORS = ("\x1b[31m", "\x1b[34m", "\x1b[35m", "\x1b[32m")  # colours for names, by hue
_RUN = re.compile(r"(\x1b\[3\dm)[^\x1b]*\x1b\[0m(?:\1[^\x1b]*\x1b\[0m)+")  # neighbouring texts of one colour
STEP = 2  # from one text or line to the next: one cell between them is empty


class _Characters(NamedTuple):
    """Characters that lines are drawn with."""

    joints: str  # indexed by four bits: lines lead up, down, left, right
    bar: str
    stem: str
    continued: str  # end of a bar that continues in another panel
    no_text: str  # stand-in for a text without visible characters
    hidden: str  # stand-in for a control character
    roof: str  # left end, top and right end of a triangle


BOX = _Characters("   ─ ┌┐┬ └┘┴│├┤┼", "─", "│", "…", NO_TEXT, HIDDEN, "╱┴╲")
ASCII = _Characters("   - +++ ---|+++", "-", "|", "..", "_", "?", "/^\\")


def draw_text(
    tree: Tree,
    *,
    ascii: bool = False,
    color: bool = False,
    width: int | None = None,
    functions: bool = False,
    highlight: Highlight = True,
    options: DrawingOptions = DEFAULT,
) -> str:
    """Draw a tree as lines of text, without a newline at the end.

    ``color`` highlights discontinuous constituents: their labels, bars and stems. A drawing wider than ``width`` is
    split into panels; only a single word or label may exceed the width. ``functions`` shows NP-SB for an NP with the
    function SB. ``highlight`` and ``options`` are as in ``draw_svg``; words and nodes that are highlighted by name show
    it, in a colour for each name. Slanted lines and arrows raise an InputError.
    """
    if options.is_slanted or options.arrows:
        raise InputError("slanted lines and arrows cannot be drawn as text; use another format")
    figure = Figure.from_tree(tree, options)
    characters = ASCII if ascii else BOX
    text_grid = _text_grid(figure, characters, color, functions, highlight)
    text = "\n\n".join("\n".join(_lines(text_grid, panel)) for panel in _panels(text_grid, width))
    text = _RUN.sub(lambda run: run[0].replace(RESET + run[1], ""), text)  # join runs of one colour
    words = " ".join([clean(word, characters.no_text, characters.hidden) for word in options.translation.split()])
    lines = textwrap.wrap(words, width or len(words) or 1, break_long_words=False, break_on_hyphens=False)
    return "\n".join([text, *lines, *figure.legend(functions)])


@dataclass(slots=True)
class _TextGrid:
    """Grid with its texts. ``texts`` is indexed by address, ``child_columns`` by node."""

    grid: Grid
    characters: _Characters
    texts: list[str]  # tags and labels; tags are empty if no word has one
    forms: list[str]
    glosses: list[str]
    bars: Sequence[Bar]  # without the bar of a hidden root
    columns: list[Column]
    child_columns: list[list[int]]
    colors: dict[int, str]  # codes of highlighted cells, by address

    def paint(self, text: str, address: int) -> str:
        return f"{self.colors[address]}{text}{RESET}" if address in self.colors and text else text


def _text_grid(
    figure: Figure, characters: _Characters, color: bool, functions: bool, highlight: Highlight
) -> _TextGrid:
    tree, options, grid = figure.tree, figure.options, layout(figure.tree)
    nodes, size = [*tree.nodes()], len(tree)
    names = [(token.tag, token[FUNCTION]) for token in tree.tokens] + [(node.label, node.function) for node in nodes]

    def visible(text: str) -> str:
        return clean(text, characters.no_text, characters.hidden)

    texts = [visible(f"{a}-{b}" if functions and b != NONE else a) for a, b in names]
    if not options.tags or all(text == NONE for text in texts[:size]):
        texts[:size] = [visible(b) if functions and b != NONE else "" for _, b in names[:size]]
    forms = [visible(token.form) for token in tree.tokens]
    glosses = [visible(gloss) if gloss else "" for gloss in figure.glosses]
    for leaf in figure.roofs:
        texts[leaf] = _roof(terminal_width(forms[leaf]), characters)
    highlights = figure.highlights(highlight)
    for address in highlights.named:
        variables = [name for name in highlights.names[address] if name.startswith("#")]
        prefix = f"{visible(','.join(variables))}:" if variables else "*"
        if address >= size or texts[address]:
            texts[address] = prefix + texts[address]
        else:
            forms[address] = prefix + forms[address]
    if not options.root:
        texts[size] = ""
    widths = [terminal_width(text) for text in texts]
    widths[:size] = [
        max(widths[word], terminal_width(form), terminal_width(glosses[word]) if glosses else 0)
        for word, form in enumerate(forms)
    ]
    child_columns = [[grid.cells[child].column for child in children] for children in grid.children]
    codes = {}
    if color:
        codes = {
            address: COLOR if isinstance(highlight, bool) else COLORS[int(style[len("hue")])]
            for address, style in enumerate(highlights.styles)
            if style
        }
    for leaf in figure.roofs:
        if grid.cells[leaf].parent in codes:
            codes[leaf] = codes[grid.cells[leaf].parent]
    columns = column_extents(grid, [((width - 1) // 2, width // 2) for width in widths])
    bars = grid.bars if options.root else grid.bars[1:]
    return _TextGrid(grid, characters, texts, forms, glosses, bars, columns, child_columns, codes)


def _roof(width: int, characters: _Characters) -> str:
    """Return a triangle as wide as its words, with its tip below the line from above."""
    left, tip, right = tuple(characters.roof)
    width = max(width, 3)
    before = (width - 1) // 2 - 1
    return left + characters.bar * before + tip + characters.bar * (width - before - 3) + right


class _Panel(NamedTuple):
    """Columns that are drawn side by side: all of them, unless the width is limited."""

    start: int
    stop: int
    margin: int  # cells at the left for bars from the previous panel
    edge: int  # first cell after all texts
    columns: list[Column]
    xs: dict[int, int]  # by column


def _panels(text_grid: _TextGrid, width: int | None) -> list[_Panel]:
    """Return as few panels as the width allows, all about equally wide."""
    panels = _fill_panels(text_grid, width)
    if width is not None and len(panels) > 1:
        narrow = 0
        while width - narrow > 1:
            middle = (narrow + width) // 2
            others = _fill_panels(text_grid, middle)
            if len(others) > len(panels):
                narrow = middle
            else:
                width, panels = middle, others
    return [
        panel._replace(xs=centre_columns(text_grid.grid.rows, panel.columns, panel.xs, panel.edge - 1, STEP))
        for panel in panels
    ]


def _fill_panels(text_grid: _TextGrid, width: int | None) -> list[_Panel]:
    """Fill panel after panel with as many words as fit, and at least one."""
    bars, remaining = text_grid.bars, text_grid.columns
    panels: list[_Panel] = []
    while remaining:
        start = remaining[0][0]
        margin = max(
            [terminal_width(_incoming(text_grid, bar)) for bar in bars if bar.start < start <= bar.end], default=0
        )
        xs: dict[int, int] = {}
        edge = margin
        edges: dict[int, int] = {}  # edge of the panel by its last column
        for (_, cells), (column, x) in zip(
            remaining, pack_columns(text_grid.grid.rows, remaining, margin, STEP), strict=True
        ):
            stop = column - column % PITCH + PITCH
            if width is not None and x >= width and stop > start + PITCH:
                edges.pop(stop, None)  # a word keeps the nodes between it and the next word
                break
            xs[column] = x
            edges[stop] = edge = max(edge, x + 1 + max([extent.right for extent in cells]))
        for stop in reversed(edges):
            if width is None or edges[stop] + _overhang(text_grid, start, stop) <= width:
                break
        xs = {column: x for column, x in xs.items() if column < stop}
        panels.append(_Panel(start, stop, margin, edges[stop], remaining[: len(xs)], xs))
        remaining = remaining[len(xs) :]
    return panels


def _incoming(text_grid: _TextGrid, bar: Bar) -> str:
    """Return the beginning of a bar that comes from the previous panel."""
    return text_grid.texts[bar.node] + text_grid.characters.continued + text_grid.characters.bar


def _outgoing(text_grid: _TextGrid, bar: Bar, start: int, stop: int) -> str:
    """Return the end of a bar that continues in the next panel, with its label if this panel does not show it."""
    named = bar.start < start or text_grid.grid.cells[bar.node].column < stop
    return text_grid.characters.bar + text_grid.characters.continued + ("" if named else text_grid.texts[bar.node])


def _overhang(text_grid: _TextGrid, start: int, stop: int) -> int:
    leaving = [bar for bar in text_grid.bars if bar.start < stop <= bar.end]
    return max([terminal_width(_outgoing(text_grid, bar, start, stop)) for bar in leaving], default=0)


def _lines(text_grid: _TextGrid, panel: _Panel) -> Iterator[str]:
    """Yield the lines of a panel from top to bottom, without rows that have only stems."""
    cells, texts, xs = text_grid.grid.cells, text_grid.texts, panel.xs
    rows: dict[int, list[Bar]] = {}
    for bar in text_grid.bars:
        if bar.start < panel.stop and panel.start <= bar.end:
            rows.setdefault(bar.row, []).append(bar)
    stems = [" "] * panel.edge  # passing stems, by x
    for row in sorted(rows):
        line = stems.copy()
        labelled = [(bar.node, xs[column]) for bar in rows[row] if (column := cells[bar.node].column) in xs]
        for node, x in labelled:
            stems[x] = " "
            _write(line, x, texts[node], text_grid.paint(texts[node], node))
        if labelled:
            yield "".join(line).rstrip()
        line = stems.copy()
        for bar in rows[row]:
            _draw(text_grid, panel, bar, line, stems)
        yield "".join(line).rstrip()
    words = range(len(text_grid.forms))
    tags = texts[: len(words)]
    for row_texts in (tags if any(tags) else [], text_grid.forms, text_grid.glosses):
        line = [" "] * panel.edge
        for word in words[panel.start // PITCH : panel.stop // PITCH] if row_texts else ():
            text, parent = row_texts[word], cells[word].parent
            if text:
                _write(line, xs[PITCH * word], text, text_grid.paint(text, word))
            elif row_texts is tags and parent >= text_grid.bars[0].node:  # the stem passes the row of tags
                line[xs[PITCH * word]] = text_grid.paint(text_grid.characters.stem, parent)
        if text := "".join(line).rstrip():  # an empty line would end the panel
            yield text


def _write(line: list[str], x: int, text: str, painted: str) -> None:
    """Centre a text on x: its first cell holds all of it, its other cells are empty strings."""
    width = terminal_width(text)
    start = x - (width - 1) // 2
    line[start : start + width] = [painted, *[""] * (width - 1)]


def _draw(text_grid: _TextGrid, panel: _Panel, bar: Bar, line: list[str], stems: list[str]) -> None:
    """Draw a bar into a line that already has the passing stems, and start the stems of its children."""
    characters, node, xs = text_grid.characters, bar.node, panel.xs
    is_continued, continues = bar.start < panel.start, panel.stop <= bar.end
    left = panel.margin if is_continued else xs[bar.start]
    right = panel.edge if continues else xs[bar.end] + 1
    stroke = text_grid.paint(characters.bar, node)
    line[left:right] = [stroke if sign == " " else sign for sign in line[left:right]]
    label_column, child_columns = (
        text_grid.grid.cells[node].column,
        text_grid.child_columns[node - len(text_grid.forms)],
    )
    for column in {label_column, *child_columns}.intersection(xs):
        down = column in child_columns
        bits = 8 * (column == label_column) + 4 * down + 2 * (column > bar.start) + (column < bar.end)
        line[xs[column]] = text_grid.paint(characters.joints[bits], node)
        if down:
            stems[xs[column]] = text_grid.paint(characters.stem, node)
    if is_continued:
        name = _incoming(text_grid, bar)
        line[left - terminal_width(name) : left] = [text_grid.paint(name, node), *[""] * (terminal_width(name) - 1)]
    if continues:
        line.append(text_grid.paint(_outgoing(text_grid, bar, panel.start, panel.stop), node))
