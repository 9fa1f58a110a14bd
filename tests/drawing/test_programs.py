"""Pictures as other programs show them: LibreOffice, CairoSVG and rsvg-convert, pixel by pixel."""

import shutil
import subprocess
from importlib import import_module
from io import BytesIO

import pytest
from support.helpers import tree_of
from support.pictures import FIGURE1, GOLD, WRONG
from support.svgs import groups, lines_of, parsed

from discotree.drawing import DrawingOptions, draw_arcs, draw_comparison, draw_svg
from discotree.encoding.dependencies import to_dependencies
from discotree.encoding.head_rules import HeadRules

try:
    from PIL import Image, ImageChops, ImageFilter, ImageStat

    import_module("cairosvg")
except (ImportError, OSError):  # OSError where the cairo library is missing
    pytest.skip("CairoSVG is not installed", allow_module_level=True)

HEARD = tree_of(
    "(ROOT (smain (ppart (pp (vnw 0=Daar) (vz 5=van)) (advp (bw 3=nog) (bw 4=nooit)) (ww 6=gehoord)) (ww 1=heb)"
    " (vnw 2=ik)) (let 7=.))"
)
PICTURES = {
    "heard": draw_svg(HEARD),
    "dark": draw_svg(HEARD, theme="dark"),
    "comparison": draw_comparison(FIGURE1, WRONG),
    "arcs": draw_arcs(to_dependencies(FIGURE1, HeadRules.load("negra"))),
    "secondary": draw_svg(GOLD["secondary"]),
    "named": draw_svg(FIGURE1, highlight={"#a": [7], "#b": [0]}, options=DrawingOptions(lines="slanted")),
}
needs_rsvg = pytest.mark.skipif(not shutil.which("rsvg-convert"), reason="rsvg-convert is not installed")


def with_rsvg(svg, zoom=1):
    done = subprocess.run(["rsvg-convert", "--zoom", str(zoom)], input=svg.encode(), capture_output=True, check=True)
    return Image.open(BytesIO(done.stdout)).convert("RGB")


def with_cairosvg(svg, zoom=1):
    png = import_module("cairosvg").svg2png(bytestring=svg.encode(), scale=zoom)
    return Image.open(BytesIO(png)).convert("RGB")


@pytest.fixture(scope="module")
def with_libreoffice(tmp_path_factory):
    """All pictures, by name, from one run: starting the program takes seconds."""
    if not shutil.which("soffice"):
        pytest.skip("LibreOffice is not installed")
    folder = tmp_path_factory.mktemp("libreoffice")
    for name, svg in PICTURES.items():
        (folder / f"{name}.svg").write_text(svg, "utf-8")
    command = ["soffice", "--headless", f"-env:UserInstallation={(folder / 'user').as_uri()}", "--convert-to", "png"]
    names = [f"{name}.svg" for name in PICTURES]
    subprocess.run([*command, *names], cwd=folder, capture_output=True, check=True, timeout=300)
    return {name: Image.open(folder / f"{name}.png").convert("RGB") for name in PICTURES}


def difference(one, other):
    """Mean difference of two pictures, 0 to 255, where neither the edges of letters nor a pixel's shift counts."""
    blurred = [picture.convert("L").filter(ImageFilter.GaussianBlur(3)) for picture in (one, other.resize(one.size))]
    return ImageStat.Stat(ImageChops.difference(*blurred)).mean[0]


def rgb(color):
    return tuple([int(color[k : k + 2], 16) for k in (1, 3, 5)])


def distance(one, other):
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


def lines_missing(svg, picture):
    """The straight lines whose colour is not where they should be: it is nearer than half-way to the page's."""
    root = parsed(svg)
    page = rgb(root.find("{*}rect").get("fill"))
    missing = []
    for group in groups(root, "node"):
        color = rgb(group.find("{*}path").get("stroke"))
        for line in lines_of(group):
            if line.x1 == line.x2 or line.y1 == line.y2:
                x, y = round((line.x1 + line.x2) / 2), round((line.y1 + line.y2) / 2)
                around = [picture.getpixel((x + dx, y + dy)) for dx in range(-3, 4) for dy in range(-3, 4)]
                if min(distance(pixel, color) for pixel in around) > distance(color, page) / 2:
                    missing.append(line)
    return missing


def check(svg, picture):
    """Lines have their colours, and most of the picture is the page."""
    assert not lines_missing(svg, picture)
    page = Image.new("RGB", picture.size, parsed(svg).find("{*}rect").get("fill"))
    histogram = ImageChops.difference(picture, page).convert("L").histogram()
    assert sum(histogram[:10]) > 0.7 * sum(histogram)


@needs_rsvg
@pytest.mark.parametrize("name", PICTURES)
def test_cairosvg_does_not_paint_everything_black(name):
    svg = PICTURES[name]
    pictures = [with_rsvg(svg), with_cairosvg(svg)]
    for picture in pictures:
        check(svg, picture)
    assert difference(*pictures) < 0.6


@needs_rsvg
def test_cairosvg_shows_no_boxes_for_signs():
    """It uses the first font of the list only, which must have them."""
    svg = PICTURES["comparison"]
    assert difference(with_rsvg(svg, 3), with_cairosvg(svg, 3)) < 0.6


@needs_rsvg
@pytest.mark.slow
def test_libreoffice_shows_lines_and_no_black_boxes(with_libreoffice):
    for name, picture in with_libreoffice.items():
        check(PICTURES[name], picture)
        assert difference(with_rsvg(PICTURES[name]), picture) < 4, name
