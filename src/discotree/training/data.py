"""The trees that a recipe names: files, splits, and what is done to them before the network sees them."""

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from discotree import config
from discotree.encoding.dependencies import Dependencies, to_dependencies
from discotree.encoding.head_rules import HeadRules
from discotree.errors import TreebankError
from discotree.treebanks import read
from discotree.treebanks.source import ErrorHandler, stop
from discotree.treebanks.splits import read_ids, selected
from discotree.trees.annotation_schemes import SCHEMES
from discotree.trees.transforms import transform
from discotree.trees.tree import Tree

PARTS = ("train", "dev", "test")
FOLDER = "DISCOTREE_DATA"

Cache = dict[tuple[str, str, bool], list[Tree | None]]  # None: a broken tree that was skipped


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
    parts = read_parts(data)
    rules_file = data.heads if data.heads in HeadRules.names() else resolved(data, data.heads)
    rules = HeadRules.load(rules_file, marked_first=data.marked_heads)
    if data.tags == "predicted" and not data.predicted_tags:
        raise TreebankError("where are the predicted tags? `discotree tag` makes the file: data.predicted_tags")
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


def words_of(parts: dict[str, Part]) -> set[str]:
    """The words of all parts: those whose pretrained vectors are of use."""
    return {token.form for part in parts.values() for tree in part.trees for token in tree.tokens}


def read_parts(data: config.Data) -> dict[str, Part]:
    """The trees of train, dev and test."""
    read_once: Cache = {}
    parts = {name: _part(data, getattr(data, name), read_once) for name in PARTS}
    if data.drop_repeats:
        seen: set[tuple[str, ...]] = set()
        for part in (parts[name] for name in reversed(PARTS)):  # test keeps all of its sentences
            part.trees = [tree for tree in part.trees if tree.words not in seen]
            seen.update(tree.words for tree in part.trees)
    return parts


def _part(data: config.Data, sources: Sequence[config.DataSource], read_once: Cache) -> Part:
    part = Part()
    for source in sources:
        chosen = _numbered(_read(data, source, read_once), source)
        trees: Iterable[Tree] = [tree for tree in chosen if tree is not None]
        part.skipped += chosen.count(None)
        if source.split:
            if not (source.splits or data.splits):
                raise TreebankError(f"the split {source.split!r} needs a table: data.splits", source.file)
            table = str(resolved(data, source.splits or data.splits))
            trees = selected(trees, read_ids(table, source.split), table)
        scheme = SCHEMES.get(source.scheme)
        if scheme is not None:
            trees = map(scheme, trees)
        part.trees += [transform(tree, punctuation=data.punctuation) for tree in trees]
    return part


def _read(data: config.Data, source: config.DataSource, read_once: Cache) -> list[Tree | None]:
    """All trees of a source, None in the place of broken ones; parts that share a file do not read it again."""
    key = (source.file, source.format, source.skip_broken)
    if key not in read_once:
        trees: list[Tree | None] = []
        handler: ErrorHandler = (lambda _: trees.append(None)) if source.skip_broken else stop
        for path in files(data, source):
            for tree in read(path, source.format or None, on_error=handler):
                trees.append(tree)  # noqa: PERF402 (one by one: a broken tree between two of them gets its place)
        read_once[key] = trees
    return read_once[key]


def files(data: config.Data, source: config.DataSource) -> list[Path]:
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
    """A file of the recipe: in the folder of the treebanks, or else as seen from here."""
    path = Path(data.folder or os.environ.get(FOLDER, ""), file)
    return path if path.exists() or not Path(file).exists() else Path(file)


def _numbered(trees: list[Tree | None], source: config.DataSource) -> list[Tree | None]:
    """The trees at the places that the source names, counted from 1."""
    if not source.sentences:
        return trees
    ranges = [_range(text.strip(), source) for text in source.sentences.split(",")]
    missing = [place for pair in ranges for place in pair if len(trees) < place < inf]
    if missing:
        # A range that leads nowhere means another version of the treebank, and so another split than one thinks.
        raise TreebankError(f"sentence {missing[0]:,} is asked for, and there are {len(trees):,}", source.file)
    return [tree for place, tree in enumerate(trees, 1) if any(begin <= place <= end for begin, end in ranges)]


def _range(text: str, source: config.DataSource) -> tuple[int, float]:
    found = re.fullmatch(r"(\d+)(-(\d*))?", text)
    if not found:
        raise TreebankError(f"{text!r} is no range of sentences such as 1-18602, 7 or 20-", source.file)
    begin = int(found[1])
    end = begin if found[2] is None else int(found[3]) if found[3] else inf
    if not 1 <= begin <= end:
        raise TreebankError(f"there are no sentences {text}: they are counted from 1", source.file)
    return begin, end


def checksums(data: config.Data) -> dict[str, str]:
    """SHA-256 of every file that the recipe reads, by its name in the recipe."""
    sources = [source for part in PARTS for source in getattr(data, part)]
    names = [source.file for source in sources] + [source.splits for source in sources if source.splits]
    if any(source.split and not source.splits for source in sources):
        names.append(data.splits)
    if data.tags == "predicted":
        names.append(data.predicted_tags)
    if data.heads not in HeadRules.names():
        names.append(data.heads)
    names += [data.vectors] if data.vectors else []
    return {name: _checksum(data, name) for name in dict.fromkeys(names)}


def _checksum(data: config.Data, name: str) -> str:
    digest = hashlib.sha256()
    found = files(data, config.DataSource(name))
    for file in [file for path in found for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]:
        if file.is_file():
            with file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()


# Predicted tags: one sentence a line, its id, a tab, its tags with blanks between them


def write_tags(rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    lines = []
    for id, tags in rows:
        if re.search(r"[\t\r\n]", id) or not all(re.fullmatch(r"\S+", tag) for tag in tags):
            raise TreebankError(
                f"sentence {id!r}: a tag with white space in it, or an id with a tab, cannot be written"
            )
        lines.append(f"{id}\t{' '.join(tags)}\n")
    return "".join(lines)


def read_tags(path: Path) -> dict[str, list[str]]:
    try:
        lines = path.read_text("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TreebankError(f"predicted tags cannot be read ({error}); `discotree tag` makes them", str(path)) from None
    rows: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        id, tab, tags = line.partition("\t")
        if not tab:
            raise TreebankError("expected an id, a tab and tags", str(path), number)
        if id in rows:
            raise TreebankError(f"the sentence {id!r} is there twice", str(path), number)
        rows[id] = tags.split(" ")
    return rows


def _predicted(tree: Tree, rows: dict[str, list[str]], path: str) -> list[str]:
    tags = rows.get(tree.id)
    if tags is None or len(tags) != len(tree.tokens):
        found = "no tags" if tags is None else f"{len(tags)} tags"
        raise TreebankError(f"{found} for the sentence {tree.id!r} of {len(tree.tokens)} words", path)
    return tags
