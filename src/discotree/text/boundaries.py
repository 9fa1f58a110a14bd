"""Sentence boundaries within running text.

Candidates are the marks and faces that may end a sentence, with the quotes and brackets that close after them. The
words before and after them decide. Every lookaround has a fixed reach, so time is linear in the length of any text.
"""

import re
from collections.abc import Iterator
from functools import cache
from unicodedata import normalize

from discotree.text.characters import CLOSING, EMOTICON, FACE, FACES, QUOTES
from discotree.text.conventions import Convention

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
        kinds.append("(?<=[:;])")
    return re.compile(rf"[{_STOPS}:;={FACES}](?:{'|'.join(kinds)})(?=\s)")


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
    if mark in ":;":
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
