"""agreement."""

from collections import Counter
from collections.abc import Iterator, Sequence
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
SCORES = {
    "sentences": "sentences",
    "gold": "constituents of {}",
    "predicted": "constituents of {}",
    "matched": "constituents of both",
    "f1": "F1",
    "exact_match": "exact match",
}
KEYS = {"gold": "first", "predicted": "second"}  # in JSON; no annotator has the gold trees
DISAGREEMENTS = {
    "labels": "labels over the same words (– for no constituent)",
    "tags": "tags",
    "functions": "functions",
    "attachments": "attachments",
}


@click.command(
    epilog=examples(
        "discotree agreement ann.export bob.export",
        "discotree agreement Ann Bob --journal news.txt.annotation.jsonl",
        "discotree agreement ann.export bob.export -o agreement.json",
    )
)
@click.argument("first", metavar="FIRST")
@click.argument("second", metavar="SECOND")
@click.option("--journal", metavar="FILE", help="Annotation project; FIRST and SECOND are the names of annotators.")
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
    shared_by_first, shared_by_second = common_sentences(names, trees)
    found = Agreement.of(shared_by_first, shared_by_second)
    if format == "json":
        left_out = [len(some) - len(shared_by_first) for some in trees]
        write_json(_object(found, left_out), output)
    else:
        columns = names if journal else [base_name(name) for name in names]
        write_rich(*_tables(found, columns if columns[0] != columns[1] else names), output=output)
    report_written("agreement", output)


def _annotated(journal: str, names: list[str]) -> list[list[Tree]]:
    """Return the trees of two annotators of a project, which another process may be writing to."""
    from discotree.web.annotation.journal import normalise_name
    from discotree.web.annotation.project import Project

    project = Project.open(journal, read_only=True)
    try:
        return [list(project.accepted_trees(normalise_name(name))) for name in names]
    finally:
        project.close()


def _object(found: Agreement, left_out: list[int]) -> dict[str, Any]:
    return {
        **_scores(found.score),
        "left_out": dict(zip(("first", "second"), left_out, strict=True)),
        "discontinuous": _scores(found.score.discontinuous),
        "tags": _values(found.tags),
        "functions": _values(found.functions),
        "disagreements": {
            name: [dict(zip(_columns(name), pair, strict=True)) | {"times": times} for pair, times in rows]
            for name, rows in _disagreements(found)
        },
    }


def _scores(score: Score) -> dict[str, Any]:
    metrics = score.metrics()
    return {KEYS.get(name, name): metrics[name] for name in SCORES}


def _values(pairs: Pairs) -> dict[str, Any]:
    return {"items": pairs.counts.total(), "agreement": plain(pairs.percentage), "kappa": plain(pairs.kappa)}


def _disagreements(found: Agreement) -> Iterator[tuple[str, list[tuple[tuple[str, ...], int]]]]:
    """Yield the most frequent disagreements of each kind, first by frequency and then by name."""
    counters: list[Counter[Any]] = [
        found.labels,
        found.tags.disagreements,
        found.functions.disagreements,
        found.attachments,
    ]
    for name, counter in zip(DISAGREEMENTS, counters, strict=True):
        yield name, sorted(counter.items(), key=lambda entry: (-entry[1], entry[0]))[:MAX_DISAGREEMENTS]


def _tables(found: Agreement, names: list[str]) -> "Iterator[Table | str]":
    """Yield the tables for a terminal, from top to bottom."""
    titles = SCORES | {key: SCORES[key].format(name) for key, name in zip(KEYS, names, strict=True)}
    columns = [found.score.metrics(), found.score.discontinuous.metrics()]
    rows = [[titles[key], *(cell(metrics[key]) for metrics in columns)] for key in SCORES]
    yield table(["", "all", "disc."], rows, left=[""])
    rows = [
        [name, f"{pairs.counts.total():,}", number(plain(pairs.percentage), 2), number(plain(pairs.kappa), 3)]
        for name, pairs in (("tags", found.tags), ("functions", found.functions))
    ]
    yield table(["", "items", "agreement", "kappa"], rows, left=[""])
    for name, disagreements in _disagreements(found):
        if disagreements:
            yield f"\ndisagreements: {DISAGREEMENTS[name]}"
            left = _columns(name, names)
            yield table([*left, "times"], [[*pair, f"{times:,}"] for pair, times in disagreements], left=left)


def _columns(name: str, names: Sequence[str] = ("first", "second")) -> list[str]:
    return ["item", *names] if name == "attachments" else [*names]
