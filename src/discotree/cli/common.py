"""What the commands share: consoles, messages and files to write."""

import json
import logging
import os
import sys
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from discotree.cli.leaving import INTERRUPTED as INTERRUPTED
from discotree.files.names import STANDARD_STREAM
from discotree.files.writing import writable

if TYPE_CHECKING:
    from rich.console import Console

    from discotree.models.choice import Choice

PIPE_WIDTH = 200  # columns of a table in a pipe, where no terminal limits them


class LateConsole:
    """The console of standard error. Rich is imported when something is printed: most commands have nothing to say."""

    @cached_property
    def _console(self) -> "Console":
        from discotree.cli.terminal import DataConsole

        return DataConsole(stderr=True)

    @property
    def is_terminal(self) -> bool:
        """Whether Rich takes standard error for a terminal; variables make it do so with anything."""
        has_variable = not {"FORCE_COLOR", "TTY_COMPATIBLE"}.isdisjoint(os.environ)
        with suppress(ValueError):  # it is closed
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
    from discotree.cli.terminal import DataConsole

    console = DataConsole()
    return console if console.is_terminal else DataConsole(width=PIPE_WIDTH)


def report_written(what: str, output: str) -> None:
    """Say on standard error what a file now holds."""
    if output != STANDARD_STREAM:
        err.print(f"{what} written to {output}", style="dim", soft_wrap=True)


def report_choice(choice: "Choice") -> None:
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
    from discotree.cli.terminal import DataConsole

    console = DataConsole(width=PIPE_WIDTH, no_color=True, force_terminal=False)
    with console.capture() as capture:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str))
    write_text(capture.get(), output)


def number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


class WarningPrinter(logging.Handler):
    """Prints the library's warnings on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        err.print(f"discotree: {record.getMessage()}", style="yellow", soft_wrap=True)


def show_warnings() -> None:
    """Show the library's warnings; calling it twice changes nothing."""
    logger = logging.getLogger("discotree")
    if not any(isinstance(handler, WarningPrinter) for handler in logger.handlers):
        logger.addHandler(WarningPrinter(logging.WARNING))
