"""Read the rows of a shard, each with its id and its content or the reason why that cannot be read, in bounded memory.

A row never gets lost: whatever is wrong with it, it comes out in its place.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import parquet

from discotree.errors import InputError, TreebankError
from discotree.files.names import without_bom
from discotree.files.reading import open_compressed
from discotree.integrations.bulk.plan import ZSTANDARD, Shard, is_packed, kind_of
from discotree.integrations.bulk.storage import addressed, storage

BLOCK = 2**20  # bytes read at a time
MAX_ROW_BYTES = 2**22  # a longer row is an error, and never in memory as a whole
BATCH = 1000  # rows of a Parquet file decoded at a time
TEXT = pa.large_binary()


class RowError(InputError):
    """A row that cannot be parsed."""


class Row(NamedTuple):
    """A row of the input. ``content`` is text (UTF-8 or decoded), a list of words, an error, or anything else."""

    id: str
    content: object


def rows(shard: Shard, column: str, id_column: str) -> Iterator[Row]:
    """Yield the rows of a shard. The id of a row that has none is its file and its offset or number there."""
    filesystem, _ = storage(shard.source)
    with addressed(shard.path), filesystem.open_input_file(shard.path) as raw:
        if kind_of(shard.path) == "parquet":
            yield from _of_table(raw, shard, column, id_column)
            return
        for offset, line in lines(_unpacked(raw, shard.path), shard.begin, shard.end):
            row = Row(f"{shard.name}:{offset}", line)
            yield row if kind_of(shard.path) == "text" else _of_json(row, column, id_column)


def _unpacked(raw: Any, path: str) -> BinaryIO:
    if path.lower().endswith(ZSTANDARD):
        return cast(BinaryIO, pa.CompressedInputStream(raw, "zstd"))
    return open_compressed(raw, path) if is_packed(path) else cast(BinaryIO, raw)


# Lines


def lines(stream: BinaryIO, begin: int, end: int) -> Iterator[tuple[int, bytes | RowError]]:
    """Yield the lines that begin in a range of bytes, without their line ends, each with its offset."""
    offset = begin
    if begin:
        stream.seek(begin - 1)  # the byte before tells whether a line begins here
        offset -= 1
    pieces: list[bytes] = []
    length = 0  # bytes of the line so far
    is_ours = not begin
    while block := stream.read(BLOCK):
        at = 0
        while (stop := block.find(b"\n", at)) >= 0:
            if is_ours:
                yield offset, _line([*pieces, block[at:stop]], length + stop - at, offset)
            offset += length + stop + 1 - at
            at = stop + 1
            pieces, length, is_ours = [], 0, True
            if offset >= end:
                return
        length += len(block) - at
        if not is_ours and offset + length >= end:
            return  # the whole range is in the middle of a line
        if is_ours and length <= MAX_ROW_BYTES:
            pieces.append(block[at:])
        else:
            pieces = []
    if is_ours and length:
        yield offset, _line(pieces, length, offset)


def _line(pieces: list[bytes], length: int, offset: int) -> bytes | RowError:
    if length > MAX_ROW_BYTES:
        return RowError(f"a row of {length:,} bytes is too long: at most {MAX_ROW_BYTES:,}")
    line = b"".join(pieces)
    return (line if offset else without_bom(line)).removesuffix(b"\r")


def _of_json(row: Row, column: str, id_column: str) -> Row:
    """Return the row that a JSON object on a line holds."""
    if isinstance(row.content, RowError):
        return row
    try:
        record = json.loads(cast(bytes, row.content))
    except (ValueError, RecursionError) as error:
        return row._replace(content=RowError(f"this is not JSON: {error}"))
    if not isinstance(record, dict):
        return row._replace(content=RowError(f"expected an object, got {brief(record)}"))
    content = record.get(column, RowError(f"there is no {column!r}"))
    return Row(_identity(record.get(id_column), row.id), content)


def _identity(value: object, default: str) -> str:
    """Return an id as text; None and the empty string are no ids."""
    if value is None or value == "":
        return default
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.encode("utf-8", "replace").decode()


def brief(value: object) -> str:
    """Return an unexpected value for a message."""
    return json.dumps(value, default=str)[:40]


# Tables


def _of_table(raw: Any, shard: Shard, column: str, id_column: str) -> Iterator[Row]:
    """Yield some rows of a Parquet file; only the row groups that they belong to are read."""
    file = parquet.ParquetFile(raw)
    groups: list[int] = []
    before = skipped = 0
    for group in range(file.metadata.num_row_groups):
        after = before + file.metadata.row_group(group).num_rows
        if before < shard.end and after > shard.begin:
            skipped = skipped if groups else shard.begin - before
            groups.append(group)
        before = after
    present = [name for name in {column, id_column} if file.schema_arrow.get_field_index(name) >= 0]
    position = shard.begin - skipped
    for batch in file.iter_batches(BATCH, row_groups=groups, columns=present, use_threads=False):
        first = min(max(shard.begin - position, 0), batch.num_rows)
        part = batch.slice(first, shard.end - position - first)
        missing = [RowError(f"there is no column {column!r}")] * part.num_rows
        contents = _contents(part.column(column)) if column in present else missing
        ids = _ids(part.column(id_column)) if id_column in present else [None] * part.num_rows
        for number, (content, identity) in enumerate(zip(contents, ids, strict=True), position + first):
            yield Row(_identity(identity, f"{shard.name}:{number}"), content)
        position += batch.num_rows
        if position >= shard.end:
            return
    raise TreebankError("has fewer rows than when the job began", shard.path)


def _contents(column: Any) -> list[Any]:
    """Return texts as bytes, since a file may declare UTF-8 and hold something else; numbers are no texts."""
    for kind in (TEXT, pa.large_list(TEXT)):
        with suppress(pa.ArrowException):
            return list(column.cast(kind).to_pylist())
    return [RowError(f"expected text or a list of words, got {column.type}")] * len(column)


def _ids(column: Any) -> list[Any]:
    """Return ids as text, whatever type they have."""
    for kinds in ([TEXT], [pa.string(), TEXT]):
        with suppress(pa.ArrowException):
            texts = reduce(pa.Array.cast, kinds, column).to_pylist()
            return [None if text is None else text.decode("utf-8", "replace") for text in texts]
    return [None] * len(column)
