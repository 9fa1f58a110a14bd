"""A pretrained Transformer before it is part of a network: its configuration, the names of its weights, its tokenizer.

A model keeps configuration and tokenizer in two JSON files; the weights are among those of the network. The
architectures in KINDS are supported without the library transformers, all others need it. Code that a configuration
names is neither downloaded nor run.

These files may come from anywhere, so the sizes in them and the rules of the tokenizer have limits. Shapes are those of
PyTorch: (outputs, inputs).
"""

import base64
import json
import math
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from discotree.config.schema import MAX_LAYERS, MAX_SIZE
from discotree.errors import MissingExtraError, ModelError, first_line, requires_extra
from discotree.files.reading import read_regular_file
from discotree.network.arrays import Array
from discotree.network.subwords import MAX_PIECES
from discotree.network.weights import Shape, linear_shapes

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
MAX_FILE_BYTES = 1 << 26  # of either file; the largest tokenizers have 35 MB
MAX_NUMBER = 1 << 24  # in a configuration: largest number of pieces, positions or features
MAX_GROWTH = 1024  # factor by which normalizing may lengthen a word; for ALBERT's it is about 600 by this estimate
MAX_STEPS = 100  # steps of normalizing and splitting
MAX_CONSTANT = 64  # characters that a rule of the tokenizer inserts
MAX_PATTERN = 1000  # characters of a regular expression; those in use have up to 350
MAX_REPEATS = 2  # unbounded repetitions in one alternative of a regular expression
SIZE_KEYS = re.compile("num_.*|.*_size")
DROPPED_KEYS = re.compile("_.*|auto_map|.*_implementation|quantization_config|(torch_)?dtype|architectures")

# Largest number of characters that normalizing makes of one; ﷺ becomes 18.
GROWTH = {
    **dict.fromkeys(("NFC", "NFD", "NFKC", "NFKD"), 18),
    **dict.fromkeys(("Nmt", "StripAccents", "Strip", "Lowercase", "BertNormalizer", "ByteLevel"), 4),
}
_REPEAT = re.compile(r"[*+]|\{\d*,\}")
_ESCAPE = re.compile(r"\\[pP]\{\^?\w+\}|\\.", re.DOTALL)
_CLASS = re.compile(r"\[(?:\\.|\[[^\]]*\]|[^\]\\])*\]")


def table_of(text: str, name: str) -> dict[str, Any]:
    """Parse a JSON file whose top level is an object."""
    table = json.loads(text)
    if not isinstance(table, dict):
        raise ValueError(f"{name}: expected a JSON object, got {table!r:.50}")
    return table


def strip_unsafe_keys(value: Any) -> Any:
    """Return a configuration without keys that name code or a precision; raise ValueError for numbers out of range."""
    if isinstance(value, dict):
        for name, number in value.items():
            if SIZE_KEYS.fullmatch(name) and isinstance(number, int) and number < 0:
                raise ValueError(f"{CONFIG}: {name}: expected at least 0, got {number}")
        return {name: strip_unsafe_keys(item) for name, item in value.items() if not DROPPED_KEYS.fullmatch(name)}
    if isinstance(value, list):
        return [strip_unsafe_keys(item) for item in value]
    if isinstance(value, int) and value > MAX_NUMBER:
        raise ValueError(f"{CONFIG}: expected numbers of at most {MAX_NUMBER}, got {value}")
    return value


def check_tokenizer(rules: dict[str, Any]) -> None:
    """Raise ValueError if the rules of a tokenizer make a word much longer, take more than quadratic time, or panic."""
    if (grown := growth(rules.get("normalizer"))) > MAX_GROWTH:
        raise ValueError(
            f"{TOKENIZER}: the normalizer may make a word {grown:,.0f} times as long, expected at most {MAX_GROWTH:,}"
        )
    steps = sum(_check_patterns(rules.get(part)) for part in ("normalizer", "pre_tokenizer"))
    if steps > MAX_STEPS:
        raise ValueError(f"{TOKENIZER}: {steps:,} steps of normalizing and splitting, expected at most {MAX_STEPS}")
    _check_template(rules.get("post_processor"))


def growth(normalizer: Any) -> float:
    """Return an upper bound of the factor by which a normalizer lengthens a word."""
    if normalizer is None:
        return 1
    kind = normalizer["type"]
    if kind == "Sequence":
        steps = normalizer["normalizers"]
        usual = max(
            [1.0, *(growth(step) for step in steps if step["type"] in GROWTH)]
        )  # each of these leaves the output of the others as it is
        return usual * math.prod(growth(step) for step in steps if step["type"] not in GROWTH)
    if kind == "Prepend":
        return 1 + len(normalizer["prepend"])
    if kind == "Replace":
        content, pattern = str(normalizer["content"]), normalizer["pattern"]
        return max(1.0, len(content) / max(1, len(pattern["String"]))) if "String" in pattern else 1.0 + len(content)
    if kind == "Precompiled":
        return _longest_replacement(normalizer["precompiled_charsmap"])
    if kind not in GROWTH:
        raise ValueError(f"{TOKENIZER}: unknown normalizer {kind!r:.50}")
    return GROWTH[kind]


def _longest_replacement(charsmap: str | list[int] | None) -> int:
    """Return the size of the longest text in a SentencePiece table: size of a trie, the trie, texts that end in 0."""
    if not charsmap:
        return 1
    table = base64.b64decode(charsmap) if isinstance(charsmap, str) else bytes(charsmap)
    (trie,) = struct.unpack_from("<I", table)
    return max(map(len, table[4 + trie :].split(b"\0")), default=1)


def _check_patterns(part: Any) -> int:
    """Raise ValueError for long constants and slow regular expressions; return the number of steps."""
    if isinstance(part, list):
        return sum(map(_check_patterns, part))
    if not isinstance(part, dict):
        return 0
    for name, value in part.items():
        if name == "Regex":
            _check_regex(str(value))
        elif name in ("content", "prepend", "replacement") and len(str(value)) > MAX_CONSTANT:
            raise ValueError(
                f"{TOKENIZER}: a rule inserts {len(str(value)):,} characters, expected at most {MAX_CONSTANT}"
            )
    return ("type" in part) + sum(map(_check_patterns, part.values()))


def _check_template(part: Any) -> None:
    """Raise ValueError if a template uses a token that it does not define; the library would panic."""
    steps = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for step in steps:
        _check_template(step)
    if isinstance(part, dict) and "single" in part and "special_tokens" in part:  # whatever "type" says
        for name in (piece["SpecialToken"]["id"] for piece in part["single"] if "SpecialToken" in piece):
            if name not in part["special_tokens"]:
                raise ValueError(f"{TOKENIZER}: the template uses the undefined token {name!r:.50}")


def _check_regex(pattern: str) -> None:
    bare = _CLASS.sub("x", _ESCAPE.sub("x", pattern))
    repeats = max(len(_REPEAT.findall(alternative)) for alternative in bare.split("|"))
    if len(pattern) > MAX_PATTERN or repeats > MAX_REPEATS or re.search(r"\)(?:[*+]|\{)|\}[*+{]", bare):
        raise ValueError(f"{TOKENIZER}: the regular expression {pattern!r:.50} may be too slow")


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
# The library's defaults for values that a configuration leaves out
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
NOT_DISTILBERT = ("intermediate_size", "hidden_act")  # ignored by the library, which has other names for them
FROM_PADDING = ("roberta", "xlm-roberta", "camembert")  # positions start after the id of the padding
ACTIVATIONS = ("gelu", "relu", "gelu_new", "gelu_pytorch_tanh", "silu")
# Settings that change the computation, and the only values that are supported.
SUPPORTED_VALUES = {
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
    embedding: int  # size of an embedding, projected to ``hidden`` if it differs
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
    def from_settings(cls, settings: Mapping[str, Any]) -> "EncoderConfig | None":
        """Read the sizes from a configuration; None if its architecture is not supported without the library.

        Raises ValueError for invalid sizes.
        """
        kind = settings.get("model_type")
        if kind not in KINDS or any(
            settings.get(name, value) not in (value, None) for name, value in SUPPORTED_VALUES.items()
        ):
            return None
        table = KINDS[kind] | (_distilbert(settings) if kind == "distilbert" else dict(settings))
        if table["hidden_act"] not in ACTIVATIONS:
            return None
        config = cls(
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
        if config.hidden % config.heads:
            raise ValueError(f"hidden_size: {config.hidden} is not divisible by {config.heads} attention heads")
        return config

    @property
    def room(self) -> int:
        """The largest number of pieces that it can read at once."""
        return self.positions - self.first_position

    @property
    def first_position(self) -> int:
        """The position of the first piece."""
        return self.padding + 1 if self.kind in FROM_PADDING else 0

    def shapes(self) -> dict[str, Shape]:
        """Return the names of all weights, and their shapes."""
        return dict(self._shapes())

    def _shapes(self) -> Iterator[tuple[str, Shape]]:
        embedding, hidden, inner = self.embedding, self.hidden, self.inner
        yield "embeddings.word_embeddings.weight", (self.vocab, embedding)
        yield "embeddings.position_embeddings.weight", (self.positions, embedding)
        if self.types:
            yield "embeddings.token_type_embeddings.weight", (self.types, embedding)
        yield from _norm_shapes("embeddings.LayerNorm", embedding)
        if embedding != hidden:
            yield from linear_shapes("embeddings_project", hidden, embedding)
        for number in range(self.layers):
            names = LayerNames.for_layer(self.kind, number)
            for name in (names.query, names.key, names.value, names.output):
                yield from linear_shapes(name, hidden, hidden)
            yield from _norm_shapes(names.attention_norm, hidden)
            yield from linear_shapes(names.widen, inner, hidden)
            yield from linear_shapes(names.narrow, hidden, inner)
            yield from _norm_shapes(names.final_norm, hidden)


@dataclass(frozen=True)
class LayerNames:
    """The names of the weights of one layer."""

    query: str
    key: str
    value: str
    output: str
    attention_norm: str
    widen: str
    narrow: str
    final_norm: str

    @classmethod
    def for_layer(cls, kind: str, number: int) -> "LayerNames":
        if kind == "distilbert":
            layer = f"transformer.layer.{number}"
            attention = ("q_lin", "k_lin", "v_lin", "out_lin")
            others = ("sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm")
        else:
            layer = f"encoder.layer.{number}"
            attention = ("self.query", "self.key", "self.value", "output.dense")
            others = ("attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm")
        return cls(*(f"{layer}.attention.{name}" for name in attention), *(f"{layer}.{name}" for name in others))


def _norm_shapes(name: str, size: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (size,)
    yield f"{name}.bias", (size,)


def _distilbert(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a DistilBERT under the names that BERT has for them."""
    return {DISTILBERT_NAMES.get(name, name): settings[name] for name in settings if name not in NOT_DISTILBERT}


def _number(table: Mapping[str, Any], name: str, most: int) -> int:
    number = table[name]
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= most:
        raise ValueError(f"{name}: expected a whole number from 1 to {most:,}, got {number!r:.50}")
    return number


EXTRA = "hf"  # needed to parse with a Transformer
LIBRARY_EXTRA = "transformers"  # needed to train one, and to parse with an architecture that is not in KINDS
MAX_CHARS = 16 * MAX_PIECES  # of a token; further ones are ignored
MAX_AROUND = 16  # pieces around a sentence
PRIVATE_USE_CHAR = "\U0010fffd"  # unknown to every tokenizer
SPACES = ("Ġ", "▁")  # how tokenizers mark the space in front of a word


class Pretrained:
    """The configuration and the tokenizer of a Transformer and, if it was just loaded, its weights."""

    def __init__(self, settings: str, tokenizer: str, weights: dict[str, Array] | None, where: str) -> None:
        """Take the content of the two files. ``weights`` is None if they are among those of a model."""
        with requires_extra(EXTRA):
            tokenizers = import_module("tokenizers")
        self.where = where
        self.weights = weights
        try:
            self.settings = strip_unsafe_keys(table_of(settings, CONFIG))
            rules = table_of(tokenizer, TOKENIZER)
            check_tokenizer(rules)
            self.config = EncoderConfig.from_settings(self.settings)
            vocab, self.size, self.layers, padding = _sizes(self.settings, self.config)
            self.tokenizer = tokenizers.Tokenizer.from_str(tokenizer)
            self.tokenizer.no_truncation()
            self.tokenizer.no_padding()
            self.tokenizer.encode_special_tokens = True  # the word "[SEP]" is an ordinary word
            if hasattr(self.tokenizer.model, "_resize_cache"):  # the cache would store words of users
                self.tokenizer.model._resize_cache(0)
            self.space = self._space()
            self.before, self.after = self._around()
            self.unknown = self._unknown(rules["model"])
        except (KeyboardInterrupt, SystemExit, MissingExtraError):
            raise
        except BaseException as error:  # depends on library and version; a panic of the tokenizer is a BaseException
            raise ModelError(f"{where}: cannot use this Transformer: {first_line(error)}") from None
        if not 0 < self.layers <= MAX_LAYERS:
            raise ModelError(f"{where}: expected 1 to {MAX_LAYERS} layers, got {self.layers}")
        self.padding = padding or 0
        self.vectors = range(vocab)
        if not all(piece in self.vectors for piece in (*self.before, *self.after, self.padding, self.unknown)):
            raise ModelError(f"{where}: the tokenizer has pieces beyond the {vocab:,} vectors of the Transformer")
        if self.config is not None and self.config.room <= len(self.before) + len(self.after):
            raise ModelError(f"{where}: the Transformer has too few positions for a sentence")
        self.special = {*self.before, *self.after, padding}  # never pieces of words

    @classmethod
    def open(cls, folder: Path) -> "Pretrained":
        """Read the folder that ``save`` wrote, which does not contain the weights."""
        try:
            files = [read_regular_file(folder / name, MAX_FILE_BYTES) for name in (CONFIG, TOKENIZER)]
            settings, tokenizer = (content.decode("utf-8") for content in files)
        except (OSError, ValueError) as error:
            raise ModelError(f"{folder}: cannot read the Transformer: {error}") from None
        return cls(settings, tokenizer, None, str(folder))

    def save(self, folder: Path) -> None:
        folder.mkdir()
        (folder / CONFIG).write_text(json.dumps(self.settings, indent=2, ensure_ascii=False) + "\n", "utf-8")
        (folder / TOKENIZER).write_text(self.tokenizer.to_str() + "\n", "utf-8")

    def pieces(self, form: str) -> tuple[int, ...]:
        """Return the pieces of one token, or the unknown piece if the tokenizer finds none."""
        ids = self._encode(form[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8"))
        return tuple(map(self._known, ids[:MAX_PIECES])) or (self.unknown,)

    def _known(self, piece: int) -> int:
        return piece if piece in self.vectors and piece not in self.special else self.unknown

    def _encode(self, form: str) -> list[int]:
        return list(self.tokenizer.encode(self.space + form, add_special_tokens=False).ids)

    def _space(self) -> str:
        """Return the space to put in front of a word, if the tokenizer marks spaces and does not add them itself."""
        bare, spaced = (self.tokenizer.encode(text, add_special_tokens=False).tokens for text in ("a", " a"))
        return " " if _marked(spaced) and not _marked(bare) else ""

    def _around(self) -> tuple[list[int], list[int]]:
        """Return the pieces that the Transformer expects around a sentence, such as [CLS] and [SEP]."""
        whole, inner = list(self.tokenizer.encode(self.space + "a").ids), self._encode("a")
        for begin in range(len(whole) - len(inner) + 1):
            if whole[begin : begin + len(inner)] == inner:
                if len(whole) - len(inner) > MAX_AROUND:
                    raise ValueError(f"the tokenizer adds more than {MAX_AROUND} pieces to a sentence")
                return whole[:begin], whole[begin + len(inner) :]
        raise ValueError("the tokenizer splits a word differently inside a sentence")

    def _unknown(self, model: dict[str, Any]) -> int:
        """Return the unknown piece, or the first piece of a private character if the tokenizer knows all bytes."""
        token, odd = model.get("unk_token"), self._encode(PRIVATE_USE_CHAR)
        number = model.get("unk_id") if token is None else self.tokenizer.token_to_id(str(token))
        return int(number if number is not None else odd[0])


def _sizes(settings: dict[str, Any], config: EncoderConfig | None) -> tuple[int, int, int, int | None]:
    """Return the numbers of pieces, features and layers and the padding; the library reads those not in KINDS."""
    if config is not None:
        return config.vocab, config.hidden, config.layers, config.padding
    with requires_extra(LIBRARY_EXTRA):
        library = import_module("transformers")
    loaded = library.AutoConfig.for_model(**settings)
    if getattr(loaded, "is_encoder_decoder", False):
        raise ValueError("expected an encoder such as BERT, got an encoder-decoder")
    padding = getattr(loaded, "pad_token_id", None)
    return int(getattr(loaded, "vocab_size", 0)), int(loaded.hidden_size), int(loaded.num_hidden_layers), padding


def _marked(tokens: list[str]) -> bool:
    return bool(tokens) and tokens[0].startswith(SPACES)
