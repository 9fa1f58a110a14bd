"""search and index."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Annotated, Any

import typer

from discotree.cli.common import err, report_written
from discotree.cli.options import Encoding, From, Skip, check_output, expand, format_for, one_of, output_option
from discotree.cli.progress import ProgressBar
from discotree.cli.reading import read_trees, report_skipped
from discotree.errors import DiscotreeError, QueryError, TreebankError
from discotree.files.names import STANDARD_STREAM
from discotree.files.writing import writable
from discotree.queries.index import SUFFIX, is_index, search_index, write_index
from discotree.queries.match import Match
from discotree.queries.query import Query
from discotree.queries.rows import GroupKey, count, header, rows
from discotree.treebanks import FORMATS, write
from discotree.trees.transforms import Punctuation, transform
from discotree.trees.tree import Tree

NOTHING_FOUND, FAILED = 1, 2  # exit codes, as grep has them

SUFFIXES = {".txt": "concordance", ".csv": "csv", ".tsv": "tsv"} | {
    suffix: name for name, format in FORMATS.items() for suffix in format.suffixes
}

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
            help="concordance (lines of words), csv or tsv (bindings), draw, or a treebank format: the trees found.",
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
) -> None:
    """Search treebanks for constructions.

    Matches are shown as lines of words, with those of the first variable in brackets and its gaps between them. The
    exit code is 0 if there is a match, 1 if there is none, and 2 if something is wrong.
    """
    with _exit_codes():
        found = Query(query)
        keys = [GroupKey(key, found) for key in group_by or []]
        if focus and focus not in found.variables:
            raise typer.BadParameter(f"--focus: the query has no variable {focus!r}")
        chosen = to or format_for(output, SUFFIXES, "concordance")
        errors: list[TreebankError] = []
        paths = expand(treebanks)
        check_output(output, paths)
        with ProgressBar(shown=output != STANDARD_STREAM or counting or bool(keys)) as bar:
            bar.expect("searching", paths)
            source = _Source(from_, encoding, punctuation, errors if skip_broken else None, bar)
            matches = (match for path in paths for match in source.matches(found, path))
            tally = _Tally(islice(matches, maximum) if maximum else matches)
            if keys:
                table = count(tally, keys)
            elif counting:
                for _ in tally:
                    pass
            elif chosen in FORMATS:
                write(tally.trees(), output, chosen)
            else:
                _write_lines(_lines(tally, found, chosen, focus, width), output)
        report_skipped(errors)
        if keys:
            _write_lines(_grouped(table, keys, chosen), output)
        elif counting:
            _write_lines([f"{tally.matches:,} matches in {tally.count:,} trees"], output)
        report_written(f"{tally.matches:,} matches", output)
    if not tally.matches:
        raise typer.Exit(NOTHING_FOUND)


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


@dataclass(frozen=True)
class _Source:
    """How treebanks are read."""

    format: str | None
    encoding: str | None
    punctuation: Punctuation
    errors: list[TreebankError] | None
    bar: ProgressBar

    def trees(self, paths: list[str]) -> Iterable[Tree]:
        trees = read_trees(paths, self.format, self.encoding, self.errors, with_stems=True, on_bytes=self.bar.on_bytes)
        return (transform(tree, punctuation=self.punctuation) for tree in self.bar.track(trees))

    def matches(self, query: Query, path: str) -> Iterator[Match]:
        if not is_index(path):
            for tree in self.trees([path]):
                yield from query.matches(tree)
            return
        if self.punctuation != "keep":
            raise DiscotreeError(f"{path}: --punctuation is for treebanks; make the index with it")
        yield from search_index(path, query)


class _Tally(Iterator[Match]):
    """Counts matches, and the trees that have them, on their way."""

    def __init__(self, matches: Iterable[Match]) -> None:
        self.source = iter(matches)
        self.matches = self.count = 0
        self.last: Tree | None = None

    def __next__(self) -> Match:
        match = next(self.source)
        self.matches += 1
        if match.tree is not self.last:
            self.count, self.last = self.count + 1, match.tree
        return match

    def trees(self) -> Iterator[Tree]:
        """Yield every tree once."""
        for _, group in groupby(self, key=lambda match: id(match.tree)):
            yield next(group).tree


def _lines(matches: "_Tally", query: Query, format: str, focus: str, width: int) -> Iterator[str]:
    if format == "draw":
        for tree in matches.trees():
            yield f"{tree.id}\n{tree.draw()}\n"
    elif format == "concordance":
        for match in matches:
            yield f"{match.tree.id}\t{match.concordance(width, focus)}"
    else:
        yield _csv_line(header(query), format)
        for row in rows(matches):
            yield _csv_line(row, format)


def _grouped(table: "Counter[tuple[str, ...]]", keys: list[GroupKey], format: str) -> Iterator[str]:
    """Yield the lines of a table of counts, the most frequent first; of two keys, a cross-table."""
    format = "csv" if format == "csv" else "tsv"
    if len(keys) == 2:
        columns = sorted({second for _, second in table})
        yield _csv_line([f"{keys[0].text} \\ {keys[1].text}", *columns], format)
        totals = Counter({first: 0 for first, _ in table})
        for (first, _), number in table.items():
            totals[first] += number
        for first, _ in _by_count(totals):
            yield _csv_line([first, *[str(table[first, second]) for second in columns]], format)
        return
    yield _csv_line([*[key.text for key in keys], "matches"], format)
    for values, number in _by_count(table):
        yield _csv_line([*values, str(number)], format)


def _by_count(table: "Counter[Any]") -> list[tuple[Any, int]]:
    return sorted(table.items(), key=lambda item: (-item[1], item[0]))


def _csv_line(row: list[str], format: str) -> str:
    stream = io.StringIO()
    csv.writer(stream, delimiter="," if format == "csv" else "\t", lineterminator="").writerow(row)
    return stream.getvalue()


def _write_lines(lines: Iterable[str], output: str) -> None:
    with writable(output) as stream:
        for line in lines:
            stream.write(f"{line}\n".encode("utf-8", "replace"))


def index(
    treebanks: Annotated[
        list[str], typer.Argument(metavar="TREEBANK", help="Files, folders, archives, patterns, or -.")
    ],
    output: Annotated[str, output_option(f"File to write, by default the treebank's name with {SUFFIX}.")] = "",
    punctuation: PunctuationFirst = "keep",
    from_: From = None,
    encoding: Encoding = None,
    skip_broken: Skip = False,
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
        source = _Source(from_, encoding, punctuation, errors if skip_broken else None, bar)
        number = write_index(source.trees(paths), output)
    report_skipped(errors)
    report_written(f"{number:,} trees", output)
