"""The journal of an annotation project: a file of JSON lines that only grows (see ``files/jobs.py``).

The writer holds a lock, ``FILE.lock``; readers need none. The first key of a line tells its kind:

    {"discotree": "0.3.0", "annotation": 1, …}                           the first line; "double": see below
    {"model": 1, "name": "nl", "fingerprint": …, "time": …, "who": …}    the model for the following predictions
    {"sentence": 7, "model": 1, "confidence": 0.8, "input": …, "tree": {…}}    the prediction for a sentence
    {"step": 12, "sentence": 7, "action": "correct", "time": …, "who": …, "replaces": 0, "tree": {…}}
    {"read": 4000}                                                       the number of sentences in the whole input
    {"scores": {…}, "model": 1, "held_out": …, "gold": …, "finished": 100, "time": …}

Sentences, models and steps are counted from 1. A sentence that another model parses again has a second line. "input" is
a checksum of all sentences up to this one. "replaces" is the step that the state of the sentence came from before, or 0
for the prediction; undoing a step restores that state.

If the first line has a share "double", two annotators annotate that share of the sentences (see
``project.is_double``), and each of them has a separate state. The step that completes the second tree says whether it
"agrees" with the first one. If not, the action "adjudicate" decides.
"""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any, Literal

from discotree.errors import DiscotreeError, InputError, TreebankError
from discotree.files import jobs
from discotree.files.jobs import BLOCK_BYTES, JobLock, parse_head
from discotree.files.writing import is_compressed
from discotree.treebanks.json_lines import json_line

Action = Literal["accept", "correct", "skip", "reopen", "comment", "undo", "adjudicate"]
Status = Literal["open", "accepted", "corrected", "skipped", "failed", "differing", "adjudicated"]
Order = Literal["unsure", "given"]
MAX_NAME_CHARACTERS = 100
Entry = dict[str, Any]  # a line of the journal


def now() -> str:
    """Return the current time in UTC, as in journals."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def normalise_name(who: str) -> str:
    """Return the name of an annotator with single spaces; raise an InputError if it is not a name."""
    name = " ".join(who.split())
    if not name or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        maximum = f"at most {MAX_NAME_CHARACTERS} printable characters"
        raise InputError(f"annotator name required ({maximum}), got {who!r:.120}")
    return name


KIND = "an annotation journal"
FORMAT_KEY = "annotation"  # key of the format's version in the first line
FORMATS = (1, 2)  # 2 if sentences are annotated twice, which earlier versions of discotree cannot do
LOCK = ".lock"
PREDICTED = re.compile(rb'\{"sentence": (\d+), "model": (\d+), "confidence": (-?[\d.e-]+)(?:, "input": "(\w+)")?')


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is the journal of an annotation."""
    with suppress(OSError, ValueError):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return FORMAT_KEY in parse_head(file.readline(BLOCK_BYTES))
    return False


class Journal(jobs.Journal):
    """The file. Its lines are addressed by their offsets."""

    def __init__(self, path: str, head: Mapping[str, object] | None = None, read_only: bool = False) -> None:
        """Open a journal, or create one with this head."""
        target = os.path.realpath(path)
        self.lock: JobLock | None = None
        try:
            if read_only:
                head = None
            else:
                self.lock = JobLock(target + LOCK, path)
            head = None if head is None else {FORMAT_KEY: 2 if head.get("double") else 1, **head}
            super().__init__(target, KIND, head, name=path, read_only=read_only)
            if self.head.get(FORMAT_KEY) not in FORMATS:
                self.file.close()
                if FORMAT_KEY not in self.head:
                    raise jobs.name_conflict(path, KIND)
                raise DiscotreeError(f"{path}: written by a newer version of discotree; upgrade to open it")
        except (OSError, DiscotreeError) as error:
            self._unlock()
            if isinstance(error, DiscotreeError):
                raise
            raise TreebankError(f"cannot open the journal: {error.strerror or error}", path) from None

    def _create(self, head: Mapping[str, object]) -> None:
        if is_compressed(self.path):
            raise TreebankError(
                "a journal is appended to, so it cannot be compressed; choose a name without the suffix", self.name
            )
        super()._create(head)

    def _encode(self, entry: Mapping[str, object]) -> bytes:
        return json_line(entry).encode()

    def _is_surely_intact(self, line: bytes) -> bool:
        """Recognise predicted trees, which are many: they are parsed when needed."""
        return line.endswith(b"}\n") and b"\0" not in line and PREDICTED.match(line) is not None

    def append(self, entries: Sequence[Mapping[str, Any]]) -> list[int]:
        """Write lines and return their offsets when they are on the disk; an error leaves the file as it was."""
        try:
            return super().append(entries)
        except (OSError, ValueError) as error:
            raise TreebankError(f"cannot save: {getattr(error, 'strerror', None) or error}", self.name) from None

    def close(self) -> None:
        super().close()
        self._unlock()

    def _unlock(self) -> None:
        if self.lock is not None:
            self.lock.release()
            self.lock = None
