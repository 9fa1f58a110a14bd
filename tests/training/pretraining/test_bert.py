"""Our BERT computes what the library's does, and its weights have the same names and shapes."""

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, BertModel

from discotree.network.encoder_config import EncoderConfig
from discotree.training.pretraining.bert import Bert, MaskedHead
from discotree.training.pretraining.encoder_folder import fill

SIZES = {"vocab_size": 50, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40,
         "max_position_embeddings": 20}  # fmt: skip


def pair(**settings):
    """The library's and ours, with the same weights."""
    torch.manual_seed(1)
    theirs = BertForMaskedLM(BertConfig(**SIZES | settings)).eval()
    config = EncoderConfig.of({"model_type": "bert"} | SIZES | settings)
    ours, head = Bert(config).eval(), MaskedHead(config.hidden, config).eval()
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.add_(0.1 * torch.randn_like(weight))  # biases and norms are no longer 0 and 1
    named = {f"bert.{name}": weight for name, weight in ours.named_weights().items()} | head.named_weights()
    fill(named, theirs.state_dict())
    assert set(named) == {name for name, _ in theirs.named_parameters()}
    return theirs, ours, head


@pytest.mark.parametrize("activation", ["gelu", "relu", "gelu_new"])
def test_vectors_and_logits_are_those_of_the_library(activation):
    theirs, ours, head = pair(hidden_act=activation)
    pieces = torch.randint(50, (3, 17))
    with torch.no_grad():
        vectors = ours(pieces)
        torch.testing.assert_close(vectors, theirs.bert(pieces).last_hidden_state, rtol=0, atol=1e-5)
        logits = head(vectors, ours.embeddings.words.weight)
        torch.testing.assert_close(logits, theirs(pieces).logits, rtol=0, atol=1e-5)


def test_names_and_shapes_are_those_that_the_parser_expects():
    config = EncoderConfig.of({"model_type": "bert"} | SIZES)
    assert {name: tuple(weight.shape) for name, weight in Bert(config).named_weights().items()} == config.shapes()


def test_dropout_is_for_training_only():
    bert = Bert(EncoderConfig.of({"model_type": "bert"} | SIZES), 0.5)
    pieces = torch.randint(50, (2, 9))
    assert not torch.equal(bert(pieces), bert(pieces))
    bert.eval()
    assert torch.equal(bert(pieces), bert(pieces))


def test_fresh_weights_are_drawn_as_the_library_draws_them():
    config = EncoderConfig.of({"model_type": "bert"} | SIZES)
    theirs = BertModel(BertConfig(**SIZES), add_pooling_layer=False).state_dict()
    for name, weight in Bert(config).named_weights().items():
        assert weight.mean().item() == pytest.approx(theirs[name].mean().item(), abs=0.01)
        assert weight.std().item() == pytest.approx(theirs[name].std().item(), abs=0.01)
