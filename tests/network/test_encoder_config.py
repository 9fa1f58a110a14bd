"""The Transformers that we know by heart: what the library knows of them, we know, too."""

import json

import pytest
import torch
from transformers import AutoConfig, AutoModel

from discotree.network.transformer import KINDS, EncoderConfig

SMALL = {"vocab_size": 31, "max_position_embeddings": 20}
SIZES = SMALL | {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 14}
OWN_NAMES = SMALL | {"dim": 12, "n_layers": 2, "n_heads": 3, "hidden_dim": 14}


def settings_of(kind, **sizes):
    """A configuration as a folder has it."""
    return json.loads(AutoConfig.for_model(kind, **sizes).to_json_string(use_diff=False))


def small(kind, **sizes):
    return settings_of(kind, **(OWN_NAMES if kind == "distilbert" else SIZES) | sizes)


def shapes_of(settings):
    """The shapes that the library gives the weights, without the layer for whole sentences."""
    with torch.device("meta"):
        model = AutoModel.from_config(AutoConfig.for_model(**settings))
    return {name: tuple(value.shape) for name, value in model.state_dict().items() if "pooler" not in name}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_configuration_leaves_out_is_what_the_library_takes(kind):
    assert EncoderConfig.from_settings({"model_type": kind}) == EncoderConfig.from_settings(settings_of(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_have_the_names_and_shapes_of_the_library(kind):
    settings = small(kind)
    found = EncoderConfig.from_settings(settings)
    assert found.shapes() == shapes_of(settings)
    assert (found.vocab, found.hidden, found.layers, found.heads, found.inner) == (31, 12, 2, 3, 14)


@pytest.mark.parametrize("embedding", [4, 12])
def test_embeddings_of_another_size_are_projected(embedding):
    settings = small("electra", embedding_size=embedding)
    found = EncoderConfig.from_settings(settings).shapes()
    assert found == shapes_of(settings)
    assert ("embeddings_project.weight" in found) == (embedding != 12)


def test_a_distilled_bert_may_have_the_names_of_the_others():
    named = {"model_type": "distilbert"} | SMALL | {"hidden_size": 12, "num_hidden_layers": 2, "hidden_dim": 14}
    assert EncoderConfig.from_settings(named).shapes() == shapes_of(named)


def test_a_distilled_bert_has_its_own_names_for_the_inner_size_and_the_activation():
    elsewhere = {"model_type": "distilbert", "intermediate_size": 14, "hidden_act": "mish"}
    assert EncoderConfig.from_settings(elsewhere) == EncoderConfig.from_settings({"model_type": "distilbert"})


def test_names_of_a_distilled_bert_mean_nothing_elsewhere():
    assert EncoderConfig.from_settings({"model_type": "bert", "dim": 7, "n_layers": 3}) == EncoderConfig.from_settings(
        {"model_type": "bert"}
    )


@pytest.mark.parametrize("kind", KINDS)
def test_some_count_positions_from_the_padding_on(kind):
    found = EncoderConfig.from_settings(small(kind, pad_token_id=1))
    from_padding = kind in ("roberta", "xlm-roberta", "camembert")
    assert (found.room, found.first_position) == ((18, 2) if from_padding else (20, 0))


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("number", [0, -1, 1 << 40, 1.5, "12", None, True, [12]], ids=str)
def test_sizes_that_make_no_transformer_are_refused(name, number):
    with pytest.raises(ValueError, match=f"^{name}: expected a whole number from 1 to"):
        EncoderConfig.from_settings({"model_type": "bert"} | SIZES | {name: number})


def test_features_divide_into_heads():
    with pytest.raises(ValueError, match="12 is not divisible by 5 attention heads"):
        EncoderConfig.from_settings({"model_type": "bert"} | SIZES | {"num_attention_heads": 5})


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"model_type": "albert"},
        {"model_type": None},
        {"model_type": 7},
        {"model_type": "bert", "hidden_act": "mish"},
        {"model_type": "bert", "hidden_act": None},
        {"model_type": "bert", "position_embedding_type": "relative_key"},
        {"model_type": "bert", "is_decoder": True},
        {"model_type": "bert", "add_cross_attention": True},
        {"model_type": "distilbert", "sinusoidal_pos_embds": True},
        {"model_type": "distilbert", "activation": "mish"},
    ],
    ids=str,
)
def test_other_transformers_are_not_known_by_heart(settings):
    assert EncoderConfig.from_settings(settings) is None


def test_a_setting_without_a_value_is_the_usual_one():
    assert (
        EncoderConfig.from_settings(
            {"model_type": "bert", "position_embedding_type": None, "pad_token_id": None}
        ).padding
        == 0
    )
