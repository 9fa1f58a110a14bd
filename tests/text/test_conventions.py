"""A language is one data file: complete, documented, checked with addresses, and enough to tokenise."""

import dataclasses
import re
from pathlib import Path

import pytest

from discotree.errors import ConfigError
from discotree.text import LANGUAGES, Convention, segmentation, sentences
from discotree.text.segmentation import FOLDER, convention
from discotree.validation import read_toml

PAGE = Path(__file__).parents[2] / "docs" / "text.md"
KEYS = {field.name for field in dataclasses.fields(Convention)}

FRISIAN = """
treebank = "none yet"
non_final_abbreviations = "dr Sk"
final_abbreviations = "ensfh"
sentence_openers = "it de"
ordinals = true
clitics = ["'k"]
contractions = ["moat te"]

[forms]
"[" = "-LSB-"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of languages that starts with Frisian alone."""
    monkeypatch.setattr(segmentation, "FOLDER", tmp_path)
    (tmp_path / "fy.toml").write_text(FRISIAN, "utf-8")
    segmentation._bundled.cache_clear()
    return tmp_path


def forms(text: str, language: str | Convention) -> list[str]:
    return [" ".join(word.form for word in sentence) for sentence in sentences(text, language)]


def test_a_file_in_the_folder_is_a_language(folder: Path) -> None:
    assert segmentation.languages() == ("fy",)
    text = "Dr. Sk. komt [hjoed] ensfh. It is de 3. dei, seit'k. Hy moatte."
    expected = ["Dr. Sk. komt -LSB- hjoed ] ensfh.", "It is de 3. dei , seit 'k .", "Hy moat te ."]
    assert forms(text, "fy") == expected
    assert forms(text, Convention.load(folder / "fy.toml")) == expected


def test_a_language_may_extend_another(folder: Path) -> None:
    (folder / "fy-x.toml").write_text(
        'extends = "fy"\ntreebank = "x"\nordinals = false\n[forms]\n"]" = "-RSB-"', "utf-8"
    )
    text = "Op 3. Maart [x]."
    assert forms(text, "fy") == ["Op 3. Maart -LSB- x ] ."]
    assert forms(text, "fy-x") == ["Op 3 .", "Maart -LSB- x -RSB- ."]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_file_is_read_once(language: str) -> None:
    assert convention(language) is convention(language)
    assert convention(language).treebank


def test_every_key_and_language_is_documented() -> None:
    """The table of the section on adding a language has all keys, and no other."""
    page = PAGE.read_text("utf-8")
    section = page.split("## Add a language", 1)[1].split("\n## ", 1)[0]
    documented = re.findall(r"^\| `(\w+)` ", section, re.MULTILINE)
    assert sorted(documented) == sorted([*KEYS, "extends"])
    assert all(f"| `{language}` |" in page for language in LANGUAGES)


def test_no_file_has_a_key_to_no_effect() -> None:
    """A value equal to the default is noise, or a mistake."""
    for path in FOLDER.glob("*.toml"):
        table = read_toml(path)
        if "extends" not in table:
            assert [key for key, value in table.items() if value in (False, 0, "", [], {})] == [], path.name


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x = ", "fy.toml:10: Invalid value"),
        ("titles = 'a'", "fy.toml: unknown key 'titles', expected one of treebank, non_final"),
        ("sentence_openers = ['it']", "fy.toml: sentence_openers: expected a string of words, got ['it']"),
        ("sentence_openers = 'it De'", "fy.toml: sentence_openers: 'De' must be lowercase"),
        ("abbreviations_before_numbers = 'nû.'", "before_numbers: write 'nû.' without its last full stop"),
        ("abbreviations_before_numbers = 'dr'", "fy.toml: non_final_abbreviations: 'dr' is also in another list"),
        ("ordinals = 1", "fy.toml: ordinals: expected bool, got 1"),
        ("colon_min_words = true", "fy.toml: colon_min_words: expected int, got True"),
        ('clitics = "\'k"', "fy.toml: clitics: expected a list of regular expressions"),
        ("clitics = ['a', '(']", "fy.toml: clitics: '(': missing ), unterminated subpattern"),
        ("clitics = ['(a|b)']", "fy.toml: clitics: '(a|b)': write (?:…) for a group"),
        ("contractions = ['cannot']", 'fy.toml: contractions: expected a list of strings such as "can not"'),
        ("forms = 'x'", "fy.toml: forms: expected a table, got 'x'"),
        ("forms = { ab = 'x' }", "fy.toml: forms: 'ab' is not one character"),
        ("extends = 'xx'", "fy.toml: extends: unknown language 'xx'; choose one of de, de-early,"),
        ("extends = 'en-wsj'", "fy.toml: extends: en-wsj extends en; extend that"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_key(tmp_path: Path, line: str, message: str) -> None:
    key = line.partition(" ")[0]
    kept = re.sub(rf"(?m)^{key} = .*\n", "", FRISIAN.partition("\n[")[0])
    path = tmp_path / "fy.toml"
    path.write_text(f"{kept}\n{line}\n", "utf-8")
    with pytest.raises(ConfigError, match=re.escape(message)):
        Convention.load(path)


@pytest.mark.parametrize("key", ["treebank", "non_final_abbreviations", "final_abbreviations"])
def test_a_missing_key_is_named(tmp_path: Path, key: str) -> None:
    path = tmp_path / "fy.toml"
    path.write_text(re.sub(rf"(?m)^{key} = .*\n", "", FRISIAN), "utf-8")
    with pytest.raises(ConfigError, match=rf"fy\.toml: '{key}' is missing"):
        Convention.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"fy\.toml"):
        Convention.load(tmp_path / "fy.toml")


def test_accents_in_a_file_may_be_characters_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "fy.toml"
    path.write_text(FRISIAN.replace("ensfh", "e\u0302nsfh"), "utf-8")
    assert "ênsfh" in Convention.load(path).final_abbreviations
