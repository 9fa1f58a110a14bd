"""What search writes: lines, tables, counts, trees."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from discotree.files.writing import writable
from discotree.queries.query import Query
from discotree.queries.rows import GroupKey, as_text, binding_table, by_count, count_table, header
from discotree.queries.work import Hits
from discotree.treebanks import FORMATS, write

PARQUET = "parquet"
TABLES = ("csv", "tsv", PARQUET)  # formats of a table


class Tally(Iterator[Any]):
    """Goes through what is made of matches, up to a number of them, and counts them and their trees."""

    def __init__(self, hits: Iterable[Hits], maximum: int = 0) -> None:
        self.hits = iter(hits)
        self.maximum = maximum
        self.matches = self.trees = 0
        self.items: list[Any] = []  # the next ones, in reverse

    def __next__(self) -> Any:
        while not self.items:
            if self.maximum and self.matches >= self.maximum:
                raise StopIteration
            hits = next(self.hits)
            count = min(hits.matches, self.maximum - self.matches) if self.maximum else hits.matches
            self.matches += count
            self.trees += hits.is_new_tree
            self.items = hits.items[:count][::-1]
        return self.items.pop()


def write_items(items: Iterable[Any], query: Query, format: str, output: str) -> None:
    """Write what is made of matches: lines, rows of a table, or trees."""
    if format == PARQUET:
        binding_table(items, query).to_parquet(output)
    elif format in TABLES:
        rows = (csv_line(as_text(row), format) for row in items)
        write_lines((line for lines in ([csv_line(header(query), format)], rows) for line in lines), output)
    elif format in FORMATS:
        write(items, output, format)
    else:
        write_lines(items, output)


def write_counts(counts: "Counter[tuple[str, ...]]", keys: list[GroupKey], format: str, output: str) -> None:
    """Write a table of counts; as text, two keys make a cross-table."""
    if format == PARQUET:
        count_table(counts, keys).to_parquet(output)
    else:
        write_lines(_grouped(counts, keys, "csv" if format == "csv" else "tsv"), output)


def _grouped(counts: "Counter[tuple[str, ...]]", keys: list[GroupKey], format: str) -> Iterator[str]:
    """Yield the lines of a table of counts, the most frequent first; of two keys, a cross-table."""
    if len(keys) == 2:
        columns = sorted({second for _, second in counts})
        yield csv_line([f"{keys[0].text} \\ {keys[1].text}", *columns], format)
        totals = Counter({first: 0 for first, _ in counts})
        for (first, _), number in counts.items():
            totals[first] += number
        for first, _ in by_count(totals):
            yield csv_line([first, *[str(counts[first, second]) for second in columns]], format)
        return
    yield csv_line([*[key.text for key in keys], "matches"], format)
    for values, number in by_count(counts):
        yield csv_line([*values, str(number)], format)


def csv_line(row: list[str], format: str) -> str:
    """Return a row without its line end."""
    stream = io.StringIO()
    csv.writer(stream, delimiter="," if format == "csv" else "\t", lineterminator="").writerow(row)
    return stream.getvalue()


def write_lines(lines: Iterable[str], output: str) -> None:
    """Write lines as they come."""
    with writable(output) as stream:
        for line in lines:
            stream.write(f"{line}\n".encode("utf-8", "replace"))
