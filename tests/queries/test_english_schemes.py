"""GENIA and MASC in CRAFT's scheme: noun phrases and tags; the words stay."""

import pytest

import discotree as dt
from discotree.queries.schemes import scheme_converter
from discotree.queries.schemes.genia import genia_to_craft
from discotree.trees.tree import Tree

masc_to_craft = scheme_converter("masc")


def parsed(text: str) -> Tree:
    """A tree in brackets without positions."""
    words = iter(range(100))
    numbered = [part if part.startswith("(") else f"{next(words)}={part}" for part in text.split()]
    return Tree.parse(f"(ROOT {' '.join(numbered)})")


@pytest.mark.parametrize(
    ("genia", "craft"),
    [
        ("(NP (NP (NN kappa) (NN B)) (NN DNA))", "(NP (NML (NN kappa) (NN B)) (NN DNA))"),
        ("(NP (NP (NN LMP1)) (JJ high) (NN level))", "(NP (NN LMP1) (JJ high) (NN level))"),
        ("(NP (NP (NN cell) (POS 's)) (NN wall))", "(NP (NP (NN cell) (POS 's)) (NN wall))"),
        ("(NP (NP (NN x) (NN y)) (, ,) (NN z))", "(NP (NP (NN x) (NN y)) (, ,) (NN z))"),
        ("(NP (DT the) (NP (NN Tax) (NN gene)))", "(NP (DT the) (NN Tax) (NN gene))"),
        (
            "(NP (DT the) (NP (NP (JJ old) (NNS signs)) (CC or) (NP (NNS data))))",
            "(NP (DT the) (NML (NML (JJ old) (NNS signs)) (CC or) (NML (NNS data))))",
        ),
        (
            "(NP (DT the) (NNS sites) (NP (NP (NN A) (CD 1)) (CC and) (NP (NN B))))",
            "(NP (DT the) (NNS sites) (NP (NP (NN A) (CD 1)) (CC and) (NP (NN B))))",
        ),
        ("(NP (NP (NN A)) (CC and) (NP (NN B)))", "(NP (NN A) (CC and) (NN B))"),
        ("(NP (NP (NN A)) (PP (IN of) (NP (NN B))))", "(NP (NP (NN A)) (PP (IN of) (NP (NN B))))"),
        (
            "(NP (NP (ADJP (JJ acute))) (CC and) (NP (ADJP (JJ chronic))) (NP (NN HBV) (NN infection)))",
            "(NP (ADJP (JJ acute) (CC and) (JJ chronic)) (NN HBV) (NN infection))",
        ),
        (
            "(NP (DT the) (NP (NN HIV-1)) (, ,) (NP (NN x) (NN y)) (CC and) (NP (NN HIV-2)) (NP (NN growth)))",
            "(NP (DT the) (NML (NML (NN HIV-1)) (, ,) (NML (NN x) (NN y)) (CC and) (NML (NN HIV-2))) (NN growth))",
        ),
        (
            "(NP (NP (ADJP (JJ erythroid))) (CC and) (NP (NN mast)) (NP (NNS cells)))",
            "(NP (UCP (JJ erythroid) (CC and) (NN mast)) (NNS cells))",
        ),
        ("(VP (VBD fell) (PP (TO to) (NP (CD 0))))", "(VP (VBD fell) (PP (IN to) (NP (CD 0))))"),
        ("(VP (TO to) (VP (VB fall)))", "(VP (TO to) (VP (VB fall)))"),
        ("(VP (JJR <) (NP (CD 5)))", "(VP (SYM <) (NP (CD 5)))"),
    ],
)
def test_noun_phrases_and_tags_of_genia_become_those_of_craft(genia: str, craft: str) -> None:
    assert genia_to_craft(parsed(genia)) == parsed(craft)


def test_a_converted_tree_stays_as_it_is(data) -> None:
    for name in ("genia", "genia_no_rnr"):
        for tree in dt.read(data / f"{name}.mrg"):
            once = genia_to_craft(tree)
            assert genia_to_craft(once) == once
            assert (once.words, once.id) == (tree.words, tree.id)


def test_a_discontinuous_noun_phrase_keeps_its_gap() -> None:
    tree = Tree.parse("(ROOT (S (NP (DT 0=the) (NP (NN 1=Tax) (NN 3=gene))) (VBD 2=fell)))")
    assert genia_to_craft(tree) == Tree.parse("(ROOT (S (NP (DT 0=the) (NN 1=Tax) (NN 3=gene)) (VBD 2=fell)))")


def test_tags_of_masc_become_those_of_craft() -> None:
    tree = parsed("(S ('' \") (PP (TO to) (NP (NN x))) ('' \") (-LSB- -LSB-) (NN y) (-RSB- -RSB-))")
    expected = parsed("(S (`` \") (PP (IN to) (NP (NN x))) ('' \") (-LRB- -LSB-) (NN y) (-RRB- -RSB-))")
    assert masc_to_craft(tree) == expected
    assert masc_to_craft(parsed("(S ('' \") (NN x))")) == parsed("(S ('' \") (NN x))")  # the other one is elsewhere


def test_brackets_without_a_label_dissolve() -> None:
    assert masc_to_craft(parsed("(S (-- (NN x) (-- (NN y))) (NN z))")) == parsed("(S (NN x) (NN y) (NN z))")


def test_quotation_marks_are_paired_if_their_number_is_even() -> None:
    def tags(*given: str) -> list[str]:
        words = [f'(X a) ({tag} ")' for tag in given]
        return [token.tag for token in masc_to_craft(parsed(f"(S {' '.join(words)})")).tokens if token.form == '"']

    assert tags("''", "``", ".", "''") == ["``", "''", "``", "''"]
    assert tags("''", "''", "``", "``", "''", "''") == ["``", "''"] * 3
    assert tags("''", "``", ".") == ["''", "``", "."]


def test_trees_of_masc_have_no_lemmas_after_the_conversion() -> None:
    assert {token.lemma for token in masc_to_craft(parsed("(S ('' \") (NN x) ('' \"))")).tokens} == {None}
