"""Widths and directions of texts, and visible stand-ins for invisible characters.

``terminal_width`` counts cells as a terminal does. ``ems`` estimates the width in a proportional font, in multiples of
the font size: letters by the widths that Helvetica, Arial and their free equivalents share, the rest by category.
"""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

NO_TEXT = "␣"  # stand-in for a text without visible characters
HIDDEN = "�"  # stand-in for a character that would disturb the drawing
JOINERS = "\u200c\u200d"  # zero width, but they shape their neighbours
EMOJI_STYLE = "\ufe0f"  # turns the character before it into an emoji
WIDTHS = {  # thousandths of the font size
    **dict.fromkeys("ijl'|", 222),
    **dict.fromkeys("I.,:;!/\\[] ft·", 278),
    **dict.fromkeys('r(){}-`"*^‘’', 345),
    **dict.fromkeys("ckJsvxyz_", 500),
    **dict.fromkeys("abdeghnopquL0123456789$#?=+<>~ß„“”–", 570),
    **dict.fromkeys("FTZ", 611),
    **dict.fromkeys("ABEKPSVXY&", 667),
    **dict.fromkeys("CDHNRUw", 722),
    **dict.fromkeys("GOQ", 778),
    **dict.fromkeys("mM", 833),
    **dict.fromkeys("%W", 944),
    **dict.fromkeys("@—…æœÆŒ", 1000),
}
LOWER, CAPITAL, WIDE, EMOJI = 650, 760, 1000, 1300  # all other characters
BOLD = 1.09  # width of bold letters relative to regular ones


def clean(text: str, no_text: str = NO_TEXT, hidden: str = HIDDEN) -> str:
    """Return the text as one line can show it: without control characters, and never invisible or empty."""
    if text.isascii() and text.isprintable() and not text.isspace():
        return text or no_text
    text = "".join([_shown(character, hidden) for character in text])
    if text.isspace():
        return no_text
    return text if terminal_width(text[0]) else f"◌{text}"  # an accent needs a base


def _shown(character: str, hidden: str) -> str:
    if character.isspace():
        return " "
    disturbs = unicodedata.category(character) in ("Cc", "Cf", "Cs") and character not in JOINERS
    return hidden if disturbs or ord(character) & 0xFFFE == 0xFFFE else character


def terminal_width(text: str) -> int:
    """Return the number of terminal cells: none for accents, two for East Asian wide characters and emoji."""
    if text.isascii():
        return len(text)
    return sum([1 if character == EMOJI_STYLE or not _is_wide(character) else 2 for character in _advancing(text)])


@lru_cache(maxsize=1 << 14)
def ems(text: str, bold: bool = False) -> float:
    """Estimate the width of a text in a proportional font, rather too wide than too narrow."""
    width = sum([_thousandths(character) for character in (text if text.isascii() else _advancing(text))])
    return width / 1000 * (BOLD if bold else 1)


def _thousandths(character: str) -> int:
    known = WIDTHS.get(character)
    if known is None:
        known = WIDTHS.get(unicodedata.normalize("NFD", character)[0])  # é is as wide as e
    if known is not None:
        return known
    if _is_wide(character):
        return EMOJI if unicodedata.category(character) == "So" else WIDE
    return EMOJI - LOWER if character == EMOJI_STYLE else CAPITAL if character.isupper() else LOWER


def _advancing(text: str) -> Iterator[str]:
    """Yield the characters that advance; an emoji style selector counts as one more after a narrow character."""
    before = ""
    for character in text:
        if character == EMOJI_STYLE:
            if before and not _is_wide(before):
                yield character
        elif unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
            pass
        elif not _is_wide(character) or (
            before != "\u200d" and not (before and "\U0001f3fb" <= character <= "\U0001f3ff")
        ):
            yield character  # neither joined to the emoji before nor its skin tone
        before = character


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def wrapped(text: str, width: float) -> list[str]:
    """Split a text into lines of at most this many ems; only a single word may exceed them."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {clean(word)}" if lines else ""
        if lines and ems(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(clean(word))
    return lines


def is_right_to_left(text: str) -> bool:
    """Return whether the first character with a direction belongs to a script such as Arabic or Hebrew."""
    if text.isascii():
        return False
    directions = (unicodedata.bidirectional(character) for character in text)
    return next((direction for direction in directions if direction in ("L", "R", "AL")), "L") != "L"
