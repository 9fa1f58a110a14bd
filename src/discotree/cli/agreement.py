"""agreement."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from discotree.cli.console import ProgressBar, number, report_written, table, write_json, write_rich
from discotree.cli.evaluate import cell, common_sentences, plain
from discotree.cli.options import (
    TreebankInput,
    check_output,
    choice_option,
    encoding_option,
    examples,
    expand,
    format_for,
    from_option,
    output_option,
)
from discotree.evaluation.agreement import Agreement, Pairs
from discotree.evaluation.parseval import Score
from discotree.files.writing import STANDARD_STREAM, base_name
from discotree.trees.tree import Tree

if TYPE_CHECKING:
    from rich.table import Table

MAX_DISAGREEMENTS = 20
ReportFormat = Literal["table", "json"]
METRICS = ("sentences", "gold", "predicted", "matched", "f1", "exact_match")
NAMES = {"gold": "first", "predicted": "second"}  # neither annotator has the gold trees


@click.command(
    epilog=examples(
        "discotree agreement ann.export bob.export",
        "discotree agreement Ann Bob --journal news.txt.annotation.jsonl",
        "discotree agreement ann.export bob.export -o agreement.json",
    )
)
@click.argument("first", metavar="FIRST")
@click.argument("second", metavar="SECOND")
@click.option(
    "--journal", metavar="FILE", help="Journal of an annotation project; FIRST and SECOND are then names of annotators."
)
@output_option("File to write: .txt or .json. By default, standard output.")
@choice_option("--to", ReportFormat, "Tables, or one JSON object.")
@from_option
@encoding_option
def agreement(
    first: str,
    second: str,
    journal: str | None,
    output: str,
    to: ReportFormat | None,
    from_: str | None,
    encoding: str | None,
) -> None:
    """Measure the agreement between two annotators.

    FIRST and SECOND are files, folders, archives or patterns in any format, or names of annotators (see --journal). The
    sentences that both have are matched by id or words. The report has F1 over all and over discontinuous constituents,
    the agreement and Cohen's kappa of tags and functions, and the most frequent disagreements.
    """
    names = [first, second]
    if names.count(STANDARD_STREAM) > 1:
        raise click.UsageError("standard input can be read only once")
    format = to or cast(ReportFormat, format_for(output, {".txt": "table", ".json": "json"}, "table"))
    check_output(output, [journal] if journal else expand(names))
    if journal:
        trees = _annotated(journal, names)
    else:
        with ProgressBar() as bar:
            trees = [list(TreebankInput([path], from_, encoding).trees(bar, path)) for path in names]
    shared = common_sentences(names, trees)
    found = _report(Agreement(*shared), [len(some) - len(shared[0]) for some in trees])
    if format == "json":
        write_json(found, output)
    else:
        columns = names if journal else [base_name(name) for name in names]
        write_rich(*_tables(found, columns if columns[0] != columns[1] else names), output=output)
    report_written("agreement", output)


def _annotated(journal: str, names: list[str]) -> list[list[Tree]]:
    """Return the trees of two annotators of a project, which another process may be writing to."""
    from discotree.web.annotation.project import Project

    with closing(Project.open(journal, read_only=True)) as project:
        return [list(project.accepted_trees(name)) for name in names]


def _report(found: Agreement, left_out: list[int]) -> dict[str, Any]:
    """Return the report as an object for JSON."""

    def scores(score: Score) -> dict[str, Any]:
        metrics = score.metrics()
        return {NAMES.get(name, name): metrics[name] for name in METRICS}

    def values(pairs: Pairs) -> dict[str, Any]:
        return {"items": pairs.counts.total(), "agreement": plain(pairs.percentage), "kappa": plain(pairs.kappa)}

    def most_frequent(counter: Counter[Any], *keys: str) -> list[dict[str, Any]]:
        rows = sorted(counter.items(), key=lambda entry: (-entry[1], entry[0]))[:MAX_DISAGREEMENTS]
        return [dict(zip(keys, item, strict=True)) | {"times": times} for item, times in rows]

    return {
        **scores(found.score),
        "left_out": dict(zip(("first", "second"), left_out, strict=True)),
        "discontinuous": scores(found.score.discontinuous),
        "tags": values(found.tags),
        "functions": values(found.functions),
        "disagreements": {
            "labels": most_frequent(found.labels, "first", "second"),
            "tags": most_frequent(found.tags.disagreements, "first", "second"),
            "functions": most_frequent(found.functions.disagreements, "first", "second"),
            "attachments": most_frequent(found.attachments, "item", "first", "second"),
        },
    }


def _tables(report: dict[str, Any], names: list[str]) -> "Iterator[Table | str]":
    """Yield the tables for a terminal, from top to bottom."""
    titles = {"first": f"constituents of {names[0]}", "second": f"constituents of {names[1]}"}
    titles |= {"matched": "constituents of both", "f1": "F1", "exact_match": "exact match"}
    rows = [[titles.get(key, key), cell(report[key]), cell(value)] for key, value in report["discontinuous"].items()]
    yield table(["", "all", "disc."], rows, left=[""])
    rows = [
        [key, f"{values['items']:,}", number(values["agreement"], 2), number(values["kappa"], 3)]
        for key, values in report.items()
        if key in ("tags", "functions")
    ]
    yield table(["", "items", "agreement", "kappa"], rows, left=[""])
    for kind, disagreements in report["disagreements"].items():
        if disagreements:
            yield f"\ndisagreements: {kind}{' over the same words (– for no constituent)' if kind == 'labels' else ''}"
            left = [*(["item"] if kind == "attachments" else []), *names]
            rows = [[*item, f"{times:,}"] for *item, times in (row.values() for row in disagreements)]
            yield table([*left, "times"], rows, left=left)
