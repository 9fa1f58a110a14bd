"""Output that survives whatever ends the process, and goes on from there.

A run writes to ``FILE.part``, window by window, and notes in ``FILE.progress`` how far it is: first what it does, then
for every window the sentences done, written and failed, and the length of ``FILE.part``. Each is on the disk before the
next is begun. Whatever comes after the last note is cut off by the run that goes on, so that no torn sentence stays. At
the end ``FILE.part`` takes the name ``FILE``. Who writes holds a lock on the notes, which ends with the process.
"""

import bz2
import gzip
import io
import json
import lzma
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from discotree.errors import DiscotreeError, TreebankError

if sys.platform != "win32":
    import fcntl

PART, PROGRESS = ".part", ".progress"

# Every window is packed by itself: unpackers read what follows as one file.
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


class SentenceCounts(NamedTuple):
    """Sentences: those of the input that are done with, and what became of them."""

    done: int = 0
    written: int = 0
    failed: int = 0


class Sink(Protocol):
    """Where sentences go. ``counts`` are those of everything that is there already."""

    counts: SentenceCounts
    is_file: bool

    def write(self, text: str, counts: SentenceCounts) -> None:
        """Put down some sentences."""

    def finish(self, end: str) -> None:
        """All is written."""

    def stop(self, end: str) -> str:
        """Not all is written: leave what is there in order, and say how to go on."""


class StreamSink:
    """Standard output, a pipe or a device."""

    is_file = False

    def __init__(self, stream: BinaryIO, begin: str) -> None:
        self.stream = stream
        self.begin = begin
        self.counts = SentenceCounts()

    def write(self, text: str, counts: SentenceCounts) -> None:
        self.stream.write((self.begin + text).encode())
        self.stream.flush()
        self.begin = ""
        self.counts = counts

    def finish(self, end: str) -> None:
        self.write(end, self.counts)
        if self.stream is not sys.stdout.buffer:
            self.stream.close()

    def stop(self, end: str) -> str:
        if not self.stream.closed:
            with suppress(OSError):  # it may be why we stop
                self.finish(end)
        return f"{self.counts.written:,} sentences were written"


class ResumableFile:
    """A file that appears when it is complete."""

    is_file = True

    def __init__(self, path: str, begin: str, job: dict[str, object], resume: bool) -> None:
        """``job``: what a run that goes on has to have in common with the one that began."""
        self.path = Path(os.path.realpath(path))
        self.part = self.path.with_name(self.path.name + PART)
        self.begin = begin
        self.pack = next((pack for suffix, pack in PACKERS.items() if path.lower().endswith(suffix)), bytes)
        self.length = 0
        self.counts = SentenceCounts()
        with ExitStack() as undo:
            try:
                self.notes = undo.enter_context(_locked(self.path.with_name(self.path.name + PROGRESS), path))
                begun = self._recall()
                if begun is not None:
                    self._check(job, begun, resume)
                self.stream = open(self.part, "wb" if begun is None else "r+b", buffering=0)  # noqa: SIM115
            except OSError as error:
                raise TreebankError(f"cannot be written: {error.strerror or error}", path) from None
            undo.pop_all()
        self._cut()
        if begun is None:
            self._note(job)

    def _recall(self) -> dict[str, object] | None:
        """Find the last note that ``FILE.part`` lives up to, and forget those after it; gives what was begun."""
        size = self.part.stat().st_size if self.part.exists() else -1
        begun = None
        place = end = 0
        for line in self.notes.read().split(b"\n")[:-1]:
            try:
                note = json.loads(line)
            except ValueError:  # a power cut
                break
            place += len(line) + 1
            if begun is None:
                begun = note
            elif note[-1] <= size:
                self.counts, self.length, end = SentenceCounts(*note[:-1]), note[-1], place
        self.notes.truncate(end)
        return begun if end else None

    def _check(self, job: dict[str, object], begun: dict[str, object], resume: bool) -> None:
        if not resume:
            raise DiscotreeError(
                f"{self.part} holds {self.counts.written:,} sentences of a run that was interrupted: "
                "go on with --resume, or remove it"
            )
        for name, value in job.items():
            if begun.get(name) != value:
                raise DiscotreeError(f"{self.part} was begun with another {name} ({begun.get(name)}): remove it")

    def write(self, text: str, counts: SentenceCounts) -> None:
        if text:
            self._put(text)
            self.length = self.stream.tell()
        self.counts = counts
        self._note([*counts, self.length])

    def finish(self, end: str) -> None:
        if end or not self.length:
            self._put(end)
        self.stream.close()
        os.replace(self.part, self.path)
        self._forget()

    def stop(self, end: str) -> str:
        """``FILE.part`` gets its end, too: a run that goes on cuts it off again."""
        if self.notes.closed:
            return f"{self.counts.written:,} sentences are in {self.path}, all that there are"
        if self.stream.closed:
            self.stream = open(self.part, "r+b", buffering=0)  # noqa: SIM115
        self._cut()
        if not self.counts.done:
            self.stream.close()
            self.part.unlink()
            self._forget()
            return "nothing was written"
        with suppress(OSError):  # a full disk may be why we stop
            if end:
                self._put(end)
        self.stream.close()
        self.notes.close()
        return f"{self.counts.written:,} sentences are in {self.part}; the same command with --resume goes on"

    def _cut(self) -> None:
        """Take off whatever no note speaks of."""
        self.stream.seek(self.length)
        self.stream.truncate()

    def _put(self, text: str) -> None:
        text = text if self.length else self.begin + text
        data = self.pack(text.encode())
        while data:
            data = data[self.stream.write(data) :]
        os.fsync(self.stream.fileno())

    def _note(self, note: object) -> None:
        self.notes.write(json.dumps(note).encode() + b"\n")
        os.fsync(self.notes.fileno())

    def _forget(self) -> None:
        if sys.platform == "win32":
            self.notes.close()  # what is open cannot be removed there
        os.unlink(self.notes.name)
        self.notes.close()


def _locked(path: Path, target: str) -> io.FileIO:
    """Open the notes for nobody but us. The lock is the operating system's; Windows has none that would do."""
    while True:
        notes = open(path, "a+b", buffering=0)  # noqa: SIM115 - open as long as we are
        if sys.platform != "win32":
            try:
                fcntl.flock(notes, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                notes.close()
                raise DiscotreeError(f"{target}: another process is writing it") from None
        if path.exists() and os.path.samestat(os.fstat(notes.fileno()), path.stat()):
            notes.seek(0)
            return notes
        notes.close()  # whoever had it was just done, and took it away
