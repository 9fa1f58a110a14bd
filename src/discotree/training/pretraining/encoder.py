"""A BERT encoder in plain PyTorch, the objective that trains it (guessing masked pieces), and its folder.

``draw`` chooses the masked pieces at random, and ``loss`` computes without drawing anything (except dropout), so that
it can be compiled. Neither waits for the GPU. All sequences have the same number of masked pieces, so shapes never
change and logits are computed only for these pieces. Sequences are never padded, so attention needs no mask.

The folder has the format of the library transformers: config.json, tokenizer.json, tokenizer_config.json and
model.safetensors.

Shapes: B sequences, L pieces per sequence, K masked pieces, H hidden size, V vocabulary size.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional

from discotree.config.pretraining import SPECIAL_PIECES, EncoderSettings
from discotree.errors import ModelError, first_line
from discotree.files.reading import read_regular_file
from discotree.files.writing import write_bytes
from discotree.network.transformer import (
    CONFIG,
    MAX_FILE_BYTES,
    TOKENIZER,
    EncoderConfig,
    LayerNames,
    check_tokenizer,
    strip_unsafe_keys,
    table_of,
)
from discotree.training.pretraining.text import BEGIN, END, MASK, PADDING, UNKNOWN

SPREAD = 0.02  # standard deviation of fresh weights
AS_MASK, AS_RANDOM = 0.8, 0.1  # shares of the chosen pieces that are masked or replaced at random; the others stay
IGNORED = -100  # target of a position that does not count
WEIGHTS, TOKENIZER_CONFIG = "model.safetensors", "tokenizer_config.json"
PREFIX = "bert."  # of the encoder's weights, in a file with other weights
TYPES = 2  # segment types of a BERT; only the first is used
EPSILON = 1e-12
FINE_TUNING_DROPOUT = 0.1
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "gelu_new": lambda x: functional.gelu(x, approximate="tanh"),
    "gelu_pytorch_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "relu": functional.relu,
    "silu": functional.silu,
}


class BertEmbeddings(nn.Module):
    """Embed pieces and their positions."""

    def __init__(self, config: EncoderConfig, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(config.vocab, config.hidden)
        self.positions = nn.Embedding(config.positions, config.hidden)
        self.types = nn.Embedding(config.types, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, config.epsilon)
        self.dropout = dropout

    def forward(self, pieces: Tensor) -> Tensor:
        """``pieces`` (B, L) → (B, L, H)"""
        around = self.positions.weight[: pieces.shape[1]] + self.types.weight[0]  # (L, H)
        return functional.dropout(self.norm(self.words(pieces) + around), self.dropout, self.training)


class BertLayer(nn.Module):
    """Attention and a feed-forward network, each followed by layer normalisation; parts are named as in LayerNames."""

    def __init__(self, config: EncoderConfig, dropout: float) -> None:
        super().__init__()
        size, inner = config.hidden, config.inner
        self.query, self.key, self.value, self.output = (nn.Linear(size, size) for _ in range(4))
        self.attention_norm = nn.LayerNorm(size, config.epsilon)
        self.widen, self.narrow = nn.Linear(size, inner), nn.Linear(inner, size)
        self.final_norm = nn.LayerNorm(size, config.epsilon)
        self.heads = config.heads
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = dropout

    def forward(self, vectors: Tensor) -> Tensor:
        """(B, L, H) → (B, L, H)"""
        attended = self.drop(self.output(self.attend(vectors)))
        vectors = self.attention_norm(vectors + attended)
        changed = self.drop(self.narrow(self.activation(self.widen(vectors))))
        return cast(Tensor, self.final_norm(vectors + changed))

    def attend(self, vectors: Tensor) -> Tensor:
        batch, length, size = vectors.shape
        parts = (self.query, self.key, self.value)
        weight = torch.cat([part.weight for part in parts])  # one product instead of three
        bias = torch.cat([part.bias for part in parts])
        mixed = functional.linear(vectors, weight, bias).view(batch, length, 3, self.heads, -1)
        query, key, value = mixed.permute(2, 0, 3, 1, 4)  # (B, heads, L, H / heads) each
        dropout = self.dropout if self.training else 0.0
        attended = functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout)
        return attended.transpose(1, 2).reshape(batch, length, size)

    def drop(self, vectors: Tensor) -> Tensor:
        return functional.dropout(vectors, self.dropout, self.training)


class Bert(nn.Module):
    """The encoder: pieces → contextual vectors."""

    def __init__(self, config: EncoderConfig, dropout: float = 0.0) -> None:
        super().__init__()
        self.config = config
        self.embeddings = BertEmbeddings(config, dropout)
        self.layers = nn.ModuleList(BertLayer(config, dropout) for _ in range(config.layers))
        self.apply(fresh)

    def forward(self, pieces: Tensor) -> Tensor:
        """``pieces`` (B, L) → (B, L, H)"""
        vectors: Tensor = self.embeddings(pieces)
        for layer in self.layers:
            vectors = layer(vectors)
        return vectors

    def named_weights(self) -> dict[str, nn.Parameter]:
        """Return the weights under their names in the library transformers."""
        names = {
            "embeddings.words": "embeddings.word_embeddings",
            "embeddings.positions": "embeddings.position_embeddings",
            "embeddings.types": "embeddings.token_type_embeddings",
            "embeddings.norm": "embeddings.LayerNorm",
        }
        for number in range(self.config.layers):
            parts = asdict(LayerNames.for_layer("bert", number))
            names |= {f"layers.{number}.{ours}": theirs for ours, theirs in parts.items()}
        split = ((name.rpartition("."), weight) for name, weight in self.named_parameters())
        return {f"{names[part]}.{kind}": weight for (part, _, kind), weight in split}


class MaskedHead(nn.Module):
    """Vectors → logits of pieces; the output layer shares the embeddings of the pieces."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, config.epsilon)
        self.bias = nn.Parameter(torch.zeros(config.vocab))
        self.activation = ACTIVATIONS[config.activation]
        self.apply(fresh)

    def forward(self, vectors: Tensor, words: Tensor) -> Tensor:
        """``vectors`` (…, H) and those of all pieces ``words`` (V, H) → (…, V)"""
        return functional.linear(self.norm(self.activation(self.dense(vectors))), words, self.bias)


def fresh(module: nn.Module) -> None:
    """Initialise the weights of a module at random."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=SPREAD)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)


class MaskedPieces(nn.Module):
    """The objective of pretraining: an encoder, and a head that guesses the masked pieces."""

    special: Tensor

    def __init__(self, encoder: Bert, share: float, mask: int, special: Sequence[int]) -> None:
        """Mask ``share`` of the pieces by the piece ``mask``; the pieces ``special`` are never masked."""
        super().__init__()
        self.encoder = encoder
        self.share = share
        self.mask = mask
        is_special = torch.zeros(encoder.config.vocab, dtype=torch.bool)
        is_special[list(special)] = True
        self.register_buffer("special", is_special, persistent=False)  # (V,)
        self.head = MaskedHead(encoder.config)

    def draw(self, rows: Tensor) -> tuple[Tensor, ...]:
        """Mask pieces of sequences (B, L); return the changed sequences, the columns (B, K) and their gold pieces."""
        scores = torch.rand(rows.shape, device=rows.device).masked_fill(self.special[rows], -1.0)
        count = max(1, round(self.share * (rows.shape[1] - SPECIAL_PIECES)))
        best, columns = scores.topk(count, dim=1)
        counts = best >= 0  # a sequence may have too few pieces
        gold = rows.gather(1, columns)  # (B, K)
        fate = torch.rand(columns.shape, device=rows.device)
        other = torch.randint(self.encoder.config.vocab, columns.shape, device=rows.device)
        masked = gold.masked_fill(fate < AS_MASK, self.mask)
        masked = torch.where((fate >= AS_MASK) & (fate < AS_MASK + AS_RANDOM), other, masked)
        changed = rows.scatter(1, columns, torch.where(counts, masked, gold))
        return changed, columns, gold.masked_fill(~counts, IGNORED)

    def loss(self, changed: Tensor, columns: Tensor, gold: Tensor) -> Tensor:
        """Return the mean cross-entropy of the masked pieces, given the result of ``draw``."""
        vectors = self.encoder(changed)  # (B, L, H)
        vectors = vectors.gather(1, columns[..., None].expand(-1, -1, vectors.shape[-1]))  # (B, K, H)
        logits = self.head(vectors, self.encoder.embeddings.words.weight)  # (B, K, V)
        return guessing_loss(logits, gold)

    def named_weights(self) -> dict[str, nn.Parameter]:
        """Return the weights under their names in the library transformers."""
        body = {f"bert.{name}": weight for name, weight in self.encoder.named_weights().items()}
        replaced = {"dense": "transform.dense", "norm": "transform.LayerNorm"}
        for name, weight in self.head.named_parameters():
            part, dot, kind = name.rpartition(".")
            body[f"cls.predictions.{replaced.get(part, part)}{dot}{kind}"] = weight
        return body


def guessing_loss(logits: Tensor, gold: Tensor) -> Tensor:
    """Return the cross-entropy of ``logits`` (B, K, V) and pieces (B, K), per piece that counts."""
    each = functional.cross_entropy(logits.flatten(0, 1).float(), gold.flatten(), ignore_index=IGNORED, reduction="sum")
    return each / (gold != IGNORED).sum().clamp_min(1)


@dataclass(frozen=True)
class EncoderFiles:
    """The content of an encoder folder."""

    settings: dict[str, Any]
    config: EncoderConfig
    tokenizer: str  # JSON
    weights: dict[str, Tensor]  # including those of its head, if it has one


def read_encoder(folder: Path) -> EncoderFiles:
    """Read the folder of a BERT; raise a ModelError for other encoders and unreadable files."""
    try:
        settings = strip_unsafe_keys(
            table_of(read_regular_file(folder / CONFIG, MAX_FILE_BYTES).decode("utf-8"), CONFIG)
        )
        tokenizer = read_regular_file(folder / TOKENIZER, MAX_FILE_BYTES).decode("utf-8")
        check_tokenizer(table_of(tokenizer, TOKENIZER))
        config = EncoderConfig.from_settings(settings)
        if config is None or config.kind != "bert":
            raise ValueError(f"model_type: expected 'bert', got {settings.get('model_type')!r:.50}")
        weights = _read_weights(folder / WEIGHTS, config)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
        raise ModelError(f"{folder}: cannot continue this encoder: {first_line(error)}") from None
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
        raise ValueError(f"{WEIGHTS}: contains NaN or infinity")
    return weights


def new_settings(sizes: EncoderSettings, vocab: int, positions: int, padding: int) -> dict[str, Any]:
    """Return the content of config.json for a new encoder."""
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
    """Copy values into the weights of the same name and shape."""
    with torch.no_grad():
        for name, weight in weights.items():
            if name in values and values[name].shape == weight.shape:
                weight.copy_(values[name])


def write_encoder(folder: Path, settings: dict[str, Any], tokenizer: str, weights: dict[str, Tensor]) -> None:
    """Write the folder of an encoder, each file atomically and the weights last."""
    special = {"pad_token": PADDING, "unk_token": UNKNOWN, "cls_token": BEGIN, "sep_token": END, "mask_token": MASK}
    kind = {"tokenizer_class": "PreTrainedTokenizerFast"}  # reads tokenizer.json
    room = {"model_max_length": settings["max_position_embeddings"]}
    tables = {CONFIG: {"architectures": ["BertForMaskedLM"]} | settings, TOKENIZER_CONFIG: kind | room | special}
    for name, table in tables.items():
        write_bytes(folder / name, json.dumps(table, indent=2, ensure_ascii=False).encode() + b"\n")
    write_bytes(folder / TOKENIZER, tokenizer.encode())
    stored = {name: value.detach().cpu().float().contiguous() for name, value in weights.items()}
    write_bytes(folder / WEIGHTS, save(stored, {"format": "pt"}))
