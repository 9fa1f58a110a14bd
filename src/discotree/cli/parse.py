"""parse: read text or treebanks, write trees or pictures, as a stream.

Sentences are parsed window by window. The size of a window depends on the number of sentences before it: one at first,
so that the first tree appears at once, then more and more. A run that is resumed after any window therefore gives
exactly the same output as an undisturbed one; the numbers that a network computes depend a little on the batch.
"""

import hashlib
import os
import shutil
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from discotree.cli.console import (
    INTERRUPTED,
    ProgressBar,
    complain,
    err,
    report_choice,
    report_written,
    show_warnings,
    size_of,
    warn,
    with_language_warnings,
)
from discotree.cli.options import (
    PICTURE_SUFFIXES,
    PICTURES,
    PictureFormat,
    check_output,
    choice_option,
    device_option,
    encoding_option,
    engine_option,
    examples,
    expand,
    format_option,
    model_option,
    output_option,
    workers_option,
)
from discotree.config.schema import MAX_TREES, Method
from discotree.errors import DiscotreeError, InputError, TreebankError, counted, printable, shorten
from discotree.files.writing import STANDARD_STREAM, is_archive
from discotree.models import finding
from discotree.models.finding import Candidates, Choice, mismatch
from discotree.parsing.inputs import (
    INPUT_KINDS,
    LINES,
    TEXT,
    TOKENS,
    DecodingErrors,
    InputItem,
    OutputFailedError,
    Sentences,
    SentenceSource,
    beginning_of,
    find_sources,
    text_source,
)
from discotree.parsing.outputs import (
    BINARY,
    DEFAULT_FORMAT,
    DRAW,
    OUTPUTS,
    FailedSentence,
    ParseJob,
    ParseWorker,
    ResumableFile,
    SentenceCounts,
    Sink,
    StreamSink,
    Texts,
    Window,
    WorkerPool,
    output_for,
    suitable_workers,
    worker_pool,
)
from discotree.treebanks import write
from discotree.trees.tree import Tree

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

WHOLE = (*BINARY, *PICTURES)  # formats of files that are written at once
K_BEST_WINDOW = 16  # sentences per window if each is parsed separately
MAX_FAILURES_REPORTED = 20
MAX_REASON_CHARACTERS = 1500  # some errors quote a whole sentence or list all labels of a model


@click.command(
    epilog=examples(
        'discotree parse "Zij heeft het boek gelezen."',
        "discotree parse corpus.txt -o corpus.export --model de",
        'discotree parse "Zij heeft het boek gelezen." -o tree.svg',
        "cat corpus.txt | discotree parse --from lines --to json",
        "discotree parse --constraints partial.export -o whole.export",
    )
)
@click.argument("inputs", metavar="[INPUT]...", nargs=-1)
@click.option("--text", metavar="TEXT", help="Parse this text, even if it looks like the name of a file.")
@output_option("File to write. By default, standard output.")
@format_option("--to", (*OUTPUTS, *BINARY, *PICTURES), "Format of the output, if the name of the file does not show it")
@format_option("--from", INPUT_KINDS, "Format of the input, if it cannot be detected")
@model_option
@device_option
@engine_option
@choice_option("--decode", Method, "Search method; by default that of the model.")
@click.option(
    "--k", type=click.IntRange(1, MAX_TREES), metavar="K", help="Return the K most probable trees per sentence."
)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    metavar="P",
    help="Leave out sentences whose tree has an expected F1 below P, a number from 0 to 1.",
)
@encoding_option
@choice_option(
    "--errors", DecodingErrors, "Skip sentences that cannot be decoded, or replace the invalid bytes by �.", "strict"
)
@click.option(
    "--constraints",
    metavar="FILE",
    help="Parse the sentences of this file, and keep its constituents, tags and functions. FILE is a treebank of "
    "partial trees, a text with one sentence per line and constituents in brackets, or - for standard input.",
)
@click.option("--resume", is_flag=True, help="Resume an interrupted run; needs -o.")
@click.option("--tags", is_flag=True, help="Pass the tags of the treebank to the model.")
@workers_option("Number of processes. By default one, or more for a large input on many cores.")
def parse(
    inputs: tuple[str, ...],
    text: str | None,
    output: str,
    to: str | None,
    from_: str | None,
    model: str | None,
    device: str | None,
    engine: str | None,
    decode: Method | None,
    k: int | None,
    min_confidence: float | None,
    encoding: str | None,
    errors: DecodingErrors,
    constraints: str | None,
    resume: bool,
    tags: bool,
    workers: int | None,
) -> None:
    """Parse text, or the sentences of treebanks.

    INPUT is a text, or a file, a folder, a pattern, or - for standard input. Text is split into sentences and words.
    With --from lines, every line is a sentence; with --from tokens, its words are also separated by spaces.

    The output file is created only when it is complete. Exit codes: 0 if all sentences were parsed, 1 if some were not,
    130 if interrupted.
    """
    paths = [constraints] if constraints else expand(inputs, or_text=True)
    if constraints and (inputs or text is not None):
        raise click.UsageError("--constraints FILE has the sentences to parse; remove INPUT")
    if constraints and constraints != STANDARD_STREAM and not os.path.exists(constraints):
        raise TreebankError("no such file", constraints)
    sources = find_inputs(paths, text, from_)
    if constraints:  # brackets are set off by spaces, as words are
        kinds = [source.kind if source.is_treebank else TOKENS for source in sources]
        sources = [replace(source, kind=kind, constrained=True) for source, kind in zip(sources, kinds, strict=True)]
    if tags and not all(source.is_treebank for source in sources):
        raise click.UsageError("--tags needs a treebank as input")
    on_terminal = output == STANDARD_STREAM and sys.stdout.isatty()
    format = to or (DRAW if on_terminal else _format_for(output))
    _check_options(click.get_current_context().params, format)
    if not model:
        sample, sources = beginning_of(sources, encoding, tags)
        choice = Candidates.installed().choose(sample)
        report_choice(choice if len(sources) == 1 else choice._replace(warning=""))
    folder = finding.find(model or choice.model)
    check_output(output, [*(paths if text is None else []), *([] if paths else [STANDARD_STREAM]), str(folder)])
    colors = on_terminal and "NO_COLOR" not in os.environ
    width = shutil.get_terminal_size().columns if on_terminal else None
    tree_format = DEFAULT_FORMAT if format in WHOLE else format
    threshold = min_confidence or 0.0
    job = ParseJob(str(folder), tree_format, device, engine, None, decode, k, threshold, colors, width)
    settings: dict[str, object] = {
        "--from": [source.kind for source in sources],
        "--to": format,
        "--k": k or 0,
        "--min-confidence": threshold,
        "--decode": decode,
        "--errors": errors,
        "--encoding": encoding,
        "--tags": tags,
    }
    if constraints:
        settings["--constraints"] = True
    worker = ParseWorker(job)
    settings["--engine"] = worker.parser.engine.name
    check_model_input(worker.parser, sources, tags)
    if threshold and not worker.parser.model.calibration:
        warn("this model is not calibrated, so its confidences are unreliable")
    language = worker.parser.config.language
    if model and len(sources) == 1:
        sample, sources = beginning_of(sources, encoding, tags, waits=False)
        report_choice(Choice(model, warning=mismatch(sample, language)))
    bar = ProgressBar("sentence", not on_terminal)
    names = [STANDARD_STREAM if source.text else source.name for source in sources]
    bar.expect("parsing", names)

    def sentences(before_waiting: Callable[[], None] | None = None) -> Sentences:
        for source in with_language_warnings(sources, encoding, language):
            yield from source.sentences(language, encoding, errors, tags, before_waiting, bar.on_bytes)

    if format in WHOLE:
        window = K_BEST_WINDOW if k else worker.parser._window
        failed, omitted = _write_whole(worker, sentences(), window, format, output, bar)
    else:
        sink = _sink(output, worker.header, settings, folder, resume, format == DRAW)
        processes = workers or suitable_workers(worker.parser, size_of(names))
        window = K_BEST_WINDOW if k else worker.max_window
        run = ParseRun(sink, worker, processes, window, bar, 1 if workers else window)
        # The windows of a file depend on its sentences alone, so that a run can be resumed.
        run(sentences(None if sink.is_file else run.flush))
        failed, omitted = sink.counts.failed, sink.counts.omitted
        report_written(counted(sink.counts.written, "sentence"), output)
    if omitted:
        below = f"{counted(omitted, 'sentence')} below --min-confidence {threshold}"
        err.print(f"discotree: {below} left out", soft_wrap=True)
    if failed:
        complain(f"{counted(failed, 'sentence')} could not be parsed or written")
        raise click.exceptions.Exit(1)


def _check_options(options: dict[str, Any], format: str) -> None:
    """Refuse options that cannot be combined."""
    if options["resume"] and options["output"] == STANDARD_STREAM:
        raise click.UsageError("--resume needs an output file: pass -o FILE")
    if options["k"] and options["decode"] not in (None, "exact"):
        raise click.UsageError("--k always searches exactly and cannot be combined with --decode")
    if options["constraints"] and options["decode"] not in (None, "exact"):
        raise click.UsageError("--constraints always searches exactly and cannot be combined with --decode")
    if options["min_confidence"] != options["min_confidence"]:
        raise click.UsageError("--min-confidence must be a number from 0 to 1, not nan")
    if format in WHOLE and (options["resume"] or (options["workers"] or 1) > 1):
        raise click.UsageError(f"--resume and --workers cannot be used with {format} output")


def _write_whole(
    worker: ParseWorker, sentences: Sentences, window: int, format: str, output: str, bar: ProgressBar
) -> tuple[int, int]:
    """Draw all trees, or write them in a binary format; return the numbers of failed and omitted sentences."""
    from discotree.cli.draw import Artist

    failures = FailureReport()

    def trees() -> Iterator[Tree]:
        for items in windows_of(sentences, window):
            for _, outcome in worker.parse(items):
                if isinstance(outcome, FailedSentence):
                    failures.add(outcome.reason)
                elif worker.omits(outcome):
                    failures.omitted += 1
                else:
                    yield from outcome
            bar.advance(len(items), bar.bytes)

    with bar:
        if format in BINARY:
            count = write(trees(), output, format, on_error=lambda error: failures.add(str(error)))
        else:
            pairs, target = ((tree, None) for tree in trees()), None if output == STANDARD_STREAM else output
            Artist(cast(PictureFormat, format), functions=True).write(pairs, target, Path(output).name)
    if format in BINARY:
        report_written(counted(count, "sentence"), output)
    return failures.count, failures.omitted


def find_inputs(inputs: list[str], text: str | None, kind: str | None) -> list[SentenceSource]:
    """Return the sources of sentences."""
    if not all(map(str.strip, inputs if text is None else [text])):
        raise click.UsageError("the text to parse is empty: pass a text, a file, or - for standard input")
    if text is not None:
        if inputs:
            raise click.UsageError("--text cannot be combined with INPUT")
        return [text_source(text, kind)]
    paths = inputs or [STANDARD_STREAM]
    if paths.count(STANDARD_STREAM) > 1:
        raise click.UsageError("standard input can be read only once")
    if STANDARD_STREAM in paths and (sys.stdin is None or (not inputs and sys.stdin.isatty())):
        raise click.UsageError("nothing to parse: pass a text, a file, or - for standard input")
    return find_sources(paths, kind)


def _format_for(output: str) -> str:
    """Return the format for the suffix of an output."""
    if output == STANDARD_STREAM or (os.path.exists(output) and not os.path.isfile(output)):
        return DEFAULT_FORMAT  # the name of a pipe or a device has no suffix
    picture = PICTURE_SUFFIXES.get(Path(output).suffix.lower())
    return picture if picture in PICTURES else output_for(output)


def check_model_input(parser: "Parser", sources: list[SentenceSource], tags: bool) -> None:
    """Refuse an input for which every single sentence would fail."""
    if any(source.kind in (TEXT, LINES) for source in sources) and not parser.config.language:
        raise InputError("this model cannot tokenise raw text; pass --from tokens")
    if sources and parser.has_tags and not tags:
        raise InputError("this model needs tags: pass a tagged treebank and --tags")
    if tags and not parser.has_tags:
        raise InputError("this model does not use tags: remove --tags")


def _sink(output: str, header: str, settings: dict[str, object], folder: Path, resume: bool, is_drawn: bool) -> Sink:
    if output == STANDARD_STREAM:
        escape = printable if sys.stdout.isatty() and not is_drawn else str  # drawings contain colour codes
        return StreamSink(cast(BinaryIO, sys.stdout.buffer), header, escape)
    if is_archive(output):
        raise TreebankError("archives can be read but not written", output)
    if os.path.isdir(output):
        raise TreebankError("cannot be written: Is a directory", output)
    if os.path.exists(output) and not os.path.isfile(output):  # a pipe or a device cannot be replaced
        return StreamSink(open(output, "wb"), header)
    return ResumableFile(output, header, settings | {"model": finding.fingerprint(folder)}, resume)


class FailureReport:
    """Reports the first failed sentences on standard error, and counts all of them."""

    def __init__(self) -> None:
        self.count = 0
        self.omitted = 0  # sentences below the minimum confidence

    def add(self, reason: str) -> None:
        self.count += 1
        if self.count <= MAX_FAILURES_REPORTED:
            complain(shorten(reason, MAX_REASON_CHARACTERS))
        if self.count == MAX_FAILURES_REPORTED:
            complain("further errors are counted, but not shown")


def window_size(done: int, max_window: int) -> int:
    """Return the size of the next window, from the number of sentences before it."""
    return min(max(done, 1), max_window)


def windows_of(sentences: Sentences, max_window: int, done: int = 0) -> Iterator[Window]:
    """Gather sentences into windows; ``done`` is the number of sentences before them."""
    while window := list(islice(sentences, window_size(done, max_window))):
        yield window
        done += len(window)


class ParseRun:
    """Parses sentences and writes them to a sink.

    The first window is parsed in this process, and so are all others before the first one of ``min_shared`` sentences.
    From then on, several ``processes`` share everything that has been loaded.
    """

    def __init__(
        self, sink: Sink, worker: ParseWorker, processes: int, max_window: int, bar: ProgressBar, min_shared: int = 1
    ) -> None:
        self.sink = sink
        self.worker = worker
        self.processes = processes
        self.max_window = max_window
        self.bar = bar
        self.min_shared = min_shared
        self.pool: WorkerPool | None = None
        self.window: Window = []
        self.positions: deque[int] = deque()  # input bytes read for each unfinished window
        self.failures = FailureReport()
        self.read = self.readable = 0  # sentences in finished and unfinished windows; those without a reading error
        self.unparsable = 0  # sentences that could be read but not parsed
        self.checksum = hashlib.blake2b(digest_size=16)  # of the input

    def __call__(self, sentences: Sentences) -> None:
        self.skip(sentences)
        try:
            with self.bar:
                self.parse(sentences)
            with uninterrupted():
                self.sink.finish(self.worker.footer)
        except BrokenPipeError:
            raise
        except (KeyboardInterrupt, DiscotreeError, OSError) as error:
            with uninterrupted():
                message = self.sink.stop(self.worker.footer)
            if isinstance(error, KeyboardInterrupt):
                complain(f"interrupted; {message}")
                raise click.exceptions.Exit(INTERRUPTED) from None
            complain(f"stopped; {message}")
            raise

    def skip(self, sentences: Sentences) -> None:
        """Skip the sentences that an earlier run has parsed; refuse to resume if they have changed."""
        try:
            self.add_to_checksum(islice(sentences, self.sink.counts.done))
            self.sink.check_input(self.checksum.hexdigest())
        except (KeyboardInterrupt, DiscotreeError, OSError):
            with uninterrupted():
                self.sink.stop(self.worker.footer)
            raise

    def parse(self, sentences: Sentences) -> None:
        """Parse all sentences and write their texts."""
        self.read, self.readable = done, _ = self.sink.counts[:2]
        with ExitStack() as stack:
            try:
                for sentence in sentences:
                    self.window.append(sentence)
                    if (size := len(self.window)) >= window_size(self.read, self.max_window):
                        if self.processes > 1 and not self.pool and self.read > done and size >= self.min_shared:
                            self.pool = stack.enter_context(worker_pool(self.worker, self.processes, begin_worker))
                        self.parse_window()
                self.flush()
            except OutputFailedError as problem:
                raise problem.error from None
            except DiscotreeError:  # the input cannot be read any further
                if self.pool is not None:
                    self.write_all(self.pool.remaining())
                raise

    def flush(self) -> None:
        """Parse and write all sentences that have been read."""
        if self.window:
            self.parse_window()
        if self.pool is not None:
            self.write_all(self.pool.remaining())

    def parse_window(self) -> None:
        """Parse the sentences that have been read, or let another process do so, and write those that are done."""
        window, number = self.window, self.readable + 1 - self.unparsable
        self.window = []
        self.positions.append(self.bar.bytes)
        self.read += len(window)
        self.readable += sum(not isinstance(item, TreebankError) for item in window)
        if self.pool is None:
            self.write(window, self.worker(window, number))
        else:
            self.write_all(self.pool.results((window, number)))

    def write_all(self, results: Iterable[tuple[tuple[Window, int], Texts]]) -> None:
        for (window, number), texts in results:
            is_numbered = number == self.sink.counts.parsed + 1  # unless an earlier sentence failed
            self.write(window, texts if is_numbered else self.worker(window, self.sink.counts.parsed + 1))

    def write(self, window: Window, texts: Texts) -> None:
        """Write the texts of a window and report failed sentences."""
        failed = 0
        for item, text in zip(window, texts, strict=True):
            if isinstance(text, FailedSentence):
                self.failures.add(text.reason)
                self.unparsable += not isinstance(item, TreebankError)
                failed += 1
        if self.sink.is_file:
            self.add_to_checksum(window)
        done, parsed, omitted, _ = self.sink.counts
        counts = SentenceCounts(
            done + len(texts), parsed + len(texts) - failed, omitted + texts.count(None), self.checksum.hexdigest()
        )
        with uninterrupted():
            self.sink.write("".join(text for text in texts if isinstance(text, str)), counts)
        self.bar.advance(len(texts), self.positions.popleft())

    def add_to_checksum(self, items: Iterable[InputItem]) -> None:
        """Add everything that the trees of sentences depend on, without names of files."""
        for item in items:
            if isinstance(item, TreebankError):
                content: tuple[object, ...] = (item.message, item.line)
            else:
                content = (item.id, item.words, item.offsets, item.tags)
                if item.constraints:
                    content = (*content, item.constraints)
            self.checksum.update(f"{content!r}\n".encode())


def begin_worker() -> None:
    """Open standard error again: a thread of the parent, which a forked process does not have, may have locked it."""
    sys.stderr = open(2, "w", encoding=sys.stderr.encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
    err.__dict__.pop("_console", None)
    show_warnings()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the block is done. If it was ignored, as in the background, it stays ignored."""
    pending: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pending.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pending and before is not signal.SIG_IGN:
        raise KeyboardInterrupt
