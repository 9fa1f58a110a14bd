"""HTML page with many pictures, without scripts or other files, that shows thousands of trees without delay.

The browser draws only the visible pictures and reserves the height of the others (``content-visibility``).
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from discotree.drawing.markup import DARK, LIGHT, Theme, escape, stylesheet

STYLE = """\
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
    """Picture with its heading; the SVG needs no style sheet of its own."""

    id: str
    sentence: str
    svg: str


def draw_page(items: Iterable[PageItem], title: str, theme: Theme = "auto") -> Iterator[str]:
    """Yield the page in pieces, so that a treebank can be streamed."""
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title>\n<style>\n{_style(theme)}{stylesheet(theme)}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n"
    )
    for number, item in enumerate(items, 1):
        found = _HEIGHT.search(item.svg)
        height = HEADING_HEIGHT + int(found[1]) if found else HEADING_HEIGHT
        name = item.id or str(number)
        yield (
            f'<section id="t{number}" style="contain-intrinsic-size:auto {height}px">'
            f'<h2><a href="#t{number}">{escape(name)}</a></h2><p>{escape(item.sentence)}</p>\n'
            f'<div class="wide">{item.svg}</div></section>\n'
        )
    yield "</body></html>\n"


def _style(theme: Theme) -> str:
    light, dark = (STYLE.replace("INK", colors.ink).replace("PAGE", colors.page) for colors in (LIGHT, DARK))
    if theme != "auto":
        return dark if theme == "dark" else light
    return f"{light}@media(prefers-color-scheme:dark){{body{{color:{DARK.ink};background:{DARK.page}}}}}\n"
