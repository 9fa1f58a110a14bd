"""The errors that discotree raises on purpose.

DiscotreeError
├── TreeError          a Token, Node or Tree that may not exist (a ValueError too)
├── TreebankError      a file that cannot be read or written; knows its path and line
├── HeadRuleError      a head rule file that makes no sense
├── EncodingError      dependencies that do not form a tree (a ValueError too)
├── EvaluationError    trees that cannot be compared
├── ConfigError        a setting, preset or recipe that makes no sense (a ValueError too)
├── InputError         a sentence or a text that cannot be parsed as it is (a ValueError too)
├── QueryError         a query that makes no sense; points at the character (a ValueError too)
├── ModelError         a model that cannot be found, loaded, saved or shared
└── MissingExtraError  a package that is not installed, and the extra that installs it (an ImportError too)
"""

from collections.abc import Iterator
from contextlib import contextmanager


class DiscotreeError(Exception):
    """The base of all errors that are meant for the user."""


class TreeError(DiscotreeError, ValueError):
    """A tree that may not exist.

    ``node`` is the index of the offending node where a builder knows it.
    """

    def __init__(self, message: str, node: int | None = None) -> None:
        super().__init__(message)
        self.node = node


class TreebankError(DiscotreeError):
    """A treebank that cannot be read or written, with its address."""

    def __init__(self, message: str, path: str = "", line: int = 0) -> None:
        address = f"{path}:{line}: " if line else f"{path}: " if path else ""
        super().__init__(address + message)
        self.message = message
        self.path = path
        self.line = line


class HeadRuleError(DiscotreeError):
    """A head rule file that makes no sense."""


class EncodingError(DiscotreeError, ValueError):
    """Dependencies that do not form a tree."""


class EvaluationError(DiscotreeError):
    """Trees that cannot be compared, or parameters that make no sense."""


class ConfigError(DiscotreeError, ValueError):
    """A setting, preset or recipe that makes no sense."""


class InputError(DiscotreeError, ValueError):
    """A sentence or a text that cannot be parsed as it is."""


class QueryError(DiscotreeError, ValueError):
    """A query that makes no sense; knows where, and its message points there."""

    def __init__(self, message: str, query: str, offset: int) -> None:
        start = query.rfind("\n", 0, offset) + 1
        end = query.find("\n", offset)
        line = printable(query[start : end if end >= 0 else len(query)].replace("\t", " "))
        super().__init__(f"query, character {offset + 1}: {message}\n  {line}\n  {' ' * (offset - start)}^")
        self.message = message
        self.query = query
        self.offset = offset


class ModelError(DiscotreeError):
    """A model that cannot be found, loaded, saved or shared."""


class MissingExtraError(DiscotreeError, ImportError):
    """A package that is not installed, and the extra that installs it."""


# What parsing one sentence may raise; the other sentences can still be parsed.
SENTENCE_ERRORS = (DiscotreeError, RuntimeError, ValueError, MemoryError)


def first_line(error: BaseException) -> str:
    """Return an error's message up to its first line end, or the name of its class where it has none."""
    lines = (line.strip() for line in str(error).splitlines())
    found = next(filter(None, lines), type(error).__name__)
    return "".join(letter for letter in found if letter.isprintable())


_UNPRINTABLE = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},  # shown as ␛ and the like
    0x7F: 0x2421,
    # 8-bit controls, marks that reorder or break the line, and what is no character at all
    **dict.fromkeys(
        [*range(0x80, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)], 0xFFFD
    ),
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
}


def printable(text: str) -> str:
    """Return text that is safe on a terminal: without control characters other than tabs and line ends.

    A visible character takes the place of each, so that nothing disappears.
    """
    return text if text.isprintable() else text.translate(_UNPRINTABLE)


@contextmanager
def requires_extra(extra: str) -> Iterator[None]:
    """Turn a failing import inside the block into an error that names the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "discotree":
            raise  # a mistake of ours
        message = f"{error.name} is missing: pip install 'discotree[{extra}]'"
        raise MissingExtraError(message, name=error.name) from None
