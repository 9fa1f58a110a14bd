"""An index of trees on disk: a SQLite file with the trees, and with postings for every value of every feature.

The postings of ``cat="NP"`` or ``word="het"`` are the numbers of the trees that have it. ``gap="NP"`` lists the trees
with a discontinuous NP, ``gap-degree="2"`` those with a constituent that has two gaps; ``all-gap`` and
``all-gap-degree`` also count gaps of punctuation alone. A query looks up the values that it requires and reads only the
trees that have all of them. The file is a copy: it does not change with the treebank.

A tree is stored as a record, the compressed list of its columns. A column of strings is one string with a separator
between the values, which is read in a third of the time of a list.
"""

import json
import os
import re
import sqlite3
import uuid
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from discotree.errors import DiscotreeError, TreebankError
from discotree.queries.conditions import exact_values, value_test
from discotree.queries.language import FEATURES, Matching
from discotree.queries.match import Columns, Match, TreeView
from discotree.queries.query import Query, Step
from discotree.trees.tree import NONE, SecondaryEdge, Tree

SUFFIX = ".dtindex"
APPLICATION = 0x64747265  # marks the SQLite files of discotree
FORMAT = 3
GAP_FEATURES = ("gap", "all-gap")  # the labels of discontinuous constituents, without and with gaps of punctuation
GAP_DEGREE_FEATURES = ("gap-degree", "all-gap-degree")  # from 1 on
SEGMENT_TREES = 200_000  # trees whose postings are in memory together, for writing and for searching
WRITTEN_TREES, FETCHED_TREES = 500, 100  # in memory at a time

DAMAGE = (ValueError, TypeError, zlib.error, DiscotreeError)
"""The errors that a damaged record may raise."""

Key = tuple[str, str]  # a feature and its value
Postings = dict[Key, "array[int]"]  # numbers of trees
IndexBatch = tuple[list[bytes], Postings]  # the records of some trees, and their postings, which count them from 0
Made = TypeVar("Made")

_SEPARATOR = "\x7f"  # one byte in JSON; a column that contains it is stored as a list
_SCHEMA = """
CREATE TABLE trees (number INTEGER PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE lists (
    feature TEXT NOT NULL, value TEXT NOT NULL, part INTEGER NOT NULL, trees BLOB NOT NULL,
    PRIMARY KEY (feature, value, part)
) WITHOUT ROWID;
"""
_RECORDS = "SELECT number, record FROM trees"
_POSTINGS = "SELECT trees FROM lists WHERE feature = ? AND value = ? AND part = ?"


def is_index(path: str) -> bool:
    """Return whether a file has the suffix of an index."""
    return path.lower().endswith(SUFFIX)


# Records


def pack(columns: Columns) -> bytes:
    """Return the record of a tree."""
    stored = columns._replace(
        tokens=list(map(_join, columns.tokens)), labels=_join(columns.labels), functions=_join(columns.functions)
    )
    record = json.dumps(stored, separators=(",", ":"), ensure_ascii=False)
    return zlib.compress(record.encode("utf-8", "surrogatepass"), 1)


def unpack(record: bytes) -> Columns:
    """Return the columns of a record; raise one of ``DAMAGE`` if its checksum is wrong."""
    stored = Columns(*json.loads(zlib.decompress(record)))
    words, nodes = len(stored.token_parents), len(stored.node_parents) + 1
    return stored._replace(
        tokens=[_split(column, words) for column in stored.tokens],
        labels=_split(stored.labels, nodes),
        functions=_split(stored.functions, nodes),
        secondary=[SecondaryEdge(*edge) for edge in stored.secondary],
    )


def _join(column: list[str]) -> Any:
    """Return a column as it is stored: None if all values are ``NONE``, a list if a value contains the separator."""
    if column.count(NONE) == len(column):
        return None
    text = _SEPARATOR.join(column)
    return column if text.count(_SEPARATOR) >= len(column) else text


def _split(stored: Any, size: int) -> list[str]:
    if stored is None:
        return [NONE] * size
    return stored.split(_SEPARATOR) if isinstance(stored, str) else list(stored)


# Writing


def write_index(trees: Iterable[Tree], path: str | PathLike[str]) -> int:
    """Write an index of trees and return their number. The file appears when it is complete."""
    trees = iter(trees)
    return write_batches(map(index_batch, iter(lambda: list(islice(trees, WRITTEN_TREES)), [])), path)


def index_batch(trees: Iterable[Tree]) -> IndexBatch:
    """Return the records and postings of some trees."""
    records: list[bytes] = []
    postings: Postings = {}
    for number, tree in enumerate(trees):
        columns = Columns.from_tree(tree)
        records.append(pack(columns))
        for key in _keys(TreeView(columns)):
            postings.setdefault(key, array("I")).append(number)
    return records, postings


def _keys(view: TreeView) -> set[Key]:
    """Return the features of a tree's nodes with their values."""
    keys = {(feature, value) for feature in FEATURES for value in view.values(feature)}
    for address, label in enumerate(view.columns.labels, view.terminals):
        for all_gaps in (False, True):
            if degree := view.gap_degree(address, all_gaps):
                keys |= {(GAP_FEATURES[all_gaps], label), (GAP_DEGREE_FEATURES[all_gaps], str(degree))}
    return keys


def write_batches(batches: Iterable[IndexBatch], path: str | PathLike[str]) -> int:
    """Write an index of batches of trees and return the number of trees."""
    path = fspath(path)
    temporary = f"{os.path.realpath(path)}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        with closing(sqlite3.connect(temporary, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("PRAGMA synchronous = OFF")  # an incomplete file is deleted
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            database.execute(f"PRAGMA user_version = {FORMAT}")
            database.executescript(_SCHEMA)
            database.execute("BEGIN")
            count = _fill(database, batches)
            database.execute("COMMIT")
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, os.path.realpath(path))
    except (OSError, sqlite3.Error) as error:
        raise TreebankError(f"cannot be written: {error}", path) from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return count


def _fill(database: sqlite3.Connection, batches: Iterable[IndexBatch]) -> int:
    postings: Postings = {}
    count = 0
    for records, new_postings in batches:
        database.executemany("INSERT INTO trees VALUES (?, ?)", enumerate(records, count + 1))
        for key, numbers in new_postings.items():
            postings.setdefault(key, array("I")).extend([count + 1 + number for number in numbers])
        before, count = count, count + len(records)
        for segment in range(before // SEGMENT_TREES + 1, count // SEGMENT_TREES + 1):  # complete segments
            postings = _store(database, postings, segment)
    _store(database, postings, count // SEGMENT_TREES + 1)
    return count


def _store(database: sqlite3.Connection, postings: Postings, segment: int) -> Postings:
    """Store the postings of one segment, and return those of later segments."""
    rows, later = [], {}
    for (feature, value), numbers in sorted(postings.items()):
        end = bisect_right(numbers, segment * SEGMENT_TREES)
        if end:
            rows.append((feature, value, segment, numbers[:end].tobytes()))
        if end < len(numbers):
            later[feature, value] = numbers[end:]
    try:
        database.executemany("INSERT INTO lists VALUES (?, ?, ?, ?)", rows)
    except UnicodeEncodeError as error:
        raise TreebankError(f"{error.object!r:.50} contains a lone surrogate, which an index cannot store") from None
    return later


# Reading


class Index:
    """An index, open for reading. It can be used by several threads, which take turns."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = fspath(path)
        if not os.path.isfile(self.path):
            raise TreebankError("no such index", self.path)
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
        """Reject files of other programs and versions."""
        self.database.execute("PRAGMA trusted_schema = OFF")
        (application,) = self.database.execute("PRAGMA application_id").fetchone()
        (version,) = self.database.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise TreebankError("not an index; create one with discotree index", self.path)
        if version != FORMAT:
            age = "a newer" if version > FORMAT else "an older"
            advice = "" if version > FORMAT else "; create it again with discotree index"
            message = f"written by {age} discotree (format {version}, expected {FORMAT}){advice}"
            raise TreebankError(message, self.path)

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.database.close()

    @property
    def last(self) -> int:
        """The number of the last tree, which is also the number of trees."""
        ((number,),) = self._rows("SELECT max(number) FROM trees")
        return number if isinstance(number, int) else 0

    def _rows(self, statement: str, *values: int | str) -> list[tuple[Any, ...]]:
        """Return all rows of a statement at once, so that threads cannot interleave."""
        try:
            with self.lock:
                return self.database.execute(statement, values).fetchall()
        except UnicodeEncodeError:  # a lone surrogate, which an index cannot store
            return []
        except sqlite3.ProgrammingError as error:  # closed by another thread, or before its matches were read
            raise TreebankError(f"the index is closed: {error}", self.path) from None
        except sqlite3.Error as error:
            raise TreebankError(f"the index cannot be read, it may be damaged: {error}", self.path) from None

    def trees(self, numbers: Iterable[int] | None = None) -> Iterator[Tree]:
        """Yield the trees with these numbers, counted from 1; all trees by default."""
        return self._read(numbers, Columns.tree)

    def views(self, numbers: Iterable[int] | None = None) -> Iterator[TreeView]:
        """Yield views of the trees with these numbers, which takes a fraction of the time."""
        return self._read(numbers, TreeView)

    def _read(self, numbers: Iterable[int] | None, make: Callable[[Columns], Made]) -> Iterator[Made]:
        remaining = iter(range(1, self.last + 1) if numbers is None else numbers)
        while batch := list(islice(remaining, FETCHED_TREES)):
            records = dict(self._rows(f"{_RECORDS} WHERE number IN ({','.join('?' * len(batch))})", *batch))
            for number in batch:
                if number not in records:
                    raise TreebankError(f"the index is damaged: tree {number} is missing", self.path)
                try:
                    made = make(unpack(records[number]))
                except DAMAGE as error:
                    raise TreebankError(f"tree {number} is damaged: {error}", self.path) from None
                yield made

    def search(self, query: str | Query) -> Iterator[Match]:
        """Yield all matches of a query, tree by tree."""
        query = query if isinstance(query, Query) else Query(query)
        for _, view in self.candidate_views(query):
            yield from query.matches_in(view)

    def candidates(self, query: Query, start: int = 1) -> Iterator[int]:
        """Yield the numbers of the trees that may match, in order, from the tree with the number ``start``.

        The postings are read one segment at a time, so those of a large index are never in memory all at once.
        """
        start, last = max(start, 1), self.last
        for segment in range((start - 1) // SEGMENT_TREES + 1, (last - 1) // SEGMENT_TREES + 2):
            first, end = max(start, (segment - 1) * SEGMENT_TREES + 1), min(last, segment * SEGMENT_TREES)
            listed = self._segment_candidates(query, segment)
            yield from range(first, end + 1) if listed is None else (number for number in listed if number >= first)

    def candidate_views(self, query: Query, start: int = 1) -> Iterator[tuple[int, TreeView]]:
        """Yield views of the trees that may match, each with its number."""
        numbers = self.candidates(query, start)
        while batch := list(islice(numbers, FETCHED_TREES)):
            yield from zip(batch, self.views(batch), strict=True)

    def _segment_candidates(self, query: Query, segment: int) -> list[int] | None:
        """Return the numbers of the trees of a segment that may match, in order; None for all of them."""
        candidates: set[int] = set()
        for plan in query.plans:
            possible: set[int] | None = None
            for feature, values in (required for step in plan.steps for required in self._required(step)):
                trees: set[int] = set()
                for value in values:
                    for (postings,) in self._rows(_POSTINGS, feature, value, segment):
                        trees.update(array("I", postings))
                possible = trees if possible is None else possible & trees
                if not possible:
                    break
            if possible is None:  # the plan requires nothing
                return None
            candidates |= possible
        return sorted(candidates)

    def _required(self, step: Step) -> Iterator[tuple[str, Iterable[str]]]:
        """Yield the features that a step requires, each with the values of which a tree must have one."""
        for requirement in step.requirements:
            feature = requirement.name
            if feature == "cat" and step.gaps:
                feature = GAP_FEATURES[all(statement.all_gaps for statement in step.gaps)]
            values: Iterable[str] | None = exact_values(requirement.test)
            if values is None:
                passes = value_test(requirement.test)
                pattern = requirement.test.pattern if isinstance(requirement.test, Matching) else ""
                values = [value for value in self.values(feature, literal_prefix(pattern)) if passes(value, {})]
            yield feature, values
        has_label = any(requirement.name == "cat" for requirement in step.requirements)
        for all_gaps in (False, True):
            bounds = [statement.numbers for statement in step.gaps if statement.all_gaps == all_gaps]
            if any(bounds) or (bounds and not has_label):
                degrees = self.values(GAP_DEGREE_FEATURES[all_gaps])
                yield (
                    GAP_DEGREE_FEATURES[all_gaps],
                    [degree for degree in degrees if all(not x or x[0] <= int(degree) <= x[-1] for x in bounds)],
                )

    def counts(self, feature: str) -> dict[str, int]:
        """Return the values of a feature, each with the number of trees that have it."""
        rows = self._rows("SELECT value, sum(length(trees)) FROM lists WHERE feature = ? GROUP BY value", feature)
        return {str(value): size // array("I").itemsize for value, size in rows}

    def values(self, feature: str, prefix: str | None = None) -> list[str]:
        """Return the values of a feature, or those with a prefix, sorted."""
        statement = "SELECT DISTINCT value FROM lists WHERE feature = ?"
        if prefix:
            end = prefix[:-1] + chr(ord(prefix[-1]) + 1)  # the first string after those that begin with the prefix
            rows = self._rows(f"{statement} AND value >= ? AND value < ?", feature, prefix, end)
        else:
            rows = self._rows(statement, feature)
        return sorted(str(value) for (value,) in rows)


_LITERAL = re.compile(r"[^.^$*+?{}\[\]\\|()\ud7ff-\U0010ffff]*")  # without surrogates and the characters after them


def literal_prefix(pattern: str) -> str | None:
    """Return the prefix of all strings that a regular expression matches as a whole; None if that is hard to tell.

    Only values with the prefix have to be looked up. In IcePaHC, a search for a rare prefix takes half the time.
    """
    if "|" in pattern or "(?" in pattern:
        return None
    literal = _LITERAL.match(pattern)
    prefix = literal[0] if literal else ""
    return (prefix[:-1] if pattern[len(prefix) :].startswith(("*", "+", "?", "{")) else prefix) or None
