"""Line breaks within a paragraph: which of them end a sentence.

Lines are wrapped where they are filled or go on in lowercase; then their breaks mean no more than a space. Else they
stand alone: headlines, lists, rows of tables, messages. Time is linear in the length of the paragraph.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from discotree.text.characters import CLOSING, QUOTES
from discotree.text.conventions import Convention

MAX_TITLE_SHARE = 0.6  # a title above wrapped lines is shorter than this share of the longest
MAX_HEADLINE = 50  # characters: a line that is longer and has no other to compare with may be wrapped
MAX_ENTRY_WORDS = 3  # in a column of entries; nobody wraps lines that early
MAX_GREETING_WORDS = 4  # Met vriendelijke groet,

_LINE = re.compile(r"\S(?:[^\n]*\S)?")
_BULLET = re.compile(r"[•‣◦▪▫●○■□►▸➢➤✓✔✗✘☐☑☒]\s*(?=\S)")
_ITEM = re.compile(r"(?:([-–—*+])|\(?(?:\d{1,3}|[A-Za-z])([.)]))\s+(?=\S)")  # 1. or a) or -
_ROW = re.compile(r"\S\t+\S|\S\s*\|\s*\S[^|]*\||^\||\S {3,}\S")  # in a table
_ORDINAL = re.compile(r"\d{1,2}|[IVX]+")
_OPENING = "([{¿¡" + QUOTES
_FINAL = frozenset(".!?…:")
_UNFINISHED = frozenset(",;-–—(/&+=")  # a line that ends with one of these goes on


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
            item = _ITEM.match(text)
            kind = "•" if _BULLET.match(text) else (item[1] or item[2]) if item else ""
        word = text.split(None, 1)[0].lstrip(_OPENING)
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


def standing(text: str, convention: Convention) -> Iterator[tuple[int, int]]:
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
    is_list: bool  # every line ends early, and none goes on in lowercase

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
        goes_on = lower > 0 and 3 * lower >= len(prose) and not is_message
        is_list = len(lines) > 2 and not lower and not filled
        return cls(width, items, not is_column and (is_filled or goes_on), is_column or is_message, is_list)


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
    """Return whether a list goes on or begins at a line, which might begin with a dash or a number by chance."""
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
        is_ordinal = convention.ordinals and _ORDINAL.fullmatch(word) is not None
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
