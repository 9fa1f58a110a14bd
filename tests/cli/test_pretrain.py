"""pretrain from the command line: what it shows, what it writes, what it refuses."""

import io
import json
import sys

import pytest
from click.testing import CliRunner
from rich.console import Console
from support.texts_raw import TINY_SETTINGS, written_text
from support.tiny import set_all

from discotree.cli import app, console, pretrain
from discotree.cli.console import data_console
from discotree.cli.pretrain import PretrainingProgress
from discotree.errors import DiscotreeError, MissingExtraError

TINY = set_all([*TINY_SETTINGS])


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs the command beside two files of text, in this process, which has loaded torch."""
    monkeypatch.chdir(tmp_path)
    written_text(tmp_path / "a.txt", 40)
    written_text(tmp_path / "b.txt", 20, seed=2)

    def run(*arguments):
        lines = io.StringIO()
        for module in (console, pretrain):
            monkeypatch.setattr(module, "err", data_console(file=lines, width=200))
        result = CliRunner().invoke(app, ["pretrain", *arguments])
        result.messages = lines.getvalue()
        return result

    return run


def done(result):
    if result.exception:
        raise result.exception
    return result


def test_it_ends_with_a_table_of_the_text_and_an_encoder(run, tmp_path):
    result = done(run("a.txt", "b.txt*3", "--output", "encoder", *TINY))
    head, one, two, _, summary, encoder = result.stdout.splitlines()
    assert head.split("  ")[0] == "text"
    assert one.split()[:3] == ["a.txt", "1", "40"]
    assert two.split()[:3] == ["b.txt", "3", "20"]
    record = json.loads((tmp_path / "encoder/pretraining.json").read_text("utf-8"))
    assert f"loss {record['loss']:.3f}" in summary
    assert "pieces/s" in summary
    assert encoder == "encoder: encoder"
    lines = result.messages.splitlines()
    assert lines[:3] == ["counting characters", "learning the vocabulary", "tokenising"]
    assert [line.split("  ")[1] for line in lines[3:]] == ["step 3", "step 6", "step 9", "step 12"]


def test_text_is_prepared_once_for_several_runs(run, tmp_path):
    result = done(run("[ab].txt", "-o", "ready", "--prepare", *TINY))
    assert result.stdout.splitlines()[-1] == "text: ready"
    assert not (tmp_path / "ready/config.json").exists()
    done(run("--prepared", "ready", "-o", "encoder", *TINY))
    assert (tmp_path / "encoder/config.json").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("a.txt", "-o", "."), "contains the input a.txt"),
        (("-o", "encoder"), "expected either text files or a folder of prepared text"),
        (("none.txt", "-o", "encoder"), "none.txt: no such file"),
        (("*.none", "-o", "encoder"), "*.none: no such file"),
        (("a.txt", "-o", "encoder", "--hold-out", "none"), "none: no such file"),
        (("a.txt", "-o", "encoder", "--continue", "none"), "none: cannot continue this encoder: "),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_nothing(run, tmp_path, arguments, complaint):
    result = run(*arguments, *set_all([setting for setting in TINY_SETTINGS if not setting.startswith("network.")]))
    assert isinstance(result.exception, DiscotreeError)
    assert complaint in str(result.exception)
    assert not (tmp_path / "encoder").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("a.txt", "-o", "encoder", "--size", "huge"), "'huge' is not one of"),
        (("a.txt", "-o", "encoder", "--prepare", "--prepared", "x"), "cannot be combined"),
        (("-o", "encoder", "--prepare"), "--prepare needs TEXT"),
        (("a.txt", "-o", "encoder", "--continue", "x", "--set", "network.layers=3"), "already defines its sizes"),
        (("a.txt",), "missing option"),
    ],
)
def test_a_wrong_command_is_told(run, arguments, complaint):
    result = run(*arguments)
    assert result.exit_code == 2
    assert complaint in result.messages


def test_a_missing_library_names_the_extra(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    result = run("a.txt", "-o", "encoder", *TINY)
    assert isinstance(result.exception, MissingExtraError)
    assert "pip install 'discotree[train]'" in str(result.exception)
    assert not (tmp_path / "encoder").exists()


def test_a_terminal_shows_a_bar_with_loss_and_speed(monkeypatch):
    terminal = Console(file=io.StringIO(), force_terminal=True, width=160)
    monkeypatch.setattr(console, "err", terminal)
    monkeypatch.setattr(pretrain, "err", terminal)
    with PretrainingProgress("") as watch:
        watch.reading("tokenising", 5 << 20, 10 << 20)
        assert watch.bar.tasks[0].percentage == 50
        metrics = {"step": 1234, "passes": 0.5, "progress": 0.25, "loss": 2.5, "pieces_per_second": 1.8e6, "seconds": 9}
        watch.training("step", metrics)
        task = watch.bar.tasks[0]
        assert (task.description, task.percentage) == ("training", 25)
        assert task.fields["counted"] == "step 1,234  pass 0.50  loss 2.500  1,800,000 pieces/s"


def test_an_interrupted_run_says_that_it_can_be_resumed(run, monkeypatch):
    from discotree.training.pretraining import loop

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(loop.PretrainingLoop, "tell", interrupt)
    result = run("a.txt", "-o", "encoder", *TINY)
    assert result.exit_code == 130
    assert "interrupted; run the same command to continue" in result.messages
