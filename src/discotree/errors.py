"""Everything that discotree raises on purpose.

DiscotreeError
├── TreeError        a Token, Node or Tree that may not exist
├── TreebankError    a file that cannot be read or written; knows its path and line
├── HeadRuleError    a head rule file that makes no sense
├── EncodingError    dependencies that are not a tree
├── EvaluationError  trees that cannot be compared
└── ModelError       a model that cannot be loaded
"""

from collections.abc import Iterator
from contextlib import contextmanager


class DiscotreeError(Exception):
    """The base of all errors that are meant for the user."""


CANNOT = (DiscotreeError, RuntimeError, ValueError, MemoryError)  # what one sentence may do to the parser


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


class ModelError(DiscotreeError):
    """A model that cannot be loaded."""


@contextmanager
def needed(extra: str) -> Iterator[None]:
    """Import inside what not everyone has installed: what is missing is said together with what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "discotree":
            raise  # a mistake of ours
        raise ModelError(f"{error.name} is missing: pip install 'discotree[{extra}]'") from None
