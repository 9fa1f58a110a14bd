"""Make an index; index.py describes it."""

import os
import sqlite3
import uuid
from array import array
from bisect import bisect_right
from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from os import PathLike, fspath
from typing import NamedTuple

from discotree.errors import TreebankError
from discotree.queries.index_format import (
    APPLICATION,
    FORMAT,
    GAP_DEGREE_FEATURE,
    GAP_FEATURE,
    PART,
    columns_of,
    packed,
)
from discotree.queries.language import FEATURES
from discotree.queries.record_view import RecordView
from discotree.trees.tree import Tree

BATCH = 500  # trees

Key = tuple[str, str]  # a feature and its value

_SCHEMA = """
CREATE TABLE trees (number INTEGER PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE lists (
    feature TEXT NOT NULL, value TEXT NOT NULL, part INTEGER NOT NULL, trees BLOB NOT NULL,
    PRIMARY KEY (feature, value, part)
) WITHOUT ROWID;
"""


class IndexBatch(NamedTuple):
    """Some trees as they stand in an index: their records, and which of them, counted from 0, have what."""

    records: list[bytes]
    lists: dict[Key, "array[int]"]


def write_index(trees: Iterable[Tree], path: str | PathLike[str]) -> int:
    """Write the index of trees and return how many they are. The file appears when it is complete."""
    trees = iter(trees)
    return write_batches(map(index_batch, iter(lambda: list(islice(trees, BATCH)), [])), path)


def index_batch(trees: Iterable[Tree]) -> IndexBatch:
    """Return trees as they stand in an index."""
    records: list[bytes] = []
    lists: dict[Key, array[int]] = {}
    for number, tree in enumerate(trees):
        columns = columns_of(tree)
        records.append(packed(columns))
        for key in _keys(RecordView(columns)):
            lists.setdefault(key, array("I")).append(number)
    return IndexBatch(records, lists)


def write_batches(batches: Iterable[IndexBatch], path: str | PathLike[str]) -> int:
    """Write an index of batches of trees and return how many trees they are."""
    path = fspath(path)
    temporary = f"{os.path.realpath(path)}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        with closing(sqlite3.connect(temporary, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("PRAGMA synchronous = OFF")  # a file that was not finished is deleted
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
    lists: dict[Key, array[int]] = {}
    count = 0
    for batch in batches:
        database.executemany("INSERT INTO trees VALUES (?, ?)", enumerate(batch.records, count + 1))
        for key, numbers in batch.lists.items():
            lists.setdefault(key, array("I")).extend([count + 1 + number for number in numbers])
        before, count = count, count + len(batch.records)
        for part in range(before // PART + 1, count // PART + 1):  # complete parts
            lists = _store(database, lists, part)
    _store(database, lists, count // PART + 1)
    return count


def _store(database: sqlite3.Connection, lists: "dict[Key, array[int]]", part: int) -> "dict[Key, array[int]]":
    """Store the lists of one part, and return what is left of them for the next."""
    rows, left = [], {}
    for (feature, value), numbers in sorted(lists.items()):
        end = bisect_right(numbers, part * PART)
        if end:
            rows.append((feature, value, part, numbers[:end].tobytes()))
        if end < len(numbers):
            left[feature, value] = numbers[end:]
    try:
        database.executemany("INSERT INTO lists VALUES (?, ?, ?, ?)", rows)
    except UnicodeEncodeError as error:
        raise TreebankError(f"{error.object!r:.50} holds half a character, which an index cannot store") from None
    return left


def _keys(view: RecordView) -> set[Key]:
    """Return the features of a tree's nodes with their values."""
    found = {(feature, value) for feature in FEATURES for value in view.values(feature)}
    for label, mask in zip(view.columns.labels, view.masks, strict=True):
        blocks = (mask & ~(mask << 1)).bit_count()
        if blocks > 1:
            found |= {(GAP_FEATURE, label), (GAP_DEGREE_FEATURE, str(blocks - 1))}
    return found
