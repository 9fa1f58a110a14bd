"""Parse large corpora with Ray, on the cores of a machine or on many machines.

    input files → Shard → rows → sentences → parse_each → part-0000000.parquet

The input is text, JSON lines and Parquet on any storage. A shard is a range of rows of a Parquet file, or of bytes of
another file. Ray Data gives shards to workers. A worker writes a shard to a temporary file and renames it when it is
complete. So every row has exactly one row in the output, with a tree or an error, and running the same command again
resumes a job. ``_job.json`` is the job's fingerprint, ``_SUCCESS`` marks a complete job.
"""

import io
import json
import logging
import os
import platform
import re
import secrets
import tempfile
import uuid
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import accumulate, islice, pairwise, tee
from typing import IO, Any, BinaryIO, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import fs, parquet

from discotree.errors import DiscotreeError, InputError, ModelError, TreebankError, first_line, requires_extra, shorten
from discotree.files.jobs import MAX_FINGERPRINT_BYTES, Fingerprint, JobLock
from discotree.files.reading import UNREADABLE, open_compressed, readable
from discotree.files.writing import COMPRESSED, is_archive, overlaps, without_bom
from discotree.models.finding import find, fingerprint
from discotree.parsing.parser import MAX_WORDS, Failure, Parser, parse_each
from discotree.text import read_pretokenised, sentences
from discotree.text.recognition import sample_of
from discotree.treebanks import arrow
from discotree.trees.tree import Tree

JOB, DONE, LOCK, TEMPORARY = "_job.json", "_SUCCESS", "_lock", "_temporary"
ZSTANDARD, JSON_SUFFIXES = ".zst", (".jsonl", ".ndjson", ".json")
PACKED = (*COMPRESSED, ZSTANDARD)
BYTES_PER_ROW = 100  # rough estimate for text
END = 2**62  # beyond the end of any file
MAX_ROW_BYTES = 2**22  # a longer row is an error, and never in memory as a whole
BATCH_ROWS, GROUP_ROWS = 1000, 10_000  # rows of a Parquet file that are decoded and written at a time
MAX_SAMPLED_SHARDS, MAX_SAMPLED_ROWS = 3, 200  # read to recognise the language
MAX_DEATHS = 3  # workers that may die of one shard, each in a round of its own
MAX_LOST_BLOCKS = 100  # shards whose workers die in one round, before the job stops
MAX_ERROR_CHARACTERS, MAX_NAMED_ERRORS = 200, 10  # of one row
MAX_BLOCKS = 10_000  # per dataset: each costs the scheduler some milliseconds
LOOPBACK, LOOPBACK_VARIABLE = "127.0.0.1", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # 0: Ray uses the address as it is

SENTENCE = arrow.schema().append(pa.field(arrow.ERROR, pa.string()))
DOCUMENT = pa.schema(
    [("id", pa.string()), (arrow.SENTENCES, pa.list_(pa.struct(list(SENTENCE)))), (arrow.ERROR, pa.string())]
)

storage_errors = partial(readable, errors=(*UNREADABLE, pa.ArrowException))
Row = tuple[str, object]  # its id, and its content: text (UTF-8 or decoded), a list of words, an error, anything else


class RowError(InputError):
    """A row that cannot be parsed."""


class Shard(NamedTuple):
    """The rows or lines that start in a range of a file. ``name`` is its path without common folders."""

    number: int
    source: str  # the address that the file was found under
    path: str
    name: str
    begin: int
    end: int

    @property
    def output(self) -> str:
        return f"part-{self.number:07}.parquet"


def storage(address: str) -> tuple[Any, str]:
    """Return the file system of a path or of an address such as s3://…, and the path in it."""
    if "://" not in address:
        return fs.LocalFileSystem(), os.path.abspath(address)
    try:
        filesystem, path = fs.FileSystem.from_uri(address)
    except pa.ArrowInvalid:  # not one of pyarrow's own schemes
        try:
            handler, path = import_module("fsspec").core.url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise DiscotreeError(f"{address}: cannot be opened: {error}") from None
        filesystem = fs.PyFileSystem(fs.FSSpecHandler(handler))
    return filesystem, path.rstrip("/")


# Shards


def plan_shards(addresses: Sequence[str], rows: int, column: str) -> tuple[list[list[object]], list[Shard]]:
    """Split files and folders, in their order, into shards of about this many rows.

    Also return path, size and time of every file, for the fingerprint. Addresses are left out: they may hold passwords.
    """
    files = [(address, info) for address in addresses for info in _find_files(address)]
    if not files:
        raise InputError(f"no files in {', '.join(addresses)}")
    with ThreadPoolExecutor(16) as threads:  # they wait for the footers of Parquet files
        row_counts = list(threads.map(lambda file: _count_rows(file[0], file[1], column), files))
    common = os.path.commonpath([os.path.dirname(info.path) for _, info in files])
    shards: list[Shard] = []
    for (source, info), row_count in zip(files, row_counts, strict=True):
        size, step = (info.size, rows * BYTES_PER_ROW) if row_count is None else (row_count, rows)
        cuts = [0, END] if info.path.lower().endswith(PACKED) else [*range(0, size, step), size]
        name = os.path.relpath(info.path, common)
        shards += [Shard(len(shards) + k, source, info.path, name, *cut) for k, cut in enumerate(pairwise(cuts))]
    return [[info.path, info.size, info.mtime_ns] for _, info in files], shards


def _find_files(address: str) -> list[Any]:
    """Return the files at an address; those whose name starts with _ or . are left out."""
    filesystem, path = storage(address)
    with storage_errors(address):
        infos = [filesystem.get_file_info(path)]
        if infos[0].type == fs.FileType.NotFound:
            raise InputError(f"{address}: no such file")
        if infos[0].type == fs.FileType.Directory:
            infos = filesystem.get_file_info(fs.FileSelector(path, recursive=True))
            infos = [info for info in infos if info.is_file and not re.search("/[_.]", info.path[len(path) :])]
    for info in infos:
        if is_archive(info.path):
            raise InputError(f"{info.path}: archives cannot be split; unpack it ({', '.join(PACKED)} are fine)")
    return sorted(infos, key=lambda info: str(info.path))


def _count_rows(address: str, info: Any, column: str) -> int | None:
    """Return the number of rows of a Parquet file, None for other files."""
    if not info.path.lower().endswith(".parquet"):
        return None
    with storage_errors(info.path), storage(address)[0].open_input_file(info.path) as stream:
        table = parquet.read_metadata(stream)
    names = table.schema.to_arrow_schema().names
    if column not in names:
        raise InputError(f"{info.path}: no column {column!r}; it has {', '.join(sorted(names)):.200}")
    return int(table.num_rows)


def check_output(addresses: Sequence[str], output: str) -> None:
    """Refuse an output inside the input, where the next run would read it."""
    for address in addresses:
        is_local = "://" not in address and "://" not in output
        if f"{storage(output)[1]}/".startswith(f"{storage(address)[1]}/") or (is_local and overlaps(output, address)):
            raise InputError(f"{output}: lies inside the input {address}; choose another folder")


def sample_text(shards: Iterable[Shard], column: str, id_column: str) -> str:
    """Return the beginning of the input, to recognise its language."""
    texts = []
    for shard in islice(shards, MAX_SAMPLED_SHARDS):
        with suppress(DiscotreeError, OSError):  # reported when the shard is parsed
            for _, content in islice(read_rows(shard, column, id_column), MAX_SAMPLED_ROWS):
                texts.append(" ".join(map(_decode, content if isinstance(content, list) else [content])))
    return sample_of(texts)


# Rows


def read_rows(shard: Shard, column: str, id_column: str) -> Iterator[Row]:
    """Yield all rows of a shard. A row without an id is named after its file and its offset or number there."""
    path = shard.path.lower()
    with storage_errors(shard.path), storage(shard.source)[0].open_input_file(shard.path) as raw:
        if path.endswith(".parquet"):
            yield from _read_parquet(raw, shard, column, id_column)
            return
        if path.endswith(ZSTANDARD):
            raw = pa.CompressedInputStream(raw, "zstd")
        stream = open_compressed(raw, path) if path.endswith(tuple(COMPRESSED)) else io.BufferedReader(raw)
        is_json = (os.path.splitext(path)[0] if path.endswith(PACKED) else path).endswith(JSON_SUFFIXES)
        for offset, line in read_lines(stream, shard.begin, shard.end):
            row = f"{shard.name}:{offset}", line
            yield _parse_json(*row, column, id_column) if is_json else row


def read_lines(stream: BinaryIO, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that start in a range of bytes, without their line ends, each with its offset.

    A line of more than MAX_ROW_BYTES is cut, but still longer than that.
    """
    offset, is_ours = max(begin - 1, 0), not begin
    if begin:  # the byte before the range shows whether a line starts with it
        stream.seek(offset)
    while offset < end and (line := stream.readline(MAX_ROW_BYTES + 5)):  # a byte too many, byte order mark, CR and LF
        part, length = line, len(line)
        while part and not part.endswith(b"\n") and (is_ours or offset + length < end):
            part = stream.readline(MAX_ROW_BYTES)
            length += len(part)
        if is_ours:
            yield offset, (line if offset else without_bom(line)).removesuffix(b"\n").removesuffix(b"\r")
        is_ours = True
        offset += length


def _parse_json(id: str, line: bytes, column: str, id_column: str) -> Row:
    if len(line) > MAX_ROW_BYTES:
        return id, line
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return id, RowError(f"invalid JSON: {error}")
    if not isinstance(record, dict):
        return id, RowError(f"expected a JSON object, got {json.dumps(record):.40}")
    return _id_text(record.get(id_column), id), record.get(column, RowError(f"no key {column!r}"))


def _read_parquet(raw: Any, shard: Shard, column: str, id_column: str) -> Iterator[Row]:
    """Yield rows of a Parquet file; only the row groups that contain them are read."""
    file = parquet.ParquetFile(raw)
    ends = [0, *accumulate(file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups))]
    if ends[-1] < shard.end:
        raise TreebankError("has fewer rows than when the job started", shard.path)
    groups = [k for k, (first, last) in enumerate(pairwise(ends)) if first < shard.end and last > shard.begin]
    columns = [name for name in (column, id_column) if name in file.schema_arrow.names]
    position = ends[groups[0]]
    for batch in file.iter_batches(BATCH_ROWS, row_groups=groups, columns=columns, use_threads=False):
        first = min(max(shard.begin - position, 0), batch.num_rows)
        part = batch.slice(first, max(0, shard.end - position - first))
        contents = _values(part.column(column))
        ids = _values(part.column(id_column)) if id_column in columns else [None] * part.num_rows
        for number, (content, id) in enumerate(zip(contents, ids, strict=True), position + first):
            yield _id_text(id, f"{shard.name}:{number}"), content
        position += batch.num_rows


def _values(column: Any) -> list[Any]:
    """Return the values of a column, texts as bytes, since a file may declare UTF-8 and contain something else."""
    for kind in (pa.large_binary(), pa.large_list(pa.large_binary())):
        with suppress(pa.ArrowException):
            return list(column.cast(kind).to_pylist())
    return list(column.to_pylist())


def _id_text(value: object, default: str) -> str:
    if value in (None, "", b""):
        return default
    text = value if isinstance(value, str | bytes) else json.dumps(value, ensure_ascii=False, default=str)
    return (text.encode("utf-8", "replace") if isinstance(text, str) else text).decode("utf-8", "replace")


def split_row(content: object, kind: str, language: str) -> list[list[str]]:
    """Return the sentences of a row, one unless rows are texts; raise a RowError if there are none."""
    if isinstance(content, RowError):
        raise content
    if kind == "tokens" and isinstance(content, list):
        split = [[_decode(word, "a word") for word in content]]
        if "" in split[0]:
            raise RowError("a word is empty")
    else:
        text = _decode(content)
        words = read_pretokenised(text) if kind == "tokens" else sentences(text, language, lines=kind == "lines")
        split = [[word.form for word in sentence] for sentence in words]
        split = split if kind == "text" else [[form for forms in split for form in forms]]
    split = [words for words in split if words]
    if not split:
        raise RowError("the row has no words")
    if (longest := max(map(len, split))) > MAX_WORDS:
        raise RowError(f"a sentence has {longest:,} words, expected at most {MAX_WORDS:,}")
    return split


def _decode(content: object, expected: str = "text") -> str:
    if not isinstance(content, str | bytes):
        raise RowError(f"expected {expected}, got {json.dumps(content, default=str):.40}")
    if len(content) > MAX_ROW_BYTES:
        raise RowError(f"the row has more than {MAX_ROW_BYTES:,} bytes")
    try:
        return (content.encode() if isinstance(content, str) else content).decode()
    except UnicodeError as error:
        raise RowError(f"not valid UTF-8: {error}") from None


# Jobs


@dataclass(frozen=True)
class BulkJob:
    """Everything that a worker needs to know to parse any shard, and the output folder."""

    model: str
    checksum: str  # every machine must have the same model
    kind: str  # of rows: lines, tokens or text
    column: str
    id_column: str
    output: str

    @contextmanager
    def start(self, settings: Mapping[str, object]) -> Iterator[None]:
        """Start or resume a job; refuse the folder of another job, and one that another process is writing to."""
        filesystem, folder = storage(self.output)
        with storage_errors(self.output, "written"):
            filesystem.create_dir(folder, recursive=True)
        is_local = isinstance(filesystem, fs.LocalFileSystem)  # remote storage has no locks
        with JobLock(os.path.join(folder, LOCK), self.output) if is_local else nullcontext():
            names, current = self.names() - {LOCK, TEMPORARY}, Fingerprint(settings)
            if JOB in names:
                with storage_errors(self.output), filesystem.open_input_stream(f"{folder}/{JOB}") as stream:
                    raw = stream.read(MAX_FINGERPRINT_BYTES)
                try:
                    current.check(self.output, Fingerprint.from_json(raw), "choose another folder")
                except ValueError as error:
                    raise TreebankError(f"{error}; choose another folder", f"{self.output}/{JOB}") from None
            elif names:
                raise DiscotreeError(f"{self.output}: the folder is not empty ({min(names)}) and has no {JOB}")
            try:
                with storage_errors(self.output, "written"):
                    filesystem.create_dir(f"{folder}/{TEMPORARY}")
                    if JOB not in names:
                        self.write(JOB, current.to_json(indent=1))
                    if DONE in names:
                        filesystem.delete_file(f"{folder}/{DONE}")
                yield
            finally:
                with suppress(OSError):
                    filesystem.delete_dir(f"{folder}/{TEMPORARY}")

    def names(self) -> set[str]:
        filesystem, folder = storage(self.output)
        with storage_errors(self.output):
            return {info.base_name for info in filesystem.get_file_info(fs.FileSelector(folder))}

    def missing(self, shards: Sequence[Shard]) -> list[Shard]:
        """Return the shards that are not written yet."""
        names = self.names()
        return [shard for shard in shards if shard.output not in names]

    def write(self, name: str, content: bytes) -> None:
        with self.writable(name) as stream:
            stream.write(content)

    @contextmanager
    def writable(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file for writing that appears under its name when it is complete."""
        filesystem, folder = storage(self.output)
        temporary = f"{folder}/{TEMPORARY}/{name}.{uuid.uuid4().hex[:8]}"
        with storage_errors(f"{self.output}/{name}", "written"):
            with filesystem.open_output_stream(temporary) as stream:
                yield stream
            if isinstance(filesystem, fs.LocalFileSystem):
                with open(temporary, "rb") as file:
                    os.fsync(file.fileno())
            filesystem.move(temporary, f"{folder}/{name}")


# Workers


class ShardWorker:
    """A parser that works on shards, one after the other; an actor of Ray Data."""

    def __init__(self, job: BulkJob, device: str | None = None, threads: int | None = None) -> None:
        self.job = job
        folder = find(job.model)
        if fingerprint(folder) != job.checksum:
            raise ModelError(f"the model {job.model!r} on {platform.node()} differs from that of the job")
        self.parser = Parser.from_pretrained(folder, device, threads=threads)
        self.language = self.parser.config.language
        if job.kind != "tokens" and not self.language:
            raise InputError("this model cannot tokenise raw text; pass --from tokens")
        if self.parser.has_tags:
            raise InputError("this model reads tags, which the rows do not have; choose another model")

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Write the shard with these fields; return its counts, or a problem, which concerns this shard alone."""
        shard, schema = Shard(**row), DOCUMENT if self.job.kind == "text" else SENTENCE
        rows, counts = self.parse_rows(shard), {"rows": 0, "sentences": 0, "errors": 0}
        options = {"compression": arrow.COMPRESSION, "write_page_checksum": True}
        try:
            with (
                self.job.writable(shard.output) as stream,
                parquet.ParquetWriter(stream, schema, **options) as writer,
            ):
                while group := list(islice(rows, GROUP_ROWS)):
                    writer.write_batch(pa.RecordBatch.from_pylist(group, schema))
                    counts["rows"] += len(group)
                    counts["errors"] += sum(row["error"] is not None for row in group)
                    counts["sentences"] += sum("words" in each for row in group for each in row.get("sentences", [row]))
        except Exception as error:
            return {"number": shard.number, "problem": f"{shard.output}: {_reason(error)}", **dict.fromkeys(counts, 0)}
        return {"number": shard.number, "problem": "", **counts}

    def parse_rows(self, shard: Shard) -> Iterator[dict[str, Any]]:
        """Yield the output of every row of a shard, in their order; sentences of several rows are parsed together."""
        rows, same_rows = tee(self._split_rows(shard))
        outcomes = parse_each(self.parser, (words for _, split, _ in rows for words in split))
        for id, split, problem in same_rows:
            if self.job.kind != "text":
                yield to_row(id, problem or next(outcomes))
                continue
            trees = [to_row(f"{id}/{k}", outcome) for k, outcome in enumerate(islice(outcomes, len(split)), 1)]
            errors = [f"sentence {k}: {tree['error']}" for k, tree in enumerate(trees, 1) if tree["error"]]
            error = _reason(problem.error) if problem else "; ".join(errors[:MAX_NAMED_ERRORS]) or None
            yield {"id": id, "sentences": trees, "error": error}

    def _split_rows(self, shard: Shard) -> Iterator[tuple[str, list[list[str]], Failure | None]]:
        """Yield the id and the sentences of every row, or no sentences and the error of the row."""
        for id, content in read_rows(shard, self.job.column, self.job.id_column):
            try:
                yield id, split_row(content, self.job.kind, self.language), None
            except RowError as error:
                yield id, [], Failure(error)


def to_row(id: str, outcome: Tree | Failure) -> dict[str, Any]:
    """Return the columns of a tree, which are null if there is an error instead."""
    if isinstance(outcome, Failure):
        return {"id": id, "error": _reason(outcome.error)}
    return arrow.to_row(outcome) | {"id": id, "error": None}


def _reason(error: Exception) -> str:
    return shorten(first_line(error), MAX_ERROR_CHARACTERS)


# Ray


def parse_on_ray(
    job: BulkJob, shards: Sequence[Shard], address: str = "", workers: int | None = None, gpus: float | None = None
) -> Generator[dict[str, Any], None, None]:
    """Parse shards on a Ray cluster or, without an address, on this machine; yield their counts as they arrive.

    ``workers`` defaults to as many as fit, ``gpus`` (per worker) to one if there are any.
    """
    missing = {shard.number: shard._asdict() for shard in shards}
    with _connect(address, workers) as ray:
        data = import_module("ray.data")
        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        context.max_errored_blocks = MAX_LOST_BLOCKS
        for _ in range(MAX_DEATHS):
            resources = ray.cluster_resources()
            gpus = float(resources.get("GPU", 0) > 0) if gpus is None else gpus
            room = int(resources.get("GPU", 0) / gpus if gpus else resources.get("CPU", 0))
            if room < 1 and not address:
                raise DiscotreeError(f"this machine has no room for a worker with {gpus:g} GPUs; pass a smaller --gpus")
            size = max(1, min(room if workers is None else workers, len(missing)))
            rows = data.from_items(list(missing.values()), override_num_blocks=min(len(missing), MAX_BLOCKS))
            outcomes = rows.map(
                ShardWorker,
                fn_constructor_args=(job, "cuda" if gpus else "cpu", 1),
                compute=data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=1),
                max_restarts=-1,
                max_task_retries=0,  # the next round tries again
                **({"num_gpus": gpus} if gpus else {"num_cpus": 1}),
            )
            try:
                for outcome in outcomes.iter_rows():
                    del missing[outcome["number"]]
                    yield outcome
            except ray.exceptions.RayError as error:
                raise DiscotreeError(f"a worker failed: {str(error).strip().splitlines()[-1]}") from None
            if not missing:
                return


@contextmanager
def _connect(address: str, workers: int | None) -> Iterator[Any]:
    """Connect to a cluster. Without an address, start one that ends with the block.

    It cannot be reached from other machines, nor by other users without its token. Ray reads some environment variables
    when it is imported; those that the user has set stay.
    """
    variables = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        if not address:
            variables |= {LOOPBACK_VARIABLE: "0", "RAY_AUTH_MODE": "token"}
            if "RAY_AUTH_TOKEN_PATH" not in os.environ:
                variables["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
            options |= {"_temp_dir": folder, "_node_ip_address": LOOPBACK, "include_dashboard": False}
            options |= {"num_cpus": workers, "object_store_memory": 2**27}  # there may be more workers than cores
        for name, value in variables.items():
            os.environ.setdefault(name, value)
        with requires_extra("ray"):
            ray = import_module("ray")
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        try:
            ray.init(address or "local", **options)
        except (OSError, RuntimeError, ValueError) as error:
            raise DiscotreeError(f"Ray: {error}") from None
        try:
            yield ray
        finally:
            ray.shutdown()
