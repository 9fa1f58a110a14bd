"""The file of predicted tags: one sentence a line, its id, a tab, and its tags with a space between two of them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from discotree.errors import TreebankError
from discotree.trees.tree import Tree


def format_tags(rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return the file's text for sentences given by their ids and tags."""
    lines = []
    for id, tags in rows:
        if re.search(r"[\t\r\n]", id) or not all(re.fullmatch(r"\S+", tag) for tag in tags):
            raise TreebankError(
                f"sentence {id!r} cannot be written: an id may not contain a tab or a line end, a tag no whitespace"
            )
        lines.append(f"{id}\t{' '.join(tags)}\n")
    return "".join(lines)


def read_tags(path: Path) -> dict[str, list[str]]:
    """Read the tags of every sentence, by id."""
    try:
        lines = path.read_text("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        hint = "write predicted tags with `discotree tag`"
        raise TreebankError(f"cannot be read ({error}); {hint}", str(path)) from None
    rows: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        id, tab, tags = line.partition("\t")
        if not tab:
            raise TreebankError("expected an id, a tab and tags", str(path), number)
        if id in rows:
            raise TreebankError(f"the sentence {id!r} occurs twice", str(path), number)
        rows[id] = tags.split(" ")
    return rows


def tags_of(tree: Tree, rows: Mapping[str, Sequence[str]], path: str) -> Sequence[str]:
    """Return the predicted tags of a tree, one for each of its words."""
    tags = rows.get(tree.id)
    if tags is None or len(tags) != len(tree.tokens):
        found = "no tags" if tags is None else f"{len(tags)} tags"
        raise TreebankError(f"{found} for the sentence {tree.id!r} of {len(tree.tokens)} words", path)
    return tags
