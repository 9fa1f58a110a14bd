"""tools/train_large.py makes encoders and parsers in the right order, and goes on where it stopped."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import train_large
from support.networks import TREES
from train_large import Step, chosen, parsed, startable

from discotree import write
from discotree.config.pretraining import load_pretraining
from discotree.config.recipes import load_recipe, recipe_names

TINY_ENCODER = [
    "network.layers=1",
    "network.hidden_size=16",
    "network.heads=2",
    "network.inner_size=16",
    "training.steps=3",
    "training.batch=4",
    "training.device=cpu",
]
TINY_PARSER = [
    *(f"network.{name}_size=8" for name in ("lstm", "decoder", "arc", "label")),
    "network.agreement_weight=0",
    "training.epochs=1",
    "training.device=cpu",
    "data.drop_repeats=false",
    'data.train=[{ file = "small.export", sentences = "1-14" }]',
    'data.dev=[{ file = "small.export", sentences = "15-17" }]',
    'data.test=[{ file = "small.export", sentences = "18-20" }]',
]


def test_every_step_has_settings_that_exist() -> None:
    for encoder in train_large.ENCODERS:
        load_pretraining(settings=encoder.settings)
    for parser in train_large.PARSERS:
        assert load_recipe(parser.recipe).network.encoder == f"hf:encoders/{parser.encoder}"
    large = {name for name in recipe_names() if name.endswith("-large")}
    assert {parser.recipe for parser in train_large.PARSERS} == large


def test_a_step_waits_for_its_input_and_a_large_encoder_for_another(tmp_path: Path) -> None:
    there, missing = tmp_path / "there", tmp_path / "missing"
    there.touch()
    first, second = (Step(name, (), there, missing, True) for name in ("first", "second"))
    ready, early = Step("ready", (), there, missing), Step("early", (), missing, missing)
    assert startable([first, second, early, ready], [], 8) == [first, ready]
    assert startable([second, ready], [first], 8) == [ready]
    assert startable([ready], [first], 1) == []


def test_steps_are_chosen_by_name_or_by_recipe() -> None:
    def names(*only: str) -> list[str]:
        return [step.name for step in chosen(parsed(["text", "-o", "out", *(["--only", *only] if only else [])]))]

    assert names("de", "alpino-large", "nl-large-2") == [
        *("de", "nl-large-2"),
        *(f"alpino-large-{seed}" for seed in (1, 2, 3)),
    ]
    assert len(names()) == len(train_large.ENCODERS) + sum(parser.seeds for parser in train_large.PARSERS)
    with pytest.raises(SystemExit, match="there is no step fy; there are en, is, nl, de, en-large-1"):
        names("nl", "fy")


@pytest.mark.slow
def test_an_encoder_and_a_parser_are_trained_and_a_second_call_has_nothing_to_do(tmp_path: Path) -> None:
    """Two encoders: one that the parser needs, and one whose text never arrives."""
    write(TREES, tmp_path / "small.export")
    (tmp_path / "text.txt").write_text("\n".join(" ".join(tree.words) for tree in TREES) + "\n", "utf-8")
    discotree = [sys.executable, "-m", "discotree"]
    prepare = ["pretrain", "text.txt*20", "-o", "prepared/de", "--prepare", "--set", "text.vocab_size=100"]
    subprocess.run([*discotree, *prepare, "--set", "text.length=16"], cwd=tmp_path, check=True, capture_output=True)
    small = ["--pretrain-set", "text.vocab_size=100", "--pretrain-set", "text.length=16"]
    small += [word for setting in TINY_ENCODER for word in ("--pretrain-set", setting)]
    small += [word for setting in TINY_PARSER for word in ("--set", setting)]
    command = [sys.executable, train_large.__file__, "prepared", "-o", "large", *small, "--only"]

    first = subprocess.run([*command, "de", "is", "de-free-large-2"], cwd=tmp_path, capture_output=True, text=True)
    assert first.returncode == 1
    assert "is: not started, prepared/is/text.json is missing" in first.stdout
    results = json.loads((tmp_path / "large" / "runs" / "de-free-large-2" / "results.json").read_text("utf-8"))
    assert results["config"]["training"]["seed"] == 2
    assert results["scores"]["test"]["attachment"]["las"] >= 0
    again = subprocess.run([*command, "de", "de-free-large-2"], cwd=tmp_path, capture_output=True, text=True)
    assert (again.returncode, again.stdout) == (0, "")

    damaged = tmp_path / "prepared" / "is"
    damaged.mkdir()
    (damaged / "text.json").write_text("{}", "utf-8")
    third = subprocess.run([*command, "is"], cwd=tmp_path, capture_output=True, text=True)
    assert third.returncode == 1
    assert "is: failed with exit code" in third.stdout
