"""Parsing under constraints: from constraints to trees that satisfy them."""

import logging
import random

import pytest
from support.networks import TREES, parser_of

from discotree import ConfigError, ConstraintError, InputError, IsConstituent, NotConstituent, Token, WordHas
from discotree.config.schema import Decoding
from discotree.parsing import constrained
from discotree.parsing.parser import Failure, ParseOptions, Parser, k_best_each, parse_each
from discotree.trees.constraints import constraints_of

WORDS = [list(tree.words) for tree in TREES]
SENTENCE = WORDS[0]  # Es kam nichts Interessantes .


@pytest.fixture(scope="module")
def parser() -> Parser:
    """A parser that has learned nothing, so that its trees satisfy hardly any constraint by chance."""
    return parser_of()


def constituents(tree):
    return {(node.positions, label) for node in tree.nodes() for label in (node.label, None)}


def satisfies(tree, constraint):
    if isinstance(constraint, WordHas):
        word = tree.tokens[constraint.position]
        return (
            constraint.tag in (None, word.tag)
            and constraint.function in (None, word.function)
            and constraint.head in (None, tree.heads[constraint.position])
        )
    is_there = (constraint.words, constraint.label) in constituents(tree)
    return is_there == isinstance(constraint, IsConstituent)


@pytest.mark.parametrize("number", range(len(TREES)))
def test_a_tree_satisfies_constraints_from_a_gold_tree(parser, number):
    rng = random.Random(number)
    gold = constraints_of(TREES[number])
    chosen = rng.sample(gold, (len(gold) + 1) // 2)
    absent = [NotConstituent(node.positions, node.label) for node in parser(WORDS[number]).nodes()]
    contradicted = {(one.words, label) for one in gold if isinstance(one, IsConstituent) for label in (one.label, None)}
    chosen += [
        one for one in absent if (one.words, one.label) not in contradicted and len(one.words) < len(WORDS[number])
    ]
    tree = parser(WORDS[number], chosen)
    assert tree.words == TREES[number].words
    assert [constraint for constraint in chosen if not satisfies(tree, constraint)] == []


@pytest.mark.parametrize("number", range(len(TREES)))
def test_a_whole_tree_is_a_constraint(parser, number):
    tree = parser(TREES[number], TREES[number])
    assert constituents(tree) >= constituents(TREES[number])
    assert tree.tokens == tuple(
        gold._replace(
            lemma=word.lemma, morph=word.morph, function=word.function if gold.function == "--" else gold.function
        )
        for gold, word in zip(TREES[number].tokens, tree.tokens, strict=True)
    )
    functions = {(node.positions, node.label): node.function for node in tree.nodes()}
    for node in TREES[number].nodes():
        assert node.function in ("--", functions[node.positions, node.label])


def test_heads_are_constraints(parser):
    constraints = [WordHas(0, head=3), WordHas(3, head=-1), WordHas(1, head=2)]
    tree = parser(SENTENCE, constraints)
    assert (tree.heads[0], tree.heads[3], tree.heads[1]) == (3, -1, 2)


def test_phrases_over_a_single_word_are_constraints(parser):
    for label in ("NP", None):
        assert satisfies(parser(SENTENCE, [IsConstituent([2], label)]), IsConstituent([2], label))
        assert satisfies(parser(SENTENCE, [NotConstituent([2], label)]), NotConstituent([2], label))


def test_tags_and_functions_do_not_change_the_rest_of_a_tree(parser):
    plain = parser(SENTENCE)
    tree = parser(SENTENCE, [WordHas(1, tag="VVFIN"), WordHas(2, tag="NEW", function="NEW")])
    assert [token.tag for token in tree.tokens[1:3]] == ["VVFIN", "NEW"]
    assert tree.tokens[2].function == "NEW"
    assert tree.heads == plain.heads
    assert [(node.label, node.positions) for node in tree.nodes()] == [
        (node.label, node.positions) for node in plain.nodes()
    ]


def test_tags_that_a_model_reads_are_replaced():
    parser = parser_of(tags="gold")
    words = [Token(word, "NN") for word in SENTENCE]
    assert parser(words, [WordHas(1, tag="VVFIN")]).tokens[1].tag == "VVFIN"


def test_no_constraints_give_the_plain_tree(parser):
    for words in WORDS[:5]:
        empty = parser(words, [])
        assert empty == parser(words)
        assert parser(words, [IsConstituent(range(len(words)))]) == empty  # the root


def test_all_of_the_k_best_trees_satisfy_the_constraints(parser):
    constraint = IsConstituent([0, 2], "NP")
    trees = parser.k_best(SENTENCE, 5, "7", [constraint])
    assert [tree.id for tree in trees] == [f"7.{rank}" for rank in range(1, 6)]
    assert len({tree.root for tree in trees}) == 5
    assert all(satisfies(tree, constraint) for tree in trees)
    assert trees[0].root == parser(SENTENCE, [constraint]).root
    assert all(tree.confidence is not None for tree in trees)


def test_sentences_have_constraints_of_their_own(parser):
    given = [[IsConstituent([0, 1], "S")], [], [IsConstituent([0, 1]), IsConstituent([1, 2])], TREES[3]]
    options = ParseOptions(constraints=given)
    first, second, failure, last = parse_each(parser, WORDS[:4], options)
    assert satisfies(first, given[0][0])
    assert second == parser(WORDS[1])
    assert isinstance(failure, Failure)
    assert isinstance(failure.error, ConstraintError)
    assert constituents(last) >= constituents(TREES[3])
    ((best, _),) = k_best_each(parser, WORDS[:1], ParseOptions(k=2, constraints=given))
    assert best.root == first.root
    assert next(parser.parse(WORDS[:1], constraints=given[:1])).root == first.root
    with pytest.raises(InputError, match="1 sentences, but 4 lists of constraints"):
        parser.parse(WORDS[:1], constraints=given)


@pytest.mark.parametrize(
    "conflict",
    [
        [WordHas(0, head=1), WordHas(1, head=2), WordHas(2, head=0)],
        [IsConstituent([0, 1, 2]), WordHas(0, head=3), WordHas(1, head=4)],
        [IsConstituent([0, 1], "NP"), IsConstituent([0, 1], "CS")],
        [IsConstituent([2]), NotConstituent([2], "NP")],
    ],
)
def test_a_conflict_is_as_small_as_possible(parser, conflict):
    harmless = [WordHas(4, tag="$."), IsConstituent(range(5), "S"), NotConstituent([3, 4])]
    with pytest.raises(ConstraintError) as error:
        parser(SENTENCE, [harmless[0], *conflict, *harmless[1:]])
    assert error.value.constraints == tuple(conflict)


def test_a_single_constraint_may_be_impossible(parser):
    with pytest.raises(ConstraintError, match="no tree of this model satisfies the constraint: no constituent over"):
        parser(SENTENCE, [NotConstituent(range(5)), WordHas(4, tag="$.")])


def test_the_message_names_the_words(parser):
    with pytest.raises(ConstraintError) as error:
        parser(SENTENCE, [IsConstituent([0, 1, 2], "NP"), WordHas(0, head=3), WordHas(1, head=4)])
    assert str(error.value) == (
        "conflicting constraints: NP over words 0, 1, 2 ('Es kam nichts') and head 3 of word 0 ('Es') "
        "and head 4 of word 1 ('kam')"
    )


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            [IsConstituent([0, 1], "CNNP")],
            "does not have this label over more than one word; did you mean 'CNP'",
        ),
        ([IsConstituent([0], "VP")], "the model does not have this label over a single word"),
        ([IsConstituent([7], "VP")], "the sentence has only 5 words"),
        (TREES[1], "the partial tree has other words than the sentence"),
    ],
)
def test_constraints_that_do_not_suit_the_model_or_the_sentence_are_errors(parser, constraints, message):
    with pytest.raises(InputError, match=message):
        parser(SENTENCE, constraints)


def test_only_short_sentences_and_the_exact_search_take_constraints(parser):
    with pytest.raises(InputError, match="has 201 words; with constraints, it can have 200"):
        parser(["a"] * 201, [IsConstituent([0, 1])])
    (failure,) = parse_each(parser, [SENTENCE], ParseOptions(Decoding("greedy"), constraints=[[IsConstituent([0, 1])]]))
    assert isinstance(failure, Failure)
    assert isinstance(failure.error, ConfigError)


def test_a_search_that_takes_too_long_says_so(parser, monkeypatch, caplog):
    monkeypatch.setattr(constrained, "MAX_STEPS", 20)
    chosen = [one for one in constraints_of(TREES[3]) if isinstance(one, IsConstituent)]
    with caplog.at_level(logging.WARNING):
        tree = parser(WORDS[3], chosen)
    assert all(satisfies(tree, one) for one in chosen)
    assert "may not be the best" in caplog.text
    monkeypatch.setattr(constrained, "MAX_STEPS", 1)
    with pytest.raises(InputError, match="was found in 2 steps"):
        parser(WORDS[3], chosen)
