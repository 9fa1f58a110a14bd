"""The command line.

Exit codes: 0 success, 1 an error in the data, 2 a usage error, 130 interrupted, 141 the reader closed the output
(``discotree … | head``).

To add a command, write a module with a Click command and add a line to ``GROUPS``.
"""

import atexit
import errno
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import click

from discotree.cli.console import (
    INTERRUPTED,
    complain,
    discard_unwritable_output,
    exit_closed_pipe,
    open_closed_streams,
    show_warnings,
)
from discotree.errors import DiscotreeError, printable
from discotree.version import __version__

PARSING = ("parse", "bulk", "measure", "serve", "annotate")  # their matrices are too small for several threads
GC_THRESHOLD = 100_000  # new objects before the garbage collector runs
WIDTH = 100  # most columns of a help text


class Entry(NamedTuple):
    """The module that defines a command, and the first sentence of its help."""

    module: str
    summary: str


# `discotree --help` shows this table, so that it does not import all commands. A test compares the two.
GROUPS = {
    "Parse": {
        "parse": Entry("parse", "Parse text, or the sentences of treebanks."),
        "bulk": Entry("bulk", "Parse a large corpus on many cores, GPUs or machines with Ray."),
        "models": Entry("models", "List the installed models, or show the card of one model."),
    },
    "Treebanks": {
        "convert": Entry("treebanks", "Convert treebanks from one format to another."),
        "edit": Entry("edit", "Change trees by rule."),
        "split": Entry("treebanks", "Split a treebank into training, dev and test files."),
        "stats": Entry("treebanks", "Count trees, tokens, labels, unaries and discontinuities."),
        "measure": Entry("measure", "Measure clauses, T-units, dependency length and gaps of texts or treebanks."),
        "evaluate": Entry("evaluate", "Score trees against gold trees, exactly like disco-dop."),
        "agreement": Entry("agreement", "Measure the agreement between two annotators."),
        "draw": Entry("draw", "Draw trees as text, SVG, PNG, PDF, LaTeX or one HTML page."),
    },
    "Search": {
        "search": Entry("search", "Search treebanks for constructions."),
        "query-from": Entry("query_from", "Write the query for nodes of a tree."),
        "index": Entry("search", "Index treebanks that you search often."),
    },
    "Train": {
        "train": Entry("train", "Train a model from a recipe, or fine-tune an existing model."),
        "pretrain": Entry("pretrain", "Pretrain an encoder, or word vectors, on raw text."),
        "distill": Entry("distill", "Train a small model on the predictions of large models."),
        "calibrate": Entry("calibrate", "Fit the gap penalties and confidences of a model on held-out trees."),
        "export": Entry(
            "export", "Export a model as one ONNX file or for the web, or upload it to the Hugging Face hub."
        ),
    },
    "Serve": {
        "serve": Entry("serve", "Serve the web page and the HTTP API."),
        "page": Entry("page", "Make a web page that parses in the browser, without a server."),
        "annotate": Entry("annotate", "Annotate sentences in the browser."),
    },
}
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}


class LazyGroup(click.Group):
    """Imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in PARSING:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported
        command = getattr(import_module(f"discotree.cli.{COMMANDS[cmd_name].module}"), cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, COMMANDS))
        for title, entries in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), entry.summary) for name, entry in entries.items()])

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with report_usage_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with report_usage_errors():
            try:
                return super().invoke(ctx)
            except BrokenPipeError:
                exit_closed_pipe()
            except KeyboardInterrupt:
                complain("interrupted")
                ctx.exit(INTERRUPTED)


@contextmanager
def report_usage_errors() -> Iterator[None]:
    """Print usage errors like all others; they quote arguments, which may have control characters."""
    try:
        yield
    except click.UsageError as error:
        command, message = error.ctx.command_path if error.ctx else "discotree", printable(error.format_message())
        message = (message[0].lower() if message[1:2].islower() else message[:1]) + message[1:].rstrip(".")
        if not isinstance(error, click.exceptions.NoArgsIsHelpError):
            error.show = lambda *_: complain(f"{message} (see {command} --help)")  # type: ignore[method-assign]
        raise


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": WIDTH},
)
@click.version_option(__version__, prog_name="discotree", message="%(prog)s %(version)s")
def app() -> None:
    """Parse text into discontinuous constituent trees, train parsers, and convert, search, score and draw treebanks."""


def main() -> None:
    """Run the command line; print errors meant for the user without a traceback."""
    # Start-up creates many objects that stay, and hardly any cycles: collecting garbage again and again, and once more
    # at exit, would take a tenth of the time of a short command.
    open_closed_streams()
    gc.set_threshold(GC_THRESHOLD)
    atexit.register(gc.freeze)
    show_warnings()
    try:
        app(prog_name="discotree")
    except (DiscotreeError, OSError) as error:
        is_closed = isinstance(error, OSError) and error.errno == errno.EBADF
        complain("standard input or output is closed" if is_closed else str(error))
        sys.exit(1)
    finally:
        discard_unwritable_output()
