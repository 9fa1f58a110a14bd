"""Words → vectors: characters, word, tag and sub-words or a Transformer side by side, then a stack of BiLSTMs.

Shapes: B sentences, N words, position 0 of N+1 is the dummy root; U distinct words of C characters; D
features; T words of all sentences together. An encoder takes a batch and returns vectors (B, N+1, ``size``) and a
summary (B, ``size``) of each sentence.
"""

import math
import warnings

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from discotree import config
from discotree.errors import ConfigError
from discotree.network.pytorch.pretrained import load_transformer
from discotree.network.pytorch.subwords import SubwordFeatures
from discotree.network.pytorch.tensors import TensorBatch
from discotree.network.pytorch.transformer import Transformer
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import PADDING, UNKNOWN, Vocab

CHUNK = 1 << 26  # most numbers in an intermediate result


def drop_vectors(x: Tensor, p: float, training: bool) -> Tensor:
    """Apply dropout to whole vectors (…, D): one decision per word."""
    if not training or not p:
        return x
    return x * x.new_empty(*x.shape[:-1], 1).bernoulli_(1 - p).div_(1 - p)


def drop_features(x: Tensor, p: float, training: bool) -> Tensor:
    """Apply dropout to features (B, N, D): one decision for all words of a sentence."""
    if not training or not p:
        return x
    return x * x.new_empty(x.shape[0], 1, x.shape[-1]).bernoulli_(1 - p).div_(1 - p)


def embedding(count: int, size: int, padding: int | None = None) -> nn.Embedding:
    """Return a table of vectors, uniform within ±sqrt(3 / size) as in the original system."""
    table = nn.Embedding(count, size, padding_idx=padding, _weight=torch.empty(count, size))
    nn.init.uniform_(table.weight, -math.sqrt(3 / size), math.sqrt(3 / size))
    if padding is not None:
        with torch.no_grad():
            table.weight[padding].zero_()
    return table


class CharacterCNN(nn.Module):
    """Characters (U, C) → one vector for each distinct word (U, filters): convolution, maximum, tanh."""

    def __init__(self, chars: int, size: int, filters: int, window: int) -> None:
        super().__init__()
        self.table = embedding(chars, size, PADDING)
        self.convolution = nn.Conv1d(size, filters, window, padding=window - 1)
        self.window = window

    def forward(self, chars: Tensor) -> Tensor:
        rows = max(1, CHUNK // (self.convolution.out_channels * (chars.shape[1] + self.window)))
        parts = [self.vectors(part) for part in torch.split(chars, rows)]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def vectors(self, chars: Tensor) -> Tensor:
        """Return the vectors of some words."""
        x: Tensor = self.convolution(self.table(chars).transpose(1, 2))  # (U, filters, C + window - 1)
        ends = (chars != PADDING).sum(1) + self.window - 1  # windows that touch a character
        beyond = torch.arange(x.shape[2], device=x.device) >= ends.clamp_min(1)[:, None]
        return x.masked_fill(beyond[:, None], -torch.inf).amax(2).tanh()


class BiLSTM(nn.Module):
    """LSTM layers in both directions; dropout of inputs and hidden states has one mask for all words.

    The sentences of a batch share the mask of the hidden states. This equals dropping columns of the recurrent weights,
    which the fused kernels allow.
    """

    def __init__(self, inputs: int, size: int, layers: int, dropout: float, recurrent_dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.LSTM(inputs if layer == 0 else 2 * size, size, bidirectional=True) for layer in range(layers)
        )
        self.dropout = dropout
        self.recurrent_dropout = recurrent_dropout
        for layer in self.layers:
            init_lstm(layer)  # type: ignore[arg-type]

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return outputs (B, N, D) → (B, N, 2·size), and the last layer's final cells (B, 2·size)."""
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        data, sizes = packed.data, packed.batch_sizes  # (T, D): all first words, then all second words, …
        sentence = torch.cat([torch.arange(int(size)) for size in sizes]).to(x.device)  # (T,)
        cells = x
        for layer in self.layers:
            if self.training and self.dropout:
                mask = data.new_empty(len(x), data.shape[1]).bernoulli_(1 - self.dropout).div_(1 - self.dropout)
                data = data * mask[sentence]
            data, cells = run_lstm(layer, data, sizes, self.recurrent_dropout)  # type: ignore[arg-type]
        packed = PackedSequence(data, sizes, packed.sorted_indices, packed.unsorted_indices)
        output, _ = pad_packed_sequence(packed, batch_first=True)
        cells = cells.transpose(0, 1).flatten(1)  # (2, B, size) → (B, 2·size)
        return output, cells if packed.unsorted_indices is None else cells[packed.unsorted_indices]


def init_lstm(layer: nn.LSTM) -> None:
    for name, weight in layer.named_parameters():
        if "bias" in name:
            nn.init.zeros_(weight)
        else:
            nn.init.uniform_(weight, -1 / math.sqrt(layer.hidden_size), 1 / math.sqrt(layer.hidden_size))


def run_lstm(
    layer: nn.LSTM, data: Tensor, sizes: Tensor, dropout: float, start: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Run one layer over packed data (T, D) → outputs (T, ·) and final cells (directions, B, size)."""
    weights: list[Tensor] = list(layer._flat_weights)  # type: ignore[arg-type]
    if layer.training and dropout:
        for k, name in enumerate(layer._flat_weights_names):
            if name.startswith("weight_hh"):
                keep = weights[k].new_empty(weights[k].shape[1]).bernoulli_(1 - dropout).div_(1 - dropout)
                weights[k] = weights[k] * keep
    if start is None:
        zeros = data.new_zeros(1 + layer.bidirectional, int(sizes[0]), layer.hidden_size)
        start = zeros, zeros
    with warnings.catch_warnings():  # masked weights are new tensors, never one contiguous block
        warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")
        output, _, cells = torch.lstm(data, sizes, start, weights, True, 1, 0.0, layer.training, layer.bidirectional)
    return output, cells


def pretrained_pieces(settings: config.NetworkSettings) -> Subwords | Pretrained | None:
    """Load the sub-word vectors or the Transformer that the settings name, if any."""
    if settings.transformer and settings.subwords:
        raise ConfigError("network.subwords: a Transformer has its own pieces, there is no room for both")
    if settings.transformer:
        return load_transformer(settings.transformer)
    return Subwords.load(settings.subwords) if settings.subwords else None


class Encoder(nn.Module):
    """The paper's BiLSTM-CNN, with room for sub-word vectors or a Transformer."""

    def __init__(
        self, settings: config.NetworkSettings, vocab: Vocab, has_tags: bool, subwords: Subwords | Pretrained | None
    ) -> None:
        super().__init__()
        self.settings = settings
        self.words = embedding(len(vocab.words), settings.word_size) if settings.word_size else None
        self.chars: CharacterCNN | None = None
        if settings.char_filters:
            self.chars = CharacterCNN(len(vocab.chars), settings.char_size, settings.char_filters, settings.char_window)
        self.tags = embedding(len(vocab.tags), settings.tag_size) if has_tags else None
        width = settings.word_size + settings.char_filters + (settings.tag_size if has_tags else 0)
        self.pieces: SubwordFeatures | Transformer | None = None
        if isinstance(subwords, Pretrained):
            self.pieces = Transformer(subwords, settings)
        elif subwords is not None:
            self.pieces = SubwordFeatures(subwords)
        width += self.pieces.size if self.pieces is not None else 0
        self.root = nn.Parameter(torch.empty(width).uniform_(-math.sqrt(3 / width), math.sqrt(3 / width)))
        self.size = 2 * settings.lstm_size if settings.lstm_layers else width
        self.lstm: BiLSTM | None = None
        if settings.lstm_layers:
            self.lstm = BiLSTM(
                width, settings.lstm_size, settings.lstm_layers, settings.lstm_dropout, settings.recurrent_dropout
            )
        singletons = [word in vocab.singletons for word in vocab.words.symbols]
        with torch.device("cpu"):
            self.register_buffer("singleton", torch.tensor([False, *singletons]), persistent=False)
        self.singleton: Tensor

    def forward(self, batch: TensorBatch) -> tuple[Tensor, Tensor]:
        x = torch.cat(self.inputs(batch), -1)  # (B, N, D)
        x = torch.cat([self.root.to(x.dtype).expand(len(batch), 1, -1), x], 1)  # (B, N+1, D)
        if self.lstm is not None:
            x, summary = self.lstm(x, batch.lengths + 1)
        else:
            ends = (batch.lengths + 1).to(x.device)[:, None, None]
            x = x * (torch.arange(x.shape[1], device=x.device)[:, None] < ends)
            summary = x.sum(1) / ends[:, 0]
        return drop_features(x, self.settings.lstm_dropout, self.training), summary

    def inputs(self, batch: TensorBatch) -> list[Tensor]:
        """Return the features of every word by itself: (B, N, ·) each."""
        settings, words = self.settings, batch.words
        if self.training and settings.unknown:
            chance = torch.rand(words.shape, device=words.device) < settings.unknown
            words = words.masked_fill(self.singleton[words] & chance, UNKNOWN)
        parts = []
        if self.words is not None:
            parts.append(self.words(words))
        if self.chars is not None:
            parts.append(self.chars(batch.chars)[batch.form])
        if self.tags is not None:
            parts.append(self.tags(batch.tags))
        parts = [drop_vectors(part, settings.embedding_dropout, self.training) for part in parts]
        if self.pieces is not None:
            features = self.pieces(batch.pieces, batch.first, batch.last)
            parts.append(drop_vectors(features, settings.subword_dropout, self.training))
        return parts

    def pretrained(self) -> dict[str, int]:
        """Return the names of a Transformer's weights, and how many of its layers lie above each."""
        if not isinstance(self.pieces, Transformer):
            return {}
        return {f"pieces.{name}": above for name, above in self.pieces.pretrained().items()}
