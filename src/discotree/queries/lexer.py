"""The text of a query → its tokens."""

import re
from typing import NamedTuple

from discotree.errors import QueryError, printable

MAX_CHARACTERS = 20_000

END = "end"


class QueryToken(NamedTuple):
    """A piece of a query and its place in it."""

    kind: str
    text: str
    offset: int


_STRING = r'"(?:[^"\\]|\\.)*"'
_REGEX = r"/(?:[^/\\]|\\.)+/"
_LABEL = rf"(?:{_STRING}|{_REGEX}|[^\W\d][\w-]*)"
_RANGE = r"\d{1,9}(?:,\d{1,9})?"
_TOKENS = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<comment>//[^\n]*)
  | (?P<variable>\#\w+)
  | (?P<string>{_STRING})
  | (?P<regex>{_REGEX})
  | (?P<relation>!?(?:>~{_LABEL}?|>@[lr]\b|>\*|>{_RANGE}|>{_LABEL}?|\$\.\*|\$|\.\*|\.{_RANGE}|\.))
  | (?P<number>\d+(?:\.\d+)?)
  | (?P<name>[^\W\d][\w-]*)
  | (?P<symbol>!=|[\[\]():&|=!,])
    """,
    re.VERBOSE | re.DOTALL,
)

# A relation never follows a closing bracket, and a comparison follows nothing else: confidence(#n) > 0.6.
_COMPARISON = re.compile(r"(?P<comparison><=|>=|<|>)")

# What may go wrong at a character that begins no token.
_UNFINISHED = {'"': "a string without its closing quote", "/": "a regular expression without its closing slash"}


def tokens(query: str) -> list[QueryToken]:
    """Return the tokens of a query, with an END behind the last one."""
    if len(query) > MAX_CHARACTERS:
        raise QueryError(f"longer than {MAX_CHARACTERS:,} characters", query[:100], 0)
    found: list[QueryToken] = []
    offset = 0
    while offset < len(query):
        after_bracket = found and found[-1].text == ")"
        token = (after_bracket and _COMPARISON.match(query, offset)) or _TOKENS.match(query, offset)
        if token is None:
            character = query[offset]
            raise QueryError(_UNFINISHED.get(character, f"{printable(character)!r} means nothing here"), query, offset)
        kind = str(token.lastgroup)
        if kind not in ("space", "comment"):
            found.append(QueryToken(kind, token.group(), offset))
        offset = token.end()
    return [*found, QueryToken(END, "", len(query))]


def unquoted(text: str) -> str:
    """Return what stands between quotes, where a backslash makes any character plain."""
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
