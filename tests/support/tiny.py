"""A recipe that trains in a second: the settings that make any network tiny, and a treebank for it."""

from pathlib import Path

from support.networks import TREES

from discotree import write

SIZES = ("word", "char", "tag", "lstm", "decoder", "arc", "label")
TINY = [
    *(f"network.{name}_size=8" for name in SIZES),
    "network.char_filters=8",
    "network.lstm_layers=1",
    "network.subwords=",
    "training.epochs=1",
    "training.device=cpu",
]
RECIPE = """
[data]
train = [{ file = "small.export", sentences = "1-14" }]
dev = [{ file = "small.export", sentences = "15-17" }]
test = [{ file = "small.export", sentences = "18-20" }]
"""


def set_all(settings: list[str]) -> list[str]:
    """As the command line has it."""
    return [word for setting in settings for word in ("--set", setting)]


def small_recipe(folder: Path) -> Path:
    """A recipe and its treebank: 14, 3 and 3 sentences."""
    write(TREES, folder / "small.export")
    path = folder / "small.toml"
    path.write_text(RECIPE)
    return path
