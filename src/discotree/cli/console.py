"""Talk to the user: consoles, messages, progress bars, and the files and exit codes of a command."""

import json
import logging
import os
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click

from discotree.errors import TreebankError, counted, printable
from discotree.files.writing import STANDARD_STREAM, is_archive, write_bytes
from discotree.log import logger

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment
    from rich.table import Table
    from rich.text import Text
    from typing_extensions import Self

    from discotree.models.finding import Choice
    from discotree.parsing.inputs import SentenceSource
    from discotree.trees.tree import Tree

INTERRUPTED = 130  # exit code after Ctrl-C, as in shells
CLOSED_PIPE = 141  # exit code when the reader of the output has gone, as for grep in a shell
PIPE_WIDTH = 200  # columns of a table in a pipe, where no terminal limits them
SECONDS_BETWEEN_UPDATES = 0.1  # of a progress bar
MAX_LANGUAGE_WARNINGS = 10
SECONDS_BETWEEN_LINES = 30.0  # of progress in a pipe, where there is no bar


def data_console(**options: Any) -> "Console":
    """Return a Rich console that prints data literally: brackets are not markup, control characters become visible.

    Rich is imported here, because most commands print nothing with it.
    """
    from rich.console import Console

    class DataConsole(Console):
        def render_str(self, text: str, **options: Any) -> "Text":
            """Make cells printable before they are measured; Rich would interpret markup in table cells."""
            return super().render_str(printable(text), **{**options, "markup": False})

        def render(self, renderable: Any, options: Any = None) -> "Iterable[Segment]":
            """Make other content printable, such as progress bars; Rich's own control codes are separate segments."""
            for segment in super().render(renderable, options):
                plain = segment.control or segment.text.isprintable()
                yield segment if plain else type(segment)(printable(segment.text), segment.style)

        def on_broken_pipe(self) -> None:
            exit_closed_pipe()

    return DataConsole(markup=False, emoji=False, highlight=False, **options)


class LateConsole:
    """The console of standard error, created when something is printed."""

    @cached_property
    def _console(self) -> "Console":
        return data_console(stderr=True)

    @property
    def is_terminal(self) -> bool:
        """Whether Rich treats standard error as a terminal, which environment variables can force."""
        has_variable = not {"FORCE_COLOR", "TTY_COMPATIBLE"}.isdisjoint(os.environ)
        with suppress(ValueError):  # standard error is closed
            return (has_variable or (sys.stderr is not None and sys.stderr.isatty())) and self._console.is_terminal
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._console, name)

    def __enter__(self) -> "Console":
        return self._console.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._console.__exit__(*error)


err = cast("Console", LateConsole())


def out() -> "Console":
    """Return the console of standard output; in a pipe it is wide enough for every table."""
    console = data_console()
    return console if console.is_terminal else data_console(width=PIPE_WIDTH)


def exit_closed_pipe() -> NoReturn:
    """Exit because the reader of standard output has gone."""
    discard_unwritable_output()
    sys.exit(CLOSED_PIPE)


def discard_unwritable_output() -> None:
    """Discard output that cannot be written; Python would try to write it at exit and report a second error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_closed_streams() -> None:
    """Open standard streams that are closed (``>&-``), so that no other file takes their place.

    Reading or writing them still fails, as in other programs, except that messages on standard error are lost.
    """
    for name, mode, flags in (("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, flags), mode, encoding="utf-8"))  # noqa: SIM115


# Messages on standard error


def note(message: str) -> None:
    """Print a message that nobody has to read."""
    err.print(f"discotree: {message}", style="dim", soft_wrap=True)


def warn(message: str) -> None:
    err.print(f"discotree: {message}", style="yellow", soft_wrap=True)


def complain(message: str) -> None:
    """Print an error; the caller decides about the exit code."""
    err.print(f"discotree: {message}", style="red", soft_wrap=True)


def report_written(content: str, output: str) -> None:
    """Report the content that was written to a file."""
    if output != STANDARD_STREAM:
        err.print(f"{content} written to {output}", style="dim", soft_wrap=True)


def report_choice(choice: "Choice") -> None:
    """Report which model was chosen for a text, or warn that it may be the wrong one."""
    if choice.notice:
        note(choice.notice)
    if choice.warning:
        warn(choice.warning)


def with_language_warnings(
    sources: "Sequence[SentenceSource]", encoding: str | None, language: str
) -> "Iterator[SentenceSource]":
    """Yield the sources. If there are several, name the texts that do not look like the language of the model."""
    from discotree.models.finding import mismatch

    named = 0
    for source in sources:
        is_text = not source.is_treebank and source.name != STANDARD_STREAM
        if is_text and len(sources) > 1 and named < MAX_LANGUAGE_WARNINGS:
            with suppress(TreebankError):  # the reader reports it
                sample, _ = source.beginning(encoding, tags=False, waits=False)
                if warning := mismatch(sample, language):
                    warn(f"{printable(source.name)}: {warning}")
                    named += 1
                    if named == MAX_LANGUAGE_WARNINGS:
                        warn("further texts in other languages are not named")
        yield source


class WarningPrinter(logging.Handler):
    """Prints the library's warnings on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        warn(record.getMessage())


def show_warnings() -> None:
    """Show the library's warnings; calling it twice changes nothing."""
    if not any(isinstance(handler, WarningPrinter) for handler in logger.handlers):
        logger.addHandler(WarningPrinter(logging.WARNING))


# Results, on standard output or in a file


def write_text(text: str, output: str) -> None:
    write_bytes(output, text.encode())


def write_json(value: object, output: str) -> None:
    write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", output)


def write_rich(*parts: Any, output: str) -> None:
    """Print tables and lines on standard output, or write them to a file as plain text."""
    is_file = output != STANDARD_STREAM
    console = data_console(width=PIPE_WIDTH, no_color=True, force_terminal=False) if is_file else out()
    with console.capture() if is_file else nullcontext() as capture:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str))
    if capture is not None:
        write_text(capture.get(), output)


def number(value: float | None, digits: int = 1) -> str:
    """Format a number for a table. A half is rounded up, even if its float is slightly below it: 86.85 is 86.9."""
    return "–" if value is None else f"{value + 1e-9:.{digits}f}"


def table(columns: Iterable[str], rows: Iterable[Sequence[str]], left: Collection[str]) -> "Table":
    """Return a table without lines; the columns that are not among ``left`` are right-aligned."""
    from rich.table import Table

    result = Table(box=None, pad_edge=False)
    for column in columns:
        result.add_column(column, justify="left" if column in left else "right", overflow="fold")
    for row in rows:
        result.add_row(*row)
    return result


# Progress


def size_of(paths: Sequence[str]) -> int | None:
    """Return the bytes of files and folders, or None if standard input or an archive is among them."""
    from discotree.treebanks import files

    if any(path == STANDARD_STREAM or is_archive(path) for path in paths):
        return None
    contents = [[os.path.join(path, name) for name in files(path)] if os.path.isdir(path) else [path] for path in paths]
    with suppress(OSError):  # the reader reports it
        return sum(os.path.getsize(file) for names in contents for file in names)
    return None


class ProgressBar:
    """A progress bar on a terminal; shows nothing in a pipe.

    It counts trees or sentences. If the size of the input is known, it also shows how much of it has been read and an
    estimate of the remaining time. With a message ``interrupted``, Ctrl-C prints it and ends the command.
    """

    def __init__(self, unit: str = "tree", shown: bool = True, interrupted: str = "") -> None:
        self.unit = unit
        self.shown = shown and err.is_terminal
        self.interrupted = interrupted
        self.stage = ""
        self.count = self.bytes = 0
        self.began = self.start = self.updated = time.monotonic()
        if self.shown:
            from rich import progress
            from rich.text import Text

            class Elapsed(progress.ProgressColumn):  # unlike Rich's, it continues when a stage is complete
                def render(column, _: progress.Task) -> Text:
                    return Text(str(timedelta(seconds=int(time.monotonic() - self.began))), "progress.elapsed")

            self.bar = progress.Progress(
                progress.SpinnerColumn(),
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(),
                progress.TextColumn("{task.fields[counted]}", markup=False),
                Elapsed(),
                progress.TimeRemainingColumn(),
                console=err,
                transient=True,
            )
            self.task = self.bar.add_task("", total=None, counted="")

    def __enter__(self) -> "Self":
        if self.shown:
            self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.shown:
            self.bar.stop()
        if kind is KeyboardInterrupt and self.interrupted:
            complain(f"interrupted; {self.interrupted}")
            raise click.exceptions.Exit(INTERRUPTED)

    def show(self, stage: str, done: float, total: float | None, message: str) -> None:
        """Show how much of a stage is done; a new stage restarts the bar."""
        if self.shown:
            if stage != self.stage:
                self.bar.reset(self.task, description=stage)
            self.bar.update(self.task, completed=done, total=total, counted=message)
        self.stage = stage

    def expect(self, description: str, paths: Sequence[str]) -> None:
        """Restart the bar for these files."""
        if self.shown:
            self.count = self.bytes = 0
            self.start = time.monotonic()
            self.bar.reset(self.task, description=printable(description), total=size_of(paths))

    def on_bytes(self, count: int) -> None:
        """Count bytes of the input."""
        self.bytes += count

    def track(self, trees: "Iterable[Tree]") -> "Iterator[Tree]":
        """Count trees as they pass."""
        for tree in trees:
            yield tree
            self.advance(1, self.bytes)

    def advance(self, count: int, position: int) -> None:
        """Add finished items; ``position`` is the number of input bytes read for them so far."""
        now = time.monotonic()
        self.count += count
        if self.shown and now > self.updated + SECONDS_BETWEEN_UPDATES:
            self.updated = now
            rate = self.count / max(now - self.start, SECONDS_BETWEEN_UPDATES)
            message = f"{counted(self.count, self.unit)}, {rate:,.0f}/s"
            self.bar.update(self.task, completed=position, counted=message)
