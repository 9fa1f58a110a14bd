"""Finished trees come back from every format as the annotators left them."""

import threading
from pathlib import Path

import pytest
from support.annotation import accept, correct, flat, project_at
from support.networks import TREES

import discotree as dt
from discotree.treebanks import FORMATS, TEXT_FORMATS
from discotree.web.annotation import session
from discotree.web.annotation.session import AcceptedTreesFile, write_accepted

FULL = ("export", "export3", "tigerxml", "conllu", "json", "parquet", "arrow")  # formats that hold functions, too


@pytest.mark.parametrize(
    "format", [pytest.param(name, marks=() if name in TEXT_FORMATS else pytest.mark.slow) for name in FORMATS]
)
def test_every_format_gives_the_finished_trees_back(tmp_path: Path, format: str) -> None:
    project = project_at(tmp_path / "a.jsonl")
    accept(project, 5)
    correct(project, 2)
    project.step(3, "skip", "Ann")
    expected = [dt.Tree.from_dict(flat(2)), TREES[4]]
    path = tmp_path / "trees"
    assert write_accepted(project, str(path), format, dt.HeadRules.load("negra")) == (2, [])
    project.close()
    found = list(dt.read(path, format))
    dt.write(expected, tmp_path / "expected", format, heads="negra")
    assert found == list(dt.read(tmp_path / "expected", format))
    if format in FULL:
        assert found == expected


def test_comments_travel_with_the_tree(tmp_path: Path) -> None:
    project = project_at(tmp_path / "a.jsonl")
    accept(project, 1)
    project.step(1, "comment", "Ann", text="two\n\x00lines\x1b")
    project.step(1, "comment", "Bob", text="more")
    write_accepted(project, str(tmp_path / "a.export"))
    (tree,) = dt.read(tmp_path / "a.export")
    assert tree.comment == "two lines; more"
    project.close()


def test_the_file_follows_the_annotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "DELAY_SECONDS", 0.001)
    project = project_at(tmp_path / "a.jsonl")
    path = tmp_path / "trees.export"
    file = AcceptedTreesFile(project, str(path), None, None)
    assert list(dt.read(path)) == []
    accept(project, 1)
    file.changed.set()
    file.close()
    assert [tree.id for tree in dt.read(path)] == ["s1"]
    project.close()


def test_a_step_during_the_last_but_one_writing_is_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "DELAY_SECONDS", 0.001)
    project = project_at(tmp_path / "a.jsonl")
    path = tmp_path / "trees.export"
    file = AcceptedTreesFile(project, str(path), None, None)
    has_read, go_on, write = threading.Event(), threading.Event(), file.write

    def slow_write() -> None:
        write()
        has_read.set()
        go_on.wait()

    monkeypatch.setattr(file, "write", slow_write)
    file.changed.set()
    has_read.wait()
    accept(project, 1)
    file.changed.set()
    threading.Timer(0.05, go_on.set).start()  # the server ends while a file without the step is being written
    file.close()
    assert [tree.id for tree in dt.read(path)] == ["s1"]
    project.close()


def test_what_a_format_cannot_hold_is_named_and_the_rest_is_written(tmp_path: Path) -> None:
    tokens = (dt.Token("a b", "X"), dt.Token("c", "X"))
    odd = dt.Tree(tokens, dt.Node("ROOT", [0, 1]), "odd")
    project = project_at(tmp_path / "a.jsonl", [{"tree": odd.to_dict()}, {"tree": TREES[0].to_dict()}])
    accept(project, 1)
    accept(project, 2)
    count, problems = write_accepted(project, str(tmp_path / "a.export"))
    assert count + len(problems) == 2
    project.close()
