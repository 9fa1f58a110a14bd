"""Standard input as a stream that reports when it has to wait for more."""

import io
import os
import select
import sys
from collections.abc import Callable
from typing import BinaryIO, cast

from discotree.text.streams import BLOCK


class OutputFailedError(Exception):
    """Wraps an OSError of the output, so that nobody takes it for one of the input."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class Beginning:
    """The bytes of standard input that were looked at, and are still to be read."""

    def __init__(self) -> None:
        self.data = b""
        self.is_all = False


class WaitingStream(io.RawIOBase):
    """Standard input after its beginning; calls ``before_waiting`` whenever a read would block."""

    def __init__(self, beginning: Beginning, before_waiting: Callable[[], None] | None) -> None:
        self.beginning = beginning
        self.before_waiting = before_waiting

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.beginning.data[: len(buffer)]
        self.beginning.data = self.beginning.data[len(buffer) :]
        if not data and not self.beginning.is_all:
            if self.before_waiting and not select.select([sys.stdin.fileno()], [], [], 0)[0]:
                try:
                    self.before_waiting()
                except OSError as error:
                    raise OutputFailedError(error) from None
            data = _read_some(len(buffer))
        buffer[: len(data)] = data
        return len(data)


_beginning = Beginning()


def peek_standard_input(is_enough: Callable[[bytes], bool], max_bytes: int) -> bytes:
    """Return the beginning of standard input, which stays to be read; wait for more until it is enough."""
    global _beginning
    _beginning = Beginning()
    while len(_beginning.data) < max_bytes and not is_enough(_beginning.data):
        data = _read_some(BLOCK)
        _beginning.data += data
        if not data:
            _beginning.is_all = True
            break
    return _beginning.data


def _read_some(size: int) -> bytes:
    """Read what is there, and wait only where there is nothing."""
    try:
        descriptor = sys.stdin.fileno()
    except OSError:
        return sys.stdin.buffer.readline(size)
    return os.read(descriptor, size)


def standard_input(before_waiting: Callable[[], None] | None) -> BinaryIO:
    """Return standard input. On Windows, and where it is no real file, ``before_waiting`` is never called."""
    try:
        sys.stdin.fileno()
    except OSError:
        before_waiting = None
    if sys.platform == "win32":
        before_waiting = None
    if before_waiting is None and not _beginning.data:
        return cast(BinaryIO, sys.stdin.buffer)
    return cast(BinaryIO, io.BufferedReader(WaitingStream(_beginning, before_waiting), BLOCK))
