"""draw."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, NamedTuple, cast

import typer

from discotree.cli.common import Bar, Encoding, From, Skip, err, read_trees, say_skipped
from discotree.drawing.arcs import draw_arcs
from discotree.drawing.comparison import draw_comparison, draw_comparison_text
from discotree.drawing.latex import latex_document
from discotree.drawing.markup import Theme
from discotree.drawing.page import Item, draw_page
from discotree.drawing.raster import convert
from discotree.drawing.svg import draw_svg
from discotree.drawing.text import draw_text
from discotree.encoding.dependencies import to_dependencies
from discotree.encoding.head_rules import HeadRules
from discotree.errors import DiscotreeError, TreebankError
from discotree.evaluation.parseval import paired
from discotree.files import STANDARD_STREAM, writable
from discotree.trees.tree import Tree

Format = Literal["text", "svg", "png", "pdf", "latex", "html"]
SUFFIXES: dict[str, Format] = {
    ".txt": "text", ".svg": "svg", ".png": "png", ".pdf": "pdf", ".tex": "latex", ".html": "html", ".htm": "html"
}  # fmt: skip
LONGEST_NAME = 150  # bytes of a file's name


class Pair(NamedTuple):
    """A tree, and what was predicted for it if that is asked."""

    tree: Tree
    predicted: Tree | None = None


class Options(NamedTuple):
    functions: bool
    theme: Theme
    ascii: bool
    rules: HeadRules | None  # draw arcs, by these rules

    def svg(self, pair: Pair, style: bool = True) -> str:
        if self.rules is not None:
            return draw_arcs(to_dependencies(pair.tree, self.rules), theme=self.theme, style=style)
        if pair.predicted is not None:
            return draw_comparison(pair.tree, pair.predicted, functions=self.functions, theme=self.theme, style=style)
        return draw_svg(pair.tree, functions=self.functions, theme=self.theme, style=style)

    def text(self, pair: Pair, color: bool, width: int | None) -> str:
        tree, predicted = pair
        if predicted is None:
            return draw_text(tree, ascii=self.ascii, color=color, width=width, functions=self.functions)
        return draw_comparison_text(
            tree, predicted, ascii=self.ascii, color=color, width=width, functions=self.functions
        )


def draw(
    treebanks: Annotated[list[str], typer.Argument(metavar="TREEBANK…", help="Files, folders, archives, or -.")],
    ids: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="Only this tree; may be repeated.")
    ] = None,
    numbers: Annotated[
        list[int] | None, typer.Option("--number", min=1, metavar="N", help="Only the N-th tree; may be repeated.")
    ] = None,
    format: Annotated[
        Format | None, typer.Option(help="What to draw; if not clear from the output's name, text.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="PREDICTED", help="Other trees of the same sentences: mark what differs.")
    ] = None,
    arcs: Annotated[bool, typer.Option("--arcs", help="Draw the augmented dependencies.")] = False,
    heads: Annotated[
        str | None, typer.Option(metavar="RULES", help="With --arcs: head rules, by default marked heads (HD).")
    ] = None,
    functions: Annotated[
        bool | None, typer.Option("--functions/--no-functions", help="Show functions; by default in all but text.")
    ] = None,
    ascii: Annotated[bool, typer.Option("--ascii", help="Text without box characters.")] = False,
    theme: Annotated[Theme, typer.Option(help="Colours; auto follows the reader's system.")] = "auto",
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE_OR_FOLDER", help="Where to; a folder for many files.")
    ] = None,
    from_: From = None,
    encoding: Encoding = None,
    skip_broken: Skip = False,
) -> None:
    """Draw trees: in the terminal, as SVG, PNG, PDF, LaTeX (TikZ), or all on one HTML page."""
    chosen = format or SUFFIXES.get(Path(output or "").suffix.lower(), "text")
    _check(chosen, against, arcs, heads, ascii)
    if functions is None:
        functions = chosen != "text"
    if chosen in ("png", "pdf") and theme == "auto":
        theme = "light"  # these cannot follow anything
    rules = HeadRules.load(heads) if heads else HeadRules({}, marked_first=True)
    options = Options(functions, theme, ascii, rules if arcs else None)
    errors: list[TreebankError] = []
    skipped = errors if skip_broken else None
    with Bar() if output else nullcontext() as bar:
        trees = chain.from_iterable(read_trees(path, from_, encoding, skipped) for path in treebanks)
        counted = bar(trees, "trees") if bar else trees
        predicted = read_trees(against, from_, encoding, skipped) if against else None
        found = _found(_pairs(counted, predicted), ids or [], numbers or [])
        if chosen == "text":
            _write_text(found, options, output)
        elif chosen == "latex":
            with writable(output or STANDARD_STREAM) as stream:
                stream.write(latex_document((pair.tree for pair in found), functions=functions).encode())
        elif chosen == "html":
            title = ", ".join([Path(treebank).name for treebank in treebanks])
            items = (Item(pair.tree.id, " ".join(pair.tree.words), options.svg(pair, style=False)) for pair in found)
            with writable(output or STANDARD_STREAM) as stream:
                stream.writelines(piece.encode() for piece in draw_page(items, title, theme))
        else:
            _write_pictures(found, options, chosen, output)
    say_skipped(errors)


def _check(format: Format, against: str | None, arcs: bool, heads: str | None, ascii: bool) -> None:
    """Refuse what does not go together."""
    if arcs and against:
        raise typer.BadParameter("--arcs and --against do not go together")
    if heads and not arcs:
        raise typer.BadParameter("--heads is for --arcs")
    if arcs and format in ("text", "latex"):
        raise typer.BadParameter(f"arcs cannot be drawn as {format}: --format svg, png, pdf or html")
    if against and format == "latex":
        raise typer.BadParameter("comparisons cannot be drawn as latex: --format text, svg, png, pdf or html")
    if ascii and format != "text":
        raise typer.BadParameter("--ascii is for text")


def _pairs(trees: Iterable[Tree], predicted: Iterable[Tree] | None) -> Iterator[Pair]:
    if predicted is None:
        yield from map(Pair, trees)
    else:
        for _, gold, other in paired(trees, predicted):
            yield Pair(gold, other)


def _found(pairs: Iterable[Pair], ids: list[str], numbers: list[int]) -> Iterator[Pair]:
    """The trees that are asked for, all without ids and numbers; nothing is read after the last one."""
    if not ids and not numbers:
        yield from pairs
        return
    missing: set[str | int] = {*ids, *numbers}
    for number, pair in enumerate(pairs, 1):
        if pair.tree.id in missing or number in missing:
            missing -= {str(pair.tree.id), number}
            yield pair
            if not missing:
                return
    raise DiscotreeError(f"there is no tree {', '.join(map(str, sorted(missing, key=str)))}")


def _write_text(pairs: Iterable[Pair], options: Options, output: str | None) -> None:
    """Each tree below its id; on a terminal as wide as that, in colour and page by page."""
    seen = output is None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if seen else None
    color = seen and "NO_COLOR" not in os.environ
    with _pager() if seen else writable(output or STANDARD_STREAM) as stream:
        for pair in pairs:
            stream.write(f"{pair.tree.id}\n{options.text(pair, color, width)}\n\n".encode(errors="replace"))
            if seen:
                stream.flush()


@contextmanager
def _pager() -> Iterator[BinaryIO]:
    """A terminal, through the reader's pager if there is one."""
    command = shlex.split(os.environ.get("PAGER", "less"))
    if not command or not shutil.which(command[0]):
        with writable(STANDARD_STREAM) as stream:
            yield stream
        return
    environment = {"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ}  # keep colours; stop if all is in sight
    pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    stream = cast(BinaryIO, pager.stdin)
    try:
        with suppress(BrokenPipeError):  # who has seen enough leaves
            yield stream
    finally:
        with suppress(BrokenPipeError):
            stream.close()
        while pager.poll() is None:
            with suppress(KeyboardInterrupt):  # that is for the pager
                pager.wait()


def _write_pictures(pairs: Iterator[Pair], options: Options, format: Format, output: str | None) -> None:
    """One tree into a file or to standard output, or a file for each tree into a folder."""
    suffix = f".{format}"
    if output not in (None, STANDARD_STREAM) and not output.lower().endswith(suffix):
        count = _write_folder(pairs, options, format, Path(output))
        err.print(f"{count:,} pictures written to {output}", style="dim", soft_wrap=True)
        return
    first, second = next(pairs, None), next(pairs, None)
    if first is None:
        raise DiscotreeError("there is no tree to draw")
    if second is not None:
        raise typer.BadParameter(f"one {format} file holds one tree: --id ID, --number N, or a folder: -o FOLDER")
    if output is None and format != "svg" and sys.stdout.isatty():
        raise typer.BadParameter(f"a {format} file is nothing for a terminal: -o FILE{suffix}")
    with writable(output or STANDARD_STREAM) as stream:
        stream.write(_encoded(first, options, format))


def _write_folder(pairs: Iterable[Pair], options: Options, format: Format, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    taken: dict[str, int] = {}
    for pair in pairs:
        (folder / f"{_file_name(pair.tree.id, taken)}.{format}").write_bytes(_encoded(pair, options, format))
    return len(taken)


def _encoded(pair: Pair, options: Options, format: Format) -> bytes:
    svg = options.svg(pair)
    return convert(svg, format) if format in ("png", "pdf") else svg.encode()


def _file_name(id: str, taken: dict[str, int]) -> str:
    """A name that is safe in every folder and not taken yet, whatever the id is.

    ``taken`` counts names without regard to case, as some file systems do.
    """
    safe = re.sub(r"[^\w.-]+", "_", unicodedata.normalize("NFC", id)).strip("._-")
    base = safe.encode()[:LONGEST_NAME].decode(errors="ignore") or "tree"
    name = base
    while name.casefold() in taken:
        taken[base.casefold()] += 1
        name = f"{base}-{taken[base.casefold()]}"
    taken[name.casefold()] = 1
    return name
