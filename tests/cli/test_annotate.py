"""discotree annotate: what it refuses before anything starts, and its export. The server has tests of its own."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.annotation import accept, correct, flat, project_at
from support.models import saved_model

import discotree as dt
from discotree.cli import main

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("Es kam nichts .\n")
    Path("other.txt").write_text("Ja .\n")

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["discotree", "annotate", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), " ".join(capsys.readouterr().err.replace("│", " ").split())

    return run


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("missing.txt", 1, "missing.txt: no such file"),
        ("in.txt other.txt", 2, "pass --journal FILE to choose where to save"),
        ("-", 2, "pass --journal FILE to choose where to save"),
        ("in.txt -o trees.what", 2, "cannot tell the format of trees.what from its name"),
        ("in.txt -o trees.zip", 1, "archives can be read but not written"),
        ("in.txt -o in.txt --to export", 1, "in.txt is also an input"),
        ("in.txt --journal in.txt", 1, "in.txt is also an input"),
        ("in.txt --export", 2, "--export needs an output file"),
        ("in.txt --export -o trees.export", 1, "in.txt.annotation.jsonl: no such file"),
        ("in.txt --order random", 2, "random"),
        ("in.txt --model nowhere --port 0", 1, "there is no model 'nowhere'"),
        ("in.txt --held-out gold.export --port 0", 1, "gold.export: cannot be read"),
        ("in.txt --host 256.0.0.1 --port 0", 1, "cannot listen on 256.0.0.1"),
        ("in.txt --api-key short --port 0", 1, "an API key must have at least"),
        ("in.txt --double 1.2", 2, "1.2 is not in the range 0<=x<=1"),
        ("in.txt --revoke Ann", 1, "in.txt.annotation.jsonl.invitations has no annotator 'Ann'; nobody is invited"),
        ("in.txt --invite  ", 2, "--invite' requires an argument"),
        ("in.txt --invite=", 1, "annotator name required (at most 100 printable characters), got ''"),
        ("in.txt --revoke=", 1, "annotator name required"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, arguments: str, code: int, message: str) -> None:
    found = run(*arguments.split())
    assert found[0] == code
    assert message in found[1]
    assert sorted(path.name for path in Path().iterdir()) == ["in.txt", "other.txt"]
    assert Path("in.txt").read_text() == "Es kam nichts .\n"


def test_finished_trees_are_exported_while_somebody_annotates(run: Run) -> None:
    project = project_at(Path("in.txt.annotation.jsonl"))
    accept(project, 1)
    correct(project, 2)
    assert run("in.txt", "--export", "-o", "a.export") == (0, "2 accepted trees written to a.export")
    assert run("in.txt.annotation.jsonl", "--export", "-o", "b.xml", "--to", "tigerxml")[0] == 0
    first, second = dt.read("a.export")
    assert second == dt.Tree.from_dict(flat(2))
    assert list(dt.read("b.xml")) == [first, second]
    assert run("in.txt", "--export", "-o", "in.txt.annotation.jsonl", "--to", "json")[0] == 1
    project.close()


def test_the_trees_of_one_annotator_are_exported(run: Run) -> None:
    project = project_at(Path("in.txt.annotation.jsonl"), double=1.0)
    correct(project, 1, "A", "Ann")
    correct(project, 1, "B", "Bob")
    correct(project, 2, "A", "Ann")
    project.step(1, "adjudicate", "Eve", tree=flat(1, "C"))
    project.close()
    assert run("in.txt", "--export", "-o", "all.export") == (0, "1 accepted tree written to all.export")
    export = ("in.txt", "--export", "-o", "a.export", "--annotator")
    assert run(*export, " Ann ") == (0, "2 accepted trees of Ann written to a.export")
    assert [tree.to_dict() for tree in dt.read("all.export")] == [flat(1, "C")]
    assert [tree.to_dict() for tree in dt.read("a.export")] == [flat(1, "A"), flat(2, "A")]
    code, message = run(*export, "Eva")
    assert (code, message) == (
        1,
        "discotree: in.txt.annotation.jsonl has no annotator 'Eva', expected one of Ann, Bob, Eve",
    )


def test_an_invitation_is_a_link_and_its_hash_is_stored(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["discotree", "annotate", "in.txt", "--invite", "Ann", "--allow-origin", "https://example.org"]
    sys.argv = arguments
    with pytest.raises(SystemExit):
        main()
    found = capsys.readouterr()
    address, token = found.out.strip().split("#token=")
    assert address == "https://example.org/annotate"
    assert "whoever has this link annotates as Ann" in found.err
    stored = Path("in.txt.annotation.jsonl.invitations").read_text()
    assert "Ann" in stored
    assert token not in stored
    assert run("in.txt", "--revoke", "Ann") == (0, "discotree: the link of Ann no longer works")
    assert Path("in.txt.annotation.jsonl.invitations").read_text() == "{}\n"


def test_the_share_of_double_sentences_cannot_be_changed(run: Run) -> None:
    project_at(Path("in.txt.annotation.jsonl"), double=0.2).close()
    before = Path("in.txt.annotation.jsonl").read_bytes()
    saved_model(Path("model"))
    code, message = run("in.txt", "--double", "0.5", "--port", "0", "-m", "model")
    assert code == 1
    assert "in.txt.annotation.jsonl was started with --double 0.2, which cannot be changed" in message
    assert Path("in.txt.annotation.jsonl").read_bytes() == before


def test_a_journal_is_no_journal_of_another(run: Run) -> None:
    project_at(Path("a.jsonl")).close()
    assert "the input is a journal already" in run("a.jsonl", "--journal", "b.jsonl")[1]
