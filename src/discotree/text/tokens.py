"""Tokenisation of a sentence with one regular expression per language.

The last branch of the expression matches any character that is not whitespace, so nothing is lost.
"""

import re
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from discotree.text.characters import (
    CLOSING,
    DATE,
    EMAIL,
    EMOTICON,
    FACE,
    FLAG,
    LATIN_SYMBOL,
    NAME,
    PATH,
    PICTURE,
    SYMBOL,
    TIME,
    URL,
)
from discotree.text.conventions import Convention


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
    """Return the expression for a word and what is joined to it, without addresses and single symbols."""
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
    for first, second in convention.contractions:
        any_case = f"[{first[0].upper()}{first[0]}]{first[1:]}"
        plain = rf"(?!{any_case}{second}(?!{_W})){plain}"
        rare.append(rf"{any_case}(?={second}(?!{_W}))")
    if convention.clitics:
        clitic = rf"(?i:{convention.clitics})(?!{_W})"
        rare += [rf"(?<={_W}){clitic}", rf"(?={convention.clitic_hosts or _W}){_W}+?(?={clitic})"]
    whole = "|".join([plain, frequent, *rare, _word(convention), _SYMBOLS])
    return re.compile(whole.replace(SYMBOL, LATIN_SYMBOL) if latin else whole)


def tokenise(text: str, start: int, end: int, convention: Convention, offset: int = 0) -> list[Word]:
    """Return the tokens of the sentence ``text[start:end]``, with ``offset`` added to their offsets."""
    result: list[Word] = []
    seen = text[max(0, start - LOOKBEHIND) : end]
    latin = seen.isascii() or max(seen, default="") <= "\xff"
    for match in _pattern(convention, latin).finditer(text, start, end):
        first, last = match.span()
        form = match[0]
        kind = match.lastgroup
        if kind is not None:
            if kind == "stop" and result and result[-1].end == first + offset:
                if _is_abbreviation(result, text, last, end, convention):
                    result[-1] = Word(result[-1].form + form, result[-1].start, last + offset)
                    continue
            elif kind == "quote":
                form = "``" if first == 0 or text[first - 1].isspace() or text[first - 1] in "([{-–—/" else "''"
            elif kind == "form":
                form = convention.forms[form]
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
