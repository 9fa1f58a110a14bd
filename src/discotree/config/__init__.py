"""Settings as frozen dataclasses, the presets that they start from, and the recipes that change them."""

from discotree.config.recipes import load_recipe as load_recipe
from discotree.config.schema import Config as Config
from discotree.config.schema import Decoding as Decoding
