"""Which sentences belong to which part of a treebank: lists of ids and tables of splits."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from discotree.errors import TreebankError
from discotree.tree import Tree


def read_ids(path: str, split: str | None) -> set[str]:
    """The ids in a file, one a line, or in a tab-separated table with columns id and split."""
    try:
        lines = [line for line in Path(path).read_text("utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise TreebankError(f"cannot be read: {error}", path) from None
    if not lines:
        raise TreebankError("there are no ids in it", path)
    header = lines[0].split("\t")
    if "id" not in header:
        if split:
            raise TreebankError("a split was named, but the first line has no columns id and split", path, 1)
        return {line.strip() for line in lines}
    if split and "split" not in header:
        raise TreebankError("a split was named, but there is no column split", path, 1)
    found = set()
    for row_number, line in enumerate(lines[1:], 2):
        row = dict(zip(header, line.split("\t"), strict=False))
        if "id" not in row:
            raise TreebankError("the line has no id", path, row_number)
        if split is None or row.get("split") == split:
            found.add(row["id"])
    if not found:
        raise TreebankError(f"no sentence belongs to the split {split!r}", path)
    return found


def selected(trees: Iterable[Tree], wanted: set[str], path: str) -> Iterator[Tree]:
    """The trees that are wanted; one that is not there is an error."""
    missing = set(wanted)
    for tree in trees:
        if tree.id in wanted:
            missing.discard(tree.id)
            yield tree
    if missing:
        some = ", ".join(sorted(missing)[:5])
        raise TreebankError(f"{len(missing):,} of these ids are not in the treebank: {some} …", path)
