"""Convert SVG to PNG or PDF, with rsvg-convert if it is installed, and with CairoSVG otherwise.

rsvg-convert (librsvg) renders every script correctly and starts within a tenth of a second. CairoSVG can be installed
with pip, but writes letters from left to right only, so right-to-left text raises an error.
"""

import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from discotree.drawing.svg import RIGHT_TO_LEFT
from discotree.errors import DiscotreeError, InputError, MissingExtraError
from discotree.files.writing import temporary_folder

Raster = Literal["png", "pdf"]
SCALE = 2.0  # PNG pixels per SVG pixel
MAX_PIXELS = 32_000  # limit of cairo, which both programs use, for width and height
MAX_PNG_PIXELS = 100_000_000  # in all: 4 bytes of memory each
NO_CONVERTER = "PNG and PDF need rsvg-convert (librsvg) or CairoSVG; run: pip install 'discotree[draw]'"
NO_RIGHT_TO_LEFT = "CairoSVG cannot draw right-to-left words; install rsvg-convert (librsvg)"
_SIZE = re.compile(r'width="(\d+)" height="(\d+)"')


def convert(svg: str, format: Raster) -> bytes:
    """Convert a picture; the scale of a PNG is reduced if it would be too wide or too high."""
    zoom = 1.0
    if format == "png" and (size := _SIZE.search(svg)):
        width, height = int(size[1]), int(size[2])
        zoom = min(SCALE, MAX_PIXELS / max(width, height))
        if width * height * zoom**2 > MAX_PNG_PIXELS:
            pixels = f"{width * zoom:,.0f} × {height * zoom:,.0f}"
            raise InputError(f"a PNG of {pixels} pixels would take too much memory; use SVG or PDF")
    program = shutil.which("rsvg-convert")
    if program:
        return _run([program, "--format", format, "--zoom", f"{zoom:.4f}"], svg.encode())
    cairosvg = _cairosvg([svg])
    draw = cairosvg.svg2png if format == "png" else cairosvg.svg2pdf
    return bytes(draw(bytestring=svg.encode(), scale=zoom))


def convert_pages(svgs: Sequence[str]) -> bytes:
    """Convert pictures into one PDF, with a page of the right size for each."""
    program = shutil.which("rsvg-convert")
    if program:
        with temporary_folder() as folder:
            names = [f"{k}.svg" for k in range(len(svgs))]
            for name, svg in zip(names, svgs, strict=True):
                (Path(folder) / name).write_text(svg, "utf-8")
            return _run([program, "--format", "pdf", *names], b"", folder)
    surface = _cairosvg(svgs).surface
    output = BytesIO()
    pages: list[Any] = []  # the surface that all pages are drawn on, once it is created

    class Page(surface.PDFSurface):  # type: ignore[name-defined, misc]
        def _create_surface(self, width: float, height: float) -> tuple[Any, float, float]:
            if pages:
                pages[0].set_size(width, height)
            else:
                pages.append(self.surface_class(output, width, height))
            return pages[0], width, height

        def finish(self) -> None:
            self.cairo.show_page()

    for svg in svgs:
        Page.convert(bytestring=svg.encode(), write_to=output)
    for page in pages:
        page.finish()
    return output.getvalue()


def _run(command: Sequence[str], data: bytes, folder: str | None = None) -> bytes:
    done = subprocess.run(command, input=data, capture_output=True, cwd=folder)
    if done.returncode:
        raise DiscotreeError(f"rsvg-convert failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _cairosvg(svgs: Sequence[str]) -> Any:
    """Import CairoSVG, and check that it can draw the pictures."""
    try:
        cairosvg = import_module("cairosvg")
    except (ImportError, OSError):  # OSError if the cairo library is missing
        raise MissingExtraError(NO_CONVERTER, name="cairosvg") from None
    if any(RIGHT_TO_LEFT in svg for svg in svgs):
        raise InputError(NO_RIGHT_TO_LEFT)
    return cairosvg
