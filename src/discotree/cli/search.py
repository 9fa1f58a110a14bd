"""search and index."""

import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discotree.cli.console import (
    ProgressBar,
    complain,
    note,
    out,
    report_written,
    show_warnings,
    size_of,
    table,
    warn,
    write_rich,
)
from discotree.cli.options import (
    Decorator,
    TreebankInput,
    check_output,
    choice_option,
    examples,
    format_for,
    output_option,
    treebank_options,
    workers_option,
)
from discotree.errors import ConfigError, DiscotreeError, QueryError, counted
from discotree.files.writing import STANDARD_STREAM, writable
from discotree.processes import usable_cores
from discotree.queries.index import SUFFIX, is_index, write_batches
from discotree.queries.match import Context, bracketed, cut_left
from discotree.queries.query import Query
from discotree.queries.rows import MATCHES, GroupKey, as_text, by_count, columns, count_table, csv_lines, sort_key
from discotree.queries.search import OutputKind, ParallelSearch, SearchJob, explain_files
from discotree.treebanks import FORMATS, write
from discotree.treebanks.tables import Table
from discotree.trees.transforms import Punctuation

if TYPE_CHECKING:
    from rich.console import Console

NO_MATCH, FAILED = 1, 2  # exit codes, like those of grep
LARGE, MAX_WORKERS = 5_000_000, 16  # bytes of a treebank that is searched by several processes, and at most how many
PARQUET = "parquet"
TABLES = ("csv", "tsv", PARQUET)
ITEMS: dict[str, OutputKind] = {
    "concordance": "lines",
    "draw": "drawings",
    "html": "pictures",
    "csv": "rows",
    "tsv": "rows",
    PARQUET: "rows",
}
SUFFIXES = (
    {".txt": "concordance", ".html": "html"}
    | {suffix: name for name, format in FORMATS.items() for suffix in format.suffixes}
    | {f".{name}": name for name in TABLES}
)
STUDY_SUFFIXES = {".txt": "table"} | {f".{name}": name for name in TABLES}  # of the counts of named queries


punctuation_option: Decorator = choice_option(
    "--punctuation",
    Punctuation,
    "Before searching, re-attach punctuation low, remove it, or attach it to the root.",
    "keep",
)


@click.command(
    epilog=examples(
        "discotree search '#np:[cat=\"NP\"] >RC #rc & discontinuous(#np)' tiger.xml",
        "discotree search '#v:[pos=/VV.*/]' tiger.dtindex --group-by '#v.lemma'",
        "discotree search '[word=\"het\"]' alpino/ --count",
        "discotree search '#n:[cat=\"NP\"] & discontinuous(#n)' corpus/ --workers 8 -o hits.parquet",
        "discotree search '#n:[cat=\"NP\"] & discontinuous(#n)' tiger.xml --max 50 -o hits.html",
        "discotree search --queries constructions.toml corpus/ -o counts.csv",
    )
)
@click.argument("query", metavar="QUERY", required=False)
@click.option(
    "--queries",
    "queries_file",
    metavar="FILE",
    help="Instead of QUERY: count the matches of all queries in this TOML file, which has a line NAME = 'QUERY' for "
    "each. With -o FILE.csv, .tsv or .parquet, the counts are those of each file.",
)
@output_option("File to write. By default, standard output.")
@click.option(
    "--to",
    type=click.Choice([*dict.fromkeys((*SUFFIXES.values(), "draw"))]),
    metavar="FORMAT",
    help="concordance (words in context, the default), csv, tsv or parquet (a table of bindings), html (a page with "
    f"trees), draw, or a treebank format for the matching trees: {', '.join(FORMATS)}.",
)
@click.option("--count", "counting", is_flag=True, help="Only count the matches and the trees that contain them.")
@click.option(
    "--group-by",
    metavar="KEY",
    multiple=True,
    help="Count matches by #n.cat, #n.word, #p …; pass it twice for a cross-table.",
)
@click.option("--max", "maximum", type=click.IntRange(min=1), metavar="N", help="Stop after N matches.")
@punctuation_option
@workers_option("Number of processes. By default one, or one per core for a large treebank.")
@treebank_options(required=False)
def search(
    query: str | None,
    queries_file: str | None,
    source: TreebankInput,
    output: str,
    to: str | None,
    counting: bool,
    group_by: tuple[str, ...],
    maximum: int | None,
    punctuation: Punctuation,
    workers: int | None,
) -> None:
    """Search treebanks for constructions.

    QUERY is in the language of TIGERSearch. TREEBANK is a file, a folder, an archive, a pattern, an index
    (.dtindex), or - for standard input.

    Matches are printed in context; the words of the first variable are in brackets. Exit codes: 0 if there is a match,
    1 if there is none, 2 if there is an error.
    """
    if queries_file is not None:  # then the first argument is a treebank
        if counting or group_by or maximum:
            raise click.UsageError("--queries cannot be combined with --count, --group-by or --max")
        source, query = replace(source, arguments=[*filter(None, [query]), *source.arguments]), ""
    if query is None:
        raise click.MissingParameter(param_hint="'QUERY'", param_type="argument")
    if not source.arguments:
        raise click.MissingParameter(param_hint="'TREEBANK...'", param_type="argument")
    if queries_file is not None:
        count_queries(queries_file, source, output, to, punctuation, workers)
        return
    with _exit_codes():
        parsed_query = Query(query)
        keys = [GroupKey(key, parsed_query) for key in group_by]
        format = to or format_for(output, SUFFIXES, "concordance")
        if counting and (keys or format != "concordance"):
            raise click.UsageError(
                f"--count cannot be combined with {'--group-by' if keys else f'the format {format}'}"
            )
        if keys and format not in ("concordance", *TABLES):
            raise click.UsageError(f"--group-by cannot write {format}; use {', '.join(TABLES)}")
        _check_files(source, output, format, punctuation)
        kind: OutputKind = "keys" if keys else "nothing" if counting else ITEMS.get(format, "trees")
        is_shown = kind == "lines" and output == STANDARD_STREAM
        console = out() if is_shown and sys.stdout and sys.stdout.isatty() else None
        job = SearchJob(query, kind, punctuation, source.errors is not None, maximum, group_by)
        if console:
            job = replace(job, output="contexts", width=console.width)
        matches = trees = 0

        def items() -> Iterator[Any]:
            """Yield the items of matches, up to the maximum, and count the matches and their trees."""
            nonlocal matches, trees
            for hits in results:
                count = min(hits.matches, maximum - matches) if maximum else hits.matches
                matches += count
                trees += hits.is_new_tree
                yield from hits.items[:count]
                if matches == maximum:
                    return

        with (
            ProgressBar(shown=output != STANDARD_STREAM or counting or bool(keys)) as bar,
            closing(_run("searching", source, job, bar, workers)) as results,
        ):
            if keys or counting:
                counts = Counter(items())
            elif console:
                print_concordance(items(), console)
            else:
                write_items(items(), parsed_query, format, output)
        source.report_skipped()
        total = f"{counted(matches, 'match')} in {counted(trees, 'tree')}"
        stopped = f"stopped by --max {maximum}" if matches == maximum else ""
        if keys:
            write_counts(counts, keys, format, output)
        elif counting:
            write_lines([total], output)
            if stopped:
                note(stopped)
        elif is_shown:
            note(", ".join(filter(None, [total, stopped])) if matches else "no match")
        report_written(total if kind == "trees" else counted(matches, "match"), output)
        if not matches:
            explain(parsed_query, source)
    if not matches:
        raise click.exceptions.Exit(NO_MATCH)


def explain(query: Query, source: TreebankInput, prefix: str = "") -> None:
    """Print why a query has no match, if labels or words of it do not occur."""
    for reason in explain_files(query, source.paths, format=source.format, encoding=source.encoding):
        warn(f"{prefix}{reason}")


def _check_files(source: TreebankInput, output: str, format: str, punctuation: Punctuation) -> None:
    if format == PARQUET and output == STANDARD_STREAM and sys.stdout.isatty():
        raise click.UsageError("parquet cannot be shown on a terminal; pass -o FILE.parquet")
    check_output(output, source.paths)
    if punctuation != "keep" and (indexes := [path for path in source.paths if is_index(path)]):
        raise DiscotreeError(f"{indexes[0]}: --punctuation cannot change an index; pass it to discotree index")


def count_queries(
    path: str, source: TreebankInput, output: str, to: str | None, punctuation: Punctuation, workers: int | None
) -> None:
    """Count the matches of all queries of a file in one pass, and write a table, or counts for each file."""
    with _exit_codes():
        queries = read_queries(path)
        format = to or format_for(output, STUDY_SUFFIXES, "table")
        if format not in STUDY_SUFFIXES.values():
            raise click.UsageError(f"--queries cannot write {format}; pass --to csv, tsv or parquet")
        _check_files(source, output, format, punctuation)
        check_output(output, [path])
        job = SearchJob(None, "nothing", punctuation, source.errors is not None, counted=tuple(queries.values()))
        matches: Counter[tuple[str, str]] = Counter()  # by the name of the query and the file
        trees: Counter[tuple[str, str]] = Counter()  # that contain a match
        searched: Counter[str] = Counter()  # trees of each file
        with ProgressBar() as bar, closing(_run("searching", source, job, bar, workers)) as results:
            for identity, counts in results:
                # If there are several files, ids begin with the name of their file, or consist of it.
                file = identity.rpartition("/")[0] or (source.paths[0] if len(source.paths) == 1 else identity)
                searched[file] += 1
                for name, count in zip(queries, counts, strict=True):
                    matches[name, file] += count
                    trees[name, file] += count > 0
        source.report_skipped()
        types = {"construction": str, "file": str, MATCHES: int, "trees": int, "searched": int}
        totals = {
            name: [sum(column[name, file] for file in searched) for column in (matches, trees)] for name in queries
        }
        if format == "table":
            lines = [[name, *[f"{number:,}" for number in (*totals[name], searched.total())]] for name in queries]
            write_rich(table([name for name in types if name != "file"], lines, left=["construction"]), output=output)
        else:
            pairs = product(queries, searched.items())
            rows = [(name, file, matches[name, file], trees[name, file], size) for name, (file, size) in pairs]
            write_table(types, rows, format, output)
        report_written(f"the counts of {len(queries):,} queries", output)
        for name, (total, *_) in totals.items():
            if not total:
                explain(Query(queries[name]), source, f"{name}: ")
    if not matches.total():
        raise click.exceptions.Exit(NO_MATCH)


def read_queries(path: str) -> dict[str, str]:
    """Read queries by name from a TOML file, and check them."""
    from discotree.validation import line_of, read_toml

    queries = read_toml(Path(path))
    text = Path(path).read_text("utf-8")
    for name, query in queries.items():
        line = line_of(text, [name])
        try:
            if not isinstance(query, str):
                raise ConfigError(f"expected a query in quotes, got {query!r:.50}")
            Query(query)
        except (ConfigError, QueryError) as error:
            if isinstance(error, QueryError) and query in text:
                line = text.count("\n", 0, text.index(query) + error.offset) + 1
            raise ConfigError(f"{path}:{line or 1}: {name}: {error}") from None
    if not queries:
        raise ConfigError(f"{path}: contains no query; expected lines such as name = '[cat=\"NP\"]'")
    return queries


def _run(
    description: str, source: TreebankInput, job: SearchJob, bar: ProgressBar, workers: int | None = None
) -> Generator[Any, None, None]:
    """Yield the results of a job, by default with one process per core for large treebanks."""
    bar.expect(description, source.paths)
    if workers is None:
        workers = min(usable_cores(), MAX_WORKERS) if (size_of(source.paths) or 0) >= LARGE else 1
    run = ParallelSearch(
        source.paths,
        job,
        source.stems,
        source.format,
        source.encoding,
        workers,
        begin=show_warnings,
        progress=bar.advance,
        errors=source.errors,
    )
    return run.results()


@contextmanager
def _exit_codes() -> Iterator[None]:
    """Exit with code 2 after an error: 1 means that nothing matched."""
    try:
        yield
    except QueryError as error:
        raise click.UsageError(str(error)) from None
    except DiscotreeError as error:
        complain(str(error))
        raise click.exceptions.Exit(FAILED) from None


@click.command(epilog=examples("discotree index tiger.xml", "discotree index 'corpus/*.psd' -o corpus.dtindex"))
@output_option(f"File to write. By default, the name of the treebank with {SUFFIX}.", default=None)
@punctuation_option
@treebank_options()
def index(source: TreebankInput, output: str | None, punctuation: Punctuation) -> None:
    """Index treebanks that you search often.

    TREEBANK is a file, a folder, an archive, a pattern, or - for standard input. The index contains the trees, so
    that you can search it instead of the treebanks. It does not change when they do.
    """
    paths = source.paths
    if not output and (len(paths) > 1 or paths[0] == STANDARD_STREAM):
        raise click.UsageError("pass -o FILE: the default name is ambiguous for several treebanks and standard input")
    output = output or paths[0].rstrip("/\\") + SUFFIX
    if not is_index(output):
        raise click.UsageError(f"{output}: the name of an index must end in {SUFFIX}")
    check_output(output, paths)
    job = SearchJob(None, "batches", punctuation, source.errors is not None)
    with ProgressBar() as bar, closing(_run("indexing", source, job, bar)) as batches:
        number = write_batches(batches, output)
    source.report_skipped()
    report_written(counted(number, "tree"), output)


def write_items(items: Iterable[Any], query: Query, format: str, output: str) -> None:
    """Write the items of matches: lines, rows of a table, pictures, or trees."""
    if format == "html":
        from discotree.drawing import draw_page

        write_lines((piece.removesuffix("\n") for piece in draw_page(items, query.text)), output)
    elif format in TABLES:
        write_table(columns(query), items, format, output)
    elif format in FORMATS:
        write(items, output, format)
    else:
        write_lines(items, output)


def print_concordance(items: Iterable[tuple[str, Context]], console: "Console") -> None:
    """Print lines that fit the terminal, with the matches in one column and in colour."""
    from rich.text import Text

    id_width = 8  # grows with the ids, which are not known before the search ends
    for identity, (left, pieces, right) in items:
        id_width = min(max(id_width, len(identity)), console.width // 4)
        left_width = (console.width - id_width) // 3
        is_long = len(bracketed(pieces)) > console.width - id_width - left_width
        line = Text(f"{cut_left(identity, id_width):<{id_width}} ", "dim")
        line.append(f"{cut_left(left, left_width):>{left_width}}", "not dim")
        for text, is_gap in pieces:
            shown = ("…" if is_long else text) if is_gap else f"[{text}]"
            line.append(f" {shown}", None if is_gap else "not dim bold cyan")
        console.print(line.append(f" {right}", "not dim"), no_wrap=True, overflow="ellipsis")


def write_counts(counts: "Counter[tuple[str, ...]]", keys: list[GroupKey], format: str, output: str) -> None:
    """Write a table of counts, the most frequent first; two keys make a cross-table, except in Parquet."""
    if format == PARQUET:
        count_table(counts, keys).to_parquet(output)
        return
    rows = [[*[key.text for key in keys], "matches"], *[[*values, number] for values, number in by_count(counts)]]
    if len(keys) == 2:
        across = sorted({second for _, second in counts}, key=sort_key)
        totals: Counter[str] = Counter()
        for (first, _), number in counts.items():
            totals[first] += number
        rows = [[f"{keys[0].text} \\ {keys[1].text}", *across]]
        rows += [[first, *[counts[first, second] for second in across]] for first, _ in by_count(totals)]
    write_lines(csv_lines(rows, format), output)


def write_table(columns: dict[str, type], rows: Iterable[Any], format: str, output: str) -> None:
    """Write a table as Parquet, CSV or TSV."""
    if format == PARQUET:
        Table(columns, rows).to_parquet(output)
    else:
        write_lines(csv_lines(chain([columns], map(as_text, rows)), format), output)


def write_lines(lines: Iterable[str], output: str) -> None:
    """Write lines as they come."""
    with writable(output) as stream:
        for line in lines:
            stream.write(f"{line}\n".encode("utf-8", "replace"))
