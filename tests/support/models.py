"""Small models in folders, as the commands want them. They know nothing: their trees are as odd as they come."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.networks import CALM, TREES, split_of

from discotree.config.schema import Config, Data, Training
from discotree.models.folder import write_model
from discotree.training.run import build

METRICS = {"f1": 80.5, "discontinuous_f1": 61, "exact": 40.25, "tags": 97.5, "functions": None, "lemmas": None}
CARD: dict[str, Any] = {
    "name": "xx",
    "language": "German",
    "code": "de",
    "treebanks": [{"name": "Twenty Trees", "url": "https://example.org", "licence": "CC BY-NC 4.0"}],
    "licence": "CC BY-NC 4.0",
    "commercial": False,
    "sentences": 1020,
    "scores": {"dev": METRICS, "test": METRICS, "together": dict.fromkeys(METRICS)},
    "commit": "0123abc",
    "weaknesses": "It has learned nothing.",
    "base": "",
    "speed": None,
    "gpu_speed": None,
    "texts": [],
    "encoders": [],
    "teachers": [],
    "other_scores": {},
}
README = "# xx\n\nA model for *tests*.\n"


def saved_model(folder: Path, language: str = "de", tags: Any = "none") -> Path:
    """A model that was never trained. One that looks at tags predicts none."""
    network = CALM if tags == "none" else replace(CALM, tag_weight=0.0)
    settings = Config("small", Data(tags=tags), network, Training(seed=1), language=language)
    write_model(build(settings, {"train": split_of(TREES, tags)}).model, folder)
    return folder


def with_card(folder: Path, card: Any = CARD) -> Path:
    """Give a model what an installed one has."""
    (folder / "card.json").write_text(card if isinstance(card, str) else json.dumps(card))
    (folder / "README.md").write_text(README)
    return folder
