"""Teachers: their average, matched by name, decoded exactly, stored in small numbers, resumed to the byte."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.distilling import EASY, config_of, quiet, sentences_in, small_shards, targets_in, teacher_in, teachers_of
from support.models import saved_model
from support.networks import TREES, split_of

from discotree import ConfigError, DiscotreeError
from discotree.config.schema import Config, Data, Training
from discotree.decoding.decode import acyclic, arborescence
from discotree.models.folder import read_model, write_model
from discotree.network.vocab import Alphabet
from discotree.parsing.parser import Parser
from discotree.training.distillation.teachers import Teacher, check_teachers, decode_heads, score
from discotree.training.distillation.text import to_arrays
from discotree.training.run import build


def test_heads_are_decided_exactly():
    random = np.random.default_rng(0)
    lengths = np.array([1, 3, 6, 8])
    arcs = random.random((4, 8, 9)).astype(np.float32) ** 4
    for b, n in enumerate(lengths):
        arcs[b, :, n + 1 :] = 0
    columns = decode_heads(torch.from_numpy(arcs), lengths)
    assert acyclic(columns).all()
    for b, n in enumerate(lengths):
        logs = np.log(arcs[b, :n, : n + 1].astype(np.float64))
        best = arborescence(logs)
        rows = np.arange(n)
        assert logs[rows, columns[b, :n]].sum() == pytest.approx(logs[rows, best].sum())
        assert (columns[b, :n] == 0).sum() == 1


def test_targets_are_what_the_teacher_believes(tmp_path):
    teachers = teachers_of(teacher_in(tmp_path), top=3)
    sentences = to_arrays([["Anna", "liest", "."], ["Ja"], ["Er", "lacht", "heute", "."]])
    arrays = teachers.targets(sentences, lambda _: None)
    parser = Parser(teachers.teachers[0].model)
    words = [["Anna", "liest", "."], ["Ja"], ["Er", "lacht", "heute", "."]]
    corpus = parser._corpus([parser.tokens(sentence) for sentence in words])
    for numbers, scores in parser._scores(corpus):
        for row, number in enumerate(numbers):
            begin = int(corpus.starts[number])
            n = len(words[number])
            own = slice(begin, begin + n)
            best = np.exp(scores.arcs[row, :n, : n + 1])
            best[np.arange(n), np.arange(n) + 1] = 0
            assert (arrays["head.ids"][own, 0] == best.argmax(1)).all()
            top = -np.sort(-best, 1)[:, : arrays["head.p"].shape[1]]
            expected = top / top.sum(1, keepdims=True) * 255
            assert np.abs(arrays["head.p"][own, : top.shape[1]] - expected).max() <= 4  # ONNX has int8 weights
    assert arrays["agreement"].max() == 1
    assert arrays["head"].dtype == arrays["tag.ids"].dtype == np.uint8
    assert (np.abs(arrays["label.p"].astype(int).sum(1) - 255) <= 3).all()


def test_labels_of_several_teachers_are_matched_by_name(tmp_path):
    """A teacher and the same teacher with its labels in another order believe the same together as alone."""
    one = teacher_in(tmp_path)
    model = read_model(one)
    order = np.roll(np.arange(len(model.vocab.labels)), 3)
    shuffled = replace(model.vocab, labels=Alphabet([model.vocab.labels.symbols[k] for k in order]))
    weights = {**model.weights, "label_bilinear": model.weights["label_bilinear"][order]}
    write_model(replace(model, vocab=shuffled, weights=weights), tmp_path / "shuffled")
    sentences = to_arrays([["Anna", "liest", "."], ["Er", "lacht", "heute", "."]])
    alone = teachers_of(one).targets(sentences, lambda _: None)
    both = teachers_of(one, str(tmp_path / "shuffled"))
    together = both.targets(sentences, lambda _: None)
    assert len(both.names["label"]) == len(model.vocab.labels)
    for name in ("head", "confidence", "head.ids", "label.ids", "label.p", "tag.ids"):
        assert np.abs(alone[name].astype(int) - together[name]).max() <= (name.endswith((".p", "confidence")))
    assert (together["agreement"] == 2 * alone["agreement"]).all()


def test_a_teacher_gives_no_probability_to_labels_that_it_does_not_know(tmp_path):
    one = teacher_in(tmp_path)
    settings = Config("few", Data(), read_model(one).config.network, Training(seed=3), language="de")
    write_model(build(settings, {"train": split_of(TREES[:8])}).model, tmp_path / "few")
    both = teachers_of(one, str(tmp_path / "few"))
    all_labels, few = (teacher.vocab.labels.ids.keys() for teacher in both.teachers)
    assert few < all_labels == both.names["label"].ids.keys()
    believed = [(torch.full((1, len(ids)), 1 / len(ids)), own["label"])
                for ids, own in zip((all_labels, few), both.columns, strict=True)]  # fmt: skip
    average = both._average(believed, "label")[0].tolist()
    known = {label: (1 / len(all_labels) + (label in few) / len(few)) / 2 for label in all_labels}
    assert dict(zip(both.names["label"].symbols, average, strict=True)) == pytest.approx(known)


def test_teachers_must_fit_each_other_and_the_recipe(tmp_path):
    config = config_of(tmp_path)
    german, dutch = (Teacher.load(teacher_in(tmp_path, code, code)) for code in ("de", "nl"))
    check_teachers([german], config)
    for teachers, message in (
        ([german, german], "is given twice"),
        ([dutch], r"and the recipe differ: language is 'nl' and 'de'"),
        (
            [Teacher.load(str(saved_model(tmp_path / "tags", tags="gold")))],
            "needs tags as input, but raw text has none",
        ),
    ):
        with pytest.raises(ConfigError, match=message):
            check_teachers(teachers, config)
    heads = replace(config, data=replace(config.data, heads="alpino"))
    with pytest.raises(ConfigError, match=r"data\.heads is 'negra' and 'alpino'"):
        check_teachers([german], heads)
    other = replace(german, name="other", model=replace(german.model, vocab=_renamed(german.model.vocab)))
    with pytest.raises(ConfigError, match="they share 0 labels"):
        check_teachers([german, other], config)


def _renamed(vocab):
    return replace(vocab, labels=Alphabet([f"X{label}" for label in vocab.labels.symbols]))


class Killed(BaseException):
    """What no handler catches."""


def test_a_killed_run_goes_on_with_the_next_shard_to_the_same_bytes(tmp_path, monkeypatch):
    small_shards(monkeypatch)
    text = sentences_in(tmp_path)
    name = teacher_in(tmp_path)
    score(text, teachers_of(name), EASY, tmp_path / "whole", quiet)

    def killer(_what, done, _total):
        if done > 20:
            raise Killed

    with pytest.raises(Killed):
        score(text, teachers_of(name), EASY, tmp_path / "killed", killer)
    assert sorted(path.name for path in (tmp_path / "killed").iterdir()) == [
        "job.json", "shard-00000.safetensors", "shard-00001.safetensors",
    ]  # fmt: skip
    (tmp_path / "killed" / "shard-00002.safetensors.0abc.tmp").write_bytes(b"half")
    scored = []
    score(text, teachers_of(name), EASY, tmp_path / "killed", lambda _what, done, _total: scored.append(done))
    assert scored == [30, 40]
    whole, resumed = (
        {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()} for folder in ("whole", "killed")
    )
    assert whole == resumed


def test_another_teacher_is_refused_on_resumption(tmp_path):
    targets_in(tmp_path)
    other = teachers_of(teacher_in(tmp_path, "other"))
    with pytest.raises(DiscotreeError, match=r"different settings: teachers was \['.*…"):
        score(sentences_in(tmp_path), other, EASY, tmp_path / "targets", quiet)
