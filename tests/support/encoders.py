"""Tiny Transformers in folders, as the hub has them: never trained, with tokenizers that learned from our few trees."""

import dataclasses
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from support.networks import CALM, TREES
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, RobertaConfig, RobertaModel

from discotree.config.schema import NetworkSettings
from discotree.network.pytorch.transformer import load_transformer
from discotree.network.transformer import Pretrained

WORDS = [token.form for tree in TREES for token in tree.tokens]
ODD = [
    "😀",
    "👩‍👩‍👧",
    "\u200b",
    "\u200d\u200d",
    "\ufeff",
    "",
    " ",
    "\n",
    "\0",
    "\ud800",
    "e\u0301",
    "New York",
    "x" * 5000,
]
SPECIAL = ["[CLS]", "[SEP]", "[PAD]", "[MASK]", "<s>", "</s>", "<pad>", "<mask>", "<unk>"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 24}


def word_pieces() -> Tokenizer:
    """As BERT's: pieces inside a word are marked."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(WORDS, trainers.WordPieceTrainer(vocab_size=120, special_tokens=special))
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_truncation(8)  # what a folder may have, and must not matter
    tokenizer.enable_padding(length=8)
    return tokenizer


def byte_pairs() -> Tokenizer:
    """As RoBERTa's: it knows all bytes, and the space in front of a word is part of it."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator([f" {word}" for word in [*WORDS, *"aaaa"]], trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer


def unigrams() -> Tokenizer:
    """As XLM-R's: the beginning of a word is marked, whether there was a space or not."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(WORDS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return tokenizer


def saved_bert(folder: Path, **sizes: int) -> Path:
    torch.manual_seed(0)
    tokenizer = word_pieces()
    settings = BertConfig(vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=64, **SIZES | sizes)
    BertModel(settings).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]").save_pretrained(folder)
    return folder


def saved_roberta(folder: Path, tokenizer: Callable[[], Tokenizer] = byte_pairs) -> Path:
    torch.manual_seed(0)
    pieces = tokenizer()
    settings = RobertaConfig(vocab_size=pieces.get_vocab_size(), max_position_embeddings=34, pad_token_id=1, **SIZES)
    RobertaModel(settings).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=pieces, pad_token="<pad>").save_pretrained(folder)
    return folder


def saved_xlmr(folder: Path) -> Path:
    return saved_roberta(folder, unigrams)


KINDS: dict[str, Callable[[Path], Path]] = {"bert": saved_bert, "roberta": saved_roberta, "xlm-r": saved_xlmr}


@cache
def loaded(folder: Path) -> Pretrained:
    """A Transformer from its folder; nobody changes what was read."""
    return load_transformer(str(folder))


def with_transformer(folder: Path, network: NetworkSettings = CALM, **settings: Any) -> NetworkSettings:
    return dataclasses.replace(network, encoder=f"hf:{folder}", **settings)
