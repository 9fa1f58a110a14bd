"""Arrow columns as Python rows, with their types checked.

Any width of offsets and dictionary-encoded strings are accepted. Numbers in place of text are refused, and so are
lists of billions of values, which a few bytes of a file can declare.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise, starmap
from typing import Any

from discotree.errors import TreebankError, requires_extra

MAX_VALUES = 1_000_000  # words or constituents of one tree
TEXTS = ("string", "large_string", "string_view")
TYPES = {
    "id": (*TEXTS, "integer"),
    "parents": ("integer",),
    "parent": ("integer",),
    "child": ("integer",),
    "confidence": ("floating", "integer"),
}  # by column; all others are text

Rows = Iterable[list[Any] | None]


def arrow() -> Any:
    """Return pyarrow, or say which extra installs it."""
    with requires_extra("tables"):
        import pyarrow  # type: ignore[import-untyped]
    return pyarrow


class Arrays:
    """The columns of a record batch; a missing one is full of None."""

    def __init__(self, batch: Any) -> None:
        self.types = arrow().types
        self.size = batch.num_rows
        named = zip(batch.schema.names, batch.columns, strict=True)
        self.columns = {name: column for name, column in named if not self.types.is_null(column.type)}

    def values(self, name: str) -> list[Any]:
        """Return a column of plain values."""
        if name not in self.columns:
            return [None] * self.size
        return self._python(self.columns[name], name)

    def lists(self, name: str) -> Rows:
        """Return a column of lists."""
        if name not in self.columns:
            return [None] * self.size
        column, inside = self._inside(name)
        return _split(column, self._python(inside, name))

    def structs(self, name: str, fields: Sequence[str]) -> list[Rows]:
        """Return a column of lists of structs, field by field."""
        if name not in self.columns:
            return [[None] * self.size for _ in fields]
        column, inside = self._inside(name)
        if not self.types.is_struct(inside.type):
            raise _unexpected(name, column.type)
        names = [field.name for field in inside.type]
        if len(set(names)) < len(names):
            raise TreebankError(f"a field of the column {name} is there twice, expected distinct names")
        known = dict(zip(names, inside.flatten(), strict=True))
        missing = [None] * len(inside)
        return [_split(column, self._python(known[f], f"{name}.{f}") if f in known else missing) for f in fields]

    def _inside(self, name: str) -> tuple[Any, Any]:
        """Return a column of lists, and the values of all its lists, one after the other."""
        column = self.columns[name]
        if not (self.types.is_list(column.type) or self.types.is_large_list(column.type)):
            try:
                column = column.cast(arrow().list_(column.type.value_type))
            except (AttributeError, NotImplementedError):
                raise _unexpected(name, column.type) from None
        offsets = column.offsets.to_pylist()
        for start, end in pairwise(offsets):
            if end - start > MAX_VALUES:
                raise TreebankError(f"{end - start:,} values in one list of the column {name}: no tree is that large")
        return column, column.values.slice(offsets[0], offsets[-1] - offsets[0])

    def _python(self, column: Any, name: str) -> list[Any]:
        kind = column.type.value_type if self.types.is_dictionary(column.type) else column.type
        allowed = TYPES.get(name.rpartition(".")[2], TEXTS)
        if not any(getattr(self.types, f"is_{one}")(kind) for one in ("null", *allowed)):
            raise _unexpected(name, column.type)
        return list(column.to_pylist())


def _unexpected(name: str, kind: Any) -> TreebankError:
    return TreebankError(f"the column {name} has the type {kind}, which does not belong there")


def _split(column: Any, values: list[Any]) -> Rows:
    """Split the values of a column into its lists."""
    offsets = column.offsets.to_pylist()
    slices = starmap(slice, pairwise([offset - offsets[0] for offset in offsets]))
    if not column.null_count:
        return map(values.__getitem__, slices)
    valid = column.is_valid().to_pylist()
    return [values[one] if is_valid else None for one, is_valid in zip(slices, valid, strict=True)]
