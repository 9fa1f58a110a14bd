import copy
import json
from contextlib import suppress
from functools import cache
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.helpers import DEEP, tree_of
from support.strategies import HOLDS, trees

from discotree import Node, SecondaryEdge, Token, Tree, TreeError
from discotree.trees.tree import offsets_of, short_repr

FIGURE = tree_of("(ROOT (S (NP (PPER 0=Es) (NP (PIS 2=nichts) (NN 3=Interessantes))) (VVFIN 1=kam)) ($. 4=.))", "7")
HUGE = 10**5000


def schema():
    return json.loads((resources.files("discotree.trees") / "record.schema.json").read_text("utf-8"))


@cache
def validator():
    return pytest.importorskip("jsonschema").Draft202012Validator(schema())


def test_a_record_leaves_out_what_is_not_known():
    assert Tree((Token("a"), Token("b", "N")), Node("ROOT", [0, Node("NP", [1], "SB")]), "1").to_dict() == {
        "id": "1",
        "tokens": [{"form": "a"}, {"form": "b", "tag": "N"}],
        "constituents": [{"label": "ROOT", "positions": [0, 1]}, {"label": "NP", "function": "SB", "positions": [1]}],
    }


def test_a_record_has_every_field_that_is_known():
    token = Token("a", "N", "b", "c", "HD")
    edges = (SecondaryEdge("SB", 0, 1),)
    tree = Tree((token,), Node("ROOT", [0], "f"), "1", edges, "checked", 0.123456789, (1 / 3,))
    record = tree.to_dict(offsets=[(3, 4)])
    assert record == {
        "id": "1",
        "tokens": [{"form": "a", "tag": "N", "lemma": "b", "morph": "c", "function": "HD", "start": 3, "end": 4}],
        "constituents": [{"label": "ROOT", "function": "f", "positions": [0], "confidence": 0.333333}],
        "secondary": [{"label": "SB", "child": 0, "parent": 1}],
        "comment": "checked",
        "confidence": 0.123457,
    }
    again = Tree.from_dict(record)
    assert again == tree
    assert (again.secondary, again.comment, again.confidence, again.confidences) == (
        edges,
        "checked",
        0.123457,
        (0.333333,),
    )


@given(trees(HOLDS["json"]))
def test_a_record_comes_back_and_fits_the_schema(tree):
    record = tree.to_dict([(k, k + 1) for k in range(len(tree))])
    again = Tree.from_dict(record)
    assert again == tree
    assert again.secondary == tree.secondary
    assert json.loads(json.dumps(record)) == record
    validator().validate(record)
    assert offsets_of(record) == [(k, k + 1) for k in range(len(tree))]


def test_the_schema_is_a_schema_and_its_fields_are_those_of_the_record():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema())
    assert set(schema()["properties"]) == {"id", "tokens", "constituents", "secondary", "comment", "confidence"}
    assert set(schema()["$defs"]["token"]["properties"]) == {*Token._fields, "start", "end"}
    assert set(schema()["$defs"]["edge"]["properties"]) == set(SecondaryEdge._fields)


@pytest.mark.parametrize("shape", DEEP)
def test_a_deep_tree_has_a_record(shape):
    tree = DEEP[shape](1200)
    assert Tree.from_dict(tree.to_dict()) == tree


def test_unknown_keys_are_ignored_and_nulls_are_unknown():
    record = FIGURE.to_dict() | {"error": None, "sentence": 3, "comment": None, "confidence": None, "secondary": None}
    record["tokens"][0] |= {"tag": None, "colour": "red"}
    tree = Tree.from_dict(record)
    assert tree.tokens[0] == Token("Es")
    assert tree.root == FIGURE.root


def test_positions_may_come_in_any_order():
    record = FIGURE.to_dict()
    record["constituents"][0]["positions"].reverse()
    assert Tree.from_dict(record) == FIGURE


def test_confidences_count_only_where_all_constituents_have_one():
    record = FIGURE.to_dict()
    record["constituents"][1]["confidence"] = 1
    assert Tree.from_dict(record).confidences == ()
    for constituent in record["constituents"]:
        constituent["confidence"] = 1
    assert Tree.from_dict(record).confidences == (1.0,) * 4


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.5, 1.5])
def test_a_confidence_that_is_no_probability_is_not_written(value):
    tree = Tree(FIGURE.tokens, FIGURE.root, "7", confidence=value, confidences=(value,) * 4)
    assert tree.to_dict() == FIGURE.to_dict()


def broken(*path, value):
    """The record of the figure with another value somewhere."""
    record = copy.deepcopy(FIGURE.to_dict())
    *inner, last = path
    target = record
    for key in inner:
        target = target[key]
    target[last] = value
    return record


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (None, "expected an object with the fields of a tree, got None"),
        ([], r"expected an object .* got \[\]"),
        ({}, "the record: expected tokens as a list that is not empty, but it is missing"),
        ({"id": "7", "error": "too long"}, "the record has an error instead of a tree: too long"),
        (broken("tokens", value=[]), r"expected tokens as a list that is not empty, got \[\]"),
        (broken("tokens", value={"form": "a"}), "expected tokens as a list"),
        (broken("tokens", 1, value="kam"), """token 1: expected an object like {"form": "Haus"}, got 'kam'"""),
        (broken("tokens", 1, value={}), "token 1: expected form as a string, but it is missing"),
        (broken("tokens", 1, "tag", value=7), "token 1: expected tag as a string, got 7"),
        (broken("id", value=7), "the record: expected id as a string, got 7"),
        (broken("comment", value=[]), "expected comment as a string"),
        (broken("constituents", value=[]), "expected constituents as a list that is not empty"),
        (broken("constituents", 2, value=[]), "constituent 2: expected an object"),
        (broken("constituents", 2, "label", value=None), "constituent 2: expected label as a string"),
        (broken("constituents", 2, "label", value=""), "constituent 2: node '' has no label"),
        (broken("constituents", 0, "label", value=""), "constituent 0: node '' has no label"),
        (broken("constituents", 2, "function", value=0), "constituent 2: expected function as a string, got 0"),
        (broken("constituents", 2, "positions", value=[]), "constituent 2: expected positions as a list"),
        (broken("constituents", 2, "positions", value="023"), "constituent 2: expected positions as a list"),
        (broken("constituents", 2, "positions", value=[0, 5]), r"constituent 2: expected .* \(0 to 4\), got 5"),
        (broken("constituents", 2, "positions", value=[-1]), r"expected positions of tokens \(0 to 4\), got -1"),
        (broken("constituents", 2, "positions", value=[0, True]), "got True"),
        (broken("constituents", 2, "positions", value=[0, 2.0]), "got 2.0"),
        (broken("constituents", 2, "positions", value=[0, HUGE]), "got a very large int"),
        (broken("constituents", 2, "positions", value=[0, 2, 2]), "constituent 2: duplicate position"),
        (broken("constituents", 0, "positions", value=[0, 1, 2, 3]), "the first constituent must be the root"),
        (broken("constituents", 3, "positions", value=[1, 2]), "constituent 3 overlaps one before it"),
        (broken("constituents", 3, "positions", value=[0, 1, 2, 3, 4]), "constituent 3 overlaps one before it"),
        (broken("constituents", 2, "confidence", value=2), "expected confidence as a number from 0 to 1, got 2"),
        (broken("constituents", 2, "confidence", value=HUGE), "got a very large int"),
        (broken("confidence", value=float("nan")), "expected confidence .* got nan"),
        (broken("confidence", value=True), "expected confidence .* got True"),
        (broken("secondary", value=3), "expected secondary as a list, got 3"),
        (broken("secondary", value=[3]), "secondary edge 0: expected an object"),
        (broken("secondary", value=[{"label": "SB", "child": 9, "parent": 5}]), "expected a child among 0 to 8, got 9"),
        (
            broken("secondary", value=[{"label": "SB", "child": 0, "parent": 4}]),
            "expected a parent among 5 to 8, got 4",
        ),
        (broken("secondary", value=[{"label": "SB", "child": HUGE, "parent": 5}]), "got a very large int"),
        (broken("secondary", value=[{"child": 0, "parent": 5}]), "secondary edge 0: expected label as a string"),
    ],
)
def test_a_record_that_is_no_tree_is_refused_with_the_reason(record, message):
    with pytest.raises(TreeError, match=message):
        Tree.from_dict(record)


def test_siblings_go_from_left_to_right():
    record = tree_of("(ROOT (A (N 0=a)) (B (N 1=b)))").to_dict()
    record["constituents"][1:] = reversed(record["constituents"][1:])
    with pytest.raises(TreeError, match="constituent 2 is out of order: siblings must be ordered from left to right"):
        Tree.from_dict(record)


def test_siblings_may_interleave():
    tree = tree_of("(ROOT (A (N 0=a) (N 2=c)) (B (N 1=b) (N 3=d)))")
    assert Tree.from_dict(tree.to_dict()) == tree


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just(10**300),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3), inside, max_size=3),
    max_leaves=8,
)


@given(st.data())
def test_whatever_stands_in_a_record_it_is_a_tree_or_a_tree_error(data):
    record = copy.deepcopy(FIGURE.to_dict())
    target = record
    while True:
        key = data.draw(st.sampled_from(sorted(target) if isinstance(target, dict) else range(len(target))))
        if not (isinstance(target[key], (dict, list)) and target[key]) or data.draw(st.booleans()):
            break
        target = target[key]
    target[key] = data.draw(ANYTHING)
    for attempt in (Tree.from_dict, offsets_of):
        with suppress(TreeError):
            attempt(record)


def test_a_value_that_is_nested_deeply_has_a_short_name():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert len(short_repr(deep)) < 100
    with pytest.raises(TreeError):
        Tree.from_dict(broken("tokens", 0, "form", value=deep))


@pytest.mark.parametrize(
    ("start", "end"), [(-1, 0), (2, 1), (0.5, 1), ("0", 1), (True, 2), (HUGE, 1), (5, 6)], ids=lambda _: ""
)
def test_offsets_that_make_no_sense_are_refused(start, end):
    record = Tree((Token("a"), Token("b")), Node("ROOT", [0, 1])).to_dict([(0, 1), (2, 3)])
    record["tokens"][0] |= {"start": start, "end": end}
    with pytest.raises(TreeError):
        offsets_of(record)


def test_offsets_are_there_for_all_tokens_or_for_none():
    assert offsets_of(FIGURE.to_dict()) == []
    with pytest.raises(TreeError, match="expected 5 offsets, one per token, got 2"):
        FIGURE.to_dict([(0, 1), (1, 2)])
