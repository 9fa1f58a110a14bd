"""The data of a recipe: find and read its files, divide them into splits and prepare them for the network."""

import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import inf
from pathlib import Path

from discotree.config.recipes import RECIPES
from discotree.config.schema import Data, DataSource
from discotree.encoding.dependencies import Dependencies, to_dependencies
from discotree.encoding.head_rules import MAX_BYTES, HeadRules
from discotree.errors import ConfigError, TreebankError, counted, expected, list_some
from discotree.files.reading import read_regular_file
from discotree.network.batch import Corpus, Forms
from discotree.queries.schemes import scheme_converter
from discotree.treebanks import FORMATS, read
from discotree.treebanks.reading import read_ids, select_ids
from discotree.treebanks.source import ErrorHandler, stop
from discotree.trees.punctuation import remove_tokens
from discotree.trees.transforms import transform
from discotree.trees.tree import NONE, Token, Tree

SPLITS = ("train", "dev", "test")
FOLDER_VARIABLE = "DISCOTREE_DATA"
MIN_OVERLAP_WORDS = 6  # shorter sentences repeat by chance
LEMMA_COLUMNS = 3  # of a table of lemmas
MAX_OVERLAP = 0.2  # share of the longer sentences of a split that may also be in another one

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

    def filter(self, wanted: Callable[[Tree], bool]) -> None:
        """Keep only the wanted trees."""
        pairs = [(tree, source) for tree, source in zip(self.trees, self.sources, strict=True) if wanted(tree)]
        self.trees, self.sources = [tree for tree, _ in pairs], [source for _, source in pairs]

    def by_source_name(self) -> dict[str, list[int]]:
        """Return the numbers of the sentences of every source that has a name."""
        numbers: dict[str, list[int]] = {}
        for number, source in enumerate(self.sources):
            if source.name:
                numbers.setdefault(source.name, []).append(number)
        return numbers

    def annotated(self, head: str) -> list[Dependencies]:
        """Return the encoded trees whose source has the annotation of an auxiliary head."""
        pairs = zip(self.encoded, self.sources, strict=True)
        return [tree for tree, source in pairs if head not in source.ignore]

    def lexicon(self) -> list[tuple[str, str, str]]:
        """Return the words of the sources' tables of lemmas, with their tags and lemmas."""
        paths = dict.fromkeys(source.lemmas for source in self.sources if source.lemmas)
        return [(*pair, lemma) for path in paths for pair, lemma in read_lemmas(path).items()]


# Files


def resolve(data: Data) -> Data:
    """Return the same data with absolute paths.

    Files are looked up in ``data.folder`` (by default that of the environment variable), in the current folder, and
    beside the bundled recipes. The functions below expect resolved data.
    """
    folder = Path(data.folder or os.environ.get(FOLDER_VARIABLE, ""))

    def locate(file: str) -> str:
        places = [folder / file, Path(file), RECIPES / file]
        chosen = next((path for path in places if path.exists()), places[0])
        return str(chosen.absolute()) if file else ""

    def locate_source(source: DataSource) -> DataSource:
        if not source.file:
            raise ConfigError(f"a data source without a file: {source}")
        file, splits, lemmas = map(locate, (source.file, source.splits, source.lemmas))
        return replace(source, file=file, splits=splits, lemmas=lemmas)

    return replace(
        data,
        splits=locate(data.splits),
        train=tuple(map(locate_source, data.train)),
        dev=tuple(map(locate_source, data.dev)),
        test=tuple(map(locate_source, data.test)),
        heads=data.heads if data.heads in HeadRules.names() else locate(data.heads),
        predicted_tags=locate(data.predicted_tags),
        vectors=locate(data.vectors),
    )


def own_head_rules(resolved: Data) -> str:
    """Return the text of the recipe's own head rules, which become part of the model; "" for built-in rules."""
    return "" if resolved.heads in HeadRules.names() else read_regular_file(resolved.heads, MAX_BYTES).decode("utf-8")


def matching(pattern: str) -> list[Path]:
    """Return the files that a path or a glob pattern names."""
    if Path(pattern).exists():
        return [Path(pattern)]
    paths = [Path(name) for name in sorted(glob.glob(pattern, recursive=True))]
    if not paths:
        hint = f"set data.folder or {FOLDER_VARIABLE} to the folder of the treebanks"
        raise TreebankError(f"no such file; {hint}", pattern)
    return paths


def checksums(data: Data, resolved: Data) -> dict[str, str]:
    """Return the SHA-256 of every file that a recipe reads, by its name in the recipe."""
    paths = dict(zip(recipe_files(data), recipe_files(resolved), strict=True))
    return {name: checksum(path) for name, path in paths.items()}


def recipe_files(data: Data) -> list[str]:
    """Return the files, folders and patterns that a recipe reads."""
    sources = [source for split in SPLITS for source in getattr(data, split)]
    files = [source.file for source in sources] + [source.splits for source in sources if source.splits]
    files += [source.lemmas for source in sources if source.lemmas]
    if any(source.split and not source.splits for source in sources):
        files.append(data.splits)
    if data.tags == "predicted":
        files.append(data.predicted_tags)
    if data.heads not in HeadRules.names():
        files.append(data.heads)
    return [*files, data.vectors] if data.vectors else files


def checksum(pattern: str) -> str:
    """Return the SHA-256 of a file, or of all files that a folder or a glob pattern names."""
    digest = hashlib.sha256()
    for path in matching(pattern):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                with file.open("rb") as stream:
                    while block := stream.read(1 << 20):
                        digest.update(block)
    return digest.hexdigest()


# Splits


def load_splits(data: Data, allow_overlap: bool = True) -> dict[str, Split]:
    """Read train, dev and test, and prepare them for the network; an overlap is an error unless it is allowed."""
    if not data.train or not (data.dev or data.hold_out):
        raise ConfigError("data.train and data.dev: expected at least one source each")
    if data.tags == "predicted" and not data.predicted_tags:
        raise ConfigError(
            "data.predicted_tags: expected the file of predicted tags, as written by `discotree train --predict-tags`"
        )
    if data.vectors:
        matching(data.vectors)
    rules = HeadRules.load(data.heads, marked_first=data.marked_heads)
    splits = read_splits(data)
    if not allow_overlap:
        _refuse_overlap(splits)
    for name, split in splits.items():
        if not split.trees and getattr(data, name):
            raise TreebankError(f"no {name} trees found")
        split.encoded = [to_dependencies(tree, rules, data.unaries) for tree in split.trees]
        split.inputs = _inputs(split, data)
    return splits


def _check_source(source: DataSource, split: str, data: Data) -> None:
    """Raise an error for settings and names of files that would fail later, after other sources have been read."""
    if source.repeat > 1 and split != "train":
        raise ConfigError(f"data.{split}: repeat can only be used in data.train")
    if source.format and source.format not in FORMATS:
        raise ConfigError(f"{source.file}: unknown format {source.format!r}{expected(source.format, FORMATS)}")
    if source.split and not (source.splits or data.splits):
        raise ConfigError(f"{source.file}: split={source.split!r} requires a table of splits; set data.splits")
    matching(source.file)
    _ranges(source)


def _refuse_overlap(splits: Mapping[str, Split]) -> None:
    """Raise an error if two splits share trees of a file, or many sentences; short ones repeat in every treebank."""
    for one, other in combinations(SPLITS, 2):
        first, second = splits[one], splits[other]
        trees = set(map(_identity, first.trees, first.sources))
        pairs = zip(second.trees, second.sources, strict=True)
        shared = [tree.id for tree, source in pairs if _identity(tree, source) in trees]
        words = {tree.words for tree in first.trees}
        long = [tree for tree in second.trees if len(tree) >= MIN_OVERLAP_WORDS]
        equal = [tree.id for tree in long if tree.words in words]
        if shared or len(equal) > MAX_OVERLAP * len(long):
            raise ConfigError(
                f"{one} and {other} overlap: {counted(len(shared or equal), 'sentence')} in both "
                f"({list_some(shared or equal)}); choose other trees, or set data.drop_repeats=true"
            )


def _identity(tree: Tree, source: DataSource) -> tuple[object, ...]:
    """Return what makes a tree the same as another: id and words, and for a short sentence the file."""
    return (tree.id, tree.words, source.file if len(tree) < MIN_OVERLAP_WORDS else "")


def read_held_out(data: Data) -> dict[str, Split]:
    """Read the trees of dev and test; training trees are read only if dev is held out from them."""
    return read_splits(replace(data, train=data.train if data.hold_out and not data.dev else ()))


def load_held_out(data: Data, name: str = "dev") -> Split:
    """Read dev or test alone, with the parser's input but without the encoding."""
    split = read_held_out(data)[name]
    if not split.trees:
        raise TreebankError(f"no {name} trees found")
    split.inputs = _inputs(split, data)
    return split


def treebank_split(trees: Iterable[Tree], data: Data) -> Split:
    """Return trees as a split, with the punctuation of the data settings and their own tags as input."""
    split = Split([transform(tree, punctuation=data.punctuation) for tree in trees])
    split.inputs = _inputs(split, replace(data, tags="none" if data.tags == "none" else "gold"))
    return split


def _inputs(split: Split, data: Data) -> list[list[Token]]:
    """Return the input of the parser: words, with tags as the settings require."""
    if data.tags == "predicted":
        rows = read_tags(Path(data.predicted_tags))
        return [list(map(Token, tree.words, tags_of(tree, rows, data.predicted_tags))) for tree in split.trees]
    inputs = []
    for tree, source in zip(split.trees, split.sources, strict=True):
        has_tags = data.tags == "gold" and "tag" not in source.ignore
        inputs.append([Token(token.form, token.tag) if has_tags else Token(token.form) for token in tree.tokens])
    return inputs


def words_of(splits: dict[str, Split]) -> set[str]:
    """Return the words of all splits, to select pretrained vectors."""
    return {word for split in splits.values() for tree in split.trees for word in tree.words}


def corpus_of(split: Split, forms: Forms, has_tags: bool) -> Corpus:
    """Return the sentences of a split as arrays with their gold annotation, repeated as their sources say."""
    chosen = [number for number, source in enumerate(split.sources) for _ in range(source.repeat)]
    inputs = [split.inputs[number] for number in chosen]
    tags = [[token.tag for token in tokens] for tokens in inputs] if has_tags else []
    corpus = Corpus(inputs, forms, tags)
    corpus.learn([split.encoded[number] for number in chosen], [split.sources[number].ignore for number in chosen])
    return corpus


def read_splits(data: Data) -> dict[str, Split]:
    """Read the trees of train, dev and test."""
    for name in SPLITS:
        for source in getattr(data, name):
            _check_source(source, name, data)
    cache: Cache = {}
    splits = {name: _read_split(data, getattr(data, name), cache) for name in SPLITS}
    if data.hold_out and not data.dev:
        splits["train"], splits["dev"] = held_out(splits["train"], data.hold_out)
    if data.drop_repeats:
        seen: set[tuple[str, ...]] = set()
        for split in (splits[name] for name in reversed(SPLITS)):  # test keeps all of its sentences
            split.filter(lambda tree: tree.words not in seen)
            seen.update(tree.words for tree in split.trees)
    return splits


def held_out(split: Split, every: int) -> tuple[Split, Split]:
    """Hold out every n-th sentence, or the last one of fewer; return the remaining and the held-out sentences."""
    count = len(split)
    chosen = set(range(every - 1, count, every)) or {count - 1}

    def part(numbers: list[int]) -> Split:
        return Split([split.trees[k] for k in numbers], sources=[split.sources[k] for k in numbers])

    remaining = part([number for number in range(count) if number not in chosen])
    remaining.skipped = split.skipped
    return remaining, part([number for number in range(count) if number in chosen])


def _read_split(data: Data, sources: Sequence[DataSource], cache: Cache) -> Split:
    split = Split()
    for source in sources:
        chosen = select_numbers(_read_source(source, cache), source)
        trees: Iterable[Tree] = [tree for tree in chosen if tree is not None]
        split.skipped += chosen.count(None)
        if source.split:
            table = source.splits or data.splits
            trees = select_ids(trees, read_ids(table, source.split), table)
        if source.drop_tags:
            trees = _drop_tags(trees, source)
        if source.scheme:
            trees = map(scheme_converter(source.scheme), trees)
        if source.lemmas:
            trees = _with_lemmas(trees, read_lemmas(source.lemmas))
        split.trees += [transform(tree, punctuation=data.punctuation) for tree in trees]
        split.sources += [source] * (len(split.trees) - len(split.sources))
    return split


def _drop_tags(trees: Iterable[Tree], source: DataSource) -> Iterator[Tree]:
    """Remove the words with a tag in ``drop_tags``; trees without any other words are left out."""
    for tree in trees:
        dropped = [position for position, token in enumerate(tree.tokens) if token.tag in source.drop_tags]
        remaining = remove_tokens(tree, set(dropped))
        if remaining is not None:
            yield remaining


Lemmas = Mapping[tuple[str, str], str]  # by form and tag


def read_lemmas(path: str) -> Lemmas:
    """Read a table of lemmas; see ``DataSource.lemmas``."""
    try:
        lines = Path(path).read_text("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TreebankError(f"the table of lemmas cannot be read ({error})", path) from None
    lemmas: dict[tuple[str, str], str] = {}
    for number, line in enumerate(lines, 1):
        columns = line.split("\t")
        if len(columns) != LEMMA_COLUMNS or not all(columns):
            raise TreebankError("expected a lemma, a tag and forms, separated by tabs", path, number)
        lemma, tag, forms = columns
        for form in forms.split(" "):
            if lemmas.setdefault((form, tag), lemma) != lemma:
                raise TreebankError(f"{form!r} with the tag {tag!r} has another lemma above", path, number)
    return lemmas


def _with_lemmas(trees: Iterable[Tree], table: Lemmas) -> Iterator[Tree]:
    """Yield trees with the lemmas of a table. A form that is not there is looked up in lower case."""
    for tree in trees:
        tokens = []
        for token in tree.tokens:
            lemma = table.get((token.form, token.tag)) or table.get((token.form.lower(), token.tag), NONE)
            tokens.append(token._replace(lemma=lemma))
        yield replace(tree, tokens=tuple(tokens))


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


def select_numbers(trees: list[Tree | None], source: DataSource) -> list[Tree | None]:
    """Select trees by ``source.sentences``, ranges of numbers counted from 1 such as ``"1-18602"`` or ``"5,7,10-"``."""
    if not source.sentences:
        return trees
    ranges = _ranges(source)
    missing = [number for bounds in ranges for number in bounds if len(trees) < number < inf]
    if missing:
        # A different version of the treebank, where the ranges would select other sentences
        raise TreebankError(f"sentences: expected at least {missing[0]:,} sentences, got {len(trees):,}", source.file)
    chosen = {number for first, last in ranges for number in range(first, int(min(last, len(trees))) + 1)}
    return [tree for number, tree in enumerate(trees, 1) if number in chosen]


def _ranges(source: DataSource) -> list[tuple[int, float]]:
    return [_range(text.strip(), source) for text in source.sentences.split(",")] if source.sentences else []


def _range(text: str, source: DataSource) -> tuple[int, float]:
    match = re.fullmatch(r"(\d+)(-(\d*))?", text)
    if not match:
        raise ConfigError(f"{source.file}: sentences: expected a range such as 1-18602, 7 or 20-, got {text!r}")
    first = int(match[1])
    last = first if match[2] is None else int(match[3]) if match[3] else inf
    if not 1 <= first <= last:
        raise ConfigError(f"{source.file}: sentences: expected an ascending range from 1 on, got {text!r}")
    return first, last


def format_tags(rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Format a file of predicted tags: one line per sentence, with its id, a tab and its tags."""
    lines = []
    for id, tags in rows:
        if re.search(r"[\t\r\n]", id) or not all(re.fullmatch(r"\S+", tag) for tag in tags):
            raise TreebankError(
                f"cannot write the tags of {id!r}: ids must not contain tabs or line ends, tags no whitespace"
            )
        lines.append(f"{id}\t{' '.join(tags)}\n")
    return "".join(lines)


def read_tags(path: Path) -> dict[str, list[str]]:
    """Read a file of predicted tags; return the tags of every sentence by id."""
    try:
        lines = path.read_text("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        hint = "write predicted tags with `discotree train --predict-tags`"
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
        number = "no tags" if tags is None else f"{len(tags)} tags"
        raise TreebankError(f"{number} for sentence {tree.id!r}, expected {len(tree.tokens)}", path)
    return tags
