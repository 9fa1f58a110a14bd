"""evaluate."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from discotree.cli.console import ProgressBar, err, number, report_written, table, write_json, write_rich, write_text
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
from discotree.encoding.head_rules import HeadRules
from discotree.errors import EvaluationError, counted
from discotree.evaluation.analysis import TABLES, Analysis, BootstrapResult, bootstrap
from discotree.evaluation.params import Params
from discotree.evaluation.parseval import Score, common_trees
from discotree.evaluation.parseval import evaluate as score_trees
from discotree.evaluation.report import MAX_CONFUSIONS, ROWS, html, systems_of
from discotree.files.writing import STANDARD_STREAM, base_name
from discotree.trees.tree import Tree

if TYPE_CHECKING:
    from rich.table import Table

LISTS = {"confusions": "most frequent confusions", "worst": "worst sentences"}
COUNTS = ("gold", "predicted", "matched", "precision", "recall", "f1")
ReportFormat = Literal["table", "json", "html"]
REPORT_SUFFIXES = {".txt": "table", ".json": "json", ".html": "html", ".htm": "html"}


@click.command(
    epilog=examples(
        "discotree evaluate gold.export predicted.export --by label,gap",
        "discotree evaluate gold.export ours.dbr --compare-with theirs.dbr",
        "discotree evaluate gold.export predicted.export -o report.html",
    )
)
@click.argument("gold", metavar="GOLD")
@click.argument("predicted", metavar="PREDICTED")
@click.option(
    "--compare-with",
    metavar="OTHER",
    help="Trees of a second system: test whether the difference between the two systems is significant.",
)
@output_option("File to write: .txt, .json or .html (a report). By default, standard output.")
@choice_option("--to", ReportFormat, "Tables, one JSON object, or an HTML report with bars.")
@click.option(
    "--params", metavar="PARAMS", default="proper", help="proper, all, or a .prm file in the syntax of disco-dop."
)
@click.option("--by", metavar="TABLES", help=f"Add tables, separated by commas: {', '.join([*TABLES, *LISTS])}.")
@click.option("--heads", metavar="RULES", help="Head rules: also score the augmented dependencies.")
@click.option(
    "--missing-as-empty",
    is_flag=True,
    help="Count a sentence without a predicted tree as an empty parse, not an error.",
)
@click.option("--common", is_flag=True, help="Score only the sentences that are in all files, matched by id or words.")
@from_option
@encoding_option
def evaluate(
    gold: str,
    predicted: str,
    compare_with: str | None,
    output: str,
    to: ReportFormat | None,
    params: str,
    by: str | None,
    heads: str | None,
    missing_as_empty: bool,
    common: bool,
    from_: str | None,
    encoding: str | None,
) -> None:
    """Score trees against gold trees, exactly like disco-dop.

    GOLD and PREDICTED are files, folders, archives or patterns in any format.
    """
    names = [name.strip() for name in (by or "").split(",") if name.strip()]
    unknown = [name for name in names if name not in (*TABLES, *LISTS)]
    if unknown:
        raise click.UsageError(f"unknown table {unknown[0]!r} in --by; choose from {', '.join([*TABLES, *LISTS])}")
    if [gold, predicted, compare_with].count(STANDARD_STREAM) > (gold != STANDARD_STREAM or not compare_with):
        raise click.UsageError("standard input can be read only once")
    if common and missing_as_empty:
        raise click.UsageError("--common and --missing-as-empty cannot be combined")
    format = to or cast(ReportFormat, format_for(output, REPORT_SUFFIXES, "table"))
    files = [gold, predicted, *filter(None, [compare_with])]
    check_output(output, [*expand(files), params, heads])
    settings = Params.load(params)
    rules = HeadRules.load(heads) if heads else None
    analysis = Analysis(settings, rules=rules)
    systems = [base_name(predicted), base_name(compare_with or "")]
    systems = [predicted, f"{compare_with} (2)"] if systems[0] == systems[1] else systems
    with ProgressBar() as bar:

        def read(path: str) -> Iterator[Tree]:
            return TreebankInput([path], from_, encoding).trees(bar, path)

        shared: dict[str, list[Tree]] = {}
        if common:
            shared = dict(zip(files, common_sentences(files, [list(read(path)) for path in files]), strict=True))

        def score(path: str, observe: Analysis | None) -> Score:
            try:
                return score_trees(
                    shared[gold] if common else read(gold),
                    shared[path] if common else TreebankInput([path], from_, encoding).read(),
                    settings,
                    missing_as_empty=missing_as_empty,
                    observe=observe,
                )
            except EvaluationError as error:
                remedy = f"; {error.remedy}" if error.remedy else ""
                raise EvaluationError(f"{path} against {gold}: {error}{remedy}") from None

        first = score(predicted, analysis if names or heads or format == "html" else None)
        if not first.sentences:
            raise EvaluationError(f"{gold} has no trees, so there is nothing to score")
        second = score(compare_with, None) if compare_with else None
    differences = {}
    if second is not None:
        for name, gaps in (("all", False), ("discontinuous", True)):
            differences[name] = bootstrap(first, second, discontinuous=gaps)
    columns = _columns(first, second, systems, settings)
    if format == "html":
        write_text(html(f"{predicted} against {gold}", columns, analysis, differences), output)
    elif format == "json":
        write_json(_object(first, second, settings.disc_only, analysis, names, differences), output)
    else:
        write_rich(*_tables(columns, analysis, names, differences), output=output)
    report_written("scores", output)


def common_sentences(files: list[str], trees: list[list[Tree]]) -> list[list[Tree]]:
    """Return the trees of the sentences that are in all files; report how many others there are."""
    rows = common_trees(trees)
    if not rows:
        raise EvaluationError(f"{' and '.join(files)} have no sentence in common")
    counts = [f"{len(some) - len(rows):,} of {file}" for file, some in zip(files, trees, strict=True)]
    err.print(f"{counted(len(rows), 'common sentence')}; left out: {', '.join(counts)}", style="dim", soft_wrap=True)
    return [list(column) for column in zip(*rows, strict=True)]


def _columns(first: Score, second: Score | None, systems: list[str], settings: Params) -> dict[str, Score]:
    """Return the columns of the table: all and discontinuous brackets, all and short sentences, two systems."""
    cutoff = settings.cutoff_len
    columns: dict[str, Score] = {}
    for system, score in [(f"{systems[0]}\n", first), (f"{systems[1]}\n", second)] if second else [("", first)]:
        for name, part in (("all", score), ("disc.", score.discontinuous)):
            if settings.disc_only and name == "all":
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
    result: dict[str, Any] = dict((score.discontinuous if disc_only else score).metrics())
    if not disc_only:
        result["discontinuous"] = score.discontinuous.metrics()
    tables = analysis.tables if names else {}
    for name in names:
        if name == "confusions":
            pairs = analysis.confusions.most_common(MAX_CONFUSIONS)
            result[name] = [{"gold": a, "predicted": b, "times": times} for (a, b), times in pairs]
        elif name == "worst":
            result[name] = [worst._asdict() for worst in analysis.worst]
        else:
            rows = tables[name].items()
            result[name] = {key: {field: plain(getattr(counts, field)) for field in COUNTS} for key, counts in rows}
    if analysis.rules is not None:
        result |= {name: plain(value) for name, value in analysis.attachment.items()}
    if second is not None:
        result["against"] = (second.discontinuous if disc_only else second).metrics()
        result["difference"] = {name: difference._asdict() for name, difference in differences.items()}
    return result


def plain(value: float) -> float | None:
    return None if value != value else value


def _tables(
    scores: dict[str, Score], analysis: Analysis, names: list[str], differences: dict[str, BootstrapResult]
) -> "Iterator[Table | str]":
    """Yield the tables and lines for a terminal, from top to bottom."""
    metrics = [score.metrics() for score in scores.values()]
    rows = [
        [title, *(cell(column[key]) for column in metrics)]
        for key, title in ROWS.items()
        if any(column[key] is not None for column in metrics)
    ]
    yield table(["", *scores], rows, left=[""])
    if analysis.rules is not None:
        uas, las = (number(plain(value), 2) for value in analysis.attachment.values())
        yield f"\naugmented dependencies: UAS {uas}, LAS {las}"
    tables = analysis.tables if names else {}
    for name in names:
        yield f"\n{TABLES.get(name) or LISTS[name]}"
        if name == "confusions":
            pairs = analysis.confusions.most_common(MAX_CONFUSIONS)
            rows = [[gold, predicted, f"{times:,}"] for (gold, predicted), times in pairs]
            yield table(["gold", "predicted", "times"], rows, left=["gold", "predicted"])
        elif name == "worst":
            columns = ["sentence", "errors", "missing", "spurious"]
            rows = [[w.id, str(w.errors), "\n".join(w.missing), "\n".join(w.spurious)] for w in analysis.worst]
            yield table(columns, rows, left=columns)
        else:
            counted = tables[name].items()
            rows = [[key, *(cell(plain(getattr(counts, c))) for c in COUNTS)] for key, counts in counted]
            yield table(["", *COUNTS[:-1], "F1"], rows, left=[""])
    for name, d in differences.items():
        yield (
            f"\nF1, {name}: {' → '.join(systems_of(scores))}: {d.first:.2f} → {d.second:.2f}, {d.difference:+.2f} "
            f"(95 % between {d.low:+.2f} and {d.high:+.2f}), p {d.p_text}"
        )


def cell(value: float | int | None) -> str:
    return f"{value:,}" if isinstance(value, int) else number(value, 2)
