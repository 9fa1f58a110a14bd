"""Records hold all of a tree; one that was changed is refused, or is the record of another tree."""

import json
import random
import zlib
from dataclasses import replace

import pytest
from queries.test_query import random_case
from queries.test_record_view import assert_same_view

from discotree import Node, SecondaryEdge, Token, Tree
from discotree.queries.index_format import DAMAGE, columns_of, packed, unpacked
from discotree.queries.record_view import RecordView

WORDS, LABELS, PARENTS = 1, 3, 5  # columns in a record


def content(tree):
    return json.loads(zlib.decompress(packed(columns_of(tree))))


def record(content):
    return zlib.compress(json.dumps(content).encode())


def test_a_record_gives_back_its_tree():
    rng = random.Random(3)
    for _ in range(100):
        columns = columns_of(random_case(rng))
        assert unpacked(packed(columns)) == columns


@pytest.mark.parametrize("form", ["", "--", "a b", "a\nb", "\x7f", "a\x7fb", "\0", "\ud800", "\U0010ffff", '"\\'])
def test_a_word_may_hold_any_character(form):
    words = (Token(form, form, form), Token("b"))
    for tokens in (words, words[:1]):
        tree = Tree(tokens, Node("S", range(len(tokens))), form, comment=form)
        columns = unpacked(packed(columns_of(tree)))
        assert columns == columns_of(tree)
        assert columns.tree() == tree


def changed(rng, value):
    """The content of a record with something else at one place, or in one place less or more."""
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        kind = rng.random()
        if kind < 0.8:
            return [*value[:place], changed(rng, value[place]), *value[place + 1 :]]
        if kind < 0.9:
            return [*value[:place], *value[place + 1 :]]
        return [*value[:place], value[place], *value[place:]]
    if isinstance(value, int) and rng.random() < 0.8:
        return rng.randint(-3, 6)
    if isinstance(value, str) and rng.random() < 0.5:
        return value + rng.choice(("\x7f", "x"))
    return rng.choice((0, -1, 1, True, None, 0.5, 1e400, 10**30, "", "x", [], [0], {}, {"a": 1}, [[]], "a\x7fb"))


def test_what_is_accepted_is_a_tree():
    rng = random.Random(4)
    accepted = refused = 0
    for _ in range(3000):
        tree = random_case(rng)
        altered = content(tree)
        for _ in range(rng.randint(1, 2)):
            altered = changed(rng, altered)
        try:
            columns = unpacked(record(altered))
        except DAMAGE:
            refused += 1
            continue
        accepted += 1
        built = columns.tree()
        assert columns_of(built) == columns, altered
        assert_same_view(RecordView(columns), built)
    assert accepted > 100
    assert refused > 1000


def test_changed_bytes_are_noticed():
    rng = random.Random(5)
    whole = packed(columns_of(replace(random_case(rng), secondary=(), comment="a comment")))
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.randrange(8)
        with pytest.raises(DAMAGE):
            unpacked(bytes(damaged))
        with pytest.raises(DAMAGE):
            unpacked(whole[:place])


@pytest.mark.parametrize(
    ("token_parents", "node_parents"),
    [
        ([0, 1], [1, 0]),
        ([0, 1], [-1, 1]),
        ([0, 1], [-1, -2]),
        ([0, 0], [-1, -1]),
        ([1, 0], [-1, -1]),
        ([2, 1, 0], [-1, -1, 0]),
        ([0, 2], [-1, -1]),
        ([0, -2], [-1, -1]),
        ([], [-1, -1]),
    ],
    ids=["cycle", "own parent", "no parent", "empty", "siblings", "not below", "beyond", "before", "wordless"],
)
def test_parents_that_make_no_tree_are_refused(token_parents, node_parents):
    altered = ["", [None] * 5, token_parents, "R\x7fA\x7fB\x7fC"[: 2 * len(node_parents) + 1], None, node_parents]
    with pytest.raises(ValueError, match=r"words|come after its parent"):
        unpacked(record([*altered, [], "", None, []]))


@pytest.mark.parametrize(
    ("child", "parent", "label"),
    [(0, 1, "x"), (0, 4, "x"), (-1, 2, "x"), (4, 2, "x"), (True, 2, "x"), (0, 2.0, "x"), (0, 2, None)],
)
def test_secondary_edges_stay_inside_the_tree(child, parent, label):
    tree = Tree.parse("(ROOT (NP (ART 0=das) (NN 1=Haus)))")
    good = columns_of(replace(tree, secondary=(SecondaryEdge("x", 3, 2),)))
    assert unpacked(packed(good)) == good
    with pytest.raises((ValueError, TypeError)):
        unpacked(packed(good._replace(secondary=[SecondaryEdge(label, child, parent)])))
