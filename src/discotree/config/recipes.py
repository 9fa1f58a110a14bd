"""Recipes: TOML files with settings, found by name or path, read and merged.

A recipe has the sections of ``Config`` and, at its top, the preset that it starts from (``preset``) and the recipe that
it is a variant of (``base``). The recipes in the folder ``recipes`` come with discotree and are known by their names.
"""

import sys
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from discotree.config.presets import PRESETS, SCENARIOS
from discotree.config.schema import Config
from discotree.errors import ConfigError
from discotree.validation import updated

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
    config = updated(_preset(preset or own_preset, path), {"name": path.stem} | table, str(path))
    if scenario:
        config = updated(config, _scenario(scenario), f"scenario {scenario}")
    return with_settings(config, settings)


def recipe_table(path: Path) -> dict[str, Any]:
    """Return what a recipe says, merged with the one that it is a variant of, but without its preset's settings."""
    return _with_base(_read(path))


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
    """Find the file of a recipe. A name of ours takes precedence over a file or folder of that name."""
    if str(recipe) in recipe_names():
        return RECIPES / f"{recipe}{SUFFIX}"
    path = Path(recipe)
    if not path.is_file():
        raise ConfigError(f"{recipe}: neither a file nor one of the recipes {', '.join(recipe_names())}")
    return path


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _with_base(table: dict[str, Any]) -> dict[str, Any]:
    """Merge a recipe with the one that it is a variant of, section by section."""
    if "base" not in table:
        return table
    table = dict(table)
    base = _read(recipe_path(str(table.pop("base"))))
    sections = [name for name in base if isinstance(base[name], dict) and isinstance(table.get(name), dict)]
    return base | table | {name: base[name] | table[name] for name in sections}


def _preset(name: object, path: Path) -> Config:
    if not isinstance(name, str) or name not in PRESETS:
        raise ConfigError(f"{path}: unknown preset {name!r}, expected one of {', '.join(PRESETS)}")
    return PRESETS[name]


def _scenario(name: str) -> dict[str, dict[str, object]]:
    if name not in SCENARIOS:
        raise ConfigError(f"unknown scenario {name!r}, expected one of {', '.join(SCENARIOS)}")
    return SCENARIOS[name]


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
