"""Everyday sentences: a test half in benchmarks/everyday and a training half beside the recipes.

Both are in the schemes of the models, neither is in a treebank, and they share no sentence.
"""

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
from discotree.config.recipes import RECIPES, load_recipe
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
SIZES = {"nl": 150, "de": 150, "en": 150, "is": 100}
KINDS = {"question", "imperative", "second-person", "dialogue", "headline", "recipe", "message", "quotation"}
LANGUAGE_RECIPES = {
    "nl": ["alpino-all", "nl-large", "nl-small"],
    "de": ["german", "german-free", "de-large", "de-free-large", "de-nc-small", "de-small"],
    "en": ["english", "en-large", "en-small"],
    "is": ["icepahc", "is-large", "is-small"],
}
MODELS = {"nl": ["nl"], "de": ["de", "de-nc"], "en": ["en"], "is": ["is"]}

each_language = pytest.mark.parametrize("language", SIZES)


@cache
def everyday(language: str) -> list[Tree]:
    return list(dt.read(EVERYDAY / f"{language}.discbracket"))


@cache
def training(language: str) -> list[Tree]:
    return list(dt.read(RECIPES / "everyday" / f"{language}.discbracket"))


def both(language: str) -> list[Tree]:
    return [*everyday(language), *training(language)]


def with_gaps(trees: list[Tree]) -> int:
    return sum(any(node.mask & (node.mask + (node.mask & -node.mask)) for node in tree.nodes()) for tree in trees)


@each_language
def test_the_test_half_has_as_many_trees_as_promised_of_every_kind(language: str) -> None:
    kinds: Counter[str] = Counter()
    for tree in everyday(language):
        name, _, kind = tree.id.partition("/")
        assert name == language
        kinds[kind.rpartition("-")[0]] += 1
    assert set(kinds) >= KINDS
    assert sum(kinds.values()) == SIZES[language] == len({tree.id for tree in everyday(language)})
    assert with_gaps(everyday(language)) >= SIZES[language] * 2 // 5


@each_language
def test_many_of_the_training_trees_have_a_gap(language: str) -> None:
    trees = training(language)
    assert len(trees) >= SIZES[language]
    assert len({tree.id for tree in trees}) == len(trees)
    assert all(tree.id.startswith(f"{language}/train-") for tree in trees)
    assert with_gaps(trees) >= len(trees) * 2 // 5


@each_language
def test_no_sentence_comes_twice(language: str) -> None:
    """Compared as letters without case, so that a test sentence is not in training with another full stop."""
    plain = Counter(map(_plain, both(language)))
    assert [sentence for sentence, count in plain.items() if count > 1] == []


@each_language
def test_every_recipe_of_the_language_trains_on_the_training_half_alone(language: str) -> None:
    for recipe in LANGUAGE_RECIPES[language]:
        data = load_recipe(recipe).data
        assert f"everyday/{language}.discbracket" in [source.file for source in data.train], recipe
        resolved = resolve(data)
        files = [source.file for source in (*resolved.train, *resolved.dev, *resolved.test)]
        assert str(RECIPES / "everyday" / f"{language}.discbracket") in files
        assert not [file for file in files if str(EVERYDAY) in file]


@each_language
def test_punctuation_stands_where_training_puts_it(language: str) -> None:
    assert [tree.id for tree in both(language) if move_punctuation(tree) != tree] == []


@pytest.mark.parametrize(("language", "model"), [(language, name) for language in MODELS for name in MODELS[language]])
def test_the_model_knows_every_label_and_tag(language: str, model: str) -> None:
    """Otherwise no parser of that scheme could give the tree."""
    path = ROOT / "models" / model / "src" / f"discotree_{model.replace('-', '_')}" / "model" / "vocab.json"
    vocab = Vocab.from_json(path.read_text("utf-8"), str(path))
    chains = [split_level(label, vocab.root)[0] for label in vocab.labels.symbols]
    known = {*chain(*chains), *chain(*map(split_chain, vocab.outputs["unary"].symbols))}
    for tree in both(language):
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
    recipe, *_ = LANGUAGE_RECIPES[language]
    data = resolve(replace(load_recipe(recipe).data, folder=str(folder("DISCOTREE_DATA"))))
    new = {_plain(tree): tree.id for tree in both(language)}
    anchors = [max(re.findall(r"[^\W_]+", " ".join(tree.words)), key=len)[1:].encode() for tree in both(language)]
    seen = 0
    files = dict.fromkeys(source.file for source in (*data.train, *data.dev, *data.test))
    for file in [file for file in files if not file.startswith(str(RECIPES))]:
        for chunk in chain.from_iterable(map(read_chunks, matching(file))):
            # A sentence without the longest word of any of ours need not be read.
            if isinstance(chunk, FileChunk) or any(anchor in chunk.data for anchor in anchors):
                for tree in chunk.trees(on_error=[].append):
                    seen += 1
                    assert _plain(tree) not in new, tree.id
    assert seen > 1000


def _plain(tree: Tree) -> str:
    return squeeze("".join(tree.words))
