"""Tables, as TOML and JSON have them, → frozen dataclasses, every value checked and every mistake with its address."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, TypeVar

from discotree.errors import ConfigError

T = TypeVar("T")
MAX_NUMBER = 1 << 40  # of anything


def within(settings: object, name: str, least: float, below: float) -> None:
    """Refuse a number that no network can be made of or trained with, and what is no number at all."""
    value = getattr(settings, name)
    if not least <= value < below:
        raise ConfigError(
            f"{name}: expected at least {least}{f' and below {below:,}' * (below < MAX_NUMBER)}, got {value}"
        )


def updated(config: T, table: object, where: str) -> T:
    """The dataclass with the table's values in place of its own, every one of them checked."""
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where}: expected a table of settings, got {table!r}")
    hints = typing.get_type_hints(type(config))
    changes = {}
    for name, value in table.items():
        if name not in hints:
            raise ConfigError(f"{where}: there is no setting {name!r}; there are {', '.join(hints)}")
        kind = hints[name]
        if dataclasses.is_dataclass(kind):
            changes[name] = updated(getattr(config, name), value, f"{where}: {name}")
        else:
            changes[name] = _checked(value, kind, f"{where}: {name}")
    try:
        return dataclasses.replace(config, **changes)  # type: ignore[type-var]
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _checked(value: Any, kind: Any, where: str) -> Any:
    """The value, if it is of that kind: a choice, a number, a string, or a list of what knows how it is written."""
    origin = typing.get_origin(kind)
    if origin is Literal:
        choices = typing.get_args(kind)
        if value in choices:
            return value
        raise ConfigError(f"{where}: {value!r} is none of {', '.join(repr(choice) for choice in choices)}")
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(typing.get_args(kind)[0].of(item, where) for item in value)
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        with suppress(OverflowError):
            return float(value)
    if isinstance(kind, type) and not isinstance(kind, types.GenericAlias) and type(value) is kind:
        return value
    raise ConfigError(f"{where}: expected {getattr(kind, '__name__', kind)}, got {value!r}")
