"""Files on any storage: paths, and addresses such as s3://… that pyarrow or fsspec can open."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import IO, Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import fs

from discotree.errors import DiscotreeError, TreebankError
from discotree.files.reading import UNREADABLE
from discotree.files.writing import writable

UNFINISHED = ".tmp"


def absolute(address: str) -> str:
    """Return an address that means the same in every working directory."""
    return address if "://" in address else os.path.abspath(address)


def storage(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    if "://" not in address:
        return fs.LocalFileSystem(), os.path.abspath(address)
    return _remote(address)


@lru_cache
def _remote(address: str) -> tuple[Any, str]:
    with addressed(address, "opened"), suppress(pa.ArrowInvalid):  # not one of pyarrow's own schemes
        filesystem, path = fs.FileSystem.from_uri(address)
        return filesystem, path.rstrip("/")
    try:
        import fsspec  # type: ignore[import-untyped]

        filesystem, path = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise DiscotreeError(f"{address}: cannot open this kind of address: {error}") from None
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem)), path.rstrip("/")


def is_local(filesystem: Any) -> bool:
    return isinstance(filesystem, fs.LocalFileSystem)


@contextmanager
def addressed(path: str, what: str = "read") -> Iterator[None]:
    """Turn errors of the storage libraries into a TreebankError with an address."""
    try:
        yield
    except (*UNREADABLE, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise TreebankError(f"cannot be {what}: {reason}", path) from None


@contextmanager
def appearing(filesystem: Any, path: str) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears under its name when all of it is written."""
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
