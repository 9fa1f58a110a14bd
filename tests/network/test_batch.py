"""Sentences to arrays, against a dumb version made of lists, and how batches are made."""

import dataclasses
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.networks import CALM, RULES, TREES, corpus_for, parser_of, tensors

from discotree import Node, Token, Tree, to_dependencies
from discotree.errors import ModelError
from discotree.network.batch import HEAD, IGNORED, LABEL, Corpus, Forms, by_length
from discotree.network.vocab import Vocab, normalized, targets
from discotree.training.run import network_in

ENCODED = [to_dependencies(tree, RULES) for tree in TREES]
TAGS = [[token.tag for token in tree.tokens] for tree in TREES]
VOCAB = Vocab.build(ENCODED, ["tag", "unary", "spine"], TAGS[:5])
MAX_CHARS = 8


def pieces(form):
    """From one to three made-up pieces."""
    return tuple(len(form) * 10 + k for k in range(1 + len(form) % 3))


def padded(rows, width, filler):
    return [[*row, *[filler] * (width - len(row))] for row in rows]


def dumb(sentences, tags, trees):
    """All that a batch holds, one sentence and one word at a time. Characters and pieces are given for each word."""
    n = max(len(tokens) for tokens in sentences)
    words = [[VOCAB.words.ids.get(normalized(token.form), 0) for token in tokens] for tokens in sentences]
    chars = [[[VOCAB.chars.ids.get(c, 1) for c in token.form[:MAX_CHARS]] for token in s] for s in sentences]
    known = [[VOCAB.tags.ids.get(tag, 0) for tag in row] for row in tags]
    gold = {HEAD: [[head + 1 for head in tree.heads] for tree in trees]}
    gold[LABEL] = [[VOCAB.labels.ids.get(label, IGNORED) for label in tree.labels] for tree in trees]
    for head, alphabet in VOCAB.outputs.items():
        gold[head] = [[alphabet.ids.get(symbol, IGNORED) for symbol in targets(tree, head)] for tree in trees]
    return {
        "lengths": [len(tokens) for tokens in sentences],
        "words": padded(words, n, 0),
        "tags": padded(known, n, 0),
        "chars": chars,
        "pieces": [[pieces(token.form) for token in tokens] for tokens in sentences],
        "gold": {name: padded(rows, n, IGNORED) for name, rows in gold.items()},
    }


def undone(batch):
    """The same from a batch."""
    lengths = batch.lengths.tolist()
    chars = [
        [[c for c in batch.chars[batch.form[b, k]].tolist() if c] for k in range(length)]
        for b, length in enumerate(lengths)
    ]
    spans = [
        [
            tuple(batch.pieces[b, batch.first[b, k] : batch.last[b, k] + 1].tolist()) if batch.pieces.shape[1] else ()
            for k in range(length)
        ]
        for b, length in enumerate(lengths)
    ]
    return {
        "lengths": lengths,
        "words": batch.words.tolist(),
        "tags": batch.tags.tolist(),
        "chars": chars,
        "pieces": spans,
        "gold": {name: values.tolist() for name, values in batch.gold.items()},
    }


form = st.sampled_from([token.form for tree in TREES for token in tree.tokens]) | st.text(min_size=1, max_size=12)
token = st.builds(Token, form, st.sampled_from(["NN", "PPER", "nie"]))


@st.composite
def corpora(draw):
    """Flat trees over known and unknown words, labels and tags, and which of them make the batch."""
    trees = []
    for tokens in draw(st.lists(st.lists(token, min_size=1, max_size=5), min_size=1, max_size=5)):
        phrase = Node(draw(st.sampled_from(["S", "nie"])), range(len(tokens)))
        trees.append(Tree(tuple(tokens), Node("ROOT", [phrase])))
    chosen = draw(st.lists(st.integers(0, len(trees) - 1), min_size=1, max_size=6))
    return trees, chosen


@given(corpora(), st.booleans())
def test_batches_are_those_of_the_dumb_version(made, with_pieces):
    trees, chosen = made
    sentences = [tree.tokens for tree in trees]
    tags = [[token.tag for token in tree.tokens] for tree in trees]
    dependencies = [to_dependencies(tree, RULES) for tree in trees]
    corpus = Corpus(sentences, Forms(VOCAB, MAX_CHARS, pieces if with_pieces else None), tags)
    corpus.learn(dependencies)
    batch = corpus.batch(np.array(chosen))
    expected = dumb([sentences[k] for k in chosen], [tags[k] for k in chosen], [dependencies[k] for k in chosen])
    if not with_pieces:
        assert batch.pieces.shape == (len(chosen), 0)
        expected["pieces"] = [[() for _ in row] for row in expected["pieces"]]
    assert undone(batch) == expected
    longest = max(len(sentences[k]) for k in chosen)
    assert (len(batch), batch.words.shape) == (len(chosen), (len(chosen), longest))
    assert batch.first.shape == batch.last.shape == batch.form.shape == batch.words.shape
    if with_pieces:
        assert batch.pieces.shape[1] == max(sum(map(len, row)) for row in expected["pieces"])
        assert int(batch.last.max()) < batch.pieces.shape[1]
    assert len({tuple(row) for row in batch.chars.tolist()}) <= len(batch.chars)


def test_a_table_of_words_can_grow_between_batches():
    forms = Forms(VOCAB, MAX_CHARS, pieces)
    first = Corpus([TREES[0].tokens], forms)
    before = undone(first.batch(np.array([0])))
    second = Corpus([TREES[3].tokens, TREES[0].tokens], forms)
    assert undone(first.batch(np.array([0]))) == before
    assert undone(second.batch(np.array([1]))) == before
    assert len(forms) == len({token.form for k in (0, 3) for token in TREES[k].tokens})


def test_unknown_words_and_characters_have_the_numbers_for_that():
    corpus = Corpus([[Token("Hund"), Token("☃☃"), Token("Hundx")]], Forms(VOCAB, MAX_CHARS), [["NN", "☃", "NN"]])
    batch = corpus.batch(np.array([0]))
    assert batch.words.tolist() == [[VOCAB.words.ids["Hund"], 0, 0]]
    assert batch.chars[batch.form[0, 1]].tolist() == [1, 1, 0, 0, 0]
    assert batch.chars[batch.form[0, 2], -1] == 1
    assert batch.tags.tolist() == [[VOCAB.tags.ids["NN"], 0, VOCAB.tags.ids["NN"]]]


@pytest.mark.parametrize("length", [44, 45, 46, 10_000])
def test_characters_beyond_the_limit_do_not_count(length):
    corpus = Corpus([[Token("e" * length)], [Token("e")]], Forms(VOCAB, 45))
    batch = corpus.batch(np.array([1, 0]))
    assert batch.chars.shape == (2, min(length, 45))
    assert (batch.chars != 0).sum(1)[batch.form[:, 0]].tolist() == [1, min(length, 45)]


def test_batches_are_as_wide_as_their_own_words_need():
    corpus = Corpus([[Token("Donaudampfschiff")], [Token("er"), Token("hat")]], Forms(VOCAB, 45))
    assert corpus.batch(np.array([1])).chars.shape == (2, 3)


# By length

lengths_and_words = st.tuples(st.lists(st.integers(1, 30), max_size=40), st.integers(0, 100))


@given(lengths_and_words, st.none() | st.integers(0, 5))
def test_every_sentence_is_in_one_batch_and_no_batch_is_too_large(made, seed):
    lengths, words = np.array(made[0], np.int64), made[1]
    batches = list(by_length(lengths, words, None if seed is None else np.random.default_rng(seed)))
    assert Counter(int(k) for batch in batches for k in batch) == Counter(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * lengths[batch].max() <= words
    # Batches hold what is similar: sorted by length, they do not overlap, and each is as full as it can be.
    ordered = sorted(batches, key=lambda batch: (lengths[batch].min(), lengths[batch].max()))
    for one, other in pairwise(ordered):
        assert lengths[one].max() <= lengths[other].min()
        assert (len(one) + 1) * lengths[other].min() > words


def test_batches_come_from_the_seed_alone_and_in_the_same_number():
    lengths = np.array([len(tree) for tree in TREES])

    def drawn(seed):
        return [batch.tolist() for batch in by_length(lengths, 30, np.random.default_rng(seed))]

    plain = [batch.tolist() for batch in by_length(lengths, 30)]
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert plain == [batch.tolist() for batch in by_length(lengths, 30)]
    assert len(drawn(1)) == len(drawn(2)) == len(plain)
    assert {frozenset(batch) for batch in drawn(1)} != {frozenset(batch) for batch in drawn(2)}  # new neighbours, too


def test_few_very_long_sentences_share_a_batch(monkeypatch):
    monkeypatch.setattr("discotree.network.batch.MAX_PAIRS", 1000)
    lengths = np.array([20, 20, 20, 20, 40])
    assert [len(batch) for batch in by_length(lengths, 10_000)] == [2, 2, 1]


def test_no_sentences_make_no_batches():
    assert list(by_length(np.array([], np.int64), 10)) == []
    assert len(Corpus([], Forms(VOCAB, MAX_CHARS))) == 0


# Sentences that are out of the ordinary


def test_a_sentence_of_2000_words_trains_and_parses():
    words = [TREES[k % len(TREES)].tokens[0] for k in range(2000)]
    tree = Tree(tuple(words), Node("ROOT", [Node("S", [k, k + 1]) for k in range(0, 2000, 2)]), "long")
    parser = parser_of([*TREES, tree], dataclasses.replace(CALM, label_smoothing=0.1))
    corpus = corpus_for(parser, [TREES[0], tree])
    (short, long) = by_length(corpus.lengths, 640)
    assert (short.tolist(), long.tolist()) == ([0], [1])
    losses = network_in(parser).loss(tensors(corpus, long))
    sum(losses.values()).backward()
    assert all(torch.isfinite(weight.grad).all() for weight in network_in(parser).parameters())
    (parsed,) = parser._parse_tokens([tree.tokens])
    assert parsed.words == tree.words


def test_words_without_characters_are_words():
    parser = parser_of()
    for sentence in ([Token("")], [Token(""), Token("er")]):
        (tree,) = parser._parse_checked([sentence])
        assert tree.words == tuple(token.form for token in sentence)


def test_tags_that_do_not_fit_the_words_are_refused():
    forms = Forms(VOCAB, MAX_CHARS)
    two_and_one = [TREES[0].tokens[:2], TREES[0].tokens[:1]]
    for tags in ([["NN"], ["NN", "NN"]], [["NN", "NN"]], [["NN"], ["NN"]]):
        with pytest.raises(ModelError, match="tags"):
            Corpus(two_and_one, forms, tags)
