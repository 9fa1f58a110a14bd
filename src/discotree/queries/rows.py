"""Matches as rows: a table of bindings, and counts by features of variables."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from discotree.errors import ConfigError
from discotree.queries.language import FEATURES
from discotree.queries.match import FoundNode, Match
from discotree.queries.query import Query
from discotree.treebanks.dataframes import Table

Row = tuple[Any, ...]

NOTHING = ""  # the value of a feature that a node lacks, in a table

COLUMNS: dict[str, Callable[[FoundNode], str]] = {
    **{name: (lambda node, name=name: node.view.value(node.address, name) or NOTHING) for name in FEATURES},  # type: ignore[misc]
    "label": lambda node: node.cat or node.pos or NOTHING,
    "text": lambda node: node.text,
    "gaps": lambda node: str(node.gap_degree),
    "words": lambda node: str(len(node.positions)),
}
MATCHES = "matches"  # the column of counts
SHOWN = ("text", "label", "edge")  # columns of every variable in a table of bindings


class GroupKey:
    """What matches are counted by: a feature of a variable (``#n.cat``), or the value of one (``#p``)."""

    def __init__(self, text: str, query: Query) -> None:
        self.text = text
        self.variable, _, self.column = text.partition(".")
        if self.variable not in query.variables:
            known = ", ".join(name for name in query.variables if name.startswith("#")) or "none"
            raise ConfigError(f"{text!r}: the query has no variable {self.variable!r}; it has {known}")
        if self.column and self.column not in COLUMNS:
            raise ConfigError(f"{text!r}: there is no {self.column!r}; there are {', '.join(COLUMNS)}")

    def value(self, match: Match) -> str:
        bound = match[self.variable]
        if isinstance(bound, FoundNode):
            return COLUMNS[self.column or "text"](bound)
        return bound or NOTHING


def count(matches: Iterable[Match], keys: Sequence[GroupKey]) -> Counter[tuple[str, ...]]:
    """Count matches by the values of some keys."""
    return Counter(tuple([key.value(match) for key in keys]) for match in matches)


def columns(query: Query) -> dict[str, Any]:
    """Return the names and the types of the columns of ``row``; a variable for a value has one column."""
    found: dict[str, Any] = {"id": str}
    for name in query.variables:
        if name in query.node_variables:
            found |= {f"{name}.{column}": str | None for column in SHOWN}
            found[f"{name}.positions"] = tuple[int, ...] | None
        else:
            found[name] = str | None
    return found


def row(match: Match) -> Row:
    """Return the row of a match: the id of the sentence, then what each variable stands for."""
    found: list[Any] = [match.view.id]
    for name, bound in match.items():
        if isinstance(bound, FoundNode):
            found += [COLUMNS[column](bound) or None for column in SHOWN]
            found.append(bound.positions)
        elif name in match.node_variables:
            found += [None] * (len(SHOWN) + 1)
        else:
            found.append(bound)
    return tuple(found)


def as_text(row: Row) -> list[str]:
    """Return a row as a line of a CSV file has it."""
    return [" ".join(map(str, cell)) if isinstance(cell, tuple) else NOTHING if cell is None else cell for cell in row]


def header(query: Query) -> list[str]:
    """Return the first line of a CSV file of bindings."""
    return list(columns(query))


def rows(matches: Iterable[Match]) -> Iterator[list[str]]:
    """Yield the other lines of a CSV file of bindings."""
    return (as_text(row(match)) for match in matches)


def binding_table(rows: Iterable[Row], query: Query) -> Table[Row]:
    """Return a table of bindings, to iterate over or to make a data frame of."""
    return Table(columns(query), rows)


def count_table(counts: Counter[tuple[str, ...]], keys: Sequence[GroupKey]) -> Table[Row]:
    """Return a table of counts, the most frequent first: the values of the keys, and the number of matches."""
    names = [key.text for key in keys]
    if len(set(names)) < len(names):
        raise ConfigError(f"a table cannot have the column {max(names, key=names.count)!r} twice")
    return Table(
        {**dict.fromkeys(names, str), MATCHES: int}, [(*values, number) for values, number in by_count(counts)]
    )


def by_count(counts: "Counter[Any]") -> list[tuple[Any, int]]:
    """Return what was counted, the most frequent first."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
