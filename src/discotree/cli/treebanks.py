"""convert and stats."""

import json
from typing import Annotated

import typer
from rich.table import Table

from discotree.cli.common import (
    Bar,
    Encoding,
    From,
    Skip,
    err,
    known_encoding,
    known_format,
    number,
    out,
    read_trees,
    say_skipped,
)
from discotree.encoding.head_rules import HeadRules
from discotree.errors import TreebankError
from discotree.evaluation.statistics import Statistics
from discotree.files import STANDARD_STREAM, writable
from discotree.treebanks import write
from discotree.treebanks.source import stop
from discotree.treebanks.splits import read_ids, selected
from discotree.trees.transforms import Functions, Punctuation, Root, Unaries, label_root, transform


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A file, a folder, an archive, or - for standard input.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="A file, or - for standard output.")],
    from_: From = None,
    to: Annotated[
        str | None, typer.Option(callback=known_format, help="Format of the output, if not clear from its name.")
    ] = None,
    encoding: Encoding = None,
    output_encoding: Annotated[str, typer.Option(callback=known_encoding, help="Encoding of the output.")] = "utf-8",
    punctuation: Annotated[
        Punctuation, typer.Option(help="Re-attach it low, remove it, or hang it on the root.")
    ] = "keep",
    functions: Annotated[
        Functions, typer.Option(help="Strip them, join them to labels (NP-SBJ), or split them off.")
    ] = "keep",
    unaries: Annotated[Unaries, typer.Option(help="Collapse chains into one label (S+VP), or restore them.")] = "keep",
    root: Annotated[Root, typer.Option(help="Add a virtual root, or strip it where it has one child.")] = "keep",
    root_label: Annotated[str | None, typer.Option(help="Call the virtual root something else, such as VROOT.")] = None,
    heads: Annotated[
        str | None, typer.Option(help="Head rules for conllu: a name (negra, alpino, ptb, icepahc) or a file.")
    ] = None,
    marked_heads: Annotated[
        bool,
        typer.Option("--marked-heads", help="Children that the treebank marks as heads (HD) win before the rules."),
    ] = False,
    ids: Annotated[
        str | None, typer.Option(help="Only the sentences in this file: ids, or a table with columns id and split.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="With --ids: only this part of the table, such as train.")] = None,
    skip_broken: Skip = False,
) -> None:
    """Convert a treebank from one format to another.

    The output appears when it is complete; an error leaves nothing behind.
    """
    if split and not ids:
        raise typer.BadParameter("--split needs a table: --ids FILE")
    if to is None and target == STANDARD_STREAM:
        raise typer.BadParameter("standard output has no name to tell the format from: --to FORMAT")
    rules = HeadRules.load(heads, marked_first=marked_heads) if heads else None
    errors: list[TreebankError] = []
    trees = read_trees(source, from_, encoding, errors if skip_broken else None)
    if ids:
        trees = selected(trees, read_ids(ids, split), ids)
    trees = (
        transform(tree, punctuation=punctuation, functions=functions, unaries=unaries, root=root) for tree in trees
    )
    if root_label:
        trees = (label_root(tree, root_label) for tree in trees)
    with Bar() as bar:
        count = write(
            bar(trees, "trees"),
            target,
            to,
            encoding=output_encoding,
            heads=rules,
            on_error=errors.append if skip_broken else stop,
        )
    say_skipped(errors)
    if target != STANDARD_STREAM:
        err.print(f"{count:,} trees written to {target}", style="dim", soft_wrap=True)


def stats(
    treebanks: Annotated[list[str], typer.Argument(metavar="TREEBANK…", help="Files, folders, archives, or -.")],
    from_: From = None,
    encoding: Encoding = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")] = False,
    plot: Annotated[str | None, typer.Option(metavar="FILE.svg", help="Draw gap degrees and lengths.")] = None,
    skip_broken: Skip = False,
) -> None:
    """Say what treebanks are made of: sizes, labels, unaries and discontinuity."""
    results: dict[str, Statistics] = {}
    errors: list[TreebankError] = []
    with Bar() as bar:
        for treebank in treebanks:
            trees = read_trees(treebank, from_, encoding, errors if skip_broken else None)
            results[treebank] = Statistics.of(bar(trees, treebank))
    total = sum(results.values(), Statistics())
    if len(results) > 1:
        results["total"] = total
    if plot:
        with writable(plot) as stream:
            stream.write(total.plot(treebanks[0] if len(treebanks) == 1 else "total").encode())
    if as_json:
        print(json.dumps({name: result.summary() for name, result in results.items()}, indent=2, ensure_ascii=False))
    else:
        out().print(_table(results))
    say_skipped(errors)


COLUMNS = ("trees", "tokens", "length\nmean / max", "% disc. trees\nraw / no punct.", "% disc.\nconstituents",
           "labels\n/ tags", "% unary over\nphrase / word")  # fmt: skip


def _table(results: dict[str, Statistics]) -> Table:
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
