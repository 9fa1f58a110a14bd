"""Text made ready: pieces on the disk, what was held out, and which text a folder belongs to."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.texts_raw import tiny, written_text

from discotree.errors import DiscotreeError, ModelError, TreebankError
from discotree.training.pretraining import texts
from discotree.training.pretraining.held_out import HeldOut, HeldOutSentence
from discotree.training.pretraining.prepared import PIECES, TEXT, TextJob, open_prepared, prepare
from discotree.training.pretraining.vocabulary import load_tokenizer
from discotree.training.text_sources import TextSource


def job_of(*files, held_out=(), tokenizer="", **settings):
    config = tiny(*(f"text.{name}={value}" for name, value in settings.items()))
    return TextJob(files, config.text, HeldOut([*held_out], config.text.hold_out_words), tokenizer)


@pytest.fixture
def files(tmp_path):
    one, two = written_text(tmp_path / "a.txt", 60), written_text(tmp_path / "b.txt", 20, seed=2)
    return TextSource(str(one)), TextSource(str(two), 3)


def test_pieces_are_those_of_the_lines_and_a_separator_ends_each(files, tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "BLOCK_CHARACTERS", 500)
    prepared = prepare(job_of(*files), tmp_path / "out")
    tokenizer = load_tokenizer(prepared.tokenizer)
    for file, pieces, counts in zip(files, prepared.pieces(), prepared.files, strict=True):
        lines = Path(file.path).read_text("utf-8").splitlines()
        expected = [id for line in lines for id in [*tokenizer.encode(line, add_special_tokens=False).ids, 3]]
        assert pieces.tolist() == expected
        assert pieces.dtype == np.uint16
        assert (counts.lines, counts.words, counts.pieces) == (
            len(lines), sum(len(line.split()) for line in lines), len(expected)
        )  # fmt: skip
        assert (counts.repeat, counts.lines_dropped) == (file.repeat, 0)


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
    assert (first.sentences_found, first.lines_dropped, first.lines) == (1, len(dropped), 60 - len(dropped))
    rows = [row.split("\t") for row in (tmp_path / "out" / "held-out.tsv").read_text("utf-8").splitlines()]
    assert rows[0] == ["text", "line", "treebank", "id", "sentence"]
    assert [row for row in rows if row[0] == "a.txt"] == [
        ["a.txt", str(number), "t", "7", " ".join(sentence.words)] for number in dropped
    ]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"vocab_size": 190}, "text.vocab_size was 200 and is 190"),
        ({"held_out": [HeldOutSentence("t", "1", ("x",))]}, "held-out sentences was"),
        ({"tokenizer": "{}"}, "text.vocab_size was 200 and is None"),
    ],
)
def test_a_folder_with_other_text_is_refused(files, tmp_path, change, complaint):
    prepare(job_of(*files), tmp_path / "out")
    with pytest.raises(DiscotreeError, match=f"out belongs to another job: {complaint}"):
        prepare(job_of(*files, **change), tmp_path / "out")
    with pytest.raises(DiscotreeError, match="belongs to another job: text was"):
        prepare(job_of(files[0]), tmp_path / "out")
    with open(files[0].path, "a") as stream:
        stream.write("Meer.\n")
    with pytest.raises(DiscotreeError, match="belongs to another job: text was"):
        prepare(job_of(*files), tmp_path / "out")


def test_what_is_damaged_is_refused(files, tmp_path):
    prepared = prepare(job_of(*files), tmp_path / "out")
    path = tmp_path / "out" / PIECES
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(ModelError, match=r"pieces\.bin: expected .* bytes"):
        open_prepared(tmp_path / "out").pieces()
    table = json.loads((tmp_path / "out" / TEXT).read_text())
    for broken in ("{", "[]", json.dumps(table | {"kind": "O"}), json.dumps(table | {"files": [{}]})):
        (tmp_path / "out" / TEXT).write_text(broken)
        with pytest.raises(ModelError, match=r"out: holds no prepared text|text\.json: 'name' is missing"):
            open_prepared(tmp_path / "out")
    assert prepared.files
    with pytest.raises(ModelError, match="none: holds no prepared text"):
        open_prepared(tmp_path / "none")


def test_text_without_words_is_refused(file, tmp_path):
    known = prepare(job_of(TextSource(str(written_text(tmp_path / "a.txt")))), tmp_path / "known").tokenizer
    with pytest.raises(TreebankError, match="there is no text to learn from"):
        prepare(job_of(TextSource(str(file("b.txt", "\n \n"))), tokenizer=known), tmp_path / "out")
