"""Take the values of options and arguments as they are, where nothing has to be converted.

Typer has every value checked by Pydantic, whose import alone takes longer than a small command. So Pydantic only gets
what is not obviously right, and writes the messages about wrong values.
"""

import re
from typing import Any

CONVERTER = "_runtime_param"  # where Typer keeps the converter of a parameter, None until it is needed
SMALL_NUMBER = re.compile("[0-9]{1,9}")


def unchecked(parameters: list[Any]) -> list[Any]:
    """Give parameters a converter that asks Typer's only if it has to; other versions of Typer are left alone."""
    for parameter in parameters:
        if getattr(parameter, CONVERTER, parameter) is None and hasattr(parameter, "get_runtime_param"):
            setattr(parameter, CONVERTER, _Converter(parameter))
    return parameters


class _Converter:
    def __init__(self, parameter: Any) -> None:
        self.parameter = parameter

    def coerce(self, value: Any, **context: Any) -> Any:
        """Return the value, or what Typer makes of it."""
        annotation = self.parameter.type_descriptor.annotation
        if self.parameter.multiple or self.parameter.nargs == -1:
            if not value:
                return () if value is None else []
            if annotation == list[str] and all(type(item) is str for item in value):
                return list(value)
        elif value is None:
            return None
        else:
            if annotation is int and isinstance(value, str) and SMALL_NUMBER.fullmatch(value):
                value = int(value)
            if annotation is float and type(value) is int:  # a default, as in "x: float = 0"
                value = float(value)
            if _is_right(value, self.parameter.type_descriptor):
                return value
        setattr(self.parameter, CONVERTER, None)
        return self.parameter.get_runtime_param().coerce(value, **context)


def _is_right(value: Any, descriptor: Any) -> bool:
    if descriptor.choices is not None:
        return value in descriptor.choices
    if type(value) is not descriptor.annotation or not isinstance(value, str | bool | int | float):
        return False
    if isinstance(value, str | bool):
        return True
    info = descriptor.parameter_info
    return (info.min is None or value >= info.min) and (info.max is None or value <= info.max)
