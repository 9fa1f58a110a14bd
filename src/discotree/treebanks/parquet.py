"""Parquet and Arrow files (IPC, Feather) as streams; columns.py describes their columns.

Trees are written in groups, which bounds the memory, and read in batches. A file may instead hold its trees as
brackets, in a column ``tree``. Errors name the row in place of the line.
"""

import io
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO

from discotree.errors import TreebankError, TreeError, first_line
from discotree.treebanks.arrays import Arrays, arrow
from discotree.treebanks.column_reader import from_batch, from_brackets
from discotree.treebanks.columns import (
    BRACKETS,
    COLUMNS,
    REQUIRED,
    SENTENCES,
    schema,
    to_batch,
)
from discotree.treebanks.source import Source
from discotree.trees.tree import Tree

BATCH = 500  # trees in memory as columns of Python objects
GROUP_ROWS, GROUP_BYTES = 10_000, 32 << 20  # size of a row group, roughly
COMPRESSION = "zstd"
UNREAD = frozenset({"start", "end", "gaps"})  # fields of constituents that follow from the parents
ARROW_FILE = b"ARROW1"  # first bytes of an Arrow file; a stream has none

BatchReader = Callable[[BinaryIO], Iterator[Any]]


class _Pieces(io.RawIOBase):
    """A file in memory that hands out what was written to it."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.pieces.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        pieces, self.pieces = self.pieces, []
        return b"".join(pieces)


def write_parquet(trees: Iterable[Tree]) -> Iterator[bytes]:
    arrow()
    from pyarrow.parquet import ParquetWriter  # type: ignore[import-untyped]

    sink = _Pieces()
    with ParquetWriter(sink, schema(), compression=COMPRESSION, write_page_checksum=True) as writer:
        for group in _groups(trees):
            writer.write_table(arrow().Table.from_batches(group))
            yield sink.take()
    yield sink.take()


def write_arrow(trees: Iterable[Tree]) -> Iterator[bytes]:
    ipc = arrow().ipc
    sink = _Pieces()
    with ipc.new_file(sink, schema(), options=ipc.IpcWriteOptions(compression=COMPRESSION)) as writer:
        for batch in _batches(trees):
            writer.write_batch(batch)
            yield sink.take()
    yield sink.take()


def _groups(trees: Iterable[Tree]) -> Iterator[list[Any]]:
    """Return the batches of each row group."""
    group: list[Any] = []
    for batch in _batches(trees):
        group.append(batch)
        if sum(b.num_rows for b in group) >= GROUP_ROWS or sum(b.nbytes for b in group) >= GROUP_BYTES:
            yield group
            group = []
    if group:
        yield group


def _batches(trees: Iterable[Tree]) -> Iterator[Any]:
    trees = iter(trees)
    while batch := list(islice(trees, BATCH)):
        yield to_batch(batch)


def read_parquet(source: Source) -> Iterator[Tree]:
    return _read(source, _parquet_batches)


def read_arrow(source: Source) -> Iterator[Tree]:
    return _read(source, _arrow_batches)


def _read(source: Source, batches: BatchReader) -> Iterator[Tree]:
    pa = arrow()
    row = 0
    with _seekable(source.stream) as stream:
        rows = _rows(batches(stream))
        while True:
            try:
                found = next(rows, None)
            except TreebankError as error:
                raise source.error(_after(row), error.message) from None
            except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, OverflowError) as error:
                raise source.error(_after(row), f"cannot be read: {first_line(error)}") from None
            if found is None:
                return
            row, tree = found
            if isinstance(tree, TreeError):
                source.broken(row, str(tree))
            else:
                yield tree


def _rows(batches: Iterator[Any]) -> Iterator[tuple[int, Tree | TreeError]]:
    seen = 0
    for batch in batches:
        yield from _numbered(batch, seen)
        seen += batch.num_rows


def _numbered(batch: Any, seen: int) -> Iterator[tuple[int, Tree | TreeError]]:
    """Return the trees of a batch, or errors for broken ones, each with the number of its row."""
    if _has_documents(batch.schema):
        return _of_documents(batch, seen)
    return enumerate(_reader(batch.schema)(batch, seen), seen + 1)


def _has_documents(schema: Any) -> bool:
    if SENTENCES not in schema.names or not set(REQUIRED) - set(schema.names):
        return False
    inner = getattr(schema.field(SENTENCES).type, "value_type", None)
    return inner is not None and arrow().types.is_struct(inner) and set(REQUIRED) <= {field.name for field in inner}


def _of_documents(batch: Any, seen: int) -> Iterator[tuple[int, Tree | TreeError]]:
    """Return the trees of a batch whose rows hold several sentences each."""
    column = batch.column(SENTENCES)
    trees = from_batch(arrow().RecordBatch.from_struct_array(column.flatten()), seen)
    counts = column.value_lengths().to_pylist()
    for row, (count, error) in enumerate(zip(counts, Arrays(batch).values("error"), strict=True), seen + 1):
        if not count:
            yield row, TreeError(error or "there are no sentences")
        for tree in islice(trees, count or 0):
            yield row, tree


def _after(row: int) -> int:
    """Return the row that cannot be read; 0, the whole file, if none could be."""
    return row + 1 if row else 0


def _reader(schema: Any) -> Callable[[Any, int], Iterator[Tree | TreeError]]:
    names = set(schema.names)
    twice = [name for name in sorted(names & COLUMNS) if schema.names.count(name) > 1]
    if twice:
        raise TreebankError(f"the column {twice[0]} is there twice, expected distinct names")
    if names.issuperset(REQUIRED) or _has_documents(schema):
        return from_batch
    if BRACKETS in names:
        return from_brackets
    found = ", ".join(sorted(names)) or "none"
    raise TreebankError(f"expected the columns {', '.join(REQUIRED)}, or {BRACKETS}; there are {found:.200}")


def _parquet_batches(stream: BinaryIO) -> Iterator[Any]:
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(stream, page_checksum_verification=True)
    _reader(file.schema_arrow)
    every = (file.schema.column(k).path for k in range(len(file.schema)))
    paths = [path for path in every if _is_read(path.split("."))]
    for group in range(file.num_row_groups):
        for batch in file.iter_batches(BATCH, row_groups=[group], columns=paths, use_threads=False):
            batch.validate(full=True)
            yield batch


def _is_read(path: list[str]) -> bool:
    return path[0] in COLUMNS and not UNREAD.intersection(path)


def _arrow_batches(stream: BinaryIO) -> Iterator[Any]:
    ipc = arrow().ipc
    is_file = stream.read(len(ARROW_FILE)) == ARROW_FILE
    stream.seek(0)
    reader = ipc.open_file(stream) if is_file else ipc.open_stream(stream)
    _reader(reader.schema)
    batches = (reader.get_batch(k) for k in range(reader.num_record_batches)) if is_file else reader
    for batch in batches:
        batch = batch.select([name for name in batch.schema.names if name in COLUMNS])
        batch.validate(full=True)
        for start in range(0, batch.num_rows, BATCH):
            yield batch.slice(start, BATCH)


@contextmanager
def _seekable(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Return a seekable stream; pipes and compressed files are copied to a temporary file first."""
    is_file = isinstance(getattr(stream, "raw", None), io.FileIO) and stream.seekable()
    if is_file or isinstance(stream, io.BytesIO):
        yield stream
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(stream, copy)
        copy.seek(0)
        yield copy
