"""The settings of pretraining: sizes, single settings, and what does not agree."""

import dataclasses

import pytest

from discotree.config.pretraining import FREE, SIZES, Pretraining, PretrainingSettings, load_pretraining
from discotree.errors import ConfigError
from discotree.validation import DESCRIPTION


def test_a_size_is_where_settings_start():
    assert load_pretraining() == SIZES["small"] == Pretraining()
    changed = load_pretraining("base", ["training.seed=7", "training.optimizer=adamw", "text.length=64"])
    assert changed.network == SIZES["base"].network
    assert (changed.training.seed, changed.training.optimizer, changed.text.length) == (7, "adamw", 64)


def test_settings_that_agree_only_together_may_come_one_by_one():
    assert load_pretraining("small", ["network.hidden_size=64", "network.heads=4"]).network.heads == 4
    assert load_pretraining("small", ["training.passes=0", "training.steps=3"]).training.steps == 3


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (["network.heads=5"], r"network\.hidden_size: expected a multiple of network\.heads \(5\), got 384"),
        (["training.passes=0"], "training.max_seconds to limit the run"),
        (["training.steps=5", "training.max_seconds=5"], "cannot be combined: set only one of them"),
        (["training.epochs=5"], "unknown key 'epochs'"),
        (["training.mask_share=0.95"], "mask_share: expected at least 0.01"),
        (["training.optimizer=sgd"], "expected one of 'adamw', 'muon'"),
        (["training.batch=many"], "expected int, got 'many'"),
        (["layers"], "expected section.name=value"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, complaint):
    with pytest.raises(ConfigError, match=complaint):
        load_pretraining("small", settings)


def test_an_unknown_size_is_refused():
    with pytest.raises(ConfigError, match="unknown size 'huge', expected one of small, base"):
        load_pretraining("huge")


def test_every_setting_has_a_description():
    for section in dataclasses.fields(Pretraining):
        for entry in dataclasses.fields(getattr(Pretraining(), section.name)):
            assert entry.metadata[DESCRIPTION].endswith("."), entry.name


def test_what_tells_runs_apart_is_all_that_changes_numbers():
    facts = Pretraining().facts()
    assert facts["network.layers"] == 8
    assert {f"training.{entry.name}" for entry in dataclasses.fields(PretrainingSettings)} - facts.keys() == set(FREE)
