"""Options that several commands share, and checks of their values.

``-o/--output`` names a file, ``--to`` the format to write, ``--from`` the format to read, ``-m/--model`` a model.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from glob import glob, has_magic
from os import path
from typing import Any, Literal, Protocol, TypeVar, cast, get_args

import click
from click.core import ParameterSource

from discotree.cli.console import ProgressBar, err
from discotree.errors import DiscotreeError, ModelError, TreebankError, counted, expected
from discotree.files.reading import ByteCounter
from discotree.files.writing import STANDARD_STREAM, base_name, is_encoding, other_file, overlaps, stems
from discotree.treebanks import FORMATS, read
from discotree.treebanks.source import stop
from discotree.trees.tree import Tree

MAX_SKIPPED_TREES_REPORTED = 10

F = TypeVar("F", bound=Callable[..., Any])


class Decorator(Protocol):
    """Adds an option to a command."""

    def __call__(self, function: F, /) -> F: ...


PictureFormat = Literal["text", "svg", "png", "pdf", "latex", "html"]
PICTURES = ("svg", "png", "pdf", "latex", "html")  # all but text
PICTURE_SUFFIXES = {
    ".txt": "text", ".svg": "svg", ".png": "png", ".pdf": "pdf", ".tex": "latex", ".html": "html", ".htm": "html"
}  # fmt: skip


def examples(*commands: str) -> str:
    """Return the epilog of a command's help; ``\\b`` keeps Click from wrapping the lines."""
    return "\n".join(["\b", "Examples:", *(f"  {command}" for command in commands)])


# Types of values


def complete_model(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from discotree.models.finding import names

    return [name for name in names() if name.startswith(incomplete)]


def complete_recipe(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from discotree.config.recipes import recipe_names

    return [name for name in recipe_names() if name.startswith(incomplete)]


class Choice(click.Choice[str]):
    """A choice of values; the error for an unknown value suggests a similar one."""

    def get_invalid_choice_message(self, value: str, ctx: click.Context | None) -> str:  # noqa: ARG002
        return f"unknown value {value!r}{expected(value, self.choices)}"


class EncodingName(click.types.StringParamType):
    """The name of an encoding that Python knows."""

    name = "encoding"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_encoding(value):
            self.fail(f"unknown encoding {value!r}; use a name such as utf-8 or latin-1", param, ctx)
        return value


# Options


def choice_option(
    flag: str, choices: Any, help: str, default: str | Sequence[str] | None = None, **options: Any
) -> Decorator:
    """Return an option that takes one of the values of a Literal type."""
    return click.option(flag, type=Choice(get_args(choices)), default=default, help=help, **options)


def output_option(help: str, default: str | None = STANDARD_STREAM, metavar: str = "FILE") -> Decorator:
    """Return the option that names the file to write."""
    return click.option("--output", "-o", metavar=metavar, default=default, show_default=False, help=help)


def format_option(flag: str, names: Iterable[str], help: str) -> Decorator:
    """Return an option that takes one of these formats; the help lists them."""
    formats = tuple(names)
    flags = [flag, "from_"] if flag == "--from" else [flag]
    help = f"{help}: {', '.join(formats)}."
    return click.option(*flags, type=Choice(formats), metavar="FORMAT", help=help)


@dataclass
class TreebankInput:
    """The treebanks of a command, and how to read them."""

    arguments: Sequence[str]  # paths and patterns
    format: str | None
    encoding: str | None
    errors: list[TreebankError] | None = None  # the broken trees; None: the first one stops the command
    current: str = ""  # the path that is being read

    @cached_property
    def paths(self) -> list[str]:
        return expand(self.arguments)

    @property
    def stems(self) -> list[str]:
        """The prefixes of ids: the names of the files if there are several, as for the files of a folder."""
        return stems(self.paths) if len(self.paths) > 1 else [""]

    def trees(self, bar: ProgressBar, description: str, *, with_stems: bool = False) -> Iterator[Tree]:
        """Read the trees of all treebanks, one after the other, and show the progress."""
        bar.expect(description, self.paths)
        return bar.track(self.read(bar.on_bytes, with_stems))

    def read(self, on_bytes: ByteCounter | None = None, with_stems: bool = False) -> Iterator[Tree]:
        on_error = stop if self.errors is None else self.errors.append
        for name, stem in zip(self.paths, self.stems if with_stems else [""] * len(self.paths), strict=True):
            self.current = name
            yield from read(name, self.format, encoding=self.encoding, stem=stem, on_error=on_error, on_bytes=on_bytes)

    def report_skipped(self) -> None:
        """Report the broken trees that --skip-broken has skipped."""
        for error in (self.errors or [])[:MAX_SKIPPED_TREES_REPORTED]:
            err.print(f"skipped: {error}", soft_wrap=True)
        if self.errors:
            err.print(f"{counted(len(self.errors), 'broken tree')} skipped")


def treebank_options(metavar: str = "TREEBANK...", required: bool = True) -> Decorator:
    """Return a decorator that adds the argument for treebanks and the options for reading them, as ``source``."""

    def add(function: F) -> F:
        @wraps(function)
        def command(
            treebanks: tuple[str, ...], from_: str | None, encoding: str | None, skip_broken: bool, **options: Any
        ) -> None:
            function(source=TreebankInput(treebanks, from_, encoding, [] if skip_broken else None), **options)

        skip_option = click.option("--skip-broken", is_flag=True, help="Skip broken trees and report them.")
        return cast(
            F,
            click.argument("treebanks", metavar=metavar, nargs=-1, required=required)(
                from_option(encoding_option(skip_option(command)))
            ),
        )

    return add


def from_option(function: F) -> F:
    help = "Format of the input, if it cannot be detected from the name and the content"
    return format_option("--from", FORMATS, help)(function)


def encoding_option(function: F) -> F:
    help = "Encoding of the input. By default UTF-8; for the export format, Latin-1 if it is not valid UTF-8."
    return click.option("--encoding", type=EncodingName(), metavar="NAME", help=help)(function)


def workers_option(help: str) -> Decorator:
    return click.option("--workers", type=click.IntRange(min=1), metavar="N", help=help)


def model_option(function: F) -> F:
    @wraps(function)
    def command(**options: Any) -> None:
        try:
            function(**options)
        except ModelError as error:
            if click.get_current_context().get_parameter_source("model") is not ParameterSource.ENVIRONMENT:
                raise
            raise ModelError(f"$DISCOTREE_MODEL: {error}") from None

    option = click.option(
        "--model",
        "-m",
        shell_complete=complete_model,
        metavar="MODEL",
        envvar="DISCOTREE_MODEL",
        show_envvar=True,
        help="An installed model (see discotree models), a folder, or hub:ORG/NAME. By default, a model for the "
        "language of the text.",
    )
    return cast(F, option(command))


def model_argument(function: F) -> F:
    return click.argument("model", shell_complete=complete_model, metavar="MODEL")(function)


def device_option(function: F) -> F:
    help = "Device to run on, such as cpu, cuda or cuda:1. By default, a GPU if there is one."
    return click.option("--device", metavar="DEVICE", help=help)(function)


def engine_option(function: F) -> F:
    from discotree.config.schema import EngineName

    help = "Library that runs the network. By default, torch on a GPU and onnx with int8 weights on a CPU."
    return choice_option("--engine", EngineName, help)(function)


def settings_option(example: str, prefix: str = "SECTION") -> Decorator:
    help = f"Change a setting, for example --set {example}. May be repeated."
    return click.option("--set", "settings", metavar=f"{prefix}.NAME=VALUE", multiple=True, help=help)


# Values


def expand(arguments: Sequence[str], or_text: bool = False) -> list[str]:
    """Expand the patterns among some paths, for shells that do not, and for quoted patterns.

    A pattern that matches no file is an error, unless it may be a text.
    """
    paths: list[str] = []
    for argument in arguments:
        if argument == STANDARD_STREAM or path.exists(argument) or "://" in argument or not has_magic(argument):
            paths.append(argument)
            continue
        matches = sorted(glob(argument, recursive=True))
        if not matches and not or_text:
            raise DiscotreeError(f"{argument}: no file matches this pattern")
        paths += matches or [argument]
    return paths


def check_output(output: str | None, sources: Iterable[str | None]) -> None:
    """Refuse an output that is one of the input files, under whatever name, or lies in one of the input folders."""
    text = other_file(output or "", "ann", "txt")  # brat's format has two files
    for source in filter(None, sources):
        if overlaps(output or STANDARD_STREAM, source) or (text and overlaps(text, source)):
            name = "standard output" if output in (None, STANDARD_STREAM) else output
            if path.isdir(source):
                raise DiscotreeError(f"{name} is inside the input folder {source}; choose another folder")
            raise DiscotreeError(f"{name} is also an input; choose another name")


def check_output_folder(output: str, sources: Sequence[str]) -> None:
    """Refuse an output folder that is one of the sources, lies in one of them, or contains one."""
    check_output(output, sources)
    folder = path.realpath(output)
    for source in filter(path.exists, sources):
        if path.commonpath([folder, path.realpath(source)]) == folder:
            raise DiscotreeError(f"{output} contains the input {source}; choose another folder")


def format_for(output: str | None, suffixes: dict[str, str], default: str) -> str:
    """Return the format for the suffix of an output; refuse an unknown suffix."""
    if output is None or output == STANDARD_STREAM or (path.exists(output) and not path.isfile(output)):
        return default
    name = base_name(output).lower()
    for suffix, format in suffixes.items():
        if name.endswith(suffix):
            return format
    raise click.UsageError(f"unknown suffix of {output}; use one of {', '.join(suffixes)}, or pass --to FORMAT")
