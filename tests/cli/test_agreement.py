"""discotree agreement: on files in several formats, and on the annotators of a project."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.annotation import accept, correct, project_at
from support.networks import TREES

import discotree as dt
from discotree.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    dt.write(TREES[:5], "ann.export")
    flat = dt.Node("ROOT", [dt.Node("X", range(len(TREES[2])))])
    other = [TREES[1], replace(TREES[2], root=flat), TREES[3], TREES[6]]
    dt.write([replace(tree, id=f"b{k}") for k, tree in enumerate(other)], "bob.dbr")

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["discotree", "agreement", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        found = capsys.readouterr()
        return int(ended.value.code or 0), found.out, found.err

    return run


def test_common_sentences_are_matched_by_words_and_the_others_counted(run: Run) -> None:
    code, out, err = run("ann.export", "bob.dbr")
    assert code == 0
    assert "3 common sentences; left out: 2 of ann.export, 1 of bob.dbr" in err
    assert "constituents of ann.export" in out
    assert "disagreements: labels" in out
    assert run("ann.export", "bob.dbr", "-o", "a.json")[0] == 0
    found = json.loads(Path("a.json").read_text())
    assert (found["sentences"], found["left_out"]) == (3, {"first": 2, "second": 1})
    assert 0 < found["f1"] < 100
    assert found["tags"]["kappa"] == found["tags"]["agreement"] / 100 == 1
    assert found["functions"]["kappa"] is None  # discbracket files have none
    assert {"first": "S", "second": "X", "times": 1} in found["disagreements"]["labels"]
    assert set(found["disagreements"]) == {"labels", "tags", "functions", "attachments"}


def test_two_annotators_of_a_project(run: Run) -> None:
    project = project_at(Path("a.jsonl"), double=1.0)
    for number in (1, 2, 3):
        accept(project, number, "Ann")
    correct(project, 2, who="Bob")
    accept(project, 3, "Bob")
    code, out, err = run("Ann", "Bob", "--journal", "a.jsonl", "--to", "json")
    assert (code, err.strip()) == (0, "2 common sentences; left out: 1 of Ann, 0 of Bob")
    found = json.loads(out)
    assert (found["sentences"], found["exact_match"]) == (2, 50)
    assert "a.jsonl has no annotator 'Bo'; did you mean 'Bob'?" in run("Ann", "Bo", "--journal", "a.jsonl")[2]
    project.close()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("- -", 2, "standard input can be read only once"),
        ("ann.export missing.export", 1, "missing.export: cannot be read"),
        ("ann.export bob.dbr -o a.html", 2, "unknown suffix of a.html"),
        ("ann.export bob.dbr -o ann.export --to json", 1, "ann.export is also an input"),
        ("Ann Bob --journal missing.jsonl", 1, "missing.jsonl: no such file"),
        ("Ann Bob --journal ann.export", 1, "is not an annotation journal"),
    ],
)
def test_wrong_arguments_are_refused(run: Run, arguments: str, code: int, message: str) -> None:
    found = run(*arguments.split())
    assert found[0] == code
    assert message in found[2]


def test_files_without_a_common_sentence(run: Run) -> None:
    dt.write(TREES[7:9], "eve.export")
    code, _, err = run("ann.export", "eve.export")
    assert code == 1
    assert "have no sentence in common" in err
