"""convert and stats."""

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

import click

from discotree.cli.console import ProgressBar, number, report_written, table, write_json, write_rich
from discotree.cli.options import (
    TreebankInput,
    check_output,
    choice_option,
    examples,
    format_for,
    format_option,
    output_option,
    treebank_options,
)
from discotree.encoding.head_rules import HeadRules
from discotree.evaluation.statistics import Statistics
from discotree.files.writing import STANDARD_STREAM
from discotree.treebanks import FORMATS, write
from discotree.treebanks.reading import read_ids, select_ids
from discotree.treebanks.source import stop
from discotree.trees.transforms import Functions, Punctuation, transform

if TYPE_CHECKING:
    from rich.table import Table


@click.command(
    epilog=examples(
        "discotree convert negra.export negra.tiger.xml",
        "discotree convert 'trees/*.mrg' -o trees.dbr --punctuation remove",
        "discotree convert negra.export --to conllu --heads negra",
    )
)
@output_option("File to write. By default OUTPUT, or standard output.", default=None)
@format_option("--to", FORMATS, "Format of the output, if the name of the file does not show it")
@choice_option("--punctuation", Punctuation, "Re-attach punctuation low, remove it, or attach it to the root.", "keep")
@choice_option("--functions", Functions, "Strip functions, join them to labels (NP-SBJ), or split them off.", "keep")
@click.option("--heads", metavar="RULES", help="Head rules for conllu: negra, alpino, ptb, icepahc, or a file.")
@click.option(
    "--ids", metavar="FILE", help="Keep only these sentences: a list of ids, or a table with the columns id and split."
)
@click.option("--split", metavar="NAME", help="Keep only this split of the table in --ids.")
@treebank_options("TREEBANK... [OUTPUT]")
def convert(
    source: TreebankInput,
    output: str | None,
    to: str | None,
    punctuation: Punctuation,
    functions: Functions,
    heads: str | None,
    ids: str | None,
    split: str | None,
) -> None:
    """Convert treebanks from one format to another.

    TREEBANK is a file, a folder, an archive, a pattern, or - for standard input. Several treebanks are joined into
    one output. The output file is created only when it is complete; if there is an error, nothing is written.
    """
    if output is None and len(source.arguments) > 2:
        raise click.UsageError("several treebanks: pass -o FILE")
    if output is None and len(source.arguments) == 2:
        source.arguments, (output,) = source.arguments[:1], source.arguments[1:]
    output = output or STANDARD_STREAM
    if split and not ids:
        raise click.UsageError("--split needs a table with splits: pass --ids FILE")
    if to is None and output == STANDARD_STREAM:
        raise click.UsageError("pass --to FORMAT to write to standard output")
    rules = HeadRules.load(heads) if heads else None
    check_output(output, [*source.paths, ids, heads])
    with ProgressBar() as bar:
        trees = source.trees(bar, "converting", with_stems=True)
        if ids:
            trees = select_ids(trees, read_ids(ids, split), ids)
        trees = (transform(tree, punctuation=punctuation, functions=functions) for tree in trees)
        on_error = stop if source.errors is None else source.errors.append
        count = write(trees, output, to, heads=rules, on_error=on_error)
    source.report_skipped()
    report_written(f"{count:,} trees", output)


StatisticsFormat = Literal["table", "json"]
STATISTICS_SUFFIXES = {".txt": "table", ".json": "json"}


@click.command(epilog=examples("discotree stats negra.export tiger.xml", "discotree stats negra.export -o stats.json"))
@output_option("File to write: .txt or .json. By default, standard output.")
@choice_option("--to", StatisticsFormat, "A table, or all numbers as JSON.")
@treebank_options()
def stats(source: TreebankInput, output: str, to: StatisticsFormat | None) -> None:
    """Count trees, tokens, labels, unaries and discontinuities.

    TREEBANK is a file, a folder, an archive, a pattern, or - for standard input.
    """
    format = to or cast(StatisticsFormat, format_for(output, STATISTICS_SUFFIXES, "table"))
    results: dict[str, Statistics] = {}
    check_output(output, source.paths)
    with ProgressBar() as bar:
        for path in source.paths:
            results[path] = Statistics.from_trees(replace(source, arguments=[path]).trees(bar, path))
    if len(results) > 1:
        results["total"] = sum(results.values(), Statistics())
    if format == "json":
        write_json({name: result.summary() for name, result in results.items()}, output)
    else:
        write_rich(_table(results), output=output)
    source.report_skipped()


COLUMNS = ("treebank", "trees", "tokens", "length\nmean / max", "% disc. trees\nraw / no punct.",
           "% disc.\nconstituents", "labels\n/ tags", "% unary over\nphrase / word")  # fmt: skip


def _table(results: dict[str, Statistics]) -> "Table":
    rows = []
    for name, result in results.items():
        f = result.summary()
        rows.append(
            [
                name,
                f"{f['trees']:,}",
                f"{f['tokens']:,}",
                f"{number(f['mean_length'])} / {f['max_length']}",
                f"{number(f['discontinuous_trees_percent'])} / "
                f"{number(f['discontinuous_trees_without_punctuation_percent'])}",
                number(f["discontinuous_constituents_without_punctuation_percent"]),
                f"{f['labels']} / {f['tags']}",
                f"{number(f['unary_over_phrase_percent'], 2)} / {number(f['unary_over_word_percent'], 2)}",
            ]
        )
    return table(COLUMNS, rows, left=COLUMNS[:1])
