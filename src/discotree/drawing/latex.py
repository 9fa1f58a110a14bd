"""Trees as TikZ pictures, for pdflatex, lualatex and xelatex.

Letters are measured like those of a screen, which are wider than TeX's, so that there is always room enough. pdflatex
has few letters beyond Latin ones: those that it does not know appear as empty boxes. The others take the first
font of a list that is installed; whether it has every letter is not checked.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from discotree.drawing.curves import Point, swung
from discotree.drawing.layout import PITCH
from discotree.drawing.letters import clean, is_right_to_left
from discotree.drawing.markup import LIGHT
from discotree.drawing.sheet import Sheet, Sizes, spread
from discotree.drawing.svg import hues, pieces_of
from discotree.trees.tree import Tree

SIZES = Sizes(
    label=10, tag=8, form=10, function=7, margin=0, step=8, box=5, reach=8, bar=14, role=14, row=30, tall=40, below=13
)  # points
HOLE, INSET = 3, 4

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
LATIN = "\u024f"  # the last letter that TeX's own fonts have
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
_LIGATURE = re.compile(r"(?<=([-,]))(?=\1)")  # TeX makes a dash of two hyphens and a quotation mark of two commas


def draw_latex(tree: Tree, *, standalone: bool = True, functions: bool = True, highlight: bool = True) -> str:
    """Draw a tree: a document that compiles as it is, or just the picture, for a document that has TikZ."""
    picture = _picture(tree, functions, highlight)
    return _document([picture]) if standalone else picture


def latex_document(trees: Iterable[Tree], *, functions: bool = True, highlight: bool = True) -> str:
    """One document with a page for every tree."""
    return _document([_picture(tree, functions, highlight) for tree in trees])


def _document(pictures: Sequence[str]) -> str:
    body = "".join(pictures)
    signs = sorted({sign for sign in body if sign > "\x7f"})
    declared = [f"\\discotreesign{{{sign}}}{{{ord(sign):04X}}}\n" for sign in signs]
    guarded = "\\ifPDFTeX\n" + "".join(declared) + "\\fi\n" if declared else ""
    directions = RIGHT_TO_LEFT if r"\discotreertl" in body else ""
    return f"{PREAMBLE}{_fonts(signs)}{directions}{guarded}\\begin{{document}}\n{body}\\end{{document}}\n"


def _fonts(signs: Sequence[str]) -> str:
    """A choice of fonts for what TeX's own do not have."""
    beyond = [sign for sign in signs if sign > LATIN and unicodedata.category(sign)[0] in "LM"]
    if not beyond:
        return ""
    wide = any(unicodedata.east_asian_width(sign) in "WF" for sign in beyond)
    script = "[Script=Arabic]" if any(unicodedata.bidirectional(sign) == "AL" for sign in beyond) else ""
    chosen = ""
    for font in reversed((*EAST_ASIAN, *OTHERS) if wide else OTHERS):
        chosen = f"\\IfFontExistsTF{{{font}}}{{\\setmainfont{{{font}}}{script}}}{{{chosen}}}"
    return FONTS.replace("FONTS", chosen)


def _picture(tree: Tree, functions: bool, highlight: bool) -> str:
    sheet = Sheet.of(tree, SIZES, functions)
    places, _ = spread([sheet], SIZES)
    marks = hues(tree) if highlight else [""] * len(sheet.grid.bars)
    lines = ["\\begin{tikzpicture}" + STYLES]
    used = {hue: color for hue, color in LIGHT._asdict().items() if hue in marks}
    lines += [f"\\definecolor{{{hue}}}{{HTML}}{{{color[1:].upper()}}}" for hue, color in used.items()]
    if any(map(is_right_to_left, [*sheet.labels, *sheet.functions, *sheet.forms])):
        lines.append(r"\providecommand\discotreertl[1]{#1}")
    drawing = _Drawing(sheet, places)
    lines += [*drawing.constituents(marks), *drawing.functions(), *drawing.words(), *drawing.secondary_edges()]
    return "\n".join([*lines, "\\end{tikzpicture}\n"])


@dataclass(slots=True)
class _Drawing:
    """A tree with its places. Unlike on a screen, larger numbers are further up; the words stand at 0."""

    sheet: Sheet
    places: dict[int, int]

    def point(self, address: int) -> Point:
        grid = self.sheet.grid
        row = SIZES.tall if self.sheet.has_functions else SIZES.row
        cell = grid.cells[address]
        return self.places[cell.column], row * (grid.rows - 1 - cell.row)

    def top(self, address: int) -> Point:
        """Where the line from the parent ends."""
        x, y = self.point(address)
        return x, y + (SIZES.role + 6 if self.sheet.functions[address] else SIZES.reach)

    def constituents(self, marks: Sequence[str]) -> Iterator[str]:
        """For each node its lines and its label; ``marks`` are colours, empty for a plain node."""
        sheet, places, n = self.sheet, self.places, len(self.sheet.forms)
        below: list[list[int]] = [[] for _ in marks]
        for parent, child in sheet.grid.edges:
            below[parent - n].append(child)
        holes: list[list[tuple[int, int]]] = [[] for _ in marks]
        for crossing in sheet.grid.crossings:
            passing = places[crossing.column]
            holes[crossing.node - n].append((passing - HOLE, passing + HOLE))
        for k, (node, mark) in enumerate(zip(sheet.grid.tree.nodes(), marks, strict=True)):
            x, y = self.point(n + k)
            level = y - SIZES.bar
            bar = sheet.grid.bars[k]
            gaps = [(places[PITCH * (a - 1)] + INSET, places[PITCH * b] - INSET) for a, b in node.gaps] if mark else []
            solid, bridges = pieces_of(places[bar.start], places[bar.end], gaps, holes[k])
            strokes = [f"({x},{y - SIZES.reach}) -- ({x},{level})"]
            strokes += [f"({a},{level}) -- ({b},{level})" for a, b in solid]
            strokes += [f"({a},{level}) -- ({a},{b})" for a, b in map(self.top, below[k])]
            color = f"{mark}, line width=1pt" if mark else ""
            yield f"\\draw[{color}] {' '.join(strokes)};"
            if bridges:
                dots = " ".join([f"({a},{level}) -- ({b},{level})" for a, b in bridges])
                yield f"\\draw[{color}, bridge] {dots};"
            if mark:
                yield _node(f"gapped={mark}", x, y, sheet.labels[n + k])
            else:
                yield _node("phrase", x, y - _baseline(SIZES.label), sheet.labels[n + k])

    def functions(self) -> Iterator[str]:
        for address, role in enumerate(self.sheet.functions):
            if role:
                x, y = self.point(address)
                yield _node("function", x, y + SIZES.role - _baseline(SIZES.function), role)

    def words(self) -> Iterator[str]:
        tagged = self.sheet.has_tags
        for word, form in enumerate(self.sheet.forms):
            x = self.places[PITCH * word]
            if tagged:
                yield _node("tag", x, -_baseline(SIZES.tag), self.sheet.labels[word])
            yield _node("word", x, -_baseline(SIZES.form) - (SIZES.below if tagged else 0), form)

    def secondary_edges(self) -> Iterator[str]:
        """Dashed arrows from above the child to the side of the other parent."""
        for role, child, parent in self.sheet.grid.tree.secondary:
            (x, y), (to, level) = self.top(child), self.point(parent)
            curve = swung((x, -y), (to, -level), self.sheet.widths[parent] // 2 + 3)
            start, first, second, end = [f"({a},{-b})" for a, b in curve]
            label = f"node[function, pos=.75, anchor=center, fill=white, inner sep=1pt] {{{tex(clean(role))}}}"
            yield f"\\draw[->, dashed, black!65] {start} .. controls {first} and {second} .. {label} {end};"


def _baseline(size: float) -> int:
    """How far the letters' baseline is below their middle."""
    return round(0.35 * size)


def _node(style: str, x: int, y: int, text: str) -> str:
    return f"\\node[{style}] at ({x},{y}) {{{tex(text)}}};"


def tex(text: str) -> str:
    """Text as TeX shows it letter by letter."""
    text = unicodedata.normalize("NFC", text)
    escaped = _LIGATURE.sub(r"\\kern0pt{}", _SPECIAL.sub(lambda found: SPECIAL[found[0]], text))
    return f"\\discotreertl{{{escaped}}}" if is_right_to_left(text) else escaped
