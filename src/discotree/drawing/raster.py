"""SVG → PNG or PDF with rsvg-convert where it is installed, and CairoSVG otherwise.

rsvg-convert (librsvg) shapes every script and starts within a tenth of a second. CairoSVG installs with pip, but sets
letters from left to right only, so texts that run from right to left are refused.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from discotree.drawing.markup import RIGHT_TO_LEFT
from discotree.errors import DiscotreeError, InputError, MissingExtraError

Raster = Literal["png", "pdf"]
SCALE = 2.0  # PNG pixels per SVG pixel
MAX_PIXELS = 32_000  # limit of cairo, which both programs use, for width and height
MAX_PNG_PIXELS = 100_000_000  # in all: 4 bytes of memory each
MAX_PAGES = 10_000  # a PDF that viewers can open
NO_CONVERTER = "PNG and PDF need rsvg-convert (librsvg) or CairoSVG: pip install discotree[draw]"
NO_RIGHT_TO_LEFT = "words from right to left need rsvg-convert (librsvg): CairoSVG would reverse them"
_SIZE = re.compile(r'width="(\d+)" height="(\d+)"')


def convert(svg: str, format: Raster, scale: float = SCALE) -> bytes:
    """Convert a picture; ``scale`` applies to PNG and is reduced where the picture would be too wide or too high."""
    found = _SIZE.search(svg)
    if found:
        width, height = int(found[1]), int(found[2])
        scale = min(scale, MAX_PIXELS / max(width, height))
        if format == "png" and width * height * scale**2 > MAX_PNG_PIXELS:
            size = f"{width * scale:,.0f} × {height * scale:,.0f} pixels"
            raise InputError(f"a PNG of {size} would take too much memory: choose SVG or PDF")
    zoom = scale if format == "png" else 1.0
    program = shutil.which("rsvg-convert")
    if program:
        return _run([program, "--format", format, "--zoom", f"{zoom:.4f}"], svg.encode())
    cairosvg = _cairosvg([svg])
    draw = cairosvg.svg2png if format == "png" else cairosvg.svg2pdf
    return bytes(draw(bytestring=svg.encode(), scale=zoom))


def convert_pages(svgs: Sequence[str]) -> bytes:
    """Convert pictures into one PDF, each on a page of its own size."""
    if len(svgs) > MAX_PAGES:
        raise InputError(f"{len(svgs):,} pictures are too many for one PDF; it holds {MAX_PAGES:,}")
    program = shutil.which("rsvg-convert")
    if program:
        with TemporaryDirectory(prefix=page_folder(os.getpid())) as folder:
            names = [f"{k}.svg" for k in range(len(svgs))]
            for name, svg in zip(names, svgs, strict=True):
                (Path(folder) / name).write_text(svg, "utf-8")
            return _run([program, "--format", "pdf", *names], b"", folder)
    surface = _cairosvg(svgs).surface
    output = BytesIO()
    pages: list[Any] = []  # the one file that all pages are drawn into, once it is there

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


def page_folder(process: int) -> str:
    """Return how the names of a process's temporary folders begin, for those who clear up after it was killed."""
    return f"discotree-{process}-"


def _run(command: Sequence[str], data: bytes, folder: str | None = None) -> bytes:
    done = subprocess.run(command, input=data, capture_output=True, cwd=folder)
    if done.returncode:
        raise DiscotreeError(f"rsvg-convert: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _cairosvg(svgs: Sequence[str]) -> Any:
    """Import CairoSVG, for pictures that it can draw."""
    try:
        cairosvg = import_module("cairosvg")
    except (ImportError, OSError):  # OSError where the cairo library is missing
        raise MissingExtraError(NO_CONVERTER, name="cairosvg") from None
    if any(RIGHT_TO_LEFT in svg for svg in svgs):
        raise InputError(NO_RIGHT_TO_LEFT)
    return cairosvg
