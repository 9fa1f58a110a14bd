"""Which model? How a model is found by its name, and chosen for a text.

    find("nl")                    an installed one
    find("runs/alpino/model")     a folder
    find("hub:org/name@v2")       one from the Hugging Face hub

If no model is named, the one for the language of the text is chosen if that is certain; otherwise an error asks for a
name, or for a model to install. A model for non-commercial use only is never chosen: it has to be named. A large model
is chosen only if there is no small one, so that installing it changes nothing until you name it.
"""

import hashlib
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import PathFinder
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from discotree.errors import InputError, ModelError, expected
from discotree.files.reading import check_regular_file
from discotree.log import logger
from discotree.models import CALIBRATION, CONFIG, ENCODER, HEAD_RULES, HUB, VOCAB
from discotree.models.card import CARD, Card
from discotree.text.recognition import Recognition, language_name, recognise
from discotree.validation import from_table, read_toml

GROUP = "discotree.models"  # of entry points
PREFIX = "discotree_"  # how the packages of our models begin
MODEL = "model"  # the folder in a package that holds its model
PACKAGE = re.compile(r"[A-Za-z_]\w*", re.ASCII)  # without a dot: nothing has to be imported to find it

SEARCH_PATH: list[str] | None = None  # folders to look in; None: sys.path
_announced: set[str] = set()  # licences that this process has printed


class ModelPackage(NamedTuple):
    """A package with an entry point for a model."""

    distribution: str  # what pip calls the package, with its version
    package: str  # what import calls it

    def folder(self) -> Path:
        """Return the folder of the model without importing the package."""
        if not PACKAGE.fullmatch(self.package):
            raise ModelError(f"{self.distribution}: {self.package!r} is not the name of a package that holds a model")
        spec = PathFinder.find_spec(self.package, SEARCH_PATH)
        places = [Path(place).absolute() for place in (spec and spec.submodule_search_locations) or ()]
        for place in places:
            if (place / MODEL).is_dir():
                return place / MODEL
        problem = f"{places[0]} has no folder {MODEL!r}" if places else f"there is no package {self.package}"
        raise ModelError(f"{self.distribution}: {problem}; install it again, unpacked")


def model_packages() -> dict[str, list[ModelPackage]]:
    """Return the installed packages by the names of their models; only a mistake makes them several for one name."""
    from importlib.metadata import distributions

    packages: dict[str, dict[str, ModelPackage]] = {}
    for distribution in distributions(path=sys.path if SEARCH_PATH is None else SEARCH_PATH):
        with suppress(ValueError, OSError):  # a broken package does not affect the others
            name = distribution.metadata["Name"].replace("_", "-")
            for entry in distribution.entry_points.select(group=GROUP):
                found = ModelPackage(f"{name} {distribution.version}", entry.value)
                packages.setdefault(entry.name, {}).setdefault(name, found)  # the first on the path, as for import
    return {model: list(packages[model].values()) for model in sorted(packages)}


TABLE = Path(__file__).with_name("published.toml")
LARGE = "-large"


@dataclass(frozen=True, slots=True)
class PublishedModel:
    """What there is to know about a model before it is installed."""

    code: str  # the language, in two letters
    language: str  # in English
    licence: str  # an SPDX expression
    commercial: bool  # whether the licence allows commercial use
    megabytes: int = 0  # on disk; 0 if unknown
    speed: float | None = None  # sentences per second from tokens to trees, on two cores
    weaknesses: str = ""  # known weaknesses


@cache
def published() -> dict[str, PublishedModel]:
    """Return the models that we know of by name, those of one language in the order in which to recommend them."""
    tables = read_toml(TABLE)
    return {name: from_table(PublishedModel, table, f"{TABLE}: {name}", ModelError) for name, table in tables.items()}


def tier(model: str) -> str:
    """Return the tier of a model, which its name tells."""
    return "large" if model.endswith(LARGE) else "small"


def install_command(model: str) -> str:
    """Return the command that installs a published model."""
    return f"pip install discotree-{model}"


def install_hint(code: str = "") -> str:
    """Return how to install a model for a language, or any model; "" where none is published."""
    names = [name for name, model in published().items() if code in ("", model.code)]
    if not names:
        return ""
    if not code:
        small = [name for name in names if tier(name) == "small"]
        return f"{install_command('NAME')} ({', '.join(small)})"
    first = published()[names[0]]
    terms = "" if first.commercial else f" ({first.licence}: non-commercial use only)"
    return f"{install_command(names[0])}{terms}"


def names() -> list[str]:
    """Return the names of the installed models."""
    return list(model_packages())


def find(name: str | PathLike[str], revision: str | None = None) -> Path:
    """Return the folder of a model: an installed one, one of your own, or one on the hub, which is downloaded.

    A ``Path``, and a name with a separator in it (``./nl``), is always a folder.
    """
    if not isinstance(name, str):
        name = os.path.join(os.curdir, name)
    if name.startswith(HUB):
        from discotree.models.hub import fetch

        return fetch(name, revision)
    if revision:
        raise ModelError(f"{name}: only a model on the hub has revisions")
    with suppress(ModelError):  # nearly always; reading the metadata of all packages takes 50 ms
        return ModelPackage("", PREFIX + name.replace("-", "_")).folder()
    with suppress(OSError):  # the name is too long for a path
        if name and Path(name).is_dir():
            return Path(name).absolute()  # absolute: it cannot be taken for an installed one
    packages = model_packages()
    if name in packages:
        return _folder(name, packages[name])
    if name in published():
        raise ModelError(f"the model {name!r} is not installed: {install_command(name)}")
    listed = f": it is neither a folder nor an installed model ({', '.join(packages) or 'none are installed'})"
    raise ModelError(f"there is no model {name!r}{expected(name, [*packages, *published()], listed)}")


def _folder(name: str, packages: list[ModelPackage]) -> Path:
    if len(packages) > 1:
        several = " and ".join(package.distribution for package in packages)
        raise ModelError(f"the model {name!r} is in {several}: uninstall all but one")
    return packages[0].folder()


def installed() -> dict[str, Card]:
    """Return the cards of the installed models, by name. A broken package costs a warning, and never the others."""
    cards = {}
    for name, packages in model_packages().items():
        try:
            path = _folder(name, packages) / CARD
            card = Card.read(path)
            if card.name != name:
                raise ModelError(f"{path}: the card of {card.name!r}, expected that of {name!r}")
            cards[name] = card
        except ModelError as error:
            logger.warning("%s", error)
    return cards


def fingerprint(folder: Path) -> str:
    """Return a digest that tells a model from all others, whatever its name: of every file that parsing reads."""
    digest = hashlib.sha256()
    encoder = sorted(path for path in (folder / ENCODER).rglob("*") if not path.is_dir())
    own = [path for path in (folder / HEAD_RULES, folder / CALIBRATION, *encoder) if os.path.lexists(path)]
    for path in [folder / CONFIG, folder / VOCAB, *sorted(folder.glob("*.safetensors")), *own]:
        try:
            check_regular_file(path)
            with path.open("rb") as file:
                if path in own:
                    digest.update(f"\0{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
                while block := file.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error}") from None
    return digest.hexdigest()


# Choosing a model for a text


class Choice(NamedTuple):
    """A model, with a notice and a warning for the user."""

    model: str
    notice: str = ""  # why it was chosen
    warning: str = ""  # why its trees may be useless


@dataclass(frozen=True)
class Candidates:
    """The models to choose from."""

    languages: Mapping[str, str]  # code by name; of several models for a language, the first one is chosen
    restricted: Mapping[str, Card] = field(default_factory=dict)  # models that have to be named
    can_grow: bool = False  # whether more models can be installed

    @classmethod
    def installed(cls) -> "Candidates":
        """Return the installed models, small ones first, and of these the one that is called like its language."""
        cards = installed()
        order = sorted(cards, key=lambda name: (tier(name) == "large", name != cards[name].code, name))
        return cls(
            {name: cards[name].code for name in order if cards[name].commercial},
            {name: cards[name] for name in order if not cards[name].commercial},
            can_grow=True,
        )

    def choose(self, text: str) -> Choice:
        """Choose the model for a text; raise InputError where its language has none or is not certain."""
        found = recognise(text)
        if len(self.languages) == 1 and not self.restricted:
            ((name, code),) = self.languages.items()
            warning = _mismatch(found, code)
            if not warning or not self.can_grow:
                return Choice(name, warning=warning)
        best = found.language
        if name := self.for_language(best):
            looks = f"this text looks like {language_name(best)}"
            if name in self.restricted:
                licence = self.restricted[name].licence
                raise InputError(
                    f"{looks}, and the model {name} is for non-commercial use only ({licence}): name it to use it"
                )
            return Choice(name, f"{looks}: parsed with the model {name}")
        if not self.languages and not self.restricted:
            raise ModelError(self._nothing(best))
        raise InputError(f"{self._problem(found)}: {self._remedy(best)}")

    def for_language(self, code: str) -> str:
        """Return the model for a language, a restricted one if there is no other, or ""."""
        codes = {**self.languages, **{name: card.code for name, card in self.restricted.items()}}
        return next((name for name, known in codes.items() if code and known == code), "")

    def _nothing(self, code: str) -> str:
        if not self.can_grow:
            return "there is no model to choose from: name a folder or hub:ORG/NAME"
        return f"no model is installed: {install_hint(code) or install_hint()}, or name a folder or hub:ORG/NAME"

    def _remedy(self, code: str) -> str:
        naming = f"name a model ({', '.join([*self.languages, *self.restricted])})"
        hint = install_hint(code) if code and self.can_grow else ""
        return f"{hint}, or {naming}" if hint else naming

    def _problem(self, found: Recognition) -> str:
        if not found.scores:
            return "the input has no words"
        if found.is_foreign:
            return "this text looks like none of the languages that discotree knows"
        codes = {*self.languages.values(), *(card.code for card in self.restricted.values())}
        if found.language or (found.best and all(found.excludes(code) for code in codes if code in found.scores)):
            models = "installed model" if self.can_grow else "model"
            return f"this text looks like {language_name(found.best)}, which no {models} is for"
        return "the language of this text is not certain"


def mismatch(text: str, code: str) -> str:
    """Return the warning that a text is in another language than its model; "" where it may be in that language."""
    return _mismatch(recognise(text), code)


def _mismatch(found: Recognition, code: str) -> str:
    if not code or not found.excludes(code):
        return ""
    looks = f"like {language_name(found.best)}" if found.best else "like none of the languages that discotree knows"
    return f"this text looks {looks}; this model is for {language_name(code)}"


def announce_licence(folder: Path) -> None:
    """Say once, in the main process, that a model is for non-commercial use only."""
    path = folder / CARD
    if not path.exists():
        return
    try:
        card = Card.read(path)
    except ModelError:  # a model can be used without its card
        return
    if not card.licence or card.commercial:
        return
    from multiprocessing import parent_process

    notice = f"the model {card.name} is for non-commercial use only ({card.licence})"
    if parent_process() is None and notice not in _announced:
        _announced.add(notice)
        logger.warning("%s", notice)
