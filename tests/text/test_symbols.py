"""What is no word gets the tag that its language has for it."""

import pytest

from discotree.text import LANGUAGES, convention, sentences
from discotree.text.segmentation import tag_of
from discotree.trees.punctuation import is_punctuation_tag

PICTURES = ["😀", "👍🏽", "🇳🇱", "👩\u200d👩\u200d👧", "❤️", "1\ufe0f\u20e3", ":-)", ";)", ":D", "<3", "☕"]
ADDRESSES = [
    "https://www.voorbeeld.nl/a-b?c=d#e",
    "www.voorbeeld.nl",
    "voorbeeld.nl/pad",
    "jan.de-vries@post.voorbeeld.co.uk",
    "#weekend",
    "@jan_92",
    "verslag_v2.docx",
    "foto.JPG",
    "C:\\map\\x.txt",
    "~/map/x",
]
FOREIGN = ["Привет", "漢字", "こんにちは", "العربية", "देवनागरी", "한국어"]
WORDS = [
    "huis",
    "Straße",
    "één",
    "don't",
    "a.s.",
    "zo'n",
    "8:43",
    "1/2",
    "R&D",
    "α",
    "-",
    "...",
    "€",
    "(",
    "``",
    "",
    "%",
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_tags(language: str) -> None:
    rules = convention(language)
    assert {tag_of(form, rules) for form in PICTURES} == {rules.picture_tag}
    assert {tag_of(form, rules) for form in ADDRESSES} == {rules.address_tag}
    assert {tag_of(form, rules) for form in FOREIGN} == {rules.foreign_tag}
    assert {tag_of(form, rules) for form in WORDS} == {""}
    assert is_punctuation_tag(tag_of("•", rules))
    assert all((rules.picture_tag, rules.foreign_tag))
    assert rules.address_tag or rules.contraction_mark == "@"  # @es looks like a mention


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("form", [*PICTURES, *ADDRESSES, *FOREIGN, "8:43", "21:05:59", "2024-12-31"])
def test_each_is_one_token(language: str, form: str) -> None:
    for text in (f"Aa {form}", f"Aa {form} aa.", f"Aa {form}, aa", f"Aa {form}."):
        assert form in [word.form for words in sentences(text, language) for word in words]


def test_a_hostile_form_takes_no_time() -> None:
    rules = convention("nl")
    for piece in ("😀\u200d", "a.", "a@", "www.", "~/a/", "#a-", ":-", "я"):
        assert tag_of(piece * 20_000 + "!", rules) in ("", rules.address_tag)
