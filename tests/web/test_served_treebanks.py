"""Treebanks that a server opens: their names, and where their indexes are found, made and kept."""

import os
import re
from pathlib import Path

import pytest
from support.networks import TREES

import discotree as dt
from discotree.errors import DiscotreeError
from discotree.queries.index import write_index
from discotree.web.served_treebanks import open_treebanks


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "corpus"
    folder.mkdir()
    dt.write(TREES[:5], folder / "a.export")
    dt.write(TREES[5:], folder / "b.dbr")
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("argument", "name", "trees"),
    [
        ("corpus/a.export", "a", 5),
        ("corpus", "corpus", len(TREES)),
        ("corpus/", "corpus", len(TREES)),
        ("corpus/*", "corpus", len(TREES)),
        ("corpus/a*", "a", 5),
        ("my own=corpus/*.dbr", "my own", len(TREES) - 5),
    ],
)
@pytest.mark.usefixtures("corpus")
def test_a_treebank_has_a_name(cache: Path, argument: str, name: str, trees: int) -> None:
    (treebank,) = open_treebanks([argument], str(cache)).values()
    assert (treebank.name, treebank.trees) == (name, trees)
    assert treebank.open().size == trees


def test_ids_of_several_files_tell_them_apart(corpus: Path, cache: Path) -> None:
    (treebank,) = open_treebanks([f"{corpus}/*"], str(cache)).values()
    (path,) = treebank.indexes
    ids = [match.tree.id for match in dt.search(path, "root(#n)")]
    assert len(set(ids)) == len(TREES)
    assert ids[0].startswith("a/")


def test_an_index_is_made_once_and_again_when_the_treebank_changes(corpus: Path, cache: Path) -> None:
    def opened() -> tuple[str, int, int]:
        (treebank,) = open_treebanks([str(corpus / "a.export")], str(cache)).values()
        (path,) = treebank.indexes
        return path, os.stat(path).st_ino, treebank.trees

    first = opened()
    assert opened() == first
    assert Path(first[0]).parent == cache
    assert cache.stat().st_mode & 0o077 == 0  # others may not be allowed to read the treebank
    dt.write(TREES[:6], corpus / "a.export")
    second = opened()
    assert (second[0], second[2]) == (first[0], 6)
    assert sorted(cache.iterdir()) == [Path(second[0]), Path(second[0]).with_suffix(".state")]


@pytest.mark.parametrize("spelling", ["./cache", "cache/", "../{}/cache//"])
def test_the_folder_of_indexes_may_be_spelt_in_any_way(
    spelling: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (treebank,) = open_treebanks([str(corpus / "a.export")], spelling.format(tmp_path.name)).values()
    assert Path(*treebank.indexes).parent == tmp_path / "cache"


def test_an_index_beside_the_treebank_is_used_if_it_is_not_older(corpus: Path, cache: Path) -> None:
    beside = corpus / "a.export.dtindex"
    write_index(TREES[:5], beside)
    (treebank,) = open_treebanks([str(corpus / "a.export")], str(cache)).values()
    assert treebank.indexes == (str(beside),)
    assert not cache.exists()
    beside.write_bytes(re.sub(rb"^discotree index [0-9]+", b"discotree index 99", beside.read_bytes()))
    (treebank,) = open_treebanks([str(corpus / "a.export")], str(cache)).values()
    assert Path(treebank.indexes[0]).parent == cache, "an index of another format is passed over"
    os.utime(beside, (0, 0))
    (treebank,) = open_treebanks([str(corpus / "a.export")], str(cache)).values()
    assert Path(treebank.indexes[0]).parent == cache


def test_indexes_and_files_may_be_one_treebank(corpus: Path, cache: Path) -> None:
    write_index(TREES[:5], corpus / "a.dtindex")
    (corpus / "a.export").unlink()
    (treebank,) = open_treebanks([f"all={corpus}/*"], str(cache)).values()
    assert treebank.trees == len(TREES)
    assert treebank.indexes[0] == str(corpus / "a.dtindex")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["corpus/c.export"], "c.export: no such file"),
        (["corpus/*.xml"], "no file matches"),
        (["corpus/a.export", "corpus/a.export"], "two treebanks have the name 'a'"),
        (["-"], "pass a file"),
        (["broken.export"], r"broken.export:3(.|\n)*discotree index"),
        (["empty"], "no treebank file"),
        (["fake.dtindex"], "not an index"),
    ],
)
@pytest.mark.usefixtures("corpus")
def test_problems_are_reported_with_their_address(cache: Path, arguments: list[str], message: str) -> None:
    Path("empty").mkdir()
    Path("broken.export").write_text("#BOS 1\na\tb\tc\td\te\t0\nnonsense\n#EOS 1\n")
    Path("fake.dtindex").write_text("this is no database, however long it is" * 10)
    with pytest.raises(DiscotreeError, match=message):
        open_treebanks(arguments, str(cache))
    assert not list(cache.glob("*")), "nothing is left behind"


def test_the_cache_is_where_the_system_keeps_such_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "one.dbr").write_text("(S (X 0=a))\n")
    (treebank,) = open_treebanks([str(tmp_path / "one.dbr")]).values()
    assert Path(treebank.indexes[0]).parent == tmp_path / "cache" / "discotree" / "indexes"
