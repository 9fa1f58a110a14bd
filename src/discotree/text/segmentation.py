"""Sentence boundaries and tokens, by the conventions of a language.

Conventions are read from one TOML file per language in ``languages/``; docs/text.md explains every key. Tokens of a
sentence are matched by one regular expression per language. Its last branch matches any character that is not
whitespace, so nothing is lost.

Candidates for sentence boundaries are the marks and faces that may end a sentence, with the quotes and brackets that
close after them. The words before and after them decide. Every lookaround has a fixed reach, so time is linear in the
length of any text. Line breaks within a paragraph count as spaces if its lines are wrapped: filled, or continued in
lowercase. Otherwise lines stand alone: headlines, lists, rows of tables, messages.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

from discotree.errors import ConfigError
from discotree.validation import from_table, read_toml

# Conventions

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


_CLASS_OR_APOSTROPHE = re.compile(r"\[(?:\\.|[^\]\\])+\]|'")


def _with_curly_apostrophe(found: re.Match[str]) -> str:
    return "['’]" if found[0] == "'" else found[0].replace("'", "'’")


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
        return cls(_CLASS_OR_APOSTROPHE.sub(_with_curly_apostrophe, "|".join(value)))


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
    colon_marks: str = ":;"
    colon_before_lowercase: bool = False

    split_hyphens: bool = False
    joined_prefixes: Expression = NO_EXPRESSION
    joined_suffixes: Expression = NO_EXPRESSION
    clitics: Expression = NO_EXPRESSION
    clitic_hosts: Expression = NO_EXPRESSION
    elisions: Expression = NO_EXPRESSION
    contractions: Contractions = NO_CONTRACTIONS
    contraction_mark: str = ""
    marked_words: Expression = NO_EXPRESSION
    penn_quotes: bool = False
    forms: dict[str, str] = field(default_factory=dict)
    picture_tag: str = ""
    address_tag: str = ""
    foreign_tag: str = ""
    bullet_tag: str = ""

    def __post_init__(self) -> None:
        self._refuse(
            "non_final_abbreviations",
            self.non_final_abbreviations & (self.final_abbreviations | self.abbreviations_before_numbers),
            "is also in another list of abbreviations",
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
        """Read a language file; one that ``extends`` another language overrides the keys that it has."""
        return from_table(cls, _table(Path(path)), str(path))


def _table(path: Path) -> dict[str, Any]:
    """Read a language file on top of the one that it extends."""
    table = read_toml(path)
    if "extends" not in table:
        return table
    base = table.pop("extends")
    if base not in languages():
        raise ConfigError(f"{path}: extends: unknown language {base!r}; choose one of {', '.join(languages())}")
    inherited = read_toml(FOLDER / f"{base}{SUFFIX}")
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
        raise ConfigError(f"unknown language {language!r}; choose one of {', '.join(languages())}")
    return Convention.load(FOLDER / f"{language}{SUFFIX}")


def convention(language: str | Convention) -> Convention:
    """Return the convention of a language, read from its file once."""
    if isinstance(language, Convention):
        return language
    if not isinstance(language, str):
        raise TypeError(f"language: expected a code such as 'nl', or a Convention, got {language!r}")
    return _bundled(language)


# Tokens

# Sets, to stand inside […].
QUOTES = "\"'`“”„‟‘’‚‛«»‹›"
CLOSING = QUOTES + ")]}"
# Every character that is neither whitespace nor a symbol is part of a word: letters and digits of all scripts, their
# accents, joiners, and invisible characters.
LATIN_SYMBOL = r"!-/:-@\[-\^`{-~¡-©«¬®-±´¶-¸»¿×÷"  # those below U+0100
SYMBOL = LATIN_SYMBOL + (
    r"\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2117\u2120\u2122\u2190-\u245f\u2500-\u2bff"
    r"\u2e00-\u2e7f\u3001-\u3003\u3008-\u3020\u3030\u303d\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\uffe0-\uffee"
    r"\U0001f000-\U0001faff"
)
EXTENDER = (  # accents, joiners, variation selectors and skin tones belong to the symbol before them
    r"\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\u200c\u200d\U0001f3fb-\U0001f3ff"
    r"\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)
FACES = (  # and gestures and cheers, which end sentences; a heart may be a verb
    r"\U0001f600-\U0001f64f\U0001f910-\U0001f917\U0001f919-\U0001f92f\U0001f970-\U0001f97a"
    r"\U0001f44b-\U0001f44f\U0001f389\U0001f38a\u263a"
)

FOREIGN = (  # scripts that none of the languages is written in; Greek letters are signs in all of them
    r"\u0300-\u036f\u0400-\u1cff\u2c00-\u2dff\u2e80-\u2fdf\u3005-\u3007\u3031-\ud7ff\uf900-\ufaff\ufb1d-\ufdff"
    r"\ufe70-\ufefc\uff66-\uffdc\U00010000-\U0001cfff\U00020000-\U0003ffff"
)
EMOJI = r"\u231a\u231b\u23e9-\u23fa\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001faff"

BULLETS = frozenset("•‣◦⁃▪▫●○■□►▸")  # in front of the items of lists

_EXTENDED = rf"(?:[{EXTENDER}]|(?<=\u200d)[{SYMBOL}])*"
PICTURE = rf"[{SYMBOL}]{_EXTENDED}"  # one symbol, or the symbols that a joiner makes one
FLAG = r"[\U0001f1e6-\U0001f1ff]{2}"
FACE = rf"[{FACES}][{FACES}{EXTENDER}\u2640\u2642]{{0,40}}"  # or several
EMOTICON = (  # after a space, before a space or a final mark
    r"(?<!\S)(?:[:;]['’]?-?[()\[\]DPpOo|*/\\]{1,5}|[:;]-?3|=[()DP]{1,5}|[xX]D+|<3+|\^_*\^)(?=[\s.,!?]|\Z)"
)
_END = r"[^\s<>\"“”„«».,;:!?()\[\]{}'’…]"  # the last character of an address: marks after it belong to the sentence
EMAIL = r"\w[\w.+-]{0,63}@\w[\w-]{0,63}(?:\.\w[\w-]{0,63}){1,8}"
URL = rf"(?:(?:https?|ftps?)://|www\.)[^\s<>\"“”„«»]*{_END}"
_SITE = (  # voorbeeld.nl/pad
    r"(?:com|org|net|edu|gov|info|io|eu|uk|nl|be|de|at|ch|is)"
    rf"(?![\w@-]|\.\w)(?:/(?:[^\s<>\"“”„«»]{{0,200}}{_END})?)?"
)
_FILE = (  # verslag-2.pdf
    r"(?i:docx?|odt|xlsx?|pptx?|pdf|txt|csv|tsv|json|xml|html?|md|tex|py|js|jpe?g|png|gif|svg|mp[34]|mov|zip|gz|exe)"
    r"(?![\w-]|\.\w)"
)
NAME = rf"\w[\w-]{{0,63}}(?:\.\w[\w-]{{0,63}}){{0,8}}\.(?:{_SITE}|{_FILE})"
PATH = r"(?<!\S)(?:~?/[\w.-]{1,64}/|~/|[A-Za-z]:\\)(?:[\w.-]{1,64}[/\\]){0,32}[\w-](?:[\w.-]{0,64}[\w-])?"
DATE = r"\d{1,2}/\d{1,2}/(?:\d{4}|\d\d)(?![\w/])|\d{4}-\d\d-\d\d(?![\w-])"
TIME = (  # 1:30 may be a ratio, unless words around it say otherwise
    r"(?<![\w:.])(?:(?<=[Aa]t )1:[0-5]\d|1:[0-5]\d(?=\s?[ap]\.?m)|(?:0\d|1\d|2[0-4]|[2-9]):[0-5]\d(?::[0-5]\d)?)"
    r"(?![\d:])"
)


_GROUP = "[ \u00a0\u2009\u202f]"  # a space between groups of digits, which may be thin or not breaking
NUMBER = (  # 12 345, 1 234 567,89; not telephone numbers, which begin with 0 or have groups of other sizes
    rf"[1-9](?<![\w.,/:-].)(?<!\d{_GROUP}.)\d{{0,2}}(?:{_GROUP}\d{{3}})+(?:[.,]\d+)?(?![\w-]|{_GROUP}\d|[.,/:]\d)"
)


class Word(NamedTuple):
    """Token of a text: ``text[start:end]``, with the form that the treebank writes for it."""

    form: str
    start: int
    end: int


LOOKBEHIND = 16  # more characters than the expressions look back

_W = rf"[^\s{SYMBOL}]"
_LETTER = rf"[^\s\d_{SYMBOL}]"
_LOWER = r"[a-zß-ÿ]"
_HYPHEN = "[-‐‑–]"
_REPEATED = "|".join(rf"{re.escape(c)}{{2,}}" for c in "-–—−*=~#•!?.$<>")

_SYMBOLS = rf"{_REPEATED}|''|``|,,(?!,)|°[CFK](?!{_W})|{FLAG}|{PICTURE}|\S"
_DOT = rf"\.(?!(?<={_LOWER}{_LOWER}\.)[A-ZÀ-Þ](?![A-Z]))(?={_W})"  # unless a space is missing after a sentence
_APOSTROPHE = rf"(?<={_LETTER})['’](?={_LETTER}|\d\d)|(?<=\d)['’](?=\d\d\d|s(?!{_W}))"
_REST = rf"(?:[\s{re.escape(CLOSING)}]|{FACE}|{EMOTICON})*\Z"  # what may follow the full stop of a sentence
# Inside a sentence a full stop belongs to its word, unless the word looks like the end of a sentence.
_STOP = rf"\.(?=[\s,;:])(?!{_REST})(?!(?<={_LOWER * 4}\.)\s+{_LETTER})"
_DOTTED = re.compile(rf"(?:{_LETTER}\.)+{_LETTER}")
_AT_END = re.compile(_REST)


def _word(convention: Convention) -> str:
    """Return the expression for a word and everything joined to it, without addresses and single symbols."""
    elision = rf"(?<!{_W})['’](?=(?:{convention.elisions})(?!{_W}))"
    if convention.split_hyphens:
        prefix = rf"(?=[a-zA-Z]+{_HYPHEN})(?i:{convention.joined_prefixes}){_HYPHEN}(?={_W})"
        joint = rf"{_APOSTROPHE}|{_DOT}|(?<=\d),(?=\d\d\d(?!\d))"
        if convention.joined_suffixes:
            joint += rf"|-(?=(?:{convention.joined_suffixes})(?!{_W}))"
        return rf"(?:{prefix}|{elision})?{_W}+(?:(?:{joint}){_W}+)*(?:{_STOP})?"
    joint = rf"{_APOSTROPHE}|{_DOT}|(?<=\d)[,:](?=\d)|[/&](?={_W})|\.?{_HYPHEN}(?=['’]?{_W})['’]?"
    price = r"(?<=\d)[.,](?:--?|–|—)(?!\w)"  # 10.000,-
    start, middle, end = rf"(?<!\S)-(?={_W})|{elision}", rf"(?:{joint}){_W}+", rf"{price}|-(?![-\w])|{_STOP}"
    if "(" not in convention.forms:  # (werk)dag, bezwaar(tje)
        start += rf"|\({_LETTER}{{1,12}}\)(?={_W})"
        middle += rf"|(?:\({_LETTER}{{1,12}}\)(?={_W})|\({_LOWER}{{1,12}}\)){_W}*"
    quoted = rf'"{_W}+(?:-{_W}+)*"-{_W}+'  # "Alumni"-Verein
    return rf"(?:{start})?{_W}+(?:{middle})*(?:{end})?|{quoted}"


@lru_cache(maxsize=32)
def _pattern(convention: Convention, latin: bool) -> re.Pattern[str]:
    """Return the expression for a token; frequent kinds come first where they cannot begin a longer token.

    For ``latin`` text, without characters above U+00FF, it is the same with fewer symbols: made in a third of the time.
    """
    plain = rf"{_W}+(?=[\s;!?)\]]|,(?![\d–—-])|:(?![\d/\\])|\Z)"
    frequent = r",(?!,)|;(?![()DP|*-])|[/%\[\]](?<!(?<!\S)/)|\.(?![.\d])(?P<stop>)"
    if convention.forms:
        frequent = rf"[{re.escape(''.join(convention.forms))}](?P<form>)|{frequent}"
    rare = [r"(?<!\S)\.\d+|\.(?!\.)", URL, EMAIL, EMOTICON, PATH, r"[A-Z]{1,3}\$", rf"[@#](?={_LETTER}){_W}+"]
    if convention.split_hyphens:  # elsewhere these are words
        frequent += "|-(?!-)"
        rare += [NAME, DATE, TIME]
    if convention.penn_quotes:
        frequent += '|"(?P<quote>)'
    if convention.contractions:
        halves = [(f"[{first[0].upper()}{first[0]}]{first[1:]}", second) for first, second in convention.contractions]
        before = rf"(?<!{_W})" + ("(?<!['’])" if convention.contraction_mark else "")  # d'el is not d'e@ @l
        contraction = rf"{before}(?:{'|'.join(rf'{first}(?={second}(?!{_W}))' for first, second in halves)})"
        plain = rf"(?!{contraction}){plain}"
        rare.append(rf"{contraction}(?P<half>)")
    if convention.marked_words:
        plain = rf"(?<!{_W})(?:{convention.marked_words})|{plain}"
    if convention.clitics:
        clitic = rf"(?i:{convention.clitics})(?!{_W})"
        rare += [rf"(?<={_W}){clitic}", rf"(?={convention.clitic_hosts or _W}){_W}+?(?={clitic})"]
    whole = "|".join([rf"{NUMBER}(?P<number>)", plain, frequent, *rare, _word(convention), _SYMBOLS])
    return re.compile(whole.replace(SYMBOL, LATIN_SYMBOL) if latin else whole)


def tokenise(text: str, start: int, end: int, convention: Convention, offset: int = 0) -> list[Word]:
    """Return the tokens of the sentence ``text[start:end]``, with ``offset`` added to their offsets."""
    result: list[Word] = []
    seen = text[max(0, start - LOOKBEHIND) : end]
    latin = seen.isascii() or max(seen, default="") <= "\xff"
    mark = ""
    for match in _pattern(convention, latin).finditer(text, start, end):
        first, last = match.span()
        form = mark + match[0]
        kind = match.lastgroup
        mark = convention.contraction_mark if kind == "half" else ""
        if kind is not None:
            if kind == "stop" and result and result[-1].end == first + offset:
                if _is_abbreviation(result, text, last, end, convention):
                    result[-1] = Word(result[-1].form + form, result[-1].start, last + offset)
                    continue
            elif kind == "quote":
                form = "``" if first == 0 or text[first - 1].isspace() or text[first - 1] in "([{-–—/" else "''"
            elif kind == "half":
                form += mark
            elif kind == "form":
                form = convention.forms[form]
            elif kind == "number":
                form = "".join(form.split())
        result.append(Word(form, first + offset, last + offset))
    return result


def _is_abbreviation(before: list[Word], text: str, stop: int, end: int, convention: Convention) -> bool:
    """Return whether the full stop that ends at ``stop`` belongs to the word before it."""
    word = normalize("NFC", before[-1].form)
    keys = {word, word.casefold()}
    if keys & convention.final_abbreviations or _DOTTED.fullmatch(word):
        return True
    if _AT_END.match(text, stop, end):
        return False
    return bool(keys & convention.non_final_abbreviations) or (
        text[stop] == ")" and len(before) > 1 and before[-2].form in ("(", "-LRB-")
    )


# Not compiled before they are needed: most sentences do without them.
_PICTURE = rf"[{EMOJI}][{EMOJI}{EXTENDER}]*|[0-9#*]\ufe0f?\u20e3|{EMOTICON}"
_ADDRESS = rf"{URL}|{EMAIL}|{NAME}|{PATH}|[@#][^\W\d][\w-]*"
_FOREIGN = rf"[{FOREIGN}]+"


def tag_of(form: str, convention: Convention) -> str:
    """Return the tag of a picture, an address, a bullet or a word in another script; "" for all other tokens."""
    if form.isascii():
        if form.isalnum() or len(form) == 1:  # nearly all tokens
            return ""
    elif re.fullmatch(_FOREIGN, form):
        return convention.foreign_tag
    elif form.isalpha():
        return ""
    elif form in BULLETS:
        return convention.bullet_tag
    if re.fullmatch(_PICTURE, form):
        return convention.picture_tag
    return convention.address_tag if re.fullmatch(_ADDRESS, form) else ""


# Sentence boundaries

WORD_REACH = 40  # characters of a word that are looked at
SENTENCE_REACH = 400  # characters that are searched for a bracket or a quote

_STOPS = ".!?…"
_INNER = ".,;:!?…"  # no sentence begins with these …
_MARKERS = frozenset("*•([{-–—")  # … unless one of these stands before them
_OPENING = rf"[\s(\[{{{re.escape(QUOTES)}¿¡*•–—-]*(?:(?<=['’])[a-z]\s+)?"  # 't Is
_FOLLOWING = re.compile(rf"\s+({_OPENING})(\S{{0,{WORD_REACH}}})")
_STRAY_CLOSING = re.compile(r"\s+(?:[)\]}”]|'')+(?=\s|\Z)")
_STRAY_QUOTE = re.compile(r'\s+(["»])(?=\s|\Z)')
_STRAY_FACES = re.compile(rf"(?:\s+(?:{FACE}|{EMOTICON})){{1,20}}(?=\s|\Z)")  # Tot morgen! :-)
_QUOTE = re.compile(r'"(?P<before>(?<=\s"))?(?P<after>(?=\s))?')
_ITEM = re.compile(r"\w(?:[-–,]\w)*\)")  # (a)
_LABEL = re.compile(r"\w|\w[-–,]\w|\d{1,3}[a-z]?|[IVX]+")  # numbers the items of a list
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_ORDINAL = re.compile(r"(?:\d{1,2}\.?[-–/])?\d{1,2}|[IVX]+")
_SHORTENED = re.compile(rf"{_INITIALS.pattern}|{_ORDINAL.pattern}")
_FULL_WORD = re.compile(r"[^\W\d_]{4,}")


@cache
def _candidates(colons: bool) -> re.Pattern[str]:
    """Return the expression for what may end a sentence; beginning with a set of characters makes it fast."""
    stop = rf"(?<=[{_STOPS}])(?<![{_STOPS}]{{2}})[{_STOPS}]*[{re.escape(CLOSING)}]*"
    kinds = [stop, rf"(?<=[{FACES}])(?<![{FACES}]{{2}})[^\s\w]{{0,40}}", r"(?<=(?<!\S)[:;=])['’()\[\]DPpOo|*/\\3-]+"]
    if colons:
        kinds.append("(?<=[:;·])")
    return re.compile(rf"[{_STOPS}:;·={FACES}](?:{'|'.join(kinds)})(?=\s)")


def boundaries(text: str, convention: Convention) -> Iterator[int]:
    """Yield the end of every sentence of a text but the last; whitespace after it belongs to the next sentence."""
    start = 0
    for match in _candidates(convention.colon_min_words > 0).finditer(text):
        stop = match.end()
        if stop <= start:  # part of the previous sentence already
            continue
        stray = _STRAY_CLOSING.match(text, stop)
        if stray is None and (quote := _STRAY_QUOTE.match(text, stop)) and _quote_is_open(text, stop, quote[1]):
            stray = quote
        if stray:
            stop = stray.end()
        if faces := _STRAY_FACES.match(text, stop):
            stop = faces.end()
        following = _FOLLOWING.match(text, stop)
        if following and following[2] and _ends_sentence(text, start, match, following, convention):
            yield stop
            start = stop


def _ends_sentence(
    text: str, start: int, match: re.Match[str], following: re.Match[str], convention: Convention
) -> bool:
    mark, at = match[0], match.start()
    opening, word = following[1], normalize("NFC", following[2])  # NFC, as in the word sets
    is_lower = word[0].islower() and not ("(" in opening and _ITEM.match(word))
    if word[0] in _INNER and opening[-1:] not in _MARKERS and not word.startswith(",,"):
        return False
    if _in_brackets(text, start, following.start()):
        return False
    sentence = text[max(start, at - SENTENCE_REACH) : at]
    if mark in ":;·":
        if mark not in convention.colon_marks:
            return False
        if is_lower and mark == ":" and not convention.colon_before_lowercase:
            return False
        return len(sentence.split()) >= convention.colon_min_words
    before = sentence.split()
    if mark[0] not in _STOPS:  # a face
        return bool(before) and word[0].isupper()
    if (
        ")" in mark  # mid-sentence (really!)
        and (mark[0] in "!?" or convention.capital_nouns or not word[0].isupper())
        and not text[start : start + WORD_REACH].lstrip().startswith("(")
    ):
        return False
    last = normalize("NFC", before[-1][-WORD_REACH:].lstrip("([{¿¡" + QUOTES)) if before else ""
    if len(before) < 2 and (not last or _LABEL.fullmatch(last)):
        return False
    if is_lower and any(c in CLOSING for c in mark):  # "Ja!" riep hij
        return False
    is_careless = is_lower and before[0][0].islower()  # a writer who uses no capitals
    if not last or mark[0] != "." or mark[1:2] == "." or sentence[-1].isspace():
        if not is_lower:
            return True
        is_name = mark == "!" and last[:1].isupper()  # Yahoo! is
        return mark[0] in "!?" and not is_name and (is_careless or mark[0] in convention.marks_before_lowercase)
    if is_careless and not ({last, last.casefold()} & convention.abbreviations or _SHORTENED.fullmatch(last)):
        return True
    return _is_full_stop(last, word, opening, is_lower, convention)


def _is_full_stop(last: str, word: str, opening: str, is_lower: bool, convention: Convention) -> bool:
    """Return whether the full stop after ``last`` ends the sentence rather than an abbreviation or ordinal."""
    key = last.casefold()
    has_digit = any(c.isdigit() for c in word)
    if {key, last, re.split("[-–/]", key)[-1]} & convention.non_final_abbreviations:
        return False
    if key in convention.abbreviations_before_numbers and has_digit:
        return False
    is_final = bool({key, last} & convention.final_abbreviations)
    if is_lower:  # names such as mRNA and p53 begin sentences, and some writers use no capitals at all
        is_name = len(key) > 1 and (has_digit or not word.islower())
        may_begin = "." in convention.marks_before_lowercase and not opening
        return not is_final and (is_name or (may_begin and last.islower() and _FULL_WORD.fullmatch(last) is not None))
    opens = word[0].isupper() and word.rstrip(".,;:!?" + CLOSING).casefold() in convention.sentence_openers
    if is_final:
        return opens if convention.capital_nouns else word[0].isupper() and not set(opening) & _MARKERS
    is_initial = _INITIALS.fullmatch(last) and (last[0].isupper() or convention.capital_nouns)
    if is_initial or (convention.ordinals and _ORDINAL.fullmatch(last)):
        return opens
    return True


def _in_brackets(text: str, start: int, stop: int) -> bool:
    """Return whether a bracket is open at ``stop`` and closes within reach."""
    low = max(start, stop - SENTENCE_REACH)
    if text.count("(", low, stop) <= text.count(")", low, stop):
        return False
    close = text.find(")", stop, stop + SENTENCE_REACH)
    return close >= 0 and text.find("(", stop, close) < 0


def _quote_is_open(text: str, stop: int, kind: str) -> bool:
    """Return whether a quote that ``kind`` closes is open at ``stop``; a straight one between spaces counts in turn."""
    low = max(0, stop - 2 * SENTENCE_REACH)
    if kind == "»":
        return text.count("«", low, stop) > text.count("»", low, stop)
    is_open = False
    for quote in _QUOTE.finditer(text, low, stop):
        begins = quote["before"] is not None or quote.start() == 0
        ends = quote["after"] is not None
        is_open = begins if begins != ends else not is_open
    return is_open


MAX_TITLE_SHARE = 0.6  # a title above wrapped lines is shorter than this share of the longest
MAX_HEADLINE = 50  # characters: a line that is longer and has no other to compare with may be wrapped
MAX_ENTRY_WORDS = 3  # in a column of entries; wrapped lines are longer
MAX_GREETING_WORDS = 4  # Met vriendelijke groet,

_LINE = re.compile(r"\S(?:[^\n]*\S)?")
_BULLET = re.compile(r"[•‣◦▪▫●○■□►▸➢➤✓✔✗✘☐☑☒]\s*(?=\S)")
_LINE_ITEM = re.compile(r"(?:([-–—*+])|\(?(?:\d{1,3}|[A-Za-z])([.)]))\s+(?=\S)")  # 1. or a) or -
_ROW = re.compile(r"\S\t+\S|\S\s*\|\s*\S[^|]*\||^\||\S {3,}\S")  # in a table
_LINE_ORDINAL = re.compile(r"\d{1,2}|[IVX]+")
_LINE_OPENING = "([{¿¡" + QUOTES
_FINAL = frozenset(".!?…:")
_UNFINISHED = frozenset(",;-–—(/&+=")  # a line that ends with one of these continues


@dataclass(slots=True)
class _Line:
    start: int
    end: int
    text: str
    first_word: str
    final: str  # the mark that it ends with, "" for none
    kind: str  # "-", ".", ")" or "•" for an item of a list
    is_row: bool
    is_lower: bool

    @classmethod
    def of(cls, match: re.Match[str]) -> "_Line":
        text = match[0]
        kind = ""
        if not text[0].isalpha() or text[1:2] in (".", ")"):
            item = _LINE_ITEM.match(text)
            kind = "•" if _BULLET.match(text) else (item[1] or item[2]) if item else ""
        word = text.split(None, 1)[0].lstrip(_LINE_OPENING)
        final = text[-1] if text[-1] in _FINAL else text.rstrip(CLOSING)[-1:]
        has_columns = "\t" in text or "|" in text or "   " in text
        return cls(
            match.start(),
            match.end(),
            text,
            word,
            final if final in _FINAL else "",
            kind,
            has_columns and _ROW.search(text) is not None,
            not kind and word[:1].islower(),
        )


def split_standalone_lines(text: str, convention: Convention) -> Iterator[tuple[int, int]]:
    """Yield the parts of a paragraph that sentences do not cross, as offsets; whitespace belongs to the next part."""
    begin = 0
    if "\n" in text:
        lines = [_Line.of(match) for match in _LINE.finditer(text)]
        for number in _breaks(lines, convention):
            yield begin, lines[number].end
            begin = lines[number].end
    yield begin, len(text)


@dataclass(slots=True)
class _Layout:
    """What the lines of a paragraph have in common."""

    width: int
    items: Counter[str]  # how many lines are items of a list, by kind
    is_wrapped: bool
    is_column: bool  # short entries one below the other: capitals say nothing about them
    is_list: bool  # every line ends early, and none continues in lowercase

    @classmethod
    def of(cls, lines: list[_Line]) -> "_Layout":
        width = max(len(line.text) for line in lines)
        items = Counter([line.kind for line in lines if line.kind])
        prose = [(a, b) for a, b in pairwise(lines) if not b.kind and not (a.is_row and b.is_row)]
        longest = sum(len(a.text) == width for a, _ in prose)  # nothing would have fitted there
        filled = sum(len(a.text) + 1 + len(b.first_word) > width for a, b in prose) - longest
        lower = sum(b.is_lower and not a.final for a, b in prose)
        numbers = sum(line.text[0].isdigit() and not line.kind for line in lines)
        comparable = len(prose) - longest
        is_filled = 2 * filled > comparable if comparable else bool(prose) and width > MAX_HEADLINE
        has_amounts = 1 < numbers >= len(lines) / 3 and (not is_filled or width <= MAX_HEADLINE)  # 200 g flour
        is_column = len(lines) > 2 and (
            has_amounts or all(len(line.text.split(None, MAX_ENTRY_WORDS)) <= MAX_ENTRY_WORDS for line in lines)
        )
        is_message = len(lines) > 2 and all(line.is_lower for line in lines)  # by somebody who uses no capitals
        continues = lower > 0 and 3 * lower >= len(prose) and not is_message
        is_list = len(lines) > 2 and not lower and not filled
        return cls(width, items, not is_column and (is_filled or continues), is_column or is_message, is_list)


def _breaks(lines: list[_Line], convention: Convention) -> Iterator[int]:
    """Yield the numbers of the lines that end a sentence; the last line is not among them."""
    if len(lines) < 2:
        return
    layout = _Layout.of(lines)
    above = True  # whether only titles stand above the line
    for number, (line, following) in enumerate(pairwise(lines)):
        if following.kind:
            ends = _begins_item(line, following, layout, convention)
        elif line.is_row and following.is_row:
            ends = True
        elif layout.is_wrapped:
            is_title = above and len(line.text) < MAX_TITLE_SHARE * layout.width and not following.is_lower
            ends = is_title and _is_whole(line, following, layout, convention)
        else:
            may_end = layout.is_column or not following.is_lower or line.final not in ("", ":")
            ends = may_end and _is_whole(line, following, layout, convention)
        above = above and ends
        if ends:
            yield number


def _begins_item(line: _Line, following: _Line, layout: _Layout, convention: Convention) -> bool:
    """Return whether a list continues or begins at a line, which might begin with a dash or a number by chance."""
    if following.kind == "•":
        return True
    if line.final:
        return _is_whole(line, following, layout, convention)
    if line.kind == following.kind and line.kind not in ".)" and not layout.is_wrapped:
        return True
    if layout.items[following.kind] < 2 or _last_word(line).casefold() in convention.unfinished_words:
        return False
    marker = following.text.split(None, 1)[0]
    return not layout.is_wrapped or len(line.text) + 1 + len(marker) <= layout.width


def _is_whole(line: _Line, following: _Line, layout: _Layout, convention: Convention) -> bool:
    """Return whether a line that stands alone says all of something."""
    word = _last_word(line)
    if line.final:
        is_ordinal = convention.ordinals and _LINE_ORDINAL.fullmatch(word) is not None
        is_abbreviation = bool({word, word.casefold()} & convention.non_final_abbreviations)
        return line.final != "." or not (is_ordinal or is_abbreviation)
    if line.text[-1] == ",":
        return not following.is_lower and len(line.text.split()) <= MAX_GREETING_WORDS
    if line.text[-1] in _UNFINISHED or word.casefold() in convention.unfinished_words:
        return False
    if convention.capital_nouns and not (layout.is_list or layout.is_column):  # then a capital proves little
        return following.first_word.rstrip(",:").casefold() in convention.sentence_openers
    return True


def _last_word(line: _Line) -> str:
    return line.text.rsplit(None, 1)[-1].strip(".!?…:,;" + CLOSING + QUOTES)
