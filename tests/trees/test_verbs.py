"""Verbs and their separated particles."""

import pytest

from discotree.trees.tree import NONE, Node, Token, Tree


def german(particle=("S", [0, 1, 2, 3])):
    tokens = (Token("Er", "PPER", "er"), Token("gibt", "VVFIN", "geben", NONE, "HD"),
              Token("viel", "PIS", "viel"), Token("aus", "PTKVZ", "aus", NONE, "SVP"))  # fmt: skip
    return Tree(tokens, Node("ROOT", [Node(*particle)]), "1")


def dutch(word="op", tag="vz", lemma="bellen"):
    tokens = (Token("Zij", "vnw", "zij"), Token("belt", "ww", lemma, NONE, "hd"), Token("hem", "vnw", "hem"),
              Token(word, tag, word, NONE, "svp"))  # fmt: skip
    return Tree(tokens, Node("ROOT", [Node("smain", [0, 1, 2, 3])]), "1")


def test_a_separated_particle_is_put_in_front():
    assert [german().verb_lemma(k) for k in range(4)] == ["er", "ausgeben", "viel", "aus"]
    assert [dutch().verb_lemma(k) for k in range(4)] == ["zij", "opbellen", "hem", "op"]


def test_a_particle_belongs_to_the_verb_of_the_next_larger_constituent():
    assert german(("S", [0, 1, Node("AVP", [2, 3])])).verb_lemma(1) == "ausgeben"


def test_a_particle_of_another_clause_is_not_joined():
    tokens = (Token("weiß", "VVFIN", "wissen"), Token("er", "PPER", "er"), Token("steht", "VVFIN", "stehen"),
              Token("auf", "PTKVZ", "auf"))  # fmt: skip
    tree = Tree(tokens, Node("ROOT", [Node("S", [0, Node("S", [1, 2, 3])])]), "1")
    assert [tree.verb_lemma(0), tree.verb_lemma(2)] == ["wissen", "aufstehen"]


def test_a_lemma_that_includes_the_particle_stays():
    assert dutch(lemma="opbellen").verb_lemma(1) == "opbellen"


@pytest.mark.parametrize("tag", ["ww", "adj"])
def test_fixed_parts_are_not_particles(tag):
    assert dutch("zien", tag, "laten").verb_lemma(1) == "laten"


def test_a_verb_without_a_lemma_has_none():
    assert dutch(lemma=NONE).verb_lemma(1) is None
