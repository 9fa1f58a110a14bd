"""What the commands share: consoles, reading with or without skipping, the progress bar."""

import json
import logging
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from discotree.cli.terminal import DataConsole
from discotree.errors import TreebankError, printable
from discotree.files.names import STANDARD_STREAM, is_archive, stems
from discotree.files.reading import ByteCounter
from discotree.files.writing import writable
from discotree.models.choice import Choice
from discotree.treebanks import files, read
from discotree.trees.tree import Tree

INTERRUPTED = 130  # exit code after Ctrl-C, as shells have it
PIPE_WIDTH = 200  # columns of a table in a pipe, where no terminal limits them
MAX_REPORTED = 10  # broken trees reported one by one
SECONDS_BETWEEN_UPDATES = 0.1

err: Console = DataConsole(stderr=True)


def out() -> Console:
    """Return the console of standard output; in a pipe it is wide enough for every table."""
    console = DataConsole()
    return console if console.is_terminal else DataConsole(width=PIPE_WIDTH)


def read_trees(
    paths: Sequence[str],
    format: str | None,
    encoding: str | None,
    errors: list[TreebankError] | None = None,
    with_stems: bool = False,
    on_bytes: ByteCounter | None = None,
) -> Iterator[Tree]:
    """Read the trees of some treebanks, one after the other.

    Broken trees go into ``errors``, or stop the command where there is no list for them. ``with_stems`` puts the name
    of its file in front of an id where there are several, as for the files of a folder.
    """
    prefixes = stems(list(paths)) if with_stems and len(paths) > 1 else [""] * len(paths)
    for path, stem in zip(paths, prefixes, strict=True):
        if errors is None:
            yield from read(path, format, encoding=encoding, stem=stem, on_bytes=on_bytes)
        else:
            yield from read(path, format, encoding=encoding, stem=stem, on_error=errors.append, on_bytes=on_bytes)


def report_skipped(errors: list[TreebankError]) -> None:
    for error in errors[:MAX_REPORTED]:
        err.print(f"skipped: {error}", soft_wrap=True)
    if errors:
        err.print(f"{len(errors):,} broken trees skipped")


def report_written(what: str, output: str) -> None:
    """Say on standard error what a file now holds."""
    if output != STANDARD_STREAM:
        err.print(f"{what} written to {output}", style="dim", soft_wrap=True)


def report_choice(choice: Choice) -> None:
    """Say on standard error which model was chosen for a text, or that it may be the wrong one."""
    for message, style in ((choice.notice, "dim"), (choice.warning, "yellow")):
        if message:
            err.print(f"discotree: {message}", style=style, markup=False, soft_wrap=True)


def write_text(text: str, output: str) -> None:
    with writable(output) as stream:
        stream.write(text.encode())


def write_json(value: object, output: str) -> None:
    write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", output)


def write_rich(*parts: Any, output: str) -> None:
    """Print tables and lines on standard output, or as plain text into a file."""
    if output == STANDARD_STREAM:
        console = out()
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str))
        return
    console = DataConsole(width=PIPE_WIDTH, no_color=True, force_terminal=False)
    with console.capture() as capture:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str))
    write_text(capture.get(), output)


def number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def size_of(paths: Sequence[str]) -> int | None:
    """Return the bytes of files and folders, or None if standard input or an archive is among them."""
    if any(path == STANDARD_STREAM or is_archive(path) for path in paths):
        return None
    inside = [[os.path.join(path, name) for name in files(path)] if os.path.isdir(path) else [path] for path in paths]
    with suppress(OSError):  # the reader reports it
        return sum(os.path.getsize(file) for found in inside for file in found)
    return None


class ProgressBar:
    """A progress bar on a terminal, and none in a pipe.

    It counts trees or sentences, and shows how much of the input is read and how long the rest takes, if its size is
    known.
    """

    def __init__(self, unit: str = "trees", shown: bool = True) -> None:
        self.unit = unit
        self.shown = shown and err.is_terminal
        self.count = self.bytes = 0
        self.start = self.updated = time.monotonic()
        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[counted]}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=err,
            transient=True,
        )
        self.task = self.bar.add_task("", total=None, counted="")

    def __enter__(self) -> "ProgressBar":
        if self.shown:
            self.bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self.shown:
            self.bar.stop()

    def expect(self, description: str, paths: Sequence[str]) -> None:
        """Start at the beginning of some files."""
        if self.shown:
            self.count = self.bytes = 0
            self.start = time.monotonic()
            self.bar.reset(self.task, description=printable(description), total=size_of(paths))

    def on_bytes(self, count: int) -> None:
        """Count bytes of the input."""
        self.bytes += count

    def track(self, trees: Iterable[Tree]) -> Iterable[Tree]:
        """Count trees on their way."""
        return self._tracked(trees) if self.shown else trees

    def _tracked(self, trees: Iterable[Tree]) -> Iterator[Tree]:
        for tree in trees:
            yield tree
            self.advance(1, self.bytes)

    def advance(self, count: int, position: int) -> None:
        """Count what is done; ``position`` is how many bytes of the input that took."""
        now = time.monotonic()
        self.count += count
        if self.shown and now > self.updated + SECONDS_BETWEEN_UPDATES:
            self.updated = now
            rate = self.count / max(now - self.start, SECONDS_BETWEEN_UPDATES)
            counted = f"{self.count:,} {self.unit}, {rate:,.0f}/s"
            self.bar.update(self.task, completed=position, counted=counted)


class WarningPrinter(logging.Handler):
    """Prints the library's warnings on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        err.print(f"discotree: {record.getMessage()}", style="yellow", soft_wrap=True)


def show_warnings() -> None:
    """Show the library's warnings; calling it twice changes nothing."""
    logger = logging.getLogger("discotree")
    if not any(isinstance(handler, WarningPrinter) for handler in logger.handlers):
        logger.addHandler(WarningPrinter(logging.WARNING))
