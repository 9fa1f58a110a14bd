"""Several processes find what one finds, in the same order, and stop where it stops."""

import random
from dataclasses import replace

import pytest
from queries.test_query import random_case

import discotree as dt
from discotree.errors import DiscotreeError
from discotree.queries import search as search_module
from discotree.queries.index import Index, write_batches, write_index
from discotree.queries.query import Query
from discotree.queries.search import ParallelSearch, SearchJob

QUERY = '#n:[cat="NP"] > #w:[T]'


def run(paths, job, workers=1, errors=None):
    """What is found before something goes wrong, what does, and how many sentences were counted."""
    found, progress, failure = [], [], ""
    stems = [f"s{k}" for k in range(len(paths))]
    work = ParallelSearch([str(path) for path in paths], job, stems, workers=workers, errors=errors)
    work.progress = lambda *done: progress.append(done)
    try:
        found.extend(work.results())
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
    with Index(folder / "e.dtindex") as index:
        assert (failure, counted) == ("", 30 * 4 + len(list(index.candidates(Query(QUERY)))))


def test_a_broken_tree_stops_after_what_comes_before_it(folder):
    found, failure, _ = run([folder / "f.dbr"], SearchJob(QUERY, "lines"))
    assert len(found) == 20
    assert failure.endswith("f.dbr:21: unclosed brackets: 1")
    errors = []
    found, failure, _ = run([folder / "f.dbr"], SearchJob(QUERY, "lines", skip_broken=True), errors=errors)
    assert (len(found), failure, [error.line for error in errors]) == (21, "", [21])


@pytest.mark.slow
@pytest.mark.parametrize("items", ["rows", "trees"])
def test_several_processes_find_the_same(folder, items, monkeypatch):
    monkeypatch.setattr(search_module, "INLINE_SENTENCES", 10)
    monkeypatch.setattr(search_module, "UNIT_SENTENCES", 4)
    paths = [folder / name for name in ("a.export", "b.dbr", "e.dtindex", "c.tiger.xml", "d.jsonl", "f.dbr")]
    for query in (QUERY, '[word="nowhere"]', "#n:[NT]"):
        job = SearchJob(query, items)
        assert run(paths, job, 2)[:2] == run(paths, job, 1)[:2]
        assert run(paths[:-1], job, 2) == run(paths[:-1], job, 1)
    job = SearchJob(QUERY, items, skip_broken=True)
    alone, together = [], []
    assert run(paths, job, 2, errors=together)[0] == run(paths, job, 1, errors=alone)[0]
    assert [str(error) for error in together] == [str(error) for error in alone]


@pytest.mark.slow
def test_several_processes_make_the_same_index(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(search_module, "INLINE_SENTENCES", 10)
    monkeypatch.setattr(search_module, "UNIT_SENTENCES", 4)
    names = [str(folder / name) for name in ("a.export", "c.tiger.xml", "d.jsonl")]
    for workers in (1, 2):
        work = ParallelSearch(names, SearchJob(None, "batches"), ["a", "c", "d"], workers=workers)
        assert write_batches(work.results(), tmp_path / f"{workers}.dtindex") == 90
    assert (tmp_path / "1.dtindex").read_bytes() == (tmp_path / "2.dtindex").read_bytes()


@pytest.mark.slow
def test_an_index_that_is_replaced_during_a_search_is_an_error(folder, tmp_path, monkeypatch):
    """The workers open the index by its path, and would find other trees there."""
    monkeypatch.setattr(search_module, "INLINE_SENTENCES", 1)
    monkeypatch.setattr(search_module, "UNIT_SENTENCES", 4)
    path = tmp_path / "a.dtindex"
    trees = list(dt.read(folder / "a.export"))
    write_index(trees, path)
    for replacement, message in ((trees[::-1], "replaced during the search"), (trees, None)):
        results = ParallelSearch([str(path)], SearchJob("#n:[NT]", "rows"), workers=2).results()
        next(results)  # from this process
        write_index(replacement, tmp_path / "b.dtindex")
        (tmp_path / "b.dtindex").replace(path)
        if message:
            with pytest.raises(dt.TreebankError, match=message):
                list(results)
        else:
            list(results)
        write_index(trees, path)


def test_a_missing_treebank_is_an_error_with_an_address(tmp_path):
    _, failure, _ = run([tmp_path / "none.export"], SearchJob(QUERY, "lines"))
    assert "none.export: cannot be read" in failure
    assert "no such index" in run([tmp_path / "a.dtindex"], SearchJob(QUERY, "lines"))[1]
