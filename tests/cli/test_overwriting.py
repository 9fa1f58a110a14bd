"""No command writes over what it reads, whatever the file is called."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.parse_command import LINES, Cli
from support.tiny import TINY, set_all, small_recipe

from discotree.cli import app
from discotree.errors import DiscotreeError
from discotree.files.writing import overlaps

TREE = "(ROOT (S (NP (NN 0=a) (NN 2=b)) (VV 1=c)))\n"
HERE = Path("in.dbr")


def refused(*arguments: str, match: str = "is also an input") -> None:
    with pytest.raises(DiscotreeError, match=match):
        app([*arguments], standalone_mode=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    HERE.write_text(TREE)
    Path("other.dbr").write_text(TREE)
    return tmp_path


def symlink(path: Path) -> str:
    Path("link.dbr").symlink_to(path)
    return "link.dbr"


def hard_link(path: Path) -> str:
    os.link(path, "hard.dbr")
    return "hard.dbr"


NAMES: list[Callable[[Path], str]] = [str, lambda path: str(path.absolute()), lambda path: f"./x/../{path}"]


@pytest.mark.parametrize("name", [*NAMES, symlink, hard_link])
@pytest.mark.parametrize(
    "command",
    [
        ("convert", "other.dbr", "in.dbr", "--to", "export"),
        ("convert", "other.dbr", "--to", "export", "--ids", "in.dbr"),
        ("stats", "in.dbr", "--to", "json"),
        ("evaluate", "in.dbr", "other.dbr", "--to", "json"),
        ("evaluate", "other.dbr", "in.dbr", "--to", "html"),
        ("evaluate", "other.dbr", "other.dbr", "--compare-with", "in.dbr", "--to", "table"),
        ("draw", "in.dbr", "--to", "html"),
        ("draw", "other.dbr", "--to", "svg", "--predicted", "in.dbr"),
        ("parse", "in.dbr", "--to", "export"),
        ("parse", "in.dbr", "--to", "html"),
        ("parse", "other.dbr", "in.dbr", "--from", "tokens", "--to", "export"),
    ],
)
def test_an_output_that_is_an_input_is_refused(
    folder: Path, model: Path, command: tuple[str, ...], name: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "x").mkdir()
    monkeypatch.setenv("DISCOTREE_MODEL", str(model))
    refused(*command, "-o", name(HERE))
    assert HERE.read_text() == TREE


@pytest.mark.parametrize("command", ["convert", "stats", "draw", "parse"])
def test_an_output_in_a_folder_that_is_read_is_refused(
    folder: Path, command: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCOTREE_MODEL", str(model))
    inputs = folder / "treebank"
    inputs.mkdir()
    to = {"convert": "export", "stats": "json", "draw": "html", "parse": "export"}[command]
    HERE.rename(inputs / "in.dbr")
    for output in (inputs / "in.dbr", inputs / "new.export"):
        refused(
            command,
            "treebank",
            "--to",
            to,
            "-o",
            str(output),
            match=r"is inside the input folder treebank; choose another",
        )
    os.link(inputs / "in.dbr", folder / "same.dbr")
    refused(command, "treebank", "--to", to, "-o", "same.dbr", match="is inside the input folder")
    assert sorted(os.listdir(inputs)) == ["in.dbr"]
    assert (inputs / "in.dbr").read_text() == TREE


def test_convert_without_an_option_for_the_output(folder: Path) -> None:
    refused("convert", "in.dbr", "./in.dbr")
    assert (folder / "in.dbr").read_text() == TREE


def test_parse_does_not_write_over_text_or_into_its_model(cli: Cli, tmp_path: Path, model: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(LINES))
    done = cli("a.txt", "--from", "tokens", "--to", "json", "-o", "a.txt")
    assert (done.code, done.err) == (1, "discotree: a.txt is also an input; choose another name\n")
    weights = next(model.glob("*.safetensors"))
    before = weights.read_bytes()
    done = cli("a.txt", "--from", "tokens", "--to", "json", "-o", str(weights))
    assert "is inside the input folder" in done.err
    assert weights.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a.txt"]


def test_tags_are_not_written_over_the_treebank_or_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small_recipe(tmp_path)
    before = (tmp_path / "small.export").read_bytes()
    for output in ("small.export", "small.toml"):
        refused("train", "small.toml", "--predict-tags", output, *set_all(TINY))
    assert (tmp_path / "small.export").read_bytes() == before


def test_train_does_not_write_into_or_around_what_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data/treebank").mkdir(parents=True)
    small_recipe(tmp_path)
    Path("small.export").rename("data/treebank/small.export")
    whole = ["train", "small.toml", *set_all(TINY), "--set", "data.folder=data/treebank"]
    parts = [*whole, "--set", "data.train=[{file='../treebank'}]"]
    Path("alias").symlink_to("data")
    refused(*whole, "-o", "data/treebank/small.export")
    for output in ("data/treebank", "data", "alias", "."):
        refused(*whole, "-o", output, match=r"contains the input .*small\.\w+; choose another folder")
    Path("data/recipe.toml").write_text(Path("small.toml").read_text())
    refused("train", "data/recipe.toml", *whole[2:], "-o", "data", match=r"contains the input data/recipe.toml")
    for output in ("data/treebank", "data/treebank/new/run", "alias/treebank/run"):
        refused(*parts, "-o", output, match="is inside the input folder .*treebank; choose another folder")
    Path("runs").symlink_to("data/treebank")  # where a run goes without -o
    refused(*parts, match=r"runs/small is inside the input folder")
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(
        ["alias", "data", "recipe.toml", "runs", "small.export", "small.toml", "treebank"]
    )


def test_models_does_not_write_over_a_card(tmp_path: Path, model: Path) -> None:
    for name in ("card.json", "README.md"):
        path = tmp_path / name
        path.write_text("x")
        (model / name).unlink(missing_ok=True)
        (model / name).symlink_to(path)
        try:
            refused("models", str(model), "-o", str(path))
        finally:
            (model / name).unlink()
        assert path.read_text() == "x"


def test_standard_streams_are_files_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with HERE.open() as stream, (folder / "out").open("a") as out:
        monkeypatch.setattr(sys, "stdin", stream)
        monkeypatch.setattr(sys, "stdout", out)
        assert overlaps("in.dbr", "-")
        assert not overlaps("other.dbr", "-")
        assert not overlaps("-", "in.dbr")
        assert overlaps("-", "out")
        assert overlaps("-", ".")  # standard output goes to a file in this folder


def test_devices_and_new_files_overlap_with_nothing(folder: Path) -> None:
    assert not overlaps(os.devnull, os.devnull)
    assert not overlaps("new", "in.dbr")
    assert not overlaps(str(folder / "new"), "nowhere")
    assert not overlaps("folder-2/new", "folder")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["convert", "parse"])
def test_the_text_of_brat_annotations_is_an_output_as_well(command: str) -> None:
    app(["convert", "in.dbr", "new.ann"], standalone_mode=False)
    text = Path("new.txt").read_bytes()
    refused(command, "new.txt", "-o", "new.ann")
    refused(command, "new.txt", "-o", "new.ann", "--from", "brat")
    assert Path("new.txt").read_bytes() == text == b"a c b\n"
