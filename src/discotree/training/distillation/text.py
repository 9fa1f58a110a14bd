"""Draw sentences from raw text and store them, with the teachers' targets, as shards in a folder.

    job.json                     the fingerprint of the job that fills the folder; written first
    shard-00000.safetensors …    some thousand sentences each, written atomically
    text.json or targets.json    sizes and names; written last

Arrays of a shard, for S sentences, T words and k classes stored per word:
    forms       the distinct words in UTF-8, separated by line ends
    form        (T,) number of the word
    lengths     (S,)
Targets add:
    head        (T,) the head decoded from the teachers' mean, as a column: 0 is the dummy root
    confidence  (T,) probability of that head and of its best label, in steps of 1/255
    agreement   (T,) number of teachers whose own best head it is
    NAME.ids    (T, k) the most probable heads, labels given that head, and classes of auxiliary heads
    NAME.p      (T, k) their probabilities, in steps of 1/255

Every line draws a random number, divided by the weight of its file (``TEXT*8``); the lines with the smallest numbers
are chosen. One pass over the text is enough, and the lines held in memory are bounded by the number of sentences.
"""

import hashlib
import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from discotree import text
from discotree.config.schema import Distillation
from discotree.errors import ConfigError, ModelError, TreebankError, first_line
from discotree.files.jobs import Fingerprint
from discotree.files.reading import read_regular_file
from discotree.files.writing import write_bytes
from discotree.network.arrays import Array
from discotree.network.transformer import MAX_FILE_BYTES
from discotree.training.held_out import HeldOut, HeldOutSentence
from discotree.training.text_sources import TextReport, TextSource, byte_counter

JOB, TEXT, TARGETS = "job.json", "text.json", "targets.json"
SHARD_SENTENCES = 8192
STEPS = 255  # a probability is stored as a whole number of these steps
REMEDY = "repeat the earlier command, or choose another folder"

Arrays = dict[str, Array]


def smallest_type(count: int) -> "np.dtype[Any]":
    """Return the smallest unsigned integer type for numbers below ``count``."""
    return np.dtype(next(kind for kind in ("<u1", "<u2", "<u4", "<u8") if count <= 1 << 8 * np.dtype(kind).itemsize))


def to_arrays(sentences: Sequence[Sequence[str]]) -> Arrays:
    """Return the arrays of a shard for the words of sentences."""
    ids: dict[str, int] = {}
    numbers = [ids.setdefault(word, len(ids)) for words in sentences for word in words]
    return {
        "forms": np.frombuffer("\n".join(ids).encode("utf-8"), np.uint8),
        "form": np.array(numbers, smallest_type(len(ids))),
        "lengths": np.array([len(words) for words in sentences], smallest_type(1 << 16)),
    }


def forms_of(arrays: Arrays) -> list[str]:
    """Return the distinct words of a shard."""
    return arrays["forms"].tobytes().decode("utf-8").split("\n")


@dataclass(frozen=True)
class SentenceShards:
    """A folder that a job fills with shards."""

    path: Path
    summary: str  # name of the file that is written when all shards are complete

    @property
    def is_complete(self) -> bool:
        return (self.path / self.summary).exists()

    def shard(self, number: int) -> Path:
        return self.path / f"shard-{number:05d}.safetensors"

    def begin(self, fingerprint: Mapping[str, object]) -> None:
        """Start or resume a job in the folder; refuse the folder of another job."""
        self.path.mkdir(parents=True, exist_ok=True)
        Fingerprint(fingerprint).claim(self.path / JOB, REMEDY)
        for path in self.path.glob("*.tmp"):  # left by killed processes
            path.unlink()

    def write_shard(self, number: int, arrays: Mapping[str, Array]) -> None:
        """Write a shard, atomically."""
        write_bytes(self.shard(number), save({name: np.ascontiguousarray(value) for name, value in arrays.items()}))

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Mark the folder as complete."""
        write_bytes(self.path / self.summary, json.dumps(summary, indent=1, ensure_ascii=False).encode() + b"\n")

    def read_summary(self) -> dict[str, Any]:
        """Return the summary of a complete folder."""
        path = self.path / self.summary
        try:
            return dict(json.loads(read_regular_file(path, MAX_FILE_BYTES)))
        except (OSError, ValueError, TypeError) as error:
            raise ModelError(f"{path}: cannot be read: {first_line(error)}") from None

    def read_shard(self, number: int) -> Arrays:
        """Return the arrays of a shard."""
        path = self.shard(number)
        try:
            arrays: Arrays = load(path.read_bytes())
        except (OSError, SafetensorError) as error:
            raise ModelError(f"{path}: cannot be read; remove the folder to start over: {first_line(error)}") from None
        return arrays

    def shards(self) -> Iterator[Arrays]:
        for number in range(int(self.read_summary()["shards"])):
            yield self.read_shard(number)


SENTENCE_BYTES = 300  # text kept in memory per requested sentence; enough for long sentences and rejected ones
LINES = 1000  # lines searched for held-out sentences at a time
HELD_OUT = "held-out sentences"  # key in the fingerprint
CHOICE = ("sentences", "seed")  # settings that decide on the sentences
MIN_WORDS, MAX_WORDS = 2, 60  # of a sentence; others are left out


@dataclass(frozen=True, eq=False)
class SentenceJob:
    """The text from which sentences are drawn, and the sentences to hold out."""

    texts: Sequence[TextSource]
    language: str
    settings: Distillation
    held_out: Sequence[tuple[str, Sequence[HeldOutSentence]]]  # each set with the name of its recipe or treebank

    def __post_init__(self) -> None:
        if self.language not in text.LANGUAGES:
            known = ", ".join(text.LANGUAGES)
            raise ConfigError(f"language: expected one with rules for raw text ({known}), got {self.language!r}")

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings and inputs of the job."""
        settings = asdict(self.settings)
        return {
            "text": [[source.name, source.repeat, source.sha256()] for source in self.texts],
            "language": self.language,
            HELD_OUT: [[name, checksum_of(sentences)] for name, sentences in self.held_out],
            **{f"distillation.{name}": settings[name] for name in CHOICE},
        }


def checksum_of(sentences: Sequence[HeldOutSentence]) -> str:
    """Return a checksum of the words of sentences, regardless of their order."""
    lines = sorted("\t".join(sentence.words) for sentence in sentences)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()


def prepare_sentences(job: SentenceJob, folder: Path, report: TextReport) -> SentenceShards:
    """Draw sentences and store them in a folder, or open the folder if it is complete."""
    shards = SentenceShards(folder, TEXT)
    fingerprint = job.fingerprint()
    shards.begin(fingerprint)
    if shards.is_complete:
        return shards
    counts = {"sentences": 0, "words": 0, "held_out": 0, "repeated": 0, "length": 0}
    chosen: list[bytes] = []
    for words in islice(_filter_sentences(job, draw_lines(job, report), counts), job.settings.sentences):
        chosen.append("\n".join(words).encode("utf-8"))
        counts["words"] += len(words)
        if not len(chosen) % SHARD_SENTENCES:
            report("tokenising", len(chosen), job.settings.sentences)
    if not chosen:
        raise TreebankError("no sentences left to train on", ", ".join(source.path for source in job.texts))
    # Lines of files with a high weight are drawn first; shuffling mixes the files in every shard.
    order = np.random.default_rng(job.settings.seed).permutation(len(chosen)).tolist()
    starts = range(0, len(chosen), SHARD_SENTENCES)
    for number, start in enumerate(starts):
        part = [chosen[position].decode("utf-8").split("\n") for position in order[start : start + SHARD_SENTENCES]]
        shards.write_shard(number, to_arrays(part))
    counts["sentences"] = len(chosen)
    shards.finish({"facts": fingerprint, "shards": len(starts), **counts})
    return shards


def draw_lines(job: SentenceJob, report: TextReport) -> Iterator[str]:
    """Draw lines at random, as many as memory allows for; yield them in the order of their draws."""
    budget = job.settings.sentences * SENTENCE_BYTES
    chosen: list[tuple[float, int, bytes]] = []  # a heap of negative draws: the first one is dropped next
    size = count = 0
    on_bytes = byte_counter(report, "reading text", sum(source.size for source in job.texts))
    for position, source in enumerate(job.texts):
        random = np.random.default_rng([job.settings.seed, position])
        for _, lines in source.blocks(on_bytes):
            draws = random.exponential(1 / source.repeat, len(lines))
            for draw, line in zip(draws.tolist(), lines, strict=True):
                count += 1
                if (size > budget and draw >= -chosen[0][0]) or not line.strip():
                    continue
                content = line.encode("utf-8")
                heapq.heappush(chosen, (-draw, -count, content))
                size += len(content)
                while size > budget and size - len(chosen[0][2]) > budget:
                    size -= len(heapq.heappop(chosen)[2])
    for _, _, content in sorted(chosen, reverse=True):
        yield content.decode("utf-8")


def _filter_sentences(job: SentenceJob, lines: Iterator[str], counts: dict[str, int]) -> Iterator[list[str]]:
    """Yield the sentences of lines without held-out, repeated, short and long ones, which are counted."""
    held_out = HeldOut([sentence for _, group in job.held_out for sentence in group])
    seen: set[bytes] = set()
    while group := list(islice(lines, LINES)):
        hidden = {line for line, _ in held_out.search(group)}
        counts["held_out"] += len(hidden)
        candidates = [
            [word.form for word in words]
            for number, line in enumerate(group)
            if number not in hidden
            for words in text.sentences(line, job.language)
        ]
        # A short held-out sentence inside a line is recognised only after the line has been split.
        hidden = {line for line, _ in held_out.search([" ".join(words) for words in candidates])}
        counts["held_out"] += len(hidden)
        for number, words in enumerate(candidates):
            if number in hidden:
                continue
            if not MIN_WORDS <= len(words) <= MAX_WORDS:
                counts["length"] += 1
                continue
            digest = hashlib.blake2b(" ".join(words).encode("utf-8"), digest_size=8).digest()
            if digest in seen:
                counts["repeated"] += 1
                continue
            seen.add(digest)
            yield words
