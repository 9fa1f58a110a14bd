"""pretrain --vectors from the command line: what it shows, what it writes, what it refuses."""

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.networks import TREES

from discotree.cli import app
from discotree.cli import pretrain as command
from discotree.cli.console import data_console
from discotree.errors import DiscotreeError
from discotree.network.vectors import read_vectors

SMALL = [
    word for setting in ("size=4", "min_count=1", "epochs=1", "device=cpu") for word in ("--set", f"vectors.{setting}")
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("".join(" ".join(tree.words) + "\n" for tree in TREES), "utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["pretrain", "--vectors", *arguments])
    if isinstance(result.exception, DiscotreeError):
        raise result.exception
    return result


def test_vectors_come_with_a_record_and_the_next_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = io.StringIO()
    for module in (command, command.report_written.__globals__):
        if isinstance(module, dict):
            monkeypatch.setitem(module, "err", data_console(file=lines, width=200))
        else:
            monkeypatch.setattr(module, "err", data_console(file=lines, width=200))
    assert run("text.txt*2", "-o", "mine.txt", "--language", "de", *SMALL).exit_code == 0
    record = json.loads((folder / "mine.txt.json").read_text("utf-8"))
    assert (record["sources"][0]["repeat"], record["language"]) == (2, "de")
    assert len(read_vectors("mine.txt")) == record["words"] > 20
    shown = lines.getvalue()
    assert shown.startswith("reading\n0%  ")
    assert f"vectors of {record['words']} words (" in shown
    assert shown.endswith("next: discotree train RECIPE --set data.vectors=mine.txt\n")


def test_a_bar_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = data_console(file=screen, force_terminal=True, width=120)
    monkeypatch.setattr(command, "err", console)
    monkeypatch.setitem(command.report_written.__globals__, "err", console)
    with command.PretrainingProgress("") as bar:
        bar.reading("reading", 50 << 20, 100 << 20)
        bar.bar.refresh()
        bar.learning("step", {"progress": 0.5, "pairs": 2000, "loss": 1.5, "seconds": 9})
        bar.bar.refresh()
    shown = screen.getvalue()
    assert all(text in shown for text in ("reading", "50 MB", "training", "2,000 pairs", "loss 1.500"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["text.txt", "-o", "text.txt"], "text.txt is also an input"),
        (["nowhere.txt", "-o", "mine.txt"], "nowhere.txt: no such file"),
        (["text.txt", "-o", "mine.txt", "--set", "vectors.size=0"], "vectors: size: expected at least 1"),
        (["text.txt", "-o", "mine.txt", "--set", "vectors.min_count=99"], "none of which occurs 99 times"),
        (["text.txt", "-o", "no/mine.txt", *SMALL], "no: no such folder"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_mistake_ends_the_command_with_a_sentence(arguments: list[str], complaint: str) -> None:
    with pytest.raises(DiscotreeError) as error:
        run(*arguments)
    assert complaint in str(error.value)
    assert [path.name for path in Path().iterdir()] == ["text.txt"]


@pytest.mark.usefixtures("folder")
def test_a_wrong_option_is_a_wrong_command() -> None:
    assert run("text.txt").exit_code == 2
    assert run("text.txt", "-o", "-").exit_code == 2
    assert run("text.txt", "-o", "mine.txt", "--language", "klingon").exit_code == 2
