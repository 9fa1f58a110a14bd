"""The errors that discotree raises on purpose; most are also a ValueError or an ImportError."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice


class DiscotreeError(Exception):
    """The base of all errors that are meant for the user."""


class TreeError(DiscotreeError, ValueError):
    """An invalid Token, Node or Tree; ``node`` is the index of the offending node if it is known."""

    def __init__(self, message: str, node: int | None = None) -> None:
        super().__init__(message)
        self.node = node


class TreebankError(DiscotreeError):
    """A treebank that cannot be read or written, with its path and line."""

    def __init__(self, message: str, path: str = "", line: int = 0) -> None:
        address = f"{path}:{line}: " if line else f"{path}: " if path else ""
        super().__init__(address + message)
        self.message = message
        self.path = path
        self.line = line


class HeadRuleError(DiscotreeError):
    """An invalid file of head rules."""


class EncodingError(DiscotreeError, ValueError):
    """Dependencies that do not form a tree."""


class EvaluationError(DiscotreeError):
    """Trees that cannot be compared, or invalid parameters; ``remedy`` names options of ``discotree evaluate``."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class ConfigError(DiscotreeError, ValueError):
    """An invalid setting, preset or recipe; ``keys`` lead to the setting in its table."""

    keys: tuple[str | int, ...] = ()


class InputError(DiscotreeError, ValueError):
    """A sentence or text that cannot be parsed. In a list, it is ``sentences[index]``, as a string ``text``."""

    index: int | None = None
    text: str | None = None


class ConstraintError(InputError):
    """Constraints that no tree satisfies: ``constraints`` are two that conflict, or as few as possible."""

    def __init__(self, message: str, constraints: Iterable[object]) -> None:
        super().__init__(message)
        self.constraints = tuple(constraints)


class QueryError(DiscotreeError, ValueError):
    """An invalid query; records the offset, and the message points at it."""

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


# The errors that parsing one sentence may raise; the other sentences can still be parsed.
SENTENCE_ERRORS = (DiscotreeError, RuntimeError, ValueError, MemoryError)


def first_line(error: BaseException) -> str:
    """Return an error's message up to its first line end, or the name of its class where it has none."""
    lines = (line.strip() for line in str(error).splitlines())
    message = next(filter(None, lines), type(error).__name__)
    return "".join(letter for letter in message if letter.isprintable())


def shorten(text: str, maximum: int, mark: str = " … ") -> str:
    """Return a text without its middle if it is long: long texts often differ at their ends."""
    return text if len(text) <= maximum else f"{text[: maximum // 2]}{mark}{text[-(maximum // 2) :]}"


def list_some(names: Iterable[str], maximum: int = 5) -> str:
    """Return the first names, separated by commas; a list that is cut ends in "…"."""
    first = list(islice(names, maximum + 1))
    return ", ".join([*first[:maximum], "…"] if len(first) > maximum else first)


def counted(number: int, noun: str) -> str:
    """Return a number with a noun: 1 match, 2 matches."""
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{ending}"


def expected(name: object, choices: Iterable[str], otherwise: str = "") -> str:
    """Return the end of an error about an unknown name: a similar name, or all choices."""
    from difflib import get_close_matches  # imported only for an error

    close = get_close_matches(name, list(choices), 1, cutoff=0.7) if isinstance(name, str) else []
    return f"; did you mean {close[0]!r}?" if close else otherwise or f", expected one of {', '.join(choices)}"


def undecodable(byte: int, encoding: str, remedy: str = "specify the file's encoding") -> str:
    """Return the error for a byte that is invalid in an encoding; if the file seems to be in another one, say so."""
    if encoding in ("utf-8", "utf_8") and bytes([byte]).decode("cp1252", "replace") in WESTERN:
        remedy = "it looks like Windows-1252; use --encoding cp1252"
    elif encoding in ("utf-8", "utf_8") and byte == 0xFF:  # most files in UTF-16 begin with it
        remedy = "if the file is in UTF-16, convert it to UTF-8 or, if it is a text, use --encoding utf-16"
    elif byte == 0x8B:  # gzip begins with 0x1f 0x8b
        remedy = "if the input is compressed with gzip, decompress it first"
    return f"byte {byte:#04x} is not {encoding}; {remedy}"


WESTERN = "äöüÄÖÜßéèêëáàåæçíïóôøúñýÉþðÞ€„“”‘’…–—«»°§"  # in Windows-1252; few of these bytes are in damaged UTF-8
_UNPRINTABLE = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},  # shown as ␛ and the like
    0x7F: 0x2421,
    # 8-bit controls, and marks that reorder or break the line; below, lone surrogates
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
            raise  # a bug in discotree, not a missing package
        message = f"{error.name} is missing: pip install 'discotree[{extra}]'"
        raise MissingExtraError(message, name=error.name) from None
