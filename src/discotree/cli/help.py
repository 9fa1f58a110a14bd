"""The help of the whole program, in the style of Typer's, which would import every command and a Markdown parser."""

from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text


def print_help(usage: str, about: str, options: Iterable[tuple[str, str]], commands: Iterable[tuple[str, str]]) -> None:
    """Print the help; options and commands come with what there is to say about them."""
    console = Console(highlight=False, emoji=False)
    name, _, rest = usage.partition(" ")
    console.print(Padding(Text.assemble((name, "yellow"), " ", rest), 1), style="bold")
    console.print(Padding(Text(about), (0, 1, 1, 1)))
    for title, rows in (("Options", options), ("Commands", commands)):
        console.print(Panel(_table(rows), title=title, title_align="left", border_style="dim"))


def _table(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, expand=True)
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column(ratio=1)
    for name, about in rows:
        table.add_row(Text(name), Text(about))
    return table
