"""One pass of `discotree parse` over its sentences, window by window, into a sink or as trees.

The size of a window follows from the number of sentences before it: one at first, so that you see something at once,
then more and more. A run that resumes after any window therefore does exactly what an undisturbed one does: the numbers
that a network computes depend a little on what is computed together.
"""

import hashlib
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice

from discotree.cli.common import err, show_warnings
from discotree.cli.progress import ProgressBar
from discotree.errors import DiscotreeError, TreebankError
from discotree.parsing.resumable import SentenceCounts, Sink
from discotree.parsing.standard_input import OutputFailedError
from discotree.parsing.text_input import InputItem, InputSentence, Sentences
from discotree.parsing.workers import FailedSentence, ParseWorker, Texts, UncertainText, Window, side_by_side
from discotree.trees.tree import Tree

MAX_REPORTED = 20  # failed sentences reported one by one
MAX_REASON_CHARACTERS = 200  # some errors quote a whole sentence


class FailureReport:
    """Reports failed sentences on standard error: the first ones one by one, the others in a count."""

    def __init__(self) -> None:
        self.count = 0
        self.uncertain = 0  # sentences that were left out because of their confidence

    def add(self, reason: str) -> None:
        self.count += 1
        if self.count <= MAX_REPORTED:
            if len(reason) > MAX_REASON_CHARACTERS:
                half = MAX_REASON_CHARACTERS // 2
                reason = f"{reason[:half]} … {reason[-half:]}"
            err.print(f"discotree: {reason}", style="red", soft_wrap=True)
        if self.count == MAX_REPORTED:
            err.print("discotree: further errors are only counted", style="red")


def windows_of(sentences: Sentences, size: Callable[[int], int], done: int = 0) -> Iterator[Window]:
    """Gather sentences into windows; ``size`` gives the size of the next one from the sentences before it."""
    window: Window = []
    for sentence in sentences:
        window.append(sentence)
        if len(window) >= size(done):
            yield window
            done += len(window)
            window = []
    if window:
        yield window


class ParseRun:
    """Parses sentences and writes them to a sink; those whose trees are uncertain go to another, if there is one."""

    def __init__(
        self, sink: Sink, worker: ParseWorker, processes: int, max_window: int, uncertain: Sink | None = None
    ) -> None:
        self.sink = sink
        self.uncertain = uncertain
        self.sinks = [sink, *([uncertain] if uncertain else [])]
        self.worker = worker
        self.processes = processes
        self.max_window = max_window
        self.window: Window = []
        self.positions: deque[int] = deque()  # bytes of the input that were read for each window that is not yet done
        self.failures = FailureReport()
        self.unparsable = 0  # sentences that were readable, but could not be parsed
        self.bar = ProgressBar()
        self.fingerprint = InputFingerprint()

    def __call__(self, sentences: Sentences, bar: ProgressBar) -> None:
        self.bar = bar
        self.skip(sentences)
        try:
            with bar:
                if self.processes > 1:
                    self.run_side_by_side(sentences)
                else:
                    self.run_here(sentences)
            with uninterrupted():
                for sink in self.sinks:
                    sink.finish(self.worker.format.footer)
        except BrokenPipeError:
            raise
        except (KeyboardInterrupt, DiscotreeError, OSError) as error:
            with uninterrupted():
                outcomes = self.stop()
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else "stopped"
            err.print(f"discotree: {'; '.join([reason, *outcomes])}", style="red", soft_wrap=True)
            raise

    def skip(self, sentences: Sentences) -> None:
        """Skip what an earlier run has done, if it was the same."""
        try:
            self.fingerprint.add(islice(sentences, self.sink.counts.done))
            self.sink.check_input(self.fingerprint.value)
        except (KeyboardInterrupt, DiscotreeError, OSError):
            with uninterrupted():
                self.stop()
            raise

    def stop(self) -> list[str]:
        """End all outputs where they are; return what became of each."""
        footer = self.worker.format.footer
        outcomes = [self.sink.stop(footer)]
        if self.uncertain and not self.sink.is_file:  # a stream cannot be resumed, so this file is all there will be
            self.uncertain.finish(footer)
        if self.uncertain:
            outcomes.append(self.uncertain.stop(footer))
        return outcomes

    def run_here(self, sentences: Sentences) -> None:
        """Work on windows in this process."""
        try:
            for sentence in sentences:
                self.window.append(sentence)
                if len(self.window) >= self.size(self.sink.counts.done):
                    self.flush()
            self.flush()
        except OutputFailedError as problem:
            raise problem.error from None

    def run_side_by_side(self, sentences: Sentences) -> None:
        """Work on windows in several processes."""
        numbered = self.numbered_windows(sentences)
        with closing(side_by_side(self.worker.job, self.processes, numbered, show_warnings)) as results:
            for window, number, texts in results:
                is_right = number == self.sink.counts.written + 1  # unless a sentence before it failed
                self.write(window, texts if is_right else self.work(window))

    def size(self, done: int) -> int:
        """Return the size of the next window, from the number of sentences before it."""
        return min(max(done, 1), self.max_window)

    def numbered_windows(self, sentences: Sentences) -> Iterator[tuple[Window, int]]:
        """Yield all windows, each with the number that its first sentence has if those before it can be parsed."""
        done, written = self.sink.counts[:2]
        for window in windows_of(sentences, self.size, done):
            self.positions.append(self.bar.bytes)
            yield window, written + 1 - self.unparsable
            written += sum(not isinstance(item, TreebankError) for item in window)

    def flush(self) -> None:
        """Parse and write the sentences that have been read."""
        if self.window:
            self.positions.append(self.bar.bytes)
            self.write(self.window, self.work(self.window))
            self.window = []

    def work(self, window: Window) -> Texts:
        return self.worker(window, self.sink.counts.written + 1)

    def write(self, window: Window, texts: Texts) -> None:
        """Write the texts of a window and report what failed."""
        done, written, failed, _, uncertain = self.sink.counts
        whole = [text for text in texts if isinstance(text, str)]
        doubtful = [text for text in whole if isinstance(text, UncertainText)]
        for item, text in zip(window, texts, strict=True):
            if isinstance(text, FailedSentence):
                self.failures.add(text.reason)
                self.unparsable += not isinstance(item, TreebankError)
        if self.sink.is_file:
            self.fingerprint.add(window)
        done, written, uncertain = done + len(texts), written + len(whole), uncertain + len(doubtful)
        content = self.fingerprint.value
        with uninterrupted():
            if self.uncertain:  # first, so that it never lacks what the other file says is done
                self.uncertain.write("".join(doubtful), SentenceCounts(done, uncertain, done - uncertain, content))
            counts = SentenceCounts(done, written, failed + len(texts) - len(whole), content, uncertain)
            self.sink.write("".join(text for text in whole if not isinstance(text, UncertainText)), counts)
        self.bar.advance(len(texts), self.positions.popleft())


class InputFingerprint:
    """A hash of sentences: all that their trees depend on, and neither the names of files nor what comes after."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=16)

    def add(self, items: Iterable[InputItem]) -> None:
        for item in items:
            if isinstance(item, TreebankError):
                content: tuple[object, ...] = (item.message, item.line)
            elif isinstance(item, InputSentence):
                content = (item.id, item.words, item.offsets, item.tags)
            else:
                content = (item.id, item.text, item.start)
            self.hash.update(f"{content!r}\n".encode())

    @property
    def value(self) -> str:
        return self.hash.hexdigest()


def parse_trees(
    worker: ParseWorker, sentences: Sentences, max_window: int, failures: FailureReport, bar: ProgressBar
) -> Iterator[Tree]:
    """Yield the trees of sentences as they are parsed, but those that are uncertain: they are counted."""
    for window in windows_of(sentences, lambda done: min(max(done, 1), max_window)):
        for _, outcome in worker.parse(window):
            if isinstance(outcome, FailedSentence):
                failures.add(outcome.reason)
            elif worker.job.is_uncertain(outcome):
                failures.uncertain += 1
            else:
                yield from outcome
        bar.advance(len(window), bar.bytes)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until the block is done; where it is ignored, as in the background, it still is."""
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting and before is not signal.SIG_IGN:
        raise KeyboardInterrupt
