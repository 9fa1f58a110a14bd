"""Splits of a treebank: lists of ids, and tables that give every id its split."""

from collections.abc import Iterable, Iterator

from discotree.errors import TreebankError
from discotree.files.names import read_text
from discotree.trees.tree import Tree


def read_ids(path: str, split: str | None) -> set[str]:
    """Read ids from a file, one a line, or from a tab-separated table with columns id and split."""
    try:
        numbered = enumerate(read_text(path).splitlines(), 1)
    except (OSError, UnicodeDecodeError) as error:
        raise TreebankError(f"cannot be read: {error}", path) from None
    lines = [(number, line) for number, line in numbered if line.strip()]
    if not lines:
        raise TreebankError("there are no ids in it", path)
    first, header = lines[0][0], lines[0][1].split("\t")
    if "id" not in header:
        if split:
            raise TreebankError("a split was named, but the first line has no columns id and split", path, first)
        return {line.strip() for _, line in lines}
    if split and "split" not in header:
        raise TreebankError("a split was named, but there is no column split", path, first)
    found = set()
    for number, line in lines[1:]:
        row = dict(zip(header, line.split("\t"), strict=False))
        if "id" not in row:
            raise TreebankError("the line has no id", path, number)
        if split is None or row.get("split") == split:
            found.add(row["id"])
    if not found:
        raise TreebankError(f"no sentence belongs to the split {split!r}", path)
    return found


def selected(trees: Iterable[Tree], ids: set[str], path: str) -> Iterator[Tree]:
    """Return the trees with these ids; a missing one is an error."""
    missing = set(ids)
    for tree in trees:
        if tree.id in ids:
            missing.discard(tree.id)
            yield tree
    if missing:
        examples = ", ".join(sorted(missing)[:5])
        raise TreebankError(f"{len(missing):,} of these ids are not in the treebank: {examples} …", path)
