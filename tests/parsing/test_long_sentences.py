"""Very long sentences: parsed in parts and joined, or refused with a limit."""

import time

import pytest
from support.networks import parser_of

from discotree import Node, Token, Tree
from discotree.errors import InputError
from discotree.parsing.parser import MAX_WORDS, PART_WORDS, WHOLE_WORDS, Failure, join_parts, parse_each, split_long


@pytest.fixture(scope="module")
def parser():
    return parser_of()


def words(count, *ends):
    """Tokens of which those before these positions may end a part."""
    return [Token("." if number + 1 in ends else "w") for number in range(count)]


def test_a_sentence_is_whole_up_to_a_limit():
    tokens = words(WHOLE_WORDS, 200)
    assert split_long(tokens) == [tokens]


def test_parts_end_where_a_sentence_might_have_ended():
    tokens = words(WHOLE_WORDS + 1, 100, 130, 240, 360)
    parts = split_long(tokens)
    assert [token for part in parts for token in part] == tokens
    assert [len(part) for part in parts[:3]] == [240, PART_WORDS, PART_WORDS]
    assert max(map(len, parts)) <= PART_WORDS


def test_a_sentence_in_parts_has_one_tree_over_its_words(parser):
    tokens = words(WHOLE_WORDS + 1, *range(7, WHOLE_WORDS, 50))
    (tree,) = parser._parse_tokens([tokens], ids=["7"])
    assert (tree.words, tree.id) == (tuple(token.form for token in tokens), "7")
    assert len(tree.confidences) == sum(1 for _ in tree.nodes())


def test_joining_is_quick_even_where_every_word_has_a_node():
    node = Node("X", [PART_WORDS - 1])
    for position in range(PART_WORDS - 2, -1, -1):
        node = Node("X", [position, node])
    part = Tree(words(PART_WORDS), Node("ROOT", [node]), confidence=0.5, confidences=(0.5,) * (PART_WORDS + 1))
    began = time.process_time()
    tree = join_parts([part] * (MAX_WORDS // PART_WORDS))
    assert time.process_time() - began < 2
    assert (len(tree), len(tree.confidences)) == (MAX_WORDS, MAX_WORDS + 1)


def test_a_longer_sentence_is_refused_and_takes_no_other_with_it(parser):
    tokens = words(MAX_WORDS + 1)
    with pytest.raises(InputError, match=r"sentence 2 has 10,001 words, expected at most 10,000"):
        parser._parse_tokens([words(1), tokens])
    with pytest.raises(InputError, match="expected at most 10,000"):
        parser(tokens)
    first, second, third = parse_each(parser, [["a"], tokens, ["b", "c"]])
    assert isinstance(second, Failure)
    assert second.reason == "the sentence has 10,001 words, expected at most 10,000; split it"
    assert (first.words, third.words) == (("a",), ("b", "c"))
