"""What worker processes of tests do; they import it."""

from collections.abc import Callable

from discotree.errors import DiscotreeError


def nothing() -> None:
    """Begin without preparations."""


def repeat() -> Callable[[int], bytes]:
    """Return a function that returns so many bytes."""
    return lambda count: b"x" * count


def refuse() -> Callable[[int], bytes]:
    """Fail to start."""
    raise DiscotreeError("no model")
