"""An index of trees on disk: one SQLite file with the trees, and which of them have what.

For every value of every feature (``cat="NP"``, ``word="het"``) the file lists the numbers of the trees that have it.
``gap="NP"`` lists those with a discontinuous NP, ``gap-degree="2"`` those with a constituent that has two gaps. A query
looks up the values that it cannot do without, and reads only the trees that have all of them. The file is a copy: it
does not change with the treebank.
"""

import os
import re
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from math import inf
from os import PathLike, fspath
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from discotree.errors import TreebankError
from discotree.queries.index_format import (
    APPLICATION,
    DAMAGE,
    FORMAT,
    GAP_DEGREE_FEATURE,
    GAP_FEATURE,
    PART,
    Columns,
    unpacked,
)
from discotree.queries.index_writing import write_index
from discotree.queries.language import Expression
from discotree.queries.match import Match
from discotree.queries.plan import Plan, Step
from discotree.queries.prefixes import after, prefixes
from discotree.queries.query import Query
from discotree.queries.record_view import RecordView
from discotree.queries.values import exact_values, value_test
from discotree.trees.tree import Tree

__all__ = ["FORMAT", "PART", "SUFFIX", "Index", "is_index", "search_index", "write_index"]

SUFFIX = ".dtindex"
FETCHED = 100  # records in memory
MAX_DIGITS = 10  # more are no gap degree

Made = TypeVar("Made")

_RECORDS = "SELECT number, record FROM trees"


class Index:
    """An index, open for reading. Several threads may use it; their statements wait for each other."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = fspath(path)
        if not os.path.isfile(self.path):
            raise TreebankError("there is no such index", self.path)
        self.lock = Lock()
        address = f"{Path(self.path).resolve().as_uri()}?mode=ro"
        self.database = sqlite3.connect(address, uri=True, check_same_thread=False)
        try:
            self._check()
        except sqlite3.Error as error:
            self.database.close()
            raise TreebankError(f"not an index: {error}", self.path) from None
        except TreebankError:
            self.database.close()
            raise

    def _check(self) -> None:
        """Refuse the file of another program, of another version, and one whose tables compute what they contain."""
        self.database.execute("PRAGMA trusted_schema = OFF")
        (application,) = self.database.execute("PRAGMA application_id").fetchone()
        (version,) = self.database.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise TreebankError("not an index: make one with discotree index", self.path)
        if version > FORMAT:
            raise TreebankError(f"made by a newer discotree (format {version}, this one knows {FORMAT})", self.path)
        if version < FORMAT:
            message = f"made by an older discotree (format {version}, this one knows {FORMAT})"
            raise TreebankError(f"{message}: make it again with discotree index", self.path)
        found = self.database.execute("SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").fetchall()
        if sorted(found) != [("table", "lists"), ("table", "trees")]:
            raise TreebankError("not an index: expected two tables, and nothing else", self.path)

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.database.close()

    def __len__(self) -> int:
        ((count,),) = self._rows("SELECT count(*) FROM trees")
        return int(count)

    def _rows(self, statement: str, *values: int | str) -> list[tuple[Any, ...]]:
        """Return all rows of a statement, so that no thread stands in the middle of one."""
        try:
            with self.lock:
                return self.database.execute(statement, values).fetchall()
        except UnicodeEncodeError:  # half a character, which an index cannot store
            return []
        except sqlite3.ProgrammingError as error:  # closed by another thread, or before its matches were read
            raise TreebankError(f"the index is closed: {error}", self.path) from None
        except sqlite3.Error as error:
            raise TreebankError(f"the index cannot be read, it may be damaged: {error}", self.path) from None

    def trees(self, numbers: Iterable[int] | None = None) -> Iterator[Tree]:
        """Yield the trees with these numbers, counted from 1; all of them if none are given."""
        return self._made(numbers, Columns.tree)

    def views(self, numbers: Iterable[int] | None = None) -> Iterator[RecordView]:
        """Yield the trees with these numbers as queries see them, which takes a fraction of the time."""
        return self._made(numbers, RecordView)

    def _made(self, numbers: Iterable[int] | None, make: Callable[[Columns], Made]) -> Iterator[Made]:
        for number, record in self._all_records() if numbers is None else self._records(iter(numbers)):
            try:
                made = make(unpacked(record))
            except DAMAGE as error:
                raise TreebankError(f"tree {number} is damaged: {error}", self.path) from None
            yield made

    def _all_records(self) -> Iterator[tuple[Any, ...]]:
        last = 0
        while rows := self._rows(f"{_RECORDS} WHERE number > ? ORDER BY number LIMIT {FETCHED}", last):
            yield from rows
            last = rows[-1][0]

    def _records(self, numbers: Iterator[int]) -> Iterator[tuple[Any, ...]]:
        while chunk := list(islice(numbers, FETCHED)):
            found = dict(self._rows(f"{_RECORDS} WHERE number IN ({','.join('?' * len(chunk))})", *chunk))
            for number in chunk:
                if number not in found:
                    raise TreebankError(f"tree {number} is missing: the index is damaged", self.path)
                yield number, found[number]

    @property
    def last(self) -> int:
        """The number of the last tree, found without a walk through the file."""
        ((number,),) = self._rows("SELECT max(number) FROM trees")
        return number if isinstance(number, int) else 0

    def search(self, query: str | Query) -> Iterator[Match]:
        """Yield all matches of a query, tree by tree."""
        query = query if isinstance(query, Query) else Query(query)
        for view in self.views(self.candidates(query)):
            yield from query.matches_in(view)

    def candidates(self, query: Query, part: int | None = None) -> list[int] | None:
        """Return the numbers of trees that may match, in order; None for all of them.

        With ``part``, only those of this part, in which ``PART`` trees are: the first part is 1.
        """
        found: set[int] = set()
        for plan in query.plans:
            possible = self._possible(plan, part)
            if possible is None:
                return None
            found |= possible
        return sorted(found)

    def _possible(self, plan: Plan, part: int | None) -> set[int] | None:
        """Return the trees that have everything a plan asks for; None if that is nothing."""
        possible: set[int] | None = None
        for step in plan.steps:
            for feature, values in self._needed(step):
                trees: set[int] = set()
                for value in values:
                    trees.update(self._list(feature, value, part))
                possible = trees if possible is None else possible & trees
                if not possible:
                    return possible
        return possible

    def _needed(self, step: Step) -> Iterator[tuple[str, Iterable[str]]]:
        """Yield features with values; a tree without all the features, each with one of its values, has no match."""
        names = [requirement.name for requirement in step.requirements]
        for requirement in step.requirements:
            is_gap = requirement.name == "cat" and step.is_discontinuous
            feature = GAP_FEATURE if is_gap else requirement.name
            yield feature, self._passing(feature, requirement.test)
        if any(bounds[-1] < inf for bounds in step.gap_degrees) or (step.is_discontinuous and "cat" not in names):
            yield GAP_DEGREE_FEATURE, self._degrees(step)

    def _passing(self, feature: str, test: Expression) -> Iterable[str]:
        """Return the values of a feature that pass a test."""
        exact = exact_values(test)
        if exact is not None:
            return exact
        passes = value_test(test)
        return [value for prefix in prefixes(test) for value in self.values(feature, prefix) if passes(value, {})]

    def _degrees(self, step: Step) -> list[str]:
        """Return the gap degrees that a step allows."""
        found = self.values(GAP_DEGREE_FEATURE)
        if not all(value.isdecimal() and len(value) < MAX_DIGITS for value in found):
            raise TreebankError("the list of gap degrees is damaged", self.path)
        bounds = [(numbers[0], numbers[-1]) for numbers in step.gap_degrees]
        return [degree for degree in found if all(low <= int(degree) <= high for low, high in bounds)]

    def values(self, feature: str, prefix: str = "") -> list[str]:
        """Return the values of a feature, or those with a prefix, sorted."""
        statement = "SELECT DISTINCT value FROM lists WHERE feature = ?"
        if prefix:
            rows = self._rows(f"{statement} AND value >= ? AND value < ?", feature, prefix, after(prefix))
        else:
            rows = self._rows(statement, feature)
        return sorted(str(value) for (value,) in rows)

    def _list(self, feature: str, value: str, part: int | None) -> "array[int]":
        numbers = array("I")
        query = "SELECT trees FROM lists WHERE feature = ? AND value = ? AND part BETWEEN ? AND ? ORDER BY part"
        bounds = (0, 2**62) if part is None else (part, part)
        for (piece,) in self._rows(query, feature, value, *bounds):
            if not isinstance(piece, bytes) or len(piece) % numbers.itemsize:
                raise TreebankError(f"the list of {feature}={value!r} is damaged", self.path)
            numbers.frombytes(piece)
        return numbers


def search_index(path: str | PathLike[str], query: Query) -> Iterator[Match]:
    """Yield all matches of a query in an index."""
    with Index(path) as index:
        yield from index.search(query)


def is_index(path: str) -> bool:
    """Tell whether a file is called like an index."""
    return re.search(rf"{re.escape(SUFFIX)}$", path.lower()) is not None
