"""ONNX Runtime against PyTorch, on random networks of all settings that a recipe can have."""

import dataclasses
import os

import numpy as np
import pytest
from support.engines import SETTINGS, engines, largest_difference, random_weights, untrained
from support.networks import TREES, corpus_for

from discotree import Token
from discotree.errors import ModelError
from discotree.network import scores
from discotree.network.batch import Corpus
from discotree.network.onnx import engine as module
from discotree.network.onnx.engine import OnnxEngine
from discotree.network.onnx.network import Network
from discotree.processes import usable_cores


@pytest.mark.parametrize("name", SETTINGS)
def test_float32_says_what_torch_says(name):
    parser = untrained(name)
    torch_engine, onnx_engine = engines(parser, random_weights(parser))
    corpus = corpus_for(parser)
    for sentences in ([0, 3, 6], [7], [2], range(len(TREES))):  # very different lengths, one word, one sentence
        batch = corpus.batch(np.array(sentences))
        assert largest_difference(torch_engine.start(batch)(), onnx_engine.start(batch)()) < 1e-4


@pytest.mark.parametrize("bits", [16, 8, 5])
def test_weights_as_files_hold_them(bits):
    parser = untrained("tags")
    torch_engine, onnx_engine = engines(parser, random_weights(parser, bits=bits))
    batch = corpus_for(parser).batch(np.array([0, 3, 6]))
    assert largest_difference(torch_engine.start(batch)(), onnx_engine.start(batch)()) < 1e-4


@pytest.mark.parametrize("bits", [16, 8, 6])
def test_int8_says_almost_the_same(bits):
    parser = untrained("no auxiliary heads")
    torch_engine, onnx_engine = engines(parser, random_weights(parser, bits=bits), "int8")
    batch = corpus_for(parser).batch(np.arange(len(TREES)))
    expected, found = torch_engine.start(batch)(), onnx_engine.start(batch)()
    assert 0 < largest_difference(expected, found) < 0.5


def test_small_inputs_are_not_lost_beside_large_ones(monkeypatch):
    parser = untrained("sub-words")
    weights = random_weights(parser)
    words = slice(parser.config.network.word_size)
    weights["encoder.words.weight"] /= 100
    for suffix in ("", "_reverse"):
        weights[f"encoder.lstm.layers.0.weight_ih_l0{suffix}"][:, words] *= 100  # they matter as much as before
    batch = corpus_for(parser).batch(np.arange(len(TREES)))

    def error() -> float:
        expected, found = (engine.start(batch)() for engine in engines(parser, weights, "int8"))
        return float(np.abs(np.exp(expected.arcs) - np.exp(found.arcs))[expected.mask].mean())

    balanced = error()
    monkeypatch.setattr(Network, "_ranges", lambda network: np.ones_like(network.weights["encoder.root"]))
    assert balanced < error() / 2


@pytest.mark.slow
def test_a_thousand_words():
    parser = untrained("sub-words")
    torch_engine, onnx_engine = engines(parser, random_weights(parser))
    words = [token for tree in TREES for token in tree.tokens] * 10
    corpus = Corpus([[Token(token.form) for token in words[:1000]], [Token("Ende")]], parser._forms())
    batch = corpus.batch(np.array([0, 1]))
    assert largest_difference(torch_engine.start(batch)(), onnx_engine.start(batch)()) < 1e-4


def test_memory_is_bounded_by_scoring_in_parts(monkeypatch):
    parser = untrained("plain")
    weights = random_weights(parser)
    batch = corpus_for(parser).batch(np.arange(len(TREES)))
    whole = engines(parser, weights)[1].start(batch)()
    monkeypatch.setattr(module, "CHARACTERS_CHUNK", 1)  # one distinct word at a time
    monkeypatch.setattr(scores, "PROJECTED", 1)  # one head at a time
    assert largest_difference(whole, engines(parser, weights)[1].start(batch)()) < 1e-5


def test_labels_of_many_dependents_of_a_head_and_of_none():
    parser = untrained("plain")
    weights = random_weights(parser)
    engine = engines(parser, weights)[1]
    rng = np.random.default_rng(1)
    size = parser.config.network.label_size + 1
    dependents = rng.normal(size=(70, size)).astype(np.float32)
    heads = np.repeat(rng.normal(size=(4, size)), [1, 40, 16, 13], 0).astype(np.float32)
    heads[:, -1] = 1
    scores = np.einsum("mk,lkn,mn->ml", dependents, weights["label_bilinear"], heads)
    expected = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    assert np.abs(engine.labels(dependents, heads) - expected).max() < 1e-4
    assert engine.labels(dependents[:0], heads[:0]).shape == (0, len(parser.vocab.labels))


def test_batches_are_scored_in_order_and_beside_each_other():
    parser = untrained("plain")
    engine = engines(parser, random_weights(parser))[1]
    corpus = corpus_for(parser)
    assert engine.ahead > engine.threads
    waiting = [engine.start(corpus.batch(np.array([k]))) for k in range(5)]
    assert [wait().lengths.tolist() for wait in waiting] == [[len(TREES[k])] for k in range(5)]


def test_threads_make_no_difference():
    parser = untrained("plain")
    parts = (parser.config.network, parser.vocab, False, None, random_weights(parser), "float32")
    batch = corpus_for(parser).batch(np.arange(5))
    one, two = (OnnxEngine(*parts, threads=threads).start(batch)() for threads in (1, 2))
    assert largest_difference(one, two) < 1e-5


def test_an_engine_has_a_name_and_a_place():
    parser = untrained("plain")
    weights = random_weights(parser)
    assert [engines(parser, weights, kind)[1].name for kind in ("int8", "float32")] == ["onnx", "onnx-float32"]
    assert engines(parser, weights)[1].device == "cpu"
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)


def test_a_forked_process_begins_anew():
    parser = untrained("plain")
    engine = engines(parser, random_weights(parser))[1]
    batch = corpus_for(parser).batch(np.array([0]))
    before = engine.start(batch)()
    engine.prepare_forks()
    session = engine._session("network", 1)
    engine.forked(2)
    assert largest_difference(before, engine.start(batch)()) == 0
    assert engine.threads == 2
    assert engine._session("network", 1) is session  # shared, not loaded again


def test_what_goes_wrong_in_the_runtime_is_an_error_of_ours(capfd):
    parser = untrained("plain")
    engine = engines(parser, random_weights(parser))[1]
    batch = corpus_for(parser).batch(np.array([0]))
    wrong = dataclasses.replace(batch, words=batch.words + 10**6)
    with pytest.raises(ModelError, match=r"ONNX Runtime cannot run the network: .*indices element out of data bounds"):
        engine.start(wrong)()
    assert capfd.readouterr() == ("", "")


def test_weights_of_the_wrong_shape_are_refused():
    parser = untrained("plain")
    weights = random_weights(parser)
    weights["decoder.start.weight"] = weights["decoder.start.weight"][:, :-1]
    engine = OnnxEngine(parser.config.network, parser.vocab, False, None, weights, "float32", 1)
    with pytest.raises(ModelError, match="ONNX Runtime cannot load the network"):
        engine.start(corpus_for(parser).batch(np.array([0])))()
