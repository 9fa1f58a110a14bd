"""SVG → PNG or PDF with rsvg-convert where it is installed, and CairoSVG otherwise.

rsvg-convert (librsvg) shapes every script and starts within a tenth of a second. CairoSVG installs with pip, but sets
letters from left to right only, so texts that run from right to left are refused.
"""

import re
import shutil
import subprocess
from importlib import import_module
from typing import Literal

from discotree.drawing.markup import RIGHT_TO_LEFT
from discotree.errors import DiscotreeError, InputError, MissingExtraError

Raster = Literal["png", "pdf"]
SCALE = 2.0  # PNG pixels per SVG pixel
MAX_PIXELS = 32_000  # limit of cairo, which both programs use, for width and height
NO_CONVERTER = "PNG and PDF need rsvg-convert (librsvg) or CairoSVG: pip install discotree[draw]"
NO_RIGHT_TO_LEFT = "words from right to left need rsvg-convert (librsvg): CairoSVG would reverse them"
_SIZE = re.compile(r'width="(\d+)" height="(\d+)"')


def convert(svg: str, format: Raster, scale: float = SCALE) -> bytes:
    """Convert a picture; ``scale`` applies to PNG and is reduced where the picture would be too large."""
    found = _SIZE.search(svg)
    if found:
        scale = min(scale, MAX_PIXELS / max(int(found[1]), int(found[2])))
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
    except (ImportError, OSError):  # OSError where the cairo library is missing
        raise MissingExtraError(NO_CONVERTER, name="cairosvg") from None
    if RIGHT_TO_LEFT in svg:
        raise InputError(NO_RIGHT_TO_LEFT)
    draw = cairosvg.svg2png if format == "png" else cairosvg.svg2pdf
    return bytes(draw(bytestring=svg.encode(), scale=zoom))
