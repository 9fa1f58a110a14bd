"""convert, split and stats."""

import re
from collections.abc import Iterator
from dataclasses import replace
from os import makedirs, path
from typing import TYPE_CHECKING, Literal, cast

import click

from discotree.cli.console import ProgressBar, number, report_written, table, write_json, write_rich
from discotree.cli.options import (
    TreebankInput,
    check_output,
    choice_option,
    encoding_option,
    examples,
    format_for,
    format_option,
    from_option,
    output_option,
    treebank_options,
)
from discotree.encoding.head_rules import HeadRules
from discotree.errors import DiscotreeError, counted
from discotree.evaluation.statistics import Statistics
from discotree.files.reading import ReadLimits
from discotree.files.writing import STANDARD_STREAM, is_archive
from discotree.treebanks import FORMATS, write
from discotree.treebanks.reading import divide, open_treebank, read_ids, select_ids
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
@click.option(
    "--heads", metavar="RULES", help="Head rules for conllu: negra, alpino, ptb, icepahc, n1904, squoia-es, or a file."
)
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
    one output. The output file is created only when it is complete; if there is an error, nothing is written. An
    existing file is overwritten only if it is named with -o.
    """
    if output is None and len(source.arguments) > 2:
        raise click.UsageError("several treebanks: pass -o FILE")
    is_positional = output is None and len(source.arguments) == 2
    if is_positional:
        source.arguments, (output,) = source.arguments[:1], source.arguments[1:]
    output = output or STANDARD_STREAM
    if split and not ids:
        raise click.UsageError("--split needs a table with splits: pass --ids FILE")
    if to is None and output == STANDARD_STREAM:
        raise click.UsageError("pass --to FORMAT to write to standard output")
    rules = HeadRules.load(heads) if heads else None
    check_output(output, [*source.paths, ids, heads])
    if is_positional and path.isfile(output):  # perhaps the second of two inputs, from a pattern such as *.export
        message = f"{output} already exists; pass -o {output} to overwrite it, or -o FILE to join both treebanks"
        raise click.UsageError(message)
    with ProgressBar() as bar:
        trees = source.trees(bar, "converting", with_stems=True)
        if ids:
            trees = select_ids(trees, read_ids(ids, split), ids)
        trees = (transform(tree, punctuation=punctuation, functions=functions) for tree in trees)
        on_error = stop if source.errors is None else source.errors.append
        count = write(trees, output, to, heads=rules, on_error=on_error)
    source.report_skipped()
    report_written(counted(count, "tree"), output)


PARTS = ("train", "dev", "test")


@click.command(epilog=examples("discotree split negra.export 80/10/10", "discotree split mine.dbr 90/10"))
@click.argument("file", metavar="FILE")
@click.argument("shares", metavar="SHARES")
@output_option("Folder for the new files. By default, the folder of FILE.", default=None, metavar="FOLDER")
@from_option
@encoding_option
def split(file: str, shares: str, output: str | None, from_: str | None, encoding: str | None) -> None:
    """Split a treebank into training, dev and test files.

    SHARES are percentages of the trees: 80/10/10 for train, dev and test, or 90/10 for train and dev. The parts of
    trees.export are trees.train.export, trees.dev.export and trees.test.export; existing files are not overwritten.
    Trees are chosen at random with a fixed seed, so the result is always the same. Sentences with the same words go to
    the same file.
    """
    percent = [int(share) for share in shares.split("/") if re.fullmatch("[1-9][0-9]?", share)]
    if not 2 <= len(percent) == shares.count("/") + 1 <= len(PARTS) or sum(percent) != 100:
        raise click.UsageError(f"expected percentages that add up to 100, such as 80/10/10 or 90/10, got {shares!r}")
    if path.isdir(file) or is_archive(file):
        raise DiscotreeError(f"{file}: expected a single file; convert folders and archives first")
    suffix = r"((?:\.tiger|\.alpino|\.folia|\.webanno)?(?:\.\w+)?(?:\.gz|\.bz2|\.xz)?)$"
    stem, end, _ = re.split(suffix, path.basename(file), maxsplit=1)
    folder = path.dirname(file) if output is None else output
    outputs = [path.join(folder, f"{stem}.{part}{end}") for part in PARTS[: len(percent)]]
    for name in filter(path.lexists, outputs):
        raise DiscotreeError(f"{name} already exists; remove it or rename it first")
    with ProgressBar() as bar:
        bar.expect("splitting", [file])
        for opened in open_treebank(file, from_, encoding, "", bar.on_bytes, ReadLimits.from_environment()):
            format, trees = opened.format, list(bar.track(opened.trees()))
    parts = divide(trees, percent)
    if not all(parts):
        raise DiscotreeError(f"{file}: too few trees for {shares}; a part would be empty")
    makedirs(folder or ".", exist_ok=True)
    for name, part in zip(outputs, parts, strict=True):
        report_written(counted(write(part, name, format), "tree"), name)


StatisticsFormat = Literal["table", "json"]
KINDS = ("labels", "functions", "tags")
STATISTICS_SUFFIXES = {".txt": "table", ".json": "json"}


@click.command(epilog=examples("discotree stats negra.export tiger.xml", "discotree stats negra.export --labels"))
@output_option("File to write: .txt or .json. By default, standard output.")
@choice_option("--to", StatisticsFormat, "A table, or all numbers as JSON.")
@click.option("--labels", is_flag=True, help="Add the frequencies of all labels, functions and tags.")
@treebank_options()
def stats(source: TreebankInput, output: str, to: StatisticsFormat | None, labels: bool) -> None:
    """Count trees, tokens, labels, unaries and discontinuities.

    TREEBANK is a file, a folder, an archive, a pattern, or - for standard input.
    """
    format = to or cast(StatisticsFormat, format_for(output, STATISTICS_SUFFIXES, "table"))
    results: dict[str, Statistics] = {}
    check_output(output, source.paths)
    with ProgressBar() as bar:
        for name in source.paths:
            results[name] = Statistics.from_trees(replace(source, arguments=[name]).trees(bar, name))
    if len(results) > 1:
        results["total"] = sum(results.values(), Statistics())
    if format == "json":
        tables = {name: result.summary() for name, result in results.items()}
        for name in tables if labels else ():
            tables[name]["frequencies"] = {kind: dict(getattr(results[name], kind).most_common()) for kind in KINDS}
        write_json(tables, output)
    else:
        write_rich(_table(results), *(_frequencies(results) if labels else ()), output=output)
    source.report_skipped()


def _frequencies(results: dict[str, Statistics]) -> "Iterator[Table | str]":
    """Yield tables of labels, functions and tags, with a column for every treebank; percentages are of the last."""
    for kind in KINDS:
        *_, total = counters = [getattr(result, kind) for result in results.values()]
        keys = [key for key, _ in total.most_common()]
        shares = [number(100 * total[key] / total.total(), 2) for key in keys]
        counts = [[f"{counter[key]:,}" for key in keys] for counter in counters]
        yield ""
        yield table([kind, *results, "%"], list(zip(keys, *counts, shares, strict=True)), left=[kind])


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
