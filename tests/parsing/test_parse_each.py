"""Sentences that fail, and parsers that do: the other sentences get their trees."""

import logging

import pytest
from support.networks import TREES, parser_of

from discotree import InputError, ModelError, Token, Tree
from discotree.config.schema import Decoding
from discotree.parsing import parser as parser_module
from discotree.parsing.parser import Failure, ParseOptions, k_best_each, parse_each

WORDS = [list(tree.words) for tree in TREES]
BAD = "unspeakable"


@pytest.fixture(scope="module")
def healthy():
    return parser_of()


@pytest.fixture
def parser(healthy, monkeypatch):
    """A parser that fails whenever it meets one word, and counts how often it is called."""
    original = healthy._parse_checked
    healthy.calls = []

    def parse_checked(sentences, decoding=None, ids=()):
        healthy.calls.append(len(sentences))
        if any(token.form == BAD for tokens in sentences for token in tokens):
            raise RuntimeError("out of memory\nand more")
        return original(sentences, decoding, ids)

    monkeypatch.setattr(healthy, "_parse_checked", parse_checked)
    return healthy


def test_every_sentence_gets_the_tree_that_the_parser_gives(healthy):
    assert list(parse_each(healthy, WORDS)) == healthy._parse_tokens([healthy.tokens(words) for words in WORDS])
    assert list(parse_each(healthy, [])) == []


@pytest.mark.parametrize("bad", [[], [0], [19], [3, 4, 17], range(20)])
def test_only_the_sentences_that_are_to_blame_fail(parser, bad):
    sentences = [[*words, BAD] if number in bad else words for number, words in enumerate(WORDS)]
    outcomes = list(parse_each(parser, sentences))
    assert [number for number, outcome in enumerate(outcomes) if isinstance(outcome, Failure)] == list(bad)
    for number, outcome in enumerate(outcomes):
        if number in bad:
            assert outcome.reason == "out of memory"
            assert isinstance(outcome.error, RuntimeError)
        else:
            assert outcome == parser(WORDS[number])


def test_one_bad_sentence_is_found_by_halving(parser):
    sentences = [*WORDS[:10], [BAD], *WORDS[11:]]
    assert sum(isinstance(outcome, Failure) for outcome in parse_each(parser, sentences)) == 1
    assert len(parser.calls) <= 12  # 1 + 2 · log2(20), and a look whether the parser still works


def test_what_is_no_sentence_fails_without_being_parsed(parser):
    outcomes = list(parse_each(parser, [WORDS[0], [], "no language", WORDS[1]]))
    assert [outcome.reason for outcome in outcomes if isinstance(outcome, Failure)] == [
        "the sentence has no words",
        "this model has no language, so it cannot tokenise a string; pass a list of words",
    ]
    assert all(isinstance(outcome.error, InputError) for outcome in outcomes[1:3])
    assert parser.calls == [2]


def test_a_wrong_type_fails_like_any_other_sentence(healthy):
    tree, failure = parse_each(healthy, [WORDS[0], 5])
    assert tree.words == TREES[0].words
    assert failure.reason == "a sentence is a string, a list of words or Tokens, or a Tree, got 5 (int)"


def test_a_parser_that_is_broken_is_not_the_sentences_fault(healthy, monkeypatch):
    def broken(*_):
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(healthy, "_parse_checked", broken)
    with pytest.raises(ModelError, match=r"^the parser has stopped working: CUDA error"):
        list(parse_each(healthy, WORDS[:2]))


def test_a_parser_that_looks_at_tags_can_be_checked(monkeypatch):
    parser = parser_of(tags="gold")
    original = parser._parse_checked

    def parse_checked(sentences, decoding=None, ids=()):
        if len(sentences[0]) > 1:
            raise RuntimeError("too long")
        return original(sentences, decoding, ids)

    monkeypatch.setattr(parser, "_parse_checked", parse_checked)
    (outcome,) = parse_each(parser, [TREES[0]])
    assert outcome.reason == "too long"


def test_the_traceback_is_logged_for_those_who_look(parser, caplog):
    with caplog.at_level(logging.INFO, "discotree"):
        list(parse_each(parser, [[BAD]]))
    assert not caplog.records
    with caplog.at_level(logging.DEBUG, "discotree"):
        list(parse_each(parser, [[BAD]]))
    (record,) = caplog.records
    assert record.exc_info[0] is RuntimeError


def test_ids_are_those_given_or_those_that_trees_have(healthy):
    options = ParseOptions(ids=["a", "b"])
    assert [tree.id for tree in parse_each(healthy, WORDS[:2], options)] == ["a", "b"]
    assert [tree.id for tree in parse_each(healthy, [TREES[0], WORDS[1]])] == [TREES[0].id, ""]


def test_decoding_is_handed_on(healthy):
    for decoding in (Decoding("greedy"), Decoding("exact", consistent=True)):
        found = list(parse_each(healthy, WORDS, ParseOptions(decoding)))
        assert found == healthy._parse_tokens([healthy.tokens(words) for words in WORDS], decoding)


def test_too_many_trees_are_refused_at_once(healthy):
    with pytest.raises(InputError, match="the number of trees, must be between 1 and 1,000, got 100000"):
        healthy.k_best(WORDS[0], 100_000)


def test_the_k_best_trees_have_ids_with_their_ranks(healthy):
    options = ParseOptions(k=3, ids=["7", "8", "9"])
    first, failure, last = k_best_each(healthy, [WORDS[0], ["long"] * 201, WORDS[1]], options)
    assert [tree.id for tree in first] == ["7.1", "7.2", "7.3"]
    assert [tree.id for tree in last] == ["9.1", "9.2", "9.3"]
    assert failure.reason == "the sentence has 201 words; k_best takes at most 200"
    assert isinstance(failure.error, InputError)
    assert [tree.root for tree in first] == [tree.root for tree in healthy.k_best(WORDS[0], 3)]


def test_without_k_there_is_one_tree_in_each_list(healthy):
    assert list(k_best_each(healthy, WORDS[:3])) == [[tree] for tree in parse_each(healthy, WORDS[:3])]


def test_sentences_are_read_as_they_are_needed(healthy, monkeypatch):
    taken = []

    def source():
        for number, words in enumerate(WORDS):
            taken.append(number)
            yield words

    monkeypatch.setattr(parser_module, "MAX_SENTENCES", 3)
    outcomes = parse_each(healthy, source())
    assert isinstance(next(outcomes), Tree)
    assert taken == [0, 1, 2]
    assert [tree.words for tree in outcomes] == [tree.words for tree in TREES[1:]]
    monkeypatch.setattr(healthy, "_batch_words", 1)
    taken.clear()
    next(parse_each(healthy, source()))
    assert taken == [0], "5 words fill five batches of one"


def test_tokens_keep_what_they_bring(healthy):
    (tree,) = parse_each(healthy, [[Token("Hund", lemma="hund")]])
    assert tree.tokens[0].lemma == "hund"
