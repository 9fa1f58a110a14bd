"""Where trees come from and go to: files, folders, archives, standard streams, compressed or not.

A ``Source`` is one open file with the address that errors need. Output is written under a temporary name
and renamed when it is complete, so that a crash, a full disk or a second process leaves either the old
file or the new one.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import tarfile
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, cast

from discotree.errors import TreebankError

STANDARD_STREAM = "-"
COMPRESSED: dict[str, Callable[[Any, Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")
BYTE_ORDER_MARK = "\ufeff"
PEEK = 16384  # bytes that a format is guessed from
MAX_DIGITS = 4000  # that Python makes a number of


class RunningNumber(str):
    """An id that a reader made up because the file has none: it counts, but it names nothing."""

    __slots__ = ()


ErrorHandler = Callable[[TreebankError], None]


def stop(error: TreebankError) -> None:
    """The default for broken trees: stop at the first one."""
    raise error


@dataclass
class Source:
    """One open file. ``encoding`` is None where the format is to find out."""

    name: str
    stream: BinaryIO
    encoding: str | None = None
    on_error: ErrorHandler = stop
    stem: str = ""
    damage: TreebankError | None = None  # bytes that could not be decoded in the lines read last

    def error(self, line: int, message: str) -> TreebankError:
        return TreebankError(message, self.name, line)

    def broken(self, line: int, message: str) -> None:
        """Report a broken tree: raises unless broken trees are to be skipped."""
        self.on_error(self.error(line, message))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number and text of every line, without its end.

        A line that cannot be decoded leaves its error in ``damage``: whoever knows where the tree ends passes it on.
        """
        for number, raw in enumerate(self.stream, 1):
            try:
                text = self.decode(raw, number)
            except TreebankError as error:
                self.damage = self.damage or error
                text = raw.decode("utf-8", "replace")
            if number == 1:
                text = text.removeprefix(BYTE_ORDER_MARK)
            yield number, text.rstrip("\r\n")

    def is_damaged(self) -> bool:
        """Whether the tree just read is damaged; if so, that is reported."""
        damage, self.damage = self.damage, None
        if damage is not None:
            self.on_error(damage)
        return damage is not None

    def decode(self, raw: bytes, line: int, fallback: str | None = None) -> str:
        """The text of some lines, of which the first is ``line``; bytes that make no sense are an error.

        Where the encoding is open, the first text that is not ASCII decides between UTF-8 and the fallback.
        """
        if self.encoding is None and raw.isascii():
            return raw.decode("ascii")
        encoding = self.encoding or "utf-8"
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError as error:
            if self.encoding or not fallback:
                at = line + raw.count(b"\n", 0, error.start)
                raise self.error(at, _undecodable(encoding, error, raw)) from None
            encoding = fallback
            text = raw.decode(encoding)
        self.encoding = encoding
        return text


def _undecodable(encoding: str, error: UnicodeDecodeError, raw: bytes) -> str:
    return f"byte {raw[error.start]:#04x} is not {encoding}; name the file's encoding if it has another"


def is_encoding(name: str) -> bool:
    """Whether text can be written in it: Python also knows encodings that are none, such as rot13."""
    try:
        "".encode(name)
    except (LookupError, UnicodeError):
        return False
    return True


def base_name(name: str) -> str:
    """A file's name without folders and without the suffixes that say how it is packed."""
    base = PurePosixPath(name).name
    for suffix in COMPRESSED:
        if base.lower().endswith(suffix):
            return base[: -len(suffix)]
    return base


def is_archive(name: str) -> bool:
    return name.lower().endswith(ARCHIVES)


def open_compressed(raw: IO[bytes], name: str) -> BinaryIO:
    """The content of an open file, unpacked where its name says that it is packed."""
    for suffix, opener in COMPRESSED.items():
        if name.lower().endswith(suffix):
            return cast(BinaryIO, io.BufferedReader(opener(raw, "rb")))
    return cast(BinaryIO, raw)


UNREADABLE = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    NotImplementedError,  # a zip archive made for a later version …
    UnicodeDecodeError,  # … or with names that are not what it says they are
)


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Turn what the operating system and the packers say into a TreebankError."""
    try:
        yield
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise TreebankError(f"cannot be read: {reason}", path) from None


def open_all(path: str, choose: Callable[[list[str]], list[str]]) -> Iterator[Source]:
    """Open what ``path`` names, one file after the other, in the order of their names.

    ``choose`` picks, by name, among the files of a folder or an archive. Those get a ``stem``: the part of their
    name that goes in front of their sentences' ids.
    """
    if path == STANDARD_STREAM:
        yield Source("<stdin>", cast(BinaryIO, sys.stdin.buffer))
    elif os.path.isdir(path):
        files = files_in(path, choose)
        for file, stem in zip(files, stems([os.path.relpath(f, path) for f in files]), strict=True):
            with open(file, "rb") as raw, open_compressed(raw, file) as stream:
                yield Source(file, stream, stem=stem)
    elif path.lower().endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            names = sorted(
                choose([info.filename for info in archive.infolist() if not info.filename.endswith("/")]), key=_natural
            )
            for name, stem in zip(names, stems(names), strict=True):
                with _open_member(archive, name) as packed, open_compressed(packed, name) as stream:
                    yield Source(f"{path}/{name}", stream, stem=stem)
    elif is_archive(path):
        yield from _open_tar(path, choose)
    else:
        with open(path, "rb") as raw, open_compressed(raw, path) as stream:
            yield Source(path, stream)


def files_in(folder: str, choose: Callable[[list[str]], list[str]]) -> list[str]:
    """The files of a folder and the folders in it, in the order in which they are read; hidden ones are left out."""
    visible = (p for p in Path(folder).rglob("*") if not any(part[0] == "." for part in p.relative_to(folder).parts))
    return sorted(choose([str(p) for p in visible if p.is_file()]), key=_natural)


def _open_member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    try:
        return archive.open(name)
    except RuntimeError as error:  # encrypted, or packed in an unknown way
        raise zipfile.BadZipFile(str(error)) from None


def _open_tar(path: str, choose: Callable[[list[str]], list[str]]) -> Iterator[Source]:
    """In the archive's own order: going back and forth in a compressed stream costs too much."""
    with tarfile.open(path) as archive:
        names = choose([member.name for member in archive if member.isfile()])
    prefixes = dict(zip(names, stems(names), strict=True))
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            if member.name in prefixes and member.isfile():
                raw = archive.extractfile(member)
                assert raw is not None  # a plain file has content
                with raw, open_compressed(raw, member.name) as stream:
                    yield Source(f"{path}/{member.name}", stream, stem=prefixes[member.name])


def stems(names: list[str]) -> list[str]:
    """What tells files apart: their names without suffixes and without the ``_parts`` all end in.

    Where two files in different folders have one name, the folders stay in.
    """
    paths = [PurePosixPath(name.replace(os.sep, "/")) for name in names]
    stems = [base_name(path.name).rpartition(".")[0] or path.name for path in paths]
    if len(set(stems)) < len(stems):
        return [str(path.with_name(stem)) for path, stem in zip(paths, stems, strict=True)]
    parts = [stem.split("_") for stem in stems]
    while len(parts) > 1 and all(len(p) > 1 and p[-1] == parts[0][-1] for p in parts):
        parts = [p[:-1] for p in parts]
    return ["_".join(p) for p in parts]


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort 2.xml before 10.xml."""
    pieces = re.findall(r"[0-9]+|[^0-9]", name)
    return [(0, int(piece[:MAX_DIGITS]), piece) if piece[0] in "0123456789" else (1, 0, piece) for piece in pieces]


@contextmanager
def writable(path: str) -> Iterator[BinaryIO]:
    """Open for writing. A regular file appears under its name only when all is written."""
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
        yield cast(BinaryIO, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device cannot be replaced
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
