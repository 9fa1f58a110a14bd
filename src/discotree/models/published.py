"""The models that can be installed with pip, whether they are or not."""

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from discotree.errors import ModelError
from discotree.validation import from_table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).with_name("published.toml")
LARGE = "-large"


@dataclass(frozen=True, slots=True)
class PublishedModel:
    """What there is to know about a model before it is installed."""

    code: str  # the language, in two letters
    language: str  # in English
    licence: str  # an SPDX expression
    commercial: bool  # whether the licence allows commercial use
    released: bool = True  # whether pip finds it
    megabytes: int = 0  # on disk; 0: nobody has looked
    speed: float | None = None  # sentences per second from tokens to trees, on two cores
    weaknesses: str = ""  # what it is bad at


@cache
def published() -> dict[str, PublishedModel]:
    """Return the models that we know of by name, those of one language in the order in which to recommend them."""
    tables = tomllib.loads(TABLE.read_text("utf-8"))
    return {name: from_table(PublishedModel, table, f"{TABLE}: {name}", ModelError) for name, table in tables.items()}


def tier(model: str) -> str:
    """Return the tier of a model, which its name tells."""
    return "large" if model.endswith(LARGE) else "small"


def install_command(model: str) -> str:
    """Return the command that installs a published model."""
    return f"pip install discotree-{model}"


def install_hint(code: str = "") -> str:
    """Return how to install a model for a language, or any model; "" where none is published."""
    names = [name for name, model in published().items() if model.released and code in ("", model.code)]
    if not names:
        return ""
    if not code:
        small = [name for name in names if tier(name) == "small"]
        return f"{install_command('NAME')} ({', '.join(small)})"
    first = published()[names[0]]
    terms = "" if first.commercial else f" ({first.licence}: non-commercial use only)"
    return f"{install_command(names[0])}{terms}"
