"""The Transformers that we know by heart: their sizes, and the names and shapes of their weights.

Others need the library transformers, which knows them all. Shapes are those of PyTorch: (outputs, inputs).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discotree.config.schema import MAX_LAYERS, MAX_SIZE
from discotree.network.untrusted import MAX_NUMBER

BASE: dict[str, Any] = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
# What a configuration leaves out has the value that the library gives it.
KINDS: dict[str, dict[str, Any]] = {
    "bert": BASE,
    "electra": BASE | {"embedding_size": 128, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024},
    "roberta": BASE | {"vocab_size": 50265, "pad_token_id": 1},
    "xlm-roberta": BASE | {"pad_token_id": 1},
    "camembert": BASE | {"pad_token_id": 1},
    "distilbert": BASE | {"num_hidden_layers": 6, "type_vocab_size": 0},
}
DISTILBERT_NAMES = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "hidden_dim": "intermediate_size",
    "activation": "hidden_act",
}
NOT_DISTILBERT = ("intermediate_size", "hidden_act")  # the library reads its own names only
FROM_PADDING = ("roberta", "xlm-roberta", "camembert")  # positions count from the id of the padding on
ACTIVATIONS = ("gelu", "relu", "gelu_new", "gelu_pytorch_tanh", "silu")
# Settings that change what is computed, and the only values that are computed here.
PLAIN = {
    "is_decoder": False,
    "add_cross_attention": False,
    "is_encoder_decoder": False,
    "position_embedding_type": "absolute",
    "sinusoidal_pos_embds": False,
}


@dataclass(frozen=True)
class EncoderConfig:
    """The sizes of a Transformer."""

    kind: str
    vocab: int
    embedding: int  # size of an embedding, which may be projected to ``hidden``
    hidden: int
    layers: int
    heads: int
    inner: int
    positions: int
    types: int
    activation: str
    epsilon: float
    padding: int

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "EncoderConfig | None":
        """Read the sizes from a configuration; None if it is not of a kind that we know by heart.

        Raises ValueError for sizes that make no Transformer.
        """
        kind = settings.get("model_type")
        if kind not in KINDS or any(settings.get(name, value) not in (value, None) for name, value in PLAIN.items()):
            return None
        table = KINDS[kind] | (_distilbert(settings) if kind == "distilbert" else dict(settings))
        if table["hidden_act"] not in ACTIVATIONS:
            return None
        found = cls(
            kind,
            vocab=_number(table, "vocab_size", MAX_NUMBER),
            embedding=_number(table, "embedding_size" if kind == "electra" else "hidden_size", MAX_SIZE),
            hidden=_number(table, "hidden_size", MAX_SIZE),
            layers=_number(table, "num_hidden_layers", MAX_LAYERS),
            heads=_number(table, "num_attention_heads", MAX_SIZE),
            inner=_number(table, "intermediate_size", 8 * MAX_SIZE),
            positions=_number(table, "max_position_embeddings", MAX_NUMBER),
            types=0 if kind == "distilbert" else _number(table, "type_vocab_size", MAX_NUMBER),
            activation=str(table["hidden_act"]),
            epsilon=1e-12 if kind == "distilbert" else float(table["layer_norm_eps"]),
            padding=int(table["pad_token_id"] or 0),
        )
        if found.hidden % found.heads:
            raise ValueError(f"{found.hidden} features do not divide into {found.heads} attention heads")
        return found

    @property
    def room(self) -> int:
        """How many pieces it can read at once."""
        return self.positions - self.first_position

    @property
    def first_position(self) -> int:
        """The position of the first piece."""
        return self.padding + 1 if self.kind in FROM_PADDING else 0

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the names of all weights, and their shapes."""
        return dict(self._shapes())

    def _shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        embedding, hidden, inner = self.embedding, self.hidden, self.inner
        yield "embeddings.word_embeddings.weight", (self.vocab, embedding)
        yield "embeddings.position_embeddings.weight", (self.positions, embedding)
        if self.types:
            yield "embeddings.token_type_embeddings.weight", (self.types, embedding)
        yield from _layer_norm("embeddings.LayerNorm", embedding)
        if embedding != hidden:
            yield from _linear("embeddings_project", hidden, embedding)
        for number in range(self.layers):
            names = LayerNames.of(self.kind, number)
            for name in (names.query, names.key, names.value, names.output):
                yield from _linear(name, hidden, hidden)
            yield from _layer_norm(names.attention_norm, hidden)
            yield from _linear(names.widen, inner, hidden)
            yield from _linear(names.narrow, hidden, inner)
            yield from _layer_norm(names.final_norm, hidden)


@dataclass(frozen=True)
class LayerNames:
    """What the weights of one layer are called."""

    query: str
    key: str
    value: str
    output: str
    attention_norm: str
    widen: str
    narrow: str
    final_norm: str

    @classmethod
    def of(cls, kind: str, number: int) -> "LayerNames":
        if kind == "distilbert":
            layer = f"transformer.layer.{number}"
            own = ("q_lin", "k_lin", "v_lin", "out_lin")
            attention = [f"{layer}.attention.{name}" for name in own]
            others = ("sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm")
        else:
            layer = f"encoder.layer.{number}"
            own = ("self.query", "self.key", "self.value", "output.dense")
            attention = [f"{layer}.attention.{name}" for name in own]
            others = ("attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm")
        return cls(*attention, *(f"{layer}.{name}" for name in others))


def _linear(name: str, outputs: int, inputs: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def _layer_norm(name: str, size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (size,)
    yield f"{name}.bias", (size,)


def _distilbert(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a DistilBERT under the names that the others have."""
    return {DISTILBERT_NAMES.get(name, name): settings[name] for name in settings if name not in NOT_DISTILBERT}


def _number(table: Mapping[str, Any], name: str, most: int) -> int:
    number = table[name]
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= most:
        raise ValueError(f"{name}: expected a whole number from 1 to {most:,}, got {number!r:.50}")
    return number
