"""Sub-words: the pieces that a word is split into."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discotree.errors import ModelError
from discotree.network.subwords import MAX_PIECES, UNKNOWN_PIECE, Subwords
from discotree.network.weights import QuantizedMatrix

PIECES = {
    "": 0.0,
    "a": -3.25,
    "▁": -4.0,
    "▁a": -2.0,
    "▁ab": -3.5,
    "b": -2.5,
    "ab": -4.0,
    "c": -3.0,
    "bc": -4.0,
    ".": -1.0,
    "▁.": -5.0,
}


def table(pieces, size):
    vectors = QuantizedMatrix(np.zeros((len(pieces), size), np.int8), np.ones(len(pieces), np.float32))
    return Subwords("\n".join(pieces).encode(), np.array(list(pieces.values()), np.float32), vectors)


@pytest.fixture(scope="module")
def small():
    return table(PIECES, 4)


@pytest.fixture(scope="module")
def latin():
    return Subwords.load("latin")


def named(subwords, form):
    names = list(PIECES)
    return [names[k] for k in subwords.pieces(form)]


def best_score(text):
    """The score of the best way to split a text, by trying all of them."""
    unknown = min(PIECES.values()) - 10
    scores = []
    for cuts in itertools.product((False, True), repeat=len(text) - 1):
        ends = [k + 1 for k, is_end in enumerate(cuts) if is_end] + [len(text)]
        parts = [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        if all(part in PIECES or len(part) == 1 for part in parts):
            scores.append(sum(PIECES.get(part, unknown) for part in parts))
    return max(scores)


@given(st.text("abc", min_size=1, max_size=7))
def test_a_word_is_cut_into_its_most_probable_pieces(form):
    found = named(table(PIECES, 1), form)
    assert "".join(found) == f"▁{form}"
    assert math.isclose(sum(PIECES[piece] for piece in found), best_score(f"▁{form}"))


def test_punctuation_follows_a_word_without_a_space(small):
    assert named(small, ".") == ["."]
    assert named(small, "a.") == ["▁a", "."]


def test_what_no_piece_matches_is_unknown(small):
    assert small.pieces("x") == (list(PIECES).index("▁"), UNKNOWN_PIECE)
    assert small.pieces("→") == (UNKNOWN_PIECE,)


@pytest.mark.parametrize("form", ["", " ", "\u200b", "\ud800", "\x00"])
def test_nothing_to_see_is_one_unknown_piece(small, form):
    assert small.pieces(form) == (UNKNOWN_PIECE,)


def test_a_very_long_token_is_cut(small):
    assert len(small.pieces("ac" * 1_000_000)) == MAX_PIECES


def test_others_can_split_words_by_the_ids_and_scores(small):
    told = json.loads(small.to_json())
    assert told["ids"] == {piece: number for number, piece in enumerate(PIECES) if number}
    assert told["scores"] == list(PIECES.values())


def test_composed_and_decomposed_letters_are_the_same(latin):
    assert latin.pieces("caf\u00e9") == latin.pieces("cafe\u0301")


def test_frequent_words_of_the_languages_are_single_pieces(latin):
    for word in ("niet", "worden", "nicht", "werden", "the", "because", "Nederland", "Berlin"):
        assert len(latin.pieces(word)) == 1, word


def test_related_words_are_closer_than_others(latin):
    def vector(word):
        (piece,) = latin.pieces(word)
        return latin.vectors.values[piece].astype(float)

    def cosine(a, b):
        one, other = vector(a), vector(b)
        return one @ other / np.linalg.norm(one) / np.linalg.norm(other)

    assert cosine("Januar", "Oktober") > cosine("Januar", "schnell")
    assert cosine("London", "Paris") > cosine("London", "quickly")


def test_a_missing_table_is_named():
    with pytest.raises(ModelError, match="klingon"):
        Subwords.load("klingon")


def test_a_table_whose_parts_do_not_fit_is_refused():
    with pytest.raises(ModelError, match="2 pieces, 1 scores, 2 vectors"):
        Subwords(b"\na", np.zeros(1, np.float32), QuantizedMatrix(np.zeros((2, 3), np.int8), np.ones(2, np.float32)))


def test_the_table_holds_no_code(latin):
    from importlib import resources

    folder = resources.files("discotree.network") / "pieces"
    assert {file.name for file in folder.iterdir()} == {"LICENSE", "NOTICE", "README.md", "latin.safetensors"}
    assert (
        len(latin) == len(json.loads(latin.to_json())["ids"]) + 1 > 80_000
    )  # no piece stands twice; the unknown one has no text
