"""Consoles that show data as it is: brackets are no markup, and control characters never reach the terminal."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from discotree.cli.leaving import leave_quietly
from discotree.errors import printable


class DataConsole(Console):
    """A console without markup, emoji codes and highlighting, which makes all text printable."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Make cells printable before they are measured. Rich would read markup in the cells of a table."""
        return super().render_str(printable(text), **{**options, "markup": False})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Make the rest printable, such as progress bars; control codes of Rich itself are segments of their own."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        leave_quietly()
