"""What resumable outputs share: one process writes at a time, and only the job that began an output resumes it.

``discotree parse -o FILE`` (resumable.py) and ``discotree bulk -o FOLDER`` (integrations/bulk/shards.py) build on this.
"""

import errno
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from discotree.errors import DiscotreeError

if TYPE_CHECKING:
    from filelock import BaseFileLock

MAX_VALUE_CHARACTERS = 60  # longer values are shortened in messages
MAX_IDENTITY_BYTES = 2**28  # a job of a million files has fewer
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows has no such flag


@dataclass(frozen=True)
class JobIdentity:
    """What a job is: its input, model and options. A run resumes an output only if all of this is the same."""

    facts: Mapping[str, Any]

    @classmethod
    def of(cls, facts: Mapping[str, object]) -> "JobIdentity":
        """Return the identity as it comes back from a file: tuples are lists there."""
        return cls(json.loads(json.dumps(facts)))

    @classmethod
    def from_json(cls, raw: bytes) -> "JobIdentity":
        """Read an identity; a ValueError says that this is none."""
        try:
            facts = json.loads(raw)
        except (ValueError, RecursionError):
            facts = None
        if not isinstance(facts, dict):
            raise ValueError("this is not the description of a job")
        return cls(facts)

    def to_json(self, indent: int | None = None) -> bytes:
        return json.dumps(self.facts, indent=indent, ensure_ascii=False).encode() + b"\n"

    def check(self, output: str, begun: "JobIdentity", remedy: str) -> None:
        """Refuse an output that another job began."""
        for name, value in self.facts.items():
            if begun.facts.get(name) != value:
                old, new = map(_shortened, _differing(begun.facts.get(name), value))
                raise DiscotreeError(f"{output} belongs to another job: {name} was {old} and is {new}; {remedy}")


def _differing(old: Any, new: Any) -> tuple[Any, Any]:
    """Return what to show of two values: of two lists the first entries that differ."""
    if not isinstance(old, list) or not isinstance(new, list):
        return old, new
    pairs = zip([*old, None], [*new, None], strict=False)
    return next(((one, other) for one, other in pairs if one != other), (old, new))


def _shortened(value: object) -> str:
    """Return a value as text, without its middle if it is long: long values often differ at their ends."""
    text = repr(value)
    half = MAX_VALUE_CHARACTERS // 2
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[:half]}…{text[-half:]}"


def foreign(path: str | os.PathLike[str], kind: str) -> DiscotreeError:
    """Return the error for a file that is in the way of one of ours."""
    return DiscotreeError(f"{os.fspath(path)}: is not {kind} of discotree: move it away, or choose another output")


def is_there(path: str | os.PathLike[str], kind: str) -> bool:
    """Return whether a file exists that can be ours; refuse links and whatever else is no file with one name."""
    try:
        about = os.lstat(path)
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
        raise foreign(path, kind)
    return True


def open_own(path: str | os.PathLike[str], mode: str) -> BinaryIO:
    """Open a file of ours without a buffer and without following a link."""
    return cast(BinaryIO, open(path, mode, 0, opener=lambda name, flags: os.open(name, flags | NOFOLLOW, 0o666)))


def lock_output(path: str, output: str) -> "BaseFileLock":
    """Keep other processes away from an output; the lock ends with this process, however that ends.

    ``path`` is the lock's file, in a folder that exists. A lock is an empty file: any other is left alone.
    """
    from filelock import FileLock, Timeout

    if is_there(path, "a lock") and os.path.getsize(path):
        raise foreign(path, "a lock")
    if not os.path.isdir(os.path.dirname(path) or os.curdir):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)  # the library would make the folder
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise DiscotreeError(f"{output}: another process is writing it") from None
    return lock


def unlock_output(lock: "BaseFileLock") -> None:
    """Release a lock and remove its file."""
    with suppress(OSError):  # Windows removes it on release
        os.unlink(lock.lock_file)
    lock.release()
