"""train from the command line: what they show, what they write, how they end."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from support.models import saved_model
from support.networks import TREES
from support.signals import heed_interrupts
from support.tiny import TINY, set_all, small_recipe

from discotree import write
from discotree.cli import app, console, train
from discotree.cli.console import data_console
from discotree.config.schema import Training
from discotree.errors import ConfigError, DiscotreeError, TreebankError, requires_extra
from discotree.parsing.parser import Parser
from discotree.training import tagger
from discotree.training.data import read_tags
from discotree.training.distributed import ProcessGroup

QUICK = set_all(TINY)
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Run:
    """Return a function that runs a command beside a small recipe, in this process, which has loaded torch already."""
    if "tensorboard" not in request.node.name:  # its import takes seconds
        monkeypatch.setattr(train.TrainingProgress, "write", lambda *_: None)
    small_recipe(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCOTREE_DATA", raising=False)

    def run(*arguments: str) -> Result:
        lines = io.StringIO()
        for module in (console, train):
            monkeypatch.setattr(module, "err", data_console(file=lines, width=200))
        result = CliRunner().invoke(app, arguments)
        result.messages = lines.getvalue()  # type: ignore[attr-defined]
        return result

    return run


def done(result: Any) -> Any:
    if result.exception:
        raise result.exception
    return result


def process(folder: Path, *arguments: str, code: str = "", **env: str) -> "subprocess.Popen[str]":
    """Start the command as a process of its own, with pipes for its output."""
    start = ["-c", code] if code else ["-m", "discotree"]
    return subprocess.Popen(
        [sys.executable, *start, *arguments],
        cwd=folder,
        preexec_fn=heed_interrupts,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# train


def test_train_ends_with_a_table_and_a_model(run: Run, tmp_path: Path) -> None:
    result = done(
        run("train", "small.toml", *QUICK, "--set", "training.epochs=2", "--preset", "paper", "--scenario", "gold-pos")
    )
    head, dev, test, _, model = result.stdout.splitlines()
    assert head.split() == ["F1", "disc.", "F1", "exact", "match", "LAS"]
    assert (dev.split()[0], test.split()[0]) == ("dev", "test")
    assert model == "model: runs/small-paper-gold-pos/model"
    results = json.loads((tmp_path / "runs/small-paper-gold-pos/results.json").read_text("utf-8"))
    assert dev.split()[-1] == f"{results['scores']['dev']['attachment']['las']:.2f}"
    assert (results["config"]["data"]["tags"], results["config"]["data"]["unaries"]) == ("gold", "drop")
    assert Parser.from_pretrained(tmp_path / "runs/small-paper-gold-pos/model").has_tags
    first, *lines, last = result.messages.splitlines()
    assert first.startswith("14 train sentences, 69 train words, 3 dev sentences, 15 dev words, 3 test sentences, ")
    assert f", {results['parameters']:,} weights, cpu (" in first
    assert last == "next: discotree parse TREEBANK --tags --model runs/small-paper-gold-pos/model"
    assert [line.split("  ")[0] for line in lines] == ["epoch 1/2", "epoch 2/2"]
    assert all("loss " in line and "dev LAS " in line for line in lines)


def test_train_with_several_seeds(run: Run, tmp_path: Path) -> None:
    result = done(run("train", "small.toml", *QUICK, "--output", "here", "--seeds", "2", "--set", "training.seed=5"))
    *lines, last = result.messages.splitlines()[1:]
    assert last.startswith("next: discotree parse FILE --from tokens --model here/seed-")
    assert [line.split("  ")[:2] for line in lines] == [
        ["seed 5", "epoch 1/1"],
        ["seed 6", "epoch 1/1"],
    ]
    assert " ± " in result.stdout.splitlines()[1]
    assert result.stdout.splitlines()[-1] == "model: here/seed-5/model, here/seed-6/model"
    runs = [json.loads((tmp_path / f"here/seed-{k}/results.json").read_text("utf-8")) for k in (5, 6)]
    assert [run["config"]["training"]["seed"] for run in runs] == [5, 6]
    assert runs[0]["history"][0]["loss"] != runs[1]["history"][0]["loss"]


def test_train_says_how_many_broken_trees_it_left_out(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "small.export"
    path.write_text(path.read_text("utf-8").replace("\t500\n", "\t999\n", 1), "utf-8")
    recipe = tmp_path / "small.toml"
    with pytest.raises(TreebankError, match=r"small\.export:"):
        done(run("train", "small.toml", *QUICK))
    recipe.write_text(recipe.read_text("utf-8").replace('" }', '", skip_broken = true }'), "utf-8")
    assert "1 broken tree skipped" in done(run("train", "small.toml", *QUICK)).stdout


def test_train_writes_scalars_for_tensorboard(run: Run, tmp_path: Path) -> None:
    done(run("train", "small.toml", *set_all(TINY), "--output", "one"))
    (events,) = (tmp_path / "one/tensorboard").iterdir()
    content = events.read_bytes()
    assert all(name in content for name in (b"loss/head", b"dev/las", b"learning_rate"))
    done(run("train", "small.toml", *set_all(TINY), "--output", "two", "--seeds", "2"))
    assert [path.parent.name for path in sorted((tmp_path / "two").rglob("tensorboard"))] == ["seed-1", "seed-2"]


def test_a_missing_tensorboard_is_reported_once(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    messages = done(run("train", "small.toml", *set_all(TINY), "--set", "training.epochs=3")).messages
    assert messages.count("TensorBoard is not installed: pip install 'discotree[train]'") == 1
    assert not (tmp_path / "runs/small/tensorboard").exists()


def test_only_the_first_of_several_processes_reports(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProcessGroup, "join", lambda _: ProcessGroup(rank=1))
    result = done(run("train", "small.toml", *set_all(TINY), "--output", "quiet"))
    assert (result.stdout, result.messages) == ("", "")
    assert not Path("quiet/tensorboard").exists()


def test_a_run_needs_a_recipe_or_a_model_with_trees(run: Run) -> None:
    result: Any = run("train")
    assert result.exit_code == 2
    assert "pass a RECIPE, or --base MODEL to fine-tune" in result.messages
    result = run("train", "--base", "nowhere", "--preset", "bert", "--train", "small.export")
    assert result.exit_code == 2
    assert "--preset cannot be combined with --base: nowhere already defines the network" in result.messages


@pytest.mark.slow
def test_fine_tuning_shows_scores_before_and_after_and_what_is_new(run: Run, tmp_path: Path) -> None:
    """Twice: with --base, and with a recipe that names its model; the folder of the model is not for output."""
    model = str(saved_model(tmp_path / "model"))
    quick = ["--set", "training.epochs=1", "--set", "training.device=cpu"]
    write(TREES[:14], "first.export")
    write(TREES[14:], "last.export")
    result = done(run("train", "--base", model, "--train", "first.export", "--test", "last.export", *quick))
    _, *rows = result.stdout.splitlines()
    assert [row.split("  ")[0] for row in rows[:4]] == ["dev, before", "dev", "test, before", "test"]
    assert rows[5] == f"new to {model}: nothing"
    assert rows[6].startswith("the 1 dev sentences are too few to select an epoch or to fit gap penalties")
    assert rows[7].startswith(f"licence: those of {model} (unknown: ask its authors) and of your trees both apply")
    assert rows[-1] == "model: runs/model-first/model"
    recipe = tmp_path / "mine.toml"
    text = (tmp_path / "small.toml").read_text("utf-8")
    recipe.write_text(f'{text}heads = "ptb"\n[training]\nbase_model = "model"\nepochs = 1\n', "utf-8")
    again = done(run("train", "mine.toml", *quick[2:], "-o", "again"))
    assert "data.heads=negra (the recipe has ptb)" in again.messages
    assert "dev, before" in again.stdout
    with pytest.raises(DiscotreeError, match="is inside the input folder"):
        done(run("train", "--base", model, "--train", "small.export", *quick, "-o", "model/out"))


def test_trees_on_the_command_line_replace_those_of_the_recipe(run: Run, tmp_path: Path) -> None:
    write(TREES[:5], "five.export")
    done(run("train", "small.toml", *QUICK, "--train", "five.export", "-o", "out"))
    results = json.loads((tmp_path / "out/results.json").read_text("utf-8"))
    assert results["data"]["sentences"] == {"train": 5, "dev": 3, "test": 3}


@pytest.mark.slow
def test_an_interrupted_run_says_how_to_resume_and_does(run: Run, tmp_path: Path) -> None:
    command = ["train", "small.toml", *QUICK, "--set", "training.epochs=20"]
    first = process(tmp_path, *command, OMP_NUM_THREADS="1")
    assert first.stderr is not None
    assert " weights, cpu (" in first.stderr.readline()
    line = first.stderr.readline()
    assert line.startswith("epoch 1/20  loss ")
    first.send_signal(signal.SIGINT)
    _, messages = first.communicate(timeout=60)
    *lines, last = [line, *messages.splitlines()]
    assert last == "discotree: interrupted; run the same command to continue after the last complete epoch"
    assert first.returncode == console.INTERRUPTED
    result = done(run(*command))
    before, after = (
        [int(line.split()[1].partition("/")[0]) for line in run_lines]
        for run_lines in (lines, [row for row in result.messages.splitlines() if row.startswith("epoch")])
    )
    assert after == list(range(after[0], 21))
    assert after[0] - before[-1] in (0, 1)  # an epoch is complete when its checkpoint is written
    assert "model: runs/small/model" in result.stdout


def test_a_bar_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    terminal = data_console(file=screen, force_terminal=True, width=120)
    for module in (console, train):
        monkeypatch.setattr(module, "err", terminal)
    with train.TrainingProgress(Training(epochs=2), "dev/las", "LAS") as watch:
        for epoch in (1, 2):
            watch("step", {"epoch": epoch, "step": 3 * epoch - 2, "steps": 3, "seed": 4})
            watch.bar.refresh()
            watch("epoch", {"epoch": epoch, "loss": 1.25, "dev/las": 50.0, "seconds": 0.1, "seed": 4})
    shown = screen.getvalue()
    for text in ("reading the treebank", "seed 4  epoch 1/2", "epoch 2/2", "1/3", "loss 1.250  dev LAS 50.00"):
        assert text in shown


def test_the_elapsed_time_runs_on_between_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(console, "err", data_console(file=screen, force_terminal=True, width=120))
    with train.TrainingProgress(Training(epochs=2), "dev/las", "LAS") as watch:
        for epoch in (1, 2):
            watch("step", {"epoch": epoch, "step": 1, "steps": 1, "done": 1})  # complete; dev is scored now
            watch.began -= 3600
            watch.bar.refresh()
    assert "1:00:0" in screen.getvalue()
    assert "2:00:0" in screen.getvalue()


def test_an_interruption_that_loses_everything_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = io.StringIO()
    for module in (console, train):
        monkeypatch.setattr(module, "err", data_console(file=lines, width=200))
    with pytest.raises(click.exceptions.Exit), train.TrainingProgress(Training(checkpoint_epochs=0), "dev/las", "LAS"):
        raise KeyboardInterrupt
    assert lines.getvalue() == "discotree: interrupted; nothing was saved, because training.checkpoint_epochs is 0\n"


# What is wrong with the command, and what with the rest


@pytest.mark.parametrize("option", [("--scenario", "colour"), ("--preset", "colour"), ("--seeds", "-1")])
def test_a_wrong_option_is_a_wrong_command(run: Run, option: tuple[str, str]) -> None:
    assert run("train", "small.toml", *option).exit_code == 2


def test_a_wrong_recipe_or_setting_is_an_error_without_a_traceback(run: Run) -> None:
    with pytest.raises(ConfigError, match="nowhere: neither a file nor one of the recipes alpino, "):
        done(run("train", "nowhere"))
    with pytest.raises(ConfigError, match="unknown key 'colour'"):
        done(run("train", "small.toml", "--set", "training.colour=red"))
    with pytest.raises(ConfigError, match=r"data\.predicted_tags: expected the file"):
        done(run("train", "small.toml", *QUICK, "--scenario", "predicted-pos"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--set", "data.dev=['missing.export']"], "missing.export: no such file"),
        (["--set", "data.vectors='small.toml'"], "small.toml:1: expected a word and its vector"),
        (["--set", "training.device=toaster"], "training.device: "),
        (
            ["--test", "small.export"],
            "train and test overlap: 14 sentences in both (s1, s2, s3, s4, s5, …); choose other trees",
        ),
        (["--output", "small.toml/out"], "Not a directory"),
    ],
)
def test_a_mistake_ends_the_command_with_a_sentence(run: Run, arguments: list[str], complaint: str) -> None:
    result = run("train", "small.toml", *QUICK, *arguments)
    assert isinstance(result.exception, DiscotreeError | OSError)  # main prints these without a traceback
    assert complaint in str(result.exception)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("training.schedule=clock", "requires training.max_seconds"),
        ("data.heads=klingon", "klingon"),
        ("data.vectors=nowhere.vec", "nowhere.vec: no such file"),
        ("network.encoder=hf:empty", "empty"),
        ("data.test=[{file='small.export',format='exprt'}]", "unknown format 'exprt'; did you mean 'export'?"),
        ("data.test=[{file='small.export',sentences='3-1'}]", "expected an ascending range"),
        ("data.test=[{file='small.export',split='test'}]", "requires a table of splits"),
        ("data.test=['nowhere.export']", "nowhere.export: no such file"),
    ],
)
def test_settings_are_checked_before_data_is_read(run: Run, tmp_path: Path, setting: str, complaint: str) -> None:
    (tmp_path / "small.export").write_text("#FORMAT 4\n#BOS 1\nthis treebank is broken\n#EOS 1\n")
    (tmp_path / "empty").mkdir()  # a folder without an encoder
    with pytest.raises(DiscotreeError, match=re.escape(complaint)):
        done(run("train", "small.toml", *QUICK, "--set", setting))


BARE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
from discotree.cli import main
main()
"""


def test_without_torch_the_commands_say_what_to_install(tmp_path: Path) -> None:
    started = [
        process(tmp_path, *arguments, code=BARE)
        for arguments in (("train", "negra"), ("train", "negra", "--predict-tags", "tags.tsv"), ("train", "--help"))
    ]
    train, tag, help = ((*child.communicate(timeout=60), child.returncode) for child in started)
    for _, message, code in (train, tag):
        assert message.endswith("torch is missing: pip install 'discotree[train]'\n")
        assert code == 1
    assert (help[1], help[2]) == ("", 0)


def test_a_mistake_of_ours_is_not_blamed_on_the_installation() -> None:
    with pytest.raises(ModuleNotFoundError), requires_extra("train"):
        raise ModuleNotFoundError("No module named 'discotree.nowhere'", name="discotree.nowhere")
    missing = r"torch is missing: pip install 'discotree\[train\]'"
    with pytest.raises(DiscotreeError, match=missing), requires_extra("train"):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")


# train --predict-tags


@pytest.fixture
def three_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tagger, "tag", partial(tagger.tag, folds=3))


@pytest.mark.usefixtures("three_folds")
def test_predicted_tags_can_be_used_for_training(run: Run, tmp_path: Path) -> None:
    result = done(run("train", "small.toml", *QUICK, "--predict-tags", "tags.tsv", "--set", "training.epochs=2"))
    head, train, dev, test = result.stdout.splitlines()
    assert head.split() == ["%", "correct"]
    assert (train.split()[:2], dev.split()[0], test.split()[0]) == (["train", "(jackknifed)"], "dev", "test")
    assert list(read_tags(tmp_path / "tags.tsv")) == [tree.id for tree in TREES]
    lines = result.messages.splitlines()
    assert [line.split("  ")[:2] for line in lines[:3]] == [
        ["model 1/4", "epoch 1/2"],
        ["model 1/4", "epoch 2/2"],
        ["model 2/4", "epoch 1/2"],
    ]
    hint = lines[-1].removeprefix("next: discotree ").split()
    assert hint[0] == "train"
    done(run(*hint, *QUICK))
    results = json.loads((tmp_path / "runs/small-predicted-pos/results.json").read_text("utf-8"))
    assert list(results["data"]["sha256"]) == ["small.export", "tags.tsv"]


@pytest.mark.usefixtures("three_folds")
def test_tags_are_found_beside_the_treebanks_or_right_here(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done(run("train", "small.toml", *QUICK, "--predict-tags", "tags.tsv"))
    (tmp_path / "treebanks").mkdir()
    os.rename("small.export", "treebanks/small.export")
    monkeypatch.setenv("DISCOTREE_DATA", str(tmp_path / "treebanks"))
    predicted = ["--scenario", "predicted-pos", "--set", "data.predicted_tags=tags.tsv"]
    assert "model: " in done(run("train", "small.toml", *QUICK, *predicted, "--output", "here")).stdout
    os.rename("tags.tsv", "treebanks/tags.tsv")
    assert "model: " in done(run("train", "small.toml", *QUICK, *predicted, "--output", "there")).stdout


@pytest.mark.parametrize("options", [["--seeds", "2"], ["--base", "nl"], ["-o", "out"], ["--scenario", "gold-pos"]])
def test_predicting_tags_is_not_training(run: Run, options: list[str]) -> None:
    assert run("train", "small.toml", "--predict-tags", "tags.tsv", *options).exit_code == 2
    assert run("train", "--predict-tags", "tags.tsv").exit_code == 2


def test_a_resumed_run_says_so_and_from_where(run: Run) -> None:
    done(run("train", "small.toml", *QUICK))
    again: Any = done(run("train", "small.toml", *QUICK))
    assert "nothing to train: the run ended after epoch 1; training.epochs is 1" in again.messages
    more: Any = done(run("train", "small.toml", *QUICK, "--set", "training.epochs=2"))
    assert "resuming after epoch 1/2; the cosine schedule now covers 2 epochs, not 1" in more.messages
    assert "epoch 2/2" in more.messages


def test_a_failed_run_leaves_no_folder(run: Run, tmp_path: Path) -> None:
    tag = ("train", "small.toml", "--predict-tags", "tags.tsv", *QUICK)
    for command, setting in ((("train", "small.toml", *QUICK), "data.heads=nowhere"), (tag, "data.vectors=nowhere")):
        for wrong in (setting, "training.device=cuda:7"):
            with pytest.raises(DiscotreeError):
                done(run(*command, "--set", wrong))
    assert {path.name for path in tmp_path.iterdir()} == {"small.toml", "small.export"}
