"""Prefixes rule out no value that passes a test."""

import random
import re
import warnings

import pytest

from discotree.queries.language import And, Exactly, Matching, Not, Or
from discotree.queries.prefixes import after, literal_prefix, prefixes


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("konung.*", "konung"),
        ("konung(ur|s)?", "konung"),
        ("konungs?", "konung"),
        ("konung[|]", "konung"),
        (r"konung\|", "konung"),
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
        ("þ\ud7ff.*", "þ"),
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


def test_combined_tests_have_the_prefixes_of_their_parts():
    kon, konungs = Matching("kon.*"), Matching("konungs.*")
    assert prefixes(Or((kon, Exactly("ok")))) == ["kon", "ok"]
    assert prefixes(And((kon, Not(konungs), konungs))) == ["konungs"]
    assert prefixes(And((Or((kon, Matching(".*"))), konungs))) == ["konungs"]
    assert prefixes(Not(kon)) == [""]
    assert prefixes(Or((konungs, Exactly("ok"), kon, Exactly("kon")))) == ["kon", "ok"]
    assert prefixes(Or((konungs, Matching(".*")))) == [""]


def test_a_range_holds_what_begins_with_a_prefix():
    for prefix in ("a", "az", "þ", "\ud7fe", "a\x7f"):
        assert prefix < after(prefix)
        assert f"{prefix}\U0010ffff" < after(prefix)
        assert not after(prefix).startswith(prefix)
        after(prefix).encode()
