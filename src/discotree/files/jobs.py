"""Resumable jobs: commands that can be killed at any moment and that continue when they are run again.

A resumable job has four parts. Every command that can be resumed takes them from here:

* A *fingerprint* holds the settings and inputs that must agree when a job is resumed. It is stored before any output.
  ``Fingerprint.check`` names the first difference; ``Fingerprint.claim`` stores it in a folder or compares it.
* A *lock* lets one process at a time write an output. The operating system releases it when the process ends.
* A *journal* is a file of JSON lines that only grows. A line is on the disk when ``Journal.append`` returns.
* *Atomic output*: ``writable`` and ``write_bytes`` of ``files/writing.py`` create a file under its name when it is
  complete. Whatever a killed process was writing has a name that ends in ``.tmp`` and is removed by the next process.

A job that fills a folder, one file at a time, needs no journal, because the files show what is done:

    with JobLock(folder / ".lock", folder):
        Fingerprint({"model": checksum, "text": names}).claim(folder / "job.json", "choose another folder")
        for name in missing(folder):
            write_bytes(folder / name, compute(name))

Files that discotree did not write are never changed: links, and files whose content is not that of a lock or journal,
are refused (``is_own_file``).
"""

import errno
import json
import os
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from discotree.errors import DiscotreeError, TreebankError, shorten
from discotree.files.writing import write_bytes
from discotree.version import __version__

VERSION = "discotree"  # key of the version in the first line of every journal
MAX_VALUE_CHARACTERS = 60  # longer values are shortened in messages
MAX_FINGERPRINT_BYTES = 2**28  # enough for the names of a million files
MAX_LINE_BYTES = 2**26
BLOCK_BYTES = 2**15
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows has no such flag

StrPath = str | os.PathLike[str]


class Fingerprint:
    """The settings and inputs of a job. A run resumes an output only if all of them agree."""

    def __init__(self, settings: Mapping[str, object]) -> None:
        self.settings: dict[str, Any] = json.loads(json.dumps(settings))  # tuples become lists, as in a file

    @classmethod
    def from_json(cls, raw: bytes) -> "Fingerprint":
        """Read a fingerprint; raise a ValueError if ``raw`` is not one."""
        try:
            settings = json.loads(raw)
        except (ValueError, RecursionError):
            settings = None
        if not isinstance(settings, dict):
            raise ValueError("expected a JSON object with the settings of a job")
        return cls(settings)

    def to_json(self, indent: int | None = None) -> bytes:
        return json.dumps(self.settings, indent=indent).encode() + b"\n"

    def check(self, output: StrPath, earlier: "Fingerprint", remedy: str) -> None:
        """Raise an error unless the job that began an output agrees in all settings of this one."""
        for name, value in self.settings.items():
            if earlier.settings.get(name) != value:
                values = _first_difference(earlier.settings.get(name), value)
                old, new = (shorten(repr(one), MAX_VALUE_CHARACTERS, "…") for one in values)
                settings = f"different settings: {name} was {old}, now {new}"
                if name == "model":  # its value is a checksum
                    settings = "another model"
                raise DiscotreeError(f"{os.fspath(output)} was started with {settings}; {remedy}")

    def claim(self, path: Path, remedy: str) -> None:
        """Store the fingerprint in a new file, or compare it with that of an earlier run."""
        if not is_own_file(path, "the description of a job"):
            write_bytes(path, self.to_json(indent=1))
            return
        try:
            with open_no_follow(path, "rb") as file:
                earlier = Fingerprint.from_json(file.read(MAX_FINGERPRINT_BYTES))
        except (OSError, ValueError) as error:
            raise DiscotreeError(f"{path}: cannot read the settings of the earlier run: {error}; {remedy}") from None
        self.check(path.parent, earlier, remedy)


def _first_difference(old: Any, new: Any) -> tuple[Any, Any]:
    """Return two values, or the first entries that differ if both are lists."""
    if not isinstance(old, list) or not isinstance(new, list):
        return old, new
    pairs = zip([*old, None], [*new, None], strict=False)
    return next(((one, other) for one, other in pairs if one != other), (old, new))


# Files that may belong to somebody else


def name_conflict(path: StrPath, kind: str) -> DiscotreeError:
    """Return the error for a file that exists and was not written by discotree."""
    return DiscotreeError(
        f"{os.fspath(path)} exists and is not {kind} written by discotree; move it away, or choose another output"
    )


def is_own_file(path: StrPath, kind: str) -> bool:
    """Return whether a file exists; refuse symlinks, hard links and anything that is not a regular file."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        raise name_conflict(path, kind)
    return True


def open_no_follow(path: StrPath, mode: str) -> BinaryIO:
    """Open a file without a buffer; fail if it is a symlink."""
    return cast(BinaryIO, open(path, mode, 0, opener=lambda name, flags: os.open(name, flags | NOFOLLOW, 0o666)))


class JobLock:
    """Lets only this process write an output, until ``release``, the end of the block or of the process.

    ``path`` is the lock file, in a folder that exists; ``output`` is the name to show in messages.
    """

    def __init__(self, path: StrPath, output: StrPath) -> None:
        from filelock import FileLock, Timeout

        if is_own_file(path, "a lock") and os.path.getsize(path):
            raise name_conflict(path, "a lock")
        if not os.path.isdir(os.path.dirname(path) or os.curdir):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)  # filelock would make the folder
        self.file = FileLock(path)
        try:
            self.file.acquire(timeout=0)
        except Timeout:
            raise DiscotreeError(f"{os.fspath(output)}: another process is writing to it") from None

    def release(self) -> None:
        """Release the lock and remove its file."""
        with suppress(OSError):  # Windows removes it on release
            os.unlink(self.file.lock_file)
        self.file.release()

    def __enter__(self) -> "JobLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Journal:
    """An append-only file of JSON objects, one per line. The first line, the head, says what the file is.

    A crash can tear the end of the file. Lines after the last intact one were never confirmed to anybody, so they are
    cut off. A damaged line before an intact one is an error. A journal appears with its head complete.
    """

    def __init__(
        self,
        path: StrPath,
        kind: str,
        head: Mapping[str, object] | None = None,
        *,
        name: str = "",
        remedy: str = "restore the file from a copy",
        read_only: bool = False,
    ) -> None:
        """Open a journal, or create one with this head. Messages contain ``kind``, ``name`` and the ``remedy``."""
        self.path = os.fspath(path)
        self.kind = kind
        self.name = name or self.path
        self.remedy = remedy
        self.read_only = read_only
        self.mutex = threading.Lock()
        if not is_own_file(self.path, kind):
            if head is None:
                raise TreebankError("no such file", self.name)
            self._create(head)
        self._open()

    def _create(self, head: Mapping[str, object]) -> None:
        write_bytes(self.path, self._encode({VERSION: __version__, **head}))

    def _open(self) -> None:
        self.file = open_no_follow(self.path, "rb" if self.read_only else "r+b")
        self.length = os.fstat(self.file.fileno()).st_size
        with open(self.file.fileno(), "rb", closefd=False) as buffered:
            line = buffered.readline(MAX_FINGERPRINT_BYTES)
        try:
            self.head = parse_head(line)
        except ValueError:
            self.file.close()
            raise name_conflict(self.name, self.kind) from None
        self.start = len(line)

    def restart(self, head: Mapping[str, object]) -> None:
        """Replace the journal by an empty one with a new head."""
        self.file.close()
        self._create(head)
        self._open()

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the intact lines after the head with their offsets; then cut off a torn end."""
        torn_offset = torn_number = 0  # the first damaged line
        number = 1
        with open(self.path, "rb") as file:
            offset = file.seek(self.start)
            line = self._line(file)
            while line:
                number += 1
                following = self._line(file)
                if not (following and self._is_surely_intact(line)) and not _is_object(line):
                    if not torn_offset:
                        torn_offset, torn_number = offset, number
                elif torn_offset:
                    raise self.damaged(torn_number)
                else:
                    yield offset, line
                offset += len(line)
                line = following
        self.torn_bytes = offset - (torn_offset or offset)
        self.length = torn_offset or offset
        if self.torn_bytes and not self.read_only:
            self.truncate(self.length)

    def _encode(self, entry: Mapping[str, object]) -> bytes:
        return json.dumps(entry).encode() + b"\n"

    def _line(self, file: BinaryIO) -> bytes:
        """Read a line up to the length that the file had when it was opened: another process may be appending."""
        return file.readline(max(min(MAX_LINE_BYTES, self.length - file.tell()), 0))

    def _is_surely_intact(self, line: bytes) -> bool:  # noqa: ARG002
        """Return whether a line before the last one need not be parsed to see that it is intact."""
        return False

    def damaged(self, line: int) -> TreebankError:
        """Return the error for a damaged line that intact ones follow."""
        return TreebankError(f"corrupt journal entry; {self.remedy}", self.name, line)

    def append(self, entries: Sequence[Mapping[str, Any]]) -> list[int]:
        """Write lines and return their offsets when they are on the disk; an OSError leaves the file as it was."""
        lines = [self._encode(entry) for entry in entries]
        with self.mutex:
            offset, offsets = self.length, []
            for line in lines:
                offsets.append(offset)
                offset += len(line)
            try:
                self.file.seek(self.length)
                self.file.truncate()  # an earlier failure may have left part of a line
                write_all(self.file, b"".join(lines))
            except OSError:
                with suppress(OSError):
                    self.file.truncate(self.length)
                raise
            self.length = offset
            return offsets

    def entry(self, offset: int) -> dict[str, Any]:
        """Return the entry at an offset."""
        with self.mutex:
            self.file.seek(offset)
            data = block = self.file.read(BLOCK_BYTES)  # readline would make a system call for every byte
            while block and b"\n" not in block:
                block = self.file.read(BLOCK_BYTES)
                data += block
        try:
            entry = json.loads(data.partition(b"\n")[0])
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict):
            raise TreebankError(f"corrupt journal entry at byte {offset:,}; {self.remedy}", self.name)
        return entry

    def truncate(self, length: int) -> None:
        """Remove the lines from an offset on."""
        self.file.truncate(length)
        os.fsync(self.file.fileno())
        self.length = length

    def close(self) -> None:
        self.file.close()

    def remove(self) -> None:
        """Close and delete the journal of a job that is complete."""
        self.file.close()
        os.unlink(self.path)


def parse_head(line: bytes) -> dict[str, Any]:
    """Return the head of a journal; raise a ValueError if the line is not one."""
    head = Fingerprint.from_json(line).settings
    if VERSION not in head or not line.endswith(b"\n"):
        raise ValueError("not the first line of a journal")
    return head


def _is_object(line: bytes) -> bool:
    """Return whether a line is complete and holds a JSON object."""
    try:
        return line.endswith(b"}\n") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def write_all(file: BinaryIO, data: bytes) -> None:
    """Write data to an unbuffered file; return when it is on the disk."""
    while data:
        data = data[file.write(data) :]
    os.fsync(file.fileno())
