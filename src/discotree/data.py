"""The trees that a recipe names: files, splits, and what is done to them before the network sees them."""

import glob
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from discotree import config
from discotree.dependencies import Dependencies, to_dependencies
from discotree.errors import TreebankError
from discotree.heads import HeadRules
from discotree.transforms import transform
from discotree.tree import Tree
from discotree.treebank import read
from discotree.treebank.source import stop
from discotree.treebank.splits import read_ids, selected

PARTS = ("train", "dev", "test")
FOLDER = "DISCOTREE_DATA"

Cache = dict[tuple[str, str, bool], tuple[list[Tree], int]]


@dataclass
class Part:
    """One part of a treebank: gold trees, their encoding, and the tags that the network may look at."""

    trees: list[Tree] = field(default_factory=list)
    encoded: list[Dependencies] = field(default_factory=list)
    tags: list[Sequence[str]] = field(default_factory=list)
    skipped: int = 0  # broken trees

    def __len__(self) -> int:
        return len(self.trees)


def load(data: config.Data) -> dict[str, Part]:
    """Train, dev and test, ready to learn from."""
    if not data.train or not data.dev:
        raise TreebankError("the recipe names no training or no dev trees: data.train, data.dev")
    read_once: Cache = {}
    parts = {name: _part(data, getattr(data, name), read_once) for name in PARTS}
    if data.drop_repeats:
        held_out = {tree.words for name in PARTS[1:] for tree in parts[name].trees}
        parts["train"].trees = [tree for tree in parts["train"].trees if tree.words not in held_out]
    rules = HeadRules.load(data.heads, marked_first=data.marked_heads)
    predicted = read_tags(resolved(data, data.predicted_tags)) if data.tags == "predicted" else {}
    for name, part in parts.items():
        if not part.trees and getattr(data, name):
            raise TreebankError(f"there are no {name} trees")
        part.encoded = [to_dependencies(tree, rules, data.unaries) for tree in part.trees]
        if data.tags == "gold":
            part.tags = [[token.tag for token in tree.tokens] for tree in part.trees]
        elif data.tags == "predicted":
            part.tags = [_predicted(tree, predicted, data.predicted_tags) for tree in part.trees]
    return parts


def _part(data: config.Data, sources: Sequence[config.Source], read_once: Cache) -> Part:
    part = Part()
    for source in sources:
        all_trees, skipped = _read(data, source, read_once)
        part.skipped += skipped
        trees = _numbered(all_trees, source)
        if source.split:
            if not data.splits:
                raise TreebankError(f"the split {source.split!r} needs a table: data.splits", source.file)
            table = str(resolved(data, data.splits))
            trees = selected(trees, read_ids(table, source.split), table)
        part.trees += [transform(tree, punctuation=data.punctuation) for tree in trees]
    return part


def _read(data: config.Data, source: config.Source, read_once: Cache) -> tuple[list[Tree], int]:
    """All trees of a source, and how many were skipped; parts that share a file do not read it again."""
    key = (source.file, source.format, source.skip_broken)
    if key not in read_once:
        errors: list[TreebankError] = []
        handler = errors.append if source.skip_broken else stop
        paths = files(data, source)
        trees = [tree for path in paths for tree in read(path, source.format or None, on_error=handler)]
        read_once[key] = trees, len(errors)
    return read_once[key]


def files(data: config.Data, source: config.Source) -> list[Path]:
    """The files of a source; its name may be a pattern."""
    path = resolved(data, source.file)
    if path.exists():
        return [path]
    found = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]
    if not found:
        raise TreebankError(
            f"there is no such file; is data.folder, or {FOLDER}, the folder of the treebanks?", str(path)
        )
    return found


def resolved(data: config.Data, file: str) -> Path:
    """A file of the recipe, seen from the folder of the treebanks."""
    return Path(data.folder or os.environ.get(FOLDER, ""), file)


def _numbered(trees: Sequence[Tree], source: config.Source) -> Iterator[Tree]:
    """The trees at the places that the source names, counted from 1."""
    if not source.sentences:
        yield from trees
        return
    ranges = [_range(text.strip(), source) for text in source.sentences.split(",")]
    for place, tree in enumerate(trees, 1):
        if any(begin <= place <= end for begin, end in ranges):
            yield tree


def _range(text: str, source: config.Source) -> tuple[int, float]:
    found = re.fullmatch(r"(\d+)(-(\d*))?", text)
    if not found:
        raise TreebankError(f"{text!r} is no range of sentences such as 1-18602, 7 or 20-", source.file)
    begin = int(found[1])
    if found[2] is None:
        return begin, begin
    return begin, int(found[3]) if found[3] else float("inf")


def checksums(data: config.Data) -> dict[str, str]:
    """SHA-256 of every file that the recipe reads, by its name in the recipe."""
    names = [source.file for part in PARTS for source in getattr(data, part)]
    names += [name for name in (data.splits, data.predicted_tags, data.vectors) if name]
    return {name: _checksum(resolved(data, name), data, name) for name in dict.fromkeys(names)}


def _checksum(path: Path, data: config.Data, name: str) -> str:
    paths = sorted(path.rglob("*")) if path.is_dir() else files(data, config.Source(name))
    digest = hashlib.sha256()
    for file in paths:
        if file.is_file():
            with file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()


# Predicted tags: one sentence a line, its id, a tab, its tags with blanks between them


def write_tags(rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    return "".join(f"{id}\t{' '.join(tags)}\n" for id, tags in rows)


def read_tags(path: Path) -> dict[str, list[str]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TreebankError(f"predicted tags cannot be read ({error}); `discotree tag` makes them", str(path)) from None
    rows: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        id, tab, tags = line.partition("\t")
        if not tab:
            raise TreebankError("expected an id, a tab and tags", str(path), number)
        rows[id] = tags.split(" ")
    return rows


def _predicted(tree: Tree, rows: dict[str, list[str]], path: str) -> list[str]:
    tags = rows.get(tree.id)
    if tags is None or len(tags) != len(tree.tokens):
        found = "no tags" if tags is None else f"{len(tags)} tags"
        raise TreebankError(f"{found} for the sentence {tree.id!r} of {len(tree.tokens)} words", path)
    return tags
