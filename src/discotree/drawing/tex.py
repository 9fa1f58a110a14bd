"""TeX documents with a page for each picture, escaped texts, and names for nodes.

pdflatex has few characters beyond Latin letters and shows the others as empty boxes. lualatex and xelatex use the first
installed font of a list, which may still lack a character.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from discotree.drawing.glyphs import is_right_to_left
from discotree.drawing.markup import LIGHT

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
PROVIDED = r"\providecommand\discotreertl[1]{#1}"  # for pictures in documents of your own
MAX_NAME = 20  # characters of a node's name
_NAMELESS = re.compile("[^A-Za-z0-9]+")


def document(head: str, pictures: Sequence[str]) -> str:
    """Return a document with a page for each picture; ``head`` is its class and its packages."""
    body = "".join(pictures)
    signs = sorted({sign for sign in body if sign > "\x7f"})
    declared = [f"\\discotreesign{{{sign}}}{{{ord(sign):04X}}}\n" for sign in signs]
    guarded = "\\ifPDFTeX\n" + "".join(declared) + "\\fi\n" if declared else ""
    directions = RIGHT_TO_LEFT if RIGHT_TO_LEFT_MACRO in body else ""
    return f"{head}{PREAMBLE}{_fonts(signs)}{directions}{guarded}\\begin{{document}}\n{body}\\end{{document}}\n"


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
    escaped = _LIGATURE.sub(r"\\kern0pt{}", _SPECIAL.sub(lambda found: SPECIAL[found[0]], text))
    return f"\\discotreertl{{{escaped}}}" if is_right_to_left(text) else escaped


def color_definitions(styles: Iterable[str]) -> list[str]:
    """Return commands that define the colours of these styles."""
    used = {style.split()[0] for style in styles if style}
    return [
        f"\\definecolor{{{hue}}}{{HTML}}{{{color[1:].upper()}}}"
        for hue, color in LIGHT._asdict().items()
        if hue in used
    ]


class Names:
    """Names of nodes that say what they stand for: NP, NP-2, kam."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()

    def new(self, text: str, other: str) -> str:
        """Return a name with the letters and digits of a text; one without any has another."""
        plain = _NAMELESS.sub("", unicodedata.normalize("NFKD", text))[:MAX_NAME] or other
        name = other + plain if plain[0].isdigit() else plain
        self.taken[name] += 1
        return f"{name}-{self.taken[name]}" if self.taken[name] > 1 else name
