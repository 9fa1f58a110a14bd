"""evaluate."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, cast

import typer
from rich.table import Table

from discotree.cli.common import number, report_written, write_json, write_rich, write_text
from discotree.cli.options import Encoding, From, check_output, expand, format_for, output_option
from discotree.cli.progress import ProgressBar
from discotree.cli.reading import read_trees
from discotree.encoding.head_rules import HeadRules
from discotree.errors import EvaluationError
from discotree.evaluation.analysis import TABLES, Analysis
from discotree.evaluation.html_report import MAX_CONFUSIONS, ROWS, html
from discotree.evaluation.params import Params
from discotree.evaluation.parseval import evaluate as score_of
from discotree.evaluation.score import BracketCounts, Score
from discotree.evaluation.significance import BootstrapResult, bootstrap
from discotree.files.names import STANDARD_STREAM

LISTS = {"confusions": "most frequent confusions", "worst": "the worst sentences"}
COUNTS = ("gold", "predicted", "matched", "precision", "recall", "f1")
ReportFormat = Literal["table", "json", "html"]
REPORT_SUFFIXES = {".txt": "table", ".json": "json", ".html": "html", ".htm": "html"}


def evaluate(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="The correct trees: a file, folder, archive or pattern.")],
    predicted: Annotated[str, typer.Argument(metavar="PREDICTED", help="The trees to score, in any format.")],
    against: Annotated[
        str | None, typer.Option(metavar="OTHER", help="Test whether the difference to a second system is significant.")
    ] = None,
    output: Annotated[str, output_option("File to write: .txt, .json or .html (a report).")] = STANDARD_STREAM,
    to: Annotated[
        ReportFormat | None, typer.Option(help="Tables, one JSON object, or an HTML report with plots.")
    ] = None,
    disc_only: Annotated[bool, typer.Option("--disc-only", help="Score discontinuous constituents only.")] = False,
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Ignore labels.")] = False,
    params: Annotated[str, typer.Option(help="proper, all, or a .prm file in disco-dop's syntax.")] = "proper",
    cutoff: Annotated[int | None, typer.Option(min=1, help="Add a column for sentences up to this length.")] = None,
    by: Annotated[str, typer.Option(help=f"Add tables, separated by commas: {', '.join([*TABLES, *LISTS])}.")] = "",
    heads: Annotated[str | None, typer.Option(help="Head rules: score the augmented dependencies as well.")] = None,
    missing_as_empty: Annotated[
        bool,
        typer.Option("--missing-as-empty", help="Count a missing parse as an empty one instead of refusing the files."),
    ] = False,
    samples: Annotated[int, typer.Option(min=10, help="With --against: number of bootstrap samples.")] = 1000,
    from_: From = None,
    encoding: Encoding = None,
) -> None:
    """Score trees against gold trees, to disco-dop's digit."""
    names = [name.strip() for name in by.split(",") if name.strip()]
    unknown = [name for name in names if name not in (*TABLES, *LISTS)]
    if unknown:
        raise typer.BadParameter(f"there is no table {unknown[0]!r}; there are {', '.join([*TABLES, *LISTS])}")
    if [gold, predicted, against].count(STANDARD_STREAM) > (gold != STANDARD_STREAM or not against):
        raise typer.BadParameter("standard input can be read only once")
    chosen = to or cast(ReportFormat, format_for(output, REPORT_SUFFIXES, "table"))
    check_output(output, [*expand([gold, predicted, *filter(None, [against])]), params, heads])
    settings = Params.load(params)
    disc_only = disc_only or settings.disc_only
    analysis = Analysis(
        settings,
        labelled=not unlabelled,
        disc_only=disc_only,
        rules=HeadRules.load(heads) if heads else None,
    )
    with ProgressBar() as bar:

        def score(path: str, observe: Analysis | None) -> Score:
            bar.expect(path, expand([gold]))
            try:
                result = score_of(
                    bar.track(read_trees(expand([gold]), from_, encoding, on_bytes=bar.on_bytes)),
                    read_trees(expand([path]), from_, encoding),
                    settings,
                    missing_as_empty=missing_as_empty,
                    observe=observe,
                )
            except EvaluationError as error:
                raise EvaluationError(f"{path} against {gold}: {error}") from None
            return result.unlabelled if unlabelled else result

        first = score(predicted, analysis if names or heads or chosen == "html" else None)
        second = score(against, None) if against else None
    differences = {}
    if second is not None:
        for name, gaps in (("all", False), ("discontinuous", True)):
            differences[name] = bootstrap(first, second, samples=samples, discontinuous=gaps)
    columns = _columns(first, second, cutoff or settings.cutoff_len, disc_only)
    if chosen == "html":
        write_text(html(f"{predicted} against {gold}", columns, analysis, differences), output)
    elif chosen == "json":
        best = first.discontinuous if disc_only else first
        write_json(_object(best, second, disc_only, analysis, names, differences), output)
    else:
        write_rich(*_tables(columns, analysis, names, differences), output=output)
    report_written("scores", output)


def _columns(first: Score, second: Score | None, cutoff: int, disc_only: bool) -> dict[str, Score]:
    """Return what stands side by side: all and discontinuous brackets, long and short sentences, two systems."""
    columns: dict[str, Score] = {}
    for system, score in (("", first), ("other: ", second)):
        if score is None:
            continue
        for name, part in (("all", score), ("disc.", score.discontinuous)):
            if disc_only and name == "all":
                continue
            columns[f"{system}{name}"] = part
            if second is None and score.longest > cutoff:
                columns[f"{name} ≤ {cutoff}"] = part.upto(cutoff)
    return columns


def _object(
    score: Score,
    second: Score | None,
    disc_only: bool,
    analysis: Analysis,
    names: list[str],
    differences: dict[str, BootstrapResult],
) -> dict[str, Any]:
    result: dict[str, Any] = dict(score.metrics())
    tables = analysis.tables if names else {}
    for name in names:
        if name == "confusions":
            found = analysis.confusions.most_common(MAX_CONFUSIONS)
            result[name] = [{"gold": a, "predicted": b, "times": times} for (a, b), times in found]
        elif name == "worst":
            result[name] = [worst._asdict() for worst in analysis.worst]
        else:
            rows = tables[name].items()
            result[name] = {key: {field: _plain(getattr(counts, field)) for field in COUNTS} for key, counts in rows}
    if analysis.rules is not None:
        result["uas"], result["las"] = _plain(analysis.arcs.uas), _plain(analysis.arcs.las)
    if second is not None:
        result["against"] = (second.discontinuous if disc_only else second).metrics()
        result["difference"] = {name: difference._asdict() for name, difference in differences.items()}
    return result


def _plain(value: float) -> float | None:
    return None if value != value else value


def _tables(
    columns: dict[str, Score], analysis: Analysis, names: list[str], differences: dict[str, BootstrapResult]
) -> Iterator[Table | str]:
    """Yield what is shown on a terminal, from top to bottom."""
    table = Table("", box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right")
    metrics = [score.metrics() for score in columns.values()]
    for key, title in ROWS.items():
        if any(column[key] is not None for column in metrics):
            table.add_row(title, *(_cell(column[key]) for column in metrics), style="bold" if key == "f1" else None)
    yield table
    if analysis.rules is not None:
        uas, las = (number(_plain(value), 2) for value in (analysis.arcs.uas, analysis.arcs.las))
        yield f"\naugmented dependencies: UAS {uas}, LAS {las}"
    tables = analysis.tables if names else {}
    for name in names:
        yield f"\n{TABLES.get(name) or LISTS[name]}"
        if name == "confusions":
            yield _confusions(analysis)
        elif name == "worst":
            yield _worst(analysis)
        else:
            yield _counts(tables[name])
    for name, d in differences.items():
        yield (
            f"\nF1, {name}: {d.first:.2f} → {d.second:.2f}, {d.difference:+.2f} "
            f"(95 % between {d.low:+.2f} and {d.high:+.2f}), p = {d.p:.3f}"
        )


def _confusions(analysis: Analysis) -> Table:
    table = Table("gold", "predicted", box=None, pad_edge=False)
    table.add_column("times", justify="right")
    for (gold, predicted), times in analysis.confusions.most_common(MAX_CONFUSIONS):
        table.add_row(gold, predicted, f"{times:,}")
    return table


def _worst(analysis: Analysis) -> Table:
    table = Table("sentence", "errors", "missing", "spurious", box=None, pad_edge=False)
    for worst in analysis.worst:
        table.add_row(worst.id, str(worst.errors), "\n".join(worst.missing), "\n".join(worst.spurious))
    return table


def _counts(rows: dict[str, BracketCounts]) -> Table:
    table = Table("", box=None, pad_edge=False)
    for column in COUNTS:
        table.add_column("F1" if column == "f1" else column, justify="right")
    for key, counts in rows.items():
        table.add_row(key, *(_cell(_plain(getattr(counts, column))) for column in COUNTS))
    return table


def _cell(value: float | int | None) -> str:
    return f"{value:,}" if isinstance(value, int) else number(value, 2)
