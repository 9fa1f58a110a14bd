"""Sentence boundaries within a paragraph.

Candidates are the marks that may end a sentence, with the quotes and brackets that close after them. The words before
and after the mark decide. Every lookaround has a fixed reach, so time is linear in the length of any text.
"""

import re
from collections.abc import Iterator
from functools import cache
from unicodedata import normalize

from discotree.text.conventions import CLOSING, QUOTES, Convention

WORD_REACH = 40  # characters of a word that are looked at
SENTENCE_REACH = 400  # characters that are searched for a bracket or a quote

_MARK = rf"(?<![.!?…])[.!?…]+[{re.escape(CLOSING)}]*(?=\s)"
_OPENING = rf"[\s(\[{{{re.escape(QUOTES)}¿¡*•–—-]*(?:(?<=['’])[a-z]\s+)?"  # 't Is
_FOLLOWING = re.compile(rf"\s+({_OPENING})(\S{{0,{WORD_REACH}}})")
_STRAY_CLOSING = re.compile(r"\s+(?:[)\]}”]|'')+(?=\s|\Z)")
_STRAY_QUOTE = re.compile(r'\s+"(?=\s|\Z)')
_ITEM = re.compile(r"\w(?:[-–,]\w)*\)")  # (a)
_LABEL = re.compile(r"\w|\w[-–,]\w|\d{1,3}[a-z]?|[IVX]+")  # numbers the items of a list
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_ORDINAL = re.compile(r"(?:\d{1,2}\.?[-–/])?\d{1,2}|[IVX]+")
_FULL_WORD = re.compile(r"[^\W\d_]{4,}")


@cache
def _candidates(colons: bool) -> re.Pattern[str]:
    return re.compile(rf"{_MARK}|[:;](?=\s)" if colons else _MARK)


def boundaries(text: str, convention: Convention) -> Iterator[int]:
    """Yield the end of every sentence of a paragraph but the last; whitespace after it belongs to the next sentence."""
    start = 0
    for match in _candidates(convention.colon_min_words > 0).finditer(text):
        stop = match.end()
        if stop <= start:  # part of the previous sentence already
            continue
        stray = _STRAY_CLOSING.match(text, stop)
        if stray is None and text.count('"', max(start, stop - SENTENCE_REACH), stop) % 2:
            stray = _STRAY_QUOTE.match(text, stop)
        if stray:
            stop = stray.end()
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
    if _in_brackets(text, start, following.start()):
        return False
    sentence = text[max(start, at - SENTENCE_REACH) : at]
    if mark in ":;":
        if is_lower and mark == ":" and not convention.colon_before_lowercase:
            return False
        return len(sentence.split()) >= convention.colon_min_words
    if ")" in mark and not text[start : start + WORD_REACH].lstrip().startswith("("):  # mid-sentence (really!)
        return False
    before = sentence.split()
    last = normalize("NFC", before[-1][-WORD_REACH:].lstrip("([{¿¡" + QUOTES)) if before else ""
    if not last or (len(before) == 1 and _LABEL.fullmatch(last)):
        return False
    if mark[0] != "." or mark[1:2] == "." or sentence[-1].isspace():
        return not is_lower
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
        return not is_final and (is_name or (not opening and last.islower() and _FULL_WORD.fullmatch(last) is not None))
    opens = word[0].isupper() and word.rstrip(".,;:!?" + CLOSING).casefold() in convention.sentence_openers
    if is_final:
        return opens if convention.capital_nouns else word[0].isupper() and not set(opening) & set("([{*•–—-")
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
