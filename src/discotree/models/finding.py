"""The models that come with discotree, and how a model is found by its name.

    find("nl")                    one that comes with discotree
    find("runs/alpino/model")     a folder
    find("hub:org/name@v2")       one from the Hugging Face hub (hub.py)

A bundled model is a folder in ``bundled`` with a card. Nothing here needs torch.
"""

import hashlib
import os
from contextlib import suppress
from os import PathLike
from pathlib import Path

from discotree.encoding.plain_files import check_plain
from discotree.errors import ModelError
from discotree.models import CONFIG, ENCODER, HEAD_RULES, VOCAB
from discotree.models.card import CARD, Card
from discotree.models.hub import HUB, fetch

MODELS = Path(__file__).parent / "bundled"


def bundled() -> dict[str, Card]:
    """Return the cards of the models that come with discotree, by name."""
    cards = {name: Card.read(MODELS / name / CARD) for name in names()}
    for name, card in cards.items():
        if card.name != name:
            raise ModelError(f"{MODELS / name / CARD}: the card of {card.name!r}, in the folder of {name!r}")
    return cards


def names() -> list[str]:
    """Return the names of the models that come with discotree."""
    if not MODELS.is_dir():
        return []
    return sorted(folder.name for folder in MODELS.iterdir() if folder.is_dir() and folder.name[0] not in "._")


def find(name: str | PathLike[str], revision: str = "") -> Path:
    """Return the folder of a model: a bundled one, one of your own, or one on the hub, which is fetched.

    A ``Path``, and a name with a separator in it (``./nl``), is always a folder.
    """
    if not isinstance(name, str):
        name = os.path.join(os.curdir, name)
    if name.startswith(HUB):
        return fetch(name, revision)
    if revision:
        raise ModelError(f"{name}: only a model on the hub has revisions")
    if name in names():
        return MODELS / name
    with suppress(OSError):  # the name is too long for a path
        if name and Path(name).is_dir():
            return Path(name).absolute()  # absolute: it cannot be taken for a bundled one
    known = ", ".join(names()) or "none"
    raise ModelError(f"there is no model {name!r}: it is neither a folder nor one that comes with discotree ({known})")


def fingerprint(folder: Path) -> str:
    """Return a digest that tells a model from all others, whatever its name: of every file that parsing reads."""
    digest = hashlib.sha256()
    encoder = sorted(path for path in (folder / ENCODER).rglob("*") if not path.is_dir())
    own = [path for path in (folder / HEAD_RULES, *encoder) if os.path.lexists(path)]
    for path in [folder / CONFIG, folder / VOCAB, *sorted(folder.glob("*.safetensors")), *own]:
        try:
            check_plain(path)
            with path.open("rb") as file:
                if path in own:
                    digest.update(f"\0{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
                while block := file.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error}") from None
    return digest.hexdigest()
