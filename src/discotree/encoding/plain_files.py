"""Small files that strangers wrote: read whole, but never a device, a pipe, or more bytes than make sense."""

import os
import stat
from pathlib import Path


def read_plain(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Return the content of a plain file, or of one that a link leads to; all else is an OSError."""
    check_plain(path, max_bytes)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        _check(os.fstat(file.fileno()), max_bytes)  # it may have been replaced since
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(f"more than {max_bytes:,} bytes")
    return content


def check_plain(path: str | os.PathLike[str], max_bytes: int | None = None) -> None:
    """Raise an OSError unless there is a plain file of at most so many bytes; nothing is opened."""
    _check(Path(path).stat(), max_bytes)


def _check(status: os.stat_result, max_bytes: int | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError("not a plain file")
    if max_bytes is not None and status.st_size > max_bytes:
        raise OSError(f"{status.st_size:,} bytes, expected at most {max_bytes:,}")
