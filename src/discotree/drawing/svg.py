"""Draw trees as self-contained SVG, for light and dark pages, without fonts, scripts or other files.

Every constituent is a group ``node`` with its lines and its label; every word is a group ``word``. A page can attach
events to them. ``data-node`` numbers constituents in the order of ``Tree.nodes``, including hidden ones.

A bar is interrupted where another node's stem passes. Discontinuous constituents, and nodes that a query binds, have a
colour and, for readers who cannot see it, bold lines, a box around the label, and dots where the bar bridges a gap.

Files have presentation attributes, which every program reads, in light colours unless the theme is dark. With the theme
``auto`` they also have dark colours in a style sheet, for browsers. Pages have one style sheet for all their pictures.
"""

import html
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple

from discotree.drawing.layout import PITCH, bar_pieces, label_parameter, point_at, secondary_curve
from discotree.drawing.measure import LabelledGrid, Sizes, clean, column_xs, ems, is_right_to_left, wrap_lines
from discotree.drawing.options import DEFAULT, DrawingOptions, Figure, Highlight
from discotree.files.writing import NOT_XML, quoted
from discotree.trees.labels import Kind, explain_tree
from discotree.trees.tree import NONE, Node, Tree

Theme = Literal["auto", "light", "dark"]
# Fonts of equal widths, see measure.py. Some programs use only the first; Arial, or the font that systems without it
# use in its place, has the signs − and ≠.
FONT = "Arial,'Liberation Sans','Helvetica Neue',Helvetica,sans-serif"
SIZES = Sizes(
    label=14, tag=12, form=15, function=11, margin=16, step=12, box=8, reach=11, bar=20, role=20, row=42, tall=58,
    below=20, slant=18,
)  # fmt: skip
RIGHT_TO_LEFT = ' direction="rtl"'


class Colors(NamedTuple):
    """Colours of one theme; the names are those of the CSS variables."""

    page: str
    ink: str
    soft: str  # tags and functions
    line: str
    hue0: str
    hue1: str
    hue2: str
    hue3: str
    missing: str
    spurious: str
    changed: str


LIGHT = Colors("#ffffff", "#1f2328", "#57606a", "#6e7781",
               "#b3361c", "#0b63b8", "#7a3fa8", "#1a7040", "#b03a2e", "#7548a8", "#8a5a00")  # fmt: skip
DARK = Colors("#16191d", "#e6edf3", "#a9b4c0", "#8b949e",
              "#ff9b7a", "#79b8ff", "#d2a8ff", "#7ee2a0", "#ff8a7a", "#c3a6ff", "#e3b341")  # fmt: skip

DASHES = ("5 3", "1.5 2.5", "7 2.5 1.5 2.5")  # box lines of highlighted nodes; the first kind is solid
Properties = dict[str, str]
RULES: dict[str, Properties] = {  # by selector; @ink is a colour of the theme
    "text": {"font-family": FONT, "font-size": f"{SIZES.form}px", "text-anchor": "middle", "fill": "@ink"},
    ".page": {"fill": "@page"},
    ".label": {"font-size": f"{SIZES.label}px"},
    ".tag": {"font-size": f"{SIZES.tag}px", "fill": "@soft"},
    ".function": {"font-size": f"{SIZES.function}px", "fill": "@soft"},
    ".caption": {"font-size": f"{SIZES.tag}px", "fill": "@soft", "text-anchor": "start"},
    ".gloss": {"font-size": f"{SIZES.tag}px"},
    ".translation": {"text-anchor": "start"},
    ".line": {"fill": "none", "stroke": "@line", "stroke-width": "1.3", "stroke-linecap": "round"},
    ".box": {"fill": "none", "stroke": "@line", "stroke-width": "1.3"},
    ".tip": {"fill": "@line"},
    ".roof": {"stroke-linejoin": "round"},
    ".bridge": {"stroke-dasharray": ".1 5"},
    ".extra": {"stroke-dasharray": "5 3"},
    ".behind": {"fill": "@page"},
}
for _name in Colors._fields[4:]:
    _bold = {"font-weight": "700", "fill": f"@{_name}"}
    RULES[f".{_name}>.label"] = RULES[f".{_name}>.tag"] = _bold
    if _name.startswith("hue"):
        RULES[f".{_name}>.form"] = _bold
    RULES[f".{_name}>.line"] = {"stroke": f"@{_name}", "stroke-width": "2.2"}
    RULES[f".{_name}>.box"] = {"stroke": f"@{_name}", "stroke-width": "1.6"}
RULES |= {f".dash{k}>.box": {"stroke-dasharray": dash} for k, dash in enumerate(DASHES, 1)}
HOVER = ".discotree .node:hover>.line,.discotree .arc:hover>.line{stroke-width:3}\n"
DARK_MODE = "@media(prefers-color-scheme:dark)"
FILE_SCOPE = "[class~=discotree]"  # LibreOffice applies rules for other media, but does not know this selector


def stylesheet(theme: Theme = "auto") -> str:
    """Return the style sheet for a page with pictures that are drawn with ``style=False``.

    With the theme ``auto``, colours are CSS variables, which the page may override, and follow the reader's system.
    """
    if theme != "auto":
        return _css(DARK if theme == "dark" else LIGHT) + HOVER
    variables = [
        ";".join([f"--dt-{name}:{color}" for name, color in colors._asdict().items()]) for colors in (LIGHT, DARK)
    ]
    rules = _css(Colors(*[f"var(--dt-{name})" for name in Colors._fields]))
    return f".discotree{{{variables[0]}}}\n{DARK_MODE}{{.discotree{{{variables[1]}}}}}\n{rules}{HOVER}"


def _css(colors: Colors, scope: str = ".discotree", only_colors: bool = False) -> str:
    rules = []
    for selector, properties in RULES.items():
        pairs = [(name, value) for name, value in properties.items() if value.startswith("@") or not only_colors]
        if pairs:
            values = ";".join([f"{name}:{_value(value, colors)}" for name, value in pairs])
            rules.append(f"{scope} {selector}{{{values}}}\n")
    return "".join(rules)


def _value(value: str, colors: Colors) -> str:
    return str(getattr(colors, value[1:])) if value.startswith("@") else value


@dataclass(frozen=True, slots=True)
class Pen:
    """Draws elements with class names for pages and, with ``style``, with attributes that every program reads."""

    theme: Theme = "auto"
    style: bool = True

    def text(self, kind: str, x: float, y: float, text: str, mark: str = "") -> str:
        """Return a text centred on a point. ``mark`` has the classes of its group that change its style."""
        direction = RIGHT_TO_LEFT if is_right_to_left(text) else ""
        size = float(_properties("text", kind, "")["font-size"].removesuffix("px"))
        place = f'x="{x:g}" y="{y + round(0.35 * size):g}"{direction}'
        return f'<text class="{kind}" {place}{self._style("text", kind, mark)}>{escape(text)}</text>'

    def path(self, kind: str, d: str, mark: str = "") -> str:
        return f'<path class="{kind}" d="{d}"{self._style("path", kind, mark)}/>'

    def box(self, x: float, y: float, width: float, height: float, kind: str = "box", mark: str = "") -> str:
        """Return a rectangle centred on a point."""
        place = f'x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" height="{height:g}"'
        return f'<rect class="{kind}" {place} rx="5"{self._style("rect", kind, mark)}/>'

    def _style(self, element: str, kind: str, mark: str) -> str:
        colors = DARK if self.theme == "dark" else LIGHT
        properties = _properties(element, kind, mark) if self.style else {}
        return "".join([f' {name}="{_value(value, colors)}"' for name, value in properties.items()])

    def picture(self, title: str, description: str, width: int, height: int, elements: Iterable[str]) -> str:
        """Return an SVG file or, without ``style``, an element for a page that includes the style sheet."""
        size, style = f'width="{width}" height="{height}"', ""
        if self.style and self.theme == "auto":
            style = f"<style>\n{DARK_MODE}{{\n{_css(DARK, FILE_SCOPE, only_colors=True)}}}\n</style>\n"
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="discotree" viewBox="0 0 {width} {height}" {size} '
            f'direction="ltr" role="img">\n<title>{escape(title)}</title><desc>{escape(description)}</desc>\n{style}'
            f'<rect class="page" {size}{self._style("rect", "page", "")}/>'
        )
        return "\n".join([head, *elements, "</svg>\n"])


@cache
def _properties(element: str, kind: str, mark: str) -> Properties:
    """Return the properties of an element from the rules that match it."""
    classes = [f".{name}" for name in kind.split()]
    selectors = {element, *classes, *[f".{name}>{own}" for name in mark.split() for own in classes]}
    return {name: value for selector in RULES if selector in selectors for name, value in RULES[selector].items()}


def escape(text: str) -> str:
    """Return text for XML; characters that XML forbids, such as controls and lone surrogates, become �."""
    text = html.escape(text, quote=False)
    return text if text.isascii() and text.isprintable() else NOT_XML.sub("�", text)


def attribute(text: str) -> str:
    """Return text as the value of an attribute, with its quotes."""
    return NOT_XML.sub("�", quoted(text))


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
    words_y: int  # middle of the row of tags, or of the words if there are no tags
    pen: Pen
    up: int = 1
    ids: str | None = None
    names: Sequence[tuple[str, ...]] = ()  # by address, for highlighted cells
    explained: dict[tuple[str, Kind], str] = field(init=False)  # names of labels

    def __post_init__(self) -> None:
        self.explained = explain_tree(self.labelled.grid.tree)

    def x(self, address: int) -> int:
        return self.xs[self.labelled.grid.cells[address].column]

    def y(self, row: int) -> int:
        return self.words_y - self.up * self.labelled.pitch(SIZES) * (self.labelled.grid.rows - 1 - row)

    @property
    def forms_y(self) -> int:
        return self.words_y + (SIZES.below if self.labelled.has_tag_row else 0)

    def text_y(self, address: int) -> int:
        """Return the y of a node's label or a word's tag, or of the word itself if it has no tag."""
        if address < len(self.labelled.forms) and not self.labelled.labels[address]:
            return self.words_y if address in self.labelled.figure.roofs else self.forms_y
        return self.y(self.labelled.grid.cells[address].row)

    def top(self, address: int) -> int:
        """Return the y at which the line from the parent ends."""
        reach = SIZES.role + 8 if self.labelled.functions[address] else SIZES.reach
        return self.text_y(address) - self.up * reach

    def constituents(self, marks: Sequence[str]) -> Iterator[str]:
        """Yield a group for each node; ``marks`` are names of styles, empty for plain nodes."""
        labelled = self.labelled
        tree, n = labelled.grid.tree, len(labelled.forms)
        children, crossed = labelled.grid.children, labelled.grid.crossed_columns
        for k, (node, mark) in enumerate(zip(tree.nodes(), marks, strict=True)):
            if k < labelled.first_node:
                continue
            confidence = tree.confidences[k] if tree.confidences else None
            yield self._opening(k, node, mark, confidence)
            yield from self._lines(k, node if mark.startswith("hue") else None, mark, children[k], crossed[k])
            x, y = self.x(n + k), self.y(labelled.grid.cells[n + k].row)
            label = labelled.labels[n + k]
            if mark:
                yield self._box(x, y, SIZES.label, label, mark)
            if labelled.functions[n + k]:
                yield self.pen.text("function", x, y - self.up * SIZES.role, labelled.functions[n + k])
            yield self.pen.text("label", x, y, label, mark) + "</g>"

    def _box(self, x: int, y: int, size: float, text: str, mark: str) -> str:
        """Return the box around a label or word in bold letters."""
        return self.pen.box(x, y, math.ceil(size * ems(text, True)) + SIZES.box, 2 * SIZES.reach - 2, mark=mark)

    def _opening(self, k: int, node: Node, mark: str, confidence: float | None) -> str:
        figure, tokens = self.labelled.figure, self.labelled.grid.tree.tokens
        positions = node.positions
        number = figure.origins[len(tokens) + k] - figure.whole_words
        words = [position for leaf in positions for position in figure.positions[leaf]]
        excerpt = [tokens[position].form for position in positions[:MAX_WORDS]]
        for gap, _ in reversed(node.gaps):
            before = positions.index(gap - 1) + 1
            if before < len(excerpt):
                excerpt.insert(before, "…")
        if len(positions) > MAX_WORDS:
            excerpt.append("…")
        name = node.label if node.function == NONE else f"{node.label} ({node.function})"
        title = f"{name}: {' '.join(excerpt)}{self._explanation(node.label, 'constituent', node.function)}"
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

    def _explanation(self, label: str, kind: Kind, function: str) -> str:
        """Return a line for the label and for the function, if they have names."""
        names = [(label, self.explained.get((label, kind))), (function, self.explained.get((function, "function")))]
        return "".join([f"\n{label}: {name}" for label, name in names if name])

    def _names(self, address: int) -> str:
        return " ".join(self.names[address]) if self.names else ""

    def _lines(
        self, k: int, gapped: Node | None, mark: str, children: Sequence[int], crossed: Sequence[int]
    ) -> Iterator[str]:
        """Yield the lines from a label to its children: slanted ones, or a bar and a stem for each child."""
        figure, bar = self.labelled.figure, self.labelled.grid.bars[k]
        x, below = self.x(bar.node), self.y(bar.row) + self.up * SIZES.reach
        if figure.has_triangle(children):
            yield self._roof(children[0], below, mark)
            return
        if figure.options.is_slanted:  # down to the texts of the next row, and straight from there
            reach = SIZES.role + 8 if self.labelled.has_functions else SIZES.reach
            level = self.y(bar.row + 1) - self.up * reach
            for child in children:
                drop = f"V{self.top(child)}" if self.top(child) != level else ""
                yield self.pen.path("line edge", f"M{x} {below}L{self.x(child)} {level}{drop}", mark)
        else:
            level = self.y(bar.row) + self.up * SIZES.bar
            gaps = gapped.gaps if gapped else ()
            solid, bridges = bar_pieces(
                [self.x(child) for child in children],
                [(self.xs[PITCH * (start - 1)], self.xs[PITCH * end]) for start, end in gaps],
                [(self.xs[column] - HOLE, self.xs[column] + HOLE) for column in crossed],
                INSET,
            )
            pieces = "".join([f"M{a} {level}H{b}" for a, b in solid])
            yield self.pen.path("line", f"M{x} {below}V{level}{pieces}", mark)
            if bridges:
                yield self.pen.path("line bridge", "".join([f"M{a} {level}H{b}" for a, b in bridges]), mark)
            for child in children:
                yield self.pen.path("line edge", f"M{self.x(child)} {level}V{self.top(child)}", mark)
        for child in sorted(figure.roofs.intersection(children)):
            yield self._roof(child, self.top(child), mark)

    def _roof(self, leaf: int, tip: int, mark: str) -> str:
        """Return the triangle over a leaf."""
        x, half = self.x(leaf), math.ceil(SIZES.form * ems(self.labelled.forms[leaf]) / 2)
        return self.pen.path("line roof", f"M{x} {tip}L{x - half} {self.forms_y - SIZES.reach}H{x + half}Z", mark)

    def words(self, marks: Sequence[str] = ()) -> Iterator[str]:
        """Yield a group for each word with its tag and its function; ``marks`` as for constituents."""
        figure, y = self.labelled.figure, self.forms_y
        for leaf, form in enumerate(self.labelled.forms):
            mark = marks[leaf] if marks else ""
            first, *others = figure.positions[leaf]
            identity = f" id={attribute(f'{self.ids}word-{first}')}" if self.ids else ""
            x, below, data = self.x(leaf), "", f'data-position="{first}"'
            if others:
                data += f' data-positions="{",".join(map(str, (first, *others)))}"'
            word = self.pen.text("form", x, y, form, mark)
            if names := self._names(leaf):
                word = self._box(x, y, SIZES.form, form, mark) + word
                data += f" data-variables={attribute(names)}"
            if self.labelled.glosses and self.labelled.glosses[leaf]:
                below = self.pen.text("gloss", x, y + SIZES.below, self.labelled.glosses[leaf])
            kind, token = f"word {mark}".strip(), self.labelled.grid.tree.tokens[leaf]
            explanation = self._explanation(token.tag, "tag", token.function or NONE)
            title = f"<title>{escape(token.form + explanation)}</title>" if explanation else ""
            yield f'<g{identity} class="{kind}" {data}>{title}{self.tag(leaf, mark)}{word}{below}</g>'

    def tag(self, position: int, mark: str) -> str:
        """Return the tag of a word and its function."""
        labelled, x, y = self.labelled, self.x(position), self.text_y(position)
        role, tag = labelled.functions[position], labelled.labels[position]
        above = self.pen.text("function", x, y - self.up * SIZES.role, role) if role else ""
        return above + self.pen.text("tag", x, y, tag, mark) if tag else above

    def secondary_edges(self) -> Iterator[str]:
        """Yield dashed arrows from above the child to the side of the other parent."""
        labelled, cells = self.labelled, self.labelled.grid.cells
        obstacles = labelled.obstacles(self.xs, SIZES, lambda address: self.y(cells[address].row), self.top)
        labels = []  # drawn last, on top of all curves
        for role, child, parent in labelled.figure.secondary:
            label = clean(role)
            width, height = math.ceil(SIZES.function * ems(label)) + 6, 14
            curve = secondary_curve(
                (self.x(child), self.top(child)),
                (self.x(parent), self.y(cells[parent].row)),
                labelled.widths[parent] // 2 + 4,
            )
            (a, b), (c, d), (e, f), (to, level) = curve
            x, y = point_at(curve, label_parameter(curve, width, height, obstacles))
            yield (
                f'<g class="secondary" data-child="{child}" data-parent="{parent}" data-label={attribute(role)}>'
                f"{self.pen.path('line extra', f'M{a} {b}C{c} {d} {e} {f} {to} {level}')}"
                f"{self.pen.path('tip', f'M{to} {level}l{-7 if e < to else 7} -4v8z')}</g>"
            )
            labels += [self.pen.box(x, y, width, height, "behind"), self.pen.text("function", x, y, label)]
        yield from labels


LEGEND_HEIGHT = 34
ARROW_HEIGHT = 12  # from one level of arrows to the next
MIN_LINE = 320  # minimum width of a line of a translation, in pixels


def draw_svg(
    tree: Tree,
    *,
    functions: bool = True,
    theme: Theme = "auto",
    highlight: Highlight = True,
    ids: str | None = None,
    style: bool = True,
    options: DrawingOptions = DEFAULT,
) -> str:
    """Draw a tree as SVG.

    ``highlight`` is True to mark discontinuous constituents, or maps names to the addresses of words and nodes, such as
    the result of ``Query.nodes``. ``ids`` is a prefix for the ids of groups, which links can refer to:
    ``{ids}node-3``, ``{ids}word-0``. With ``style=False`` the drawing is for a page that includes ``stylesheet()``.
    ``options`` hide parts, draw triangles and slanted lines, and add arrows, glosses, a translation and a legend.
    """
    figure = Figure.from_tree(tree, options)
    n = len(figure.tree)
    highlights = figure.highlights(highlight)
    labelled = LabelledGrid.measure(figure, SIZES, functions, boxed=highlights.named)
    xs, width = column_xs([labelled], SIZES)
    pen = Pen(theme, style)
    legend, legend_width = legend_elements(highlights.legend, pen)
    top = LEGEND_HEIGHT if legend else 0
    drawn = DrawnTree(labelled, xs, top + words_y_below(labelled), pen, ids=ids, names=highlights.names)
    elements = [*legend, *drawn.constituents(highlights.styles[n:]), *drawn.words(highlights.styles[:n])]
    elements += drawn.secondary_edges()
    bottom = drawn.forms_y + (SIZES.below if labelled.glosses else 0)
    top = bottom + SIZES.reach
    for (head, part, *_), level in figure.arrows():
        end, below = drawn.x(part), top + ARROW_HEIGHT * level
        line = pen.path("line", f"M{drawn.x(head)} {top}V{below}H{end}V{top + 6}")
        elements.append(f'<g class="arrow">{line}{pen.path("tip", f"M{end} {top}l-4 7h8z")}</g>')
        bottom = max(bottom, below)
    room = max(width - 2 * SIZES.margin, MIN_LINE)
    notes = [("translation", SIZES.form, options.translation.split(), " ")]
    notes += [("caption", SIZES.tag, figure.legend(functions), " · ")]
    width = max(width, legend_width)
    for kind, size, pieces, joint in notes:
        for k, line in enumerate(wrap_lines(pieces, room / size, joint)):
            bottom += SIZES.below + (8 if k == 0 else 0)
            elements.append(pen.text(kind, SIZES.margin, bottom, line))
            width = max(width, math.ceil(size * ems(line)) + 2 * SIZES.margin)
    return pen.picture(caption(tree), str(tree), width, bottom + SIZES.margin + 4, elements)


def caption(tree: Tree) -> str:
    sentence = " ".join(tree.words)
    return f"{tree.id}: {sentence}" if tree.id else sentence


def legend_elements(legend: Sequence[tuple[str, str]], pen: Pen) -> tuple[list[str], int]:
    """Return the boxed names of a legend side by side, and the width that they need."""
    elements, x, y = [], SIZES.margin, SIZES.margin + SIZES.reach
    for name, style in legend:
        text = clean(name)
        width = math.ceil(SIZES.label * ems(text, True)) + SIZES.box
        box = pen.box(x + width / 2, y, width, 2 * SIZES.reach - 2, mark=style)
        label = pen.text("label", x + width / 2, y, text, style)
        elements.append(f'<g class="legend {style}">{box}{label}</g>')
        x += width + SIZES.step
    return elements, x - SIZES.step + SIZES.margin


PAGE_STYLE = """\
body{font:16px/1.5 system-ui,sans-serif;margin:1.5rem;color:INK;background:PAGE}
h1{font-size:1.4rem}h2{font-size:1rem;margin:0}
section{content-visibility:auto;padding:.8rem 0;border-top:1px solid #8886}
p{margin:.2rem 0 .6rem;max-width:80ch;unicode-bidi:plaintext}
h2 a{color:inherit;text-decoration:none}h2 a:hover{text-decoration:underline}
.wide{overflow-x:auto}.wide svg{display:block}
"""
HEADING_HEIGHT = 110  # pixels of a section without its picture
_HEIGHT = re.compile(r'height="(\d+)"')


class PageItem(NamedTuple):
    """Picture with its heading. The SVG is drawn with ``style=False``."""

    id: str
    sentence: str
    svg: str


def draw_page(items: Iterable[PageItem], title: str, theme: Theme = "auto") -> Iterator[str]:
    """Yield an HTML page with many pictures, in pieces, so that a treebank can be streamed.

    The page has no scripts and no other files. The browser draws only the visible pictures and reserves the height of
    the others (``content-visibility``), so thousands of trees do not slow it down.
    """
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title>\n<style>\n{_style(theme)}{stylesheet(theme)}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n"
    )
    for number, item in enumerate(items, 1):
        match = _HEIGHT.search(item.svg)
        height = HEADING_HEIGHT + int(match[1]) if match else HEADING_HEIGHT
        name = item.id or str(number)
        yield (
            f'<section id="t{number}" style="contain-intrinsic-size:auto {height}px">'
            f'<h2><a href="#t{number}">{escape(name)}</a></h2><p>{escape(item.sentence)}</p>\n'
            f'<div class="wide">{item.svg}</div></section>\n'
        )
    yield "</body></html>\n"


def _style(theme: Theme) -> str:
    light, dark = (PAGE_STYLE.replace("INK", colors.ink).replace("PAGE", colors.page) for colors in (LIGHT, DARK))
    if theme != "auto":
        return dark if theme == "dark" else light
    return f"{light}@media(prefers-color-scheme:dark){{body{{color:{DARK.ink};background:{DARK.page}}}}}\n"
