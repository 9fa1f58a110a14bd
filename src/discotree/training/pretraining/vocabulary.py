"""A vocabulary of word pieces, learned from text: cased, the same for the same text."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from discotree.config.pretraining import TextSettings
from discotree.errors import ConfigError, requires_extra

PADDING, UNKNOWN, BEGIN, END, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
INSIDE = "##"  # in front of a piece that continues a word
MAX_CODE = 0x110000


def alphabet(texts: Iterable[str], size: int) -> list[str]:
    """Return the most frequent characters, sorted."""
    counts = np.zeros(MAX_CODE, np.int64)
    for text in texts:
        found = np.bincount(np.frombuffer(text.encode("utf-32-le"), np.uint32))
        counts[: len(found)] += found
    codes = np.flatnonzero(counts)
    visible = np.array([code for code in codes.tolist() if chr(code).isprintable() and not chr(code).isspace()], int)
    order = np.lexsort((visible, -counts[visible]))  # the first one wins a tie
    return sorted(map(chr, visible[order[:size]].tolist()))


def learn_vocabulary(lines: Iterator[list[str]], characters: list[str], settings: TextSettings) -> str:
    """Learn word pieces from blocks of lines; return the tokenizer as JSON.

    The library numbers pieces in the order of a hash table, which differs from run to run, and decides by these numbers
    which of two equally frequent pieces to make. So all pieces of one character get their numbers beforehand, the
    inner ones in the guise of special pieces.
    """
    if not characters:
        raise ConfigError("the text has no characters to learn a vocabulary from")
    inner = [INSIDE + character for character in characters]
    if settings.vocab_size <= len(SPECIAL) + len(characters) + len(inner):
        raise ConfigError(
            f"text.vocab_size: expected more than the {len(SPECIAL) + len(characters) + len(inner):,} pieces of one "
            f"character, got {settings.vocab_size:,}; or set text.alphabet lower"
        )
    library = _library()
    learner = new_tokenizer(library, {})
    trainer = library.trainers.WordPieceTrainer(
        vocab_size=settings.vocab_size,
        min_frequency=settings.min_count,
        special_tokens=[*SPECIAL, *inner],
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        continuing_subword_prefix=INSIDE,
        show_progress=False,
    )
    learner.train_from_iterator(lines, trainer)
    tokenizer = new_tokenizer(library, learner.get_vocab())
    tokenizer.add_special_tokens(list(SPECIAL))
    around = [(name, tokenizer.token_to_id(name)) for name in (BEGIN, END)]
    tokenizer.post_processor = library.processors.TemplateProcessing(
        f"{BEGIN} $A {END}", f"{BEGIN} $A {END} $B:1 {END}:1", around
    )
    tokenizer.decoder = library.decoders.WordPiece(INSIDE)
    return str(tokenizer.to_str())


def new_tokenizer(library: Any, vocab: dict[str, int]) -> Any:
    """Return a tokenizer that splits text as a cased BERT does: at whitespace and around punctuation."""
    numbered = {"vocab": vocab} if vocab else {}
    tokenizer = library.Tokenizer(
        library.models.WordPiece(unk_token=UNKNOWN, continuing_subword_prefix=INSIDE, **numbered)
    )
    tokenizer.normalizer = library.normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    return tokenizer


def load_tokenizer(text: str) -> Any:
    """Return a tokenizer that gives all pieces of a text, and takes names of special pieces in it for text."""
    tokenizer = _library().Tokenizer.from_str(text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _library() -> Any:
    with requires_extra("train"):
        return import_module("tokenizers")
