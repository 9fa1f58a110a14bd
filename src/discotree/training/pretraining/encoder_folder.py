"""The folder of an encoder, as the library transformers has it: sizes, tokenizer and weights.

config.json  tokenizer.json  tokenizer_config.json  model.safetensors
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from discotree.config.pretraining import EncoderSettings
from discotree.encoding.plain_files import read_plain
from discotree.errors import ModelError, first_line
from discotree.files.writing import writable
from discotree.network.encoder_config import EncoderConfig
from discotree.network.untrusted import CONFIG, MAX_FILE_BYTES, TOKENIZER, check_tokenizer, plain, table_of
from discotree.training.pretraining.vocabulary import BEGIN, END, MASK, PADDING, UNKNOWN

WEIGHTS, TOKENIZER_CONFIG = "model.safetensors", "tokenizer_config.json"
PREFIX = "bert."  # in front of the encoder's weights, in a file that holds others, too
TYPES = 2  # kinds of segments that a BERT knows; we use the first
EPSILON = 1e-12
FINE_TUNING_DROPOUT = 0.1


@dataclass(frozen=True)
class EncoderFiles:
    """An encoder whose training goes on: what its folder holds."""

    settings: dict[str, Any]
    config: EncoderConfig
    tokenizer: str  # JSON
    weights: dict[str, Tensor]  # those of its head, too, where it has one


def read_encoder(folder: Path) -> EncoderFiles:
    """Read the folder of a BERT; of other kinds of encoders, or what cannot be read, say so."""
    try:
        settings = plain(table_of(read_plain(folder / CONFIG, MAX_FILE_BYTES).decode("utf-8"), CONFIG))
        tokenizer = read_plain(folder / TOKENIZER, MAX_FILE_BYTES).decode("utf-8")
        check_tokenizer(table_of(tokenizer, TOKENIZER))
        config = EncoderConfig.of(settings)
        if config is None or config.kind != "bert":
            raise ValueError(f"its kind is {settings.get('model_type')!r:.50}, expected 'bert'")
        weights = _read_weights(folder / WEIGHTS, config)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
        raise ModelError(f"{folder}: not an encoder to start from: {first_line(error)}") from None
    return EncoderFiles(settings, config, tokenizer, weights)


def _read_weights(path: Path, config: EncoderConfig) -> dict[str, Tensor]:
    """Read the weights of an encoder and of its head, with or without a prefix."""
    if not path.is_file():
        raise ValueError(f"{WEIGHTS} is missing")
    shapes, weights = config.shapes(), {}
    with safe_open(path, "pt") as file:
        stored = set(file.keys())
        for name, shape in shapes.items():
            key = name if name in stored else PREFIX + name
            if key not in stored:
                raise ValueError(f"{WEIGHTS}: {name} is missing")
            if tuple(file.get_slice(key).get_shape()) != shape:
                raise ValueError(f"{WEIGHTS}: {name} is {file.get_slice(key).get_shape()}, expected {list(shape)}")
            weights[PREFIX + name] = file.get_tensor(key).float()
        weights |= {name: file.get_tensor(name).float() for name in stored if name.startswith("cls.predictions.")}
    if not all(bool(torch.isfinite(value).all()) for value in weights.values()):
        raise ValueError(f"{WEIGHTS}: a weight is not a number")
    return weights


def new_settings(sizes: EncoderSettings, vocab: int, positions: int, padding: int) -> dict[str, Any]:
    """Return the configuration of a fresh encoder, as its file has it."""
    return {
        "model_type": "bert",
        "vocab_size": vocab,
        "hidden_size": sizes.hidden_size,
        "num_hidden_layers": sizes.layers,
        "num_attention_heads": sizes.heads,
        "intermediate_size": sizes.inner_size,
        "hidden_act": "gelu",
        "hidden_dropout_prob": FINE_TUNING_DROPOUT,
        "attention_probs_dropout_prob": FINE_TUNING_DROPOUT,
        "max_position_embeddings": positions,
        "type_vocab_size": TYPES,
        "layer_norm_eps": EPSILON,
        "initializer_range": 0.02,
        "pad_token_id": padding,
    }


def fill(weights: dict[str, nn.Parameter], values: dict[str, Tensor]) -> None:
    """Give weights the values of the same name, where there are any of the same shape."""
    with torch.no_grad():
        for name, weight in weights.items():
            if name in values and values[name].shape == weight.shape:
                weight.copy_(values[name])


def write_encoder(folder: Path, settings: dict[str, Any], tokenizer: str, weights: dict[str, Tensor]) -> None:
    """Write the folder of an encoder; each file appears when it is complete, the weights last."""
    has_head = any(name.startswith("cls.") for name in weights)
    about = {"architectures": ["BertForMaskedLM" if has_head else "BertModel"]} | settings
    special = {"pad_token": PADDING, "unk_token": UNKNOWN, "cls_token": BEGIN, "sep_token": END, "mask_token": MASK}
    kind = {"tokenizer_class": "PreTrainedTokenizerFast"}  # takes tokenizer.json as it is
    room = {"model_max_length": settings["max_position_embeddings"]}
    _write_json(folder / CONFIG, about)
    _write_json(folder / TOKENIZER_CONFIG, kind | room | special)
    _write(folder / TOKENIZER, tokenizer.encode())
    stored = {name: value.detach().cpu().float().contiguous() for name, value in weights.items()}
    _write(folder / WEIGHTS, save(stored, {"format": "pt"}))


def _write_json(path: Path, table: dict[str, Any]) -> None:
    _write(path, json.dumps(table, indent=2, ensure_ascii=False).encode() + b"\n")


def _write(path: Path, content: bytes) -> None:
    with writable(str(path)) as stream:
        stream.write(content)
