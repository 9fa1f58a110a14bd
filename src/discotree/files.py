"""Files, folders, archives and standard streams, compressed or not.

Input is opened by name: the suffix says how it is packed. Output is written under a temporary name and renamed when it
is complete, so that a crash, a full disk or a second process leaves either the old file or the new one.

More than 300 lines because reading and writing share what names and suffixes mean.
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
import tarfile
import uuid
import zipfile
import zlib
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, AnyStr, BinaryIO, Literal, NamedTuple, cast

from discotree.errors import ConfigError, TreebankError, printable

STANDARD_STREAM = "-"
COMPRESSED: dict[str, Callable[[Any, Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")
ASCII = "".join(map(chr, (9, 10, *range(32, 127))))
MAX_DIGITS = 4000  # Python refuses to make an integer of more

MAX_UNPACKED = 64 << 20  # bytes that anything may unpack to; beyond, the ratio counts
MAX_TAR_HEADER = 1 << 20  # bytes of a long name or of other extra headers

Choice = Callable[[list[str]], list[str]]
"""Picks the files to open, by name, among those of a folder or an archive."""
ByteCounter = Callable[[int], None]
"""Gets the number of bytes of every block that is read."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What a file may ask for before it is refused. The environment may set other defaults."""

    line_bytes: int = 64 << 20  # a line, or one tag of XML; DISCOTREE_MAX_LINE_BYTES
    unpacked_ratio: int = 200  # what unpacks, compared with what is packed; DISCOTREE_MAX_UNPACKED_RATIO

    @classmethod
    def from_environment(cls) -> "ReadLimits":
        found = {}
        for name in ("line_bytes", "unpacked_ratio"):
            variable = f"DISCOTREE_MAX_{name.upper()}"
            text = os.environ.get(variable)
            if text:
                if not (text.isascii() and text.isdecimal() and 0 < len(text) < 16 and int(text)):
                    raise ConfigError(f"{variable}: expected a number above 0, got {text!r:.50}")
                found[name] = int(text)
        return cls(**found)

    def check_unpacked(self, unpacked: int, packed: int, name: str) -> None:
        """Refuse what unpacks to far more than anyone's treebank."""
        if unpacked > MAX_UNPACKED and unpacked > self.unpacked_ratio * packed:
            raise TreebankError(
                f"unpacks to more than {self.unpacked_ratio} times its size; if that is right, "
                "set DISCOTREE_MAX_UNPACKED_RATIO or limits.unpacked_ratio higher",
                name,
            )


class OpenFile(NamedTuple):
    """An open file. Its ``stem`` tells it apart from the other files of a folder or an archive."""

    name: str
    stream: BinaryIO
    stem: str = ""


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


def is_compressed(name: str) -> bool:
    return name.lower().endswith(tuple(COMPRESSED))


def is_archive(name: str) -> bool:
    return name.lower().endswith(ARCHIVES)


def stems(names: list[str]) -> list[str]:
    """Return what tells files apart: their names without suffixes and without the ``_words`` that all end in.

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


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that puts 2.xml before 10.xml."""
    pieces = re.findall(r"[0-9]+|[^0-9]", name)
    return [(0, int(piece[:MAX_DIGITS]), piece) if piece[0] in "0123456789" else (1, 0, piece) for piece in pieces]


# Reading


class Unpacked(io.RawIOBase):
    """What unpacks from a packed file, within limits."""

    def __init__(self, stream: io.BufferedIOBase, packed: IO[bytes], name: str, limits: ReadLimits) -> None:
        self.stream = stream
        self.packed = packed
        self.name = name
        self.limits = limits
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.stream.read1(len(buffer))  # what comes before damage is not lost with it
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
"""Everything that opening and decompressing a damaged file may raise."""
ODD_HEADER = (ValueError, OverflowError, LookupError, TypeError, RecursionError)
"""What tarfile raises for a header whose numbers make no sense."""


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Turn errors of the operating system and of decompression into a TreebankError."""
    try:
        yield
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise TreebankError(f"cannot be read: {reason}", path) from None


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
    elif os.path.isdir(path):
        files = files_in(path, choose)
        for file, stem in zip(files, stems([os.path.relpath(f, path) for f in files]), strict=True):
            with open_binary(file, on_bytes) as raw, open_compressed(raw, file, limits) as stream:
                yield OpenFile(file, stream, stem)
    elif path.lower().endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            names = sorted(
                choose([info.filename for info in archive.infolist() if not info.filename.endswith("/")]), key=_natural
            )
            for name, stem in zip(names, stems(names), strict=True):
                with (
                    _open_member(archive, name, f"{path}/{name}", limits) as packed,
                    open_compressed(packed, f"{path}/{name}", limits) as stream,
                ):
                    yield OpenFile(f"{path}/{name}", stream, stem)
    elif is_archive(path):
        yield from _open_tar(path, choose, limits)
    else:
        with open_binary(path, on_bytes) as raw, open_compressed(raw, path, limits) as stream:
            yield OpenFile(path, stream)


def files_in(folder: str, choose: Choice) -> list[str]:
    """Return the chosen files of a folder and its subfolders, in natural order; hidden ones are left out."""
    visible = (p for p in Path(folder).rglob("*") if not any(part[0] == "." for part in p.relative_to(folder).parts))
    return sorted(choose([str(p) for p in visible if p.is_file()]), key=_natural)


def _open_member(archive: zipfile.ZipFile, name: str, address: str, limits: ReadLimits) -> IO[bytes]:
    info = archive.getinfo(name)
    limits.check_unpacked(info.file_size, info.compress_size, address)  # zipfile gives no more than this size
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # zipfile unpacks 4 kB of bzip2 or LZMA in one go, whatever they grow to.
        raise zipfile.BadZipFile("only deflated members are read; pack the archive again")
    try:
        return archive.open(name)
    except RuntimeError as error:  # encrypted, or compressed with an unknown method
        raise zipfile.BadZipFile(str(error)) from None


def _open_tar(path: str, choose: Choice, limits: ReadLimits) -> Iterator[OpenFile]:
    """Open members in the archive's own order: seeking in a compressed stream costs too much."""
    with _opened_tar(path, "r", limits) as members:
        names = choose([member.name for _, member in members])
    prefixes = dict(zip(names, stems(names), strict=True))
    with _opened_tar(path, "r|*", limits) as members:
        for archive, member in members:
            if member.name in prefixes:
                raw = archive.extractfile(member)
                assert raw is not None  # a plain file has content
                address = f"{path}/{member.name}"
                with raw, open_compressed(raw, address, limits) as stream:
                    yield OpenFile(address, stream, prefixes[member.name])


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
            raise tarfile.ReadError(f"a header makes no sense: it has {info.size} bytes")
        return info


@contextmanager
def _opened_tar(
    path: str, mode: Literal["r", "r|*"], limits: ReadLimits
) -> Iterator[Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]]:
    """Open an archive and return its plain files."""
    try:
        archive = tarfile.open(path, mode, tarinfo=_CheckedTarInfo)  # noqa: SIM115 - closed below
    except ODD_HEADER as error:
        raise tarfile.ReadError(f"a header makes no sense: {error}") from None
    with archive:
        yield _members(archive, path, limits)


def _members(
    archive: tarfile.TarFile, path: str, limits: ReadLimits
) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    size = 0
    packed = os.path.getsize(path)
    while True:
        try:
            member = archive.next()
        except ODD_HEADER as error:
            raise tarfile.ReadError(f"a header makes no sense: {error}") from None
        if member is None:
            return
        size += max(member.size, 0)
        limits.check_unpacked(size, packed, path)
        if member.isfile():
            if member.issparse() or not 0 <= member.size <= sys.maxsize:
                raise tarfile.ReadError(f"a header makes no sense: {member.name!r:.100} has {member.size} bytes")
            yield archive, member


# Writing


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
