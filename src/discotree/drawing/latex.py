"""Trees as TikZ pictures that you can edit by hand, for pdflatex, lualatex and xelatex.

Every text is a node with a name on a line of its own: NP, the second NP-2, a word by its letters. Coordinates stand
only at constituents and words. Tags, functions and glosses hang on these, and lines go by names: change a coordinate,
and everything follows. Texts are measured as on a screen, where letters are wider than TeX's, so there is always
enough room.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from discotree.drawing.bars import bar_pieces
from discotree.drawing.curves import secondary_curve
from discotree.drawing.figure import Figure
from discotree.drawing.glyphs import clean, ems
from discotree.drawing.grid import PITCH, Bar
from discotree.drawing.highlights import Highlight, Highlights
from discotree.drawing.labelled_grid import LabelledGrid, Sizes, column_xs
from discotree.drawing.look import WHOLE, Look
from discotree.drawing.tex import PROVIDED, RIGHT_TO_LEFT_MACRO, Names, color_definitions, document, tex
from discotree.trees.tree import Node, Tree

SIZES = Sizes(
    label=10,
    tag=8,
    form=10,
    function=7,
    margin=0,
    step=8,
    box=5,
    reach=8,
    bar=14,
    role=14,
    row=30,
    tall=40,
    below=13,
    slant=12,
)  # points
INSET = 4  # points by which the solid bar reaches into a gap
BASELINE = 4  # points from the middle of a row down to the baseline of its texts
TIP = 13  # points from a word up to the tip of its triangle, where it does not begin at a label
MIN_LINE = 220  # points that a line of a translation may have, however narrow the tree is
HEAD = "\\documentclass[tikz,border=6pt]{standalone}\n"
STYLES = r"""[x=1pt, y=1pt, line cap=round, line join=round, line width=.5pt,
  every node/.style={anchor=base, inner sep=0pt},
  phrase/.style={font=\fontsize{10}{12}\selectfont, text height=7pt, text depth=2pt, inner ysep=3pt},
  tag/.style={font=\fontsize{8}{10}\selectfont, text=black!65, text height=6pt, text depth=2pt, inner ysep=2pt},
  word/.style={font=\fontsize{10}{12}\selectfont, text height=7pt, text depth=2pt, inner ysep=2pt},
  gloss/.style={font=\fontsize{8}{10}\selectfont},
  function/.style={font=\fontsize{7}{8}\selectfont, text=black!65, text height=5pt, text depth=1pt, inner ysep=2pt},
  marked/.style={draw=#1, text=#1, line width=1pt, font=\fontsize{10}{12}\bfseries\selectfont,
    inner sep=2pt, rounded corners=2pt},
  translation/.style={anchor=north west, align=left},
  passage/.style={white, line width=6pt, line cap=butt},
  bridge/.style={dash pattern=on 0pt off 3pt}]"""
DASHES = {"dash1": "densely dashed", "dash2": "densely dotted", "dash3": "dash dot"}


def draw_latex(
    tree: Tree,
    *,
    standalone: bool = True,
    functions: bool = True,
    highlight: Highlight = True,
    look: Look = WHOLE,
) -> str:
    """Draw a tree as a document that compiles as it is, or as a picture for a document that loads TikZ.

    ``highlight`` and ``look`` are as in ``draw_svg``.
    """
    picture = _picture(tree, functions, highlight, look)
    return latex_pages([picture]) if standalone else picture


def latex_document(trees: Iterable[Tree], *, functions: bool = True, highlight: Highlight = True) -> str:
    """Return one document with a page per tree."""
    return latex_pages([_picture(tree, functions, highlight, WHOLE) for tree in trees])


def latex_pages(pictures: Sequence[str]) -> str:
    """Return one document with a page for each picture of ``draw_latex(…, standalone=False)``."""
    return document(HEAD, pictures)


def _picture(tree: Tree, functions: bool, highlight: Highlight, look: Look) -> str:
    figure = Figure.of(tree, look)
    highlights = Highlights.of(figure.tree, figure.highlight(highlight))
    labelled = LabelledGrid.of(figure, SIZES, functions, boxed=highlights.named)
    xs, width = column_xs([labelled], SIZES)
    drawing = _TikzTree(labelled, xs, highlights)
    head = ["\\begin{tikzpicture}" + STYLES, *color_definitions(highlights.styles)]
    lines = [*drawing.words(), *drawing.constituents(), *drawing.lines(), *drawing.secondary_edges()]
    lines += [*drawing.legend(), *drawing.translation(width)]
    if any(RIGHT_TO_LEFT_MACRO in line for line in lines):
        head.append(PROVIDED)
    return "\n".join([*head, *lines, "\\end{tikzpicture}\n"])


@dataclass(slots=True)
class _TikzTree:
    """Tree with coordinates; y grows upwards. Names are indexed by address."""

    labelled: LabelledGrid
    xs: dict[int, int]
    highlights: Highlights
    names: list[str] = field(init=False)
    tops: list[str] = field(init=False)  # where the line from the parent ends

    def __post_init__(self) -> None:
        labelled, names = self.labelled, Names()
        n = len(labelled.forms)
        self.names = [names.new(text.split()[0], "word") for text in labelled.forms]
        self.names += [names.new(text, "node") for text in labelled.labels[n:]]
        self.tops = []
        for address, name in enumerate(self.names):
            if address in labelled.figure.roofs:
                self.tops.append(f"{name}-tip")
            elif labelled.functions[address]:
                self.tops.append(f"{name}-function.north")
            else:
                self.tops.append(f"{name}-tag.north" if address < n and labelled.labels[address] else f"{name}.north")

    def y(self, address: int) -> int:
        grid = self.labelled.grid
        return self.labelled.pitch(SIZES) * (grid.rows - 1 - grid.cells[address].row)

    def style(self, kind: str, address: int) -> str:
        style = self.highlights.styles[address]
        if not style:
            return kind
        hue, *dash = style.split()
        return ", ".join([kind, f"marked={hue}", *[DASHES[name] for name in dash]])

    def stroke(self, node: int) -> str:
        style = self.highlights.styles[node]
        return f"{style.split()[0]}, line width=1pt" if style else ""

    def words(self) -> Iterator[str]:
        labelled = self.labelled
        yield "% words, with what belongs to each"
        children = labelled.grid.children
        y = -BASELINE - (SIZES.below if labelled.has_tag_row else 0)
        for leaf, form in enumerate(labelled.forms):
            name = self.names[leaf]
            yield f"\\node[{self.style('word', leaf)}] ({name}) at ({self.xs[PITCH * leaf]},{y}) {{{tex(form)}}};"
            siblings = children[labelled.grid.cells[leaf].parent - len(labelled.forms)]
            if leaf in labelled.figure.roofs and not labelled.figure.has_triangle(siblings):
                yield f"\\path ({name}.north) ++(0,{TIP}) coordinate ({name}-tip);"
            if tag := labelled.labels[leaf]:
                yield _hung("tag", f"{name}-tag", name, SIZES.below, tag)
            if role := labelled.functions[leaf]:
                yield _hung("function", f"{name}-function", name, SIZES.role + SIZES.below * bool(tag), role)
            if labelled.glosses and labelled.glosses[leaf]:
                yield _hung("gloss", f"{name}-gloss", name, -SIZES.below, labelled.glosses[leaf])

    def constituents(self) -> Iterator[str]:
        yield "% constituents"
        labelled, n = self.labelled, len(self.labelled.forms)
        for address in range(n + labelled.first_node, len(self.names)):
            name, x = self.names[address], self.xs[labelled.grid.cells[address].column]
            style, y = self.style("phrase", address), self.y(address) - BASELINE
            yield f"\\node[{style}] ({name}) at ({x},{y}) {{{tex(labelled.labels[address])}}};"
            if role := labelled.functions[address]:
                yield _hung("function", f"{name}-function", name, SIZES.role, role)

    def lines(self) -> Iterator[str]:
        """Yield the lines of all nodes; bars come first, so that stems can pass through them."""
        labelled, n = self.labelled, len(self.labelled.forms)
        children = labelled.grid.children
        slanted = labelled.figure.look.is_slanted
        bars, stems, below = [], [], SIZES.bar - BASELINE
        if slanted:
            below = labelled.pitch(SIZES) - (SIZES.role + 6 if labelled.has_functions else SIZES.reach) - BASELINE
        for k, node in enumerate(labelled.grid.tree.nodes()):
            if k < labelled.first_node:
                continue
            name, stroke = self.names[n + k], self.stroke(n + k)
            if labelled.figure.has_triangle(children[k]):
                stems.append(_draw(stroke, self._roof(f"{name}.south", children[k][0])))
                continue
            bars.append(f"\\path ({name}.base) ++(0,{-below}) coordinate ({name}-bar);")
            if not slanted:
                bars += self._bar(labelled.grid.bars[k], name, stroke, node if self.highlights.styles[n + k] else None)
            for child in children[k]:
                start = f"({name}.south) -- " if slanted else ""
                corner = "" if slanted and self._is_next(n + k, child) else f"({self.names[child]} |- {name}-bar) -- "
                stems.append(_draw(stroke, f"{start}{corner}({self.tops[child]})"))
            roofs = labelled.figure.roofs.intersection(children[k])
            stems += [_draw(stroke, self._roof(f"{self.names[leaf]}-tip", leaf)) for leaf in sorted(roofs)]
        if not slanted:
            bars += self._passages()
        yield from ["% lines, those to the side first", *bars, *stems]

    def _is_next(self, node: int, child: int) -> bool:
        """Whether the texts of a child begin where slanted lines end, in the next row."""
        labelled, cells = self.labelled, self.labelled.grid.cells
        is_high = bool(labelled.functions[child]) or not labelled.has_functions
        has_tag = child >= len(labelled.forms) or bool(labelled.labels[child]) or not labelled.has_tag_row
        return cells[child].row == cells[node].row + 1 and is_high and has_tag and child not in labelled.figure.roofs

    def _bar(self, bar: Bar, name: str, stroke: str, gapped: Node | None) -> Iterator[str]:
        """Yield the bar of a node, with the line up to its label."""
        xs, children = self.xs, self.labelled.grid.children[bar.node - len(self.labelled.forms)]
        ends = {
            xs[self.labelled.grid.cells[child].column]: f"({name}-bar -| {self.names[child]})" for child in children
        }
        gaps = []
        for start, end in gapped.gaps if gapped else ():
            left, right = xs[PITCH * (start - 1)] + INSET, xs[PITCH * end] - INSET
            ends.setdefault(left, f"([xshift={INSET}pt]{name}-bar -| {self.names[start - 1]})")
            ends.setdefault(right, f"([xshift=-{INSET}pt]{name}-bar -| {self.names[end]})")
            gaps.append((left, right))
        solid, bridges = bar_pieces(xs[bar.start], xs[bar.end], gaps, ())
        pieces = "".join([f" {ends[a]} -- {ends[b]}" for a, b in solid])
        yield _draw(stroke, f"({name}.south) -- ({name}-bar){pieces}")
        if bridges:
            yield _draw(f"{stroke}, bridge", " ".join([f"{ends[a]} -- {ends[b]}" for a, b in bridges]))

    def _passages(self) -> Iterator[str]:
        """Yield a white stroke for each crossing, so that the stem alone is seen there."""
        for crossing in self.labelled.grid.crossings:
            at = f"{self.names[crossing.node]}-bar -| {self.names[crossing.child]}"
            yield f"\\draw[passage] ([yshift=2pt]{at}) -- ([yshift=-2pt]{at});"

    def _roof(self, tip: str, leaf: int) -> str:
        name = self.names[leaf]
        return f"({tip}) -- ({name}.north west) -- ({name}.north east) -- cycle"

    def secondary_edges(self) -> Iterator[str]:
        """Yield dashed arrows from above the child to the side of the other parent."""
        for role, child, parent in self.labelled.figure.secondary:
            above = SIZES.role + 6 if self.labelled.functions[child] else SIZES.reach
            curve = secondary_curve(
                (self.xs[self.labelled.grid.cells[child].column], -self.y(child) - above),
                (self.xs[self.labelled.grid.cells[parent].column], -self.y(parent)),
                self.labelled.widths[parent] // 2 + 3,
            )
            (x, y), (a, b), (c, d), (to, level) = curve
            side = "west" if to > x else "east"
            label = f"node[function, pos=.75, anchor=center, fill=white, inner sep=1pt] {{{tex(clean(role))}}}"
            yield (
                f"\\draw[->, dashed, black!65] ([xshift={6 if to > x else -6}pt]{self.tops[child]}) "
                f".. controls +({a - x},{y - b}) and +({c - to},{level - d}) .. {label} ({self.names[parent]}.{side});"
            )

    def legend(self) -> Iterator[str]:
        rows = self.labelled.grid.rows - 1 - self.labelled.first_node
        x, y = 0, self.labelled.pitch(SIZES) * rows + 2 * SIZES.role
        for name, style in self.highlights.legend:
            hue, *dash = style.split()
            options = ", ".join(["phrase", f"marked={hue}", *[DASHES[kind] for kind in dash], "anchor=base west"])
            yield f"\\node[{options}] at ({x},{y}) {{{tex(clean(name))}}};"
            x += math.ceil(SIZES.label * ems(clean(name), True)) + SIZES.box + SIZES.step

    def translation(self, width: int) -> Iterator[str]:
        if text := " ".join(map(clean, self.labelled.figure.look.translation.split())):
            rows = self.labelled.has_tag_row + bool(self.labelled.glosses)
            y = -BASELINE - SIZES.below * rows - SIZES.reach
            yield f"\\node[translation, text width={max(width, MIN_LINE)}pt] at (0,{y}) {{{tex(text)}}};"


def _hung(style: str, name: str, above: str, shift: int, text: str) -> str:
    """Return a text that hangs on another node."""
    return f"\\node[{style}] ({name}) at ([yshift={shift}pt]{above}.base) {{{tex(text)}}};"


def _draw(options: str, strokes: str) -> str:
    return f"\\draw[{options}] {strokes};" if options else f"\\draw {strokes};"
