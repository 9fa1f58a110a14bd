"""Edit scripts between words and lemmas."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discotree.encoding.dependencies import Dependencies
from discotree.encoding.lemmas import NO_LEMMA, apply_script, edit_script, join_particles, lemma_of, scripts
from discotree.trees.tree import NONE, Token


@pytest.mark.parametrize(
    ("form", "lemma", "script"),
    [
        ("huis", "huis", "l0+"),
        ("Hij", "hij", "l0+"),
        ("huizen", "huis", "l3+s"),
        ("scholen", "school", "l2+;o>oo"),
        ("gebeld", "bellen", "l1+len;ge>"),
        ("opgebeld", "opbellen", "l1+len;ge>"),
        ("gezegend", "zegenen", "l1+en;ge<"),
        ("Löndum", "land", "l2+;ö>a"),
        ("Häuser", "Haus", "k2+;ä>a"),
        ("JANS", "Jan", "c1+"),
        ("McDonald's", "McDonald", "k2+"),
        ("ben", "ik", "=ik"),
        ("bíll$", "bíll", "l0+"),
        ("$inn", "hinn", "l0+;i>hi"),
        ("$", "$", "l0+"),
        ("ab", "a;b", "=a;b"),
    ],
)
def test_scripts_are_short_and_general(form, lemma, script):
    assert edit_script(form, lemma) == script
    assert apply_script(script, form) == lemma


letters = st.text(st.sampled_from("abgeGEäÄnİßσΣ$;<>+=1-"), min_size=1, max_size=8)


@given(letters, letters)
@example("Σ", "ς")
@example("$", "a$")
def test_a_script_gives_the_lemma_back(form, lemma):
    assert apply_script(edit_script(form, lemma), form) == lemma


@given(letters, letters, letters)
def test_a_script_fits_other_words_or_not(form, lemma, other):
    found = apply_script(edit_script(form, lemma), other)
    assert found is None or found
    assert lemma_of(edit_script(form, lemma), other, "n", {})


def test_words_that_a_script_does_not_fit_are_their_own_lemmas():
    assert apply_script("l3+s", "ab") is None
    assert lemma_of("l3+s", "Ab", "n", {}) == "ab"
    assert lemma_of("k2+;ä>a", "Hund$", "n", {}) == "Hund"


def test_exceptions_depend_on_the_tag():
    exceptions = {"ww": {"was": "zijn"}}
    assert [lemma_of("l0+", "Was", tag, exceptions) for tag in ("ww", "n")] == ["zijn", "was"]


def test_a_separated_verb_gets_its_particle_from_the_tree():
    tokens = (Token("Zij", "vnw", "zij"), Token("belt", "ww", "opbellen"), Token("Op", "vz", "op", NONE, "svp"))
    heads = (1, -1, 1)
    tree = Dependencies(tokens, heads, ("x", "ROOT", "x"))
    assert scripts(tree) == ["l0+", "+l1+len", "l0+"]
    lemmas = [lemma_of(script, token.form, token.tag, {}) for script, token in zip(scripts(tree), tokens, strict=True)]
    forms, tags = [token.form for token in tokens], [token.tag for token in tokens]
    join_particles(lemmas, [False, True, False], forms, tags, [NONE, NONE, "svp"], heads)
    assert lemmas == ["zij", "opbellen", "op"]


def test_words_without_a_lemma_have_no_script():
    tree = Dependencies((Token("Hund", "NN"),), (-1,), ("ROOT",))
    assert scripts(tree) == [NO_LEMMA]
