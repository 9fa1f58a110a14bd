"""parse: text or a treebank in, trees out, as a stream."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer

from discotree.cli.common import Bar, Encoding, err, show_warnings
from discotree.cli.training import INTERRUPTED
from discotree.config import Method
from discotree.errors import DiscotreeError, ModelError, TreebankError
from discotree.files import STANDARD_STREAM, is_archive
from discotree.models import finding as bundled
from discotree.parsing.inputs import INPUTS, LINES, TEXT, Errors, Input, Sentences, Unwritten
from discotree.parsing.outputs import DRAW, OUTPUTS, PLAIN, Output, output_for
from discotree.parsing.resumable import Counts, File, Sink, Stream
from discotree.parsing.workers import Failure, Job, Outcomes, Window, Worker, side_by_side

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

K_WINDOW = 16  # sentences that are worked on together, where each is parsed by itself
SHOWN = 20  # errors that are said one by one
LONGEST_REASON = 200  # characters; some quote a whole sentence


def known_input(name: str | None) -> str | None:
    if name is not None and name not in INPUTS:
        raise typer.BadParameter(f"there is no input {name!r}; there are {', '.join(INPUTS)}")
    return name


def known_output(name: str | None) -> str | None:
    if name is not None and name not in OUTPUTS:
        raise typer.BadParameter(f"there is no output {name!r}; there are {', '.join(OUTPUTS)}")
    return name


def parse(
    source: Annotated[
        str | None, typer.Argument(metavar="TEXT|FILE|-", help="A text, a file, or - for standard input.")
    ] = None,
    model: Annotated[
        str, typer.Option(envvar="DISCOTREE_MODEL", help="A name (discotree models), a folder, or hub:ORG/NAME.")
    ] = "nl",
    input: Annotated[
        str | None, typer.Option(callback=known_input, help=f"What the input is: {', '.join(INPUTS)}.")
    ] = None,
    output: Annotated[
        str | None, typer.Option(callback=known_output, help=f"What to write: {', '.join(OUTPUTS)}.")
    ] = None,
    target: Annotated[
        str, typer.Option("-o", metavar="FILE", help="Where it goes; standard output if not named.")
    ] = STANDARD_STREAM,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …; a GPU if there is one.")] = "",
    decode: Annotated[Method | None, typer.Option(help="How trees are searched for.")] = None,
    k: Annotated[int, typer.Option(min=0, help="So many trees for every sentence, the most probable first.")] = 0,
    encoding: Encoding = None,
    errors: Annotated[Errors, typer.Option(help="Leave out what cannot be decoded, or replace it (�).")] = "strict",
    resume: Annotated[bool, typer.Option("--resume", help="With -o: go on where an interrupted run was.")] = False,
    tags: Annotated[bool, typer.Option("--tags", help="Let the model look at the tags of a treebank.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes that parse side by side, each with the model.")] = 1,
) -> None:
    """Parse text, or the sentences of a treebank.

    Text is cut into sentences and words; lines and tokens have a sentence on every line, tokens with blanks between the
    words. With -o the file appears when it is complete. Exit codes: 0 all sentences were parsed, 1 some were not, 130
    interrupted.
    """
    nobody_writes = sys.stdin is None or (source is None and sys.stdin.isatty())
    if source in (None, STANDARD_STREAM) and nobody_writes:
        raise typer.BadParameter("what is to be parsed? A text, a file, or - for standard input")
    if resume and target == STANDARD_STREAM:
        raise typer.BadParameter("--resume needs a file: -o FILE")
    if k and decode not in (None, "exact"):
        raise typer.BadParameter("--k searches exactly: leave out --decode")
    given = Input.of(source, input)
    if tags and not given.is_treebank:
        raise typer.BadParameter("--tags needs a treebank to take them from")
    if given.looks_like_a_file:
        err.print(f"discotree: {source} is no file here: it is taken as text", style="dim", markup=False)
    on_terminal = target == STANDARD_STREAM and sys.stdout.isatty()
    if output is None:
        output = DRAW if on_terminal else PLAIN if target == STANDARD_STREAM else output_for(target)
    folder = bundled.find(model)
    colors = on_terminal and "NO_COLOR" not in os.environ
    width = shutil.get_terminal_size().columns if on_terminal else None
    job = Job(str(folder), device, decode, k, output, colors, width)
    asked: dict[str, object] = {"input": given.name, "kind of input": given.kind, "output": output, "--k": k}
    asked |= {"--decode": decode, "--errors": errors, "--encoding": encoding, "--tags": tags}
    with _interruptible():
        worker = Worker(job)
        _check(worker.parser, given, tags)
        sink = _sink(target, worker.form, asked, folder, resume)
        run = _Run(sink, worker, workers, K_WINDOW if k else worker.parser.window)
        hurry = None if sink.is_file or workers > 1 else run.flush  # a file's windows depend on its sentences alone
        language = worker.parser.config.language
        run(given.sentences(language, encoding, errors, tags, hurry), Bar("sentences", not on_terminal))
    if target != STANDARD_STREAM:
        err.print(f"{sink.counts.written:,} sentences written to {target}", style="dim", markup=False, soft_wrap=True)
    if sink.counts.failed:
        err.print(f"discotree: {sink.counts.failed:,} sentences could not be parsed or written", style="red")
        raise typer.Exit(1)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends the command with the exit code that shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _check(parser: "Parser", given: Input, tags: bool) -> None:
    """Refuse what would fail for every single sentence."""
    if given.kind in (TEXT, LINES) and not parser.config.language:
        raise ModelError("this model has no language to cut text by: --input tokens")
    if parser.has_tags and not tags:
        raise ModelError("this model looks at tags: give it a treebank that has them, and --tags")
    if tags and not parser.has_tags:
        raise ModelError("this model looks at no tags: leave out --tags")


def _sink(target: str, form: Output, job: dict[str, object], folder: Path, resume: bool) -> Sink:
    if target == STANDARD_STREAM:
        return Stream(cast(BinaryIO, sys.stdout.buffer), form.begin)
    if is_archive(target):
        raise TreebankError("archives can be read but not written", target)
    if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device cannot be replaced
        return Stream(open(target, "wb"), form.begin)
    return File(target, form.begin, job | {"model": bundled.fingerprint(folder)}, resume)


class _Run:
    """One pass over the sentences, window by window.

    How many sentences a window has follows from how many came before it: one at first, so that something is seen at
    once, then more and more. So a run that goes on after any window does what an undisturbed one does, to the
    digit: the numbers that a network computes depend a little on what is computed together.
    """

    def __init__(self, sink: Sink, worker: Worker, workers: int, most: int) -> None:
        self.sink = sink
        self.worker = worker
        self.workers = workers
        self.most = most
        self.window: Window = []
        self.said = 0  # errors
        self.lost = 0  # sentences that turned out to be impossible
        self.bar = Bar()

    def __call__(self, sentences: Sentences, bar: Bar) -> None:
        self.bar = bar
        try:
            with bar:
                rest = islice(sentences, self.sink.counts.done, None)
                if self.workers > 1:
                    with closing(
                        side_by_side(self.worker.job, self.workers, self.windows(rest), show_warnings)
                    ) as results:
                        for window, number, outcomes in results:
                            is_right = number == self.sink.counts.written + 1  # if all before could be parsed
                            self.put(window, outcomes if is_right else self.work(window))
                else:
                    self.one_by_one(rest)
            with _uninterrupted():
                self.sink.finish(self.worker.form.end)
        except BrokenPipeError:
            raise
        except (KeyboardInterrupt, DiscotreeError, OSError) as error:
            with _uninterrupted():
                said = self.sink.stop(self.worker.form.end)
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else "stopped"
            err.print(f"discotree: {reason}; {said}", style="red", markup=False, soft_wrap=True)
            raise

    def one_by_one(self, sentences: Sentences) -> None:
        """Work on windows in this process."""
        try:
            for sentence in sentences:
                self.window.append(sentence)
                if len(self.window) >= self.size(self.sink.counts.done):
                    self.flush()
            self.flush()
        except Unwritten as problem:
            raise problem.error from None

    def size(self, done: int) -> int:
        """Of a window, when so many sentences are done."""
        return min(max(done, 1), self.most)

    def windows(self, sentences: Sentences) -> Iterator[tuple[Window, int]]:
        """All windows, each with the number of its first sentence if those before can be parsed."""
        done, written, _ = self.sink.counts
        window: Window = []
        for sentence in sentences:
            window.append(sentence)
            if len(window) >= self.size(done):
                yield window, written + 1 - self.lost
                done += len(window)
                written += sum(not isinstance(item, TreebankError) for item in window)
                window = []
        if window:
            yield window, written + 1 - self.lost

    def flush(self) -> None:
        """Parse and write the sentences that have been read."""
        if self.window:
            self.put(self.window, self.work(self.window))
            self.window = []

    def work(self, window: Window) -> Outcomes:
        return self.worker(window, self.sink.counts.written + 1)

    def put(self, window: Window, outcomes: Outcomes) -> None:
        """Write what became of a window."""
        done, written, failed = self.sink.counts
        texts = [outcome for outcome in outcomes if isinstance(outcome, str)]
        for item, outcome in zip(window, outcomes, strict=True):
            if isinstance(outcome, Failure):
                self.say(outcome.reason)
                self.lost += not isinstance(item, TreebankError)
        counts = Counts(done + len(outcomes), written + len(texts), failed + len(outcomes) - len(texts))
        with _uninterrupted():
            self.sink.write("".join(texts), counts)
        self.bar.advance(len(outcomes))

    def say(self, reason: str) -> None:
        self.said += 1
        if self.said <= SHOWN:
            if len(reason) > LONGEST_REASON:
                reason = f"{reason[: LONGEST_REASON // 2]} … {reason[-LONGEST_REASON // 2 :]}"
            err.print(f"discotree: {reason}", style="red", markup=False, soft_wrap=True)
        if self.said == SHOWN:
            err.print("discotree: further errors are only counted", style="red")


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block is done; where it is ignored, as in the background, it still is."""
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting and before is not signal.SIG_IGN:
        raise KeyboardInterrupt
