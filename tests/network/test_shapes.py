"""Names and shapes of weights, as the settings alone give them: those of the network of PyTorch."""

import dataclasses
import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.encoders import SIZES, byte_pairs, word_pieces
from support.networks import RULES, TREES
from transformers import AutoConfig

from discotree import to_dependencies
from discotree.config.schema import AUXILIARY_HEADS, NetworkSettings
from discotree.models.folder import shapes
from discotree.network.pytorch.model import PointerNetwork
from discotree.network.subwords import Subwords
from discotree.network.transformer import KINDS, Pretrained
from discotree.network.vocab import Alphabet, Vocab

ENCODED = [to_dependencies(tree, RULES) for tree in TREES]
VOCAB = Vocab.build(ENCODED, list(AUXILIARY_HEADS), [[token.tag for token in tree.tokens] for tree in TREES])
LATIN = Subwords.load("latin")
FROM_PADDING = ("roberta", "xlm-roberta", "camembert")
UNKNOWN_KIND = "albert"

size = st.integers(1, 9)
heads = st.fixed_dictionaries({f"{head}_weight": st.sampled_from([0.0, 0.5]) for head in AUXILIARY_HEADS})
networks = st.builds(
    lambda weights, **sizes: NetworkSettings(**sizes, **weights),
    heads,
    **{f"{name}_size": size for name in ("word", "char", "tag", "lstm", "decoder", "arc", "label")},
    char_filters=size,
    char_window=size,
    lstm_layers=st.integers(1, 3),
)


def pretrained(kind):
    """A tiny Transformer without weights."""
    tokenizer = byte_pairs() if kind in FROM_PADDING else word_pieces()
    padding = 1 if kind in FROM_PADDING else 0
    extra = {"embedding_size": 8} if kind in ("electra", UNKNOWN_KIND) else {}
    sizes = {"vocab_size": tokenizer.get_vocab_size(), "max_position_embeddings": 40, "pad_token_id": padding}
    config = AutoConfig.for_model(kind, **sizes | SIZES | extra)
    return Pretrained(json.dumps(config.to_dict()), tokenizer.to_str(), None, kind)


def of_torch(network, has_tags, pieces):
    with torch.device("meta"):
        module = PointerNetwork(network, VOCAB, has_tags, pieces)
    return {name: tuple(value.shape) for name, value in module.state_dict().items()}


@settings(max_examples=30)
@given(networks, st.booleans(), st.booleans())
def test_shapes_are_those_of_the_network(network, has_tags, with_subwords):
    network = dataclasses.replace(network, subwords="latin" if with_subwords else "")
    pieces = LATIN if with_subwords else None
    found = dict(shapes(network, VOCAB, has_tags, pieces))
    assert found == of_torch(network, has_tags, pieces)
    assert ("encoder.tags.weight" in found) == has_tags


@pytest.mark.slow
@pytest.mark.parametrize("layers", [0, 1])
@pytest.mark.parametrize("kind", [*KINDS, UNKNOWN_KIND])
def test_shapes_with_a_transformer_are_those_of_the_network(kind, layers):
    pieces = pretrained(kind)
    assert (pieces.config is None) == (kind == UNKNOWN_KIND)
    for mixed, more in ((2, {}), (99, {"word_size": 0}), (1, {"word_size": 0, "char_filters": 0})):
        network = NetworkSettings(encoder="hf:x", lstm_layers=layers, lstm_size=3, encoder_layers=mixed, **more)
        found = dict(shapes(network, VOCAB, False, pieces))
        assert found == of_torch(network, False, pieces)
        assert found["encoder.pieces.mixture"] == (min(mixed, SIZES["num_hidden_layers"] + 1),)


def test_a_head_with_one_class_does_not_exist():
    vocab = dataclasses.replace(VOCAB, outputs=VOCAB.outputs | {"morph": Alphabet(["--"])})
    network = NetworkSettings(tag_weight=1.0, morph_weight=1.0, function_weight=0.0, unary_weight=0.0, spine_weight=0.0)
    assert list(VOCAB.class_counts(network.auxiliary_heads)) == ["tag", "morph"]
    assert list(vocab.class_counts(network.auxiliary_heads)) == ["tag"]
    assert "auxiliary.morph.weight" not in dict(shapes(network, vocab, False, None))


def test_absurd_sizes_take_no_memory():
    most = dict.fromkeys(("word_size", "lstm_size", "decoder_size", "arc_size", "label_size"), 16384)
    found = dict(shapes(NetworkSettings(**most, lstm_layers=99), VOCAB, False, None))
    assert found["label_bilinear"] == (len(VOCAB.labels), 16_385, 16_385)
    assert found["encoder.lstm.layers.98.weight_ih_l0"] == (4 * 16_384, 2 * 16_384)
