"""Matches as rows: a table of bindings, and counts by features of variables."""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from discotree.errors import ConfigError
from discotree.queries.language import FEATURES
from discotree.queries.match import FoundNode, Match, bracketed
from discotree.queries.query import Query
from discotree.treebanks.tables import Table

Row = tuple[Any, ...]

EMPTY = ""  # the value of a feature that a node lacks

COLUMNS: dict[str, Callable[[FoundNode], str]] = {
    **{name: (lambda node, name=name: node.view.value(node.address, name) or EMPTY) for name in FEATURES},  # type: ignore[misc]
    "label": lambda node: node.cat or node.pos or EMPTY,
    "text": lambda node: node.text,
    "gaps": lambda node: str(node.gap_degree),
    "words": lambda node: str(len(node.positions)),
}
MATCHES = "matches"  # the column of counts
NODE_COLUMNS = ("text", "label", "edge")  # columns of every variable in a table of bindings
TABLE_WIDTH = 60  # characters of context on each side, in a table of bindings


class GroupKey:
    """A key to count matches by: a feature of a variable (``#n.cat``), or the value of one (``#p``)."""

    def __init__(self, text: str, query: Query) -> None:
        self.text = text
        self.all_gaps = query.all_gaps
        self.variable, _, self.column = text.partition(".")
        if self.variable not in query.variables:
            known = ", ".join(name for name in query.variables if name.startswith("#")) or "none"
            raise ConfigError(f"{text!r}: the query has no variable {self.variable!r}; it has {known}")
        if self.column and self.column not in COLUMNS:
            raise ConfigError(f"{text!r}: unknown column {self.column!r}; choose one of {', '.join(COLUMNS)}")

    def value(self, match: Match) -> str:
        bound = match[self.variable]
        if not isinstance(bound, FoundNode):
            return bound or EMPTY
        if self.column == "gaps":
            return str(bound.view.gap_degree(bound.address, self.all_gaps))
        return COLUMNS[self.column or "text"](bound)


def columns(query: Query) -> dict[str, Any]:
    """Return the names and the types of the columns of ``row``; a variable for a value has one column."""
    types: dict[str, Any] = dict.fromkeys(("id", "left", "match", "right"), str)
    for name in query.variables:
        if name in query.node_variables:
            types |= {f"{name}.{column}": str | None for column in NODE_COLUMNS}
            types[f"{name}.positions"] = tuple[int, ...] | None
        else:
            types[name] = str | None
    return types


def row(match: Match, width: int = TABLE_WIDTH, focus: str | None = None) -> Row:
    """Return the row of a match: the id of the sentence, the match in its context, then the cells of each variable."""
    left, pieces, right = match.context(width, focus)
    cells: list[Any] = [match.view.id, left, bracketed(pieces), right]
    for name, bound in match.items():
        if isinstance(bound, FoundNode):
            cells += [COLUMNS[column](bound) or None for column in NODE_COLUMNS]
            cells.append(bound.positions)
        elif name in match.node_variables:
            cells += [None] * (len(NODE_COLUMNS) + 1)
        else:
            cells.append(bound)
    return tuple(cells)


def as_text(row: Row) -> list[str]:
    """Return the cells of a row as text, for a CSV file."""
    return [" ".join(map(str, cell)) if isinstance(cell, tuple) else EMPTY if cell is None else cell for cell in row]


def csv_lines(rows: Iterable[Iterable[object]], format: str) -> Iterator[str]:
    """Yield the lines of a table as csv or tsv, without line ends."""
    # writerow returns the result of write, here the line itself.
    writer = csv.writer(SimpleNamespace(write=str), delimiter="," if format == "csv" else "\t", lineterminator="")
    return map(writer.writerow, rows)


def count_table(counts: Counter[tuple[str, ...]], keys: Sequence[GroupKey]) -> Table[Row]:
    """Return a table of counts, the most frequent first: the values of the keys, and the number of matches."""
    names = [key.text for key in keys]
    if len(set(names)) < len(names):
        raise ConfigError(f"duplicate column {max(names, key=names.count)!r}")
    return Table(
        {**dict.fromkeys(names, str), MATCHES: int}, [(*values, number) for values, number in by_count(counts)]
    )


def by_count(counts: "Counter[Any]") -> list[tuple[Any, int]]:
    """Return the counted values with their counts, the most frequent first, then in order."""
    return sorted(counts.items(), key=lambda item: (-item[1], sort_key(item[0])))


def sort_key(values: str | Sequence[str]) -> list[tuple[bool, int, str]]:
    """Return a key that sorts numbers as numbers, before all other values."""
    texts = [values] if isinstance(values, str) else values
    return [(not text.isdecimal(), text.isdecimal() * len(text), text) for text in texts]
