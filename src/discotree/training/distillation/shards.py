"""Sentences of raw text, and what teachers make of them, as shards in a folder.

    job.json                     which job fills the folder; written first
    shard-00000.safetensors …    some thousand sentences each, written whole or not at all
    text.json or targets.json    sizes and names; written last

Arrays of a shard, for S sentences, T words and k classes that are kept of every word:
    forms       the distinct words in UTF-8, with line ends between them
    form        (T,) number of the word
    lengths     (S,)
Targets add:
    head        (T,) the head that all teachers together decide on, as a column: 0 is the dummy root
    confidence  (T,) probability of that head and of its best label, in steps of 1/255
    agreement   (T,) teachers whose own best head it is
    NAME.ids    (T, k) the most probable heads, labels given that head, and classes of auxiliary heads
    NAME.p      (T, k) their probabilities, in steps of 1/255
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from discotree.encoding.plain_files import read_plain
from discotree.errors import DiscotreeError, ModelError, first_line
from discotree.files.writing import writable
from discotree.network.untrusted import MAX_FILE_BYTES
from discotree.parsing.output_job import JobIdentity, lock_output, unlock_output

JOB, TEXT, TARGETS, LOCK = "job.json", "text.json", "targets.json", ".lock"
SHARD_SENTENCES = 8192
STEPS = 255  # a probability is stored as a whole number of these steps
REMEDY = "repeat the command of that run, or choose another folder"

Array = npt.NDArray[Any]
Arrays = dict[str, Array]


def smallest(count: int) -> "np.dtype[Any]":
    """Return the smallest type of whole numbers below ``count``."""
    return np.dtype(next(kind for kind in ("<u1", "<u2", "<u4", "<u8") if count <= 1 << 8 * np.dtype(kind).itemsize))


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences as numbers of distinct words."""

    forms: Sequence[str]
    form: Array  # (T,)
    lengths: Array  # (S,)

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]]) -> "Sentences":
        """Number the words of sentences."""
        ids: dict[str, int] = {}
        numbers = [ids.setdefault(word, len(ids)) for words in sentences for word in words]
        lengths = np.array([len(words) for words in sentences], smallest(1 << 16))
        return cls(list(ids), np.array(numbers, smallest(len(ids))), lengths)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Sentences":
        """Return the sentences of a shard; a ValueError says that it holds none."""
        forms = arrays["forms"].tobytes().decode("utf-8").split("\n")
        form, lengths = arrays["form"], arrays["lengths"]
        if form.ndim != 1 or lengths.ndim != 1 or int(lengths.sum()) != len(form) or not lengths.all():
            raise ValueError("words and lengths of sentences do not fit")
        if len(form) and int(form.max()) >= len(forms):
            raise ValueError("a word has no name")
        return cls(forms, form, lengths)

    def arrays(self) -> Arrays:
        forms = np.frombuffer("\n".join(self.forms).encode("utf-8"), np.uint8)
        return {"forms": forms, "form": self.form, "lengths": self.lengths}

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class SentenceShards:
    """A folder that a job fills with shards."""

    path: Path
    summary: str  # name of the file that is written last

    @property
    def is_complete(self) -> bool:
        return (self.path / self.summary).exists()

    def shard(self, number: int) -> Path:
        return self.path / f"shard-{number:05d}.safetensors"

    def begin(self, identity: JobIdentity) -> None:
        """Make the folder ready for a job, new or resumed; one of another job is refused."""
        self.path.mkdir(parents=True, exist_ok=True)
        job = self.path / JOB
        if job.exists():
            try:
                begun = JobIdentity.from_json(read_plain(job, MAX_FILE_BYTES))
            except (OSError, ValueError):
                raise DiscotreeError(f"{job}: does not say which job this is; choose another folder") from None
            identity.check(str(self.path), begun, REMEDY)
        elif any(self.path.glob("shard-*")):
            raise DiscotreeError(f"{self.path}: holds shards of no job of ours; choose another folder")
        else:
            _write(job, identity.to_json(1))
        for path in self.path.glob("*.tmp"):  # what killed processes have left
            path.unlink()

    def write_shard(self, number: int, arrays: Mapping[str, Array]) -> None:
        """Write a shard, whole or not at all."""
        _write(self.shard(number), save({name: np.ascontiguousarray(value) for name, value in arrays.items()}))

    def finish(self, about: Mapping[str, Any]) -> None:
        """Say that all shards are there."""
        _write(self.path / self.summary, json.dumps(about, indent=1, ensure_ascii=False).encode() + b"\n")

    def about(self) -> dict[str, Any]:
        """Return what was written when the folder was complete."""
        path = self.path / self.summary
        try:
            table = json.loads(read_plain(path, MAX_FILE_BYTES))
            if not isinstance(table["shards"], int) or not isinstance(table["facts"], dict):
                raise ValueError("the number of shards or the facts are missing")
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise ModelError(f"{path}: cannot be read: {first_line(error)}") from None
        return dict(table)

    def read_shard(self, number: int) -> Arrays:
        """Return the arrays of a shard."""
        path = self.shard(number)
        try:
            arrays: Arrays = load(path.read_bytes())
            Sentences.from_arrays(arrays)
        except (OSError, SafetensorError, ValueError, KeyError) as error:
            raise ModelError(f"{path}: cannot be read; remove the folder to start over: {first_line(error)}") from None
        return arrays

    def shards(self) -> Iterator[Arrays]:
        for number in range(int(self.about()["shards"])):
            yield self.read_shard(number)


class locked:
    """Keep other processes out of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lock = lock_output(str(self.folder / LOCK), str(self.folder))

    def __exit__(self, *_: object) -> None:
        unlock_output(self.lock)


def _write(path: Path, content: bytes) -> None:
    with writable(str(path)) as stream:
        stream.write(content)
