"""Draw trees as TikZ pictures that you can edit by hand, for pdflatex, lualatex and xelatex.

Every text is a named node on its own line: NP, NP-2 for the second NP, and a word by its letters. Only constituents and
words have coordinates. Tags, functions, glosses and lines refer to them by name, so they follow if you change a
coordinate. Texts are measured with the fonts of a screen, which are wider than TeX's, so they always fit.

pdflatex has few characters beyond Latin letters and shows the others as empty boxes. lualatex and xelatex use the first
installed font of a list, which may still lack a character.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from discotree.drawing.layout import PITCH, Bar, bar_pieces, label_parameter, secondary_curve
from discotree.drawing.measure import LabelledGrid, Sizes, clean, column_xs, ems, is_right_to_left
from discotree.drawing.options import DEFAULT, DrawingOptions, Figure, Highlight, Highlights
from discotree.drawing.svg import LIGHT
from discotree.trees.tree import Node, Tree

HEAD = "\\documentclass[tikz,border=6pt]{standalone}\n"
PREAMBLE = r"""\usepackage{iftex}
\ifPDFTeX
  \usepackage[utf8]{inputenc}
  \usepackage[T1]{fontenc}
  \usepackage{textcomp,lmodern}
  \newcommand\discotreesign[2]{\ifcsname u8:\detokenize{#1}\endcsname\else
    \DeclareUnicodeCharacter{#2}{{\setlength\fboxsep{0pt}\fbox{\kern.4em\rule{0pt}{1.4ex}}}}\fi}
\else
  \usepackage{fontspec}
\fi
"""
FONTS = r"""\ifPDFTeX\else
  \ifLuaTeX\defaultfontfeatures{Renderer=HarfBuzz}\fi
  FONTS
\fi
"""
LAST_LATIN = "\u024f"  # last letter of TeX's own fonts
EAST_ASIAN = ("Noto Serif CJK SC", "Noto Sans CJK SC", "Source Han Serif SC", "Hiragino Mincho ProN", "SimSun")
OTHERS = ("FreeSerif", "DejaVu Sans", "Arial Unicode MS", "Arial")
RIGHT_TO_LEFT = r"""\ifLuaTeX
  \newcommand\discotreertl[1]{\bgroup\textdir TRT #1\egroup}
\else\ifXeTeX
  \TeXXeTstate=1 \newcommand\discotreertl[1]{\beginR #1\endR}
\fi\fi
"""
SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
    "�": r"\textbf{?}", "␣": r"\textvisiblespace{}", "◌": r"\textopenbullet{}",
}  # fmt: skip
_SPECIAL = re.compile("[" + re.escape("".join(SPECIAL)) + "]")
_LIGATURE = re.compile(r"(?<=([-,]))(?=\1)")  # TeX turns two hyphens into a dash and two commas into a quotation mark


RIGHT_TO_LEFT_MACRO = r"\discotreertl"
PROVIDED = r"\providecommand\discotreertl[1]{#1}"  # for pictures in other documents
MAX_NAME = 20  # characters of a node's name
_NOT_IN_NAMES = re.compile("[^A-Za-z0-9]+")


def latex_pages(pictures: Sequence[str]) -> str:
    """Return one document with a page for each picture of ``draw_latex(…, standalone=False)``."""
    body = "".join(pictures)
    signs = sorted({sign for sign in body if sign > "\x7f"})
    declared = [f"\\discotreesign{{{sign}}}{{{ord(sign):04X}}}\n" for sign in signs]
    guarded = "\\ifPDFTeX\n" + "".join(declared) + "\\fi\n" if declared else ""
    directions = RIGHT_TO_LEFT if RIGHT_TO_LEFT_MACRO in body else ""
    return f"{HEAD}{PREAMBLE}{_fonts(signs)}{directions}{guarded}\\begin{{document}}\n{body}\\end{{document}}\n"


def _fonts(signs: Sequence[str]) -> str:
    """Return commands that choose a font for characters that TeX's own fonts lack."""
    beyond = [sign for sign in signs if sign > LAST_LATIN and unicodedata.category(sign)[0] in "LM"]
    if not beyond:
        return ""
    wide = any(unicodedata.east_asian_width(sign) in "WF" for sign in beyond)
    script = "[Script=Arabic]" if any(unicodedata.bidirectional(sign) == "AL" for sign in beyond) else ""
    chosen = ""
    for font in reversed((*EAST_ASIAN, *OTHERS) if wide else OTHERS):
        chosen = f"\\IfFontExistsTF{{{font}}}{{\\setmainfont{{{font}}}{script}}}{{{chosen}}}"
    return FONTS.replace("FONTS", chosen)


def tex(text: str) -> str:
    """Return text escaped for TeX."""
    text = unicodedata.normalize("NFC", text)
    escaped = _LIGATURE.sub(r"\\kern0pt{}", _SPECIAL.sub(lambda match: SPECIAL[match[0]], text))
    return f"\\discotreertl{{{escaped}}}" if is_right_to_left(text) else escaped


def _unique_name(text: str, fallback: str, taken: Counter[str]) -> str:
    """Return a name with the letters and digits of a text, such as NP, NP-2 or kam; ``fallback`` if it has none."""
    letters = _NOT_IN_NAMES.sub("", unicodedata.normalize("NFKD", text))[:MAX_NAME] or fallback
    name = fallback + letters if letters[0].isdigit() else letters
    taken[name] += 1
    return f"{name}-{taken[name]}" if taken[name] > 1 else name


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
TIP = 13  # points from a word up to the tip of its triangle, if the tip is not at a label
MIN_LINE = 220  # minimum width of a line of a translation, in points
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
    options: DrawingOptions = DEFAULT,
) -> str:
    """Draw a tree as a complete document or, with ``standalone=False``, as a picture for a document that loads TikZ.

    ``highlight`` and ``options`` are as in ``draw_svg``.
    """
    figure = Figure.from_tree(tree, options)
    highlights = figure.highlights(highlight)
    labelled = LabelledGrid.measure(figure, SIZES, functions, boxed=highlights.named)
    xs, width = column_xs([labelled], SIZES)
    drawing = _TikzTree(labelled, xs, highlights)
    used = {style.split()[0] for style in highlights.styles if style}
    colors = {hue: color[1:].upper() for hue, color in LIGHT._asdict().items() if hue in used}
    head = ["\\begin{tikzpicture}" + STYLES]
    head += [f"\\definecolor{{{hue}}}{{HTML}}{{{color}}}" for hue, color in colors.items()]
    lines = [*drawing.words(), *drawing.constituents(), *drawing.lines(), *drawing.secondary_edges()]
    lines += [*drawing.legend(), *drawing.notes(width, functions)]
    if any(RIGHT_TO_LEFT_MACRO in line for line in lines):
        head.append(PROVIDED)
    picture = "\n".join([*head, *lines, "\\end{tikzpicture}\n"])
    return latex_pages([picture]) if standalone else picture


@dataclass(slots=True)
class _TikzTree:
    """Tree with coordinates; y grows upwards. Names are indexed by address."""

    labelled: LabelledGrid
    xs: dict[int, int]
    highlights: Highlights
    names: list[str] = field(init=False)
    tops: list[str] = field(init=False)  # where the line from the parent ends

    def __post_init__(self) -> None:
        labelled, taken = self.labelled, Counter[str]()
        n = len(labelled.forms)
        self.names = [_unique_name(text.split()[0], "word", taken) for text in labelled.forms]
        self.names += [_unique_name(text, "node", taken) for text in labelled.labels[n:]]
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
                yield _attach("tag", f"{name}-tag", name, SIZES.below, tag)
            if role := labelled.functions[leaf]:
                yield _attach("function", f"{name}-function", name, SIZES.role + SIZES.below * bool(tag), role)
            if labelled.glosses and labelled.glosses[leaf]:
                yield _attach("gloss", f"{name}-gloss", name, -SIZES.below, labelled.glosses[leaf])

    def constituents(self) -> Iterator[str]:
        yield "% constituents"
        labelled, n = self.labelled, len(self.labelled.forms)
        for address in range(n + labelled.first_node, len(self.names)):
            name, x = self.names[address], self.xs[labelled.grid.cells[address].column]
            style, y = self.style("phrase", address), self.y(address) - BASELINE
            yield f"\\node[{style}] ({name}) at ({x},{y}) {{{tex(labelled.labels[address])}}};"
            if role := labelled.functions[address]:
                yield _attach("function", f"{name}-function", name, SIZES.role, role)

    def lines(self) -> Iterator[str]:
        """Yield the lines of all nodes, bars first, so that stems can pass through them."""
        labelled, n = self.labelled, len(self.labelled.forms)
        children = labelled.grid.children
        slanted = labelled.figure.options.is_slanted
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
            for crossing in labelled.grid.crossings:  # a white stroke hides the bar around the stem
                at = f"{self.names[crossing.node]}-bar -| {self.names[crossing.child]}"
                bars.append(f"\\draw[passage] ([yshift=2pt]{at}) -- ([yshift=-2pt]{at});")
        yield from ["% lines, those to the side first", *bars, *stems]

    def _is_next(self, node: int, child: int) -> bool:
        """Return whether the text of a child begins where slanted lines end, in the next row."""
        labelled, cells = self.labelled, self.labelled.grid.cells
        is_high = bool(labelled.functions[child]) or not labelled.has_functions
        has_tag = child >= len(labelled.forms) or bool(labelled.labels[child]) or not labelled.has_tag_row
        return cells[child].row == cells[node].row + 1 and is_high and has_tag and child not in labelled.figure.roofs

    def _bar(self, bar: Bar, name: str, stroke: str, gapped: Node | None) -> Iterator[str]:
        """Yield the bar of a node, with the line up to its label."""
        xs, children = self.xs, self.labelled.grid.children[bar.node - len(self.labelled.forms)]
        cells = self.labelled.grid.cells
        joints = {xs[cells[child].column]: f"{name}-bar -| {self.names[child]}" for child in children}
        gaps = [(start - 1, end) for start, end in gapped.gaps] if gapped else []
        words = {xs[PITCH * word]: f"{name}-bar -| {self.names[word]}" for gap in gaps for word in gap}
        solid, bridges = bar_pieces(joints, [(xs[PITCH * a], xs[PITCH * b]) for a, b in gaps], (), INSET)
        ends = {x: f"({at})" for x, at in joints.items()}
        for x, at in (words | joints).items():
            for shift in (-INSET, INSET):
                ends.setdefault(x + shift, f"([xshift={shift}pt]{at})")
        pieces = "".join([f" {ends[a]} -- {ends[b]}" for a, b in solid])
        yield _draw(stroke, f"({name}.south) -- ({name}-bar){pieces}")
        if bridges:
            yield _draw(f"{stroke}, bridge", " ".join([f"{ends[a]} -- {ends[b]}" for a, b in bridges]))

    def _roof(self, tip: str, leaf: int) -> str:
        name = self.names[leaf]
        return f"({tip}) -- ({name}.north west) -- ({name}.north east) -- cycle"

    def secondary_edges(self) -> Iterator[str]:
        """Yield dashed arrows from above the child to the side of the other parent."""
        labelled, cells = self.labelled, self.labelled.grid.cells

        def top(address: int) -> int:
            return -self.y(address) - (SIZES.role + 6 if labelled.functions[address] else SIZES.reach)

        obstacles = labelled.obstacles(self.xs, SIZES, lambda address: -self.y(address), top)
        for role, child, parent in labelled.figure.secondary:
            curve = secondary_curve(
                (self.xs[cells[child].column], top(child)),
                (self.xs[cells[parent].column], -self.y(parent)),
                labelled.widths[parent] // 2 + 3,
            )
            (x, y), (a, b), (c, d), (to, level) = curve
            text, shift = clean(role), to - self.xs[cells[parent].column]
            at = label_parameter(curve, math.ceil(SIZES.function * ems(text)) + 2, SIZES.role // 2 + 2, obstacles)
            label = f"node[function, pos={at:g}, anchor=center, fill=white, inner sep=1pt] {{{tex(text)}}}"
            yield (
                f"\\draw[->, dashed, black!65] ([xshift={6 if to > x else -6}pt]{self.tops[child]}) "
                f".. controls +({a - x},{y - b}) and +({c - to},{level - d}) .. {label} "
                f"([xshift={shift}pt]{self.names[parent]}.center);"
            )

    def legend(self) -> Iterator[str]:
        rows = self.labelled.grid.rows - 1 - self.labelled.first_node
        x, y = 0, self.labelled.pitch(SIZES) * rows + 2 * SIZES.role
        for name, style in self.highlights.legend:
            hue, *dash = style.split()
            options = ", ".join(["phrase", f"marked={hue}", *[DASHES[kind] for kind in dash], "anchor=base west"])
            yield f"\\node[{options}] at ({x},{y}) {{{tex(clean(name))}}};"
            x += math.ceil(SIZES.label * ems(clean(name), True)) + SIZES.box + SIZES.step

    def notes(self, width: int, functions: bool) -> Iterator[str]:
        """Yield the arrows below the words and glosses, the translation and the legend."""
        figure, rows = self.labelled.figure, self.labelled.has_tag_row + bool(self.labelled.glosses)
        y, lowest = -BASELINE - SIZES.below * rows - SIZES.reach // 2, 0
        for (head, part, *_), level in figure.arrows():
            start, end = [f"({self.names[leaf]} |- 0,{y})" for leaf in (head, part)]
            yield f"\\draw[->, rounded corners=2pt] {start} -- ++(0,{-SIZES.reach * level}) -| {end};"
            lowest = max(lowest, SIZES.reach * level)
        texts = [" ".join(map(clean, figure.options.translation.split())), " · ".join(figure.legend(functions))]
        if note := r"\\[3pt] ".join([tex(text) for text in texts if text]):
            y -= lowest + SIZES.reach // 2
            yield f"\\node[translation, text width={max(width, MIN_LINE)}pt] at (0,{y}) {{{note}}};"


def _attach(style: str, name: str, above: str, shift: int, text: str) -> str:
    """Return a text that is placed relative to another node."""
    return f"\\node[{style}] ({name}) at ([yshift={shift}pt]{above}.base) {{{tex(text)}}};"


def _draw(options: str, strokes: str) -> str:
    return f"\\draw[{options}] {strokes};" if options else f"\\draw {strokes};"
