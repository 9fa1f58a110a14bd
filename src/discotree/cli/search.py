"""search and index."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Annotated

import typer

from discotree.cli.common import err, report_written, show_warnings
from discotree.cli.options import Encoding, From, Skip, check_output, expand, format_for, one_of, output_option
from discotree.cli.progress import ProgressBar, size_of
from discotree.cli.reading import report_skipped
from discotree.cli.search_output import PARQUET, TABLES, Tally, write_counts, write_items, write_lines
from discotree.errors import DiscotreeError, QueryError, TreebankError
from discotree.files.names import STANDARD_STREAM, stems
from discotree.network.cores import usable_cores
from discotree.queries.first_look import FirstLook
from discotree.queries.index import SUFFIX, is_index
from discotree.queries.index_writing import write_batches
from discotree.queries.parts import Input, OrderedRun
from discotree.queries.query import Query
from discotree.queries.rows import GroupKey
from discotree.queries.work import IndexWorker, Items, SearchJob, SearchWorker
from discotree.treebanks import FORMATS
from discotree.trees.transforms import Punctuation

NOTHING_FOUND, FAILED = 1, 2  # exit codes, as grep has them

LARGE, MAX_WORKERS = 5_000_000, 16  # a treebank of so many bytes is worth several processes, but not more than these

SUFFIXES = (
    {".txt": "concordance"}
    | {suffix: name for name, format in FORMATS.items() for suffix in format.suffixes}
    | {f".{name}": name for name in TABLES}
)

Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Number of processes; by default one, or one per core for a large treebank."),
]
PunctuationFirst = Annotated[
    Punctuation, typer.Option(help="Re-attach punctuation low first, so that it makes no gaps; or remove it.")
]


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to find, in the language of TIGERSearch.")],
    treebanks: Annotated[
        list[str],
        typer.Argument(metavar="TREEBANK", help=f"Files, folders, archives, patterns, indexes ({SUFFIX}), or -."),
    ],
    output: Annotated[str, output_option("File to write; standard output if not given.")] = STANDARD_STREAM,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            callback=one_of("format", dict.fromkeys((*SUFFIXES.values(), "draw"))),
            help="concordance (lines of words), csv, tsv or parquet (a table of bindings), draw, or a treebank format: "
            "the trees found.",
        ),
    ] = None,
    counting: Annotated[bool, typer.Option("--count", help="Count matches, and the trees that have them.")] = False,
    group_by: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Count matches by #n.cat, #n.word, #p …; twice for a cross-table."),
    ] = None,
    focus: Annotated[str, typer.Option(metavar="VARIABLE", help="The node in brackets; the first one.")] = "",
    width: Annotated[int, typer.Option(min=0, help="Characters on both sides of it.")] = 40,
    maximum: Annotated[int, typer.Option("--max", min=0, metavar="N", help="Stop after N matches; 0 for all.")] = 0,
    punctuation: PunctuationFirst = "keep",
    from_: From = None,
    encoding: Encoding = None,
    skip_broken: Skip = False,
    workers: Workers = None,
) -> None:
    """Search treebanks for constructions.

    Matches are shown as lines of words, with those of the first variable in brackets and its gaps between them. The
    exit code is 0 if there is a match, 1 if there is none, and 2 if something is wrong.
    """
    with _exit_codes():
        found = Query(query)
        keys = [GroupKey(key, found) for key in group_by or []]
        if focus and focus not in found.node_variables:
            raise typer.BadParameter(f"--focus: the query has no node {focus!r}")
        chosen = to or format_for(output, SUFFIXES, "concordance")
        if chosen == PARQUET and output == STANDARD_STREAM and sys.stdout.isatty():
            raise typer.BadParameter("a terminal cannot show parquet: -o FILE.parquet")
        paths = expand(treebanks)
        check_output(output, paths)
        if punctuation != "keep" and (indexes := [path for path in paths if is_index(path)]):
            raise DiscotreeError(f"{indexes[0]}: --punctuation is for treebanks; make the index with it")
        items = "keys" if keys else "nothing" if counting else _items_for(chosen)
        job = SearchJob(query, items, punctuation, skip_broken, maximum, focus, width, tuple(group_by or ()))
        errors: list[TreebankError] = []
        with ProgressBar(shown=output != STANDARD_STREAM or counting or bool(keys)) as bar:
            bar.expect("searching", paths)
            look = FirstLook(found, keeps_gaps=punctuation == "keep")
            source = Input(paths, _stems(paths), from_, encoding, found, look)
            processes = workers or suitable_workers(paths)
            run = OrderedRun(source, processes, show_warnings, bar.advance, errors if skip_broken else None)
            with closing(run.found(SearchWorker(job), partial(SearchWorker, job))) as hits:
                tally = Tally(hits, maximum)
                table: Counter[tuple[str, ...]] = Counter()
                if keys or counting:
                    table.update(tally)
                else:
                    write_items(tally, found, chosen, output)
        report_skipped(errors)
        if keys:
            write_counts(table, keys, chosen, output)
        elif counting:
            write_lines([f"{tally.matches:,} matches in {tally.trees:,} trees"], output)
        report_written(f"{tally.matches:,} matches", output)
    if not tally.matches:
        raise typer.Exit(NOTHING_FOUND)


def _items_for(format: str) -> Items:
    """Return what is made of matches for a format."""
    if format in TABLES:
        return "rows"
    return "lines" if format == "concordance" else "drawings" if format == "draw" else "trees"


def _stems(paths: list[str]) -> list[str]:
    return stems(paths) if len(paths) > 1 else [""] * len(paths)


def suitable_workers(paths: list[str]) -> int:
    """Return how many processes suit some treebanks."""
    return min(usable_cores(), MAX_WORKERS) if (size_of(paths) or 0) >= LARGE else 1


@contextmanager
def _exit_codes() -> Iterator[None]:
    """Tell errors from "nothing found": whatever is wrong has the exit code 2."""
    try:
        yield
    except QueryError as error:
        raise typer.BadParameter(str(error)) from None
    except DiscotreeError as error:
        err.print(f"discotree: {error}", style="red", soft_wrap=True)
        raise typer.Exit(FAILED) from None


def index(
    treebanks: Annotated[
        list[str], typer.Argument(metavar="TREEBANK", help="Files, folders, archives, patterns, or -.")
    ],
    output: Annotated[str, output_option(f"File to write, by default the treebank's name with {SUFFIX}.")] = "",
    punctuation: PunctuationFirst = "keep",
    from_: From = None,
    encoding: Encoding = None,
    skip_broken: Skip = False,
    workers: Workers = None,
) -> None:
    """Make an index of treebanks that you search often.

    The index holds the trees, too: search it in place of the treebanks. It does not change when they do.
    """
    paths = expand(treebanks)
    if not output and (len(paths) > 1 or paths[0] == STANDARD_STREAM):
        raise typer.BadParameter("which file? -o FILE")
    output = output or paths[0].rstrip("/\\") + SUFFIX
    if not is_index(output):
        raise typer.BadParameter(f"{output}: the name of an index ends in {SUFFIX}")
    check_output(output, paths)
    errors: list[TreebankError] = []
    with ProgressBar() as bar:
        bar.expect("indexing", paths)
        source = Input(paths, _stems(paths), from_, encoding)
        processes = workers or suitable_workers(paths)
        run = OrderedRun(source, processes, show_warnings, bar.advance, errors if skip_broken else None)
        set_up = partial(IndexWorker, punctuation, skip_broken)
        with closing(run.found(set_up(), set_up)) as batches:
            number = write_batches(batches, output)
    report_skipped(errors)
    report_written(f"{number:,} trees", output)
