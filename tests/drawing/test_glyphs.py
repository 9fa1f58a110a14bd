"""Widths of texts in a proportional font."""

import pytest

from discotree.drawing.measure import ems


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("iiii", "mmmm"),
        ("abc", "ABC"),
        ("ab", "漢字"),
        ("e", "E"),
        ("", "."),
        ("👍", "👍👍"),
        ("пр", "ПР"),
        ("ｶ", "カ"),
    ],
)
def test_widths_follow_the_letters(narrow, wide):
    assert ems(narrow) < ems(wide)
    assert ems(wide) < ems(wide, bold=True)


@pytest.mark.parametrize(
    ("text", "same"), [("e\u0301", "e"), ("é", "e"), ("👍🏽", "👍"), ("👩\u200d👩\u200d👧", "👩"), ("क\u094d", "क")]
)
def test_accents_and_joined_characters_have_no_width(text, same):
    assert ems(text) == ems(same)
