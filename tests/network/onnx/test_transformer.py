"""Transformers as graphs: every kind against the library, in a network, in windows, and what is not known."""

import dataclasses
from functools import cache

import numpy as np
import pytest
import torch
from support.encoders import KINDS, SIZES
from support.engines import engines, largest_difference, random_weights
from support.networks import CALM, TREES, corpus_for, parser_of
from transformers import AutoConfig, AutoModel

from discotree.errors import ModelError
from discotree.network.onnx import network as network_module
from discotree.network.onnx.engine import OnnxEngine, Session
from discotree.network.onnx.network import MODEL, PREFIX, EncoderGraph, Network, transformer_graph
from discotree.network.transformer import EncoderConfig
from discotree.network.vocab import PADDING
from discotree.network.weights import rounded

DISTILBERT = {"dim": 16, "n_layers": 3, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 20}
VARIANTS = {
    "bert": {"hidden_act": "gelu"},
    "roberta": {"hidden_act": "relu", "pad_token_id": 1},
    "xlm-roberta": {"hidden_act": "gelu_new", "pad_token_id": 1, "type_vocab_size": 1},
    "camembert": {"hidden_act": "silu", "pad_token_id": 1, "layer_norm_eps": 1e-5},
    "electra": {"embedding_size": 12, "hidden_act": "gelu_pytorch_tanh"},
    "distilbert": DISTILBERT,
}


@pytest.mark.parametrize("kind", VARIANTS)
def test_every_kind_says_what_the_library_says(kind):
    settings = {"vocab_size": 30, "max_position_embeddings": 22, **SIZES, **VARIANTS[kind]}
    torch.manual_seed(0)
    model = AutoModel.from_config(AutoConfig.for_model(kind, **settings)).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.4)
    own = EncoderConfig.from_settings({"model_type": kind, **settings})
    weights = {MODEL + name: value.numpy() for name, value in model.state_dict().items()}
    mixture = torch.tensor([0.3, -1.0, 0.8])
    weights |= {PREFIX + "mixture": mixture.numpy(), PREFIX + "scale": np.array([1.7], np.float32)}
    encoder = EncoderGraph(own, [2, 5], [3], weights, int8=False)
    ids = torch.tensor([[2, 5, 7, 8, 9, 11, 3], [2, 5, 12, 3, *[own.padding] * 3]])
    with torch.no_grad():
        layers = model(ids, attention_mask=(ids != own.padding).long(), output_hidden_states=True).hidden_states
    expected = 1.7 * torch.einsum("l,lrwh->rwh", mixture.softmax(0), torch.stack(layers[-3:])).numpy()
    pieces = np.array([[7, 8, 9, 11], [12, 29, 29, 29]])
    network = Network(CALM, weights, False, [], None, encoder, int8=False)
    found = Session(transformer_graph(network), 1).run({"pieces": pieces, "counts": np.array([4, 1])})
    assert np.abs(found["vectors"][0] - expected[0, 2:6]).max() < 1e-4
    assert np.abs(found["vectors"][1, 0] - expected[1, 2]).max() < 1e-4


@cache
def parser_with(folder, **settings):
    return parser_of(network=dataclasses.replace(CALM, encoder=f"hf:{folder}", **settings))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return KINDS["bert"](tmp_path_factory.mktemp("bert"))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"word_size": 0, "char_filters": 0, "lstm_layers": 0},
        {"encoder_layers": 9},
    ],
    ids=["beside words", "alone", "all layers"],
)
def test_a_network_on_a_transformer(folder, settings):
    parser = parser_with(folder, **settings)
    torch_engine, onnx_engine = engines(parser, random_weights(parser))
    for sentences in (range(len(TREES)), [7]):
        batch = corpus_for(parser).batch(np.array(sentences))
        assert largest_difference(torch_engine.start(batch)(), onnx_engine.start(batch)()) < 1e-4


def test_long_sentences_in_windows(folder, monkeypatch):
    parser = parser_with(folder)
    torch_engine, onnx_engine = engines(parser, random_weights(parser))
    pieces = torch_engine.network.encoder.pieces
    pieces.window, pieces.stride = 5, 3
    monkeypatch.setattr(EncoderGraph, "width", 5)
    for sentences in (range(len(TREES)), [7]):
        batch = corpus_for(parser).batch(np.array(sentences))
        assert largest_difference(torch_engine.start(batch)(), onnx_engine.start(batch)()) < 1e-4


def test_some_sentences_at_a_time(folder, monkeypatch):
    parser = parser_with(folder)
    batch = corpus_for(parser).batch(np.arange(len(TREES)))
    torch_engine, onnx_engine = engines(parser, random_weights(parser))
    monkeypatch.setattr(network_module, "ATTENTION_CHUNK", 1)
    assert largest_difference(torch_engine.start(batch)(), onnx_engine.start(batch)()) < 1e-4


def test_int8_is_close(folder):
    parser = parser_with(folder)
    weights = rounded(random_weights(parser), 8)
    batch = corpus_for(parser).batch(np.arange(len(TREES)))
    parts = (parser.config.network, parser.vocab, parser.has_tags, parser.model.subwords, weights)
    scores = [OnnxEngine(*parts, precision, 1).start(batch)() for precision in ("float32", "int8")]
    differences = np.abs(scores[0].dependents - scores[1].dependents)[scores[0].mask]
    assert 0 < differences.max() < 0.5


@pytest.mark.parametrize("kind", VARIANTS)
def test_int8_of_every_kind_is_close_to_float32(kind):
    settings = {"vocab_size": 30, "max_position_embeddings": 22, **SIZES, **VARIANTS[kind]}
    own = EncoderConfig.from_settings({"model_type": kind, **settings})
    rng = np.random.default_rng(3)
    weights = {MODEL + name: rng.normal(0, 0.4, shape).astype(np.float32) for name, shape in own.shapes().items()}
    weights |= {PREFIX + "mixture": np.zeros(2, np.float32), PREFIX + "scale": np.ones(1, np.float32)}
    batch = {"pieces": rng.integers(6, 30, (3, 9)), "counts": np.array([9, 4, 1])}
    exact, found = (
        Session(
            transformer_graph(
                Network(CALM, weights, False, [], None, EncoderGraph(own, [2, 5], [3], weights, int8), int8)
            ),
            1,
        ).run(batch)["vectors"]
        for int8 in (False, True)
    )
    real = np.arange(9) < batch["counts"][:, None]
    error = np.sqrt(np.square(found - exact)[real].mean() / np.square(exact)[real].mean())
    assert 0 < error < 0.06


@pytest.mark.parametrize("window", [0, 5], ids=["whole", "in windows"])
def test_int8_scores_do_not_depend_on_the_other_sentences(folder, window, monkeypatch):
    parser = parser_with(folder)
    weights = random_weights(parser)
    weights["encoder.chars.table.weight"][PADDING] = 0  # as training leaves it
    weights = rounded(weights, 6)
    parts = (parser.config.network, parser.vocab, parser.has_tags, parser.model.subwords, weights)
    engine, corpus = OnnxEngine(*parts, "int8", 1), corpus_for(parser)
    if window:
        monkeypatch.setattr(EncoderGraph, "width", window)
    together = engine.start(corpus.batch(np.arange(len(TREES))))()
    for number, length in enumerate(together.lengths):
        alone = engine.start(corpus.batch(np.array([number])))()
        for name, size in (("arcs", (length, length + 1)), ("dependents", (length,)), ("heads", (length + 1,))):
            inside = (0, *map(slice, size))
            whole = getattr(together, name)[(number, *inside[1:])]
            assert np.abs(np.exp(whole) - np.exp(getattr(alone, name)[inside])).max() < 1e-5


def test_vectors_are_the_same_in_every_batch_to_the_last_digit(folder):
    """Also where a batch is longer: rows of attention are padded to whole registers."""
    parser = parser_with(folder)
    parts = (parser.config.network, parser.vocab, parser.has_tags, parser.model.subwords, random_weights(parser))
    engine = OnnxEngine(*parts, "int8", 1)
    run, read = engine._session("transformer", 1).run, engine.network.encoder.read
    rng = np.random.default_rng(0)
    pieces, counts = rng.integers(5, 100, (12, 30)), rng.integers(1, 31, 12)
    together = read(run, pieces, counts)
    for row, count in enumerate(counts):
        alone = read(run, pieces[row : row + 1, :count], counts[row : row + 1])
        assert np.array_equal(alone[0, :count], together[row, :count])


def test_large_features_of_a_transformer_are_not_cut_off(folder):
    """A feature that the last layer alone would call 0, and one that is large in every piece."""
    parser = parser_with(folder)
    weights = random_weights(parser)
    last = f"{MODEL}encoder.layer.2.output.LayerNorm"
    weights[f"{last}.weight"][0] = weights[f"{last}.bias"][0] = 0
    weights[f"{MODEL}encoder.layer.1.output.LayerNorm.bias"][1] = 30
    parts = (parser.config.network, parser.vocab, parser.has_tags, parser.model.subwords, weights)
    engine = OnnxEngine(*parts, "int8", 1)
    batch = corpus_for(parser).batch(np.arange(len(TREES)))
    found = engine.start(batch)()
    run = engine._session("transformer", 1).run
    vectors = engine.network.encoder.read(run, batch.pieces, batch.last.max(1) + 1)
    real = np.arange(vectors.shape[1]) <= batch.last.max(1)[:, None]
    assert (np.abs(vectors[real]).max(0) <= engine.network.encoder_ranges).mean() > 0.9
    assert np.abs(vectors[real][:, :2]).max(0) == pytest.approx(engine.network.encoder_ranges[:2], rel=0.75)
    exact = OnnxEngine(*parts, "float32", 1).start(batch)()
    assert np.abs(np.exp(found.arcs) - np.exp(exact.arcs))[exact.mask].mean() < 0.02


def test_other_kinds_need_torch(folder, monkeypatch):
    parser = parser_with(folder)
    monkeypatch.setattr(parser.model.subwords, "config", None)
    with pytest.raises(ModelError, match=r"'bert' needs the engine torch; run pip install 'discotree\[train\]'"):
        EncoderGraph.from_weights(parser.model.subwords, {}, int8=False)
