"""A pretrained Transformer below the network: any encoder that the library transformers knows, read from safetensors.

A model keeps its configuration and its tokenizer in two JSON files; its weights are among those of the network. Code
that a configuration may name is neither fetched nor run.

Shapes: B sentences, N words, P pieces in the longest sentence; R windows of W pieces; H numbers in a vector.
"""

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from discotree import config
from discotree.config.schema import MAX_LAYERS
from discotree.encoding.plain_files import read_plain
from discotree.errors import ModelError, first_line, requires_extra
from discotree.network.subwords import MAX_PIECES, first_of, mean_of
from discotree.network.untrusted import (
    CONFIG,
    MAX_FILE_BYTES,
    TOKENIZER,
    WithoutNumbers,
    check_tokenizer,
    plain,
    table_of,
)

EXTRA = "transformers"
MAX_CHARS = 16 * MAX_PIECES  # per token; the rest is ignored
USUAL_WINDOW = 512  # pieces, for a Transformer without a limit
MAX_WINDOW = 8192  # pieces, for a Transformer whose weights say nothing about positions
MAX_AROUND = 16  # pieces around a sentence
MAX_OVERLAP = 16  # windows that a piece may lie in
MAX_PAIRS = 1 << 24  # pairs of pieces that attend to each other at a time
UNHEARD_OF = "\U0010fffd"  # a private character, unknown to every tokenizer
SPACES = ("Ġ", "▁")  # marks of tokenizers for the space in front of a word
_LAYER = re.compile(r"\.(\d+)\.")


class Pretrained:
    """A Transformer before it is part of a network: configuration, tokenizer and, if it was loaded, weights."""

    def __init__(self, settings: str, tokenizer: str, weights: dict[str, Tensor] | None, where: str) -> None:
        """Take the content of the two files. Without ``weights``, ``build`` leaves them to be filled in."""
        with requires_extra(EXTRA):
            library, tokenizers = import_module("transformers"), import_module("tokenizers")
        self.where = where
        self.weights = weights
        try:
            self.settings = plain(table_of(settings, CONFIG))
            rules = table_of(tokenizer, TOKENIZER)
            check_tokenizer(rules)
            self.config = library.AutoConfig.for_model(**self.settings)
            self.size, self.layers = int(self.config.hidden_size), int(self.config.num_hidden_layers)
            self.tokenizer = tokenizers.Tokenizer.from_str(tokenizer)
            self.tokenizer.no_truncation()
            self.tokenizer.no_padding()
            self.tokenizer.encode_special_tokens = True  # a word "[SEP]" is a word
            if hasattr(self.tokenizer.model, "_resize_cache"):  # it would keep words of users; ``KnownPieces`` does not
                self.tokenizer.model._resize_cache(0)
            self.space = self._space()
            self.before, self.after = self._around()
            self.unknown = self._unknown(rules["model"])
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # depends on library and version; a panic of the tokenizer is no Exception
            raise ModelError(f"{where}: not a Transformer that can be used: {first_line(error)}") from None
        if getattr(self.config, "is_encoder_decoder", False):
            raise ModelError(f"{where}: it is an encoder with a decoder: expected a plain encoder such as BERT")
        if not 0 < self.layers <= MAX_LAYERS:
            raise ModelError(f"{where}: {self.layers} layers, expected 1 to {MAX_LAYERS}")
        padding = getattr(self.config, "pad_token_id", None)
        self.padding = padding or 0
        vectors = range(int(getattr(self.config, "vocab_size", 0)))
        if not all(piece in vectors for piece in (*self.before, *self.after, self.padding, self.unknown)):
            raise ModelError(f"{where}: its tokenizer has pieces beyond its {len(vectors):,} vectors")
        self.vectors = vectors
        self.special = {*self.before, *self.after, padding}  # never pieces of words

    @classmethod
    def load(cls, name: str) -> "Pretrained":
        """Load a Transformer from a folder or from the Hugging Face hub."""
        with requires_extra(EXTRA):
            library = import_module("transformers")
        local = Path(name).is_dir()
        options = {"local_files_only": local, "trust_remote_code": False}
        try:
            with _quiet(library, bars=not local):
                settings = library.AutoConfig.from_pretrained(name, **options).to_json_string()
                tokenizer = library.AutoTokenizer.from_pretrained(name, use_fast=True, **options)
                cleaned = library.AutoConfig.for_model(**plain(table_of(settings, CONFIG)))
                model, report = library.AutoModel.from_pretrained(
                    name, config=cleaned, use_safetensors=True, output_loading_info=True, **options
                )
        except Exception as error:  # depends on library and version
            what = "not a Transformer that can be used" if local else "neither a folder nor to be had from the hub"
            raise ModelError(f"{config.HF}{name}: {what}: {first_line(error)}") from None
        if getattr(tokenizer, "backend_tokenizer", None) is None:
            raise ModelError(f"{config.HF}{name}: it has no tokenizer.json")
        weights = {key: value.float() for key, value in _without_pooler(model).state_dict().items()}
        if not all(value.is_floating_point() for value in model.state_dict().values()):
            raise ModelError(f"{config.HF}{name}: it has integer weights, which cannot be trained")
        if missing := sorted(weights.keys() & set(report["missing_keys"])):
            raise ModelError(f"{config.HF}{name}: {missing[0]} is missing from its weights")
        return cls(settings, tokenizer.backend_tokenizer.to_str(), weights, config.HF + name)

    @classmethod
    def open(cls, folder: Path) -> "Pretrained":
        """Open the folder that ``save`` wrote; the weights are elsewhere."""
        try:
            files = [read_plain(folder / name, MAX_FILE_BYTES) for name in (CONFIG, TOKENIZER)]
            settings, tokenizer = (content.decode("utf-8") for content in files)
        except (OSError, ValueError) as error:
            raise ModelError(f"{folder}: its Transformer cannot be read: {error}") from None
        return cls(settings, tokenizer, None, str(folder))

    def save(self, folder: Path) -> None:
        folder.mkdir()
        (folder / CONFIG).write_text(json.dumps(self.settings, indent=2, ensure_ascii=False) + "\n", "utf-8")
        (folder / TOKENIZER).write_text(self.tokenizer.to_str() + "\n", "utf-8")

    def build(self) -> Any:
        """Return the Transformer as a module."""
        with requires_extra(EXTRA):
            library = import_module("transformers")
        try:
            with torch.device("cpu"), WithoutNumbers():
                model = _without_pooler(library.AutoModel.from_config(self.config, trust_remote_code=False))
        except Exception as error:
            raise ModelError(f"{self.where}: its configuration makes no Transformer: {first_line(error)}") from None
        if self.weights is not None:
            model.load_state_dict({name: value.clone() for name, value in self.weights.items()}, assign=True)
        return model

    def pieces(self, form: str) -> tuple[int, ...]:
        """Return the pieces of one token, at least one: the unknown piece where the tokenizer finds none."""
        found = self._encoded(form[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8"))
        return tuple(map(self._known, found[:MAX_PIECES])) or (self.unknown,)

    def _known(self, piece: int) -> int:
        return piece if piece in self.vectors and piece not in self.special else self.unknown

    def _encoded(self, form: str) -> list[int]:
        return list(self.tokenizer.encode(self.space + form, add_special_tokens=False).ids)

    def _space(self) -> str:
        """Return the space to put in front of a word, where the tokenizer marks spaces and adds none itself."""
        bare, spaced = (self.tokenizer.encode(text, add_special_tokens=False).tokens for text in ("a", " a"))
        return " " if _marked(spaced) and not _marked(bare) else ""

    def _around(self) -> tuple[list[int], list[int]]:
        """Return the pieces that the Transformer expects around a sentence, such as [CLS] and [SEP]."""
        whole, inner = list(self.tokenizer.encode(self.space + "a").ids), self._encoded("a")
        for begin in range(len(whole) - len(inner) + 1):
            if whole[begin : begin + len(inner)] == inner:
                if len(whole) - len(inner) > MAX_AROUND:
                    raise ValueError(f"its tokenizer puts {len(whole) - len(inner)} pieces around a sentence")
                return whole[:begin], whole[begin + len(inner) :]
        raise ValueError("its tokenizer splits a word in a sentence differently")

    def _unknown(self, model: dict[str, Any]) -> int:
        """Return the unknown piece; a tokenizer that knows all bytes gives the first piece of a private character."""
        token, odd = model.get("unk_token"), self._encoded(UNHEARD_OF)
        number = model.get("unk_id") if token is None else self.tokenizer.token_to_id(str(token))
        return int(number if number is not None else odd[0])


class Transformer(nn.Module):
    """Pieces of sentences → vectors of words.

    A sentence that is too long is read in overlapping windows; each piece takes its vector from the window in which it
    is furthest from an edge.
    """

    before: Tensor
    after: Tensor

    def __init__(self, pretrained: Pretrained, settings: config.NetworkSettings) -> None:
        super().__init__()
        self.model = pretrained.build()
        self.layers = pretrained.layers
        self.size = pretrained.size
        self.pooling = settings.encoder_pooling
        self.padding = pretrained.padding
        self.mixture = nn.Parameter(torch.zeros(min(settings.encoder_layers, self.layers + 1)))
        self.scale = nn.Parameter(torch.ones(1))
        with torch.device("cpu"):
            self.register_buffer("before", torch.tensor(pretrained.before, dtype=torch.long), persistent=False)
            self.register_buffer("after", torch.tensor(pretrained.after, dtype=torch.long), persistent=False)
        most = room(self.model, pretrained.config) - len(pretrained.before) - len(pretrained.after)
        self.window = min(settings.encoder_window or most, most)
        if self.window < 1:
            raise ModelError(f"{pretrained.where}: it has no room for a sentence")
        self.stride = min(settings.encoder_stride, self.window) or (self.window + 1) // 2
        if self.window > MAX_OVERLAP * self.stride:
            least = math.ceil(self.window / MAX_OVERLAP)
            raise ModelError(f"{pretrained.where}: encoder_stride: expected at least {least}, got {self.stride}")
        if settings.encoder_recompute:
            self.model.gradient_checkpointing_enable({"use_reentrant": False})

    def pretrained(self) -> dict[str, int]:
        """The names of the weights that were pretrained, and how many layers lie above each."""
        return {f"model.{name}": self._above(name) for name, _ in self.model.named_parameters()}

    def _above(self, name: str) -> int:
        layer = _LAYER.search(name)
        if layer:
            return self.layers - 1 - int(layer[1])
        return self.layers if "embed" in name else 0

    def train(self, mode: bool = True) -> "Transformer":
        """One that does not learn drops nothing either."""
        return super().train(mode and any(weight.requires_grad for weight in self.model.parameters()))

    def forward(self, pieces: Tensor, first: Tensor, last: Tensor) -> Tensor:
        """``pieces`` (B, P); ``first`` and ``last`` (B, N) are each word's columns in a row. Gives (B, N, H)."""
        lengths = last.amax(1) + 1  # (B,)
        vectors = (self.read if pieces.shape[1] <= self.window else self.read_in_windows)(pieces, lengths)
        return first_of(vectors, first) if self.pooling == "first" else mean_of(vectors, first, last)

    def read_in_windows(self, pieces: Tensor, lengths: Tensor) -> Tensor:
        """Return the vectors (B, P, H) of any number of pieces."""
        width, stride = self.window, self.stride
        columns = torch.arange(pieces.shape[1], device=pieces.device)  # (P,)
        counts = (lengths - width + stride - 1).clamp_min(0) // stride + 1  # (B,) windows per sentence
        starts = torch.arange(int(counts.max()), device=pieces.device) * stride  # (K,)
        inside = (starts[:, None] + columns[:width]).clamp_max(len(columns) - 1)  # (K, W)
        real = starts < (counts * stride)[:, None]  # (B, K)
        sizes = (lengths[:, None] - starts).clamp(0, width)  # (B, K)
        vectors = self.read(pieces[:, inside][real], sizes[real])  # (R, W, H)
        rows = real.flatten().cumsum(0).view_as(real) - 1  # (B, K) row of each window
        nearest = ((columns - width // 2 + stride // 2) // stride).clamp_min(0).expand_as(pieces)  # (B, P)
        nearest = torch.minimum(nearest, counts[:, None] - 1)
        return vectors[rows.gather(1, nearest), (columns - nearest * stride).clamp_max(width - 1)]

    def read(self, pieces: Tensor, lengths: Tensor) -> Tensor:
        """Return the vectors (B, P, H) of pieces that fit one window."""
        rows = max(1, MAX_PAIRS // max(1, pieces.shape[1]) ** 2)
        if rows < len(pieces):
            pairs = zip(torch.split(pieces, rows), torch.split(lengths, rows), strict=True)
            return torch.cat([self.read(*pair) for pair in pairs])
        columns = torch.arange(pieces.shape[1] + len(self.before) + len(self.after), device=pieces.device)
        begin, end = len(self.before), len(self.before) + pieces.shape[1]
        ids = pieces.new_full((len(pieces), len(columns)), self.padding)
        ids[:, :begin] = self.before
        ids[:, begin:end] = pieces.masked_fill(columns[: pieces.shape[1]] >= lengths[:, None], self.padding)
        where = begin + lengths[:, None] + columns[: len(self.after)]
        ids.scatter_(1, where, self.after.expand_as(where))
        mask = columns < (lengths + len(self.before) + len(self.after))[:, None]
        layers = self.model(input_ids=ids, attention_mask=mask.long(), output_hidden_states=True).hidden_states
        weights = self.scale * self.mixture.softmax(0)
        layers = torch.stack(layers[-len(weights) :])[:, :, begin:end]  # (layers, B, P, H)
        return (weights[:, None, None, None] * layers).sum(0)


def room(model: nn.Module, settings: Any) -> int:
    """Return how many pieces a Transformer can read at once; some count positions from the id of the padding on."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
    return min(MAX_WINDOW, int(getattr(settings, "max_position_embeddings", 0) or USUAL_WINDOW))


def _without_pooler(model: Any) -> Any:
    """Remove the layer for whole sentences, which is neither used nor trained."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


def _marked(tokens: list[str]) -> bool:
    return bool(tokens) and tokens[0].startswith(SPACES)


@contextmanager
def _quiet(library: Any, bars: bool) -> Iterator[None]:
    """Silence the library's report on unused weights; progress ``bars`` stay for downloads."""
    logging = library.utils.logging
    level, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if not bars:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if had_bars:
            logging.enable_progress_bar()
