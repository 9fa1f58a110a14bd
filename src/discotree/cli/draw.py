"""draw: choose trees, and write drawings of them as text, SVG, PNG, PDF, LaTeX or one HTML page."""

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

import click

from discotree.cli.console import ProgressBar, report_written, warn
from discotree.cli.options import (
    PICTURE_SUFFIXES,
    PictureFormat,
    TreebankInput,
    check_output,
    choice_option,
    examples,
    format_for,
    format_option,
    output_option,
    treebank_options,
)
from discotree.drawing.arcs import draw_arcs
from discotree.drawing.comparison import draw_comparison, draw_comparison_text
from discotree.drawing.latex import draw_latex, latex_pages
from discotree.drawing.options import DEFAULT, DrawingOptions, GlossFile, Lines, TokenGloss
from discotree.drawing.raster import convert, convert_pages
from discotree.drawing.svg import PageItem, Theme, draw_page, draw_svg
from discotree.drawing.text import draw_text
from discotree.encoding.dependencies import to_dependencies
from discotree.encoding.head_rules import HeadRules
from discotree.errors import DiscotreeError, QueryError, counted, printable
from discotree.evaluation.parseval import pair_trees
from discotree.files.writing import STANDARD_STREAM, writable
from discotree.queries.language import quote
from discotree.queries.query import Query
from discotree.trees.labels import SCHEMES, guess_scheme
from discotree.trees.tree import Tree

Hidden = Literal["punctuation", "root", "tags", "functions"]
MAX_NAME_BYTES = 80
QUERY_SIGNS = "[#"  # a query contains one of them; anything else is a label


@click.command(
    epilog=examples(
        "discotree draw negra.export --number 1",
        "discotree draw negra.export --id 17 -o tree.svg",
        "discotree draw gold.export --predicted predicted.export -o errors.html",
        "discotree draw tiger.xml --id s17 --hide punctuation --triangle PP --gloss glosses.txt -o figure.tex",
        "discotree draw tiger.xml --highlight '#np:[cat=\"NP\"] & discontinuous(#np)' -o examples.pdf",
    )
)
@output_option(
    "File to write, or a folder for many pictures. By default, the terminal.", default=None, metavar="FILE_OR_FOLDER"
)
@format_option("--to", get_args(PictureFormat), "Format of the drawing, if the name of the file does not show it")
@click.option("--id", "ids", metavar="ID", multiple=True, help="Draw only the tree with this id. May be repeated.")
@click.option(
    "--number",
    "numbers",
    type=click.IntRange(min=1),
    metavar="N",
    multiple=True,
    help="Draw only the N-th tree. May be repeated.",
)
@click.option("--predicted", metavar="TREES", help="Mark the differences from these trees of the same sentences.")
@click.option("--arcs", is_flag=True, help="Draw the augmented dependencies.")
@click.option("--heads", metavar="RULES", help="Head rules for --arcs. By default, the marked heads (HD).")
@click.option(
    "--highlight", metavar="QUERY", help="Colour the nodes of each variable of a query, or the nodes with a label."
)
@click.option(
    "--triangle",
    "triangles",
    metavar="QUERY",
    multiple=True,
    help="Draw the first node of a query, or the nodes with a label, as a triangle. May be repeated.",
)
@click.option(
    "--depth", type=click.IntRange(min=1), metavar="N", help="Draw constituents N levels below the root as triangles."
)
@choice_option("--hide", Hidden, "Hide punctuation, the root, tags or functions. May be repeated.", multiple=True)
@click.option("--functions", is_flag=True, help="Show functions in text, which hides them by default.")
@click.option("--gloss", metavar="GLOSS", help="Text under the words: lemma, morph, or a file of glosses.")
@choice_option("--lines", Lines, "Shape of the lines.", "square")
@click.option("--legend", is_flag=True, help="List the full names of the labels below the tree.")
@click.option("--arrows", is_flag=True, help="Draw arrows from heads to the parts of their phrases beyond a gap.")
@choice_option("--theme", Theme, "Colours; auto follows the light or dark mode of the reader's system.", "auto")
@treebank_options()
def draw(
    source: TreebankInput,
    output: str | None,
    to: PictureFormat | None,
    ids: tuple[str, ...],
    numbers: tuple[int, ...],
    predicted: str | None,
    arcs: bool,
    heads: str | None,
    highlight: str | None,
    triangles: tuple[str, ...],
    depth: int | None,
    hide: tuple[Hidden, ...],
    functions: bool,
    gloss: str | None,
    lines: Lines,
    legend: bool,
    arrows: bool,
    theme: Theme,
) -> None:
    """Draw trees as text, SVG, PNG, PDF, LaTeX or one HTML page.

    TREEBANK is a file, a folder, an archive, a pattern, or - for standard input.
    """
    format = to or cast(PictureFormat, format_for(output, PICTURE_SUFFIXES, "text"))
    options = DrawingOptions(
        punctuation="punctuation" not in hide,
        root="root" not in hide,
        tags="tags" not in hide,
        depth=depth,
        lines=lines,
        legend=legend,
        arrows=arrows,
        glosses=cast(TokenGloss, gloss) if gloss in get_args(TokenGloss) else (),
    )
    glosses = None
    if gloss is not None and not options.glosses:
        if not os.path.isfile(gloss):
            raise click.UsageError(f"--gloss {gloss}: expected {', '.join(get_args(TokenGloss))} or a file")
        glosses = GlossFile.read(gloss)
    if arcs and predicted:
        raise click.UsageError("--arcs and --predicted cannot be combined")
    if heads and not arcs:
        raise click.UsageError("--heads needs --arcs")
    if (arcs or predicted) and (options != DEFAULT or triangles or highlight or gloss):
        raise click.UsageError(
            "--highlight, --triangle, --depth, --gloss, --lines, --legend, --arrows and --hide cannot be combined with "
            + ("--arcs" if arcs else "--predicted")
        )
    if format == "text" and (options.is_slanted or arrows):
        raise click.UsageError("text cannot show slanted lines or arrows; pass --to svg, png, pdf, latex or html")
    if arcs and format in ("text", "latex"):
        raise click.UsageError(f"--arcs cannot be drawn as {format}; pass --to svg, png, pdf or html")
    if predicted and format == "latex":
        raise click.UsageError(f"--predicted cannot be drawn as {format}; pass --to text, svg, png, pdf or html")
    artist = Artist(
        format,
        functions or (format != "text" and "functions" not in hide),
        theme,
        HeadRules.of(heads) if arcs else None,
        options,
        [NodeQuery("--triangle", text) for text in triangles],
        NodeQuery("--highlight", highlight) if highlight is not None else None,
        glosses,
    )
    others = replace(source, arguments=[predicted]) if predicted else None
    check_output(output, [*source.paths, *(others.paths if others else ()), heads, gloss if glosses else None])
    with ProgressBar(shown=output is not None) as bar:
        trees = source.trees(bar, "drawing")
        pairs = (pair[1:] for pair in pair_trees(trees, others.read())) if others else ((tree, None) for tree in trees)
        artist.write(_select(pairs, ids, numbers), output, ", ".join([Path(path).name for path in source.paths]))
    for query in artist.queries:
        if not query.matched:
            warn(f"{query.option} {query.query.text}: no match in these trees")
    if legend and not artist.has_names:
        warn(f"--legend: the labels belong to none of the schemes {', '.join(SCHEMES)}")
    source.report_skipped()


TreePair = tuple[Tree, Tree | None]  # a tree, and the predicted tree to compare it with


def _select(pairs: Iterable[TreePair], ids: tuple[str, ...], numbers: tuple[int, ...]) -> Iterator[TreePair]:
    """Yield the trees with these ids or numbers, or all trees without any; stop reading after the last one."""
    if not ids and not numbers:
        yield from pairs
        return
    missing: set[str | int] = {*ids, *numbers}
    for number, pair in enumerate(pairs, 1):
        if pair[0].id in missing or number in missing:
            missing -= {str(pair[0].id), number}
            yield pair
            if not missing:
                return
    raise DiscotreeError(f"no tree with the id or number {', '.join(map(str, sorted(missing, key=str)))}")


class NodeQuery:
    """An option that selects nodes by a query or a label; remembers whether there was a match."""

    def __init__(self, option: str, text: str) -> None:
        self.option = option
        self.matched = False
        if not any(sign in text for sign in QUERY_SIGNS):
            text = f"[cat={quote(text)}]"
        try:
            self.query = Query(text)
        except QueryError as error:
            raise click.UsageError(f"{option}: {error}") from None

    def nodes(self, tree: Tree) -> dict[str, tuple[int, ...]]:
        """Return the addresses that each variable stands for."""
        nodes = self.query.nodes(tree)
        self.matched |= any(nodes.values())
        return nodes


@dataclass
class Artist:
    """Draws trees in one format. With ``rules``, it draws augmented dependencies as arcs."""

    format: PictureFormat
    functions: bool
    theme: Theme = "auto"
    rules: HeadRules | None = None
    options: DrawingOptions = DEFAULT
    triangles: Sequence[NodeQuery] = ()  # the nodes of the first variable of each
    highlighted: NodeQuery | None = None  # None: discontinuous constituents
    glosses: GlossFile | None = None
    has_names: bool = False  # whether the labels of a tree had names for a legend

    def __post_init__(self) -> None:
        if self.format in ("png", "pdf") and self.theme == "auto":
            self.theme = "light"  # these cannot follow the reader's system

    @property
    def queries(self) -> list[NodeQuery]:
        return [*self.triangles, *filter(None, [self.highlighted])]

    def arguments(self, tree: Tree) -> dict[str, Any]:
        """Return the arguments for drawing a tree; call it once for each tree, in their order."""
        options = self.options
        if self.triangles:
            nodes = {node for query in self.triangles for node in next(iter(query.nodes(tree).values()), ())}
            options = replace(options, triangles=nodes)
        if self.glosses is not None:
            glosses, translation = self.glosses.glosses_for(tree)
            options = replace(options, glosses=glosses, translation=translation)
        self.has_names |= options.legend and guess_scheme(tree) is not None
        highlight = True if self.highlighted is None else self.highlighted.nodes(tree)
        return {"functions": self.functions, "highlight": highlight, "options": options}

    def svg(self, pair: TreePair, style: bool = True) -> str:
        tree, predicted = pair
        if self.rules is not None:
            return draw_arcs(to_dependencies(tree, self.rules), theme=self.theme, style=style)
        if predicted is not None:
            return draw_comparison(tree, predicted, functions=self.functions, theme=self.theme, style=style)
        return draw_svg(tree, theme=self.theme, style=style, **self.arguments(tree))

    def picture(self, pair: TreePair) -> bytes:
        """Return the content of a file with one tree."""
        svg = self.svg(pair)
        return convert(svg, self.format) if self.format in ("png", "pdf") else svg.encode()

    def write(self, pairs: Iterator[TreePair], output: str | None, title: str) -> None:
        """Draw trees into a file, a folder, or to standard output. HTML, PDF and LaTeX hold any number of trees."""
        is_file = output in (None, STANDARD_STREAM) or output.lower().endswith(f".{self.format}")
        if self.format == "text":
            self._write_text(pairs, output)
        elif self.format == "latex":
            pictures = [draw_latex(tree, standalone=False, **self.arguments(tree)) for tree, _ in pairs]
            _write([latex_pages(pictures).encode()], output)
        elif self.format == "html":
            items = (PageItem(pair[0].id, " ".join(pair[0].words), self.svg(pair, style=False)) for pair in pairs)
            title = "Trees" if title == STANDARD_STREAM else title
            _write((piece.encode() for piece in draw_page(items, title, self.theme)), output)
        elif output is not None and not is_file:
            self._write_folder(pairs, Path(output))
        elif output is None and self.format != "svg" and sys.stdout.isatty():
            raise click.UsageError(f"{self.format} cannot be shown on a terminal; pass -o FILE.{self.format}")
        else:
            self._write_file(pairs, output)

    def _write_text(self, pairs: Iterable[TreePair], output: str | None) -> None:
        """Write each tree below its id; on a terminal in colour, as wide as the terminal, page by page."""
        on_terminal = output is None and sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if on_terminal else None
        color = on_terminal and "NO_COLOR" not in os.environ

        def text(tree: Tree, predicted: Tree | None) -> str:
            if predicted is None:
                return draw_text(tree, color=color, width=width, **self.arguments(tree))
            return draw_comparison_text(tree, predicted, color=color, width=width, functions=self.functions)

        texts = (f"{printable(pair[0].id)}\n{text(*pair)}\n\n" for pair in pairs)
        if on_terminal:
            os.environ.setdefault("LESS", "FRX")  # keep colours; quit if all fits on one screen
            os.environ.setdefault("LESSCHARSET", "utf-8")
            pieces = (f"\n{text[:-1]}" if k else text[:-1] for k, text in enumerate(texts))  # Click adds a line end
            click.echo_via_pager(pieces, color=color)
        else:
            _write((text.encode(errors="replace") for text in texts), output)

    def _write_file(self, pairs: Iterator[TreePair], output: str | None) -> None:
        """Write a PDF with a page for each tree, or a picture of a single tree."""
        first, second = next(pairs, None), next(pairs, None)
        if first is None:
            raise DiscotreeError("no tree to draw")
        if second is None:
            _write([self.picture(first)], output)
        elif self.format == "pdf":
            _write([convert_pages([self.svg(pair) for pair in (first, second, *pairs)])], output)
        else:
            choose = "choose a tree with --id or --number, " if click.get_current_context().command is draw else ""
            raise click.UsageError(
                f"{'an SVG' if self.format == 'svg' else 'a PNG'} file holds one tree; {choose}write to a folder "
                f"(--to {self.format} -o FOLDER), or draw all trees into one file: -o FILE.html, FILE.pdf or FILE.tex"
            )

    def _write_folder(self, pairs: Iterable[TreePair], folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        taken: dict[str, int] = {}
        for pair in pairs:
            name = _file_name(" ".join([pair[0].id, *pair[0].words]), taken)
            _write([self.picture(pair)], str(folder / f"{name}.{self.format}"))
        report_written(counted(len(taken), "picture"), str(folder))


def _write(pieces: Iterable[bytes], output: str | None) -> None:
    with writable(output or STANDARD_STREAM) as stream:
        stream.writelines(pieces)


def _file_name(sentence: str, taken: dict[str, int]) -> str:
    """Return a file name for a sentence that is safe in every folder and not yet taken; long ones end after a word.

    ``taken`` counts names without regard to case, as some file systems do.
    """
    safe = re.sub(r"[^\w.-]+", "_", unicodedata.normalize("NFC", sentence)).strip("._-")
    base = safe.encode()[:MAX_NAME_BYTES].decode(errors="ignore")
    if base != safe and "_" in base:
        base = base[: base.rindex("_")]
    base = base.strip("._-") or "tree"
    name = base
    while name.casefold() in taken:
        taken[base.casefold()] += 1
        name = f"{base}-{taken[base.casefold()]}"
    taken[name.casefold()] = 1
    return name
