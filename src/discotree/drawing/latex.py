"""Trees as TikZ pictures, for pdflatex, lualatex and xelatex.

Texts are measured as on a screen, where letters are wider than TeX's, so there is always enough room. pdflatex has few
characters beyond Latin letters and shows the others as empty boxes. lualatex and xelatex use the first installed font
of a list, which may still lack a character.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from discotree.drawing.curves import Point, secondary_curve
from discotree.drawing.glyphs import clean, is_right_to_left
from discotree.drawing.grid import PITCH
from discotree.drawing.highlights import Highlights
from discotree.drawing.labelled_grid import LabelledGrid, Sizes, column_xs
from discotree.drawing.markup import LIGHT
from discotree.drawing.svg import bar_pieces
from discotree.trees.tree import Tree

SIZES = Sizes(
    label=10, tag=8, form=10, function=7, margin=0, step=8, box=5, reach=8, bar=14, role=14, row=30, tall=40, below=13
)  # points
HOLE, INSET = 3, 4  # points, as in svg.py

PREAMBLE = r"""\documentclass[tikz,border=6pt]{standalone}
\usepackage{iftex}
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
STYLES = r"""[x=1pt, y=1pt, line cap=round, line width=.5pt,
  every node/.style={anchor=base, inner sep=0pt},
  phrase/.style={font=\fontsize{10}{12}\selectfont},
  tag/.style={font=\fontsize{8}{10}\selectfont, text=black!65},
  word/.style={font=\fontsize{10}{12}\selectfont},
  function/.style={font=\fontsize{7}{8}\selectfont, text=black!65},
  gapped/.style={draw=#1, text=#1, line width=1pt, font=\fontsize{10}{12}\bfseries\selectfont,
    inner sep=2pt, rounded corners=2pt, anchor=center},
  bridge/.style={dash pattern=on 0pt off 3pt}]"""
SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
    "�": r"\textbf{?}", "␣": r"\textvisiblespace{}", "◌": r"\textopenbullet{}",
}  # fmt: skip
_SPECIAL = re.compile("[" + re.escape("".join(SPECIAL)) + "]")
_LIGATURE = re.compile(r"(?<=([-,]))(?=\1)")  # TeX turns two hyphens into a dash and two commas into a quotation mark


def draw_latex(tree: Tree, *, standalone: bool = True, functions: bool = True, highlight: bool = True) -> str:
    """Draw a tree as a document that compiles as it is, or as a picture for a document that loads TikZ."""
    picture = _picture(tree, functions, highlight)
    return _document([picture]) if standalone else picture


def latex_document(trees: Iterable[Tree], *, functions: bool = True, highlight: bool = True) -> str:
    """Return one document with a page per tree."""
    return _document([_picture(tree, functions, highlight) for tree in trees])


def _document(pictures: Sequence[str]) -> str:
    body = "".join(pictures)
    signs = sorted({sign for sign in body if sign > "\x7f"})
    declared = [f"\\discotreesign{{{sign}}}{{{ord(sign):04X}}}\n" for sign in signs]
    guarded = "\\ifPDFTeX\n" + "".join(declared) + "\\fi\n" if declared else ""
    directions = RIGHT_TO_LEFT if r"\discotreertl" in body else ""
    return f"{PREAMBLE}{_fonts(signs)}{directions}{guarded}\\begin{{document}}\n{body}\\end{{document}}\n"


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


def _picture(tree: Tree, functions: bool, highlight: bool) -> str:
    labelled = LabelledGrid.of(tree, SIZES, functions)
    xs, _ = column_xs([labelled], SIZES)
    marks = Highlights.of(tree, highlight).styles[len(tree) :]
    lines = ["\\begin{tikzpicture}" + STYLES]
    used = {hue: color for hue, color in LIGHT._asdict().items() if hue in marks}
    lines += [f"\\definecolor{{{hue}}}{{HTML}}{{{color[1:].upper()}}}" for hue, color in used.items()]
    if any(map(is_right_to_left, [*labelled.labels, *labelled.functions, *labelled.forms])):
        lines.append(r"\providecommand\discotreertl[1]{#1}")
    drawing = _TikzTree(labelled, xs)
    lines += [*drawing.constituents(marks), *drawing.functions(), *drawing.words(), *drawing.secondary_edges()]
    return "\n".join([*lines, "\\end{tikzpicture}\n"])


@dataclass(slots=True)
class _TikzTree:
    """Tree with coordinates; y grows upwards, and the words are at 0."""

    labelled: LabelledGrid
    xs: dict[int, int]

    def point(self, address: int) -> Point:
        grid = self.labelled.grid
        row = SIZES.tall if self.labelled.has_functions else SIZES.row
        cell = grid.cells[address]
        return self.xs[cell.column], row * (grid.rows - 1 - cell.row)

    def top(self, address: int) -> Point:
        """Return the point at which the line from the parent ends."""
        x, y = self.point(address)
        return x, y + (SIZES.role + 6 if self.labelled.functions[address] else SIZES.reach)

    def constituents(self, marks: Sequence[str]) -> Iterator[str]:
        """Yield the lines and the label of each node; ``marks`` are colours, empty for a plain node."""
        labelled, xs, n = self.labelled, self.xs, len(self.labelled.forms)
        children, crossed = labelled.grid.children, labelled.grid.crossed_columns
        for k, (node, mark) in enumerate(zip(labelled.grid.tree.nodes(), marks, strict=True)):
            x, y = self.point(n + k)
            level = y - SIZES.bar
            bar = labelled.grid.bars[k]
            gaps = [(xs[PITCH * (a - 1)] + INSET, xs[PITCH * b] - INSET) for a, b in node.gaps] if mark else []
            holes = [(xs[column] - HOLE, xs[column] + HOLE) for column in crossed[k]]
            solid, bridges = bar_pieces(xs[bar.start], xs[bar.end], gaps, holes)
            strokes = [f"({x},{y - SIZES.reach}) -- ({x},{level})"]
            strokes += [f"({a},{level}) -- ({b},{level})" for a, b in solid]
            strokes += [f"({a},{level}) -- ({a},{b})" for a, b in map(self.top, children[k])]
            color = f"{mark}, line width=1pt" if mark else ""
            yield f"\\draw[{color}] {' '.join(strokes)};"
            if bridges:
                dots = " ".join([f"({a},{level}) -- ({b},{level})" for a, b in bridges])
                yield f"\\draw[{color}, bridge] {dots};"
            if mark:
                yield _node(f"gapped={mark}", x, y, labelled.labels[n + k])
            else:
                yield _node("phrase", x, y - _baseline(SIZES.label), labelled.labels[n + k])

    def functions(self) -> Iterator[str]:
        for address, role in enumerate(self.labelled.functions):
            if role:
                x, y = self.point(address)
                yield _node("function", x, y + SIZES.role - _baseline(SIZES.function), role)

    def words(self) -> Iterator[str]:
        tagged = self.labelled.has_tags
        for word, form in enumerate(self.labelled.forms):
            x = self.xs[PITCH * word]
            if tagged:
                yield _node("tag", x, -_baseline(SIZES.tag), self.labelled.labels[word])
            yield _node("word", x, -_baseline(SIZES.form) - (SIZES.below if tagged else 0), form)

    def secondary_edges(self) -> Iterator[str]:
        """Yield dashed arrows from above the child to the side of the other parent."""
        for role, child, parent in self.labelled.grid.tree.secondary:
            (x, y), (to, level) = self.top(child), self.point(parent)
            curve = secondary_curve((x, -y), (to, -level), self.labelled.widths[parent] // 2 + 3)
            start, first, second, end = [f"({a},{-b})" for a, b in curve]
            label = f"node[function, pos=.75, anchor=center, fill=white, inner sep=1pt] {{{tex(clean(role))}}}"
            yield f"\\draw[->, dashed, black!65] {start} .. controls {first} and {second} .. {label} {end};"


def _baseline(size: float) -> int:
    """Return the distance from the middle of letters down to their baseline."""
    return round(0.35 * size)


def _node(style: str, x: int, y: int, text: str) -> str:
    return f"\\node[{style}] at ({x},{y}) {{{tex(text)}}};"


def tex(text: str) -> str:
    """Return text escaped for TeX."""
    text = unicodedata.normalize("NFC", text)
    escaped = _LIGATURE.sub(r"\\kern0pt{}", _SPECIAL.sub(lambda found: SPECIAL[found[0]], text))
    return f"\\discotreertl{{{escaped}}}" if is_right_to_left(text) else escaped
