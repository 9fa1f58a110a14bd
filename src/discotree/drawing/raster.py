"""SVG as PNG or PDF, by a program that knows how to set text: rsvg-convert where it is installed, CairoSVG otherwise.

rsvg-convert (librsvg) shapes every script and starts within a tenth of a second. CairoSVG can be had by pip, but sets
letter by letter from left to right: it is not asked to draw words that run the other way.
"""

import re
import shutil
import subprocess
from importlib import import_module
from typing import Literal

from discotree.drawing.markup import RIGHT_TO_LEFT
from discotree.errors import DiscotreeError

Raster = Literal["png", "pdf"]
SCALE = 2.0  # pixels of a PNG for each of the SVG's
LARGEST = 32_000  # pixels that cairo, which both programs use, can draw in a row
HELP = "PNG and PDF need rsvg-convert (librsvg) or CairoSVG: pip install discotree[draw]"
TURNED = "words from right to left need rsvg-convert (librsvg): CairoSVG would turn them around"
_SIZE = re.compile(r'width="(\d+)" height="(\d+)"')


def convert(svg: str, format: Raster, scale: float = SCALE) -> bytes:
    """The picture in another format; ``scale`` is for PNG, and smaller where the picture would be too large."""
    found = _SIZE.search(svg)
    if found:
        scale = min(scale, LARGEST / max(int(found[1]), int(found[2])))
    zoom = scale if format == "png" else 1.0
    program = shutil.which("rsvg-convert")
    if program:
        done = subprocess.run(
            [program, "--format", format, "--zoom", f"{zoom:.4f}"], input=svg.encode(), capture_output=True
        )
        if done.returncode:
            raise DiscotreeError(f"rsvg-convert: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout
    try:
        cairosvg = import_module("cairosvg")
    except (ImportError, OSError):  # the second where the cairo library is missing
        raise DiscotreeError(HELP) from None
    if RIGHT_TO_LEFT in svg:
        raise DiscotreeError(TURNED)
    draw = cairosvg.svg2png if format == "png" else cairosvg.svg2pdf
    return bytes(draw(bytestring=svg.encode(), scale=zoom))
