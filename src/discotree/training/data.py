"""The trees of a recipe: its files are found, read, divided into splits and prepared for the network."""

import glob
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from discotree.config import Data, DataSource
from discotree.encoding.dependencies import Dependencies, to_dependencies
from discotree.encoding.head_rules import MAX_BYTES, HeadRules
from discotree.encoding.plain_files import read_plain
from discotree.errors import ConfigError, TreebankError
from discotree.network.batch import Corpus, Forms
from discotree.training.predicted_tags import read_tags, tags_of
from discotree.training.sentence_numbers import numbered
from discotree.treebanks import read
from discotree.treebanks.source import ErrorHandler, stop
from discotree.treebanks.splits import read_ids, selected
from discotree.trees.annotation_schemes import SCHEMES
from discotree.trees.draft import Draft
from discotree.trees.transforms import transform
from discotree.trees.tree import Token, Tree

SPLITS = ("train", "dev", "test")
FOLDER_VARIABLE = "DISCOTREE_DATA"

Cache = dict[tuple[str, str, bool], list[Tree | None]]  # None: a broken tree that was skipped


@dataclass
class Split:
    """Train, dev or test: gold trees, their encoding, and the tokens that the parser gets as input."""

    trees: list[Tree] = field(default_factory=list)
    encoded: list[Dependencies] = field(default_factory=list)
    inputs: list[list[Token]] = field(default_factory=list)  # words, with tags if the network gets any
    skipped: int = 0  # broken trees
    sources: list[DataSource] = field(default_factory=list)  # where every tree is from; by default a plain one

    def __post_init__(self) -> None:
        self.sources = self.sources or [DataSource("")] * len(self.trees)

    def __len__(self) -> int:
        return len(self.trees)

    def keep(self, wanted: Callable[[Tree], bool]) -> None:
        """Drop all trees but the wanted ones."""
        kept = [(tree, source) for tree, source in zip(self.trees, self.sources, strict=True) if wanted(tree)]
        self.trees, self.sources = [tree for tree, _ in kept], [source for _, source in kept]

    def named(self) -> dict[str, list[int]]:
        """Return the numbers of the sentences of every source that has a name."""
        found: dict[str, list[int]] = {}
        for number, source in enumerate(self.sources):
            if source.name:
                found.setdefault(source.name, []).append(number)
        return found

    def annotated(self, head: str) -> list[Dependencies]:
        """Return the encoded trees whose source provides what an auxiliary head learns."""
        pairs = zip(self.encoded, self.sources, strict=True)
        return [tree for tree, source in pairs if head not in source.ignore]


# Files


def resolve(data: Data) -> Data:
    """Return the same data with absolute paths.

    A file is looked up in the folder of the treebanks (``data.folder``, or else that of the environment variable), then
    in the current folder. The functions below expect data that is resolved.
    """
    folder = Path(data.folder or os.environ.get(FOLDER_VARIABLE, ""))

    def found(file: str) -> str:
        path = folder / file
        chosen = path if path.exists() or not Path(file).exists() else Path(file)
        return str(chosen.absolute()) if file else ""

    def found_source(source: DataSource) -> DataSource:
        if not source.file:
            raise ConfigError(f"a source of the recipe has no file: {source}")
        return replace(source, file=found(source.file), splits=found(source.splits))

    return replace(
        data,
        splits=found(data.splits),
        train=tuple(map(found_source, data.train)),
        dev=tuple(map(found_source, data.dev)),
        test=tuple(map(found_source, data.test)),
        heads=data.heads if data.heads in HeadRules.names() else found(data.heads),
        predicted_tags=found(data.predicted_tags),
        vectors=found(data.vectors),
    )


def own_head_rules(resolved: Data) -> str:
    """Return the text of the recipe's own file of head rules, which becomes part of the model; "" if it uses ours."""
    return "" if resolved.heads in HeadRules.names() else read_plain(resolved.heads, MAX_BYTES).decode("utf-8")


def matching(pattern: str) -> list[Path]:
    """Return the files that a path or a glob pattern names."""
    if Path(pattern).exists():
        return [Path(pattern)]
    found = [Path(name) for name in sorted(glob.glob(pattern, recursive=True))]
    if not found:
        hint = f"set data.folder or {FOLDER_VARIABLE} to the folder of the treebanks"
        raise TreebankError(f"there is no such file; {hint}", pattern)
    return found


def checksums(data: Data, resolved: Data) -> dict[str, str]:
    """Return the SHA-256 of every file that a recipe reads, by its name in the recipe."""
    paths = dict(zip(recipe_files(data), recipe_files(resolved), strict=True))
    return {name: _checksum(path) for name, path in paths.items()}


def recipe_files(data: Data) -> list[str]:
    """Return the files, folders and patterns that a recipe reads."""
    sources = [source for split in SPLITS for source in getattr(data, split)]
    files = [source.file for source in sources] + [source.splits for source in sources if source.splits]
    if any(source.split and not source.splits for source in sources):
        files.append(data.splits)
    if data.tags == "predicted":
        files.append(data.predicted_tags)
    if data.heads not in HeadRules.names():
        files.append(data.heads)
    return [*files, data.vectors] if data.vectors else files


def _checksum(pattern: str) -> str:
    digest = hashlib.sha256()
    for path in matching(pattern):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                with file.open("rb") as stream:
                    while block := stream.read(1 << 20):
                        digest.update(block)
    return digest.hexdigest()


# Splits


def load_splits(data: Data) -> dict[str, Split]:
    """Read train, dev and test, and prepare them for the network."""
    if not data.train or not (data.dev or data.hold_out):
        raise ConfigError("data.train, data.dev: expected sources of trees for both, got none")
    if data.tags == "predicted" and not data.predicted_tags:
        raise ConfigError("data.predicted_tags: expected the file of predicted tags, which `discotree tag` writes")
    for name in ("dev", "test"):
        if any(source.repeat > 1 for source in getattr(data, name)):
            raise ConfigError(f"data.{name}: repeat is for training: sentences are scored once")
    splits = read_splits(data)
    rules = HeadRules.load(data.heads, marked_first=data.marked_heads)
    predicted = read_tags(Path(data.predicted_tags)) if data.tags == "predicted" else {}
    for name, split in splits.items():
        if not split.trees and getattr(data, name):
            raise TreebankError(f"there are no {name} trees")
        split.encoded = [to_dependencies(tree, rules, data.unaries) for tree in split.trees]
        split.inputs = _inputs(split, data, predicted)
    return splits


def load_held_out(data: Data, name: str = "dev") -> Split:
    """Read dev or test alone, with the parser's input but without the encoding."""
    needs_test = name == "test" or data.drop_repeats  # dev drops what test repeats
    needs_train = name == "dev" and not data.dev and data.hold_out
    needed = replace(
        data,
        train=data.train if needs_train else (),
        dev=data.dev if name == "dev" else (),
        test=data.test if needs_test else (),
    )
    split = read_splits(needed)[name]
    if not split.trees:
        raise TreebankError(f"there are no {name} trees")
    predicted = read_tags(Path(data.predicted_tags)) if data.tags == "predicted" else {}
    split.inputs = _inputs(split, data, predicted)
    return split


def treebank_split(trees: Iterable[Tree], data: Data) -> Split:
    """Return trees as a split of their own: their punctuation is that of the data, their tags are the input's."""
    found = [transform(tree, punctuation=data.punctuation) for tree in trees]
    tagged = replace(data, tags="none" if data.tags == "none" else "gold")
    split = Split(found, sources=[DataSource("")] * len(found))
    split.inputs = _inputs(split, tagged, {})
    return split


def _inputs(split: Split, data: Data, predicted: Mapping[str, Sequence[str]]) -> list[list[Token]]:
    """Return the tokens that the parser gets: words, with the tags that the settings ask for."""
    trees = split.trees
    if data.tags == "gold":
        return [_gold_input(tree, source) for tree, source in zip(trees, split.sources, strict=True)]
    if data.tags == "predicted":
        return [list(map(Token, tree.words, tags_of(tree, predicted, data.predicted_tags))) for tree in trees]
    return [list(map(Token, tree.words)) for tree in trees]


def _gold_input(tree: Tree, source: DataSource) -> list[Token]:
    return [Token(token.form) if "tag" in source.ignore else Token(token.form, token.tag) for token in tree.tokens]


def words_of(splits: dict[str, Split]) -> set[str]:
    """Return the words of all splits, for which pretrained vectors are useful."""
    return {word for split in splits.values() for tree in split.trees for word in tree.words}


def corpus_of(split: Split, forms: Forms, has_tags: bool) -> Corpus:
    """Return the sentences of a split as arrays, each as often as its source says, with what is to be learned."""
    chosen = [number for number, source in enumerate(split.sources) for _ in range(source.repeat)]
    inputs = [split.inputs[number] for number in chosen]
    tags = [[token.tag for token in tokens] for tokens in inputs] if has_tags else []
    corpus = Corpus(inputs, forms, tags)
    corpus.learn([split.encoded[number] for number in chosen], [split.sources[number].ignore for number in chosen])
    return corpus


def read_splits(data: Data) -> dict[str, Split]:
    """Read the trees of train, dev and test."""
    cache: Cache = {}
    splits = {name: _read_split(data, getattr(data, name), cache) for name in SPLITS}
    if data.hold_out and not data.dev:
        splits["train"], splits["dev"] = held_out(splits["train"], data.hold_out)
    if data.drop_repeats:
        seen: set[tuple[str, ...]] = set()
        for split in (splits[name] for name in reversed(SPLITS)):  # test keeps all of its sentences
            split.keep(lambda tree: tree.words not in seen)
            seen.update(tree.words for tree in split.trees)
    return splits


def held_out(split: Split, every: int) -> tuple[Split, Split]:
    """Divide sentences into those to learn from and every n-th one; of fewer, the last one is held out."""
    count = len(split)
    chosen = set(range(every - 1, count, every)) or {count - 1}

    def part(numbers: list[int]) -> Split:
        return Split([split.trees[k] for k in numbers], sources=[split.sources[k] for k in numbers])

    learned = part([number for number in range(count) if number not in chosen])
    learned.skipped = split.skipped
    return learned, part([number for number in range(count) if number in chosen])


def _read_split(data: Data, sources: Sequence[DataSource], cache: Cache) -> Split:
    split = Split()
    for source in sources:
        chosen = numbered(_read_source(source, cache), source)
        trees: Iterable[Tree] = [tree for tree in chosen if tree is not None]
        split.skipped += chosen.count(None)
        if source.split:
            table = source.splits or data.splits
            if not table:
                raise ConfigError(f"{source.file}: the split {source.split!r} needs a table of splits: set data.splits")
            trees = selected(trees, read_ids(table, source.split), table)
        if source.drop_tags:
            trees = _without(trees, source)
        if source.scheme:
            trees = map(SCHEMES[source.scheme], trees)
        split.trees += [transform(tree, punctuation=data.punctuation) for tree in trees]
        split.sources += [source] * (len(split.trees) - len(split.sources))
    return split


def _without(trees: Iterable[Tree], source: DataSource) -> Iterator[Tree]:
    """Yield the trees without words that have a tag to be dropped; nothing may be left of a tree."""
    for tree in trees:
        dropped = [position for position, token in enumerate(tree.tokens) if token.tag in source.drop_tags]
        left = Draft(tree).without(dropped) if dropped else tree
        if left is not None:
            yield left


def _read_source(source: DataSource, cache: Cache) -> list[Tree | None]:
    """Read all trees of a source, with None for broken ones; splits that share a file read it once."""
    key = (source.file, source.format, source.skip_broken)
    if key not in cache:
        trees: list[Tree | None] = []
        handler: ErrorHandler = (lambda _: trees.append(None)) if source.skip_broken else stop
        for path in matching(source.file):
            for tree in read(path, source.format or None, on_error=handler):
                trees.append(tree)  # noqa: PERF402 (one by one: the handler appends broken trees in between)
        cache[key] = trees
    return cache[key]
