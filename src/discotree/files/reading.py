"""Files, folders and archives opened for reading, within limits: the suffix says how they are packed."""

import io
import lzma
import os
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NamedTuple, cast

from discotree.errors import ConfigError, TreebankError
from discotree.files.writing import COMPRESSED, STANDARD_STREAM, is_archive, natural_order, stems

MAX_UNPACKED = 64 << 20  # bytes that anything may unpack to; beyond, the ratio counts
MAX_TAR_HEADER = 1 << 20  # bytes of a long name or of other extra headers

Choice = Callable[[list[str]], list[str]]
"""Picks the files to open, by name, among those of a folder or an archive."""
ByteCounter = Callable[[int], None]
"""Gets the number of bytes of every block that is read."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits beyond which a file is rejected. Environment variables change the defaults."""

    line_bytes: int = 64 << 20  # a line, or one tag of XML; DISCOTREE_MAX_LINE_BYTES
    unpacked_ratio: int = 200  # decompressed size divided by compressed size; DISCOTREE_MAX_UNPACKED_RATIO

    @classmethod
    def from_environment(cls) -> "ReadLimits":
        values = {}
        for name in ("line_bytes", "unpacked_ratio"):
            variable = f"DISCOTREE_MAX_{name.upper()}"
            text = os.environ.get(variable)
            if text:
                if not (text.isascii() and text.isdecimal() and 0 < len(text) < 16 and int(text)):
                    raise ConfigError(f"{variable}: expected a number above 0, got {text!r:.50}")
                values[name] = int(text)
        return cls(**values)

    def check_unpacked(self, unpacked: int, packed: int, name: str) -> None:
        """Raise an error for a file that expands far more than any treebank."""
        if unpacked > MAX_UNPACKED and unpacked > self.unpacked_ratio * packed:
            raise TreebankError(
                f"unpacks to more than {self.unpacked_ratio} times its size; if this is expected, "
                "raise DISCOTREE_MAX_UNPACKED_RATIO or limits.unpacked_ratio",
                name,
            )


class OpenFile(NamedTuple):
    """An open file. Its ``stem`` tells it apart from the other files of a folder or an archive."""

    name: str
    stream: BinaryIO
    stem: str = ""


class Unpacked(io.RawIOBase):
    """The decompressed content of a file, within limits."""

    def __init__(self, stream: io.BufferedIOBase, packed: IO[bytes], name: str, limits: ReadLimits) -> None:
        self.stream = stream
        self.packed = packed
        self.name = name
        self.limits = limits
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.stream.read1(len(buffer))  # read1: return the intact bytes before a corrupt block
        buffer[: len(data)] = data
        self.count += len(data)
        if self.count > MAX_UNPACKED:
            self.limits.check_unpacked(self.count, self.packed.tell(), self.name)
        return len(data)


def open_compressed(raw: IO[bytes], name: str, limits: ReadLimits | None = None) -> BinaryIO:
    """Return the content of an open file, decompressed where its name says so."""
    for suffix, opener in COMPRESSED.items():
        if name.lower().endswith(suffix):
            unpacked = Unpacked(opener(raw, "rb"), raw, name, limits or ReadLimits.from_environment())
            return cast(BinaryIO, io.BufferedReader(unpacked, 1 << 16))
    return cast(BinaryIO, raw)


UNREADABLE = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    NotImplementedError,  # a zip archive made for a later version
    UnicodeDecodeError,  # a zip archive whose names are not in the encoding it declares
)
"""The errors that opening and decompressing a damaged file may raise."""
ODD_HEADER = (ValueError, OverflowError, LookupError, TypeError, RecursionError)
"""The errors that tarfile raises for invalid headers."""


@contextmanager
def readable(path: str, verb: str = "read", errors: tuple[type[Exception], ...] = UNREADABLE) -> Iterator[None]:
    """Turn errors of the operating system and of decompression into a TreebankError."""
    try:
        yield
    except errors as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise TreebankError(f"cannot be {verb}: {reason}", path) from None


class CountedFile(io.FileIO):
    """A file that reports how many bytes are read from it."""

    def __init__(self, path: str, on_bytes: ByteCounter) -> None:
        super().__init__(path)
        self.on_bytes = on_bytes

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self.on_bytes(count or 0)
        return count

    def readall(self) -> bytes:
        data = super().readall()
        self.on_bytes(len(data))
        return data


def open_binary(path: str, on_bytes: ByteCounter | None = None) -> BinaryIO:
    """Open a file for reading; ``on_bytes`` gets the number of bytes of every block that is read."""
    return open(path, "rb") if on_bytes is None else io.BufferedReader(CountedFile(path, on_bytes))


def open_all(
    path: str, choose: Choice, on_bytes: ByteCounter | None = None, limits: ReadLimits | None = None
) -> Iterator[OpenFile]:
    """Open a file, or the chosen files of a folder or an archive one after the other, in the order of their names.

    ``on_bytes`` counts the bytes that are read, except those of archives and of standard input.
    """
    limits = limits or ReadLimits.from_environment()
    if path == STANDARD_STREAM:
        yield OpenFile("<stdin>", cast(BinaryIO, sys.stdin.buffer))
        return
    for name, raw, stem in _open_raw(path, choose, on_bytes, limits):
        with raw, open_compressed(raw, name, limits) as stream:
            yield OpenFile(name, stream, stem)


def _open_raw(
    path: str, choose: Choice, on_bytes: ByteCounter | None, limits: ReadLimits
) -> Iterator[tuple[str, IO[bytes], str]]:
    """Open files without decompressing them; yield names, files and stems."""
    if os.path.isdir(path):
        names = files_in(path, choose)
        for name, stem in zip(names, stems([os.path.relpath(name, path) for name in names]), strict=True):
            yield name, open_binary(name, on_bytes), stem
    elif path.lower().endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            members = [info.filename for info in archive.infolist() if not info.filename.endswith("/")]
            names = sorted(choose(members), key=natural_order)
            for name, stem in zip(names, stems(names), strict=True):
                yield f"{path}/{name}", _open_member(archive, name, f"{path}/{name}", limits), stem
    elif is_archive(path):
        # In the archive's own order, because seeking in a compressed stream is slow.
        names = choose([member.name for _, member in _members(path, "r", limits)])
        prefixes = dict(zip(names, stems(names), strict=True))
        for tar, member in _members(path, "r|*", limits):
            if member.name in prefixes:
                raw = tar.extractfile(member)
                assert raw is not None  # a plain file has content
                yield f"{path}/{member.name}", raw, prefixes[member.name]
    else:
        yield path, open_binary(path, on_bytes), ""


def files_in(folder: str, choose: Choice) -> list[str]:
    """Return the chosen files of a folder and its subfolders, in natural order; hidden ones are left out."""
    visible = (p for p in Path(folder).rglob("*") if not any(part[0] == "." for part in p.relative_to(folder).parts))
    return sorted(choose([str(p) for p in visible if p.is_file()]), key=natural_order)


def _open_member(archive: zipfile.ZipFile, name: str, address: str, limits: ReadLimits) -> IO[bytes]:
    info = archive.getinfo(name)
    limits.check_unpacked(info.file_size, info.compress_size, address)  # zipfile returns at most this size
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # zipfile decompresses 4 kB of bzip2 or LZMA at once, however large the result is.
        raise zipfile.BadZipFile("only deflated members are read; pack the archive again")
    try:
        return archive.open(name)
    except RuntimeError as error:  # encrypted, or compressed with an unknown method
        raise zipfile.BadZipFile(str(error)) from None


EXTRA_HEADERS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)


class _CheckedTarInfo(tarfile.TarInfo):
    """A header; tarfile reads extra ones, such as long names, into memory as a whole."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_CheckedTarInfo":
        info = super().frombuf(buf, encoding, errors)
        if info.type in EXTRA_HEADERS and not 0 <= info.size <= MAX_TAR_HEADER:
            raise tarfile.ReadError(f"invalid header: it has {info.size} bytes")
        return info


def _members(
    path: str, mode: Literal["r", "r|*"], limits: ReadLimits
) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """Yield the plain files of an archive."""
    size = 0
    packed = os.path.getsize(path)
    try:
        with tarfile.open(path, mode, tarinfo=_CheckedTarInfo) as archive:
            for member in archive:
                size += max(member.size, 0)
                limits.check_unpacked(size, packed, path)
                if member.isfile():
                    if member.issparse() or not 0 <= member.size <= sys.maxsize:
                        raise tarfile.ReadError(f"invalid header: {member.name!r:.100} has {member.size} bytes")
                    yield archive, member
    except ODD_HEADER as error:
        raise tarfile.ReadError(f"invalid header: {error}") from None


def read_regular_file(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Return the content of a plain file, or of one that a link leads to; all else is an OSError."""
    check_regular_file(path, max_bytes)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        _check(os.fstat(file.fileno()), max_bytes)  # it may have been replaced since
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(f"more than {max_bytes:,} bytes")
    return content


def check_regular_file(path: str | os.PathLike[str], max_bytes: int | None = None) -> None:
    """Raise an OSError unless there is a plain file of at most so many bytes; nothing is opened."""
    _check(Path(path).stat(), max_bytes)


def _check(status: os.stat_result, max_bytes: int | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError("not a plain file")
    if max_bytes is not None and status.st_size > max_bytes:
        raise OSError(f"{status.st_size:,} bytes, expected at most {max_bytes:,}")
