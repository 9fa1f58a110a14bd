"""discotree measure: rows for files and sentences, from texts and treebanks, and what it warns of and refuses."""

import csv
import io
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import discotree as dt
from discotree.cli import app
from discotree.evaluation.measures import MEASURES, count, summarise

DATA = Path(__file__).parents[1] / "data"
GERMAN = Path(dt.__file__).parent / "treebanks" / "samples" / "german.export"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(GERMAN, "german.export")
    return tmp_path


def run(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["measure", *map(str, arguments)], input=stdin)


def rows(done: Result) -> list[dict[str, Any]]:
    assert done.exit_code == 0, done.output
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_a_treebank_is_a_row_with_intervals() -> None:
    (row,) = rows(run("german.export"))
    assert (row["file"], row["sentences"]) == ("german.export", "12")
    expected = summarise([count(tree, "tiger") for tree in dt.read(GERMAN)])
    for name, values in expected.items():
        assert [float(row[name + ending]) for ending in ("", "_low", "_high")] == pytest.approx(values, rel=1e-5)
    assert len(row) == 2 + 3 * len(MEASURES)


def test_sentences_are_rows() -> None:
    found = rows(run("german.export", "--sentences"))
    assert [row["id"] for row in found] == [str(number) for number in range(1, 13)]
    assert list(found[0]) == ["file", "id", *MEASURES]
    for row, tree in zip(found, dt.read(GERMAN), strict=True):
        assert {name: float(row[name]) for name in MEASURES} == pytest.approx(dt.measure(tree, "tiger"), rel=1e-5)


def test_several_files_have_rows_and_ids_of_their_own() -> None:
    shutil.copy(DATA / "ptb.mrg", "english.mrg")
    found = rows(run("german.export", "english.mrg"))
    assert [(row["file"], row["sentences"]) for row in found] == [("german.export", "12"), ("english.mrg", "7")]
    assert float(found[1]["clauses"]) == pytest.approx(8 / 7, rel=1e-5)
    ids = [row["id"] for row in rows(run("*.export", "english.mrg", "--sentences"))]
    assert (ids[0], ids[-1]) == ("german/1", "english/7")


def test_standard_input_may_be_a_treebank() -> None:
    (row,) = rows(run("-", "--from", "export", stdin=GERMAN.read_bytes()))
    assert (row["file"], row["sentences"]) == ("-", "12")


def test_texts_are_parsed(model: Path, folder: Path) -> None:
    """The model is untrained and its tags are random, so only the sentences are as expected."""
    (folder / "essays").mkdir()
    (folder / "essays" / "a.txt").write_text("Er kam. Sie ging nach Hause.\n", "utf-8")
    (folder / "essays" / "b.txt").write_text("Niemand wusste, warum.\n", "utf-8")
    done = run("essays", "german.export", "--model", model)
    files = [(Path(row["file"]).name, row["sentences"]) for row in rows(done)]
    assert files == [("a.txt", "2"), ("b.txt", "1"), ("german.export", "12")]
    found = rows(run("essays", "--model", model, "--sentences"))
    assert [row["id"] for row in found] == ["a/1", "a/2", "b/1"]
    assert all(row["words"] and row["depth"] for row in found)
    (row,) = rows(run("--text", "Niemand", "--model", model))
    assert (row["file"], row["sentences"]) == ("<text>", "1")


def test_a_sentence_that_cannot_be_read_is_reported(model: Path, folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"Er kam.\nSie \xff ging.\n")
    done = run("a.txt", "--from", "lines", "--model", model)
    assert done.exit_code == 1
    assert "a.txt:2: sentence 2:" in done.stderr
    assert "1 sentence could not be parsed" in done.stderr
    assert done.stdout.splitlines()[1].startswith("a.txt,1,")


def test_a_broken_tree_is_an_error_and_nothing_is_written(folder: Path) -> None:
    (folder / "broken.dbr").write_text("(ROOT (S (VVFIN 0=kam)))\n(ROOT (S\n")
    done = run("broken.dbr", "-o", "measures.csv")
    assert isinstance(done.exception, dt.TreebankError)
    assert str(done.exception).startswith("broken.dbr:2: ")
    assert not (folder / "measures.csv").exists()


def test_labels_of_an_unknown_scheme_give_a_warning(folder: Path) -> None:
    (folder / "mine.dbr").write_text("(ROOT (A (x 0=a) (y 1=b)))\n")
    done = run("mine.dbr")
    assert "mine.dbr: clauses and dependencies need labels of one of the schemes alpino, tiger, " in done.stderr
    (row,) = rows(done)
    assert (row["words"], row["clauses"], row["dependency_length"], row["depth"]) == ("2", "", "", "1")


def test_alpino_trees_need_no_functions() -> None:
    done = run(GERMAN.parent / "dutch.discbracket")
    assert not done.stderr
    (row,) = rows(done)
    assert float(row["dependency_length"]) > 1
    assert float(row["clauses"]) == 15 / 12


def test_the_output_may_not_be_an_input(folder: Path) -> None:
    assert "is also an input" in str(run("german.export", "-o", "german.export").exception)
    assert (folder / "german.export").read_bytes() == GERMAN.read_bytes()
