"""The output: a folder of shards, each of which is there entirely or not at all.

``_job.json`` says which job the folder belongs to, ``_SUCCESS`` that all shards are there. Programs that read a folder
of Parquet files leave out names that begin with an underscore. A worker that dies leaves a file that ends in ``.tmp``.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import fs, parquet

from discotree.errors import DiscotreeError, TreebankError
from discotree.integrations.bulk.plan import Shard
from discotree.integrations.bulk.records import ParsedRow, schema, to_batch, to_record
from discotree.integrations.bulk.storage import UNFINISHED, addressed, appearing, is_local, storage
from discotree.parsing.output_job import MAX_IDENTITY_BYTES, JobIdentity, lock_output, unlock_output
from discotree.treebanks.json_lines import json_line
from discotree.treebanks.parquet import COMPRESSION

ShardFormat = Literal["parquet", "json"]
SUFFIXES: dict[ShardFormat, str] = {"parquet": "parquet", "json": "jsonl"}
JOB, DONE, LOCK, BEGUN = "_job.json", "_SUCCESS", "_lock", "_begun"
OWN_UNFINISHED = re.compile(rf"({JOB}|{DONE}|part-[0-9]+\.({'|'.join(SUFFIXES.values())}))\.[0-9a-f]{{8}}\{UNFINISHED}")
BATCH_ROWS = 500  # rows that are columns of Python objects at a time
GROUP_ROWS = 10_000  # rows of a row group, which are in memory as Arrow columns


@dataclass(frozen=True)
class ShardFolder:
    """The folder, and how its shards are written. With ``documents``, a row holds any number of sentences."""

    address: str
    format: ShardFormat
    documents: bool

    def name(self, shard: Shard) -> str:
        return f"part-{shard.number:07}.{SUFFIXES[self.format]}"

    def write(self, shard: Shard, rows: Iterable[ParsedRow]) -> None:
        """Write a shard, which appears when all rows are written."""
        filesystem, folder = storage(self.address)
        with appearing(filesystem, f"{folder}/{self.name(shard)}") as stream:
            if self.format == "json":
                for row in rows:
                    stream.write(json_line(to_record(row, self.documents)).encode())
                return
            columns = schema(self.documents)
            with parquet.ParquetWriter(stream, columns, compression=COMPRESSION, write_page_checksum=True) as writer:
                batches = self._batches(rows)
                while group := list(islice(batches, GROUP_ROWS // BATCH_ROWS)):
                    writer.write_table(pa.Table.from_batches(group))

    def _batches(self, rows: Iterable[ParsedRow]) -> Iterator[Any]:
        source = iter(rows)
        while some := list(islice(source, BATCH_ROWS)):
            yield to_batch(some, self.documents)

    @contextmanager
    def attempt(self, shard: Shard) -> Iterator[int]:
        """Note that a worker is on a shard while the block runs; give the number of workers that have died of it."""
        filesystem, folder = storage(self.address)
        note = f"{folder}/{BEGUN}/{self.name(shard)}"
        deaths = 0
        if filesystem.get_file_info(note).is_file:
            with filesystem.open_input_stream(note) as stream:
                deaths = len(stream.read())
        with filesystem.open_output_stream(note) as stream:
            stream.write(b"." * (deaths + 1))
        try:
            yield deaths
        finally:
            with suppress(FileNotFoundError):  # another worker may have been on it, too
                filesystem.delete_file(note)

    def is_there(self, shard: Shard) -> bool:
        filesystem, folder = storage(self.address)
        return bool(filesystem.get_file_info(f"{folder}/{self.name(shard)}").is_file)

    def missing(self, shards: Sequence[Shard]) -> list[Shard]:
        """Return the shards that are still to be written."""
        there = self._names()
        return [shard for shard in shards if self.name(shard) not in there]

    @contextmanager
    def begun(self, job: Mapping[str, object]) -> Iterator[None]:
        """Begin or resume a job; refuse the folder of another job, and one that another process is writing."""
        filesystem, folder = storage(self.address)
        with addressed(self.address, "written"):
            filesystem.create_dir(folder, recursive=True)
        names = {name for name in self._names() if not OWN_UNFINISHED.fullmatch(name)}
        if JOB not in names and names - {LOCK}:
            raise DiscotreeError(f"{self.address}: the folder is not empty ({min(names)}) and holds no job of ours")
        with self._locked():
            self._check(JobIdentity.of(job))
            with addressed(self.address, "written"):
                self._tidy()
                filesystem.create_dir(f"{folder}/{BEGUN}")
            yield

    def finish(self) -> None:
        """Mark the job as complete."""
        self._tidy()
        self._put(DONE, b"")

    def _tidy(self) -> None:
        """Remove what dead workers have left behind, and a mark that may no longer be true."""
        filesystem, folder = storage(self.address)
        names = self._names()
        if BEGUN in names:
            filesystem.delete_dir(f"{folder}/{BEGUN}")
        for name in names:
            if OWN_UNFINISHED.fullmatch(name) or name == DONE:
                filesystem.delete_file(f"{folder}/{name}")

    def _check(self, identity: JobIdentity) -> None:
        if JOB not in self._names():
            self._put(JOB, identity.to_json(indent=1))
            return
        filesystem, folder = storage(self.address)
        try:
            with addressed(self.address), filesystem.open_input_stream(f"{folder}/{JOB}") as stream:
                begun = JobIdentity.from_json(stream.read(MAX_IDENTITY_BYTES))
        except ValueError as error:
            raise TreebankError(f"{error}; choose another folder", f"{self.address}/{JOB}") from None
        identity.check(self.address, begun, "choose another folder")

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
        """Keep other processes away. Remote storage has no locks: there, a second process does everything twice."""
        filesystem, folder = storage(self.address)
        if not is_local(filesystem):
            yield
            return
        lock = lock_output(os.path.join(folder, LOCK), self.address)
        try:
            yield
        finally:
            unlock_output(lock)
