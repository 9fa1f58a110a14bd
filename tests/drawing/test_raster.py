"""PNG and PDF as programs that draw them write them, and pictures that are too large."""

import re
import struct
import zlib

import pytest
from support.helpers import right_branching
from support.pictures import FIGURE1, GOLD
from support.renderers import needs_renderer, renderer

from discotree.drawing import draw_arcs, draw_svg
from discotree.drawing.raster import MAX_PIXELS, SCALE, convert, convert_pages
from discotree.drawing.svg import RIGHT_TO_LEFT
from discotree.encoding.dependencies import to_dependencies
from discotree.encoding.head_rules import HeadRules
from discotree.errors import InputError

SVG = draw_svg(FIGURE1, theme="light")


def size_of(svg: str) -> tuple[int, int]:
    found = re.search(r'width="(\d+)" height="(\d+)"', svg)
    assert found
    return int(found[1]), int(found[2])


def png_size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack("!II", png[16:24])
    return width, height


def pdf_pages(pdf: bytes) -> list[tuple[float, float]]:
    """Return the sizes of the pages of a PDF of cairo's, which packs some of its parts."""
    assert pdf.startswith(b"%PDF-")
    assert pdf.rstrip().endswith(b"%%EOF")
    parts = [pdf]
    for packed in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        try:
            parts.append(zlib.decompress(packed))
        except zlib.error:
            continue  # not packed
    found = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", b"\n".join(parts))
    return [(float(width), float(height)) for width, height in found]


@needs_renderer
def test_a_png_has_so_many_pixels_per_pixel_of_the_svg() -> None:
    width, height = size_of(SVG)
    assert png_size(convert(SVG, "png")) == (SCALE * width, SCALE * height)


@needs_renderer
def test_a_png_shows_something() -> None:
    """Fonts and lines are drawn: an empty picture would be packed into next to nothing."""
    assert len(convert(SVG, "png")) > 4 * len(convert(re.sub(r"(?s)(<svg[^>]*>).*", r"\1</svg>", SVG), "png"))


@needs_renderer
def test_every_picture_has_a_page_of_its_own_size() -> None:
    svgs = [draw_svg(tree, theme="light") for tree in GOLD.values()]
    if renderer() == "CairoSVG":
        svgs = [svg for svg in svgs if RIGHT_TO_LEFT not in svg]
    svgs = [*svgs[:4], draw_arcs(to_dependencies(FIGURE1, HeadRules.load("negra")), theme="light")]
    pages = pdf_pages(convert_pages(svgs))
    assert len(pages) == len(svgs) == 5
    ratios = [width / height for width, height in pages]
    assert ratios == pytest.approx([size_of(svg)[0] / size_of(svg)[1] for svg in svgs], rel=0.01)
    assert len(pdf_pages(convert(SVG, "pdf"))) == 1


@needs_renderer
def test_a_wide_picture_is_scaled_down() -> None:
    wide = re.sub(r'width="\d+" height="\d+"', f'width="{MAX_PIXELS}" height="20"', SVG, count=1)
    assert png_size(convert(wide, "png"))[0] == MAX_PIXELS


def test_a_png_that_would_take_gigabytes_is_refused_and_says_what_to_choose() -> None:
    svg = draw_svg(right_branching(300), theme="light")
    with pytest.raises(InputError, match=r"a PNG of [\d,]+ × [\d,]+ pixels would take too much memory; use SVG or PDF"):
        convert(svg, "png")
