"""The vocabulary: cased, deterministic, and split as BERT splits."""

import random
import subprocess
import sys

import pytest
from support.texts_raw import sentence, written_text

from discotree.config.pretraining import TextSettings
from discotree.errors import ConfigError, MissingExtraError
from discotree.training.pretraining.vocabulary import SPECIAL, alphabet, learn_vocabulary, load_tokenizer

DRAW = random.Random(3)
LINES = [sentence(DRAW) for _ in range(300)]


def learned(size=150, lines=LINES, **settings):
    characters = alphabet(lines, settings.get("alphabet", 1000))
    return learn_vocabulary(iter([lines]), characters, TextSettings(vocab_size=size, **settings))


def test_the_alphabet_has_the_most_frequent_characters_in_order():
    assert alphabet(["bbb aa", "c\tc\x07\u200b😀"], 3) == ["a", "b", "c"]
    assert alphabet(["ba"], 1) == ["a"]  # of two equally frequent ones the first


def test_pieces_are_cased_and_special_pieces_come_first():
    tokenizer = load_tokenizer(learned())
    assert tokenizer.get_vocab_size() == 150
    assert [tokenizer.token_to_id(name) for name in SPECIAL] == [0, 1, 2, 3, 4]
    assert tokenizer.encode("De de").ids[1] != tokenizer.encode("De de").ids[2]
    assert tokenizer.encode("De man.").tokens == ["[CLS]", "De", "man", ".", "[SEP]"]
    assert tokenizer.encode("[SEP]", add_special_tokens=False).tokens != ["[SEP]"]  # text stays text
    assert tokenizer.encode("Ω", add_special_tokens=False).tokens == ["[UNK]"]


@pytest.mark.slow
def test_the_same_text_gives_the_same_vocabulary_in_every_process(tmp_path):
    """The library's hash tables differ from process to process; ties are frequent in so small a text."""
    path = written_text(tmp_path / "a.txt")
    code = (
        "import sys; from discotree.training.pretraining.vocabulary import *;"
        "lines = open(sys.argv[1]).read().split('\\n');"
        "print(learn_vocabulary(iter([lines]), alphabet(lines, 99), TextSettings(vocab_size=180)))"
    )
    found = {
        subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    }
    assert len(found) == 1


def test_the_same_text_gives_the_same_vocabulary_again():
    assert len({learned() for _ in range(2)}) == 1


def test_a_vocabulary_too_small_for_the_characters_is_refused():
    with pytest.raises(
        ConfigError, match=r"text.vocab_size: expected more than the \d+ pieces of one character, got 20"
    ):
        learned(20)
    assert load_tokenizer(learned(20, alphabet=5)).get_vocab_size() == 20


def test_text_without_characters_is_refused():
    with pytest.raises(ConfigError, match="no characters"):
        learn_vocabulary(iter([]), [], TextSettings())


def test_a_missing_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'discotree\[train\]'"):
        load_tokenizer("{}")
