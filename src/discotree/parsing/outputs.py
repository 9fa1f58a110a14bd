"""The work of `discotree parse`: windows of sentences → trees → text → streams, or files that a run can resume.

A worker turns a window into a text for each sentence, or an error, in this process or in several. Results come in the
order of the windows.

A file is a header, sentences, and a footer. The text of a sentence depends only on the sentence and its number, so a
run can stop after any sentence and another run can resume.

A run writes to ``FILE.part``, window by window, and keeps a journal in ``FILE.progress``. Its first line is the job's
fingerprint. For every window it has the counts of sentences, a checksum of the input up to there and the length of
``FILE.part``. Each is on the disk before the next window begins. A run that resumes cuts off everything after the last
journal entry, so no torn sentence remains. At the end ``FILE.part`` is renamed to ``FILE``. The writer holds a lock,
``FILE.lock``.

The journal appears before ``FILE.part``. So a ``FILE.part`` without a journal belongs to somebody else and is not
changed.
"""

import bz2
import gzip
import json
import lzma
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from discotree.config.schema import Method
from discotree.errors import SENTENCE_ERRORS, DiscotreeError, TreebankError, counted, first_line, printable
from discotree.files.jobs import (
    VERSION,
    Fingerprint,
    JobLock,
    Journal,
    is_own_file,
    name_conflict,
    open_no_follow,
    write_all,
)
from discotree.files.writing import base_name, is_archive
from discotree.parsing.inputs import InputItem, InputSentence
from discotree.processes import OrderedPool, gc_paused, release_free_memory, usable_cores, use_one_arena
from discotree.treebanks import FORMATS, TEXT_FORMATS, guess_format
from discotree.treebanks.json_lines import JsonWriter
from discotree.treebanks.writer import Writer
from discotree.trees.tree import Tree
from discotree.version import __version__

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

DRAW, JSON, DEFAULT_FORMAT = "draw", "json", "discbracket"
OUTPUTS = (DRAW, *TEXT_FORMATS)
BINARY = tuple(name for name in FORMATS if name not in TEXT_FORMATS)  # written as a whole, so never resumed

PART, PROGRESS, LOCK = ".part", ".progress", ".lock"
REMEDY = "remove the file to start again"

# Every window is compressed by itself: decompressors read the members one after the other as one file.
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def output_for(name: str) -> str:
    """Return the format for the name of a file; raise an error if there is none."""
    if is_archive(name):
        raise TreebankError("archives can be read but not written", name)
    output = guess_format(name)
    if output is None:
        suffix = os.path.splitext(base_name(name))[1] or "a name without a suffix"
        raise TreebankError(f"cannot tell the format from {suffix}; pass --to FORMAT", name)
    return output


# Work on windows

BUSY_CORES = 2  # cores that one process can keep busy on a CPU
CORES_PER_PROCESS = 4  # cores for each process that needs memory of its own
CPU_BYTES, GPU_BYTES = 2_000_000, 20_000_000  # input size from which several such processes are started
MAX_WINDOW = 250  # sentences for one of many processes: with more, all would wait for the last one
RELEASE_AFTER = 1_000  # parsed sentences
Window = list[InputItem]


@dataclass(frozen=True)
class FailedSentence:
    """The error of a sentence that has no text, with its file and line."""

    reason: str


Texts = list[str | FailedSentence | None]  # None: omitted, because the confidence is below the minimum
WorkerPool = OrderedPool[tuple[Window, int], Texts]  # a window, and the number of its first sentence in the file


@dataclass(frozen=True)
class ParseJob:
    """The settings that a process needs to work on a window."""

    model: str  # its folder
    output: str
    device: str | None = None
    engine: str | None = None
    threads: int | None = None  # for each process, on a CPU
    decode: Method | None = None
    k: int | None = None
    min_confidence: float = 0.0  # sentences below are omitted
    color: bool = False
    width: int | None = None  # columns of the terminal


class ParseWorker:
    """A parser, and the writer of its output."""

    def __init__(self, job: ParseJob) -> None:
        from discotree.parsing.parser import Parser

        use_one_arena()
        self.job = job
        self.parser = Parser.from_pretrained(Path(job.model), job.device, None, job.engine, job.threads)
        self.writer: Writer | None = None
        if job.output != DRAW:
            heads = self.parser.head_rules if job.output == "conllu" else None  # no other format has heads
            self.writer = TEXT_FORMATS[job.output].writer(heads)
        self.header = self.writer.header if self.writer else ""
        self.footer = self.writer.footer if self.writer else ""
        decoding = self.parser.config.decoding
        self.decoding = replace(decoding, method=job.decode) if job.decode else decoding
        self.parsed = 0  # sentences since free memory was released

    def __call__(self, window: Window, number: int) -> Texts:
        """Return the text of every sentence; ``number`` is the number of the first one in the file."""
        texts: Texts = []
        with gc_paused():
            for sentence, trees in self.parse(window):
                if isinstance(trees, FailedSentence) or isinstance(sentence, TreebankError):
                    texts.append(cast(FailedSentence, trees))
                    continue
                try:
                    text = self.text(sentence, trees, number)
                    text.encode()  # fail here for this sentence, not later for all of the window
                except SENTENCE_ERRORS as error:
                    texts.append(_failed(sentence, error))
                else:
                    texts.append(None if self.omits(trees) else text)
                    number += 1
        self.parsed += len(window)
        if self.parsed >= RELEASE_AFTER:
            release_free_memory()
            self.parsed = 0
        return texts

    @property
    def max_window(self) -> int:
        """The largest number of sentences in a window of a stream. It does not depend on the number of processes."""
        window = self.parser._window
        is_split = self.parser.device == "cpu" and usable_cores() > BUSY_CORES
        return min(window, MAX_WINDOW) if is_split else window

    def text(self, sentence: InputSentence, trees: Sequence[Tree], number: int) -> str:
        """Return the text of a sentence; ``number`` is that of its first tree in the file."""
        writer = self.writer
        if isinstance(writer, JsonWriter):
            return "".join(writer.tree(tree, k, sentence.offsets) for k, tree in enumerate(trees, number))
        if writer is not None:
            return "".join(writer.tree(tree, k) for k, tree in enumerate(trees, number))
        return "".join(
            f"{self._heading(tree)}{tree.draw(color=self.job.color, width=self.job.width)}\n\n" for tree in trees
        )

    def _heading(self, tree: Tree) -> str:
        """Return the line that distinguishes a drawing from those of the other trees of its sentence."""
        if not self.job.k:
            return ""
        confidence = "" if tree.confidence is None else f"  expected F1 {100 * tree.confidence:.0f} %"
        return f"{printable(tree.id)}{confidence}\n"

    def omits(self, trees: Sequence[Tree]) -> bool:
        """Return whether the confidence of a sentence's best tree is below the minimum."""
        return (trees[0].confidence or 0.0) < self.job.min_confidence

    def parse(self, window: Window) -> Iterator[tuple[InputItem, list[Tree] | FailedSentence]]:
        """Yield the trees of every sentence of a window, or its error."""
        from discotree.parsing.parser import Failure, ParseOptions, k_best_each

        sentences = [item for item in window if isinstance(item, InputSentence)]
        ids, constraints = [item.id for item in sentences], [item.constraints for item in sentences]
        options = ParseOptions(self.decoding, self.job.k, ids, constraints=constraints)
        outcomes = k_best_each(self.parser, [sentence.tokens for sentence in sentences], options)
        for item in window:
            if isinstance(item, TreebankError):
                yield item, FailedSentence(first_line(item))
                continue
            outcome = next(outcomes)
            yield item, _failed(item, outcome.error) if isinstance(outcome, Failure) else outcome


def _failed(sentence: InputSentence, error: Exception) -> FailedSentence:
    return FailedSentence(f"{sentence.where}: {first_line(error)}")


def suitable_workers(parser: "Parser", size: int | None) -> int:
    """Return a suitable number of processes for a parser and the size of the input in bytes, if known."""
    cores = usable_cores()
    if parser.device != "cpu":
        return cores if (size or 0) >= GPU_BYTES else 1
    if parser._forks:
        return cores if cores > BUSY_CORES else 1
    return max(1, cores // CORES_PER_PROCESS) if (size or 0) >= CPU_BYTES else 1


def worker_pool(worker: ParseWorker, workers: int, begin: Callable[[], None]) -> WorkerPool:
    """Return processes that parse windows and call ``begin`` first. They share a parser that can be forked."""
    threads = max(1, usable_cores() // workers)
    if not worker.parser._forks:
        return OrderedPool(partial(_set_up, replace(worker.job, threads=threads)), workers, begin)
    worker.parser.engine.prepare_forks()

    def set_up() -> Callable[[tuple[Window, int]], Texts]:
        worker.parser._forked(threads)
        return lambda numbered: worker(*numbered)

    return OrderedPool(set_up, workers, begin, forks=True)


def _set_up(job: ParseJob) -> Callable[[tuple[Window, int]], Texts]:
    worker = ParseWorker(job)
    return lambda numbered: worker(*numbered)


# Sinks


class SentenceCounts(NamedTuple):
    """How many sentences of the input are done, and how many of those were parsed.

    ``omitted`` sentences were parsed and not written, because of their confidence. The checksum is that of the input.
    """

    done: int = 0
    parsed: int = 0
    omitted: int = 0
    checksum: str = ""

    @property
    def failed(self) -> int:
        return self.done - self.parsed

    @property
    def written(self) -> int:
        return self.parsed - self.omitted


class StreamSink:
    """Standard output, a pipe or a device. ``counts`` are those of the sentences so far."""

    is_file = False

    def __init__(self, stream: BinaryIO, header: str, escape: Callable[[str], str] = str) -> None:
        """``escape`` makes text safe for the stream."""
        self.stream = stream
        self.header = header
        self.escape = escape
        self.counts = SentenceCounts()

    def check_input(self, checksum: str) -> None:
        """Accept any input: a stream is never resumed."""

    def write(self, text: str, counts: SentenceCounts) -> None:
        self.stream.write(self.escape(self.header + text).encode())
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
        return f"{counted(self.counts.written, 'sentence')} written"


class ResumableFile:
    """A file that appears when it is complete. ``counts`` include those of an earlier run."""

    is_file = True

    def __init__(self, path: str, header: str, settings: Mapping[str, object], resume: bool) -> None:
        """Start or resume a file; ``settings`` must be those of the run that started it."""
        self.path = Path(os.path.realpath(path))
        self.part = self.path.with_name(self.path.name + PART)
        self.header = header
        self.compress = next((pack for suffix, pack in COMPRESSORS.items() if path.lower().endswith(suffix)), bytes)
        self.length = 0
        self.counts = SentenceCounts()
        with ExitStack() as undo:
            try:
                self.lock = undo.enter_context(JobLock(str(self.path) + LOCK, path))
                self.journal = self._open_journal(settings)
                undo.callback(self.journal.close)
                end = self._find_last_entry()
                if not end:
                    self.journal.restart(settings)
                else:
                    self._check_resume(settings, resume)
                    self.journal.truncate(end)
                self.stream = open_no_follow(self.part, "r+b" if self.part.exists() else "xb")
            except OSError as error:
                raise TreebankError(f"cannot be written: {error.strerror or error}", path) from None
            undo.pop_all()
        self._truncate()

    def _open_journal(self, settings: Mapping[str, object]) -> Journal:
        path = self.path.with_name(self.path.name + PROGRESS)
        has_journal = is_own_file(path, "a journal") and path.stat().st_size > 0
        if is_own_file(self.part, "the unfinished output") and not has_journal:
            raise name_conflict(self.part, "the unfinished output")
        return Journal(path, "a journal", settings, remedy=f"remove it and {self.part} to start again")

    def _find_last_entry(self) -> int:
        """Find the last journal entry that is fully contained in ``FILE.part``; return where it ends, or 0."""
        size = self.part.stat().st_size if self.part.exists() else -1
        end = done = length = 0
        for number, (offset, line) in enumerate(self.journal.lines(), 2):
            entry = _parse_entry(line)
            if entry is None or entry[0].done < done or entry[1] < length:
                raise self.journal.damaged(number)
            done, length = entry[0].done, entry[1]
            if length <= size:
                self.counts, self.length = entry
                end = offset + len(line)
        return end

    def _check_resume(self, settings: Mapping[str, object], resume: bool) -> None:
        if not resume:
            raise DiscotreeError(
                f"{self.part} holds {counted(self.counts.written, 'sentence')} of an interrupted run; "
                "pass --resume to continue it, or remove the file"
            )
        earlier = Fingerprint(self.journal.head)
        Fingerprint({VERSION: __version__, **settings}).check(self.part, earlier, REMEDY)

    def check_input(self, checksum: str) -> None:
        """Refuse to resume if the checksum of the sentences that are done has changed."""
        if self.counts.done and checksum != self.counts.checksum:
            raise DiscotreeError(
                f"{self.part} was started with a different input: the new one differs within the first "
                f"{counted(self.counts.done, 'sentence')}; {REMEDY}"
            )

    def write(self, text: str, counts: SentenceCounts) -> None:
        """Write some sentences; ``counts`` are those after them."""
        if text:
            self._append(text)
        length = self.stream.tell()
        self.journal.append([{**counts._asdict(), "length": length}])
        self.counts, self.length = counts, length

    def finish(self, footer: str) -> None:
        if footer or not self.length:
            self._append(footer)
        self.stream.close()
        os.replace(self.part, self.path)
        self.journal.remove()
        self.lock.release()

    def stop(self, footer: str) -> str:
        """Write the footer after the last whole sentence, which a run that resumes cuts off again.

        Return a message with the number of sentences written and how to resume.
        """
        if self.journal.file.closed:
            return f"{self.path} is complete: {counted(self.counts.written, 'sentence')}"
        if self.stream.closed:
            self.stream = open_no_follow(self.part, "r+b")
        self._truncate()
        if not self.counts.done:
            self.stream.close()
            self.part.unlink()
            self.journal.remove()
            message = "nothing was written"
        else:
            with suppress(OSError):  # a full disk may be the reason to stop
                if footer:
                    self._append(footer)
            self.stream.close()
            self.journal.close()
            written = counted(self.counts.written, "sentence")
            message = f"{written} written to {self.part}; run the same command with --resume to continue"
        self.lock.release()
        return message

    def _truncate(self) -> None:
        """Cut off everything that is not in the journal."""
        self.stream.seek(self.length)
        self.stream.truncate()

    def _append(self, text: str) -> None:
        write_all(self.stream, self.compress((text if self.length else self.header + text).encode()))


Sink = StreamSink | ResumableFile


def _parse_entry(line: bytes) -> tuple[SentenceCounts, int] | None:
    """Return the counts and the length of a journal entry, or None if it is not one."""
    try:
        entry = json.loads(line)
        length = entry.pop("length")
        counts = SentenceCounts(**entry)
        return (counts, length) if length >= 0 and counts.done >= counts.parsed >= counts.omitted >= 0 else None
    except (TypeError, KeyError, AttributeError):
        return None
