"""vectors from the command line: what it shows, what it writes, what it refuses."""

import io
import json
from pathlib import Path

import pytest
from support.networks import TREES
from typer.testing import CliRunner, Result

from discotree.cli import app
from discotree.cli import vectors as command
from discotree.cli.terminal import DataConsole
from discotree.errors import DiscotreeError
from discotree.network.vectors import read_vectors
from discotree.training.word_vectors import VectorProgress

SMALL = [
    word
    for setting in ("size=4", "min_count=1", "epochs=1", "device=cpu", "batch=64")
    for word in ("--set", f"vectors.{setting}")
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("".join(" ".join(tree.words) + "\n" for tree in TREES), "utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["vectors", *arguments])
    if isinstance(result.exception, DiscotreeError):
        raise result.exception
    return result


def test_vectors_come_with_a_record_and_the_next_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = io.StringIO()
    for module in (command, command.report_written.__globals__):
        if isinstance(module, dict):
            monkeypatch.setitem(module, "err", DataConsole(file=lines, width=200))
        else:
            monkeypatch.setattr(module, "err", DataConsole(file=lines, width=200))
    assert run("text.txt*2", "-o", "mine.txt", "--language", "de", *SMALL).exit_code == 0
    record = json.loads((folder / "mine.txt.json").read_text("utf-8"))
    assert (record["sources"][0]["repeat"], record["language"]) == (2, "de")
    assert len(read_vectors("mine.txt")) == record["words"] > 20
    shown = lines.getvalue()
    assert shown.startswith("reading ")
    assert "learning 0%" in shown
    assert f"vectors of {record['words']} words (" in shown
    assert shown.endswith("now: discotree train RECIPE --set data.vectors=mine.txt\n")


def test_a_bar_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = DataConsole(file=screen, force_terminal=True, width=120)
    monkeypatch.setattr(command, "err", console)
    monkeypatch.setitem(command.new_bar.__globals__, "err", console)
    with command.VectorBar(100) as bar:
        bar(VectorProgress("reading", 50, 1000))
        bar.bar.refresh()
        bar(VectorProgress("learning", 0.5, 2000, 1.5))
        bar.bar.refresh()
    shown = screen.getvalue()
    assert all(text in shown for text in ("reading", "1,000 words", "learning", "2,000 pairs", "loss 1.500"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["text.txt", "-o", "text.txt"], "text.txt: is also the input"),
        (["nowhere.txt", "-o", "mine.txt"], "nowhere.txt: there is no such file"),
        (["text.txt", "-o", "mine.txt", "--set", "vectors.size=0"], "--set vectors.size=0: size: expected at least 1"),
        (["text.txt", "-o", "mine.txt", "--set", "vectors.min_count=99"], "none of which occurs 99 times"),
        (["text.txt", "-o", "no/mine.txt", *SMALL], "no: cannot be written to: No such file or directory"),
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
