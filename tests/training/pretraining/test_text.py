"""Text made ready: pieces on the disk, what was held out, and which text a folder belongs to."""

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.texts_raw import sentence, tiny, written_text

from discotree.errors import ConfigError, DiscotreeError, MissingExtraError, ModelError, TreebankError
from discotree.training import text_sources as module
from discotree.training.held_out import HeldOut, HeldOutSentence
from discotree.training.pretraining.text import (
    PIECES,
    SPECIAL,
    TEXT,
    PreparedText,
    TextJob,
    alphabet,
    learn_vocabulary,
    load_tokenizer,
    prepare,
)
from discotree.training.text_sources import TextSource


def job_of(*files, held_out=(), tokenizer="", **settings):
    config = tiny(*(f"text.{name}={value}" for name, value in settings.items()))
    return TextJob(files, config.text, HeldOut([*held_out]), tokenizer)


@pytest.fixture
def files(tmp_path):
    one, two = written_text(tmp_path / "a.txt", 60), written_text(tmp_path / "b.txt", 20, seed=2)
    return TextSource(str(one)), TextSource(str(two), 3)


def test_pieces_are_those_of_the_lines_and_a_separator_ends_each(files, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_CHARACTERS", 500)
    prepared = prepare(job_of(*files), tmp_path / "out")
    tokenizer = load_tokenizer(prepared.tokenizer)
    for file, pieces, counts in zip(files, prepared.pieces, prepared.files, strict=True):
        lines = Path(file.path).read_text("utf-8").splitlines()
        expected = [id for line in lines for id in [*tokenizer.encode(line, add_special_tokens=False).ids, 3]]
        assert pieces.tolist() == expected
        assert pieces.dtype == np.uint16
        assert (counts["lines"], counts["words"], counts["pieces"]) == (
            len(lines), sum(len(line.split()) for line in lines), len(expected)
        )  # fmt: skip
        assert (counts["repeat"], counts["lines_dropped"]) == (file.repeat, 0)


def test_it_is_done_once(files, tmp_path):
    events = []
    prepare(job_of(*files), tmp_path / "out", lambda what, done, total: events.append((what, done, total)))
    assert {what: done / total for what, done, total in events} == {
        "counting characters": 1, "learning the vocabulary": 1, "tokenising": 1
    }  # fmt: skip
    before = (tmp_path / "out" / PIECES).stat().st_mtime_ns
    prepare(job_of(*files), tmp_path / "out", lambda *_: pytest.fail("it reads the text again"))
    assert (tmp_path / "out" / PIECES).stat().st_mtime_ns == before


def test_lines_with_held_out_sentences_are_dropped_and_listed(files, tmp_path):
    lines = Path(files[0].path).read_text("utf-8").splitlines()
    sentence = HeldOutSentence("t", "7", tuple(lines[4].replace(".", " .").split()[:8]))
    prepared = prepare(job_of(*files, held_out=[sentence]), tmp_path / "out")
    first = prepared.files[0]
    dropped = [number for number, line in enumerate(lines, 1) if " ".join(sentence.words[:-1]) in line]
    assert 5 in dropped
    assert tuple(first[name] for name in ("sentences_found", "lines_dropped", "lines")) == (
        1,
        len(dropped),
        60 - len(dropped),
    )
    rows = [row.split("\t") for row in (tmp_path / "out" / "held-out.tsv").read_text("utf-8").splitlines()]
    assert rows[0] == ["text", "line", "treebank", "id", "sentence"]
    assert [row for row in rows if row[0] == "a.txt"] == [
        ["a.txt", str(number), "t", "7", " ".join(sentence.words)] for number in dropped
    ]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"vocab_size": 190}, "text.vocab_size was 200, now 190"),
        ({"held_out": [HeldOutSentence("t", "1", ("x",))]}, "held-out sentences was"),
        ({"tokenizer": "{}"}, "text.vocab_size was 200, now None"),
    ],
)
def test_a_folder_with_other_text_is_refused(files, tmp_path, change, complaint):
    prepare(job_of(*files), tmp_path / "out")
    with pytest.raises(DiscotreeError, match=f"out was started with different settings: {complaint}"):
        prepare(job_of(*files, **change), tmp_path / "out")
    with pytest.raises(DiscotreeError, match="different settings: text was"):
        prepare(job_of(files[0]), tmp_path / "out")
    with open(files[0].path, "a") as stream:
        stream.write("Meer.\n")
    with pytest.raises(DiscotreeError, match="different settings: text was"):
        prepare(job_of(*files), tmp_path / "out")


def test_what_is_damaged_is_refused(files, tmp_path):
    prepared = prepare(job_of(*files), tmp_path / "out")
    path = tmp_path / "out" / PIECES
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(ModelError, match="not a folder of prepared text: mmap length is greater"):
        PreparedText(tmp_path / "out")
    table = json.loads((tmp_path / "out" / TEXT).read_text())
    for broken in ("{", "[]", json.dumps(table | {"kind": "O"}), json.dumps(table | {"files": [{}]})):
        (tmp_path / "out" / TEXT).write_text(broken)
        with pytest.raises(ModelError, match="out: not a folder of prepared text"):
            PreparedText(tmp_path / "out")
    assert prepared.files
    with pytest.raises(ModelError, match="none: not a folder of prepared text"):
        PreparedText(tmp_path / "none")


def test_text_without_words_is_refused(file, tmp_path):
    known = prepare(job_of(TextSource(str(written_text(tmp_path / "a.txt")))), tmp_path / "known").tokenizer
    with pytest.raises(TreebankError, match="no text to train on"):
        prepare(job_of(TextSource(str(file("b.txt", "\n \n"))), tokenizer=known), tmp_path / "out")


DRAW = random.Random(3)
LINES = [sentence(DRAW) for _ in range(300)]


def learned(size=150, lines=LINES, characters=1000):
    return learn_vocabulary(iter([lines]), alphabet(lines, characters), size)


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
        "import sys; from discotree.training.pretraining.text import *;"
        "lines = open(sys.argv[1]).read().split('\\n');"
        "print(learn_vocabulary(iter([lines]), alphabet(lines, 99), 180))"
    )
    found = {
        subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    }
    assert len(found) == 1


def test_the_same_text_gives_the_same_vocabulary_again():
    assert len({learned() for _ in range(2)}) == 1


def test_a_vocabulary_too_small_for_the_characters_is_refused():
    with pytest.raises(ConfigError, match=r"text.vocab_size: expected more than the \d+ single characters, got 20"):
        learned(20)
    assert load_tokenizer(learned(20, characters=5)).get_vocab_size() == 20


def test_text_without_characters_is_refused():
    with pytest.raises(ConfigError, match="no characters"):
        learn_vocabulary(iter([]), [], 100)


def test_a_missing_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'discotree\[train\]'"):
        load_tokenizer("{}")
