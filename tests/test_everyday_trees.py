"""The everyday sentences of benchmarks/everyday: complete, in the schemes of the models, and in no training data."""

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from support.treebanks import folder

import discotree as dt
from discotree import Tree
from discotree.config.recipes import load_recipe
from discotree.encoding.dependencies import split_chain, split_level
from discotree.network.vocab import Vocab
from discotree.text import sentences
from discotree.training.data import matching, resolve
from discotree.training.held_out import squeeze
from discotree.treebanks.chunks import read_chunks
from discotree.treebanks.reading import FileChunk
from discotree.trees.punctuation import move_punctuation

ROOT = Path(__file__).parent.parent
EVERYDAY = ROOT / "benchmarks" / "everyday"
SIZES = {"nl": 40, "de": 40, "en": 40, "is": 20}
KINDS = {"question", "imperative", "second-person", "dialogue", "headline", "recipe", "message", "quotation"}
RECIPES = {"nl": "alpino-all", "de": "german", "en": "english", "is": "icelandic"}

each_language = pytest.mark.parametrize("language", SIZES)


@cache
def everyday(language: str) -> list[Tree]:
    return list(dt.read(EVERYDAY / f"{language}.discbracket"))


def gaps(tree: Tree) -> int:
    return sum(1 for node in tree.nodes() if node.mask & (node.mask + (node.mask & -node.mask)))


@each_language
def test_there_are_as_many_trees_as_promised_of_every_kind(language: str) -> None:
    kinds: Counter[str] = Counter()
    for tree in everyday(language):
        name, _, kind = tree.id.partition("/")
        assert name == language
        kinds[kind.rpartition("-")[0]] += 1
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= SIZES[language] // len(KINDS)
    assert sum(kinds.values()) == SIZES[language] == len({tree.id for tree in everyday(language)})
    assert len({tree.words for tree in everyday(language)}) == SIZES[language]


@each_language
def test_sentences_are_short_and_a_fifth_has_a_gap(language: str) -> None:
    assert all(3 <= len(tree) <= 20 for tree in everyday(language))
    assert sum(1 for tree in everyday(language) if gaps(tree)) >= SIZES[language] // 5


@each_language
def test_punctuation_stands_where_training_puts_it(language: str) -> None:
    assert all(move_punctuation(tree) == tree for tree in everyday(language))


@each_language
def test_the_model_knows_every_label_and_tag(language: str) -> None:
    """Otherwise no parser of that scheme could give the tree."""
    path = ROOT / "models" / language / "src" / f"discotree_{language}" / "model" / "vocab.json"
    vocab = Vocab.from_json(path.read_text("utf-8"), str(path))
    chains = [split_level(label, vocab.root)[0] for label in vocab.labels.symbols]
    known = {*chain(*chains), *chain(*map(split_chain, vocab.outputs["unary"].symbols))}
    for tree in everyday(language):
        assert {node.label for node in tree.nodes()} <= {vocab.root, *known}, tree.id
        assert {token.tag for token in tree.tokens} <= set(vocab.outputs["tag"].symbols), tree.id


@pytest.mark.parametrize("language", ["nl", "de", "en"])
def test_text_is_split_into_the_words_of_the_trees(language: str) -> None:
    """Then a score from text says as much as one from words."""
    text = (EVERYDAY / f"{language}.txt").read_text("utf-8")
    split = [tuple(word.form for word in sentence) for sentence in sentences(text, language, lines=True)]
    assert split == [tree.words for tree in everyday(language)]


def test_icelandic_text_has_the_words_of_the_trees_unsplit() -> None:
    lines = (EVERYDAY / "is.txt").read_text("utf-8").splitlines()
    unsplit = ["".join(tree.words).replace("$$", "") for tree in everyday("is")]
    assert [line.replace(" ", "") for line in lines] == unsplit


@pytest.mark.data
@pytest.mark.slow
@each_language
def test_no_sentence_is_in_a_treebank(language: str) -> None:
    """Compared as letters without case, with all sentences of the files that the recipe of the language reads."""
    data = resolve(replace(load_recipe(RECIPES[language]).data, folder=str(folder("DISCOTREE_DATA"))))
    new = {_plain(tree): tree.id for tree in everyday(language)}
    anchors = [max(re.findall(r"[^\W_]+", " ".join(tree.words)), key=len)[1:].encode() for tree in everyday(language)]
    seen = 0
    for file in dict.fromkeys(source.file for source in (*data.train, *data.dev, *data.test)):
        for chunk in chain.from_iterable(map(read_chunks, matching(file))):
            # A sentence without the longest word of any of ours need not be read.
            if isinstance(chunk, FileChunk) or any(anchor in chunk.data for anchor in anchors):
                for tree in chunk.trees(on_error=[].append):
                    seen += 1
                    assert _plain(tree) not in new, tree.id
    assert seen > 1000


def _plain(tree: Tree) -> str:
    return squeeze("".join(tree.words))
