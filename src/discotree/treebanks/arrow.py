"""Parquet and Arrow files (IPC, Feather), one row per tree, as streams.

    id            string
    words         list of strings; tags, lemmas, morph and functions the same
    parents       list of int32: the parent of every word, an index into ``constituents``
    constituents  list of {label, function, parent, start, end, gaps, confidence}, in the order of ``Tree.nodes``: the
                  root comes first and has the parent -1; gaps are a list of {start, end}, ends are excluded
    secondary     list of {label, child, parent}, with the addresses of ``SecondaryEdge``
    comment       string
    confidence    double

The parents define the tree. ``start``, ``end`` and ``gaps`` follow from them; they are there for queries, and readers
ignore them. Missing columns read as ``--``; words, parents and constituents are required.

Rows with several trees have them in the column ``sentences``, a list of structs with these columns.

Trees are written in groups and read in batches, so memory is bounded. Errors give the row instead of the line. The
types of columns are checked: any width of offsets and dictionary-encoded strings are accepted, but numbers in place of
text are rejected, and so are lists of billions of values, which a few bytes of a file can declare.
"""

import io
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import Any, BinaryIO

from discotree.errors import TreebankError, TreeError, first_line, requires_extra
from discotree.treebanks.source import RunningNumber, Source
from discotree.treebanks.writer import Writer, unsupported
from discotree.trees.tree import NONE, SecondaryEdge, Token, Tree

MAX_VALUES = 1_000_000  # words or constituents of one tree
BATCH = 500  # trees in memory as columns of Python objects
GROUP_ROWS, GROUP_BYTES = 10_000, 32 << 20  # size of a row group, roughly
COMPRESSION = "zstd"
ARROW_FILE = b"ARROW1"  # first bytes of an Arrow file; a stream has none
TOKEN_COLUMNS = ("words", "tags", "lemmas", "morph", "functions")  # in the order of Token's fields
REQUIRED = ("words", "parents", "constituents")
SENTENCES, ERROR = "sentences", "error"
UNREAD = frozenset({"start", "end", "gaps"})  # fields of constituents that follow from the parents
LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # cannot be encoded


def arrow() -> Any:
    """Return pyarrow, or raise an error that names the extra that installs it."""
    with requires_extra("tables"):
        import pyarrow  # type: ignore[import-untyped]
    return pyarrow


@lru_cache
def schema() -> Any:
    pa = arrow()
    span = [("start", pa.int32()), ("end", pa.int32())]
    constituent = pa.struct(
        [
            ("label", pa.string()),
            ("function", pa.string()),
            ("parent", pa.int32()),
            *span,
            ("gaps", pa.list_(pa.struct(span))),
            ("confidence", pa.float64()),
        ]
    )
    edge = pa.struct([("label", pa.string()), ("child", pa.int32()), ("parent", pa.int32())])
    return pa.schema(
        [
            ("id", pa.string()),
            *((name, pa.list_(pa.string())) for name in TOKEN_COLUMNS),
            ("parents", pa.list_(pa.int32())),
            ("constituents", pa.list_(constituent)),
            ("secondary", pa.list_(edge)),
            ("comment", pa.string()),
            ("confidence", pa.float64()),
        ]
    )


# Trees → rows


def to_row(tree: Tree) -> dict[str, Any]:
    """Return the columns of a tree; ``tree_of_row`` is the inverse."""
    token_parents, nodes = tree.parents()
    parents = [-1, *(parent + 1 for _, _, parent in nodes)]  # the root is constituent 0
    confidences = tree.confidences if len(tree.confidences) == len(parents) else [None] * len(parents)
    constituents = [
        {
            "label": node.label,
            "function": node.function,
            "parent": parent,
            "start": node.first,
            "end": node.mask.bit_length(),
            "gaps": [{"start": start, "end": end} for start, end in node.gaps] if node.is_discontinuous else [],
            "confidence": confidence,
        }
        for node, parent, confidence in zip(tree.nodes(), parents, confidences, strict=True)
    ]
    return {
        "id": tree.id,
        **dict(zip(TOKEN_COLUMNS, zip(*tree.tokens, strict=True), strict=True)),
        "parents": [parent + 1 for parent in token_parents],
        "constituents": constituents,
        "secondary": [edge._asdict() for edge in tree.secondary],
        "comment": tree.comment,
        "confidence": tree.confidence,
    }


def to_batch(trees: Sequence[Tree]) -> Any:
    """Return trees as one record batch; text that UTF-8 cannot encode is a TreebankError."""
    try:
        return arrow().RecordBatch.from_pylist([to_row(tree) for tree in trees], schema())
    except UnicodeEncodeError:
        for tree in trees:
            check_encodable(tree)
        raise


def check_encodable(tree: Tree) -> None:
    """Raise an error for a tree with a lone surrogate, which UTF-8 cannot encode."""
    texts = [("id", tree.id), ("comment", tree.comment)]
    texts += [("word" if k == 0 else Token._fields[k], text) for token in tree.tokens for k, text in enumerate(token)]
    texts += [("label", text) for node in tree.nodes() for text in (node.label, node.function)]
    texts += [("secondary edge", edge.label) for edge in tree.secondary]
    for what, text in texts:
        if LONE_SURROGATE.search(text):
            raise unsupported(tree, "UTF-8", what, text)


def _take(sink: io.BytesIO) -> bytes:
    """Return the content that was written since the last call; Arrow keeps its own count of bytes."""
    content = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return content


class ArrowFileWriter(Writer):
    """Writes record batches, one after the other."""

    def check(self, tree: Tree) -> None:
        check_encodable(tree)

    def file(self, trees: Iterable[Tree]) -> Iterator[bytes]:
        ipc = arrow().ipc
        sink = io.BytesIO()
        with ipc.new_file(sink, schema(), options=ipc.IpcWriteOptions(compression=COMPRESSION)) as writer:
            for batch in _batches(trees):
                writer.write_batch(batch)
                yield _take(sink)
        yield _take(sink)


class ParquetFileWriter(ArrowFileWriter):
    """Writes row groups of several batches."""

    def file(self, trees: Iterable[Tree]) -> Iterator[bytes]:
        pa = arrow()
        from pyarrow.parquet import ParquetWriter  # type: ignore[import-untyped]

        sink = io.BytesIO()
        group: list[Any] = []
        with ParquetWriter(sink, schema(), compression=COMPRESSION, write_page_checksum=True) as writer:
            for batch in _batches(trees):
                group.append(batch)
                if sum(b.num_rows for b in group) >= GROUP_ROWS or sum(b.nbytes for b in group) >= GROUP_BYTES:
                    writer.write_table(pa.Table.from_batches(group))
                    group = []
                    yield _take(sink)
            if group:
                writer.write_table(pa.Table.from_batches(group))
        yield _take(sink)


def _batches(trees: Iterable[Tree]) -> Iterator[Any]:
    trees = iter(trees)
    while batch := list(islice(trees, BATCH)):
        yield to_batch(batch)


# Rows → trees


def tree_of_row(row: dict[str, Any] | None, number: int) -> Tree:
    """Build the tree of a row, which gets its number as an id if it has none; an invalid row is a TreeError."""
    row = row or {}
    if error := row.get(ERROR):
        raise TreeError(error)
    words = row.get("words")
    if not words or None in words:
        raise TreeError("a word is missing" if words else "the sentence has no words")
    n = len(words)
    fields = [_complete(row.get(name), n, name) for name in TOKEN_COLUMNS[1:]]
    constituents, parents = row.get("constituents") or [], row.get("parents") or []
    if not constituents or None in constituents or constituents[0].get("parent") != -1:
        raise TreeError("the first constituent must be the root, with the parent -1")
    if len(parents) != n:
        raise TreeError(f"expected {n} parents, got {len(parents)}")
    count = len(constituents)
    if wrong := [parent for parent in parents if parent is None or not 0 <= parent < count]:
        raise TreeError(f"a word has the parent {wrong[0]}, but there are {count} constituents")
    for k, item in enumerate(constituents[1:], 1):
        if item["parent"] is None or not 0 <= item["parent"] < k:
            raise TreeError(f"constituent {k} has the parent {item['parent']}, expected a constituent before it")
    functions = _complete([item.get("function") for item in constituents], count, "functions")
    nodes = [
        (item.get("label") or "", function, item["parent"] - 1)
        for item, function in zip(constituents, functions, strict=True)
    ]
    edges = [SecondaryEdge(e.get("label"), e.get("child"), e.get("parent")) for e in row.get("secondary") or ()]
    if any(None in edge for edge in edges):
        raise TreeError("a secondary edge is not complete")
    confidences = tuple([item.get("confidence") for item in constituents])
    has_confidences = None not in confidences
    try:
        tree = Tree.from_parents(
            tuple(map(Token, words, *fields)),
            [parent - 1 for parent in parents],
            nodes[1:],
            root=nodes[0][:2],
            id=str(row["id"]) if row.get("id") not in (None, "") else RunningNumber(number),
            secondary=edges,
            comment=row.get("comment") or "",
            confidence=row.get("confidence"),
            confidences=confidences if has_confidences else (),
        )
    except TreeError as error:
        raise error if error.node is None else TreeError(f"constituent {error.node + 1}: {error}") from None
    if has_confidences and tree.parents()[1] != nodes[1:]:
        raise TreeError("the constituents are not in order: parents before children, children from left to right")
    return tree


def _complete(values: list[Any] | None, size: int, name: str) -> list[Any]:
    """Return one value for every word."""
    if values is None:
        return [NONE] * size
    if len(values) != size:
        raise TreeError(f"expected {size} {name}, got {len(values)}")
    return [NONE if value is None else value for value in values] if None in values else values


def read_parquet(source: Source) -> Iterator[Tree]:
    return _read(source, _parquet_batches)


def read_arrow(source: Source) -> Iterator[Tree]:
    return _read(source, _arrow_batches)


def _read(source: Source, batches: Callable[[BinaryIO], Iterator[Any]]) -> Iterator[Tree]:
    with _seekable(source.stream) as stream:
        for number, row in _rows(source, batches(stream)):
            try:
                tree = tree_of_row(row, number)
            except TreeError as error:
                source.broken(number, str(error))
            else:
                yield tree


def _rows(source: Source, batches: Iterator[Any]) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield the trees of all rows, each with the number of its row."""
    number = 0
    try:
        for batch in batches:
            batch.validate(full=True)
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                _check_lengths(name, column)
            for row in batch.to_pylist():
                number += 1
                if SENTENCES not in row:
                    yield number, row
                elif row[SENTENCES]:
                    yield from ((number, sentence) for sentence in row[SENTENCES])
                else:
                    yield number, {ERROR: row.get(ERROR) or "the row has no sentences"}
    except (arrow().ArrowException, OSError, ValueError, LookupError, TypeError, OverflowError) as error:
        raise source.error(number + 1 if number else 0, f"cannot be read: {first_line(error)}") from None
    except TreebankError as error:
        raise source.error(number + 1 if number else 0, error.message) from None


def _check_lengths(name: str, column: Any) -> None:
    """Raise an error for a list of too many values, before they become Python objects."""
    pa = arrow()
    if pa.types.is_struct(column.type):
        for field, inner in zip(column.type, column.flatten(), strict=True):
            _check_lengths(field.name, inner)
    elif pa.types.is_nested(column.type):
        from pyarrow import compute

        longest = compute.max(compute.list_value_length(column)).as_py() or 0
        if longest > MAX_VALUES:
            raise TreebankError(f"{longest:,} values in one list of the column {name}, expected at most {MAX_VALUES:,}")
        _check_lengths(name, column.flatten())


def _columns(columns: Any) -> list[str]:
    """Return the names of the columns to read; raise an error unless they are those of trees, or of documents."""
    pa = arrow()
    names = [name for name in columns.names if name in {*schema().names, SENTENCES, ERROR}]
    for name in names:
        if names.count(name) > 1:
            raise TreebankError(f"duplicate column {name}")
    sentence = pa.struct([*schema(), (ERROR, pa.string())])
    if set(REQUIRED) <= set(names):
        names = [name for name in names if name != SENTENCES]
    elif SENTENCES in names:
        names = [name for name in names if name in (SENTENCES, ERROR)]
        sentence = pa.struct([(SENTENCES, pa.list_(sentence)), (ERROR, pa.string())])
    else:
        known = ", ".join(sorted(set(columns.names))) or "none"
        raise TreebankError(f"expected the columns {', '.join(REQUIRED)}, got {known:.200}")
    for name in names:
        _check_type(name, columns.field(name).type, sentence.field(name).type)
    return names


def _check_type(name: str, kind: Any, expected: Any) -> None:
    """Raise an error unless the values of a type can be read as those of the expected one."""
    types = arrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_null(kind):
        return
    if types.is_struct(expected):
        fields = {field.name: field.type for field in kind} if types.is_struct(kind) else {}
        if types.is_struct(kind) and len(fields) < kind.num_fields:
            raise TreebankError(f"duplicate field in the column {name}")
        for field in expected:
            if field.name in fields and field.name not in UNREAD:
                _check_type(f"{name}.{field.name}", fields[field.name], field.type)
        is_right = bool(fields)
    elif types.is_list(expected):
        is_right = types.is_nested(kind) and hasattr(kind, "value_type")
        if is_right:
            _check_type(name, kind.value_type, expected.value_type)
    elif types.is_string(expected):
        is_right = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
        is_right = is_right or (name == "id" and types.is_integer(kind))
    else:
        is_right = types.is_integer(kind) or (types.is_floating(expected) and types.is_floating(kind))
    if not is_right:
        raise TreebankError(f"the column {name} has the unexpected type {kind}")


def _parquet_batches(stream: BinaryIO) -> Iterator[Any]:
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(stream, page_checksum_verification=True)
    names = _columns(file.schema_arrow)
    paths = [file.schema.column(k).path.split(".") for k in range(len(file.schema))]
    paths = [".".join(path) for path in paths if path[0] in names and not UNREAD.intersection(path)]
    for group in range(file.num_row_groups):
        yield from file.iter_batches(BATCH, row_groups=[group], columns=paths, use_threads=False)


def _arrow_batches(stream: BinaryIO) -> Iterator[Any]:
    ipc = arrow().ipc
    is_file = stream.read(len(ARROW_FILE)) == ARROW_FILE
    stream.seek(0)
    reader = ipc.open_file(stream) if is_file else ipc.open_stream(stream)
    names = _columns(reader.schema)
    for batch in (reader.get_batch(k) for k in range(reader.num_record_batches)) if is_file else reader:
        for start in range(0, batch.num_rows, BATCH):
            yield batch.select(names).slice(start, BATCH)


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
