"""Edit scripts between words and lemmas, and the rules that choose them."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discotree.encoding.dependencies import Dependencies
from discotree.encoding.lemmas import LemmaRules, apply_script, composed, edit_script
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
    assert apply_script(edit_script(form, lemma), other) != ""


NOTHING = frozenset()


def one_word(form, lemma, tag="n"):
    return Dependencies((Token(form, tag, lemma),), (-1,), ("ROOT",))


words = st.lists(st.tuples(letters, letters.filter(lambda lemma: lemma != NONE)), min_size=1, unique_by=lambda w: w[0])


@given(words)
def test_rules_give_the_lemmas_that_they_were_learned_from(pairs):
    by_key = {(form[:1].isupper(), (form.strip("$") or form).lower()): (form, lemma) for form, lemma in pairs}
    rules = LemmaRules.learn((one_word(*pair) for pair in by_key.values()), NOTHING)
    assert {form: rules.lemma(form, "n", NOTHING) for form, _ in by_key.values()} == dict(by_key.values())


@given(words)
def test_rules_are_written_and_read(pairs):
    rules = LemmaRules.learn((one_word(*pair) for pair in pairs), NOTHING)
    again = LemmaRules.from_table(json.loads(json.dumps(rules.to_table())))
    assert again == rules


def learned(*rows, known=NOTHING):
    return LemmaRules.learn((one_word(*row) for row in rows), known)


def test_endings_give_lemmas_to_new_words():
    same = [(word, word) for word in ("tak", "boom", "huis", "roos")]
    rules = learned(("huizen", "huis"), ("muizen", "muis"), *same)
    found = [rules.lemma(word, "n", NOTHING) for word in ("kluizen", "KLUIZEN", "Bom", "huis")]
    assert found == ["kluis", "kluis", "bom", "huis"]


def test_the_tag_and_the_first_letter_decide():
    rules = learned(("was", "zijn", "ww"), ("was", "was", "n"), ("Was", "Was", "n"))
    found = [rules.lemma(form, tag, NOTHING) for form, tag in (("was", "ww"), ("was", "n"), ("Was", "n"))]
    assert found == ["zijn", "was", "Was"]


def test_a_lemma_that_the_model_knows_is_preferred():
    known = {"stellen", "tellen", "bellen", "wandelen", "handelen", "regelen"}
    verbs = (("stelt", "stellen"), ("telt", "tellen"), ("wandelt", "wandelen"), ("handelt", "handelen"))
    more = (("regelt", "regelen"), ("spelt", "spellen"))
    rules = learned(*verbs, *more, known=known | {"spellen"})
    assert rules.lemma("belt", "n", known) == "bellen"
    assert rules.lemma("behandelt", "n", known | {"behandelen"}) == "behandelen"


def test_nouns_with_an_article_are_learned_in_one_piece():
    tokens = (Token("hest$", "N-A", "hestur"), Token("$inn", "D-A", "hinn"))
    rules = LemmaRules.learn([Dependencies(tokens, (-1, 0), ("ROOT", "x"))], NOTHING)
    assert [rules.lemma(word, "N-A", NOTHING) for word in ("hest$", "hestinn")] == ["hestur", "hestur"]


def test_a_word_with_an_unknown_tag_is_its_own_lemma():
    assert learned(("huizen", "huis")).lemma("$Huizen", "adj", NOTHING) == "Huizen"


def test_words_that_a_script_does_not_fit_are_their_own_lemmas():
    rules = LemmaRules([["l3+s"], ["k2+;ä>a"]], {"n": ({"": 0}, {"": 1})}, frozenset())
    assert [rules.lemma("ab", "n", NOTHING), rules.lemma("Hund$", "n", NOTHING)] == ["ab", "Hund"]


TOKENS = (Token("Zij", "vnw", "zij"), Token("belt", "ww", "opbellen"), Token("Op", "vz", "op", NONE, "svp"))


def test_a_separated_verb_gets_its_particle_from_the_tree():
    rules = LemmaRules.learn([Dependencies(TOKENS, (1, -1, 1), ("x", "ROOT", "x"))], NOTHING)
    forms, tags, _, _, functions = zip(*TOKENS, strict=True)
    assert rules.lemmas(forms, tags, functions, (1, -1, 1), NOTHING, {}) == ["zij", "opbellen", "op"]
    assert rules.lemmas(forms, tags, functions, (1, -1, 0), NOTHING, {}) == ["zij", "bellen", "op"]
    assert rules.lemmas(forms, tags, [NONE] * 3, (1, -1, 1), NOTHING, {}) == ["zij", "bellen", "op"]


def test_only_lemmas_of_known_words_are_stored():
    """Others are the text of users. A particle in front of a lemma is not part of what is stored."""
    rules = LemmaRules.learn([Dependencies(TOKENS, (1, -1, 1), ("x", "ROOT", "x"))], {"belt"})
    forms, tags, _, _, functions = zip(*TOKENS, strict=True)
    stored = {}
    for _ in range(2):
        assert rules.lemmas(forms, tags, functions, (1, -1, 1), {"belt"}, stored) == ["zij", "opbellen", "op"]
        assert stored == {("belt", "ww"): "bellen"}


def test_particles_stay_apart_where_the_treebank_has_them_apart():
    tokens = (Token("gibt", "VVFIN", "geben"), Token("aus", "PTKVZ", "aus"))
    rules = LemmaRules.learn([Dependencies(tokens, (-1, 0), ("ROOT", "x"))], NOTHING)
    assert rules.lemmas(("gibt", "aus"), ("VVFIN", "PTKVZ"), (NONE, NONE), (-1, 0), NOTHING, {}) == ["geben", "aus"]


def test_a_treebank_with_few_lemmas_gives_no_rules():
    assert learned(("Hund", NONE), ("Katze", NONE), ("Haus", "Haus")) is None
    assert LemmaRules.learn([], NOTHING) is None


@pytest.mark.parametrize("script", ["", "l", "l+", "l-1+", "x0+", "l0", "=", "l0+;", "l0+;>a", "l0+;a", "l99999+"])
def test_other_texts_are_not_scripts(script):
    with pytest.raises(ValueError, match="is not a script"):
        LemmaRules.from_table({"scripts": [[script]], "endings": {}, "particles": []})


@pytest.mark.parametrize("endings", [[{"": 1}, {}], [{"a": 0}, {}], [{"": "0"}, {}], [{}, {}], [{}], [{"": True}, {}]])
def test_endings_name_scripts(endings):
    with pytest.raises(ValueError, match=r"endings|unpack"):
        LemmaRules.from_table({"scripts": [["l0+"]], "endings": {"n": endings}, "particles": []})


def test_words_are_composed_unless_that_takes_long() -> None:
    assert composed("cafe\u0301") == "caf\u00e9"
    long = "a" + "\u0301\u0323" * 100_000  # sorting its marks takes a minute
    assert composed(long) is long
