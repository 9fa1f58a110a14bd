"""A pretrained Transformer before it is part of a network: its configuration and its tokenizer.

A model keeps both in two JSON files; its weights are among those of the network. Code that a configuration may name is
neither fetched nor run.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from discotree.config.schema import MAX_LAYERS
from discotree.encoding.plain_files import read_plain
from discotree.errors import MissingExtraError, ModelError, first_line, requires_extra
from discotree.network.encoder_config import EncoderConfig
from discotree.network.subwords import MAX_PIECES
from discotree.network.untrusted import CONFIG, MAX_FILE_BYTES, TOKENIZER, check_tokenizer, plain, table_of
from discotree.network.weights import Array

EXTRA = "hf"  # what parsing with a Transformer needs
LIBRARY_EXTRA = "transformers"  # what training one needs, and parsing with one that we do not know by heart
MAX_CHARS = 16 * MAX_PIECES  # per token; the rest is ignored
MAX_AROUND = 16  # pieces around a sentence
UNHEARD_OF = "\U0010fffd"  # a private character, unknown to every tokenizer
SPACES = ("Ġ", "▁")  # marks of tokenizers for the space in front of a word


class EncoderSizes(NamedTuple):
    """What every Transformer's configuration says."""

    vocab: int
    size: int
    layers: int
    padding: int | None


class Pretrained:
    """The configuration and the tokenizer of a Transformer and, if it was just loaded, its weights."""

    def __init__(self, settings: str, tokenizer: str, weights: dict[str, Array] | None, where: str) -> None:
        """Take the content of the two files; without ``weights``, they are among those of a model."""
        with requires_extra(EXTRA):
            tokenizers = import_module("tokenizers")
        self.where = where
        self.weights = weights
        try:
            self.settings = plain(table_of(settings, CONFIG))
            rules = table_of(tokenizer, TOKENIZER)
            check_tokenizer(rules)
            self.config = EncoderConfig.of(self.settings)
            sizes = _sizes(self.settings, self.config)
            self.tokenizer = tokenizers.Tokenizer.from_str(tokenizer)
            self.tokenizer.no_truncation()
            self.tokenizer.no_padding()
            self.tokenizer.encode_special_tokens = True  # a word "[SEP]" is a word
            if hasattr(self.tokenizer.model, "_resize_cache"):  # it would keep words of users; ``KnownPieces`` does not
                self.tokenizer.model._resize_cache(0)
            self.space = self._space()
            self.before, self.after = self._around()
            self.unknown = self._unknown(rules["model"])
        except (KeyboardInterrupt, SystemExit, MissingExtraError):
            raise
        except BaseException as error:  # depends on library and version; a panic of the tokenizer is no Exception
            raise ModelError(f"{where}: not a Transformer that can be used: {first_line(error)}") from None
        if not 0 < sizes.layers <= MAX_LAYERS:
            raise ModelError(f"{where}: {sizes.layers} layers, expected 1 to {MAX_LAYERS}")
        self.size, self.layers, self.padding = sizes.size, sizes.layers, sizes.padding or 0
        vectors = range(sizes.vocab)
        if not all(piece in vectors for piece in (*self.before, *self.after, self.padding, self.unknown)):
            raise ModelError(f"{where}: its tokenizer has pieces beyond its {len(vectors):,} vectors")
        if self.config is not None and self.config.room <= len(self.before) + len(self.after):
            raise ModelError(f"{where}: it has no room for a sentence")
        self.vectors = vectors
        self.special = {*self.before, *self.after, sizes.padding}  # never pieces of words

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


def _sizes(settings: dict[str, Any], config: EncoderConfig | None) -> EncoderSizes:
    """Return the sizes that a configuration stands for; the library knows the kinds that we do not."""
    if config is not None:
        return EncoderSizes(config.vocab, config.hidden, config.layers, config.padding)
    with requires_extra(LIBRARY_EXTRA):
        library = import_module("transformers")
    found = library.AutoConfig.for_model(**settings)
    if getattr(found, "is_encoder_decoder", False):
        raise ValueError("it is an encoder with a decoder: expected a plain encoder such as BERT")
    padding = getattr(found, "pad_token_id", None)
    return EncoderSizes(
        int(getattr(found, "vocab_size", 0)), int(found.hidden_size), int(found.num_hidden_layers), padding
    )


def _marked(tokens: list[str]) -> bool:
    return bool(tokens) and tokens[0].startswith(SPACES)
