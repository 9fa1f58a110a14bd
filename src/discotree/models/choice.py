"""Which model? One answer for the command line, Python, the API and the page.

The model that you name; otherwise the one for the language of the text, if that is certain; otherwise an error that
asks for a name, or for a model to install. A model for non-commercial use only is never chosen: it has to be named. A
large model is chosen where there is no small one, so that installing it changes nothing until you name it.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from discotree.errors import InputError, ModelError
from discotree.models.card import CARD, Card
from discotree.models.finding import installed
from discotree.models.published import install_hint, tier
from discotree.text.recognition import Recognition, language_name, recognise

logger = logging.getLogger("discotree")
_announced: set[str] = set()  # licences that this process has spoken of


class Choice(NamedTuple):
    """A model, and what there is to say about it."""

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
        """Return the model for a language, a restricted one where there is no other, "" where there is none."""
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
        if found.is_foreign:
            return "this text looks like none of the languages that discotree knows"
        codes = {*self.languages.values(), *(card.code for card in self.restricted.values())}
        if found.best and all(found.excludes(code) for code in codes if code in found.scores):
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
