"""How values begin that pass a test: an index looks up those with this prefix, and tests no others."""

import re

from discotree.queries.language import And, Exactly, Expression, Matching, Or

# They are compiled when they are used: few queries need them
_PLAIN = r"[^.^$*+?{}\[\]\\|()\ud7ff-\U0010ffff]*"  # without surrogates and what comes after them in Unicode
_UNITS = r"(?s)\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]|[^()|\[\\]+"  # characters and sets are skipped
_QUANTIFIERS = ("*", "+", "?", "{")


def prefixes(test: Expression) -> list[str]:
    """Return strings, sorted, of which none begins with another; every value that passes the test begins with one."""
    found: list[str] = []
    for prefix in sorted(_prefixes(test)):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return found


def _prefixes(test: Expression) -> list[str]:
    if isinstance(test, Exactly):
        return [_plain(test.text)]
    if isinstance(test, Matching):
        return [literal_prefix(test.pattern)]
    if isinstance(test, Or):
        return [prefix for part in test.parts for prefix in _prefixes(part)]
    if isinstance(test, And):
        return max(map(_prefixes, test.parts), key=lambda found: min(map(len, found)), default=[""])
    return [""]


def literal_prefix(pattern: str) -> str:
    """Return how all strings begin that a regular expression matches as a whole; nothing if that is hard to tell."""
    has_comments = re.search(r"\(\?(?:#|[a-zA-Z]*x)", pattern)  # brackets in a comment are none
    if re.compile(pattern).flags & (re.IGNORECASE | re.VERBOSE) or has_comments or _has_alternatives(pattern):
        return ""
    prefix = _plain(pattern)
    return prefix[:-1] if pattern[len(prefix) :].startswith(_QUANTIFIERS) else prefix


def _plain(text: str) -> str:
    return re.match(_PLAIN, text)[0]  # type: ignore[index]  # it matches nothing, too


def _has_alternatives(pattern: str) -> bool:
    """Tell whether there is a | outside all brackets."""
    depth = 0
    for unit in re.findall(_UNITS, pattern):
        depth += (unit == "(") - (unit == ")")
        if unit == "|" and depth == 0:
            return True
    return False


def after(prefix: str) -> str:
    """Return the first string, in the order of Unicode, that comes after all that begin with a prefix."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
