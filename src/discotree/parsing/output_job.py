"""What resumable outputs share: one process writes at a time, and only the job that began an output resumes it.

``discotree parse -o FILE`` (resumable.py) and ``discotree bulk -o FOLDER`` (integrations/bulk/shards.py) build on this.
"""

import errno
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from discotree.errors import DiscotreeError

MAX_VALUE_CHARACTERS = 60  # of a value in a message


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
            return cls(dict(json.loads(raw)))
        except (ValueError, TypeError):
            raise ValueError("this is not the description of a job") from None

    def to_json(self, indent: int | None = None) -> bytes:
        return json.dumps(self.facts, indent=indent, ensure_ascii=False).encode() + b"\n"

    def check(self, output: str, begun: "JobIdentity", remedy: str) -> None:
        """Refuse an output that another job began."""
        for name, value in self.facts.items():
            if begun.facts.get(name) != value:
                old, new = (f"{shown!r:.{MAX_VALUE_CHARACTERS}}" for shown in _differing(begun.facts.get(name), value))
                raise DiscotreeError(f"{output} belongs to another job: {name} was {old} and is {new}; {remedy}")


def _differing(old: Any, new: Any) -> tuple[Any, Any]:
    """Return what to show of two values: of two lists the first entries that differ."""
    if not isinstance(old, list) or not isinstance(new, list):
        return old, new
    pairs = zip([*old, None], [*new, None], strict=False)
    return next(((one, other) for one, other in pairs if one != other), (old, new))


def lock_output(path: str, output: str) -> BaseFileLock:
    """Keep other processes away from an output; the lock ends with this process, however that ends.

    ``path`` is the lock's file, in a folder that exists.
    """
    if not os.path.isdir(os.path.dirname(path) or os.curdir):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)  # the library would make the folder
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise DiscotreeError(f"{output}: another process is writing it") from None
    return lock


def unlock_output(lock: BaseFileLock) -> None:
    """Release a lock and remove its file."""
    with suppress(OSError):  # Windows removes it on release
        os.unlink(lock.lock_file)
    lock.release()
