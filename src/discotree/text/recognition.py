"""The language of a text, from its frequent words.

    >>> recognise("Zij heeft het boek gisteren niet gelezen.").language
    'nl'

A naive Bayes classifier over the lists in ``frequent_words/``, which tools/make_frequent_words.py makes. It uses
only words, so a text of names or numbers is undecided. docs/text.md reports its accuracy.

Old French, Early New High German, Ancient Greek and Yiddish in Latin letters yield to modern languages, with which most
of them share words: they have to be certain to be recognised, and never make a modern language uncertain.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice, repeat
from pathlib import Path
from unicodedata import normalize

from discotree.validation import read_toml

FOLDER = Path(__file__).parent / "frequent_words"
SAMPLE_CHARACTERS = 4096  # the part of a text that is looked at
MAX_WORDS = 600
MIN_MARGIN = 3.0  # natural logarithm of the odds against the next language: 20 to 1
YIELDING_MARGIN = 3 * MIN_MARGIN  # the margin that excludes a language that yields
MIN_KNOWN_SHARE = 0.1  # frequent words make up half of a text; with fewer than this, it is in another language …
MIN_WORDS = 12  # … unless it is short, in letters that some language has
COVERAGE = 0.5  # share of running text that the words of a list make up
UNLISTED = math.log((1 - COVERAGE) * 1e-4)  # log-probability of any other word
RANK_OFFSET = 2.7  # Zipf's law as Mandelbrot corrected it; a list may have another offset

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


@dataclass(frozen=True, slots=True, eq=False)
class FrequentWords:
    """The frequent words of a language with their log-probabilities."""

    name: str  # in English
    words: Mapping[str, float]
    yields: bool = False  # to other languages, unless it is certain


@cache
def frequent_words() -> dict[str, FrequentWords]:
    """Return the frequent words of every language that can be recognised, by its code."""
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.toml"))}


@cache
def known_letters() -> frozenset[str]:
    """Return the letters of all languages that can be recognised."""
    return frozenset(chain.from_iterable(chain.from_iterable(known.words for known in frequent_words().values())))


def _read(path: Path) -> FrequentWords:
    table = read_toml(path)
    words: list[str] = table["words"].split()
    offset = table.get("rank_offset", RANK_OFFSET)  # the larger the offset, the less the order matters
    weights = [1 / (rank + offset) if table["by_frequency"] else 1.0 for rank in range(len(words))]
    log_share = math.log(COVERAGE / sum(weights))
    shares = {word: log_share + math.log(weight) for word, weight in zip(words, weights, strict=True)}
    return FrequentWords(table["name"], shares, table.get("yields", False))


def language_name(code: str) -> str:
    """Return the English name of a language; its code if it is not among those that can be recognised."""
    known = frequent_words().get(code)
    return known.name if known else code


@dataclass(frozen=True, slots=True)
class Recognition:
    """Which language a text looks like."""

    scores: Mapping[str, float]  # log-probability of the text by language; empty for a text without words
    is_foreign: bool  # hardly a word is known: the text is in none of the languages

    @property
    def best(self) -> str:
        """The code of the most probable language, or ""."""
        return "" if self.is_foreign or not self.scores else _best(self.scores)

    @property
    def language(self) -> str:
        """The code of the language, if it is certain; otherwise ""."""
        best, known = self.best, frequent_words()
        others = (code for code in self.scores if code != best and not (known[code].yields and not known[best].yields))
        return best if best and all(self.margin(code) >= MIN_MARGIN for code in others) else ""

    def margin(self, code: str) -> float:
        """Return by how much the best language is more probable than this one, as a logarithm."""
        return self.scores[self.best] - self.scores[code]

    def excludes(self, code: str) -> bool:
        """Return whether the text is certainly not in this language.

        A sentence in a language that yields may consist of words that a modern language also has, so it takes more to
        exclude it.
        """
        if code not in self.scores:
            return False
        least = YIELDING_MARGIN if frequent_words()[code].yields else MIN_MARGIN
        return self.is_foreign or self.margin(code) >= least


def _best(scores: Mapping[str, float]) -> str:
    """Return the most probable language; one that yields has to be certain."""
    known = frequent_words()
    best = max(scores, key=scores.__getitem__)
    if all(scores[best] - scores[code] >= MIN_MARGIN for code in scores if code != best):
        return best
    return max((code for code in scores if not known[code].yields), key=scores.__getitem__)


def recognise(text: str) -> Recognition:
    """Recognise the language of a text from its beginning."""
    parts = normalize("NFC", text[:SAMPLE_CHARACTERS].replace("’", "'")).split()
    matches = _WORD.finditer(" ".join([part for part in parts if "\ufffd" not in part]))  # � in place of wrong bytes
    words = [match[0].lower() for match in islice(matches, MAX_WORDS)]
    if not words:
        return Recognition({}, is_foreign=False)
    languages = frequent_words()
    scores = {code: sum(map(known.words.get, words, repeat(UNLISTED))) for code, known in languages.items()}
    best = _best(scores)
    possible = [known for code, known in languages.items() if code == best or not known.yields]
    most = max(sum(map(known.words.__contains__, words)) for known in possible)
    is_telling = len(words) >= MIN_WORDS or known_letters().isdisjoint(chain.from_iterable(words))
    return Recognition(scores, is_telling and most < MIN_KNOWN_SHARE * len(words))


def sample_of(pieces: Iterable[str]) -> str:
    """Join the first pieces of a text, as many as recognition looks at."""
    sample = ""
    for piece in pieces:
        sample += piece[:SAMPLE_CHARACTERS] + "\n"
        if len(sample) >= SAMPLE_CHARACTERS:
            break
    return sample
