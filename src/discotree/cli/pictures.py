"""Write drawings of trees: as text, SVG, PNG, PDF, LaTeX or one HTML page."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import typer

from discotree.cli.common import report_written
from discotree.cli.looks import AS_IT_IS, Looks
from discotree.cli.options import PictureFormat
from discotree.drawing.arcs import draw_arcs
from discotree.drawing.comparison import draw_comparison, draw_comparison_text
from discotree.drawing.forest import draw_forest, forest_pages
from discotree.drawing.latex import draw_latex, latex_pages
from discotree.drawing.markup import Theme
from discotree.drawing.page import PageItem, draw_page
from discotree.drawing.raster import convert, convert_pages
from discotree.drawing.svg import draw_svg
from discotree.drawing.text import draw_text
from discotree.encoding.dependencies import to_dependencies
from discotree.encoding.head_rules import HeadRules
from discotree.errors import DiscotreeError, printable
from discotree.files.names import STANDARD_STREAM
from discotree.files.writing import writable
from discotree.trees.tree import Tree

MAX_NAME_BYTES = 150


class TreePair(NamedTuple):
    """A tree, and the predicted tree to compare it with."""

    tree: Tree
    predicted: Tree | None = None


class PictureStyle(NamedTuple):
    """How a tree is drawn. With ``rules``, its augmented dependencies are drawn as arcs."""

    functions: bool
    theme: Theme = "auto"
    ascii: bool = False
    rules: HeadRules | None = None
    looks: Looks = AS_IT_IS

    def svg(self, pair: TreePair, style: bool = True) -> str:
        if self.rules is not None:
            return draw_arcs(to_dependencies(pair.tree, self.rules), theme=self.theme, style=style)
        if pair.predicted is not None:
            return draw_comparison(pair.tree, pair.predicted, functions=self.functions, theme=self.theme, style=style)
        look, highlight = self.looks.of(pair.tree), self.looks.highlight(pair.tree)
        return draw_svg(
            pair.tree, functions=self.functions, theme=self.theme, highlight=highlight, style=style, look=look
        )

    def text(self, pair: TreePair, color: bool, width: int | None) -> str:
        tree, predicted = pair
        if predicted is None:
            look, highlight = self.looks.of(tree), self.looks.highlight(tree)
            return draw_text(
                tree,
                ascii=self.ascii,
                color=color,
                width=width,
                functions=self.functions,
                highlight=highlight,
                look=look,
            )
        return draw_comparison_text(
            tree, predicted, ascii=self.ascii, color=color, width=width, functions=self.functions
        )

    def tex(self, tree: Tree, format: PictureFormat) -> str:
        draw = draw_forest if format == "forest" else draw_latex
        look, highlight = self.looks.of(tree), self.looks.highlight(tree)
        return draw(tree, standalone=False, functions=self.functions, highlight=highlight, look=look)


def style_for(
    format: PictureFormat,
    functions: bool | None,
    theme: Theme,
    ascii: bool = False,
    rules: HeadRules | None = None,
    looks: Looks = AS_IT_IS,
) -> PictureStyle:
    """Return the style for a format. Functions are shown by default, except in text."""
    if format in ("png", "pdf") and theme == "auto":
        theme = "light"  # these cannot follow the reader's system
    return PictureStyle(format != "text" if functions is None else functions, theme, ascii, rules, looks)


def write_pictures(
    pairs: Iterator[TreePair], format: PictureFormat, style: PictureStyle, output: str | None, title: str
) -> None:
    """Draw trees into a file, a folder, or to standard output. HTML, PDF and LaTeX hold any number of trees."""
    if format == "text":
        _write_text(pairs, style, output)
    elif format in ("latex", "forest"):
        pages = forest_pages if format == "forest" else latex_pages
        source = pages([style.tex(pair.tree, format) for pair in pairs])
        with writable(output or STANDARD_STREAM) as stream:
            stream.write(source.encode())
    elif format == "html":
        items = (PageItem(pair.tree.id, " ".join(pair.tree.words), style.svg(pair, style=False)) for pair in pairs)
        with writable(output or STANDARD_STREAM) as stream:
            stream.writelines(piece.encode() for piece in draw_page(items, title, style.theme))
    else:
        _write_files(pairs, style, format, output)


def _write_text(pairs: Iterable[TreePair], style: PictureStyle, output: str | None) -> None:
    """Write each tree below its id; on a terminal in colour, as wide as the terminal, page by page."""
    on_terminal = output is None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if on_terminal else None
    color = on_terminal and "NO_COLOR" not in os.environ
    with _pager() if on_terminal else writable(output or STANDARD_STREAM) as stream:
        for pair in pairs:
            stream.write(f"{printable(pair.tree.id)}\n{style.text(pair, color, width)}\n\n".encode(errors="replace"))
            if on_terminal:
                stream.flush()


@contextmanager
def _pager() -> Iterator[BinaryIO]:
    """Open standard output, through the reader's pager if there is one."""
    command = shlex.split(os.environ.get("PAGER", "less"))
    if not command or not shutil.which(command[0]):
        yield cast(BinaryIO, sys.stdout.buffer)  # with our own colours; drawings have no other control characters
        sys.stdout.buffer.flush()
        return
    environment = {"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ}  # keep colours; quit if all fits on one screen
    pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    stream = cast(BinaryIO, pager.stdin)
    try:
        with suppress(BrokenPipeError):  # the reader has seen enough
            yield stream
    finally:
        with suppress(BrokenPipeError):
            stream.close()
        while pager.poll() is None:
            with suppress(KeyboardInterrupt):  # Ctrl-C is meant for the pager
                pager.wait()


def _write_files(pairs: Iterator[TreePair], style: PictureStyle, format: PictureFormat, output: str | None) -> None:
    """Write one tree into a file or to standard output, or many trees into a folder, a file for each."""
    suffix = f".{format}"
    if format == "pdf" and (output in (None, STANDARD_STREAM) or output.lower().endswith(suffix)):
        _write_pages(pairs, style, output)
        return
    if output not in (None, STANDARD_STREAM) and not output.lower().endswith(suffix):
        count = _write_folder(pairs, style, format, Path(output))
        report_written(f"{count:,} pictures", output)
        return
    first, second = next(pairs, None), next(pairs, None)
    if first is None:
        raise DiscotreeError("there is no tree to draw")
    if second is not None:
        raise typer.BadParameter(
            f"one {format} file holds one tree. Choose one, name a folder (--to {format} -o FOLDER), "
            "or draw all trees into one file: -o FILE.html, FILE.pdf or FILE.tex"
        )
    if output is None and format != "svg" and sys.stdout.isatty():
        raise typer.BadParameter(f"a terminal cannot show {format}: -o FILE{suffix}")
    with writable(output or STANDARD_STREAM) as stream:
        stream.write(_encoded(first, style, format))


def _write_pages(pairs: Iterable[TreePair], style: PictureStyle, output: str | None) -> None:
    """Write all trees into one PDF, a page for each."""
    if output is None and sys.stdout.isatty():
        raise typer.BadParameter("a terminal cannot show pdf: -o FILE.pdf")
    svgs = [style.svg(pair) for pair in pairs]
    if not svgs:
        raise DiscotreeError("there is no tree to draw")
    pdf = convert_pages(svgs) if len(svgs) > 1 else convert(svgs[0], "pdf")
    with writable(output or STANDARD_STREAM) as stream:
        stream.write(pdf)


def _write_folder(pairs: Iterable[TreePair], style: PictureStyle, format: PictureFormat, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    taken: dict[str, int] = {}
    for pair in pairs:
        with writable(str(folder / f"{_file_name(pair.tree.id, taken)}.{format}")) as stream:
            stream.write(_encoded(pair, style, format))
    return len(taken)


def _encoded(pair: TreePair, style: PictureStyle, format: PictureFormat) -> bytes:
    svg = style.svg(pair)
    return convert(svg, format) if format in ("png", "pdf") else svg.encode()


def _file_name(id: str, taken: dict[str, int]) -> str:
    """Return a file name for an id that is safe in every folder and not yet taken.

    ``taken`` counts names without regard to case, as some file systems do.
    """
    safe = re.sub(r"[^\w.-]+", "_", unicodedata.normalize("NFC", id)).strip("._-")
    base = safe.encode()[:MAX_NAME_BYTES].decode(errors="ignore") or "tree"
    name = base
    while name.casefold() in taken:
        taken[base.casefold()] += 1
        name = f"{base}-{taken[base.casefold()]}"
    taken[name.casefold()] = 1
    return name
