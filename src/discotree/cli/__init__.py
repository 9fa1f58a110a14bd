"""The command line.

Exit codes: 0 done, 1 something is wrong with the data, 2 something is wrong with the command, 130 interrupted.
"""

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from discotree import __version__
from discotree.cli.bulk import bulk
from discotree.cli.common import err, show_warnings
from discotree.cli.draw import draw
from discotree.cli.evaluation import evaluate
from discotree.cli.examples import EXAMPLES
from discotree.cli.models import models, push
from discotree.cli.parse import parse
from discotree.cli.serve import serve
from discotree.cli.training import tag, train
from discotree.cli.treebanks import convert, stats
from discotree.errors import DiscotreeError, printable

UsageError: Any = typer.BadParameter.__base__


class PrintableGroup(TyperGroup):
    """Makes the messages about wrong commands printable: they quote arguments, which may be names of files."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            error.message = printable(error.message)
            raise


app = typer.Typer(
    cls=PrintableGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Discontinuous constituent trees: parse text, train parsers; convert, count, draw and compare treebanks.",
)
for command in (parse, bulk, models, convert, stats, evaluate, draw, serve, train, tag, push):
    # Paragraphs are single lines: the help would keep the line breaks of the source, and drop those of the examples.
    paragraphs = [" ".join(paragraph.split()) for paragraph in (command.__doc__ or "").split("\n\n")]
    examples = "\n\n".join(("Examples:", *EXAMPLES[command.__name__]))
    app.command(help="\n\n".join(paragraphs), epilog=examples)(command)


@app.callback(invoke_without_command=True)
def options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        print(f"discotree {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; errors meant for the user come without a traceback."""
    show_warnings()
    try:
        app(prog_name="discotree")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads our output any more
        sys.exit(1)
    except (DiscotreeError, OSError) as error:
        err.print(f"discotree: {error}", style="red", soft_wrap=True)
        sys.exit(1)
