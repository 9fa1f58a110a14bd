"""The progress bar."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from discotree.cli.common import err
from discotree.errors import printable
from discotree.files.names import STANDARD_STREAM, is_archive
from discotree.treebanks import files
from discotree.trees.tree import Tree

if TYPE_CHECKING:
    from rich.progress import Progress

SECONDS_BETWEEN_UPDATES = 0.1


def size_of(paths: Sequence[str]) -> int | None:
    """Return the bytes of files and folders, or None if standard input or an archive is among them."""
    if any(path == STANDARD_STREAM or is_archive(path) for path in paths):
        return None
    inside = [[os.path.join(path, name) for name in files(path)] if os.path.isdir(path) else [path] for path in paths]
    with suppress(OSError):  # the reader reports it
        return sum(os.path.getsize(file) for found in inside for file in found)
    return None


def new_bar() -> "Progress":
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[counted]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
    )


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
        if self.shown:
            self.bar = new_bar()
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
