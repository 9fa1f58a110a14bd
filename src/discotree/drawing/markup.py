"""Shared parts of all SVG pictures: colours for light and dark, the style sheet, the frame, and XML escapes.

The style sheet for ``auto`` has its colours in CSS variables, which a page may override, and follows the preference of
the reader's system. Programs without CSS variables use the light colours, which come first.
"""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from discotree.drawing.glyphs import is_right_to_left
from discotree.drawing.labelled_grid import Sizes
from discotree.files import xml_text

Theme = Literal["auto", "light", "dark"]
FONT = "'Helvetica Neue',Helvetica,Arial,'Liberation Sans',sans-serif"  # fonts of equal widths, see glyphs.py
SIZES = Sizes(
    label=14,
    tag=12,
    form=15,
    function=11,
    margin=16,
    step=12,
    box=8,
    reach=11,
    bar=20,
    role=20,
    row=42,
    tall=58,
    below=20,
    slant=18,
)
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

RULES = f"""\
.discotree text{{font:{SIZES.form}px {FONT};text-anchor:middle;fill:@ink}}
.discotree .page{{fill:@page}}
.discotree .label{{font-size:{SIZES.label}px}}
.discotree .tag{{font-size:{SIZES.tag}px;fill:@soft}}
.discotree .function{{font-size:{SIZES.function}px;fill:@soft}}
.discotree .caption{{font-size:{SIZES.tag}px;fill:@soft;text-anchor:start}}
.discotree .gloss{{font-size:{SIZES.tag}px}}
.discotree .translation{{text-anchor:start}}
.discotree .line{{fill:none;stroke:@line;stroke-width:1.3;stroke-linecap:round}}
.discotree .box{{fill:none;stroke:@line;stroke-width:1.3}}
.discotree .tip{{fill:@line}}
.discotree .roof{{stroke-linejoin:round}}
.discotree .bridge{{stroke-dasharray:.1 5}}
.discotree .extra{{stroke-dasharray:5 3}}
.discotree .behind{{fill:@page}}
.discotree .node:hover>.line,.discotree .arc:hover>.line{{stroke-width:3}}
"""
DASHES = ("5 3", "1.5 2.5", "7 2.5 1.5 2.5")  # box lines of highlighted nodes; the first kind is solid
MARKED = """\
.discotree .NAME>.label{font-weight:700;fill:@NAME}
.discotree .NAME>.line{stroke:@NAME;stroke-width:2.2}
.discotree .NAME>.box{stroke:@NAME;stroke-width:1.6}
.discotree .NAME>.tag{font-weight:700;fill:@NAME}
"""
WORD = ".discotree .NAME>.form{font-weight:700;fill:@NAME}\n"
RULES += "".join([(MARKED + WORD * name.startswith("hue")).replace("NAME", name) for name in Colors._fields[4:]])
RULES += "".join([f".discotree .dash{k}>.box{{stroke-dasharray:{dash}}}\n" for k, dash in enumerate(DASHES, 1)])
_COLOR = re.compile(r"([\w-]+):@(\w+)")


def stylesheet(theme: Theme = "auto") -> str:
    """Return the style sheet of all pictures; a page with many of them needs it once."""
    light, dark = LIGHT._asdict(), DARK._asdict()
    if theme != "auto":
        colors = dark if theme == "dark" else light
        return _COLOR.sub(lambda found: f"{found[1]}:{colors[found[2]]}", RULES)
    variables = [";".join([f"--dt-{name}:{color}" for name, color in colors.items()]) for colors in (light, dark)]
    rules = _COLOR.sub(lambda found: f"{found[1]}:{light[found[2]]};{found[1]}:var(--dt-{found[2]})", RULES)
    return f".discotree{{{variables[0]}}}\n@media(prefers-color-scheme:dark){{.discotree{{{variables[1]}}}}}\n{rules}"


class Picture(NamedTuple):
    """Elements of a picture with its title and size."""

    title: str
    description: str
    width: int
    height: int
    elements: Iterable[str]

    def svg(self, theme: Theme, style: bool = True) -> str:
        """Return an SVG file, or without ``style`` an element for a page that has the style sheet."""
        width, height = self.width, self.height
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="discotree" viewBox="0 0 {width} {height}" '
                f'width="{width}" height="{height}" direction="ltr" role="img">',
                f"<title>{escape(self.title)}</title><desc>{escape(self.description)}</desc>",
                *([f"<style>\n{stylesheet(theme)}</style>"] if style else []),
                f'<rect class="page" width="{width}" height="{height}"/>',
                *self.elements,
                "</svg>\n",
            ]
        )


def escape(text: str) -> str:
    """Return text for XML; characters that XML forbids, such as controls and lone surrogates, become �."""
    text = xml_text.escape(text)
    return text if text.isascii() and text.isprintable() else xml_text.NOT_XML.sub("�", text)


def attribute(text: str) -> str:
    """Return text as the value of an attribute, with its quotes."""
    return xml_text.NOT_XML.sub("�", xml_text.quoted(text))


def text_at(kind: str, x: float, y: float, size: float, text: str) -> str:
    """Return a text centred on a point."""
    direction = RIGHT_TO_LEFT if is_right_to_left(text) else ""
    return f'<text class="{kind}" x="{x:g}" y="{y + round(0.35 * size):g}"{direction}>{escape(text)}</text>'


def path(kind: str, d: str) -> str:
    return f'<path class="{kind}" d="{d}"/>'


def box_around(x: float, y: float, width: float, height: float, kind: str = "box") -> str:
    """Return a rectangle centred on a point."""
    corner = f'x="{x - width / 2:g}" y="{y - height / 2:g}"'
    return f'<rect class="{kind}" {corner} width="{width:g}" height="{height:g}" rx="5"/>'
