"""Plan a job: split the files of the input into shards.

A shard is a range of one file: rows of a Parquet file, or bytes of any other, with the lines that begin there. Only the
footers of Parquet files are read for that. A compressed file is one shard.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from pyarrow import fs, parquet  # type: ignore[import-untyped]

from discotree.errors import InputError
from discotree.files.names import COMPRESSED, is_archive
from discotree.files.writing import overlaps
from discotree.integrations.bulk.storage import addressed, storage

FileKind = Literal["text", "json", "parquet"]
KINDS: dict[str, FileKind] = {".parquet": "parquet", ".jsonl": "json", ".ndjson": "json", ".json": "json"}
ZSTANDARD = ".zst"
PACKED = (*COMPRESSED, ZSTANDARD)
BYTES_PER_ROW = 100  # rough estimate for text
END = 2**62  # bytes: beyond the end of any file
FOOTER_THREADS = 16  # threads that wait for the footers of Parquet files


def kind_of(path: str) -> FileKind:
    """Return what a file holds, by its suffix; text if that says nothing."""
    base = path.lower()
    for suffix in PACKED:
        base = base.removesuffix(suffix)
    return next((kind for suffix, kind in KINDS.items() if base.endswith(suffix)), "text")


def is_packed(path: str) -> bool:
    return path.lower().endswith(PACKED)


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of the input. ``source`` is the address it was found under, ``path`` its path in that file system."""

    source: str
    path: str
    name: str  # tells it apart from the other files
    size: int  # bytes, or rows of a Parquet file
    modified: int | None  # in nanoseconds; None where the storage does not say
    columns: tuple[str, ...] = ()  # names, for a Parquet file

    @property
    def identity(self) -> list[object]:
        """What must be the same when a job is resumed. The address is left out: it may hold a password."""
        return [self.path, self.size, self.modified]


@dataclass(frozen=True, slots=True)
class Shard:
    """A range of a file: the rows or lines that begin in it."""

    number: int
    source: str
    path: str
    name: str
    begin: int
    end: int


@dataclass(frozen=True)
class ShardPlan:
    """The files of the input and the shards they are split into."""

    files: tuple[InputFile, ...]
    shards: tuple[Shard, ...]

    @classmethod
    def of(cls, addresses: Sequence[str], rows: int) -> "ShardPlan":
        """Split files and folders, in their order, into shards of about this many rows."""
        found = tuple(_files(addresses))
        shards: list[Shard] = []
        for file in found:
            step = rows if kind_of(file.path) == "parquet" else rows * BYTES_PER_ROW
            cuts = [0, END] if is_packed(file.path) else [*range(0, file.size, step), file.size]
            for begin, end in pairwise(cuts):
                shards.append(Shard(len(shards), file.source, file.path, file.name, begin, end))
        return cls(found, tuple(shards))


def _files(addresses: Sequence[str]) -> list[InputFile]:
    found: list[tuple[str, Any, Any]] = []  # address, file system, file info
    for address in addresses:
        filesystem, path = storage(address)
        with addressed(address):
            about = filesystem.get_file_info(path)
            if about.type == fs.FileType.NotFound:
                raise InputError(f"{address}: there is no such file")
            if about.type == fs.FileType.Directory:
                inside = filesystem.get_file_info(fs.FileSelector(path, recursive=True))
                chosen = [one for one in inside if one.type == fs.FileType.File and _is_visible(one.path, path)]
                found += [(address, filesystem, one) for one in sorted(chosen, key=lambda one: str(one.path))]
            else:
                found.append((address, filesystem, about))
    if not found:
        raise InputError(f"{', '.join(addresses)}: holds no file")
    for _, _, about in found:
        if is_archive(about.path):
            raise InputError(f"{about.path}: archives cannot be split: unpack it ({', '.join(PACKED)} are fine)")
    names = _names([about.path for _, _, about in found])
    with ThreadPoolExecutor(FOOTER_THREADS) as threads:
        return list(threads.map(_file, *zip(*found, strict=True), names))


def _is_visible(path: str, folder: str) -> bool:
    return not any(part[:1] in ("_", ".") for part in path[len(folder) :].strip("/").split("/"))


def _names(paths: Sequence[str]) -> list[str]:
    """Return the paths without the folders that all of them share."""
    common = ""
    for parts in zip(*(path.split("/")[:-1] for path in paths), strict=False):
        if len(set(parts)) > 1:
            break
        common += f"{parts[0]}/"
    return [path[len(common) :] for path in paths]


def _file(address: str, filesystem: Any, about: Any, name: str) -> InputFile:
    size, columns = about.size, ()
    if kind_of(about.path) == "parquet":
        with addressed(about.path), filesystem.open_input_file(about.path) as stream:
            metadata = parquet.read_metadata(stream)
        size, columns = metadata.num_rows, tuple(metadata.schema.to_arrow_schema().names)
    return InputFile(address, about.path, name, size, about.mtime_ns, columns)


def check_column(files: Iterable[InputFile], column: str) -> None:
    """Refuse a column that no Parquet file has, which would be an error in every row."""
    tables = [file for file in files if kind_of(file.path) == "parquet"]
    if tables and not any(column in file.columns for file in tables):
        there = ", ".join(tables[0].columns)
        raise InputError(f"{tables[0].path}: there is no column {column!r}; there are {there:.200}")


def check_output(addresses: Sequence[str], output: str) -> None:
    """Refuse an output inside the input, where the next run would read it."""
    target = storage(output)[1]
    for address in addresses:
        is_remote = "://" in address or "://" in output
        if f"{target}/".startswith(f"{storage(address)[1]}/") or (not is_remote and overlaps(output, address)):
            raise InputError(f"{output}: lies in the input {address}: choose another folder")
