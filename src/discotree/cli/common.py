"""What the commands share: options, reading with or without skipping, the progress bar."""

import logging
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from discotree.errors import TreebankError
from discotree.files import is_encoding
from discotree.treebanks import FORMATS, read
from discotree.trees.tree import Tree

PIPE_WIDTH = 200  # columns for a table that nobody looks at directly

err = Console(stderr=True, highlight=False)


def known_format(name: str | None) -> str | None:
    if name is not None and name not in FORMATS:
        raise typer.BadParameter(f"there is no format {name!r}; there are {FORMAT_NAMES}")
    return name


def known_encoding(name: str | None) -> str | None:
    if name is not None and not is_encoding(name):
        raise typer.BadParameter(f"there is no encoding {name!r}")
    return name


FORMAT_NAMES = ", ".join(FORMATS)
From = Annotated[
    str | None,
    typer.Option("--from", callback=known_format, help=f"Format of the input, if not clear: {FORMAT_NAMES}."),
]
Encoding = Annotated[
    str | None,
    typer.Option(callback=known_encoding, help="Encoding of the input, if not UTF-8 (export: or Latin-1)."),
]
Skip = Annotated[bool, typer.Option("--skip-broken", help="Skip broken trees, say which, and go on.")]


def out() -> Console:
    """Standard output; in a pipe wide enough for every table."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def read_trees(
    path: str, format: str | None, encoding: str | None, errors: list[TreebankError] | None
) -> Iterator[Tree]:
    """Trees of a treebank; broken ones go into ``errors`` where that is a list."""
    if errors is None:
        return read(path, format, encoding=encoding)
    return read(path, format, encoding=encoding, on_error=errors.append)


def say_skipped(errors: list[TreebankError]) -> None:
    for error in errors[:10]:
        err.print(f"skipped: {error}", markup=False, soft_wrap=True)
    if errors:
        err.print(f"{len(errors):,} broken trees skipped")


def number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


class _Rate(ProgressColumn):
    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        return Text(f"{task.completed:,.0f} {self.unit}, {task.speed or 0:,.0f}/s")


class Bar:
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

    def __enter__(self) -> "Bar":
        if self.shown:
            self.bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self.shown:
            self.bar.stop()

    def __call__(self, trees: Iterable[Tree], description: str) -> Iterable[Tree]:
        return self.bar.track(trees, description=description) if self.shown else trees

    def advance(self, count: int) -> None:
        """For work that is not done one by one."""
        if self.shown:
            task = self.bar.task_ids[0] if self.bar.task_ids else self.bar.add_task("", total=None)
            self.bar.advance(task, count)


class _Warnings(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        err.print(f"discotree: {record.getMessage()}", style="yellow", markup=False, soft_wrap=True)


def show_warnings() -> None:
    """Say on standard error what the library warns of."""
    logger = logging.getLogger("discotree")
    if not any(isinstance(handler, _Warnings) for handler in logger.handlers):
        logger.addHandler(_Warnings(logging.WARNING))
