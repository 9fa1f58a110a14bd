"""Settings as frozen dataclasses, the presets that they start from, and the recipes that change them."""

from discotree.config.distillation import Distillation
from discotree.config.presets import BERT, DEFAULT, PAPER, PRESETS, SCENARIOS
from discotree.config.recipes import (
    RECIPES,
    load_recipe,
    recipe_names,
    recipe_path,
    recipe_table,
    with_settings,
    with_trees,
)
from discotree.config.schema import (
    HALF,
    HF,
    LSTM,
    Config,
    Data,
    DataSource,
    Decoding,
    EngineName,
    Method,
    NetworkSettings,
    Training,
)
from discotree.config.vectors import VectorSettings, vector_settings

__all__ = [
    "BERT",
    "DEFAULT",
    "HALF",
    "HF",
    "LSTM",
    "PAPER",
    "PRESETS",
    "RECIPES",
    "SCENARIOS",
    "Config",
    "Data",
    "DataSource",
    "Decoding",
    "Distillation",
    "EngineName",
    "Method",
    "NetworkSettings",
    "Training",
    "VectorSettings",
    "load_recipe",
    "recipe_names",
    "recipe_path",
    "recipe_table",
    "vector_settings",
    "with_settings",
    "with_trees",
]
