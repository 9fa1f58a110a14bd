"""The rows of a shard: each with its id and what it holds, or why that cannot be read, in bounded memory.

A row never gets lost: whatever is wrong with it, it comes out in its place.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import parquet

from discotree.errors import DiscotreeError, TreebankError
from discotree.files import open_compressed, without_bom
from discotree.integrations.bulk.plan import ZSTANDARD, Shard, is_packed, kind_of
from discotree.integrations.bulk.storage import addressed, storage

BLOCK = 2**20  # bytes that are read at a time
LONGEST = 2**22  # bytes of a row: a longer one is an error, and never in the memory as a whole
BATCH = 1000  # rows of a Parquet file that are unpacked at a time
TEXT = pa.large_binary()


class RowError(DiscotreeError):
    """A row that cannot be parsed."""


class Row(NamedTuple):
    """``content`` is text, as UTF-8 or decoded, a list of words, or an error; or else something that is no sentence."""

    id: str
    content: object


def rows(shard: Shard, column: str, id_column: str) -> Iterator[Row]:
    """The rows of a shard. Without an id of its own, a row is called by its file and its place there."""
    filesystem, _ = storage(shard.source)
    with addressed(shard.path), filesystem.open_input_file(shard.path) as raw:
        if kind_of(shard.path) == "parquet":
            yield from _of_table(raw, shard, column, id_column)
            return
        for place, line in lines(_unpacked(raw, shard.path), shard.begin, shard.end):
            row = Row(f"{shard.name}:{place}", line)
            yield row if kind_of(shard.path) == "text" else _of_json(row, column, id_column)


def _unpacked(raw: Any, path: str) -> BinaryIO:
    if path.lower().endswith(ZSTANDARD):
        return cast(BinaryIO, pa.CompressedInputStream(raw, "zstd"))
    return open_compressed(raw, path) if is_packed(path) else cast(BinaryIO, raw)


# Lines


def lines(stream: BinaryIO, begin: int, end: int) -> Iterator[tuple[int, bytes | RowError]]:
    """The lines that begin in a stretch of bytes, without their ends, each with the place where it begins."""
    place = begin
    if begin:
        stream.seek(begin - 1)  # the byte before says whether a line begins here
        place -= 1
    pieces: list[bytes] = []
    length = 0  # of the line so far
    is_ours = not begin
    while block := stream.read(BLOCK):
        at = 0
        while (stop := block.find(b"\n", at)) >= 0:
            if is_ours:
                yield place, _line([*pieces, block[at:stop]], length + stop - at, place)
            place += length + stop + 1 - at
            at = stop + 1
            pieces, length, is_ours = [], 0, True
            if place >= end:
                return
        length += len(block) - at
        if not is_ours and place + length >= end:
            return  # all of it is in the middle of a line
        if is_ours and length <= LONGEST:
            pieces.append(block[at:])
        else:
            pieces = []
    if is_ours and length:
        yield place, _line(pieces, length, place)


def _line(pieces: list[bytes], length: int, place: int) -> bytes | RowError:
    if length > LONGEST:
        return RowError(f"a row of {length:,} bytes is too long: at most {LONGEST:,}")
    line = b"".join(pieces)
    return (line if place else without_bom(line)).removesuffix(b"\r")


def _of_json(row: Row, column: str, id_column: str) -> Row:
    """What an object on a line holds."""
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


def _identity(value: object, place: str) -> str:
    """An id as text; nothing, or what cannot be written as text, is no id."""
    if value is None or value == "":
        return place
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.encode("utf-8", "replace").decode()


def brief(value: object) -> str:
    """Something that was not expected, for a message."""
    return json.dumps(value, default=str)[:40]


# Tables


def _of_table(raw: Any, shard: Shard, column: str, id_column: str) -> Iterator[Row]:
    """Some rows of a Parquet file; only the groups of rows that they belong to are read."""
    file = parquet.ParquetFile(raw)
    groups: list[int] = []
    before = skipped = 0
    for group in range(file.metadata.num_row_groups):
        after = before + file.metadata.row_group(group).num_rows
        if before < shard.end and after > shard.begin:
            skipped = skipped if groups else shard.begin - before
            groups.append(group)
        before = after
    wanted = [name for name in {column, id_column} if file.schema_arrow.get_field_index(name) >= 0]
    place = shard.begin - skipped
    for batch in file.iter_batches(BATCH, row_groups=groups, columns=wanted, use_threads=False):
        first = min(max(shard.begin - place, 0), batch.num_rows)
        part = batch.slice(first, shard.end - place - first)
        missing = [RowError(f"there is no column {column!r}")] * part.num_rows
        contents = _contents(part.column(column)) if column in wanted else missing
        ids = _ids(part.column(id_column)) if id_column in wanted else [None] * part.num_rows
        for number, (content, identity) in enumerate(zip(contents, ids, strict=True), place + first):
            yield Row(_identity(identity, f"{shard.name}:{number}"), content)
        place += batch.num_rows
        if place >= shard.end:
            return
    raise TreebankError("has fewer rows than when the job began", shard.path)


def _contents(column: Any) -> list[Any]:
    """Texts as bytes, since a file may say UTF-8 and hold something else; numbers are not taken for text."""
    for kind in (TEXT, pa.large_list(TEXT)):
        with suppress(pa.ArrowException):
            return list(column.cast(kind).to_pylist())
    return [RowError(f"expected text or a list of words, got {column.type}")] * len(column)


def _ids(column: Any) -> list[Any]:
    """Whatever can be written as text."""
    for kinds in ([TEXT], [pa.string(), TEXT]):
        with suppress(pa.ArrowException):
            texts = reduce(pa.Array.cast, kinds, column).to_pylist()
            return [None if text is None else text.decode("utf-8", "replace") for text in texts]
    return [None] * len(column)
