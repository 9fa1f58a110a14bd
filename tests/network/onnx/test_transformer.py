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
from discotree.network.encoder_config import EncoderConfig
from discotree.network.onnx import graphs, windows
from discotree.network.onnx.engine import OnnxEngine
from discotree.network.onnx.network import Network
from discotree.network.onnx.session import Session
from discotree.network.onnx.transformer import MODEL, PREFIX, EncoderGraph
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
    own = EncoderConfig.of({"model_type": kind, **settings})
    weights = {MODEL + name: value.numpy() for name, value in model.state_dict().items()}
    mixture = torch.tensor([0.3, -1.0, 0.8])
    weights |= {PREFIX + "mixture": mixture.numpy(), PREFIX + "scale": np.array([1.7], np.float32)}
    encoder = EncoderGraph(own, [2, 5], [3], weights)
    ids = torch.tensor([[2, 5, 7, 8, 9, 11, 3], [2, 5, 12, 3, *[own.padding] * 3]])
    with torch.no_grad():
        layers = model(ids, attention_mask=(ids != own.padding).long(), output_hidden_states=True).hidden_states
    expected = 1.7 * torch.einsum("l,lrwh->rwh", mixture.softmax(0), torch.stack(layers[-3:])).numpy()
    pieces = np.array([[7, 8, 9, 11], [12, 29, 29, 29]])
    network = Network(CALM, weights, False, [], None, encoder, int8=False)
    found = Session(graphs.transformer(network), 1).run({"pieces": pieces, "counts": np.array([4, 1])})
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
        {"word_size": 0, "char_filters": 0, "lstm_layers": 0, "encoder_pooling": "first"},
        {"encoder_window": 5, "encoder_stride": 2, "encoder_layers": 9},
    ],
    ids=["beside words", "alone", "in windows"],
)
def test_a_network_on_a_transformer(folder, settings):
    parser = parser_with(folder, **settings)
    torch_engine, onnx_engine = engines(parser, random_weights(parser))
    for sentences in (range(len(TREES)), [7]):
        batch = corpus_for(parser).batch(np.array(sentences))
        assert largest_difference(torch_engine.start(batch)(), onnx_engine.start(batch)()) < 1e-4


def test_some_sentences_at_a_time(folder, monkeypatch):
    parser = parser_with(folder)
    batch = corpus_for(parser).batch(np.arange(len(TREES)))
    torch_engine, onnx_engine = engines(parser, random_weights(parser))
    monkeypatch.setattr(windows, "CHUNK", 1)
    assert largest_difference(torch_engine.start(batch)(), onnx_engine.start(batch)()) < 1e-4


def test_int8_is_close(folder):
    parser = parser_with(folder)
    weights = rounded(random_weights(parser), 8)
    batch = corpus_for(parser).batch(np.arange(len(TREES)))
    parts = (parser.config.network, parser.vocab, parser.has_tags, parser.model.subwords, weights)
    scores = [OnnxEngine(*parts, precision, 1).start(batch)() for precision in ("float32", "int8")]
    differences = np.abs(scores[0].dependents - scores[1].dependents)[scores[0].mask]
    assert 0 < differences.max() < 0.5


def test_other_kinds_need_torch(folder, monkeypatch):
    parser = parser_with(folder)
    monkeypatch.setattr(parser.model.subwords, "config", None)
    with pytest.raises(ModelError, match=r"'bert' needs the engine torch: pip install 'discotree\[train\]'"):
        EncoderGraph.of(parser.model.subwords, {})


def test_a_window_needs_room(folder):
    parser = parser_with(folder)
    settings = dataclasses.replace(parser.config.network, encoder_window=40, encoder_stride=1)
    parts = (parser.vocab, parser.has_tags, parser.model.subwords, parser.model.weights)
    with pytest.raises(ModelError, match="encoder_stride: expected at least 3, got 1"):
        OnnxEngine(settings, *parts)
