"""The network: a pointer decoder, a biaffine labeler and auxiliary heads on a shared encoder (sections 3 and 4).

No prediction feeds back into the decoder, so one pass scores all arcs of a batch. Shapes: B sentences, N words,
N+1 positions with the dummy root in front, H encoder features, K label features, L labels.
"""

import math
import warnings
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from discotree.config.schema import NetworkSettings
from discotree.errors import ConfigError, ModelError
from discotree.network.batch import HEAD, IGNORED, LABEL
from discotree.network.pytorch.tensors import SubwordFeatures, TensorBatch, TensorTargets, copy_to
from discotree.network.pytorch.transformer import Transformer, load_transformer
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import PADDING, UNKNOWN, Vocab
from discotree.network.weights import DEVIATIONS, MAX_INT8


def rounded_rows(weight: Tensor, bits: int) -> Tensor:
    """Return a weight with every row rounded to multiples of its step, as ``network.weights.rounded`` does it.

    Vectors, such as biases, stay as they are.
    """
    if weight.ndim < 2:
        return weight
    usual = (1 << (bits - 1)) - 1
    rows = weight.reshape(len(weight), -1)
    largest = rows.abs().amax(1) if rows.shape[1] else rows.new_zeros(len(rows))
    deviation = rows.double().square().mean(1).sqrt()
    steps = torch.minimum(DEVIATIONS * deviation, largest.double()) / usual
    steps = torch.maximum(steps, largest.double() / max(usual, MAX_INT8)).to(weight.dtype)
    tiny = torch.finfo(weight.dtype).tiny
    return ((rows / steps.clamp_min(tiny)[:, None]).round() * steps[:, None]).reshape(weight.shape)


CHUNK = 1 << 23  # most numbers in an intermediate result


@dataclass(frozen=True)
class TensorScores:
    """Log-probabilities of heads, factors of labels, auxiliary heads; as in Scores."""

    arcs: Tensor  # (B, N, N+1) log-probabilities of all heads
    dependents: Tensor  # (B, N, K) label features of every word as a dependent
    heads: Tensor  # (B, N+1, K) label features of every word, and the dummy root, as a head
    bilinear: Tensor  # (L, K, K) a label's score for features of a dependent and of its head
    auxiliary: dict[str, Tensor]  # by auxiliary head: (B, N, classes) log-probabilities

    def best_labels(self) -> tuple[Tensor, Tensor]:
        """Return the log-probability of every arc's best label, and its id: (B, N, N+1) each."""
        b, n, columns = self.arcs.shape
        best = torch.empty(b, n, columns, device=self.arcs.device)
        which = torch.empty(b, n, columns, dtype=torch.int32, device=self.arcs.device)
        step = max(1, CHUNK // max(1, b * len(self.bilinear) * max(columns, self.heads.shape[2])))
        for row in range(0, n, step):
            rows = slice(row, row + step)
            features = torch.einsum("bnk,lkm->bnlm", self.dependents[:, rows], self.bilinear)
            scores = torch.einsum("bnlm,bhm->bnhl", features, self.heads).float()
            values, ids = scores.max(-1)
            best[:, rows], which[:, rows] = values - scores.logsumexp(-1), ids
        return best, which


def label_scores(bilinear: Tensor, dependents: Tensor, heads: Tensor) -> Tensor:
    """Return the scores of all labels (…, L) for arcs between dependents (…, K) and their heads (…, K)."""
    features = torch.einsum("...k,lkm->...lm", dependents, bilinear)
    return torch.einsum("...lm,...m->...l", features, heads)


CONVOLUTION_CHUNK = 1 << 26  # most numbers in an intermediate result


def drop_vectors(x: Tensor, p: float, training: bool) -> Tensor:
    """Apply dropout to whole vectors (…, D): one decision per word."""
    return _drop(x, (*x.shape[:-1], 1), p, training)


def drop_features(x: Tensor, p: float, training: bool) -> Tensor:
    """Apply dropout to features (B, N, D): one decision for all words of a sentence."""
    return _drop(x, (x.shape[0], 1, x.shape[-1]), p, training)


def _drop(x: Tensor, shape: tuple[int, ...], p: float, training: bool) -> Tensor:
    return x * x.new_empty(shape).bernoulli_(1 - p).div_(1 - p) if training and p else x


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
        rows = max(1, CONVOLUTION_CHUNK // (self.convolution.out_channels * (chars.shape[1] + self.window)))
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
        packed, _, back = pack(x, lengths)
        data, sizes = packed.data, packed.batch_sizes  # (T, D): all first words, then all second words, …
        if self.training and self.dropout:
            begins = sizes.cumsum(0) - sizes
            sentence = copy_to(torch.arange(len(data)) - begins.repeat_interleave(sizes), x.device)  # (T,)
        cells = x
        for layer in self.layers:
            if self.training and self.dropout:
                mask = data.new_empty(len(x), data.shape[1]).bernoulli_(1 - self.dropout).div_(1 - self.dropout)
                data = data * mask[sentence]
            data, cells = run_lstm(layer, data, sizes, self.recurrent_dropout)  # type: ignore[arg-type]
        cells = cells.transpose(0, 1).flatten(1)  # (2, B, size) → (B, 2·size)
        return unpack(data, sizes, back), cells.index_select(0, back)


def pack(x: Tensor, lengths: Tensor) -> tuple[PackedSequence, Tensor, Tensor]:
    """Return sentences (B, N, D) packed from the longest to the shortest, their order (B,), and its inverse (B,).

    They are sorted here because ``pack_padded_sequence(enforce_sorted=False)`` makes the CPU wait for the GPU.
    """
    lengths, order = lengths.sort(descending=True)
    order, back = copy_to(torch.stack([order, order.argsort()]), x.device)
    return pack_padded_sequence(x.index_select(0, order), lengths, batch_first=True), order, back


def unpack(data: Tensor, sizes: Tensor, back: Tensor) -> Tensor:
    """Return packed sentences (T, D) as (B, N, D), in their order before ``pack``."""
    return pad_packed_sequence(PackedSequence(data, sizes), batch_first=True)[0].index_select(0, back)


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


def pretrained_pieces(settings: NetworkSettings) -> Subwords | Pretrained | None:
    """Load the sub-word vectors or the Transformer that the settings name, if any."""
    if settings.transformer and settings.subwords:
        raise ConfigError("network.subwords: a Transformer has its own pieces, there is no room for both")
    if settings.transformer:
        return load_transformer(settings.transformer)
    return Subwords.load(settings.subwords) if settings.subwords else None


class Encoder(nn.Module):
    """The paper's BiLSTM-CNN, with room for sub-word vectors or a Transformer."""

    def __init__(
        self, settings: NetworkSettings, vocab: Vocab, has_tags: bool, subwords: Subwords | Pretrained | None
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
        weights = self.pieces.pretrained() if isinstance(self.pieces, Transformer) else {}
        return {f"pieces.{name}": above for name, above in weights.items()}


def of_words(values: Tensor, positions: Tensor) -> Tensor:
    """Return the rows (T, …) of values (B, N, …) at these positions (T,) in the flattened batch."""
    return values.flatten(0, 1).index_select(0, positions)


def divergence(scores: Tensor) -> Tensor:
    """Return the Kullback–Leibler divergence between the first and the second half of the rows, both ways, summed."""
    logs = scores.float().log_softmax(-1)
    first, second = logs.masked_fill(logs.isneginf(), 0).chunk(2)  # padding agrees
    return ((first.exp() - second.exp()) * (first - second)).sum()


def soft_entropy(scores: Tensor, soft: TensorTargets, name: str, positions: Tensor) -> Tensor:
    """Return the summed cross-entropy of scores (T, classes) with the teachers' targets, weighted.

    The positions (T,) are those of the words in the flattened batch.
    """
    steps = of_words(soft.steps[name], positions).float()  # (T, k)
    expected = steps / steps.sum(1, keepdim=True).clamp_min(1)
    logs = scores.float().log_softmax(-1).gather(1, of_words(soft.ids[name], positions).long())
    return -(of_words(soft.weights, positions) * (expected * logs).sum(1)).sum()


class Decoder(nn.Module):
    """An LSTM over h(i-1) + h(i) + h(i+1): encoder vectors (B, N+1, H) → a state for every word (B, N, size)."""

    def __init__(self, inputs: int, size: int, dropout: float, recurrent_dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.start = nn.Linear(inputs, size)
        self.lstm = nn.LSTM(inputs, size, batch_first=True)
        self.recurrent_dropout = recurrent_dropout
        init_lstm(self.lstm)

    def forward(self, vectors: Tensor, summary: Tensor, lengths: Tensor) -> Tensor:
        words = vectors[:, 1:]
        x = words.clone()
        x[:, 1:] += words[:, :-1]
        x[:, :-1] += words[:, 1:]  # padding is zero
        x = drop_features(x, self.dropout, self.training)
        packed, order, back = pack(x, lengths)
        cell = self.start(summary).index_select(0, order)[None].to(x.dtype)  # (1, B, size)
        output, _ = run_lstm(self.lstm, packed.data, packed.batch_sizes, self.recurrent_dropout, (cell.tanh(), cell))
        return unpack(output, packed.batch_sizes, back)


class PointerNetwork(nn.Module):
    """The whole network: a batch → its scores, and the loss."""

    def __init__(
        self, settings: NetworkSettings, vocab: Vocab, has_tags: bool, subwords: Subwords | Pretrained | None
    ) -> None:
        super().__init__()
        if (settings.subwords or settings.transformer) and subwords is None:
            raise ModelError("the settings name sub-word vectors or a Transformer, and none is given")
        self.settings = settings
        self.encoder = Encoder(settings, vocab, has_tags, subwords)
        size, state = self.encoder.size, settings.decoder_size
        self.decoder = Decoder(size, state, settings.lstm_dropout, settings.recurrent_dropout)
        self.arc_dependent = nn.Linear(state, settings.arc_size)
        self.arc_head = nn.Linear(size, settings.arc_size)
        self.label_dependent = nn.Linear(state, settings.label_size)
        self.label_head = nn.Linear(size, settings.label_size)
        # The last row and column meet a constant feature 1: they hold the linear terms and the bias.
        self.arc_bilinear = nn.Parameter(torch.zeros(settings.arc_size + 1, settings.arc_size + 1))
        self.label_bilinear = nn.Parameter(
            torch.zeros(len(vocab.labels), settings.label_size + 1, settings.label_size + 1)
        )
        nn.init.xavier_uniform_(self.arc_bilinear[:-1, :-1])
        bound = math.sqrt(6 / (settings.label_size * (settings.label_size + len(vocab.labels))))
        nn.init.uniform_(self.label_bilinear[:, :-1, :-1], -bound, bound)
        classes = vocab.class_counts(settings.auxiliary_heads)
        self.weights = {head: settings.auxiliary_heads[head] for head in classes}
        self.auxiliary = nn.ModuleDict({head: nn.Linear(size + state, count) for head, count in classes.items()})

    def forward(self, batch: TensorBatch) -> TensorScores:
        """Return log-probabilities of all heads, and the factors that labels are computed from."""
        arcs, dependents, heads, auxiliary = self._run(batch)
        return TensorScores(
            arcs=arcs.float().log_softmax(-1),
            dependents=dependents,
            heads=heads,
            bilinear=self.label_bilinear.to(dependents.dtype),
            auxiliary={head: scores.float().log_softmax(-1) for head, scores in auxiliary.items()},
        )

    def loss(self, batch: TensorBatch) -> dict[str, Tensor]:
        """Return the losses by name, each summed over the words of the batch."""
        agreement = self.settings.agreement_weight if self.training else 0.0
        if agreement:
            batch = batch.twice()
        arcs, dependents, heads, auxiliary = self._run(batch)
        gold = batch.gold[HEAD]
        soft = batch.soft
        by_hand = gold if soft is None else gold.masked_fill(soft.text[:, None], IGNORED)
        losses = {HEAD: self._entropy(arcs, by_hand)}
        words = batch.word_positions()
        chosen = torch.take_along_dim(heads, gold.clamp_min(0)[..., None], 1)  # (B, N, K) features of the gold heads
        labels = label_scores(self.label_bilinear.to(heads.dtype), of_words(dependents, words), of_words(chosen, words))
        losses[LABEL] = self._entropy(labels, of_words(batch.gold[LABEL], words))
        for head, scores in auxiliary.items():
            losses[head] = self.weights[head] * self._entropy(scores, batch.gold[head])
        if soft is not None:
            losses[HEAD] = losses[HEAD] + soft_entropy(of_words(arcs, words), soft, HEAD, words)
            losses[LABEL] = losses[LABEL] + soft_entropy(labels, soft, LABEL, words)
            for head in auxiliary.keys() & soft.ids.keys():
                extra = soft_entropy(of_words(auxiliary[head], words), soft, head, words)
                losses[head] = losses[head] + self.weights[head] * extra
        if agreement:
            losses = {name: loss / 2 for name, loss in losses.items()}
            losses["agreement"] = agreement * (divergence(of_words(arcs, words)) + divergence(labels))
        return losses

    def pretrained(self) -> dict[str, int]:
        """Return the names of a Transformer's weights, and how many of its layers lie above each."""
        return {f"encoder.{name}": above for name, above in self.encoder.pretrained().items()}

    def _entropy(self, scores: Tensor, gold: Tensor) -> Tensor:
        scores = scores.flatten(0, -2).float()
        smoothing = self.settings.label_smoothing
        loss = nn.functional.cross_entropy(scores, gold.flatten(), ignore_index=IGNORED, reduction="sum")
        if smoothing:  # over the classes that exist: padding is -inf
            logs = scores.log_softmax(-1)
            real = torch.isfinite(scores) & (gold.flatten() != IGNORED)[:, None]
            uniform = -(logs.masked_fill(~real, 0).sum(-1) / real.sum(-1).clamp_min(1)).sum()
            loss = (1 - smoothing) * loss + smoothing * uniform
        return loss

    def _run(self, batch: TensorBatch) -> tuple[Tensor, Tensor, Tensor, dict[str, Tensor]]:
        """Return arc scores (B, N, N+1), label features (B, N, K) and (B, N+1, K), auxiliary scores (B, N, classes)."""
        settings = self.settings
        vectors, summary = self.encoder(batch)
        states = self.decoder(vectors, summary, batch.lengths)
        states = drop_features(states, settings.lstm_dropout, self.training)
        dependents, heads = self._mlp(self.arc_dependent(states), self.arc_head(vectors))
        arcs = dependents @ self.arc_bilinear.to(heads.dtype) @ heads.transpose(1, 2)
        columns = torch.arange(arcs.shape[2])
        beyond = copy_to(columns > batch.lengths[:, None], arcs.device)  # (B, N+1)
        arcs = arcs.masked_fill(beyond[:, None], -torch.inf)
        dependents, heads = self._mlp(self.label_dependent(states), self.label_head(vectors))
        both = torch.cat([vectors[:, 1:], states], -1)
        auxiliary = {head: layer(both) for head, layer in self.auxiliary.items()}
        return arcs, dependents, heads, auxiliary

    def _mlp(self, dependents: Tensor, heads: Tensor) -> tuple[Tensor, Tensor]:
        """Apply ELU and one dropout mask to both sides, and append the constant feature 1."""
        x = nn.functional.elu(torch.cat([dependents, heads], 1))
        x = nn.functional.pad(drop_features(x, self.settings.mlp_dropout, self.training), (0, 1), value=1.0)
        return x[:, : dependents.shape[1]], x[:, dependents.shape[1] :]
