"""The command line.

Exit codes: 0 done, 1 something is wrong with the data, 2 something is wrong with the command, 130 interrupted, 141
nobody reads the output any more (``discotree … | head``).
"""

import atexit
import gc
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from discotree.cli.commands import ENTRIES, LazyCommands
from discotree.cli.common import err, show_warnings
from discotree.cli.leaving import leave_quietly
from discotree.cli.values import unchecked
from discotree.errors import DiscotreeError, printable
from discotree.version import __version__

NEW_OBJECTS = 100_000  # before the collector of garbage looks at them
UsageError: Any = typer.BadParameter.__base__


class CommandGroup(TyperGroup):
    """Imports a command when it is called, and makes the messages about wrong commands printable.

    The messages quote arguments, which may be names of files.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands: Any = LazyCommands()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(ENTRIES)

    def get_params(self, ctx: Any) -> list[Any]:
        return unchecked(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            error.message = printable(error.message)
            raise
        except BrokenPipeError:
            leave_quietly()

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        from discotree.cli.help import print_help

        options = [(", ".join(sorted(option.opts, key=len)), option.help or "") for option in self.get_params(ctx)]
        commands = [(name, entry.summary) for name, entry in ENTRIES.items()]
        print_help(self.get_usage(ctx), self.help or "", options, commands)


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Discontinuous constituent trees: parse text, train parsers; convert, count, draw and compare treebanks.",
)


@app.callback(invoke_without_command=True)
def options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        print(f"discotree {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; errors meant for the user come without a traceback."""
    # Start-up makes many objects that stay, and hardly a cycle: looking for some again and again, and once more at the
    # end, would take a tenth of the time of a short command.
    gc.set_threshold(NEW_OBJECTS)
    atexit.register(gc.freeze)
    show_warnings()
    try:
        app(prog_name="discotree")
    except (DiscotreeError, OSError) as error:
        err.print(f"discotree: {error}", style="red", soft_wrap=True)
        sys.exit(1)
