"""How a model is found by its name.

    find("nl")                    an installed one (packages.py)
    find("runs/alpino/model")     a folder
    find("hub:org/name@v2")       one from the Hugging Face hub (hub.py)

Nothing here needs torch.
"""

import hashlib
import logging
import os
from contextlib import suppress
from os import PathLike
from pathlib import Path

from discotree.encoding.plain_files import check_plain
from discotree.errors import ModelError
from discotree.models import CALIBRATION, CONFIG, ENCODER, HEAD_RULES, VOCAB
from discotree.models.card import CARD, Card
from discotree.models.hub import HUB, fetch
from discotree.models.packages import archived, model_packages, package_folder

logger = logging.getLogger("discotree")


def installed() -> dict[str, Card]:
    """Return the cards of the installed models, by name. A broken package costs a warning, and never the others."""
    cards = {}
    for name in names():
        try:
            cards[name] = _card(name)
        except ModelError as error:
            logger.warning("%s", error)
    return cards


def _card(name: str) -> Card:
    packages = model_packages()[name]
    folder = package_folder(packages)
    distribution = packages[0].distribution
    try:
        card = Card.read(folder / CARD)
    except ModelError as error:
        raise ModelError(f"{distribution}: {error}") from None
    if card.name != name:
        raise ModelError(f"{distribution}: {folder / CARD}: the card of {card.name!r}, expected that of {name!r}")
    return card


def names() -> list[str]:
    """Return the names of the installed models."""
    return list(model_packages())


def find(name: str | PathLike[str], revision: str = "") -> Path:
    """Return the folder of a model: an installed one, one of your own, or one on the hub, which is fetched.

    A ``Path``, and a name with a separator in it (``./nl``), is always a folder.
    """
    if not isinstance(name, str):
        name = os.path.join(os.curdir, name)
    if name.startswith(HUB):
        return fetch(name, revision)
    if revision:
        raise ModelError(f"{name}: only a model on the hub has revisions")
    if name in model_packages():
        return package_folder(model_packages()[name])
    with suppress(OSError):  # the name is too long for a path
        if name and Path(name).is_dir():
            return Path(name).absolute()  # absolute: it cannot be taken for an installed one
    if name in model_packages(anew=True):  # installed since this process began
        return package_folder(model_packages()[name])
    raise ModelError(_missing(name))


def _missing(name: str) -> str:
    from discotree.models.published import install_command, published

    if archive := archived(name):
        return f"the model {name!r} is in an archive, as part of {archive}, and cannot be read there: unpack it"
    if name in published() and published()[name].released:
        return f"the model {name!r} is not installed: {install_command(name)}"
    return f"there is no model {name!r}: it is neither a folder nor installed ({', '.join(names()) or 'nothing is'})"


def fingerprint(folder: Path) -> str:
    """Return a digest that tells a model from all others, whatever its name: of every file that parsing reads."""
    digest = hashlib.sha256()
    encoder = sorted(path for path in (folder / ENCODER).rglob("*") if not path.is_dir())
    own = [path for path in (folder / HEAD_RULES, folder / CALIBRATION, *encoder) if os.path.lexists(path)]
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
