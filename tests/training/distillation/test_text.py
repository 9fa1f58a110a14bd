"""Sentences of raw text to learn from: which are chosen, which are left out, and how they are stored."""

from dataclasses import replace

import numpy as np
import pytest
from support.distilling import EASY, LINES, job_of, quiet, sentences_in, small_shards, text_file

from discotree import ConfigError, DiscotreeError, TreebankError
from discotree.training.distillation import text as text_module
from discotree.training.distillation.text import SentenceJob, forms_of, prepare_sentences, to_arrays
from discotree.training.held_out import HeldOutSentence
from discotree.training.text_sources import text_sources


def words_of(folder):
    for arrays in folder.shards():
        forms, ends = forms_of(arrays), np.cumsum(arrays["lengths"])
        for begin, end in zip(ends - arrays["lengths"], ends, strict=True):
            yield [forms[number] for number in arrays["form"][begin:end]]


def test_sentences_survive_a_shard():
    sentences = [["Ja", "."], ["Ä", "b", "Ä"], ["."]]
    arrays = to_arrays(sentences)
    assert [array.dtype.itemsize for array in arrays.values()] == [1, 1, 2]
    assert (forms_of(arrays), arrays["form"].tolist()) == (["Ja", ".", "Ä", "b"], [0, 1, 2, 3, 2, 1])


def test_all_sentences_come_once_in_an_order_of_their_own(tmp_path, monkeypatch):
    small_shards(monkeypatch, 16)
    folder = sentences_in(tmp_path)
    found = list(words_of(folder))
    assert sorted(" ".join(words) for words in found) == sorted(line.replace(".", " .") for line in LINES)
    assert [" ".join(words) for words in found] != [line.replace(".", " .") for line in LINES]
    assert (folder.read_summary()["shards"], folder.read_summary()["sentences"]) == (3, 40)


def test_the_seed_chooses_the_sentences(tmp_path):
    def chosen(name, seed):
        settings = replace(EASY, sentences=10, seed=seed)
        return list(words_of(prepare_sentences(job_of(tmp_path, settings), tmp_path / name, quiet)))

    assert chosen("one", 1) == chosen("again", 1) != chosen("two", 2)
    assert len(chosen("one", 1)) == 10


def test_lines_that_wait_are_bounded_and_do_not_change_the_choice(tmp_path, monkeypatch):
    settings = replace(EASY, sentences=3)
    job = job_of(tmp_path, settings, text_file(tmp_path, lines=LINES * 5))
    monkeypatch.setattr("discotree.training.distillation.text.SENTENCE_BYTES", 10**6)
    everything = list(words_of(prepare_sentences(job, tmp_path / "all", quiet)))
    monkeypatch.setattr("discotree.training.distillation.text.SENTENCE_BYTES", 60)
    assert list(words_of(prepare_sentences(job, tmp_path / "few", quiet))) == everything


def test_a_file_that_counts_more_is_chosen_more_often(tmp_path):
    heavy = text_file(tmp_path, "heavy.txt", [f"Schwer ist Nummer {number}." for number in range(200)])
    light = text_file(tmp_path, "light.txt", [f"Leicht ist Nummer {number}." for number in range(200)])
    settings = replace(EASY, sentences=100)
    job = SentenceJob(text_sources([light, heavy + "*20"]), "de", settings, ())
    found = [words[0] for words in words_of(prepare_sentences(job, tmp_path / "out", quiet))]
    assert found.count("Schwer") > 80


def test_every_shard_has_sentences_of_all_files(tmp_path, monkeypatch):
    small_shards(monkeypatch, 50)
    heavy = text_file(tmp_path, "heavy.txt", [f"Schwer ist Nummer {number}." for number in range(100)])
    light = text_file(tmp_path, "light.txt", [f"Leicht ist Nummer {number}." for number in range(100)])
    job = SentenceJob(text_sources([heavy + "*1000", light]), "de", replace(EASY, sentences=200), ())
    shards = prepare_sentences(job, tmp_path / "out", quiet).shards()
    assert [{"Schwer", "Leicht"} <= {*forms_of(arrays)} for arrays in shards] == [True] * 4


def test_held_out_repeated_short_and_long_sentences_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(text_module, "MIN_WORDS", 3)
    monkeypatch.setattr(text_module, "MAX_WORDS", 8)
    lines = ["Anna sieht ihn heute.", "Anna sieht ihn heute.", "Ja.", "So ist es. Otto kocht.", "eins " * 9 + "."]
    job = job_of(tmp_path, EASY, text_file(tmp_path, lines=lines))
    job = replace(job, held_out=[("tb", [HeldOutSentence("tb", "1", ("Otto", "kocht", "!"))])])
    folder = prepare_sentences(job, tmp_path / "out", quiet)
    assert sorted(map(len, words_of(folder))) == [4, 5]
    about = folder.read_summary()
    assert {name: about[name] for name in ("held_out", "repeated", "length")} == {
        "held_out": 1, "repeated": 1, "length": 2,
    }  # fmt: skip


def test_a_text_without_sentences_and_a_language_without_rules_are_errors(tmp_path):
    with pytest.raises(TreebankError, match=r"empty\.txt.*no sentences left to train on"):
        prepare_sentences(job_of(tmp_path, EASY, text_file(tmp_path, "empty.txt", [" "])), tmp_path / "out", quiet)
    with pytest.raises(ConfigError, match="language: expected one with rules for raw text"):
        replace(job_of(tmp_path), language="xx")


def test_a_folder_of_another_text_is_refused_and_the_same_is_opened(tmp_path):
    sentences_in(tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "sentences").iterdir()}
    sentences_in(tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "sentences").iterdir()} == before
    with pytest.raises(DiscotreeError, match=r"different settings: distillation\.seed was 1, now 7"):
        sentences_in(tmp_path, replace(EASY, seed=7))
    changed = job_of(tmp_path, EASY, text_file(tmp_path, lines=["Etwas anderes."]))
    with pytest.raises(DiscotreeError, match="different settings: text was"):
        prepare_sentences(changed, tmp_path / "sentences", quiet)


def test_a_broken_shard_is_an_error_with_its_name(tmp_path):
    folder = sentences_in(tmp_path)
    folder.shard(0).write_bytes(b"no tensors")
    with pytest.raises(DiscotreeError, match=r"shard-00000\.safetensors: cannot be read"):
        list(folder.shards())
