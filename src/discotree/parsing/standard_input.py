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


class WaitingStream(io.RawIOBase):
    """A raw stream that calls ``before_waiting`` whenever a read would block."""

    def __init__(self, descriptor: int, before_waiting: Callable[[], None]) -> None:
        self.descriptor = descriptor
        self.before_waiting = before_waiting

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not select.select([self.descriptor], [], [], 0)[0]:
            try:
                self.before_waiting()
            except OSError as error:
                raise OutputFailedError(error) from None
        data = os.read(self.descriptor, len(buffer))
        buffer[: len(data)] = data
        return len(data)


def standard_input(before_waiting: Callable[[], None] | None) -> BinaryIO:
    """Return standard input. On Windows, and where it is no real file, ``before_waiting`` is never called."""
    try:
        descriptor = sys.stdin.fileno()
    except OSError:
        before_waiting = None
    if before_waiting is None or sys.platform == "win32":
        return cast(BinaryIO, sys.stdin.buffer)
    return cast(BinaryIO, io.BufferedReader(WaitingStream(descriptor, before_waiting), BLOCK))
