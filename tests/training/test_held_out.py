"""Held-out sentences are found in text, whatever their case, punctuation and tokenisation, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.networks import TREES
from support.tiny import small_recipe

from discotree.errors import ConfigError, TreebankError
from discotree.training.held_out import (
    ANCHOR,
    HeldOut,
    HeldOutSentence,
    held_out_sentences,
    squeeze,
)


def index(*sentences, min_words=5):
    return HeldOut([HeldOutSentence("t", str(n), tuple(s.split())) for n, s in enumerate(sentences)], min_words)


LONG = "Zij heeft het boek niet gelezen ."


@pytest.mark.parametrize(
    "line",
    [
        "Zij heeft het boek niet gelezen.",
        "»Zij heeft het boek niet gelezen«, zei hij.",
        "Ja. ZIJ HEEFT het boek, niet gelezen!",
        "Zij heeft het boek niet ge-lezen",
    ],
)
def test_a_long_sentence_is_found_inside_a_line(line):
    assert index("Hij komt morgen niet meer thuis .", LONG).search(["Iets anders.", line]) == [(1, 1)]


@pytest.mark.parametrize("line", ["Zij heeft het boek gelezen.", "heeft het boek niet gelezen", "", "Zij"])
def test_what_differs_in_a_word_stays(line):
    assert index(LONG).search([line, "De rest."]) == []


def test_a_sentence_does_not_run_over_the_end_of_a_line():
    assert index(LONG).search(["Zij heeft het boek", "niet gelezen."]) == []


def test_a_short_sentence_is_found_as_a_whole_line_only():
    held_out = index("Dat is zo .", "a b c d e .")
    assert held_out.search(["Dat is zo!", "Dat is zo, denk ik.", "A b c d e", "a b c d e f"]) == [
        (0, 0),
        (2, 1),
    ]
    assert index("Dat is zo maar iets .", min_words=5).search(["Ja, dat is zo maar iets."]) == [(0, 0)]


def test_two_spellings_of_one_letter_are_the_same():
    assert index("Die cafe\u0301s hebben grote ﬁetsen nodig").search(["… die CAFÉS hebben grote fietsen nodig"]) == [
        (0, 0)
    ]


def test_sentences_without_letters_are_left_alone():
    assert index(". . . . . .", "").search(["...", "", "?!"]) == []
    assert index().search(["Wat dan ook"]) == []


@given(
    st.lists(st.text("ab .\u00e9\U0001f600", max_size=40), max_size=5),
    st.lists(st.text("ab .", max_size=30), max_size=5),
)
def test_the_index_finds_what_a_search_one_by_one_finds(lines, sentences):
    """Checked against the definition, with an alphabet in which much is repeated."""
    held_out = index(*sentences, min_words=2)
    texts = [squeeze(sentence) for sentence in sentences]
    expected = set()
    for number, (sentence, text) in enumerate(zip(sentences, texts, strict=True)):
        words = sum(1 for word in sentence.split() if squeeze(word))
        inside = words >= 2 and len(text) >= ANCHOR
        if text and text not in texts[:number]:
            expected |= {
                (row, number)
                for row, line in enumerate(map(squeeze, lines))
                if (text in line if inside else text == line)
            }
    assert held_out.search(lines) == sorted(expected)


def test_a_recipe_holds_out_dev_and_test_and_a_treebank_all(tmp_path, monkeypatch):
    recipe = small_recipe(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = held_out_sentences([str(recipe)])
    assert [sentence.words for sentence in found] == [tree.words for tree in TREES[14:20]]
    assert {sentence.treebank for sentence in found} == {"small.toml"}
    assert len(held_out_sentences(["small.export"])) == len(TREES)


def test_what_there_is_nothing_to_hold_out_of_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(ConfigError, match=r"empty\.toml: the recipe has neither dev nor test"):
        held_out_sentences(["empty.toml"])
    with pytest.raises(TreebankError, match="no such file"):
        held_out_sentences(["nothing.export"])
