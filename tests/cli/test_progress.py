"""The progress bar knows how much of the input is read, and so how long the rest takes."""

import gzip
import io
import os
import sys
from pathlib import Path

import pytest
from rich.console import Console
from support.models import saved_model
from support.networks import TREES

import discotree as dt
from discotree.cli import console, main
from discotree.cli.console import ProgressBar, size_of


@pytest.fixture
def bars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[ProgressBar]:
    """The bars of the commands that run in this test, as on a terminal."""
    found: list[ProgressBar] = []
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120)
    begin = ProgressBar.__init__

    def remember(self: ProgressBar, unit: str = "tree", shown: bool = True) -> None:
        begin(self, unit, shown)
        found.append(self)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console, "err", terminal)
    monkeypatch.setattr(console, "SECONDS_BETWEEN_UPDATES", 1e-9)
    monkeypatch.setattr(ProgressBar, "__init__", remember)
    dt.write(TREES * 20, tmp_path / "trees.export")
    return found


def run(*arguments: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["discotree", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    assert not ended.value.code


@pytest.mark.parametrize(
    "command",
    [
        ("convert", "trees.export", "-o", "out.dbr"),
        ("stats", "trees.export"),
        ("evaluate", "trees.export", "trees.export"),
        ("draw", "trees.export", "-o", "out.txt"),
    ],
    ids=lambda command: command[0],
)
def test_bytes_of_the_input_are_the_total(bars: list[ProgressBar], command: tuple[str, ...]) -> None:
    run(*command)
    (task,) = bars[0].bar.tasks
    assert task.total == os.path.getsize("trees.export")
    assert task.completed == task.total == bars[0].bytes
    assert task.fields["counted"].startswith(f"{20 * len(TREES)} trees, ")


@pytest.mark.parametrize("name", ["in.txt", "in.txt.gz", "trees.export"])
def test_parsing_counts_bytes_when_their_sentences_are_done(
    bars: list[ProgressBar], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("DISCOTREE_MODEL", str(saved_model(tmp_path / "model")))
    text = "\n".join(" ".join(tree.words) for tree in TREES * 20).encode()
    (tmp_path / "in.txt").write_bytes(text)
    (tmp_path / "in.txt.gz").write_bytes(gzip.compress(text))
    positions: list[float] = []
    advance = ProgressBar.advance

    def watch(self: ProgressBar, count: int, position: int) -> None:
        advance(self, count, position)
        positions.append(self.bar.tasks[0].completed)

    monkeypatch.setattr(ProgressBar, "advance", watch)
    run("parse", name, *(["--from", "tokens"] if "txt" in name else []), "-o", "out.dbr")
    assert positions == sorted(positions)
    assert positions[0] < 100 or name != "in.txt"  # the first sentence
    assert positions[-1] == bars[0].bar.tasks[0].total == (tmp_path / name).stat().st_size


def test_the_size_of_a_stream_or_an_archive_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    dt.write(TREES, tmp_path / "folder" / "a.export")
    size = (tmp_path / "folder" / "a.export").stat().st_size
    assert size_of([str(tmp_path / "folder"), str(tmp_path / "folder" / "a.export")]) == 2 * size
    assert size_of(["-"]) is size_of(["trees.tar.gz"]) is size_of(["missing.export"]) is None
