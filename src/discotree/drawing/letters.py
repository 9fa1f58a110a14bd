"""What a text looks like before it is drawn: how wide it is, which way it runs, and what stands in for the invisible.

``terminal_width`` counts cells as a terminal does. ``ems`` estimates the width in a proportional font, in multiples of
the font's size: letters by the widths that Helvetica, Arial and their free twins share, everything else by its kind.
"""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

BLANK = "␣"  # stands for a text without any visible letter
HIDDEN = "�"  # stands for a character that would disturb the drawing
JOINERS = "\u200c\u200d"  # they have no width, but shape the letters beside them
EMOJI_STYLE = "\ufe0f"  # asks for the sign before as an emoji
WIDTHS = {  # in thousandths of the font's size
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
SMALL, CAPITAL, WIDE, EMOJI = 650, 760, 1000, 1300  # all other letters
BOLD = 1.09  # bold letters are wider by so much


def clean(text: str, blank: str = BLANK, hidden: str = HIDDEN) -> str:
    """The text as far as it can be shown in a line: no control characters, nothing invisible, nothing empty."""
    if text.isascii() and text.isprintable() and not text.isspace():
        return text or blank
    text = "".join([_shown(sign, hidden) for sign in text])
    if text.isspace():
        return blank
    return text if terminal_width(text[0]) else f"◌{text}"  # an accent needs a letter


def _shown(sign: str, hidden: str) -> str:
    if sign.isspace():
        return " "
    disturbs = unicodedata.category(sign) in ("Cc", "Cf", "Cs") and sign not in JOINERS
    return hidden if disturbs or ord(sign) & 0xFFFE == 0xFFFE else sign


def terminal_width(text: str) -> int:
    """How many cells a terminal uses for a text: none for accents, two for signs of East Asian scripts and emoji."""
    if text.isascii():
        return len(text)
    return sum([1 if sign == EMOJI_STYLE or not _is_wide(sign) else 2 for sign in _advancing(text)])


@lru_cache(maxsize=1 << 14)
def ems(text: str, bold: bool = False) -> float:
    """About how wide a text is in a proportional font, rather too wide than too narrow."""
    width = sum([_thousandths(sign) for sign in (text if text.isascii() else _advancing(text))])
    return width / 1000 * (BOLD if bold else 1)


def _thousandths(sign: str) -> int:
    known = WIDTHS.get(sign)
    if known is None:
        known = WIDTHS.get(unicodedata.normalize("NFD", sign)[0])  # é is as wide as e
    if known is not None:
        return known
    if _is_wide(sign):
        return EMOJI if unicodedata.category(sign) == "So" else WIDE
    return EMOJI - SMALL if sign == EMOJI_STYLE else CAPITAL if sign.isupper() else SMALL


def _advancing(text: str) -> Iterator[str]:
    """The signs that take place of their own; the wish for an emoji counts as one more where the sign is narrow."""
    before = ""
    for sign in text:
        if sign == EMOJI_STYLE:
            if before and not _is_wide(before):
                yield sign
        elif unicodedata.category(sign) in ("Mn", "Me", "Cf") or "\u1160" <= sign <= "\u11ff":
            pass
        elif not _is_wide(sign) or (before != "\u200d" and not (before and "\U0001f3fb" <= sign <= "\U0001f3ff")):
            yield sign  # neither joined to the emoji before nor the colour of its skin
        before = sign


def _is_wide(sign: str) -> bool:
    return unicodedata.east_asian_width(sign) in "WF"


def is_right_to_left(text: str) -> bool:
    """Whether the first letter with a direction belongs to a script like Arabic or Hebrew."""
    if text.isascii():
        return False
    directions = (unicodedata.bidirectional(sign) for sign in text)
    return next((direction for direction in directions if direction in ("L", "R", "AL")), "L") != "L"
