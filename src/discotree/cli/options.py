"""Options that several commands share, spelled the same everywhere.

``-o/--output`` names a file, ``--to`` the format to write, ``--from`` the format to read, ``-m/--model`` a model.
"""

from collections.abc import Callable, Iterable, Sequence
from glob import glob, has_magic
from os import path
from typing import Annotated, Any, Literal

import typer

from discotree.errors import DiscotreeError
from discotree.files.names import STANDARD_STREAM, base_name, is_encoding
from discotree.files.writing import overlaps
from discotree.treebanks import FORMATS

FORMAT_NAMES = ", ".join(FORMATS)
PictureFormat = Literal["text", "svg", "png", "pdf", "latex", "forest", "html"]
PICTURES = ("svg", "png", "pdf", "latex", "forest", "html")  # all but text
PICTURE_SUFFIXES = {
    ".txt": "text", ".svg": "svg", ".png": "png", ".pdf": "pdf", ".tex": "latex", ".html": "html", ".htm": "html"
}  # fmt: skip


def one_of(what: str, names: Iterable[str]) -> Callable[[str | None], str | None]:
    """Return a callback that refuses any value but these."""
    known = tuple(names)

    def check(name: str | None) -> str | None:
        if name and name not in known:
            raise typer.BadParameter(f"there is no {what} {name!r}; there are {', '.join(known)}")
        return name

    return check


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that completes these names in a shell."""
    known = tuple(names)
    return lambda incomplete: [name for name in known if name.startswith(incomplete)]


def known_encoding(name: str | None) -> str | None:
    if name is not None and not is_encoding(name):
        raise typer.BadParameter(f"there is no encoding {name!r}")
    return name


def output_option(help: str) -> Any:
    """Return the option that names the file to write."""
    return typer.Option("--output", "-o", metavar="FILE", show_default=False, help=help)


def format_option(flag: str, names: Iterable[str], help: str) -> Any:
    """Return an option that takes one of these formats."""
    known = tuple(names)
    check, complete = one_of("format", known), completing(known)
    return typer.Option(flag, metavar="FORMAT", callback=check, autocompletion=complete, help=help)


From = Annotated[
    str | None,
    format_option("--from", FORMATS, f"Format of the input, if its name and content do not tell: {FORMAT_NAMES}."),
]
Encoding = Annotated[
    str | None,
    typer.Option(callback=known_encoding, help="Encoding of the input, if not UTF-8 (export: or Latin-1)."),
]
Skip = Annotated[bool, typer.Option("--skip-broken", help="Skip broken trees and report them.")]


def expand(arguments: Sequence[str], or_text: bool = False) -> list[str]:
    """Expand the patterns among some paths, for shells that do not, and for patterns in quotes.

    A pattern that no file matches is an error, unless it may be a text.
    """
    paths: list[str] = []
    for argument in arguments:
        if argument == STANDARD_STREAM or path.exists(argument) or "://" in argument or not has_magic(argument):
            paths.append(argument)
            continue
        found = sorted(glob(argument, recursive=True))
        if not found and not or_text:
            raise DiscotreeError(f"{argument}: no file matches this pattern")
        paths += found or [argument]
    return paths


def check_output(output: str | None, sources: Iterable[str | None]) -> None:
    """Refuse an output that is one of the files that are read, under whatever name, or lies in a folder of them."""
    for source in filter(None, sources):
        if overlaps(output or STANDARD_STREAM, source):
            shown = "standard output" if output in (None, STANDARD_STREAM) else output
            if path.isdir(source):
                raise DiscotreeError(f"{shown}: lies in the input {source}: choose another folder")
            raise DiscotreeError(f"{shown}: is also the input: choose another name")


def check_output_folder(output: str, sources: Sequence[str]) -> None:
    """Refuse a folder for outputs that is among the sources, lies in one of them, or contains one."""
    check_output(output, sources)
    folder = path.realpath(output)
    for source in filter(path.exists, sources):
        if path.commonpath([folder, path.realpath(source)]) == folder:
            raise DiscotreeError(f"{output}: contains the input {source}: choose another folder")


def format_for(output: str | None, suffixes: dict[str, str], default: str) -> str:
    """Return the format that an output's suffix asks for; refuse a suffix that asks for none of them."""
    if output is None or output == STANDARD_STREAM or (path.exists(output) and not path.isfile(output)):
        return default
    name = base_name(output).lower()
    for suffix, format in suffixes.items():
        if name.endswith(suffix):
            return format
    raise typer.BadParameter(f"{output}: which format is this? Expected {', '.join(suffixes)}, or --to FORMAT")
