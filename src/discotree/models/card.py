"""The card of a model: what you have to know about it before you use it, as card.json holds it."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from discotree.encoding.plain_files import read_plain
from discotree.errors import ModelError
from discotree.models import MAX_CONFIG_BYTES
from discotree.validation import from_table

CARD, README = "card.json", "README.md"


@dataclass(frozen=True, slots=True)
class Treebank:
    """A treebank that a model learned from."""

    name: str
    url: str
    licence: str


@dataclass(frozen=True, slots=True)
class RawText:
    """Text without trees that a model learned from: its encoder, or with its teachers' trees."""

    name: str
    url: str
    licence: str
    words: int


@dataclass(frozen=True, slots=True)
class BaseEncoder:
    """An encoder of others that a model is built on, or that pretraining continued."""

    name: str
    url: str
    licence: str


@dataclass(frozen=True, slots=True)
class Metrics:
    """Quality on unseen sentences, in percent; None where there is nothing to count."""

    f1: float | None
    discontinuous_f1: float | None
    exact: float | None
    tags: float | None
    functions: float | None


UNMEASURED = Metrics(None, None, None, None, None)


@dataclass(frozen=True, slots=True)
class SplitMetrics:
    """The metrics of the held-out splits."""

    dev: Metrics
    test: Metrics
    together: Metrics = UNMEASURED  # dev and test as one set, where each of them is small


@dataclass(frozen=True, slots=True)
class Card:
    """What a model learned from, under which licence, and how good it is."""

    name: str
    language: str  # in English
    code: str
    treebanks: tuple[Treebank, ...]  # the first is the one that it is scored on
    licence: str  # an SPDX expression
    commercial: bool  # whether the licence allows commercial use
    sentences: int  # in the training split
    scores: SplitMetrics
    commit: str  # discotree's commit when the model was trained
    weaknesses: str
    base: str = ""  # the model that it was fine-tuned from: name, version, fingerprint
    speed: float | None = None  # sentences per second from tokens to trees, on two cores
    gpu_speed: float | None = None  # the same with one NVIDIA H200
    texts: tuple[RawText, ...] = ()
    encoders: tuple[BaseEncoder, ...] = ()
    teachers: tuple[str, ...] = ()  # the models that it was distilled from
    other_scores: dict[str, SplitMetrics] = field(default_factory=dict)  # by the name of a treebank

    @classmethod
    def read(cls, path: Path) -> "Card":
        """Read a card from its file."""
        try:
            table = json.loads(read_plain(path, MAX_CONFIG_BYTES))
        except (OSError, ValueError, RecursionError) as error:
            raise ModelError(f"{path}: not a card: {error}") from None
        return from_table(cls, table, str(path), ModelError)

    def to_json(self) -> str:
        """Return the text that ``read`` reads."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"
