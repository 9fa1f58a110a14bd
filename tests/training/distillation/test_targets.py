"""What a network learns from in an epoch: slices of the text beside the treebank, weights, and a larger vocabulary."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.distilling import EASY, small_shards, targets_in
from support.networks import TREES, corpus_for, parser_of

from discotree import ModelError
from discotree.config.schema import Config
from discotree.network.batch import HEAD, IGNORED, LABEL, SoftTargets
from discotree.network.pytorch.tensors import TensorBatch
from discotree.training.distillation.targets import ScoredText, SoftCorpus, TeacherTargets
from discotree.training.distillation.text import SentenceShards
from discotree.training.run import network_in


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_shards(monkeypatch)
        return targets_in(tmp_path_factory.mktemp("targets"))


def slices_of(targets, settings=EASY):
    parser = parser_of(TREES[:10])
    return ScoredText(targets, Config(distillation=settings)).epochs(corpus_for(parser, TREES[:10]), parser)


def sentences_of(corpus):
    names = list(corpus.table.index)
    return [
        " ".join(names[form] for form in corpus.forms[start : start + length])
        for start, length in zip(corpus.starts, corpus.lengths, strict=False)
    ]


def test_an_epoch_is_the_treebank_and_the_next_slice(targets):
    slices = slices_of(targets)
    seen = Counter()
    for epoch in range(1, 6):
        found = sentences_of(slices(epoch))
        assert found[:10] == [" ".join(tree.words) for tree in TREES[:10]]
        assert len(found) == 10 + 16
        seen.update(found[10:])
    assert set(seen.values()) == {2}  # 5 · 16 sentences are two passes over 40
    assert sentences_of(slices_of(targets)(4)) == sentences_of(slices(4))


def test_a_text_smaller_than_a_slice_is_there_once_in_every_epoch(targets):
    found = sentences_of(slices_of(targets, replace(EASY, epoch_sentences=1000))(3))
    assert len(found) == len(set(found)) == 50


def test_words_weigh_what_the_teachers_believe(targets):
    corpus = slices_of(targets)(1)
    front = int(corpus.starts[10])
    assert (corpus.weights[:front] == 0).all()
    believed = np.concatenate([part["confidence"] for part in targets.slice(1, EASY.epoch_sentences, 1)])
    np.testing.assert_allclose(corpus.weights[front:], believed / 255)
    none = slices_of(targets, replace(EASY, min_confidence=0.99))(1)
    assert len(none) == 10
    assert (slices_of(targets, replace(EASY, min_agreement=1.0))(1).weights[front:] > 0).any()


def test_text_has_no_gold_but_heads(targets):
    corpus = slices_of(targets)(1)
    batch = corpus.batch(np.array([0, 12]))
    assert batch.soft is not None
    assert batch.soft.text.tolist() == [False, True]
    assert (batch.gold[LABEL][1] == IGNORED).all()
    assert (batch.gold[HEAD][1, : batch.lengths[1]] >= 0).all()
    assert (batch.soft.weights[0] == 0).all()
    assert batch.soft.ids[HEAD].max() <= batch.lengths.max()


def test_the_loss_of_certain_teachers_is_that_of_gold_trees():
    parser = parser_of(TREES)
    corpus, network = corpus_for(parser), network_in(parser).eval()
    batch = corpus.batch(np.arange(4))
    real = batch.gold[HEAD] != IGNORED
    ids = {name: np.maximum(gold, 0)[..., None].astype(np.int16) for name, gold in batch.gold.items()}
    steps = {name: ((gold != IGNORED)[..., None] * 255).astype(np.uint8) for name, gold in batch.gold.items()}
    only_heads = {name: gold if name == HEAD else np.full_like(gold, IGNORED) for name, gold in batch.gold.items()}
    soft = SoftTargets(np.ones(4, bool), real.astype(np.float32), ids, steps)
    taught = network.loss(TensorBatch.of(replace(batch, gold=only_heads, soft=soft)))
    gold = network.loss(TensorBatch.of(batch))
    for name, loss in gold.items():
        torch.testing.assert_close(taught[name], loss)
    halved = replace(soft, weights=soft.weights / 2)
    half = network.loss(TensorBatch.of(replace(batch, gold=only_heads, soft=halved)))
    torch.testing.assert_close(half[LABEL], gold[LABEL] / 2)
    unused = SoftTargets(np.zeros(4, bool), 0 * soft.weights, ids, {name: 0 * own for name, own in steps.items()})
    both = network.loss(TensorBatch.of(replace(batch, soft=unused)).twice())
    torch.testing.assert_close(both[HEAD], 2 * gold[HEAD])


def test_the_vocabulary_grows_with_the_text(targets):
    vocab = parser_of(TREES[:10]).vocab
    larger = targets.extend_vocab(vocab, EASY)
    assert larger.words.symbols[: len(vocab.words.symbols)] == vocab.words.symbols
    assert "hört" in larger.words.ids
    assert "ihn" in larger.words.ids
    assert {"ö", "h"} <= set(larger.chars.symbols)
    assert "Hund" in larger.singletons
    assert "Ja" in vocab.singletons
    few = targets.extend_vocab(vocab, replace(EASY, vocabulary=2, min_count=1000))
    assert few.words.symbols == vocab.words.symbols
    assert len(targets.extend_vocab(vocab, replace(EASY, vocabulary=2)).words) == len(vocab.words) + 2


def test_a_folder_without_names_holds_no_targets(targets, monkeypatch):
    monkeypatch.setattr(SentenceShards, "read_summary", lambda _: {"facts": {}, "teachers": []})
    with pytest.raises(ModelError, match="not a folder of targets: 'names' is missing"):
        TeacherTargets(targets.shards)


def test_a_class_that_the_network_does_not_know_teaches_nothing(targets):
    parser = parser_of(TREES[:2])
    corpus = SoftCorpus(corpus_for(parser, TREES[:2]), [targets.shards.read_shard(0)], targets, EASY, parser._forms())
    steps, ids = corpus.soft_steps[LABEL], corpus.soft_ids[LABEL]
    assert ids.max() < len(parser.vocab.labels)
    assert (steps[int(corpus.starts[2]) :].sum(1) < 250).any()
