"""Raw text → sentences: drawn by a seed, without those of dev and test, without repeats, in a random order.

Every line draws a number, divided by how often its file counts (``TEXT*8``); the lines with the smallest ones are
chosen. So one pass over the text is enough, and the lines that wait in memory are bounded by the sentences asked for.
"""

import hashlib
import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discotree import text
from discotree.config import Distillation
from discotree.errors import ConfigError, TreebankError
from discotree.parsing.output_job import JobIdentity
from discotree.training.distillation.shards import SHARD_SENTENCES, TEXT, Sentences, SentenceShards
from discotree.training.pretraining.held_out import HeldOut, HeldOutSentence
from discotree.training.pretraining.texts import line_blocks
from discotree.training.text_sources import TextSource

SENTENCE_BYTES = 300  # bytes of text that wait for every sentence asked for: long sentences, and some to leave out
LINES = 1000  # lines that are searched for held-out sentences at once
HELD_OUT = "held-out sentences"  # the fact that names them
CHOICE = ("sentences", "seed", "min_words", "max_words", "hold_out_words")  # settings that decide on sentences

TextReport = Callable[[str, int, int], None]
"""Gets what is being done, how much of it is done, and how much there is to do."""


@dataclass(frozen=True, eq=False)
class SentenceJob:
    """Text whose sentences are wanted."""

    texts: Sequence[TextSource]
    language: str
    settings: Distillation
    held_out: Sequence[tuple[str, Sequence[HeldOutSentence]]]  # each set with the name of its recipe or treebank

    def __post_init__(self) -> None:
        if self.language not in text.LANGUAGES:
            known = ", ".join(text.LANGUAGES)
            raise ConfigError(f"language: expected one whose rules split text ({known}), got {self.language!r}")
        if self.settings.min_words > self.settings.max_words:
            raise ConfigError("distillation.min_words: expected at most distillation.max_words")

    def facts(self) -> dict[str, Any]:
        """Return what tells texts apart."""
        settings = asdict(self.settings)
        return {
            "text": [[source.name, source.repeat, source.sha256()] for source in self.texts],
            "language": self.language,
            HELD_OUT: [[name, checksum_of(sentences)] for name, sentences in self.held_out],
            **{f"distillation.{name}": settings[name] for name in CHOICE},
        }


def checksum_of(sentences: Sequence[HeldOutSentence]) -> str:
    """Return what tells sets of sentences apart."""
    lines = sorted("\t".join(sentence.words) for sentence in sentences)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()


def prepare_sentences(job: SentenceJob, folder: Path, report: TextReport) -> SentenceShards:
    """Fill a folder with the sentences of a text, or open it if that was done before."""
    shards = SentenceShards(folder, TEXT)
    facts = job.facts()
    shards.begin(JobIdentity.of(facts))
    if shards.is_complete:
        return shards
    counts = {"sentences": 0, "words": 0, "held_out": 0, "repeated": 0, "length": 0}
    number = 0
    part: list[list[str]] = []
    for words in _sentences(job, chosen_lines(job, report), counts):
        part.append(words)
        counts["sentences"] += 1
        counts["words"] += len(words)
        if len(part) == SHARD_SENTENCES:
            shards.write_shard(number, Sentences.of(part).arrays())
            number, part = number + 1, []
        if counts["sentences"] % LINES == 0:
            report("tokenising", counts["sentences"], job.settings.sentences)
        if counts["sentences"] == job.settings.sentences:
            break
    if part:
        shards.write_shard(number, Sentences.of(part).arrays())
        number += 1
    if not counts["sentences"]:
        raise TreebankError("there is no text to learn from", ", ".join(source.path for source in job.texts))
    shards.finish({"facts": facts, "shards": number, **counts})
    return shards


def chosen_lines(job: SentenceJob, report: TextReport) -> Iterator[str]:
    """Yield the chosen lines of a text in the order of the numbers that they drew."""
    budget = job.settings.sentences * SENTENCE_BYTES
    chosen: list[tuple[float, int, bytes]] = []  # a heap of the negative draws: the first one is the next to go
    size = count = done = 0
    total = sum(Path(source.path).stat().st_size for source in job.texts)

    def on_bytes(read: int) -> None:
        nonlocal done
        done += read
        report("reading text", done, total)

    for place, source in enumerate(job.texts):
        random = np.random.default_rng([job.settings.seed, place])
        for block in line_blocks(source, on_bytes):
            draws = random.exponential(1 / source.repeat, len(block.lines))
            for draw, line in zip(draws.tolist(), block.lines, strict=True):
                count += 1
                if (size > budget and draw >= -chosen[0][0]) or not line.strip():
                    continue
                content = line.encode("utf-8")
                heapq.heappush(chosen, (-draw, -count, content))
                size += len(content)
                while size > budget and size - len(chosen[0][2]) > budget:
                    size -= len(heapq.heappop(chosen)[2])
    chosen.sort(reverse=True)
    for _, _, content in chosen:
        yield content.decode("utf-8")


def _sentences(job: SentenceJob, lines: Iterator[str], counts: dict[str, int]) -> Iterator[list[str]]:
    """Yield the sentences of lines; count what is left out: held-out ones, repeats, too short and too long ones."""
    held_out = HeldOut([sentence for _, group in job.held_out for sentence in group], job.settings.hold_out_words)
    seen: set[bytes] = set()
    for group in _grouped(lines):
        hidden = {found.line for found in held_out.search(group)}
        counts["held_out"] += len(hidden)
        found = [
            [word.form for word in words]
            for number, line in enumerate(group)
            if number not in hidden
            for words in text.sentences(line, job.language)
        ]
        # Inside a line, a short held-out sentence is told only now.
        hidden = {hit.line for hit in held_out.search([" ".join(words) for words in found])}
        counts["held_out"] += len(hidden)
        for number, words in enumerate(found):
            if number in hidden:
                continue
            if not job.settings.min_words <= len(words) <= job.settings.max_words:
                counts["length"] += 1
                continue
            digest = hashlib.blake2b(" ".join(words).encode("utf-8"), digest_size=8).digest()
            if digest in seen:
                counts["repeated"] += 1
                continue
            seen.add(digest)
            yield words


def _grouped(lines: Iterator[str]) -> Iterator[list[str]]:
    group: list[str] = []
    for line in lines:
        group.append(line)
        if len(group) == LINES:
            yield group
            group = []
    if group:
        yield group
