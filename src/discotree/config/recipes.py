"""Recipes: TOML files with settings, found by name or path, read and merged.

A recipe has the sections of ``Config`` and, at its top, the preset that it starts from (``preset``) and the recipe that
it is a variant of (``base``). The recipes in the folder ``recipes`` come with discotree and are known by their names.
"""

import sys
import typing
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from discotree.config.schema import LSTM, MAX_BITS, Config, Data, Decoding, Distillation, NetworkSettings, Training
from discotree.errors import ConfigError, expected
from discotree.validation import read_toml, updated, with_line

# The paper's network, its hyper-parameters and its search
PAPER = Config(
    data=Data(unaries="drop"),
    training=Training(calibrate_on_dev=False),
    decoding=Decoding(method="beam"),
)

# The best parser without a Transformer
DEFAULT = Config(
    network=NetworkSettings(
        embedding_dropout=0.25,
        subwords="latin",
        subword_dropout=0.2,
        tag_weight=0.2,
        morph_weight=0.2,
        function_weight=0.2,
        unary_weight=0.2,
        spine_weight=0.2,
        label_smoothing=0.05,
        agreement_weight=0.25,
    ),
    training=Training(schedule="cosine", epochs=60, beta2=0.99, ema_decay=0.999, batch_words=1280, learning_rate=0.003),
    decoding=Decoding(consistent=True),
)

# The default with a Transformer, which learns slowly and needs fewer epochs. Recipes name one of their own language.
BERT = Config(
    network=replace(
        DEFAULT.network,
        encoder="hf:google-bert/bert-base-multilingual-cased",
        subwords="",
        subword_dropout=0.0,
        lstm_layers=1,
        agreement_weight=0.0,
    ),
    training=replace(DEFAULT.training, epochs=20, learning_rate=0.001, warmup=500),
    decoding=DEFAULT.decoding,
)

# A fast network for `discotree distill`; distillation provides ample data, so dropout is low
SMALL = Config(
    network=replace(
        DEFAULT.network,
        char_size=50,
        lstm_size=256,
        lstm_layers=2,
        decoder_size=256,
        arc_size=256,
        label_size=64,
        embedding_dropout=0.1,
        lstm_dropout=0.15,
        recurrent_dropout=0.15,
        mlp_dropout=0.15,
        subword_dropout=0.1,
        spine_weight=0.0,
        agreement_weight=0.0,
    ),
    training=replace(
        DEFAULT.training, batch_words=5120, epochs=40, learning_rate=0.004, warmup=200, weight_bits=MAX_BITS
    ),
    decoding=DEFAULT.decoding,
    distillation=Distillation(sentences=400_000, epoch_sentences=60_000),
)

# Fine-tuning an existing model: a low learning rate and few epochs
FINE_TUNING = Training(
    schedule="cosine",
    epochs=10,
    beta2=0.99,
    ema_decay=0.999,
    batch_words=160,  # small batches: a hundred sentences are few steps
    learning_rate=0.001,
    encoder_learning_rate=2e-5,
    warmup=20,
)

PRESETS = {"paper": PAPER, "default": DEFAULT, "bert": BERT, "small": SMALL}

# The rows of the paper's table of results: the input of the network beside the words
SCENARIOS: dict[str, dict[str, dict[str, object]]] = {
    "gold-pos": {"data": {"tags": "gold"}},
    "predicted-pos": {"data": {"tags": "predicted"}},
    "no-pos": {"data": {"tags": "none"}},
    "bare": {"data": {"tags": "none", "vectors": ""}, "network": {"subwords": "", "encoder": LSTM}},
}


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RECIPES = Path(__file__).parent / "recipes"
SUFFIX = ".toml"
DEFAULT_PRESET = "default"
T = TypeVar("T")


def load_recipe(recipe: str | Path, settings: Sequence[str] = (), scenario: str = "", preset: str = "") -> Config:
    """Read a recipe, given by its name or its file, and apply a scenario and single settings (``section.name=value``).

    Later sources override earlier ones: preset < recipe < scenario < settings. A preset given here replaces the
    recipe's own.
    """
    path = recipe_path(recipe)
    table = recipe_table(path)
    own_preset = table.pop("preset", DEFAULT_PRESET)
    try:
        start = _choose(PRESETS, preset or own_preset, f"{path}: unknown preset")
        config = updated(start, {"name": path.stem} | table, str(path))
    except ConfigError as error:
        raise with_line(error, path, error.keys or (() if preset else ("preset",))) from None
    if scenario:
        config = updated(config, _choose(SCENARIOS, scenario, "unknown scenario"), f"scenario {scenario}")
    return with_settings(config, settings)


def recipe_table(path: Path) -> dict[str, Any]:
    """Return the content of a recipe, merged section by section with the recipe that it is a variant of."""
    table = read_toml(path)
    if "base" not in table:
        return table
    base = read_toml(recipe_path(str(table.pop("base"))))
    sections = [name for name in base if isinstance(base[name], dict) and isinstance(table.get(name), dict)]
    return base | table | {name: base[name] | table[name] for name in sections}


def with_settings(config: T, settings: Sequence[str]) -> T:
    """Return a configuration with single settings changed, each given as ``section.name=value``."""
    for setting in settings:
        config = updated(config, parsed_setting(setting), f"--set {setting}")
    return config


def with_trees(config: Config, files: Mapping[str, Sequence[str]]) -> Config:
    """Return a configuration with these files as the sources of its splits; splits without any keep their own."""
    data = {split: list(some) for split, some in files.items() if some}
    return updated(config, {"data": data}, "trees")


def recipe_names() -> list[str]:
    """Return the names of the recipes that come with discotree."""
    return sorted(path.stem for path in RECIPES.glob(f"*{SUFFIX}"))


def recipe_path(recipe: str | Path) -> Path:
    """Find the file of a recipe. The name of a bundled recipe takes precedence over a file or folder of that name."""
    if str(recipe) in recipe_names():
        return RECIPES / f"{recipe}{SUFFIX}"
    path = Path(recipe)
    if not path.is_file():
        names = recipe_names()
        hint = expected(str(recipe), names, f" {', '.join(names)}")
        raise ConfigError(f"{recipe}: neither a file nor one of the recipes{hint}")
    return path


def _choose(choices: Mapping[str, T], name: object, problem: str) -> T:
    if not isinstance(name, str) or name not in choices:
        raise ConfigError(f"{problem} {name!r}{expected(name, choices)}")
    return choices[name]


def parsed_setting(setting: str) -> dict[str, Any]:
    """Turn ``training.seed=7`` into a nested table; a value that is not TOML is a string."""
    name, equals, value = setting.partition("=")
    if not equals:
        raise ConfigError(f"--set {setting}: expected section.name=value")
    try:
        table = tomllib.loads(f"value = {value}")
        result: Any = table["value"] if len(table) == 1 else value
    except tomllib.TOMLDecodeError:
        result = value
    for part in reversed(name.strip().split(".")):
        result = {part: result}
    return typing.cast("dict[str, Any]", result)
