"""Read treebanks, with or without skipping broken trees."""

from collections.abc import Iterator, Sequence

from discotree.cli.common import err
from discotree.errors import TreebankError
from discotree.files.names import stems
from discotree.files.reading import ByteCounter
from discotree.treebanks import read
from discotree.trees.tree import Tree

MAX_REPORTED = 10  # broken trees reported one by one


def read_trees(
    paths: Sequence[str],
    format: str | None,
    encoding: str | None,
    errors: list[TreebankError] | None = None,
    with_stems: bool = False,
    on_bytes: ByteCounter | None = None,
) -> Iterator[Tree]:
    """Read the trees of some treebanks, one after the other.

    Broken trees go into ``errors``, or stop the command where there is no list for them. ``with_stems`` puts the name
    of its file in front of an id where there are several, as for the files of a folder.
    """
    prefixes = stems(list(paths)) if with_stems and len(paths) > 1 else [""] * len(paths)
    for path, stem in zip(paths, prefixes, strict=True):
        if errors is None:
            yield from read(path, format, encoding=encoding, stem=stem, on_bytes=on_bytes)
        else:
            yield from read(path, format, encoding=encoding, stem=stem, on_error=errors.append, on_bytes=on_bytes)


def report_skipped(errors: list[TreebankError]) -> None:
    for error in errors[:MAX_REPORTED]:
        err.print(f"skipped: {error}", soft_wrap=True)
    if errors:
        err.print(f"{len(errors):,} broken trees skipped")
