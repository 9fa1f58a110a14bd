"""The output: a folder of shards, each of which is there entirely or not at all, and what they are shards of.

``_job.json`` says which job the folder belongs to, ``_SUCCESS`` that all of it is done. Whoever reads a folder of
Parquet files leaves out what begins with an underscore. A worker that dies leaves a file that ends in ``.tmp``.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import fs, parquet

from discotree.errors import DiscotreeError
from discotree.integrations.bulk.plan import Shard
from discotree.integrations.bulk.records import Record, schema
from discotree.integrations.bulk.storage import UNFINISHED, addressed, appearing, is_local, storage

if sys.platform != "win32":
    import fcntl

Format = Literal["parquet", "json"]
SUFFIXES = {"parquet": "parquet", "json": "jsonl"}
JOB, DONE, LOCK, BEGUN = "_job.json", "_SUCCESS", "_lock", "_begun"
GROUP = 10_000  # rows that are written at a time


@dataclass(frozen=True)
class Output:
    """The folder, and how its shards are written. ``documents``: a record holds any number of sentences."""

    address: str
    format: Format
    documents: bool

    def name(self, shard: Shard) -> str:
        return f"part-{shard.number:07}.{SUFFIXES[self.format]}"

    def write(self, shard: Shard, records: Iterable[Record]) -> None:
        """The shard appears when all records are written."""
        filesystem, folder = storage(self.address)
        source = iter(records)
        with appearing(filesystem, f"{folder}/{self.name(shard)}") as stream:
            if self.format == "json":
                for record in source:
                    stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
                return
            columns = schema(self.documents)
            with parquet.ParquetWriter(stream, columns, compression="zstd") as writer:
                while group := list(islice(source, GROUP)):
                    writer.write_table(pa.Table.from_pylist(group, columns))

    @contextmanager
    def attempt(self, shard: Shard) -> Iterator[int]:
        """Note that a shard is worked on, for as long as somebody does; gives how many workers have died meanwhile."""
        filesystem, folder = storage(self.address)
        note = f"{folder}/{BEGUN}/{self.name(shard)}"
        died = 0
        if filesystem.get_file_info(note).is_file:
            with filesystem.open_input_stream(note) as stream:
                died = len(stream.read())
        with filesystem.open_output_stream(note) as stream:
            stream.write(b"." * (died + 1))
        try:
            yield died
        finally:
            with suppress(FileNotFoundError):  # where somebody else worked on it, too
                filesystem.delete_file(note)

    def is_there(self, shard: Shard) -> bool:
        filesystem, folder = storage(self.address)
        return bool(filesystem.get_file_info(f"{folder}/{self.name(shard)}").is_file)

    def missing(self, shards: Sequence[Shard]) -> list[Shard]:
        """The shards that are still to be done."""
        there = self._names()
        return [shard for shard in shards if self.name(shard) not in there]

    @contextmanager
    def begun(self, job: Mapping[str, object]) -> Iterator[None]:
        """Make the folder that of a job, or go on with it; another job's is refused, and one that is at work."""
        filesystem, folder = storage(self.address)
        with addressed(self.address, "written"):
            filesystem.create_dir(folder, recursive=True)
        names = {name for name in self._names() if not name.endswith(UNFINISHED)}
        if JOB not in names and names - {LOCK}:
            raise DiscotreeError(f"{self.address}: there is something in it ({min(names)}), and no job of ours")
        with self._locked():
            self._check(json.loads(json.dumps(job)))
            with addressed(self.address, "written"):
                self._tidy()
                filesystem.create_dir(f"{folder}/{BEGUN}")
            yield

    def finish(self) -> None:
        """Say that all shards are there."""
        self._tidy()
        self._put(DONE, b"")

    def _tidy(self) -> None:
        """Take away what workers have left behind, and what may be true no longer."""
        filesystem, folder = storage(self.address)
        names = self._names()
        if BEGUN in names:
            filesystem.delete_dir(f"{folder}/{BEGUN}")
        for name in names:
            if name.endswith(UNFINISHED) or name == DONE:
                filesystem.delete_file(f"{folder}/{name}")

    def _check(self, job: Mapping[str, object]) -> None:
        if JOB not in self._names():
            self._put(JOB, json.dumps(job, indent=1, ensure_ascii=False).encode() + b"\n")
            return
        filesystem, folder = storage(self.address)
        try:
            with addressed(self.address), filesystem.open_input_stream(f"{folder}/{JOB}") as stream:
                begun = dict(json.loads(stream.read()))
        except (ValueError, TypeError):
            raise DiscotreeError(f"{self.address}/{JOB}: this is not the description of a job") from None
        for name, value in job.items():
            if begun.get(name) != value:
                old, new = (f"{what!r:.60}" for what in _difference(begun.get(name), value))
                raise DiscotreeError(
                    f"{self.address} belongs to another job: {name} was {old} and is {new}; choose another folder"
                )

    def _put(self, name: str, content: bytes) -> None:
        filesystem, folder = storage(self.address)
        with appearing(filesystem, f"{folder}/{name}") as stream:
            stream.write(content)

    def _names(self) -> set[str]:
        filesystem, folder = storage(self.address)
        with addressed(self.address):
            return {about.base_name for about in filesystem.get_file_info(fs.FileSelector(folder))}

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One at a time, where there are locks; elsewhere, two of the same job do everything twice."""
        filesystem, folder = storage(self.address)
        if not is_local(filesystem) or sys.platform == "win32":
            yield
            return
        with open(os.path.join(folder, LOCK), "ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DiscotreeError(f"{self.address}: another process is writing to it") from None
            except OSError:  # a file system that has no locks
                pass
            yield


def _difference(old: Any, new: Any) -> tuple[Any, Any]:
    """What to show of two values: of two lists the first entries that differ."""
    if not isinstance(old, list) or not isinstance(new, list):
        return old, new
    pairs = zip([*old, None], [*new, None], strict=False)
    return next(((one, other) for one, other in pairs if one != other), (old, new))
