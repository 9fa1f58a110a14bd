"""One HTML page with many pictures: it needs no other file and no script, and shows thousands of trees without delay.

The browser draws what is in sight; the rest has its height reserved (``content-visibility``).
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
AROUND = 110  # pixels of a section beside its picture
_HEIGHT = re.compile(r'height="(\d+)"')


class Item(NamedTuple):
    """A picture with what stands above it; the SVG needs no style sheet of its own."""

    id: str
    sentence: str
    svg: str


def draw_page(items: Iterable[Item], title: str, theme: Theme = "auto") -> Iterator[str]:
    """The page, piece by piece, so that a treebank can stream through."""
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title>\n<style>\n{_style(theme)}{stylesheet(theme)}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n"
    )
    for number, item in enumerate(items, 1):
        found = _HEIGHT.search(item.svg)
        height = AROUND + int(found[1]) if found else AROUND
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
