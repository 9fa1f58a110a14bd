"""Output that survives whatever ends the process, and resumes from there.

A run writes to ``FILE.part``, window by window, and keeps a journal in ``FILE.progress``: first the identity of the
job, then for every window the numbers of sentences done, written and failed, a fingerprint of those sentences, the
length of ``FILE.part``, and how many sentences went to another file because their trees are uncertain. Each is on the
disk before the next begins. A run that resumes cuts off whatever comes after the last entry, so that no torn sentence
stays. At the end ``FILE.part`` takes the name ``FILE``. The writer holds a lock, ``FILE.lock``.

The journal appears with its first line complete, and before ``FILE.part``. So a ``FILE.progress`` that begins with
anything else, and a ``FILE.part`` without a journal, belong to somebody else, and are left alone.
"""

import bz2
import gzip
import json
import lzma
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from discotree.errors import DiscotreeError, TreebankError
from discotree.files.writing import writable
from discotree.parsing.output_job import (
    MAX_IDENTITY_BYTES,
    JobIdentity,
    foreign,
    is_there,
    lock_output,
    open_own,
    unlock_output,
)
from discotree.version import __version__

PART, PROGRESS, LOCK = ".part", ".progress", ".lock"
MAX_ENTRY_BYTES = 1000
SIGNATURE = "discotree"  # key of the version in the identity, which every journal has

# Every window is compressed by itself: decompressors read the members one after the other as one file.
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


class SentenceCounts(NamedTuple):
    """How many sentences of the input are done, and what became of them. The fingerprint is that of their content.

    Those that count as uncertain are written, too, but not to the output.
    """

    done: int = 0
    written: int = 0
    failed: int = 0
    fingerprint: str = ""
    uncertain: int = 0

    @property
    def shown(self) -> int:
        """How many sentences are in the output."""
        return self.written - self.uncertain


class Sink(Protocol):
    """Where sentences go. ``counts`` include what an earlier run has written."""

    counts: SentenceCounts
    is_file: bool

    def check_input(self, fingerprint: str) -> None:
        """Refuse to resume if the sentences that are done had other content."""

    def write(self, text: str, counts: SentenceCounts) -> None:
        """Write some sentences; ``counts`` are those after them."""

    def finish(self, footer: str) -> None:
        """Complete the output."""

    def stop(self, footer: str) -> str:
        """Leave an incomplete output in order; return how much was written and how to resume."""


class StreamSink:
    """Standard output, a pipe or a device."""

    is_file = False

    def __init__(self, stream: BinaryIO, header: str, shown: Callable[[str], str] = str) -> None:
        """``shown`` makes text fit for the stream."""
        self.stream = stream
        self.header = header
        self.shown = shown
        self.counts = SentenceCounts()

    def check_input(self, fingerprint: str) -> None:
        """Accept any input: nothing is resumed."""

    def write(self, text: str, counts: SentenceCounts) -> None:
        self.stream.write(self.shown(self.header + text).encode())
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
        return f"{self.counts.shown:,} sentences were written"


class ResumableFile:
    """A file that appears when it is complete."""

    is_file = True

    def __init__(
        self, path: str, header: str, job: Mapping[str, object], resume: bool, beside: "Sink | None" = None
    ) -> None:
        """``job`` is what a run that resumes must have in common with the one that began.

        A file that is written ``beside`` another, window by window before it, resumes where that one does.
        """
        self.most = beside.counts.done if beside else None  # sentences that may be done already
        self.path = Path(os.path.realpath(path))
        self.part = self.path.with_name(self.path.name + PART)
        self.header = header
        self.compress = next((pack for suffix, pack in COMPRESSORS.items() if path.lower().endswith(suffix)), bytes)
        self.length = 0
        self.counts = SentenceCounts()
        identity = JobIdentity.of({SIGNATURE: __version__, **job})
        notes = self.path.with_name(self.path.name + PROGRESS)
        with ExitStack() as undo:
            try:
                self.lock = lock_output(str(self.path) + LOCK, path)
                undo.callback(unlock_output, self.lock)
                end = self._recall(notes, identity, resume)
                if self.most and self.counts.done != self.most:
                    raise DiscotreeError(
                        f"{path}: the interrupted run wrote no such file: give it the one that it wrote, or remove its "
                        "unfinished files to start again"
                    )
                if not end:
                    with writable(str(notes)) as stream:
                        stream.write(identity.to_json())
                self.journal = undo.enter_context(open_own(notes, "r+b"))
                self.journal.seek(end, os.SEEK_SET if end else os.SEEK_END)
                self.journal.truncate()
                self.stream = open_own(self.part, "r+b" if self.part.exists() else "xb")
            except OSError as error:
                raise TreebankError(f"cannot be written: {error.strerror or error}", path) from None
            undo.pop_all()
        self._truncate()

    def _recall(self, notes: Path, identity: JobIdentity, resume: bool) -> int:
        """Find the last entry that ``FILE.part`` lives up to; return where it ends, or 0 if there is none."""
        has_part = is_there(self.part, "the unfinished output")
        if not is_there(notes, "a journal") or not notes.stat().st_size:
            if has_part:
                raise foreign(self.part, "the unfinished output")
            return 0
        size = self.part.stat().st_size if has_part else -1
        with notes.open("rb") as stream:
            begun = _begun(stream.readline(MAX_IDENTITY_BYTES), notes)
            held, end = 0, 0  # sentences in FILE.part, also those that the file beside it does not have yet
            for counts, length, position in _entries(stream, str(notes)):
                if length <= size:
                    held = counts.written
                    if self.most is None or counts.done <= self.most:
                        self.counts, self.length, end = counts, length, position
        if end or held:
            self._check(identity, begun, resume, held)
        return end

    def _check(self, identity: JobIdentity, begun: JobIdentity, resume: bool, held: int) -> None:
        if not resume:
            raise DiscotreeError(
                f"{self.part} holds {held:,} sentences of an interrupted run: "
                "resume it with --resume, or remove the file"
            )
        identity.check(str(self.part), begun, "remove the file to start again")

    def check_input(self, fingerprint: str) -> None:
        if self.counts.done and fingerprint != self.counts.fingerprint:
            raise DiscotreeError(
                f"{self.part} belongs to another input: its first {self.counts.done:,} sentences were others; "
                "remove the file to start again"
            )

    def write(self, text: str, counts: SentenceCounts) -> None:
        if text:
            self._put(text)
        length = self.stream.tell()
        done, written, failed, fingerprint, uncertain = counts
        self._note(json.dumps([done, written, failed, fingerprint, length, uncertain]).encode() + b"\n")
        self.counts, self.length = counts, length

    def finish(self, footer: str) -> None:
        if footer or not self.length:
            self._put(footer)
        self.stream.close()
        os.replace(self.part, self.path)
        self._close(remove_journal=True)

    def stop(self, footer: str) -> str:
        """Write the footer after the last whole sentence; a run that resumes cuts it off again."""
        if self.journal.closed:
            return f"all {self.counts.shown:,} sentences are in {self.path}"
        if self.stream.closed:
            self.stream = open_own(self.part, "r+b")
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
        return f"{self.counts.shown:,} sentences are in {self.part}; the same command with --resume goes on"

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
        while entry:
            entry = entry[self.journal.write(entry) :]
        os.fsync(self.journal.fileno())

    def _close(self, remove_journal: bool) -> None:
        self.journal.close()
        if remove_journal:
            os.unlink(self.journal.name)
        unlock_output(self.lock)


def _begun(line: bytes, notes: Path) -> JobIdentity:
    """Read the first line of a journal."""
    try:
        begun = JobIdentity.from_json(line)
    except ValueError:
        begun = JobIdentity({})
    if SIGNATURE not in begun.facts or not line.endswith(b"\n"):
        raise foreign(notes, "a journal")
    return begun


def _entries(stream: BinaryIO, path: str) -> Iterator[tuple[SentenceCounts, int, int]]:
    """Yield the entries of a journal: the counts, the length of the output, and where the entry ends.

    A power cut may have torn the last entry, which is left out. Any other damage is an error.
    """
    number, done, length = 1, 0, 0
    while line := stream.readline(MAX_ENTRY_BYTES):
        number += 1
        entry = _entry(line)
        if entry is None and not stream.read(1):
            return
        if entry is None or entry[0].done < done or entry[1] < length:
            remedy = f"remove it and the file that ends in {PART} to start again"
            raise TreebankError(f"this is no entry of a journal: {remedy}", path, number)
        done, length = entry[0].done, entry[1]
        yield *entry, stream.tell()


def _entry(line: bytes) -> tuple[SentenceCounts, int] | None:
    try:
        done, written, failed, fingerprint, length, *rest = json.loads(line)
        (uncertain,) = rest or [0]  # runs without --min-confidence have none
    except (ValueError, TypeError, RecursionError):
        return None
    are_counts = all(type(number) is int and number >= 0 for number in (done, written, failed, length, uncertain))
    if not are_counts or not isinstance(fingerprint, str) or not line.endswith(b"\n") or done != written + failed:
        return None
    return SentenceCounts(done, written, failed, fingerprint, uncertain), length
