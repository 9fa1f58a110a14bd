"""From text and teachers to a model: what is refused, what is resumed, and that the whole of it runs."""

import json
from dataclasses import replace

import pytest
from support.distilling import EASY, config_of, small_shards, teacher_in, text_file
from support.networks import TREES

import discotree as dt
from discotree import ConfigError, DiscotreeError, load
from discotree.files.jobs import JobLock
from discotree.models import VOCAB, WEIGHTS
from discotree.training.distillation.distill import (
    LOCK,
    DistillationInput,
    ScoredText,
    distill,
    prepare,
    recipe_held_out,
)
from discotree.training.distillation.targets import TeacherTargets
from discotree.training.distillation.text import TARGETS, SentenceShards
from discotree.training.run import MODEL


class Killed(BaseException):
    """What no handler catches."""


def test_text_and_prepared_text_exclude_each_other():
    for source in ({}, {"texts": ["a"], "prepared": "b"}):
        with pytest.raises(ConfigError, match="expected either text files or"):
            DistillationInput(**source)
    with pytest.raises(ConfigError, match="held out when text is prepared"):
        DistillationInput(prepared="b", hold_out=["alpino"])


def test_a_network_that_looks_at_tags_cannot_learn_from_raw_text(tmp_path):
    config = config_of(tmp_path)
    source = DistillationInput([text_file(tmp_path)], [teacher_in(tmp_path)])
    with pytest.raises(ConfigError, match=r"data\.tags: expected 'none' for distillation"):
        distill(replace(config, data=replace(config.data, tags="gold")), source, tmp_path / "out")
    with pytest.raises(ConfigError, match="at least one teacher"):
        distill(config, DistillationInput([text_file(tmp_path)]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_prepared_text_serves_teachers_and_then_networks(tmp_path):
    config = config_of(tmp_path)
    about = prepare(config, DistillationInput([text_file(tmp_path)]), tmp_path / "text")
    assert (about["sentences"], "teachers" in about) == (40, False)
    scored = DistillationInput(prepared=str(tmp_path / "text"), teachers=[teacher_in(tmp_path)])
    about = prepare(config, scored, tmp_path / "targets")
    assert about["teachers"] == [str(tmp_path / "teacher")]
    with pytest.raises(ConfigError, match="already scored by teachers"):
        DistillationInput(prepared=str(tmp_path / "targets"), teachers=["nl"])
    other = replace(config, data=replace(config.data, dev=config.data.train))
    with pytest.raises(ConfigError, match="dev and test of small were not held out from this text"):
        distill(other, DistillationInput(prepared=str(tmp_path / "targets")), tmp_path / "out")
    kept = replace(config, data=replace(config.data, punctuation="keep", heads="ptb"))
    with pytest.raises(ConfigError, match=r"targets and the recipe differ: data\.heads is 'negra' and 'ptb'"):
        distill(kept, DistillationInput(prepared=str(tmp_path / "targets")), tmp_path / "out")
    with pytest.raises(ConfigError, match="the language is 'de', but 'nl' in the recipe"):
        distill(replace(config, language="nl"), DistillationInput(prepared=str(tmp_path / "targets")), tmp_path / "out")


def test_dev_and_test_of_the_recipe_are_held_out(tmp_path):
    lines = ["Ein altes Haus", "Anna liest und Otto kocht", "Anna sieht ihn heute."]  # sentences 12 and 14
    about = prepare(config_of(tmp_path), DistillationInput([text_file(tmp_path, lines=lines)]), tmp_path / "text")
    assert (about["sentences"], about["held_out"]) == (1, 2)


def test_a_dev_set_that_is_a_part_of_train_is_held_out(tmp_path):
    config = config_of(tmp_path)
    held = replace(config, data=replace(config.data, dev=(), hold_out=5))
    dev = [sentence.words for sentence in recipe_held_out(held)][:2]
    assert dev == [TREES[4].words, TREES[9].words]
    lines = [" ".join(dev[0]), "Anna sieht ihn heute."]
    about = prepare(held, DistillationInput([text_file(tmp_path, lines=lines)]), tmp_path / "text")
    assert (about["sentences"], about["held_out"]) == (1, 1)


def test_held_out_treebanks_come_beside_the_recipe_even_under_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dt.write([dt.Tree.parse("(ROOT (S (NE 0=Anna) (V 1=sieht) (PPER 2=ihn) (ADV 3=heute)))")], "small", "discbracket")
    lines = ["Ein altes Haus", "Anna sieht ihn heute", "Otto sieht ihn heute."]
    source = DistillationInput([text_file(tmp_path, lines=lines)], hold_out=["small"])
    about = prepare(config_of(tmp_path), source, tmp_path / "text")
    assert (about["sentences"], about["held_out"]) == (1, 2)


def test_a_second_process_is_refused(tmp_path):
    (tmp_path / "out").mkdir()
    lock = JobLock(str(tmp_path / "out" / LOCK), "out")
    try:
        with pytest.raises(DiscotreeError, match="another process is writing to it"):
            prepare(config_of(tmp_path), DistillationInput([text_file(tmp_path)]), tmp_path / "out")
    finally:
        lock.release()


def test_settings_that_change_what_is_learned_make_another_run(tmp_path):
    config = config_of(tmp_path)
    prepare(config, DistillationInput([text_file(tmp_path)], [teacher_in(tmp_path)]), tmp_path / "targets")
    source = DistillationInput(prepared=str(tmp_path / "targets"))
    assert source.has_targets
    targets = TeacherTargets(SentenceShards(tmp_path / "targets", TARGETS))
    own = ScoredText(targets, config).fingerprint
    for settings, same in (({"vocabulary": 7}, False), ({"min_count": 2}, False), ({"top": 3}, True)):
        changed = replace(config, distillation=replace(EASY, **settings))
        assert (ScoredText(targets, changed).fingerprint == own) is same


def contents(folder):
    return {name: (folder / MODEL / name).read_bytes() for name in (WEIGHTS, VOCAB)}


@pytest.mark.slow
def test_a_network_is_distilled_and_a_killed_run_ends_with_the_same_bytes(tmp_path, monkeypatch):
    """Killed while the teachers score, and again in training: the model is that of an uninterrupted run."""
    small_shards(monkeypatch)
    config = config_of(tmp_path, epochs=3)
    source = DistillationInput([text_file(tmp_path)], [teacher_in(tmp_path), teacher_in(tmp_path, "second")])
    results = distill(config, source, tmp_path / "whole")
    assert results["distillation"]["sentences"] == 40
    assert results["distillation"]["teachers"] == list(source.teachers)
    assert len(results["history"]) == 3
    assert "hört" in json.loads((tmp_path / "whole" / MODEL / VOCAB).read_text("utf-8"))["words"]

    def killer(what, done, _):
        if (what, done) == ("scoring", 30):
            raise Killed

    def late_killer(event, metrics):
        if event == "epoch" and metrics["epoch"] == 3:
            raise Killed

    with pytest.raises(Killed):
        distill(config, source, tmp_path / "killed", text_report=killer)
    with pytest.raises(Killed):
        distill(config, source, tmp_path / "killed", late_killer)
    epochs = []
    monkeypatch.setattr(TeacherTargets, "slice", _counting(epochs))
    distill(config, source, tmp_path / "killed")
    assert epochs == [3]
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    (tree,) = load(tmp_path / "killed" / MODEL).parse([["Anna", "sieht", "ihn", "."]])
    assert tree.words == ("Anna", "sieht", "ihn", ".")


def _counting(epochs):
    slice_of = TeacherTargets.slice

    def counted(self, epoch, *rest):
        epochs.append(epoch)
        return slice_of(self, epoch, *rest)

    return counted


@pytest.mark.slow
def test_training_goes_on_with_rounded_weights(tmp_path):
    config = config_of(tmp_path, epochs=2, weight_bits=4, quantize_from=0.5)
    source = DistillationInput([text_file(tmp_path)], [teacher_in(tmp_path)])
    exact = replace(config, training=replace(config.training, quantize_from=1.0))
    losses = [
        [epoch["loss"] for epoch in distill(one, source, tmp_path / name)["history"]]
        for name, one in (("rounded", config), ("exact", exact))
    ]
    assert losses[0][0] == losses[1][0]
    assert losses[0][1] != losses[1][1]
