"""Prefixes rule out no value that passes a test."""

import random
import re
import warnings

import pytest

from discotree.queries.index import literal_prefix


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("konung.*", "konung"),
        ("konung(ur)?", "konung"),
        ("konung(ur|s)?", ""),
        ("konungs?", "konung"),
        ("konung[ur]", "konung"),
        (r"kon\w+", "kon"),
        ("konung", "konung"),
        ("konu{0,2}ng", "kon"),
        ("konung|drottning", ""),
        ("a(b)|c", ""),
        ("a[]|]|c", ""),
        ("(?i)konung", ""),
        ("(?x)kon ung", ""),
        ("kon(?#[)|drottning", ""),
        ("x(?x: a # (\n)|b", ""),
        ("^konung", ""),
        (".*ur", ""),
        ("", ""),
        ("þ\ud7ff.*", "þ\ud7ff"),
    ],
)
def test_a_pattern_begins_with_plain_characters(pattern, prefix):
    assert literal_prefix(pattern) == prefix


def test_all_that_a_random_pattern_matches_has_its_prefix():
    rng = random.Random(7)
    found = 0
    for _ in range(4000):
        pattern = "".join(rng.choices(r"aaabbb.*+?|()[]^\{}2-$:!=", k=rng.randint(1, 7)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compiled = re.compile(pattern)
                prefix = literal_prefix(pattern)
        except re.error:
            continue
        values = ["".join(rng.choices("ab|[]()2:", weights=[9, 9, 1, 1, 1, 1, 1, 1, 1], k=k % 5)) for k in range(20)]
        values += [prefix, f"{prefix}a", pattern]
        matching = [value for value in values if compiled.fullmatch(value)]
        assert all(value.startswith(prefix) for value in matching), pattern
        found += bool(prefix and matching)
    assert found > 200
