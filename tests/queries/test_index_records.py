"""Records hold all of a tree; one that was changed is refused."""

import random
from dataclasses import replace

import pytest
from queries.test_query import random_case

from discotree import Node, Token, Tree
from discotree.queries.index import DAMAGE, pack, unpack
from discotree.queries.match import Columns


def test_a_record_gives_back_its_tree():
    rng = random.Random(3)
    for _ in range(100):
        columns = Columns.from_tree(random_case(rng))
        assert unpack(pack(columns)) == columns


@pytest.mark.parametrize("form", ["", "--", "a b", "a\nb", "\x7f", "a\x7fb", "\0", "\ud800", "\U0010ffff", '"\\'])
def test_a_word_may_hold_any_character(form):
    words = (Token(form, form, form), Token("b"))
    for tokens in (words, words[:1]):
        tree = Tree(tokens, Node("S", range(len(tokens))), form, comment=form)
        columns = unpack(pack(Columns.from_tree(tree)))
        assert columns == Columns.from_tree(tree)
        assert columns.tree() == tree


def test_changed_bytes_are_noticed():
    rng = random.Random(5)
    whole = pack(Columns.from_tree(replace(random_case(rng), secondary=(), comment="a comment")))
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.randrange(8)
        with pytest.raises(DAMAGE):
            unpack(bytes(damaged))
        with pytest.raises(DAMAGE):
            unpack(whole[:place])
