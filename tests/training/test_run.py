"""Training from a recipe to a model: results, several seeds, several processes, and kill -9."""

import dataclasses
import hashlib
import json
import os
import platform
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch
from support.networks import CALM, HEADS, TINY, TREES, corpus_for, overfitted, saved_trees

import discotree
from discotree import ConfigError, DiscotreeError, HeadRules, ModelError, write
from discotree.config.recipes import load_recipe
from discotree.config.schema import Config, DataSource, Decoding, Training
from discotree.models import CONFIG, RESULTS, VOCAB, WEIGHTS
from discotree.models.folder import read_model
from discotree.network.weights import dense
from discotree.parsing.parser import Parser
from discotree.training.data import load_splits, resolve
from discotree.training.fit import CHECKPOINT
from discotree.training.results import attachment
from discotree.training.run import MODEL, train

SMALLEST = dict.fromkeys(HEADS, 0.0) | {"tag_weight": 0.3, "function_weight": 0.3, "lstm_layers": 1}
QUICK, QUIET = (dataclasses.replace(network, **SMALLEST) for network in (TINY, CALM))


def settings_of(folder, network=QUICK, **training):
    """A run of a moment: six sentences to learn from, four to be scored on."""
    data = saved_trees(
        folder,
        train=(DataSource("small.export", sentences="1-6"),),
        dev=(DataSource("small.export", sentences="7-8,10-11"),),
        test=(DataSource("small.export", sentences="12-13"),),
    )
    return Config("quick", data, network, Training(**{"epochs": 2, "batch_words": 20} | training))


def recipe(path, settings):
    """Write the settings to a file that load_recipe reads."""
    table = dataclasses.asdict(settings)

    def toml(value):
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(map(toml, value)) + "]"
        return json.dumps(value)

    sections = [f"[{name}]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in section.items())
                for name, section in table.items() if isinstance(section, dict)]  # fmt: skip
    path.write_text(f"name = {toml(settings.name)}\n" + "\n".join(sections), "utf-8")
    assert load_recipe(path) == settings
    return path


def timeless(results):
    """Results without what depends on the clock."""
    if isinstance(results, dict):
        return {name: timeless(value) for name, value in results.items() if "seconds" not in name}
    return [timeless(value) for value in results] if isinstance(results, list) else results


# Results


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with a finished run, and what the run returned and reported."""
    folder = tmp_path_factory.mktemp("run")
    settings = settings_of(folder)
    events = []
    results = train(settings, folder / "out", lambda event, metrics: events.append((event, metrics)))
    return settings, folder, results, events


def test_a_run_leaves_a_model_its_results_and_a_checkpoint(run):
    _, folder, results, _ = run
    assert {path.name for path in (folder / "out").iterdir()} == {MODEL, RESULTS, CHECKPOINT}
    assert {path.name for path in (folder / "out" / MODEL).iterdir()} == {CONFIG, VOCAB, WEIGHTS}
    assert json.loads((folder / "out" / RESULTS).read_text("utf-8")) == json.loads(json.dumps(results))


def test_results_say_what_was_done_with_what(run):
    settings, folder, results, _ = run
    assert results["name"] == "quick"
    assert Config.from_json(json.dumps(results["config"]), "results") == settings
    digest = hashlib.sha256((folder / "small.export").read_bytes()).hexdigest()
    assert results["data"]["sha256"] == {"small.export": digest}
    assert results["data"]["sentences"] == {"train": 6, "dev": 4, "test": 2}
    assert results["versions"]["discotree"] == discotree.__version__
    assert results["versions"]["torch"] == torch.__version__
    assert results["versions"]["python"] == platform.python_version()
    parser = Parser.from_pretrained(folder / "out" / MODEL)
    assert results["parameters"] == parser.model.size
    assert results["seconds"] > 0


def test_results_have_the_history_of_training(run):
    _, _, results, events = run
    history = results["history"]
    assert [epoch["epoch"] for epoch in history] == [1, 2]
    assert [metrics for event, metrics in events if event == "epoch"] == history
    expected = {"loss", "loss/head", "loss/label", "loss/tag", "dev/las", "dev/uas", "dev/tag", "dev/function"}
    assert expected <= set(history[0])
    best = max(history, key=lambda epoch: epoch["dev/las"])
    assert results["best_epoch"] == best["epoch"]
    assert results["scores"]["dev"]["attachment"]["las"] == best["dev/las"]


def test_results_have_all_scores_of_dev_and_test(run):
    _, _, results, _ = run
    assert set(results["scores"]) == {"dev", "test"}
    for split, count in (("dev", 4), ("test", 2)):
        scores = results["scores"][split]
        assert scores["all"]["sentences"] == count
        assert {"f1", "precision", "recall", "exact_match", "pos_accuracy"} <= set(scores["discontinuous"])
        assert set(scores["attachment"]) == {"las", "uas", "tag", "function"}


def test_a_finished_run_is_scored_again_but_not_trained_again(run):
    settings, folder, results, _ = run
    events = []
    again = train(settings, folder / "out", lambda *event: events.append(event))
    assert events[1:] == [("resume", {"epoch": 2, "planned": 2, "over": 1.0})]
    assert timeless(json.loads(json.dumps(again))) == timeless(json.loads(json.dumps(results)))


def test_a_run_starts_with_its_sizes(run):
    _, _, results, events = run
    name, sizes = events[0]
    assert (name, sizes["weights"]) == ("start", results["parameters"])
    assert [sizes[f"{split} sentences"] for split in ("train", "dev", "test")] == [6, 4, 2]
    assert sizes["train words"] == sum(map(len, TREES[:6]))


@pytest.mark.parametrize("split", ["dev", "test"])
def test_train_dev_and_test_must_not_overlap(tmp_path, split):
    """One tree of the same file is enough; of another file, a long sentence with the same id."""
    data = settings_of(tmp_path).data
    write([tree for tree in TREES if len(tree) >= 6], tmp_path / "long.dbr")
    write(TREES[4:6], tmp_path / "short.dbr")  # of three words
    one_tree = dataclasses.replace(data, **{split: (DataSource("small.export", sentences="6-9"),)})
    copy = dataclasses.replace(data, **{split: (DataSource("long.dbr"),)})
    for overlapping in (one_tree, copy):
        with pytest.raises(ConfigError, match=rf"train and {split} overlap: \d+ sentences? in both \(.+\); choose"):
            load_splits(resolve(overlapping), allow_overlap=False)
    load_splits(resolve(dataclasses.replace(data, **{split: (DataSource("short.dbr"),)})), allow_overlap=False)


def test_another_recipe_does_not_go_on_in_the_same_folder(run):
    settings, folder, _, _ = run
    other = dataclasses.replace(settings, network=dataclasses.replace(settings.network, lstm_dropout=0.1))
    with pytest.raises(ModelError, match=r"checkpoint.safetensors: written with different settings or data"):
        train(other, folder / "out")


def test_other_data_do_not_go_on_in_the_same_folder(tmp_path):
    settings = settings_of(tmp_path, epochs=1)
    train(settings, tmp_path / "out")
    saved_trees(tmp_path, TREES[:13])
    with pytest.raises(ModelError, match="written with different settings or data"):
        train(settings, tmp_path / "out")


def test_gold_tags_and_functions_do_not_leak_into_the_scores(tmp_path):
    silent = dataclasses.replace(QUICK, tag_weight=0.0, function_weight=0.0)
    results = train(settings_of(tmp_path, silent, epochs=0), tmp_path / "out")
    metrics = results["scores"]["dev"]["all"]
    assert metrics["function_accuracy"] is None
    assert metrics["pos_accuracy"] == 0.0


def test_a_run_without_a_test_set_has_no_test_scores():
    _, results = overfitted()
    assert set(results["scores"]) == {"dev"}


def test_the_same_seed_gives_the_same_model_to_the_last_bit(tmp_path, run):
    settings, folder, results, _ = run
    again = train(settings, tmp_path / "again")
    weights = [path / MODEL / WEIGHTS for path in (folder / "out", tmp_path / "again")]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    assert timeless(json.loads(json.dumps(again))) == timeless(json.loads(json.dumps(results)))


def test_the_time_limit_ends_a_run(tmp_path):
    results = train(settings_of(tmp_path, epochs=1000, max_seconds=1e-6), tmp_path / "out")
    assert len(results["history"]) == 1
    assert (tmp_path / "out" / MODEL / WEIGHTS).exists()


def test_the_model_has_the_averaged_weights_that_were_scored(tmp_path):
    settings = settings_of(tmp_path, QUIET, ema_decay=0.9, schedule="cosine", warmup=2, learning_rate=0.02)
    results = train(settings, tmp_path / "out")
    parser = Parser.from_pretrained(tmp_path / "out" / MODEL)
    corpus = corpus_for(parser, TREES[6:8] + TREES[9:11])
    found = attachment(parser, corpus)
    assert found == pytest.approx(results["scores"]["dev"]["attachment"])
    plain = train(dataclasses.replace(settings, training=dataclasses.replace(settings.training, ema_decay=0.0)),
                  tmp_path / "plain")  # fmt: skip
    assert [epoch["loss"] for epoch in plain["history"]] == [epoch["loss"] for epoch in results["history"]]
    one, other = ((tmp_path / name / MODEL / WEIGHTS).read_bytes() for name in ("out", "plain"))
    assert one != other


# The command


def command(*arguments, processes=1):
    """Return the command that trains in one process or several; with one thread each, numbers are the same."""
    start = [sys.executable]
    if processes > 1:
        start += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    return [*start, "-m", "discotree", "train", *map(str, arguments)]


ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
EPOCHS = 12
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": ENVIRONMENT}


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_model_and_scores(tmp_path):
    settings = settings_of(tmp_path, epochs=EPOCHS, ema_decay=0.9, patience=2)
    path = recipe(tmp_path / "quick.toml", settings)
    # Both at once: one is left alone, the other is killed in its third epoch.
    undisturbed = subprocess.Popen(command(path, "--output", tmp_path / "whole"), **PIPES)
    killed = subprocess.Popen(command(path, "--output", tmp_path / "killed"), **PIPES)
    with killed:
        sizes, *seen = [killed.stderr.readline() for _ in range(3)]
        os.kill(killed.pid, signal.SIGKILL)
        rest = killed.stderr.read()
    assert sizes.startswith("6 train sentences, ")
    assert [text.split("  ")[0] for text in seen] == [f"epoch 1/{EPOCHS}", f"epoch 2/{EPOCHS}"]
    assert killed.returncode == -signal.SIGKILL
    assert f"epoch {EPOCHS}/" not in rest
    assert not (tmp_path / "killed" / RESULTS).exists()
    second = subprocess.run(command(path, "--output", tmp_path / "killed"), check=True, **PIPES)
    _, errors = undisturbed.communicate()
    assert undisturbed.returncode == 0, errors
    epochs = [int(number) for number in re.findall(r"^epoch (\d+)/", second.stderr, re.MULTILINE)]
    assert epochs[0] in range(2, EPOCHS)  # not from the beginning
    assert epochs == list(range(epochs[0], EPOCHS + 1))
    assert errors.count("epoch ") == EPOCHS
    whole, resumed = (tmp_path / name for name in ("whole", "killed"))
    assert (whole / MODEL / WEIGHTS).read_bytes() == (resumed / MODEL / WEIGHTS).read_bytes()
    one, other = (json.loads((folder / RESULTS).read_text("utf-8")) for folder in (whole, resumed))
    assert len(one["history"]) == EPOCHS
    assert timeless(one) == timeless(other)


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(tmp_path):
    # The large epsilon keeps Adam from making a step out of the last digit of a gradient that is zero.
    settings = settings_of(tmp_path, QUIET, epochs=4, learning_rate=0.01, ema_decay=0.5, batch_words=12, epsilon=0.01)
    path = recipe(tmp_path / "quick.toml", settings)
    done = subprocess.run(
        command(path, "--output", tmp_path / "two", "--seeds", 1, processes=2), check=False, timeout=300, **PIPES
    )
    assert done.returncode == 0, done.stderr
    one = train(settings, tmp_path / "one")
    two = json.loads((tmp_path / "two" / "seed-1" / RESULTS).read_text("utf-8"))
    names = [name for name in one["history"][0] if name.startswith("loss") or name == "learning_rate"]
    for alone, together in zip(one["history"], two["history"], strict=True):
        for name in names:
            assert together[name] == pytest.approx(alone[name], rel=1e-5), name
    folders = (tmp_path / "one", tmp_path / "two" / "seed-1")
    weights = [read_model(folder / MODEL).weights for folder in folders]
    for name, value in weights[0].items():
        np.testing.assert_allclose(dense(weights[1][name]), dense(value), atol=2e-3, rtol=2e-3)
    # One process reports and writes for both.
    assert done.stderr.count("epoch ") == 4
    assert [line.split()[0] for line in done.stdout.splitlines() if line][1:] == ["dev", "test", "model:"]
    assert {file.name for file in (tmp_path / "two").iterdir()} == {"seed-1"}
    assert {file.name for file in (tmp_path / "two" / "seed-1").iterdir()} == {
        MODEL,
        RESULTS,
        CHECKPOINT,
        "tensorboard",
    }


def test_another_decoding_method_does_not_train_again(run):
    settings, folder, _, _ = run
    events = []
    greedy = dataclasses.replace(settings, decoding=Decoding("greedy"))
    train(greedy, folder / "out", lambda *event: events.append(event))
    assert [event for event, _ in events] == ["start", "resume"]


def test_a_loss_that_is_no_number_ends_the_run_with_a_sentence(tmp_path):
    settings = settings_of(tmp_path, epochs=3, learning_rate=1e30)
    with pytest.raises(ModelError, match=r"training diverged in epoch \d|contains NaN, infinity"):
        train(settings, tmp_path / "out")
    assert not (tmp_path / "out" / MODEL).exists()


def test_vectors_of_another_language_are_refused(tmp_path):
    (tmp_path / "vectors.txt").write_text("".join(f"xx{k} 0.5 0.25 1.5\n" for k in range(10)))
    settings = settings_of(tmp_path, epochs=1)
    settings = dataclasses.replace(settings, data=dataclasses.replace(settings.data, vectors="vectors.txt"))
    with pytest.raises(ConfigError, match=r"vectors.txt: no word of the treebank has a vector"):
        train(settings, tmp_path / "out")


def test_a_device_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"training.device: .*toaster"):
        train(settings_of(tmp_path, device="toaster"), tmp_path / "out")


def test_a_failed_run_leaves_no_empty_folder(tmp_path):
    (tmp_path / "there").mkdir()
    failing = settings_of(tmp_path, epochs=2, learning_rate=1e30, checkpoint_epochs=0)
    missing = dataclasses.replace(failing, data=dataclasses.replace(failing.data, heads="nowhere"))
    for settings in (failing, missing):
        for folder in ("out", "a/b/out", "there/out"):
            with pytest.raises(DiscotreeError):
                train(settings, tmp_path / folder)
    assert not {"out", "a"} & {path.name for path in tmp_path.iterdir()}
    assert list((tmp_path / "there").iterdir()) == []


def test_what_was_there_before_a_failure_stays(tmp_path):
    (tmp_path / "out").mkdir()
    settings = settings_of(tmp_path, device="toaster")
    with pytest.raises(ConfigError, match="toaster"):
        train(settings, tmp_path / "out")
    assert (tmp_path / "out").is_dir()


@pytest.mark.parametrize("schedule", ["plateau", "cosine"])
def test_the_same_run_goes_on_with_more_epochs(tmp_path, schedule):
    train(settings_of(tmp_path, epochs=1, schedule=schedule), tmp_path / "out")
    events = []
    longer = settings_of(tmp_path, epochs=2, schedule=schedule, max_seconds=1e6, checkpoint_epochs=2)
    more = train(longer, tmp_path / "out", lambda *event: events.append(event))
    assert events[1] == ("resume", {"epoch": 1, "planned": 1, "over": 0.0})
    assert [epoch["epoch"] for epoch in more["history"]] == [1, 2]
    whole = train(longer, tmp_path / "whole")
    if schedule == "plateau":  # epochs are only a limit: nothing tells the two apart
        assert timeless(more["history"]) == timeless(whole["history"])
    else:  # from here on, the rate is that of the longer run
        assert more["history"][1]["learning_rate"] == whole["history"][1]["learning_rate"]


def test_head_rules_of_the_recipe_become_part_of_the_model(tmp_path):
    (tmp_path / "mine.headrules").write_text("S right VVFIN VAFIN\n* left *\n")
    settings = settings_of(tmp_path, epochs=1)
    settings = dataclasses.replace(settings, data=dataclasses.replace(settings.data, heads="mine.headrules"))
    train(settings, tmp_path / "out")
    expected = HeadRules.load(tmp_path / "mine.headrules").rules
    (tmp_path / "mine.headrules").unlink()
    assert Parser.from_pretrained(tmp_path / "out" / MODEL).head_rules.rules == expected
