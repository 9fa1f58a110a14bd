"""An index gives the same trees and matches as the treebank; a damaged one is refused."""

import random
import sqlite3
import zlib
from array import array
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from queries.test_query import random_case, readable_query

from discotree import TreebankError
from discotree.queries import index_writing
from discotree.queries.index import Index, write_index
from discotree.queries.query import Query
from discotree.queries.search import search

BEGIN = '["1", [["a"], ["N"], ["-"], ["-"], ["-"]], [0], ["S"], ["-"], [-1]'  # of a record: all but its root


def same(left, right):
    """Whether two trees are equal in everything, also in what comparing trees ignores."""
    details = [(t, t.id, t.secondary, t.comment, t.confidence, t.confidences) for t in (left, right)]
    return details[0] == details[1]


@pytest.fixture(scope="module")
def trees():
    rng = random.Random(5)
    return [replace(random_case(rng), id=str(k), comment="é" * (k % 2)) for k in range(60)]


@pytest.fixture(scope="module")
def path(trees, tmp_path_factory):
    path = tmp_path_factory.mktemp("index") / "trees.dtindex"
    assert write_index(trees, path) == 60
    return path


def test_an_index_gives_back_the_trees(trees, path):
    with Index(path) as index:
        assert len(index) == 60
        assert all(map(same, index.trees(), trees))


def test_an_index_finds_what_the_treebank_has(trees, path):
    rng = random.Random(6)
    with Index(path) as index:
        for _ in range(60):
            query = readable_query(rng)
            found = [(match.tree.id, match.bindings) for match in index.search(query)]
            assert found == [(match.tree.id, match.bindings) for match in search(trees, query)], query.text


def test_selective_queries_read_few_trees(trees, path):
    with Index(path) as index:
        query = Query('#n:[cat="VP"] & discontinuous(#n)')
        discontinuous = [k for k, t in enumerate(trees, 1) if any(n.is_discontinuous for n in t.find("VP"))]
        assert index.candidates(query) == discontinuous
        assert index.candidates(Query("[]")) is None
        assert index.candidates(Query('[word="nowhere"]')) == []


def test_gap_degrees_are_looked_up(path):
    with Index(path) as index:
        assert index.candidates(Query('#n:[cat="VP"] & gap-degree(#n, 1, 3)')) == index.candidates(
            Query('#n:[cat="VP"] & discontinuous(#n)')
        )
        assert index.candidates(Query('#n:[cat="VP"] & gap-degree(#n, 0, 3)')) == index.candidates(Query('[cat="VP"]'))


def test_several_threads_read_one_index(trees, path):
    query = Query("#n:[NT] > #w:[T]")
    expected = sum(1 for _ in search(trees, query))
    with Index(path) as index, ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda _: sum(1 for _ in index.search(query)), range(8)))
        interrupted = index.trees()
        next(interrupted)
    assert counts == [expected] * 8
    with pytest.raises(TreebankError, match="the index is closed"):
        Index.candidates(index, Query('[word="a"]'))


def test_parts_of_an_index_have_their_lists_apart(trees, tmp_path, monkeypatch):
    monkeypatch.setattr(index_writing, "PART", 7)
    monkeypatch.setattr(index_writing, "BATCH", 10)
    write_index(trees, tmp_path / "parts.dtindex")
    write_index([], tmp_path / "empty.dtindex")
    with Index(tmp_path / "parts.dtindex") as index:
        for part, numbers in index._rows("SELECT part, trees FROM lists"):
            assert {(number - 1) // 7 + 1 for number in array("I", numbers)} == {part}
        expected = [k for k, tree in enumerate(trees, 1) if tree.find("NP")]
        assert index.candidates(Query('[cat="NP"]')) == expected
        assert index.last == 60
    with Index(tmp_path / "empty.dtindex") as index:
        assert (index.last, list(index.search("[]"))) == (0, [])


def test_another_file_is_no_index(tmp_path):
    with pytest.raises(TreebankError, match="there is no such index"):
        Index(tmp_path / "none.dtindex")
    path = tmp_path / "text.dtindex"
    path.write_text("no database at all, but long enough to be one" * 30)
    with pytest.raises(TreebankError, match="not an index"):
        Index(path)
    sqlite3.connect(tmp_path / "other.dtindex").execute("CREATE TABLE a (b)")
    with pytest.raises(TreebankError, match="make one with discotree index"):
        Index(tmp_path / "other.dtindex")


def test_damaged_records_and_lists_have_an_address(path, tmp_path):
    damaged = tmp_path / "damaged.dtindex"
    damaged.write_bytes(path.read_bytes())
    database = sqlite3.connect(damaged)
    database.execute("UPDATE trees SET record = x'00' WHERE number = 3")
    database.execute("UPDATE lists SET trees = x'000102' WHERE feature = 'cat'")
    database.commit()
    database.close()
    with Index(damaged) as index:
        with pytest.raises(TreebankError, match=r"damaged\.dtindex: tree 3 is damaged"):
            list(index.trees())
        with pytest.raises(TreebankError, match="the list of cat='NP' is damaged"):
            list(index.search('[cat="NP"]'))


@pytest.mark.parametrize(
    "record",
    [
        "[" * 100_000,
        f'{BEGIN}, [], [], "", null, []]',
        f'{BEGIN}, ["R", "-"], [["x", 1e400, 1]], "", null, []]',
        f'{BEGIN}, ["R", "-"], [], "", "x", []]',
    ],
    ids=["deep", "no root", "infinite", "confidence"],
)
def test_hostile_records_are_refused(path, tmp_path, record):
    damaged = tmp_path / "hostile.dtindex"
    damaged.write_bytes(path.read_bytes())
    database = sqlite3.connect(damaged)
    database.execute("UPDATE trees SET record = ? WHERE number = 1", (zlib.compress(record.encode()),))
    database.commit()
    database.close()
    with Index(damaged) as index, pytest.raises(TreebankError, match=r"hostile\.dtindex: tree 1 is damaged"):
        list(index.trees())


def test_tables_that_compute_their_rows_are_refused(path, tmp_path):
    hostile = tmp_path / "view.dtindex"
    hostile.write_bytes(path.read_bytes())
    database = sqlite3.connect(hostile)
    database.execute("DROP TABLE trees")
    database.execute("CREATE VIEW trees AS SELECT 1 AS number, x'00' AS record")
    database.commit()
    database.close()
    with pytest.raises(TreebankError, match="expected two tables, and nothing else"):
        Index(hostile)


def test_an_index_that_fails_leaves_nothing_behind(trees, tmp_path):
    def failing():
        yield trees[0]
        raise TreebankError("broken tree")

    with pytest.raises(TreebankError, match="broken tree"):
        write_index(failing(), tmp_path / "a.dtindex")
    assert list(tmp_path.iterdir()) == []
