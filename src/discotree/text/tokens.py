"""Tokenisation of a sentence with one regular expression per language.

The last branch of the expression matches any character that is not whitespace, so nothing is lost.
"""

import re
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from discotree.text.conventions import CLOSING, Convention


class Word(NamedTuple):
    """Token of a text: ``text[start:end]``, with the form that the treebank writes for it."""

    form: str
    start: int
    end: int


# Every character that is neither whitespace nor a symbol is part of a word: letters and digits of all scripts, their
# accents, joiners, and invisible characters.
_SYMBOL = (
    r"!-/:-@\[-\^`{-~¡-©«¬®-±´¶-¸»¿×÷\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2117\u2120\u2122\u2190-\u245f\u2500-\u2bff"
    r"\u2e00-\u2e7f\u3001-\u3003\u3008-\u3020\u3030\u303d\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\uffe0-\uffee"
    r"\U0001f000-\U0001faff"
)
_EXTENDER = (  # accents, joiners, variation selectors and skin tones belong to the symbol before them
    r"\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\u200c\u200d\U0001f3fb-\U0001f3ff"
    r"\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)
_W = rf"[^\s{_SYMBOL}]"
_LETTER = rf"[^\s\d_{_SYMBOL}]"
_LOWER = r"[a-zß-ÿ]"
_HYPHEN = "[-‐‑–]"
_REPEATED = "|".join(rf"{re.escape(c)}{{2,}}" for c in "-–—−*=~#•!?.")

_ADDRESS = (
    r"(?:(?:https?|ftps?)://|www\.)[^\s<>\"“”„«»]*[^\s<>\"“”„«».,;:!?()\[\]{}'’…]"
    r"|\w[\w.+-]{0,63}@\w[\w-]{0,63}(?:\.\w[\w-]{0,63}){1,8}"
)
_SYMBOLS = (
    rf"{_REPEATED}|''|``|,,(?={_W})|°[CFK](?!{_W})|[\U0001f1e6-\U0001f1ff]{{2}}"
    rf"|[{_SYMBOL}](?:[{_EXTENDER}]|(?<=\u200d)[{_SYMBOL}])*|\S"
)
_DOT = rf"\.(?!(?<={_LOWER}{_LOWER}\.)[A-ZÀ-Þ])(?={_W})"  # between letters, unless a space is missing after a sentence
_APOSTROPHE = rf"(?<={_LETTER})['’](?={_LETTER}|\d\d)|(?<=\d)['’](?=\d\d\d|s(?!{_W}))"
# Inside a sentence a full stop belongs to its word, unless the word looks like the end of a sentence in brackets.
_STOP = rf"\.(?=[\s,;:])(?![\s{re.escape(CLOSING)}]*\Z)(?!(?<={_LOWER * 4}\.)\s+[A-ZÀ-Þ])"
_DOTTED = re.compile(rf"(?:{_LETTER}\.)+{_LETTER}")
_AT_END = re.compile(rf"[\s{re.escape(CLOSING)}]*\Z")


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
def _pattern(convention: Convention) -> re.Pattern[str]:
    """Return the expression for a token; frequent kinds come first where they cannot begin a longer token."""
    plain = rf"{_W}+(?=[\s;!?)\]]|,(?![\d–—-])|:(?![\d/])|\Z)"
    frequent = r",(?!,)|[/;%\[\]]|\.(?![.\d])(?P<stop>)"
    if convention.forms:
        frequent = rf"[{re.escape(''.join(convention.forms))}](?P<form>)|{frequent}"
    rare = [r"(?<!\S)\.\d+|\.(?!\.)", _ADDRESS, r"[A-Z]{1,3}\$"]
    if convention.split_hyphens:
        frequent += "|-(?!-)"
    else:
        rare.append(rf"[@#](?={_LETTER}){_W}+")
    if convention.penn_quotes:
        frequent += '|"(?P<quote>)'
    for first, second in convention.contractions:
        any_case = f"[{first[0].upper()}{first[0]}]{first[1:]}"
        plain = rf"(?!{any_case}{second}(?!{_W})){plain}"
        rare.append(rf"{any_case}(?={second}(?!{_W}))")
    if convention.clitics:
        clitic = rf"(?i:{convention.clitics})(?!{_W})"
        rare += [rf"(?<={_W}){clitic}", rf"(?={convention.clitic_hosts or _W}){_W}+?(?={clitic})"]
    return re.compile("|".join([plain, frequent, *rare, _word(convention), _SYMBOLS]))


def tokenise(text: str, start: int, end: int, convention: Convention, offset: int = 0) -> list[Word]:
    """Return the tokens of the sentence ``text[start:end]``, with ``offset`` added to their offsets."""
    result: list[Word] = []
    for match in _pattern(convention).finditer(text, start, end):
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
