"""Output that survives whatever ends the process, and resumes from there.

A run writes to ``FILE.part``, window by window, and keeps a journal in ``FILE.progress``: first the identity of the
job, then for every window the numbers of sentences done, written and failed, and the length of ``FILE.part``. Each is
on the disk before the next begins. A run that resumes cuts off whatever comes after the last entry, so that no torn
sentence stays. At the end ``FILE.part`` takes the name ``FILE``. The writer holds a lock, ``FILE.lock``.
"""

import bz2
import gzip
import json
import lzma
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from discotree.errors import DiscotreeError, TreebankError
from discotree.parsing.output_job import JobIdentity, lock_output, unlock_output

PART, PROGRESS, LOCK = ".part", ".progress", ".lock"

# Every window is compressed by itself: decompressors read the members one after the other as one file.
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


class SentenceCounts(NamedTuple):
    """How many sentences of the input are done, and what became of them."""

    done: int = 0
    written: int = 0
    failed: int = 0


class Sink(Protocol):
    """Where sentences go. ``counts`` include what an earlier run has written."""

    counts: SentenceCounts
    is_file: bool

    def write(self, text: str, counts: SentenceCounts) -> None:
        """Write some sentences; ``counts`` are those after them."""

    def finish(self, footer: str) -> None:
        """Complete the output."""

    def stop(self, footer: str) -> str:
        """Leave an incomplete output in order; return how much was written and how to resume."""


class StreamSink:
    """Standard output, a pipe or a device."""

    is_file = False

    def __init__(self, stream: BinaryIO, header: str) -> None:
        self.stream = stream
        self.header = header
        self.counts = SentenceCounts()

    def write(self, text: str, counts: SentenceCounts) -> None:
        self.stream.write((self.header + text).encode())
        self.stream.flush()
        self.header = ""
        self.counts = counts

    def finish(self, footer: str) -> None:
        self.write(footer, self.counts)
        if self.stream is not sys.stdout.buffer:
            self.stream.close()

    def stop(self, footer: str) -> str:
        if not self.stream.closed:
            with suppress(OSError):  # the stream may be the reason to stop
                self.finish(footer)
        return f"{self.counts.written:,} sentences were written"


class ResumableFile:
    """A file that appears when it is complete."""

    is_file = True

    def __init__(self, path: str, header: str, job: Mapping[str, object], resume: bool) -> None:
        """``job`` is what a run that resumes must have in common with the one that began."""
        self.path = Path(os.path.realpath(path))
        self.part = self.path.with_name(self.path.name + PART)
        self.header = header
        self.compress = next((pack for suffix, pack in COMPRESSORS.items() if path.lower().endswith(suffix)), bytes)
        self.length = 0
        self.counts = SentenceCounts()
        identity = JobIdentity.of(job)
        with ExitStack() as undo:
            try:
                self.lock = lock_output(str(self.path) + LOCK, path)
                undo.callback(unlock_output, self.lock)
                journal = open(self.path.with_name(self.path.name + PROGRESS), "a+b", buffering=0)  # noqa: SIM115
                self.journal = undo.enter_context(journal)
                begun = self._recall()
                if begun is not None:
                    self._check(identity, begun, resume)
                self.stream = open(self.part, "wb" if begun is None else "r+b", buffering=0)  # noqa: SIM115
            except OSError as error:
                raise TreebankError(f"cannot be written: {error.strerror or error}", path) from None
            undo.pop_all()
        self._truncate()
        if begun is None:
            self._note(identity.to_json())

    def _recall(self) -> JobIdentity | None:
        """Find the last entry that ``FILE.part`` lives up to, and drop those after it; return the job that began."""
        size = self.part.stat().st_size if self.part.exists() else -1
        begun = None
        offset = end = 0
        self.journal.seek(0)
        for line in self.journal.read().split(b"\n")[:-1]:
            try:
                entry = JobIdentity.from_json(line) if begun is None else json.loads(line)
            except ValueError:  # torn by a power cut
                break
            offset += len(line) + 1
            if isinstance(entry, JobIdentity):
                begun = entry
            elif entry[-1] <= size:
                self.counts, self.length, end = SentenceCounts(*entry[:-1]), entry[-1], offset
        self.journal.truncate(end)
        return begun if end else None

    def _check(self, identity: JobIdentity, begun: JobIdentity, resume: bool) -> None:
        if not resume:
            raise DiscotreeError(
                f"{self.part} holds {self.counts.written:,} sentences of an interrupted run: "
                "resume it with --resume, or remove the file"
            )
        identity.check(str(self.part), begun, "remove the file to start again")

    def write(self, text: str, counts: SentenceCounts) -> None:
        if text:
            self._put(text)
            self.length = self.stream.tell()
        self.counts = counts
        self._note(json.dumps([*counts, self.length]).encode() + b"\n")

    def finish(self, footer: str) -> None:
        if footer or not self.length:
            self._put(footer)
        self.stream.close()
        os.replace(self.part, self.path)
        self._close(remove_journal=True)

    def stop(self, footer: str) -> str:
        """Write the footer after the last whole sentence; a run that resumes cuts it off again."""
        if self.journal.closed:
            return f"all {self.counts.written:,} sentences are in {self.path}"
        if self.stream.closed:
            self.stream = open(self.part, "r+b", buffering=0)  # noqa: SIM115
        self._truncate()
        if not self.counts.done:
            self.stream.close()
            self.part.unlink()
            self._close(remove_journal=True)
            return "nothing was written"
        with suppress(OSError):  # a full disk may be the reason to stop
            if footer:
                self._put(footer)
        self.stream.close()
        self._close(remove_journal=False)
        return f"{self.counts.written:,} sentences are in {self.part}; the same command with --resume goes on"

    def _truncate(self) -> None:
        """Cut off whatever the journal does not know of."""
        self.stream.seek(self.length)
        self.stream.truncate()

    def _put(self, text: str) -> None:
        data = self.compress((text if self.length else self.header + text).encode())
        while data:
            data = data[self.stream.write(data) :]
        os.fsync(self.stream.fileno())

    def _note(self, entry: bytes) -> None:
        self.journal.write(entry)
        os.fsync(self.journal.fileno())

    def _close(self, remove_journal: bool) -> None:
        self.journal.close()
        if remove_journal:
            os.unlink(self.journal.name)
        unlock_output(self.lock)
