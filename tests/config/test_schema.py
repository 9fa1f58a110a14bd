"""Settings: they come back from JSON, refuse values out of bounds, and each has a description."""

import dataclasses
import json
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discotree.config.recipes import load_recipe, recipe_names
from discotree.config.schema import (
    MAX_GAP_PENALTIES,
    MAX_SIZE,
    Config,
    Data,
    DataSource,
    Decoding,
    NetworkSettings,
    Training,
)
from discotree.errors import ConfigError
from discotree.validation import DESCRIPTION, updated


def every_setting(kind=Config):
    """The fields of a dataclass and of those below it, with the class that declares them."""
    for entry in dataclasses.fields(kind):
        hint = typing.get_type_hints(kind)[entry.name]
        items = [argument for argument in typing.get_args(hint) if dataclasses.is_dataclass(argument)]
        for nested in [hint] if dataclasses.is_dataclass(hint) else items:
            yield from every_setting(nested)
        if not dataclasses.is_dataclass(hint):
            yield kind, entry


def test_every_setting_has_a_description():
    found = {f"{kind.__name__}.{entry.name}": entry.metadata.get(DESCRIPTION, "") for kind, entry in every_setting()}
    assert {"DataSource.file", "Data.heads", "NetworkSettings.arc_size", "Training.seed", "Decoding.beam"} <= set(found)
    assert [name for name, description in found.items() if len(description.split()) < 3] == []
    assert [name for name, description in found.items() if not description.endswith((".", "…"))] == []


# JSON


@pytest.mark.parametrize("name", recipe_names())
def test_recipes_come_back_from_json(name):
    config = load_recipe(name)
    assert Config.from_json(config.to_json(), "memory") == config


@given(
    st.builds(
        Config,
        name=st.text(),
        data=st.builds(
            Data,
            folder=st.text(),
            train=st.lists(st.builds(DataSource, st.text(min_size=1), st.text(), skip_broken=st.booleans())).map(tuple),
            tags=st.sampled_from(["none", "gold", "predicted"]),
        ),
        network=st.builds(NetworkSettings, lstm_size=st.integers(1, MAX_SIZE), unknown=st.floats(0, 0.99)),
        training=st.builds(Training, seed=st.integers(0), learning_rate=st.floats(0, 1e300)),
    )
)
def test_any_configuration_comes_back_from_json(config):
    assert Config.from_json(config.to_json(), "memory") == config


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '"name"', "null", '{"name": 1}', '{"data": []}', "[" * 100_000])
def test_json_that_is_no_configuration_is_refused(text):
    with pytest.raises(ConfigError, match=r"^here: "):
        Config.from_json(text, "here")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3), lambda below: (
    st.lists(below, max_size=3)
    | st.dictionaries(st.sampled_from(["name", "data", "network", "training", "train", "lstm_size", "clip"]), below)
)))  # fmt: skip
def test_any_json_is_a_configuration_or_a_config_error(table):
    config, complaint = None, ""
    try:
        config = Config.from_json(json.dumps(table), "here")
    except ConfigError as error:
        complaint = str(error)
    assert config is not None or complaint.startswith("here")
    assert config is None or Config.from_json(config.to_json(), "again").data == config.data


# Bounds


@pytest.mark.parametrize(
    "setting",
    [
        "training.seed=-1",
        "training.epochs=-1",
        "training.batch_words=0",
        "training.learning_rate=-1.0",
        "training.epsilon=nan",
        "training.beta2=1.5",
        "training.encoder_learning_rate=-1.0",
        "training.layer_decay=nan",
        "network.encoder_layers=0",
        "training.ema_decay=2.0",
        "network.tag_weight=nan",
        "network.tag_weight=-1.0",
        "network.lstm_layers=20000",
        "decoding.beam=0",
    ],
)
def test_training_settings_that_make_no_sense_are_refused(setting, tmp_path):
    recipe = tmp_path / "a.toml"
    recipe.write_text("")
    with pytest.raises(ConfigError, match=r"expected at least [01]"):
        load_recipe(recipe, [setting])


# Prices of gaps


def test_prices_of_gaps_come_back_from_json():
    config = Config(decoding=Decoding(gap_penalties={"VP": 0.25, "NP": 2.0}))
    assert Config.from_json(config.to_json(), "config.json") == config
    assert load_recipe("alpino", ['decoding.gap_penalties={np = 1, "s#1" = 0.5}']).decoding.gap_penalties == {
        "np": 1.0,
        "s#1": 0.5,
    }


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ({"VP": -0.1}, "'VP': expected 0 to 100, got -0.1"),
        ({"VP": 100.5}, "'VP': expected 0 to 100"),
        ({"VP": float("nan")}, "expected 0 to 100, got nan"),
        ({"VP": float("inf")}, "expected 0 to 100, got inf"),
        ({"VP": "much"}, "VP: expected float, got 'much'"),
        ({"VP": True}, "VP: expected float, got True"),
        ([1.0], "expected a table"),
        ({f"X{k}": 1.0 for k in range(MAX_GAP_PENALTIES + 1)}, "at most 10,000 labels"),
    ],
)
def test_prices_of_gaps_are_checked(prices, message):
    with pytest.raises(ConfigError, match=message):
        Config.from_json(json.dumps({"decoding": {"gap_penalties": prices}}), "config.json")


@pytest.mark.parametrize(("language", "hint"), [("german", "de"), ("Dutch", "nl"), ("klingon", "de, en, is, nl …")])
def test_a_language_is_named_by_its_code(language, hint):
    with pytest.raises(ConfigError, match=rf"language: expected the code of a language \({hint}\), got '{language}'$"):
        updated(Config(), {"language": language}, "recipe.toml")
