"""What the commands share: consoles, reading with or without skipping, the progress bar."""

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from discotree.errors import TreebankError
from discotree.files import STANDARD_STREAM, stems, writable
from discotree.treebanks import read
from discotree.trees.tree import Tree

INTERRUPTED = 130  # exit code after Ctrl-C, as shells have it
PIPE_WIDTH = 200  # columns of a table in a pipe, where no terminal limits them
MAX_REPORTED = 10  # broken trees reported one by one

err = Console(stderr=True, highlight=False)


def out() -> Console:
    """Return the console of standard output; in a pipe it is wide enough for every table."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def read_trees(
    paths: Sequence[str],
    format: str | None,
    encoding: str | None,
    errors: list[TreebankError] | None = None,
    with_stems: bool = False,
) -> Iterator[Tree]:
    """Read the trees of some treebanks, one after the other.

    Broken trees go into ``errors``, or stop the command where there is no list for them. ``with_stems`` puts the name
    of its file in front of an id where there are several, as for the files of a folder.
    """
    prefixes = stems(list(paths)) if with_stems and len(paths) > 1 else [""] * len(paths)
    for path, stem in zip(paths, prefixes, strict=True):
        if errors is None:
            yield from read(path, format, encoding=encoding, stem=stem)
        else:
            yield from read(path, format, encoding=encoding, stem=stem, on_error=errors.append)


def report_skipped(errors: list[TreebankError]) -> None:
    for error in errors[:MAX_REPORTED]:
        err.print(f"skipped: {error}", markup=False, soft_wrap=True)
    if errors:
        err.print(f"{len(errors):,} broken trees skipped")


def report_written(what: str, output: str) -> None:
    """Say on standard error what a file now holds."""
    if output != STANDARD_STREAM:
        err.print(f"{what} written to {output}", style="dim", markup=False, soft_wrap=True)


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
    console = Console(highlight=False, width=PIPE_WIDTH, no_color=True, force_terminal=False)
    with console.capture() as capture:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str))
    write_text(capture.get(), output)


def number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


class _Rate(ProgressColumn):
    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        return Text(f"{task.completed:,.0f} {self.unit}, {task.speed or 0:,.0f}/s")


class ProgressBar:
    """A progress bar on a terminal, and none in a pipe."""

    def __init__(self, unit: str = "trees", shown: bool = True) -> None:
        self.shown = shown and err.is_terminal
        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            _Rate(unit),
            TimeElapsedColumn(),
            console=err,
            transient=True,
        )

    def __enter__(self) -> "ProgressBar":
        if self.shown:
            self.bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self.shown:
            self.bar.stop()

    def __call__(self, trees: Iterable[Tree], description: str) -> Iterable[Tree]:
        return self.bar.track(trees, description=description) if self.shown else trees

    def advance(self, count: int) -> None:
        """Count work that is not done one by one."""
        if self.shown:
            task = self.bar.task_ids[0] if self.bar.task_ids else self.bar.add_task("", total=None)
            self.bar.advance(task, count)


class WarningPrinter(logging.Handler):
    """Prints the library's warnings on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        err.print(f"discotree: {record.getMessage()}", style="yellow", markup=False, soft_wrap=True)


def show_warnings() -> None:
    """Show the library's warnings; calling it twice changes nothing."""
    logger = logging.getLogger("discotree")
    if not any(isinstance(handler, WarningPrinter) for handler in logger.handlers):
        logger.addHandler(WarningPrinter(logging.WARNING))
