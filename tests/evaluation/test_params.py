"""Parameter files are read as disco-dop reads them, and mistakes in them have an address."""

from collections.abc import Callable
from pathlib import Path

import pytest

from discotree.errors import EvaluationError
from discotree.evaluation.params import ALL, PROPER, Params


def test_proper_deletes_punctuation_and_roots() -> None:
    assert {"ROOT", "VROOT", "TOP", "NOPARSE", "$,", "$(", "let", "LET()", "``", "-NONE-"} <= PROPER.delete_label
    assert {".", "!!!", "«", '"'} <= PROPER.delete_word
    assert not {"--", "*", "[", "]", "!!", "-LRB-"} & PROPER.delete_word
    assert PROPER.eq_label["PRT"] == PROPER.eq_label["ADVP"]
    assert PROPER.cutoff_len == 40


def test_all_deletes_nothing() -> None:
    assert Params(cutoff_len=40) == ALL


def test_a_file_of_ones_own(file: Callable[[str, str], Path]) -> None:
    path = file(
        "my.prm",
        "## mine\nDEBUG 1\nCUTOFF_LEN 10\nLABELED 0\nDELETE_LABEL S\nEQ_LABEL A B C\nEQ_LABEL C D\n\nDISC_ONLY 1\n",
    )
    params = Params.load(path)
    assert params.cutoff_len == 10
    assert not params.labelled
    assert params.disc_only
    assert params.delete_label == {"S"}
    assert set(params.eq_label) == {"A", "B", "C", "D"}
    assert set(params.eq_label.values()) == {"A"}


def test_classes_that_share_a_member_are_one(file: Callable[[str, str], Path]) -> None:
    params = Params.load(file("my.prm", "\ufeffEQ_LABEL A B\nEQ_LABEL C D\nEQ_LABEL D B\n"))
    assert len({params.eq_label[label] for label in "ABCD"}) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CUTOFF_LEN forty", "my.prm:1: CUTOFF_LEN expects a number"),
        ("\nDELETE_LABEL", "my.prm:2: DELETE_LABEL has no value"),
        ("DELETE_WORD a b", "my.prm:1: DELETE_WORD expects one value"),
        ("DANCE 1", "my.prm:1: unknown parameter DANCE"),
        ("TED 0\nTED 1", "my.prm:2: TED is not supported; set it to 0"),
    ],
)
def test_mistakes_have_an_address(file: Callable[[str, str], Path], text: str, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        Params.load(file("my.prm", text))


def test_a_missing_file_says_what_there_is() -> None:
    with pytest.raises(EvaluationError, match=r"expected all, proper or a \.prm file"):
        Params.load("nowhere.prm")
