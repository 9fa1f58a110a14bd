"""Convert tables from TOML and JSON to dataclasses; every value is checked, and errors name the table and the key.

Settings, the cards of models and the state of a checkpoint all come from here. Each caller names the class of its
errors.
"""

import dataclasses
import math
import re
import sys
import types
import typing
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

from discotree.errors import ConfigError, DiscotreeError, expected

T = TypeVar("T")
MAX_NUMBER = 1 << 40  # upper bound for whole numbers without another one
SHORTHAND = "SHORTHAND"  # class variable: the field that a bare string stands for
DESCRIPTION, BOUNDS = "description", "bounds"  # metadata of a field


def setting(default: T, description: str, at_least: float | None = None, below: float = math.inf) -> T:
    """Declare a field of a dataclass with its default, its description and, for a number, its bounds."""
    bounds = None if at_least is None else (at_least, below)
    return dataclasses.field(default=default, metadata={DESCRIPTION: description, BOUNDS: bounds})


def check_bounds(settings: Any) -> None:
    """Refuse numbers outside the bounds that their fields declare, and NaN."""
    for entry in dataclasses.fields(settings):
        if bounds := entry.metadata.get(BOUNDS):
            check_within(settings, entry.name, *bounds)


def check_within(settings: object, name: str, at_least: float, below: float = MAX_NUMBER) -> None:
    """Refuse a number outside of these bounds, and NaN."""
    value = getattr(settings, name)
    if not at_least <= value < below:
        limit = f" and below {below:,}" if below < MAX_NUMBER else ""
        raise ConfigError(f"{name}: expected at least {at_least}{limit}, got {value}")


def from_table(
    kind: type[T], table: object, where: str, error: type[DiscotreeError] = ConfigError, complete: bool = False
) -> T:
    """Build a dataclass from a table of its fields; if it is to be complete, fields with a default are required too."""
    if isinstance(table, str) and hasattr(kind, SHORTHAND):
        table = {getattr(kind, SHORTHAND): table}
    values = _values(kind, table, where, error)
    for entry in dataclasses.fields(kind):  # type: ignore[arg-type]
        has_default = entry.default is not dataclasses.MISSING or entry.default_factory is not dataclasses.MISSING
        if entry.name not in values and (complete or not has_default):
            raise error(f"{where}: {entry.name!r} is missing")
    return _built(lambda: kind(**values), where, error)


def updated(instance: T, table: object, where: str, error: type[DiscotreeError] = ConfigError) -> T:
    """Return a copy of a dataclass with the table's values in place of its own; nested tables update nested ones."""
    values = _values(type(instance), table, where, error, instance)
    return _built(lambda: dataclasses.replace(instance, **values), where, error)  # type: ignore[type-var]


def _built(build: Callable[[], T], where: str, error: type[DiscotreeError]) -> T:
    """Build the dataclass; add the table's address to the errors of its own checks."""
    try:
        return build()
    except ConfigError as complaint:
        located = error(f"{where}: {complaint}")
        if isinstance(located, ConfigError):
            located.keys = complaint.keys or (str(complaint).partition(":")[0],)
        raise located from None


def _values(
    kind: type, table: object, where: str, error: type[DiscotreeError], instance: object = None
) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise error(f"{where}: expected a table, got {table!r:.50}")
    hints = typing.get_type_hints(kind)
    kinds = {entry.name: hints[entry.name] for entry in dataclasses.fields(kind)}
    values = {}
    for name, value in table.items():
        try:
            if name not in kinds:
                raise error(f"{where}: unknown key {name!r}{expected(name, kinds)}")
            if instance is not None and dataclasses.is_dataclass(kinds[name]):
                values[name] = updated(getattr(instance, name), value, f"{where}: {name}", error)
            else:
                values[name] = _checked(value, kinds[name], f"{where}: {name}", error)
        except ConfigError as complaint:
            complaint.keys = (name, *complaint.keys)
            raise
    return values


def _checked(value: Any, kind: Any, where: str, error: type[DiscotreeError]) -> Any:
    """Return the value as this type: a whole number may stand for a float, a list for a tuple.

    A type with a class method ``of`` makes and checks its own values.
    """
    if hasattr(kind, "of"):
        return _built(lambda: kind.of(value), where, error)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        return from_table(typing.cast("type[Any]", kind), value, where, error)
    if origin is Literal:
        if value in arguments:
            return value
        raise error(f"{where}: expected one of {', '.join(map(repr, arguments))}, got {value!r:.50}")
    if origin in (tuple, list):
        if not isinstance(value, list | tuple):
            raise error(f"{where}: expected a list, got {value!r:.50}")
        items: list[Any] = []
        try:
            for item in value:
                items.append(_checked(item, arguments[0], where, error))  # noqa: PERF401 (the error needs the number)
        except ConfigError as complaint:
            complaint.keys = (len(items), *complaint.keys)
            raise
        return origin(items)
    if origin is dict:
        if not isinstance(value, Mapping):
            raise error(f"{where}: expected a table, got {value!r:.50}")
        return {name: _checked(item, arguments[1], f"{where}: {name}", error) for name, item in value.items()}
    choices = arguments if origin in (types.UnionType, typing.Union) else (kind,)
    if type(value) in choices:
        return value
    if float in choices and type(value) is int:
        with suppress(OverflowError):
            return float(value)
    names = " or ".join("none" if choice is types.NoneType else choice.__name__ for choice in choices)
    raise error(f"{where}: expected {names}, got {value!r:.50}")


# TOML files


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; a mistake in its syntax is a ConfigError with the line."""
    if sys.version_info >= (3, 11):  # imported here, since parsing a sentence reads no TOML
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        message, at, place = str(error).rpartition(" (at line ")
        raise ConfigError(f"{path}:{place.partition(',')[0]}: {message}" if at else f"{path}: {error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte 0x{error.object[error.start]:02x} is not UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def line_of(toml: str, keys: Sequence[str | int]) -> int:
    """Return the line of a setting in a TOML file, or of the table or list around it; 0 if it is not there."""
    longest = found = 0
    table: list[str | int] = []
    counts: Counter[str] = Counter()
    for number, line in enumerate(toml.splitlines(), 1):
        if header := re.match(r"\s*(\[\[?)([\w.-]+)\]", line):
            names: list[str | int] = [*header[2].split(".")]
            path = table = [*names, counts[header[2]]] if header[1] == "[[" else names
            counts[header[2]] += 1
        elif name := re.match(r"\s*([\w.-]+)\s*=", line):
            path = [*table, *name[1].split(".")]
        else:
            continue
        if len(path) > longest and path == list(keys[: len(path)]):
            longest, found = len(path), number
    return found


def with_line(error: ConfigError, path: Path, keys: Sequence[str | int]) -> ConfigError:
    """Return an error about a TOML file, whose message begins with the path, with the line of a setting."""
    line = line_of(path.read_text("utf-8"), keys) if keys else 0
    return ConfigError(str(error).replace(f"{path}:", f"{path}:{line}:", 1) if line else str(error))
