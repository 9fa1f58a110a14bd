"""Training a network with a Transformer: what learns, at which rate, and that an interrupted run goes on."""

import dataclasses
import shutil

import numpy as np
import pytest
import torch
from support.encoders import with_transformer
from support.networks import TREES, corpus_for, parser_of, saved_trees, split_of

from discotree.config.schema import Config, Training
from discotree.evaluation.parseval import evaluate
from discotree.network.batch import Corpus
from discotree.network.pytorch.model import pretrained_pieces
from discotree.network.vocab import Vocab
from discotree.parsing.parser import Parser
from discotree.training.distributed import ProcessGroup
from discotree.training.fit import CHECKPOINT, Run, Trainer, fit
from discotree.training.run import network_in, train
from discotree.training.tagger import Tagger


def run_of(folder, las=(), seed=1, network=None, **settings):
    """A trainer's ingredients: network, corpus, LAS on dev that is settled before, settings."""
    parser = parser_of(TREES[:6], network or with_transformer(folder, lstm_layers=1), seed=seed)
    las = iter(las or range(1, 99))
    training = Training(
        **{"epochs": 3, "batch_words": 12, "learning_rate": 0.01, "encoder_learning_rate": 1e-3} | settings
    )
    return network_in(parser), corpus_for(parser, TREES[:6]), lambda: {"las": float(next(las))}, "las", Run(training)


def weights_of(network):
    return {name: value.detach().clone() for name, value in network.named_parameters()}


def changed(before, after):
    return {name for name in before if not np.array_equal(before[name], after[name])}


@pytest.mark.slow
def test_it_learns_a_treebank_by_heart_and_the_saved_model_needs_nothing_else(folders, tmp_path):
    """With the dropout of the Transformer, without BiLSTMs, and then without the folder that it came from."""
    original = tmp_path / "hub"
    shutil.copytree(folders["bert"], original)
    sizes = {"lstm_layers": 0, "decoder_size": 48, "arc_size": 48, "label_size": 24}
    training = Training(
        epochs=20, batch_words=60, learning_rate=0.02, encoder_learning_rate=0.01, beta2=0.99, schedule="cosine",
        warmup=5, ema_decay=0.9, checkpoint_epochs=0,
    )  # fmt: skip
    settings = Config("small", saved_trees(tmp_path, TREES[:10]), with_transformer(original, **sizes), training)
    results = train(settings, tmp_path / "run", allow_overlap=True)
    losses = [epoch["loss"] for epoch in results["history"]]
    assert losses[-1] < 0.1 * losses[0]
    shutil.rmtree(original)
    trees = list(Parser.from_pretrained(tmp_path / "run" / "model").parse(TREES[:10]))
    assert evaluate(TREES[:10], trees).f1 == results["scores"]["dev"]["all"]["f1"] > 90


def test_the_transformer_has_learning_rates_of_its_own(folders):
    network, *_, run = run_of(folders["bert"], learning_rate=0.01, encoder_learning_rate=0.002, layer_decay=0.5)
    trainer = Trainer(network, run.settings, run.process_group)
    trainer.set_learning_rate(0.005)  # half of the way
    rates = {id(weight): group["lr"] for group in trainer.optimizer.param_groups for weight in group["params"]}
    found = {name: rates[id(weight)] for name, weight in network.named_parameters()}
    begin = "encoder.pieces.model."
    assert found["arc_bilinear"] == found["encoder.pieces.mixture"] == found["encoder.words.weight"] == 0.005
    assert found[f"{begin}encoder.layer.2.output.dense.weight"] == pytest.approx(0.001)
    assert found[f"{begin}encoder.layer.0.output.dense.bias"] == pytest.approx(0.00025)
    assert found[f"{begin}embeddings.LayerNorm.weight"] == pytest.approx(0.000125)
    assert trainer.learning_rate == 0.005


def test_a_frozen_transformer_stays_as_it_is_and_drops_nothing(folders):
    network, *rest = run_of(folders["bert"], encoder_learning_rate=0.0, ema_decay=0.9)
    before = weights_of(network)
    fit(network, *rest)
    learned = changed(before, weights_of(network))
    assert not [name for name in learned if ".model." in name]
    assert {"encoder.pieces.mixture", "encoder.root", "arc_bilinear"} <= learned
    network.train()
    assert network.encoder.training
    assert not network.encoder.pieces.model.training


def test_a_transformer_that_learns_drops_and_changes(folders):
    network, *rest = run_of(folders["bert"])
    before = weights_of(network)
    fit(network, *rest)
    learned = changed(before, weights_of(network))
    assert {name for name in before if ".model." in name} - learned <= {
        "encoder.pieces.model.embeddings.position_embeddings.weight"
    }
    network.train()
    assert network.encoder.pieces.model.training


class Interrupted(Exception):
    pass


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"schedule": "cosine", "warmup": 3, "ema_decay": 0.9, "layer_decay": 0.8},
        {"patience": 1, "plateau_factor": 0.5, "encoder_learning_rate": 0.0},
    ],
    ids=str,
)
def test_an_interrupted_run_goes_on_to_the_same_numbers(folders, tmp_path, settings):
    las = [5, 4, 8]
    network, *rest = run_of(folders["bert"], las, **settings)
    whole = fit(network, *rest)
    wanted = weights_of(network)

    def interrupt(event, numbers):
        if event == "step" and numbers["epoch"] == 3:
            raise Interrupted

    network, *rest = run_of(folders["bert"], las, **settings)
    with pytest.raises(Interrupted):
        fit(network, *rest[:-1], dataclasses.replace(rest[-1], folder=tmp_path, fingerprint="same", report=interrupt))
    assert (tmp_path / CHECKPOINT).exists()
    network, *rest = run_of(folders["bert"], las[2:], seed=2, **settings)
    again = fit(network, *rest[:-1], dataclasses.replace(rest[-1], folder=tmp_path, fingerprint="same"))
    assert not changed(wanted, weights_of(network))
    assert [epoch["loss"] for epoch in again.history] == [epoch["loss"] for epoch in whole.history]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("layers", [0, 1])
def test_a_gpu_trains_it_in_half_precision(folders, layers):
    network, *rest = run_of(
        folders["bert"], network=with_transformer(folders["bert"], lstm_layers=layers), ema_decay=0.9
    )
    run = dataclasses.replace(rest[-1], process_group=ProcessGroup(device=torch.device("cuda")))
    losses = [epoch["loss"] for epoch in fit(network.cuda(), *rest[:-1], run).history]
    assert losses == sorted(losses, reverse=True)


def test_every_tagger_begins_with_the_pretrained_weights(folders):
    """Folds share what was read from the disk, and none may learn from another's sentences."""
    split = split_of(TREES)
    network = with_transformer(folders["bert"])
    vocab = Vocab.build(split.encoded, ["tag"])
    pretrained = pretrained_pieces(network)
    before = {name: value.copy() for name, value in pretrained.weights.items()}
    tagger = Tagger(network, vocab, pretrained)
    corpus = Corpus([tree.tokens for tree in TREES], parser_of(network=network)._forms())
    corpus.table.vocab = vocab
    corpus.learn(split.encoded)
    settings = Training(epochs=1, batch_words=60, encoder_learning_rate=0.1)
    fit(tagger, corpus, lambda: {"accuracy": 1.0}, "accuracy", Run(settings))
    assert not changed(before, pretrained.weights)
    again = Tagger(network, vocab, pretrained).encoder.pieces.model.state_dict()
    assert not changed(before, again)
    assert changed(before, tagger.encoder.pieces.model.state_dict())
