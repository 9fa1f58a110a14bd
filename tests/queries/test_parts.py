"""Several processes find what one finds, in the same order, and stop where it stops."""

import os
import random
from dataclasses import replace
from functools import partial

import pytest
from queries.test_query import random_case

import discotree as dt
from discotree import TreebankError
from discotree.errors import DiscotreeError
from discotree.queries import parts
from discotree.queries.first_look import FirstLook
from discotree.queries.index import Index, write_index
from discotree.queries.index_writing import write_batches
from discotree.queries.parts import Input, OrderedRun
from discotree.queries.query import Query
from discotree.queries.work import IndexWorker, SearchJob, SearchWorker

QUERY = '#n:[cat="NP"] > #w:[T]'
NO_WARNINGS = int  # any function that needs no arguments and can be sent to a process


def run(paths, job, workers=1, query=QUERY, errors=None):
    """What is found before something goes wrong, what does, and how many sentences were counted."""
    found, progress, failure = [], [], ""
    wanted = Query(query)
    source = Input(
        [str(path) for path in paths], [f"s{k}" for k in range(len(paths))], query=wanted, wanted=FirstLook(wanted)
    )
    work = OrderedRun(source, workers, NO_WARNINGS, lambda *done: progress.append(done), errors)
    try:
        found.extend(work.found(SearchWorker(job), partial(SearchWorker, job)))
    except DiscotreeError as error:
        failure = str(error)
    return found, failure, sum(count for count, _ in progress)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A treebank of each kind, with 30 trees each, and one that breaks off."""
    rng = random.Random(3)
    folder = tmp_path_factory.mktemp("treebanks")
    for name in ("a.export", "b.dbr", "c.tiger.xml", "d.jsonl"):
        trees = [replace(random_case(rng), id=f"{name}{k}", secondary=(), confidences=()) for k in range(30)]
        dt.write(trees, folder / name)
    write_index(dt.read(folder / "a.export"), folder / "e.dtindex")
    (folder / "f.dbr").write_text("(NP (NN 0=a))\n" * 20 + "(NP (NN 0=a)\n" + "(NP (NN 0=b))\n")
    return folder


def test_one_process_finds_what_search_finds(folder):
    names = ["a.export", "b.dbr", "c.tiger.xml", "d.jsonl", "e.dtindex"]
    found, failure, counted = run([folder / name for name in names], SearchJob(QUERY, "rows"))
    expected = [row for name in names for row in dt.search(folder / name, QUERY).table()]
    assert [row[1:] for hits in found for row in hits.items] == [row[1:] for row in expected]
    assert (failure, counted) == ("", 30 * 4 + len(Index(folder / "e.dtindex").candidates(Query(QUERY))))


def test_a_broken_tree_stops_after_what_comes_before_it(folder):
    found, failure, _ = run([folder / "f.dbr"], SearchJob(QUERY, "lines", width=5))
    assert len(found) == 20
    assert failure.endswith("f.dbr:21: 1 brackets are not closed")
    errors = []
    found, failure, _ = run([folder / "f.dbr"], SearchJob(QUERY, "lines", skip_broken=True), errors=errors)
    assert (len(found), failure, [error.line for error in errors]) == (21, "", [21])


@pytest.mark.slow
@pytest.mark.parametrize("items", ["rows", "trees"])
def test_several_processes_find_the_same(folder, items, monkeypatch):
    monkeypatch.setattr(parts, "HERE_FIRST", 10)
    paths = [folder / name for name in ("a.export", "b.dbr", "e.dtindex", "c.tiger.xml", "d.jsonl", "f.dbr")]
    for query in (QUERY, '[word="nowhere"]', "#n:[NT]"):
        job = SearchJob(query, items)
        assert run(paths, job, 2, query)[:2] == run(paths, job, 1, query)[:2]
        assert run(paths[:-1], job, 2, query) == run(paths[:-1], job, 1, query)
    job = SearchJob(QUERY, items, skip_broken=True)
    alone, together = [], []
    assert run(paths, job, 2, errors=together)[0] == run(paths, job, 1, errors=alone)[0]
    assert [str(error) for error in together] == [str(error) for error in alone]


@pytest.mark.slow
def test_several_processes_make_the_same_index(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "HERE_FIRST", 10)
    names = [str(folder / name) for name in ("a.export", "c.tiger.xml", "d.jsonl")]
    for workers in (1, 2):
        work = OrderedRun(Input(names, ["a", "c", "d"]), workers, NO_WARNINGS, lambda *_: None, None)
        set_up = partial(IndexWorker, "keep", False)
        assert write_batches(work.found(set_up(), set_up), tmp_path / f"{workers}.dtindex") == 90
    with Index(tmp_path / "1.dtindex") as one, Index(tmp_path / "2.dtindex") as two:
        for table in ("trees", "lists"):
            assert one._rows(f"SELECT * FROM {table}") == two._rows(f"SELECT * FROM {table}")


class DyingWorker(SearchWorker):
    """Dies with its process."""

    def __call__(self, _):
        os._exit(9)


@pytest.mark.slow
def test_the_death_of_a_process_is_an_error(folder, monkeypatch):
    monkeypatch.setattr(parts, "HERE_FIRST", 1)
    job = SearchJob(QUERY, "lines")
    source = Input([str(folder / "a.export")], [""])
    work = OrderedRun(source, 2, NO_WARNINGS, lambda *_: None, None)
    with pytest.raises(DiscotreeError, match="a worker process has died"):
        list(work.found(SearchWorker(job), partial(DyingWorker, job)))


def test_a_missing_treebank_is_an_error_with_an_address(tmp_path):
    _, failure, _ = run([tmp_path / "none.export"], SearchJob(QUERY, "lines"))
    assert "none.export: cannot be read" in failure
    with pytest.raises(TreebankError, match="no such index"):
        list(
            OrderedRun(
                Input([str(tmp_path / "a.dtindex")], [""], query=Query(QUERY)), 1, NO_WARNINGS, lambda *_: None, None
            ).found(SearchWorker(SearchJob(QUERY, "lines")), NO_WARNINGS)
        )
