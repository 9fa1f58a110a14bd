"""The models that come with discotree, and how a model is found by its name.

    parser = load("nl")                    one that comes with discotree
    parser = load("runs/alpino/model")     a folder
    parser = load("hub:org/name@v2")       one from the Hugging Face hub (hub.py)

A bundled model is a folder in ``models`` with a card.json that says what it learned from, under which licence, and how
good it is. Nothing here needs torch before a model is loaded.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from discotree.config.validation import from_table
from discotree.errors import ModelError, first_line, requires_extra

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

MODELS = Path(__file__).parent / "bundled"
CARD, README = "card.json", "README.md"
HUB = "hub:"


@dataclass(frozen=True, slots=True)
class Treebank:
    """Something that a model learned from."""

    name: str
    url: str
    licence: str


@dataclass(frozen=True, slots=True)
class Figures:
    """How good a model is on sentences that it has not seen, in percent; None where there is nothing to count."""

    f1: float | None
    discontinuous_f1: float | None
    exact: float | None
    tags: float | None
    functions: float | None


@dataclass(frozen=True, slots=True)
class Scores:
    dev: Figures
    test: Figures


@dataclass(frozen=True, slots=True)
class Card:
    """What has to be known about a model before it is used."""

    name: str
    language: str  # in English
    code: str
    treebanks: tuple[Treebank, ...]  # the first is the one that it is scored on
    licence: str
    commercial: bool  # whether the licence allows commercial use
    sentences: int  # of training
    scores: Scores
    commit: str  # of discotree, when the model was trained
    weaknesses: str

    @classmethod
    def read(cls, path: Path) -> "Card":
        try:
            table = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ModelError(f"{path}: not a card: {error}") from None
        return from_table(cls, table, str(path), ModelError)


def bundled() -> dict[str, Card]:
    """The cards of the models that come with discotree, by name."""
    cards = {name: Card.read(MODELS / name / CARD) for name in names()}
    for name, card in cards.items():
        if card.name != name:
            raise ModelError(f"{MODELS / name / CARD}: the card of {card.name!r}, in the folder of {name!r}")
    return cards


def names() -> list[str]:
    """The names of the models that come with discotree."""
    if not MODELS.is_dir():
        return []
    return sorted(folder.name for folder in MODELS.iterdir() if folder.is_dir() and folder.name[0] not in "._")


def find(name: str | PathLike[str], revision: str = "") -> Path:
    """The folder of a model: of one that comes with discotree, of your own, or of one on the hub.

    A ``Path`` is always a folder, and so is a name with a separator in it: ``./nl``.
    """
    if not isinstance(name, str):
        name = os.path.join(os.curdir, name)
    if name.startswith(HUB):
        from discotree.models.hub import fetch

        return fetch(name, revision)
    if revision:
        raise ModelError(f"{name}: only a model on the hub has revisions")
    if name in names():
        return MODELS / name
    with suppress(OSError):  # a name that is too long
        if name and Path(name).is_dir():
            return Path(name).absolute()  # by any other name it could be taken for one of ours
    known = ", ".join(names()) or "none"
    raise ModelError(f"there is no model {name!r}: it is neither a folder nor one that comes with discotree ({known})")


def fingerprint(folder: Path) -> str:
    """What tells a model from all others, whatever it is called."""
    digest = hashlib.sha256()
    for path in [folder / "config.json", folder / "vocab.json", *sorted(folder.glob("*.safetensors"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def load(name: str | PathLike[str], device: str = "", revision: str = "") -> "Parser":
    """The parser of a model, on a GPU if there is one and no other device is named.

    ``revision`` is that of a model on the hub: a branch, a tag or a commit.
    """
    folder = find(name, revision)
    with requires_extra("parser"):
        import torch

        from discotree.parsing.parser import Parser

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # the latter where torch was built without it
        raise ModelError(f"the device {device!r} cannot be used: {first_line(error)}") from None
    return Parser.load(folder, device)
