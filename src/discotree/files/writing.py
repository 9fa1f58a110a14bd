"""Names of files, their encodings, and output that appears under its name when it is complete.

Output is written under a temporary name and renamed, so that a crash, a full disk or a second process leaves either
the old file or the new one. A process locks its temporary files and folders. Those that a killed process left behind
are not locked, and the next process that writes the same file, or needs a temporary folder, removes them.
"""

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import stat
import sys
import time
import uuid
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from html import escape
from pathlib import Path, PurePosixPath
from typing import IO, Any, AnyStr, BinaryIO, cast

from discotree.errors import TreebankError, printable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

STANDARD_STREAM = "-"
COMPRESSED: dict[str, Callable[[Any, Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")
ASCII = "".join(map(chr, (9, 10, *range(32, 127))))
MAX_DIGITS = 4000  # Python refuses to make an integer of more
SECONDS_TO_LOCK = 2  # in which a process locks a new file, and renames it after closing it
_TEMPORARY = re.compile(r"(.+)\.[0-9a-f]{8}\.tmp", re.DOTALL)


# Text


def without_bom(beginning: AnyStr) -> AnyStr:
    """Return the beginning of a file without its byte order mark."""
    if isinstance(beginning, str):
        return beginning.removeprefix(BOM_UTF8.decode())
    return beginning.removeprefix(BOM_UTF8)


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a small file in UTF-8, with or without a byte order mark."""
    return without_bom(Path(path).read_text("utf-8"))


def is_encoding(name: str) -> bool:
    """Return whether text can be written in it, piece by piece, and read again.

    Python also knows codecs that encode no text, such as rot13, or only names of hosts, such as idna.
    """
    try:
        encode = codecs.getincrementalencoder(name)().encode
        return b"".join([encode(ASCII), encode(ASCII, True)]).decode(name) == ASCII * 2
    except (LookupError, ValueError, TypeError, OSError):  # a UnicodeError is a ValueError
        return False


def keeps_ascii(name: str) -> bool:
    """Return whether ASCII is the same bytes in this encoding, as in UTF-8 and Latin-1; in UTF-16 it is not."""
    return without_bom(ASCII.encode(name)) == ASCII.encode("ascii")


# Names


def base_name(name: str) -> str:
    """Return a file's name without its folders and the suffix that says how it is compressed."""
    base = PurePosixPath(name).name
    for suffix in COMPRESSED:
        if base.lower().endswith(suffix):
            return base[: -len(suffix)]
    return base


def other_file(path: str, suffix: str, other: str) -> str:
    """Return the name with ``other`` instead of ``suffix``, or an empty string for names with a different suffix."""
    pattern = rf"(?i)\.{suffix}((?:\.gz|\.bz2|\.xz)?)$"
    return re.sub(pattern, rf".{other}\1", path) if re.search(pattern, path) else ""


def is_compressed(name: str) -> bool:
    return name.lower().endswith(tuple(COMPRESSED))


def is_archive(name: str) -> bool:
    return name.lower().endswith(ARCHIVES)


def stems(names: list[str]) -> list[str]:
    """Return names that tell files apart: without suffixes, and without the ``_words`` that all of them end in.

    Files of the same name keep their folders.
    """
    paths = [PurePosixPath(name.replace(os.sep, "/")) for name in names]
    stems = [base_name(path.name).rpartition(".")[0] or path.name for path in paths]
    if len(set(stems)) < len(stems):
        return [str(path.with_name(stem)) for path, stem in zip(paths, stems, strict=True)]
    split = [stem.split("_") for stem in stems]
    while len(split) > 1 and all(len(words) > 1 and words[-1] == split[0][-1] for words in split):
        split = [words[:-1] for words in split]
    return ["_".join(words) for words in split]


def natural_order(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that puts 2.xml before 10.xml."""
    pieces = re.findall(r"[0-9]+|[^0-9]", name)
    return [(0, int(piece[:MAX_DIGITS]), piece) if piece[0] in "0123456789" else (1, 0, piece) for piece in pieces]


NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""The characters that XML forbids."""
_SPECIAL = re.compile("[&<>\"'\n\r\t]")
_LINE_ENDS = {ord("\n"): "&#10;", ord("\r"): "&#13;", ord("\t"): "&#9;"}  # unescaped, a parser turns them into spaces


def quoted(text: str) -> str:
    """Return the value of an XML attribute with its quotes, which are single if the text contains only double ones.

    This is ``quoteattr`` of ``xml.sax.saxutils``, a module that takes long to import because it imports urllib.
    """
    if not _SPECIAL.search(text):  # nearly all; doubles the speed of the XML writers
        return f'"{text}"'
    text = escape(text, quote=False).translate(_LINE_ENDS)
    if '"' in text and "'" not in text:
        return f"'{text}'"
    return '"' + text.replace('"', "&quot;") + '"'


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
    """Return the status of a file or of a standard stream; None if there is none."""
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


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file that appears under its name when it is complete."""
    with writable(os.fspath(path)) as stream:
        stream.write(content)


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
    temporary = _temporary_name(target)
    try:
        with open(temporary, "xb") as raw:
            _lock(raw.fileno())
            with _compressing(raw, path) as stream:
                yield stream
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, target)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Create a folder that is removed at the end of the block or, after a crash, by the next process that needs one."""
    from shutil import rmtree
    from tempfile import gettempdir

    folder = _temporary_name(os.path.join(gettempdir(), "discotree"))
    os.mkdir(folder, 0o700)
    descriptor = os.open(folder, os.O_RDONLY) if fcntl else -1
    try:
        _lock(descriptor)
        yield folder
    finally:
        rmtree(folder, ignore_errors=True)
        if fcntl:
            os.close(descriptor)


def _temporary_name(target: str) -> str:
    """Return a new temporary name for a target, and remove the temporary files of dead processes."""
    from shutil import rmtree

    folder, name = os.path.split(target)
    for path in _leftovers(folder).pop(name, []) if fcntl else ():
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            is_old = time.time() > os.fstat(descriptor).st_mtime + SECONDS_TO_LOCK
            if is_old and _lock(descriptor):
                rmtree(path) if os.path.isdir(path) else os.unlink(path)
            os.close(descriptor)
    return f"{target}.{uuid.uuid4().hex[:8]}.tmp"


@lru_cache(maxsize=100)
def _leftovers(folder: str) -> dict[str, list[str]]:
    """Return the temporary names in a folder by target. The cache lets a process list each folder once."""
    found: dict[str, list[str]] = {}
    with suppress(OSError):
        for name in os.listdir(folder):
            if match := _TEMPORARY.fullmatch(name):
                found.setdefault(match[1], []).append(os.path.join(folder, name))
    return found


def _lock(descriptor: int) -> bool:
    """Lock an open file or folder until it is closed; return whether no other process has locked it."""
    with suppress(OSError):  # or the file system does not support locks
        if fcntl:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


@contextmanager
def _compressing(raw: BinaryIO, name: str) -> Iterator[BinaryIO]:
    for suffix, opener in COMPRESSED.items():
        if name.lower().endswith(suffix):
            with opener(raw, "wb") as stream:
                yield cast(BinaryIO, stream)
            return
    yield raw
