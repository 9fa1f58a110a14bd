"""A file of JSON lines that only grows: what was appended is on the disk when ``append`` returns.

A crash can tear the end of the file. Whatever comes after the last whole line was never confirmed to anybody, so it is
cut off when the file is opened for writing. A damaged line before a whole one is an error. The writer holds a lock,
``FILE.lock``. Reading needs none.
"""

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from discotree.errors import DiscotreeError, TreebankError
from discotree.files.names import is_compressed
from discotree.files.writing import writable
from discotree.parsing.output_job import foreign, is_there, lock_output, open_own, unlock_output
from discotree.treebanks.json_lines import json_line
from discotree.version import __version__

KIND = "an annotation journal"
SIGNATURE = "annotation"  # key of the first line: the version of the format
FORMAT = 1
LOCK = ".lock"
MAX_LINE_BYTES = 2**26
BLOCK_BYTES = 2**15
PREDICTED = re.compile(rb'\{"sentence": (\d+), "model": (\d+), "confidence": (-?[\d.e-]+)(?:, "input": "(\w+)")?')

Entry = dict[str, Any]


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file is the journal of an annotation."""
    with suppress(OSError):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return _head(file.readline(BLOCK_BYTES)) is not None
    return False


def _head(line: bytes) -> Entry | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) and SIGNATURE in entry and "discotree" in entry else None


class Journal:
    """The file. Offsets of lines are what the rest of the program remembers of them."""

    def __init__(self, path: str, facts: Mapping[str, object] | None = None, read_only: bool = False) -> None:
        """Open a journal, or begin one whose first line holds these facts."""
        self.path = os.path.realpath(path)
        self.shown = path
        self.read_only = read_only
        self.mutex = threading.Lock()
        self.lock = None if read_only else self._locked()
        try:
            if not is_there(self.path, KIND):
                self._begin(facts)
            self.file = open_own(Path(self.path), "rb" if read_only else "r+b")
        except OSError as error:
            self._unlock()
            raise TreebankError(f"cannot be opened: {error.strerror or error}", path) from None
        except DiscotreeError:
            self._unlock()
            raise
        self.length = os.fstat(self.file.fileno()).st_size
        head = _head(self.file.readline(BLOCK_BYTES))
        if head is None or head[SIGNATURE] != FORMAT:
            self.close()
            raise foreign(path, KIND) if head is None else DiscotreeError(f"{path}: a newer discotree has written it")
        self.head: Entry = head

    def _locked(self) -> Any:
        try:
            return lock_output(self.path + LOCK, self.shown)
        except OSError as error:
            raise TreebankError(f"cannot be opened: {error.strerror or error}", self.shown) from None

    def _begin(self, facts: Mapping[str, object] | None) -> None:
        if facts is None or self.read_only:
            raise TreebankError("no such file", self.shown)
        if is_compressed(self.path):
            raise TreebankError(
                "a journal grows line by line, so it cannot be compressed: choose another name", self.shown
            )
        with writable(self.path) as stream:
            stream.write(json_line({"discotree": __version__, SIGNATURE: FORMAT, **facts}).encode())

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield all whole lines after the first one with their offsets; then cut off what is torn."""
        torn_offset = torn_number = 0  # the first damaged line
        number = 1
        with open(self.path, "rb") as file:
            offset = len(file.readline())
            line = self._line(file)
            while line:
                number += 1
                following = self._line(file)
                if not self._is_whole(line, is_last=not following):
                    if not torn_offset:
                        torn_offset, torn_number = offset, number
                elif torn_offset:
                    message = "this line is damaged, and whole ones come after it: restore the file from a copy"
                    raise TreebankError(message, self.shown, torn_number)
                else:
                    yield offset, line
                offset += len(line)
                line = following
        self.length = torn_offset or offset
        self.torn_bytes = offset - self.length
        if self.torn_bytes and not self.read_only:
            self.file.truncate(self.length)
            os.fsync(self.file.fileno())

    def _line(self, file: BinaryIO) -> bytes:
        """Read a line of what was there at the beginning: the writer may be adding to the file, one half by now."""
        return file.readline(max(min(MAX_LINE_BYTES, self.length - file.tell()), 0))

    def _is_whole(self, line: bytes, is_last: bool) -> bool:
        """Tell whether a line is what was written. The trees of sentences are many: they are read when needed."""
        if not line.endswith(b"}\n") or b"\0" in line:
            return False
        if not is_last and PREDICTED.match(line):
            return True
        try:
            return isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            return False

    def append(self, entries: Sequence[Mapping[str, Any]]) -> list[int]:
        """Write lines and return their offsets when they are on the disk; an error leaves the file as it was."""
        texts = [json_line(entry).encode() for entry in entries]
        with self.mutex:
            offset, offsets = self.length, []
            for text in texts:
                offsets.append(offset)
                offset += len(text)
            try:
                self.file.seek(self.length)
                self.file.truncate()  # what an earlier failure may have left
                data = b"".join(texts)
                while data:
                    data = data[self.file.write(data) :]
                os.fsync(self.file.fileno())
            except (OSError, ValueError) as error:
                with suppress(OSError, ValueError):
                    self.file.truncate(self.length)
                reason = getattr(error, "strerror", None) or error
                raise TreebankError(f"cannot be saved: {reason}", self.shown) from None
            self.length = offset
            return offsets

    def entry(self, offset: int) -> Entry:
        """Return the line at an offset."""
        with self.mutex:
            self.file.seek(offset)
            data = piece = self.file.read(BLOCK_BYTES)  # readline would ask the system for every single byte
            while piece and b"\n" not in piece:
                piece = self.file.read(BLOCK_BYTES)
                data += piece
        try:
            found = json.loads(data.partition(b"\n")[0])
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise TreebankError(f"the line at byte {offset:,} is damaged: restore the file from a copy", self.shown)
        return found

    def close(self) -> None:
        self.file.close()
        self._unlock()

    def _unlock(self) -> None:
        if self.lock is not None:
            unlock_output(self.lock)
            self.lock = None
