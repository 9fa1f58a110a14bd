"""draw."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, cast

import typer

from discotree.cli.looks import Looks, looks_for
from discotree.cli.options import (
    PICTURE_SUFFIXES,
    Encoding,
    From,
    PictureFormat,
    Skip,
    check_output,
    expand,
    format_for,
)
from discotree.cli.pictures import TreePair, style_for, write_pictures
from discotree.cli.progress import ProgressBar
from discotree.cli.reading import read_trees, report_skipped
from discotree.drawing.look import Lines, Look
from discotree.drawing.markup import Theme
from discotree.encoding.head_rules import HeadRules
from discotree.errors import DiscotreeError, TreebankError
from discotree.evaluation.pairing import paired
from discotree.trees.tree import Tree


def draw(
    treebanks: Annotated[
        list[str], typer.Argument(metavar="TREEBANK", help="Files, folders, archives, patterns, or -.")
    ],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE_OR_FOLDER", help="File to write, or a folder for many pictures."),
    ] = None,
    to: Annotated[
        PictureFormat | None, typer.Option(help="Format to draw in, if the output's name does not tell; text.")
    ] = None,
    ids: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="Draw only this tree; may be repeated.")
    ] = None,
    numbers: Annotated[
        list[int] | None,
        typer.Option("--number", min=1, metavar="N", help="Draw only the N-th tree; may be repeated."),
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="PREDICTED", help="Mark where other trees of the same sentences differ.")
    ] = None,
    arcs: Annotated[bool, typer.Option("--arcs", help="Draw the augmented dependencies.")] = False,
    heads: Annotated[
        str | None, typer.Option(metavar="RULES", help="With --arcs: head rules; marked heads (HD) by default.")
    ] = None,
    highlight: Annotated[
        str | None, typer.Option(metavar="QUERY", help="Colour what the query's variables stand for, or a label.")
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Draw discontinuous constituents like all others.")] = False,
    triangles: Annotated[
        list[str] | None,
        typer.Option(
            "--triangle", metavar="QUERY", help="Draw the query's first node, or a label, as a triangle; repeatable."
        ),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Draw constituents N levels below the root as triangles.")
    ] = None,
    punctuation: Annotated[bool, typer.Option("--punctuation/--no-punctuation", help="Show punctuation.")] = True,
    root: Annotated[bool, typer.Option("--root/--no-root", help="Show the root.")] = True,
    tags: Annotated[bool, typer.Option("--tags/--no-tags", help="Show tags.")] = True,
    gloss: Annotated[
        str | None, typer.Option(metavar="WHAT", help="Text under words: lemma, morph, or a file of glosses.")
    ] = None,
    lines: Annotated[Lines, typer.Option(help="Shape of the lines.")] = "square",
    functions: Annotated[
        bool | None, typer.Option("--functions/--no-functions", help="Show functions; by default in all but text.")
    ] = None,
    ascii: Annotated[bool, typer.Option("--ascii", help="Draw text without box characters.")] = False,
    theme: Annotated[Theme, typer.Option(help="Colours; auto follows the reader's system.")] = "auto",
    from_: From = None,
    encoding: Encoding = None,
    skip_broken: Skip = False,
) -> None:
    """Draw trees: in the terminal, as SVG, PNG, PDF, LaTeX (TikZ or forest), or all on one HTML page."""
    chosen = to or cast(PictureFormat, format_for(output, PICTURE_SUFFIXES, "text"))
    shared = Look(punctuation=punctuation, root=root, tags=tags, depth=depth, lines=lines)
    looks = looks_for(shared, triangles or [], highlight, plain, gloss)
    _check(chosen, against, arcs, heads, ascii, looks)
    rules = HeadRules.of(heads)
    style = style_for(chosen, functions, theme, ascii, rules if arcs else None, looks)
    errors: list[TreebankError] = []
    skipped = errors if skip_broken else None
    paths = expand(treebanks)
    others = expand([against]) if against else []
    check_output(output, [*paths, *others, heads, gloss if looks.glosses else None])
    with ProgressBar(shown=output is not None) as bar:
        bar.expect("drawing", paths)
        trees = bar.track(read_trees(paths, from_, encoding, skipped, on_bytes=bar.on_bytes))
        predicted = read_trees(others, from_, encoding, skipped) if against else None
        found = _select(_pairs(trees, predicted), ids or [], numbers or [])
        write_pictures(found, chosen, style, output, ", ".join([Path(path).name for path in paths]))
    looks.report()
    report_skipped(errors)


def _check(
    format: PictureFormat, against: str | None, arcs: bool, heads: str | None, ascii: bool, looks: Looks
) -> None:
    """Refuse options that contradict each other."""
    if arcs and against:
        raise typer.BadParameter("--arcs and --against do not go together")
    if heads and not arcs:
        raise typer.BadParameter("--heads is for --arcs")
    if (arcs or against) and not looks.is_plain:
        raise typer.BadParameter(
            f"what hides, marks or adds parts of a tree is not for {'--arcs' if arcs else '--against'}"
        )
    if format == "text" and looks.shared.is_slanted:
        raise typer.BadParameter("slanted lines cannot be drawn as text: --to svg, png, pdf, latex, forest or html")
    if arcs and format in ("text", "latex", "forest"):
        raise typer.BadParameter(f"arcs cannot be drawn as {format}: --to svg, png, pdf or html")
    if against and format in ("latex", "forest"):
        raise typer.BadParameter(f"comparisons cannot be drawn as {format}: --to text, svg, png, pdf or html")
    if ascii and format != "text":
        raise typer.BadParameter("--ascii is for text")


def _pairs(trees: Iterable[Tree], predicted: Iterable[Tree] | None) -> Iterator[TreePair]:
    if predicted is None:
        yield from map(TreePair, trees)
    else:
        for _, gold, other in paired(trees, predicted):
            yield TreePair(gold, other)


def _select(pairs: Iterable[TreePair], ids: list[str], numbers: list[int]) -> Iterator[TreePair]:
    """Yield the trees with these ids or numbers, or all if there are none; read nothing after the last one."""
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
