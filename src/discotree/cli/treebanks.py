"""convert and stats."""

from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from discotree.cli.common import number, report_written, write_json, write_rich, write_text
from discotree.cli.options import (
    Encoding,
    From,
    Skip,
    check_output,
    expand,
    format_for,
    format_option,
    known_encoding,
    output_option,
)
from discotree.cli.progress import ProgressBar
from discotree.cli.reading import read_trees, report_skipped
from discotree.encoding.head_rules import HeadRules
from discotree.errors import TreebankError
from discotree.evaluation.statistics import Statistics
from discotree.files.names import STANDARD_STREAM
from discotree.treebanks import FORMATS, write
from discotree.treebanks.source import stop
from discotree.treebanks.splits import read_ids, selected
from discotree.trees.transforms import Functions, Punctuation, Root, Unaries, label_root, transform

if TYPE_CHECKING:
    from rich.table import Table


def convert(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Files, folders, archives, patterns, or - for standard input. Without -o, the second is the output.",
        ),
    ],
    output: Annotated[str | None, output_option("File to write; standard output if not given.")] = None,
    to: Annotated[
        str | None,
        format_option("--to", FORMATS, "Format of the output, if its name does not tell."),
    ] = None,
    from_: From = None,
    encoding: Encoding = None,
    output_encoding: Annotated[str, typer.Option(callback=known_encoding, help="Encoding of the output.")] = "utf-8",
    punctuation: Annotated[
        Punctuation, typer.Option(help="Re-attach punctuation low, remove it, or attach it to the root.")
    ] = "keep",
    functions: Annotated[
        Functions, typer.Option(help="Strip functions, join them to labels (NP-SBJ), or split them off.")
    ] = "keep",
    unaries: Annotated[
        Unaries, typer.Option(help="Collapse unary chains into one label (S+VP), or restore them.")
    ] = "keep",
    root: Annotated[Root, typer.Option(help="Add a virtual root, or strip it where it has one child.")] = "keep",
    root_label: Annotated[str | None, typer.Option(help="Rename the virtual root, for example to VROOT.")] = None,
    heads: Annotated[
        str | None, typer.Option(help="Head rules for conllu: a name (negra, alpino, ptb, icepahc) or a file.")
    ] = None,
    marked_heads: Annotated[
        bool,
        typer.Option("--marked-heads", help="Prefer children that the treebank marks as heads (HD) to the rules."),
    ] = False,
    ids: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Keep only these sentences: a list of ids, or a table with id and split."),
    ] = None,
    split: Annotated[str | None, typer.Option(help="With --ids: keep only this split of the table.")] = None,
    skip_broken: Skip = False,
) -> None:
    """Convert treebanks from one format to another.

    The output file appears when it is complete; an error leaves nothing behind. Several inputs become one output.
    """
    if output is None and len(paths) == 2:
        paths, output = paths[:1], paths[1]
    elif output is None and len(paths) > 2:
        raise typer.BadParameter("several inputs need -o FILE")
    output = output or STANDARD_STREAM
    if split and not ids:
        raise typer.BadParameter("--split needs a table: --ids FILE")
    if to is None and output == STANDARD_STREAM:
        raise typer.BadParameter("standard output has no name to tell the format from: --to FORMAT")
    rules = HeadRules.load(heads, marked_first=marked_heads) if heads else None
    errors: list[TreebankError] = []
    sources, bar = expand(paths), ProgressBar()
    check_output(output, [*sources, ids, heads])
    skipped = errors if skip_broken else None
    trees = read_trees(sources, from_, encoding, skipped, with_stems=True, on_bytes=bar.on_bytes)
    if ids:
        trees = selected(trees, read_ids(ids, split), ids)
    trees = (
        transform(tree, punctuation=punctuation, functions=functions, unaries=unaries, root=root) for tree in trees
    )
    if root_label:
        trees = (label_root(tree, root_label) for tree in trees)
    with bar:
        bar.expect("converting", sources)
        count = write(
            bar.track(trees),
            output,
            to,
            encoding=output_encoding,
            heads=rules,
            on_error=errors.append if skip_broken else stop,
        )
    report_skipped(errors)
    report_written(f"{count:,} trees", output)


StatisticsFormat = Literal["table", "json", "svg"]
STATISTICS_SUFFIXES = {".txt": "table", ".json": "json", ".svg": "svg"}


def stats(
    treebanks: Annotated[
        list[str], typer.Argument(metavar="TREEBANK", help="Files, folders, archives, patterns, or -.")
    ],
    output: Annotated[str, output_option("File to write: .txt, .json or .svg (a plot).")] = STANDARD_STREAM,
    to: Annotated[
        StatisticsFormat | None, typer.Option(help="A table, all numbers as JSON, or a plot of gaps and lengths.")
    ] = None,
    from_: From = None,
    encoding: Encoding = None,
    skip_broken: Skip = False,
) -> None:
    """Count what treebanks are made of: sizes, labels, unaries and discontinuity."""
    chosen = to or cast(StatisticsFormat, format_for(output, STATISTICS_SUFFIXES, "table"))
    results: dict[str, Statistics] = {}
    errors: list[TreebankError] = []
    paths = expand(treebanks)
    check_output(output, paths)
    with ProgressBar() as bar:
        for path in paths:
            skipped = errors if skip_broken else None
            bar.expect(path, [path])
            trees = read_trees([path], from_, encoding, skipped, on_bytes=bar.on_bytes)
            results[path] = Statistics.of(bar.track(trees))
    total = sum(results.values(), Statistics())
    if len(results) > 1:
        results["total"] = total
    if chosen == "svg":
        write_text(total.plot(paths[0] if len(paths) == 1 else "total"), output)
    elif chosen == "json":
        write_json({name: result.summary() for name, result in results.items()}, output)
    else:
        write_rich(_table(results), output=output)
    report_skipped(errors)


COLUMNS = ("trees", "tokens", "length\nmean / max", "% disc. trees\nraw / no punct.", "% disc.\nconstituents",
           "labels\n/ tags", "% unary over\nphrase / word")  # fmt: skip


def _table(results: dict[str, Statistics]) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("treebank", overflow="fold")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for name, result in results.items():
        f = result.summary()
        table.add_row(
            name,
            f"{f['trees']:,}",
            f"{f['tokens']:,}",
            f"{number(f['mean_length'])} / {f['max_length']}",
            f"{number(f['discontinuous_trees_percent'])} / "
            f"{number(f['discontinuous_trees_without_punctuation_percent'])}",
            number(f["discontinuous_constituents_without_punctuation_percent"]),
            f"{f['labels']} / {f['tags']}",
            f"{number(f['unary_over_phrase_percent'], 2)} / {number(f['unary_over_word_percent'], 2)}",
        )
    return table
