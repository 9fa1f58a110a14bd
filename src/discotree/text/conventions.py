"""Sentence and token conventions of a language, read from one TOML file in ``languages/``.

docs/text.md explains every key, and how to add a language.
"""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from unicodedata import normalize

from discotree.errors import ConfigError
from discotree.validation import from_table

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "languages"
SUFFIX = ".toml"


class WordSet(frozenset[str]):
    """Words to look up, given as one string with whitespace between them."""

    @classmethod
    def of(cls, value: object) -> "WordSet":
        if not isinstance(value, str):
            raise ConfigError(f"expected a string of words, got {value!r}")
        words = normalize("NFC", value).split()
        for word in words:
            if word.endswith("."):
                raise ConfigError(f"write {word!r} without its last full stop")
        return cls(words)


class Expression(str):
    """Regular expression that matches any of the given ones; an apostrophe in it matches ’ too."""

    @classmethod
    def of(cls, value: object) -> "Expression":
        if not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            raise ConfigError(f"expected a list of regular expressions, got {value!r}")
        for item in value:
            try:
                groups = re.compile(item).groups
            except re.error as error:
                raise ConfigError(f"{item!r}: {error}") from None
            if groups:
                raise ConfigError(f"{item!r}: write (?:…) for a group")
        return cls("|".join(value).replace("'", "['’]"))


class Contractions(tuple[tuple[str, str], ...]):
    """Words of two tokens each, given as strings that show where they are split: "can not"."""

    @classmethod
    def of(cls, value: object) -> "Contractions":
        pairs = [item.split() if isinstance(item, str) else [] for item in value] if isinstance(value, list) else [[]]
        if any(len(pair) != 2 for pair in pairs):
            raise ConfigError(f'expected a list of strings such as "can not", got {value!r}')
        return cls((first, second) for first, second in pairs)


NO_WORDS, NO_EXPRESSION, NO_CONTRACTIONS = WordSet(), Expression(), Contractions()


@dataclass(frozen=True, eq=False)  # compared by identity, so that patterns can be cached per convention
class Convention:
    """How the treebanks of a language split sentences and tokens; docs/text.md explains every field.

    Entries of the word sets that have a capital match only with it, all others match in any case.
    """

    treebank: str

    non_final_abbreviations: WordSet
    final_abbreviations: WordSet
    abbreviations_before_numbers: WordSet = NO_WORDS
    sentence_openers: WordSet = NO_WORDS
    capital_nouns: bool = False
    ordinals: bool = False
    marks_before_lowercase: str = ""
    unfinished_words: WordSet = NO_WORDS
    colon_min_words: int = 0
    colon_before_lowercase: bool = False

    split_hyphens: bool = False
    joined_prefixes: Expression = NO_EXPRESSION
    joined_suffixes: Expression = NO_EXPRESSION
    clitics: Expression = NO_EXPRESSION
    clitic_hosts: Expression = NO_EXPRESSION
    elisions: Expression = NO_EXPRESSION
    contractions: Contractions = NO_CONTRACTIONS
    penn_quotes: bool = False
    forms: dict[str, str] = field(default_factory=dict)
    picture_tag: str = ""
    address_tag: str = ""
    foreign_tag: str = ""

    def __post_init__(self) -> None:
        self._refuse(
            "non_final_abbreviations",
            self.non_final_abbreviations & (self.final_abbreviations | self.abbreviations_before_numbers),
            "stands in another list of abbreviations, too",
        )
        for name in ("abbreviations_before_numbers", "sentence_openers", "unfinished_words"):
            words: WordSet = getattr(self, name)
            self._refuse(name, (word for word in words if word != word.casefold()), "must be lowercase")

        self._refuse("forms", (key for key in self.forms if len(key) != 1), "is not one character")

    @cached_property
    def abbreviations(self) -> frozenset[str]:
        """All abbreviations, wherever they stand."""
        return self.non_final_abbreviations | self.final_abbreviations | self.abbreviations_before_numbers

    @staticmethod
    def _refuse(name: str, words: Iterable[str], reason: str) -> None:
        for word in sorted(words):
            raise ConfigError(f"{name}: {word!r} {reason}")

    @classmethod
    def load(cls, path: str | Path) -> "Convention":
        """Read a language file; one that ``extends`` another language changes only what it names."""
        return from_table(cls, _table(Path(path)), str(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _table(path: Path) -> dict[str, Any]:
    """Read a language file on top of the one that it extends."""
    table = _read(path)
    if "extends" not in table:
        return table
    base = table.pop("extends")
    if base not in languages():
        raise ConfigError(f"{path}: extends: there is no language {base!r}; there are {', '.join(languages())}")
    inherited = _read(FOLDER / f"{base}{SUFFIX}")
    if "extends" in inherited:
        raise ConfigError(f"{path}: extends: {base} extends {inherited['extends']}; extend that")
    if isinstance(table.get("forms"), dict):
        table["forms"] = inherited.get("forms", {}) | table["forms"]
    return inherited | table


def languages() -> tuple[str, ...]:
    """Return the codes of all languages, one for each file."""
    return tuple(sorted(path.stem for path in FOLDER.glob(f"*{SUFFIX}")))


@cache
def _bundled(language: str) -> Convention:
    if language not in languages():
        raise ConfigError(f"there is no language {language!r}; there are {', '.join(languages())}")
    return Convention.load(FOLDER / f"{language}{SUFFIX}")


def convention(language: str | Convention) -> Convention:
    """Return the convention of a language, read from its file once."""
    if isinstance(language, Convention):
        return language
    if not isinstance(language, str):
        raise TypeError(f"language: expected a code such as 'nl', or a Convention, got {language!r}")
    return _bundled(language)
