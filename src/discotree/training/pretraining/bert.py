"""BERT in plain PyTorch: the encoder that is pretrained, and the names that its weights have elsewhere.

Nothing is padded in pretraining, so no piece is hidden from attention.

Shapes: B sequences, L pieces of each, H numbers of a vector, V pieces of the vocabulary.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import ClassVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from discotree.network.encoder_config import EncoderConfig, LayerNames

SPREAD = 0.02  # standard deviation of fresh weights
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "gelu_new": lambda x: functional.gelu(x, approximate="tanh"),
    "gelu_pytorch_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "relu": functional.relu,
    "silu": functional.silu,
}


class BertEmbeddings(nn.Module):
    """Pieces and their positions → vectors."""

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
    """An encoder: pieces → vectors that know their context."""

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
        """Return the weights under the names that BERT has in the library transformers."""
        own = dict(self.named_parameters())
        return {theirs: own[ours] for ours, theirs in bert_names(self.config)}


class MaskedHead(nn.Module):
    """Vectors → logits of pieces, by the vectors of the pieces themselves."""

    NAMES: ClassVar[dict[str, str]] = {  # ours, and those of the library transformers
        "dense.weight": "cls.predictions.transform.dense.weight",
        "dense.bias": "cls.predictions.transform.dense.bias",
        "norm.weight": "cls.predictions.transform.LayerNorm.weight",
        "norm.bias": "cls.predictions.transform.LayerNorm.bias",
        "bias": "cls.predictions.bias",
    }

    def __init__(self, size: int, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(size, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, config.epsilon)
        self.bias = nn.Parameter(torch.zeros(config.vocab))
        self.activation = ACTIVATIONS[config.activation]
        self.apply(fresh)

    def forward(self, vectors: Tensor, words: Tensor) -> Tensor:
        """``vectors`` (…, size) and those of all pieces ``words`` (V, H) → (…, V)"""
        return functional.linear(self.norm(self.activation(self.dense(vectors))), words, self.bias)

    def named_weights(self) -> dict[str, nn.Parameter]:
        """Return the weights under the names that the head has in the library transformers."""
        return {self.NAMES[name]: weight for name, weight in self.named_parameters()}


def fresh(module: nn.Module) -> None:
    """Draw the weights of a module that has learned nothing yet."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=SPREAD)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)


def bert_names(config: EncoderConfig) -> Iterator[tuple[str, str]]:
    """Yield the names of all weights, ours and those of the library transformers."""
    parts = {"words": "word_embeddings", "positions": "position_embeddings", "types": "token_type_embeddings"}
    for ours, theirs in parts.items():
        yield f"embeddings.{ours}.weight", f"embeddings.{theirs}.weight"
    for kind in ("weight", "bias"):
        yield f"embeddings.norm.{kind}", f"embeddings.LayerNorm.{kind}"
    for number in range(config.layers):
        names = LayerNames.of("bert", number)
        for part in fields(names):
            for kind in ("weight", "bias"):
                yield f"layers.{number}.{part.name}.{kind}", f"{getattr(names, part.name)}.{kind}"
