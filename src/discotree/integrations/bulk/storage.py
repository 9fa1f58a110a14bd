"""Files wherever they are: paths, and addresses such as s3://… that pyarrow or fsspec can open."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import IO, Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import fs

from discotree.errors import DiscotreeError, TreebankError
from discotree.files import UNREADABLE, writable

UNFINISHED = ".tmp"


def absolute(address: str) -> str:
    """An address that means the same on every machine that has the place."""
    return address if "://" in address else os.path.abspath(address)


def storage(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    if "://" not in address:
        return fs.LocalFileSystem(), os.path.abspath(address)
    return _remote(address)


@lru_cache
def _remote(address: str) -> tuple[Any, str]:
    with addressed(address, "opened"), suppress(pa.ArrowInvalid):  # which says that this is none of pyarrow's own
        filesystem, path = fs.FileSystem.from_uri(address)
        return filesystem, path.rstrip("/")
    try:
        import fsspec  # type: ignore[import-untyped]

        filesystem, path = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise DiscotreeError(f"{address}: this kind of address cannot be opened: {error}") from None
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem)), path.rstrip("/")


def is_local(filesystem: Any) -> bool:
    return isinstance(filesystem, fs.LocalFileSystem)


@contextmanager
def addressed(path: str, what: str = "read") -> Iterator[None]:
    """Turn what the libraries say of a file that cannot be read, or written, into an error with an address."""
    try:
        yield
    except (*UNREADABLE, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise TreebankError(f"cannot be {what}: {reason}", path) from None


@contextmanager
def appearing(filesystem: Any, path: str) -> Iterator[IO[bytes]]:
    """Write a file that is there under its name when all of it is written, and not before."""
    if is_local(filesystem):
        with writable(path) as local:
            yield local
        return
    temporary = f"{path}.{uuid.uuid4().hex[:8]}{UNFINISHED}"
    try:
        with filesystem.open_output_stream(temporary) as stream:
            yield stream
        filesystem.move(temporary, path)
    except BaseException:
        with suppress(OSError, pa.ArrowException):
            filesystem.delete_file(temporary)
        raise
