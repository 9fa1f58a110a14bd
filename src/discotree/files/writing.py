"""Files that appear under their names when they are complete.

Output is written under a temporary name and renamed, so that a crash, a full disk or a second process leaves either
the old file or the new one.
"""

import io
import os
import stat
import sys
import uuid
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from discotree.errors import TreebankError, printable
from discotree.files.names import COMPRESSED, STANDARD_STREAM


def overlaps(output: str, source: str) -> bool:
    """Return whether writing an output changes a source: the same file under any name, or one in a source folder."""
    read, written = _status(source, sys.stdin), _status(output, sys.stdout)
    if read is None:
        return False
    is_file = written is not None and stat.S_ISREG(written.st_mode)
    if not stat.S_ISDIR(read.st_mode):
        return written is not None and is_file and os.path.samestat(written, read)
    folder, target = os.path.realpath(source), os.path.realpath(output)
    if output != STANDARD_STREAM and os.path.commonpath([folder, target]) == folder:
        return True
    inside = (_status(str(path)) for path in Path(source).rglob("*")) if is_file else ()
    return any(other is not None and written is not None and os.path.samestat(written, other) for other in inside)


def _status(path: str, standard: IO[str] | None = None) -> os.stat_result | None:
    """Return what the system knows of a file or of a standard stream, if there is one."""
    try:
        return os.fstat(standard.fileno()) if path == STANDARD_STREAM and standard else os.stat(path)
    except (OSError, ValueError):
        return None


class TerminalStream(io.RawIOBase):
    """A terminal to write UTF-8 to; control characters in the data do not reach it."""

    def __init__(self, terminal: BinaryIO) -> None:
        self.terminal = terminal
        self.decoder = getincrementaldecoder("utf-8")("replace")

    def write(self, data: Any) -> int:
        self.terminal.write(printable(self.decoder.decode(data)).encode())
        return len(data)


@contextmanager
def writable(path: str) -> Iterator[BinaryIO]:
    """Open a file for writing. A regular file appears under its name only when all of it is written."""
    try:
        with _writable(path) as stream:
            yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        raise TreebankError(f"cannot be written: {error.strerror or error}", path) from None


@contextmanager
def _writable(path: str) -> Iterator[BinaryIO]:
    if path == STANDARD_STREAM:
        yield cast(BinaryIO, TerminalStream(sys.stdout.buffer) if sys.stdout.isatty() else sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device: it cannot be replaced
        with open(target, "wb") as raw, _compressing(raw, path) as stream:
            yield stream
        return
    temporary = f"{target}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        with open(temporary, "xb") as raw:
            with _compressing(raw, path) as stream:
                yield stream
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, target)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


@contextmanager
def _compressing(raw: BinaryIO, name: str) -> Iterator[BinaryIO]:
    for suffix, opener in COMPRESSED.items():
        if name.lower().endswith(suffix):
            with opener(raw, "wb") as stream:
                yield cast(BinaryIO, stream)
            return
    yield raw
