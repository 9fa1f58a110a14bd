"""The network: a pointer decoder, a biaffine labeler and auxiliary heads on a shared encoder (sections 3 and 4).

No prediction feeds back into the decoder, so one pass scores all arcs of a batch. Shapes: B sentences, N words,
N+1 positions with the dummy root in front, H encoder features, K label features, L labels.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from discotree import config
from discotree.errors import ModelError
from discotree.network.batch import HEAD, IGNORED, LABEL
from discotree.network.pytorch.encoder import Encoder, drop_features, init_lstm, run_lstm
from discotree.network.pytorch.scores import TensorScores, label_scores
from discotree.network.pytorch.tensors import TensorBatch, TensorTargets
from discotree.network.shapes import outputs
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab


def divergence(scores: Tensor) -> Tensor:
    """Return the Kullback–Leibler divergence between the first and the second half of the rows, both ways, summed."""
    logs = scores.float().log_softmax(-1)
    first, second = logs.masked_fill(logs.isneginf(), 0).chunk(2)  # padding agrees
    return ((first.exp() - second.exp()) * (first - second)).sum()


def soft_entropy(scores: Tensor, soft: TensorTargets, name: str, real: Tensor) -> Tensor:
    """Return the weighted cross-entropy of scores (T, classes) with what teachers expect of the real words, summed."""
    steps = soft.steps[name][real].float()  # (T, k)
    expected = steps / steps.sum(1, keepdim=True).clamp_min(1)
    logs = scores.float().log_softmax(-1).gather(1, soft.ids[name][real].long())
    return -(soft.weights[real] * (expected * logs).sum(1)).sum()


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
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        cell = self.start(summary)[packed.sorted_indices][None].to(x.dtype)  # (1, B, size)
        output, _ = run_lstm(self.lstm, packed.data, packed.batch_sizes, self.recurrent_dropout, (cell.tanh(), cell))
        return pad_packed_sequence(packed._replace(data=output), batch_first=True)[0]


class PointerNetwork(nn.Module):
    """The whole network: a batch → its scores, and the loss."""

    def __init__(
        self, settings: config.NetworkSettings, vocab: Vocab, has_tags: bool, subwords: Subwords | Pretrained | None
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
        classes = outputs(settings, vocab)
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
        real = gold != IGNORED
        chosen = torch.take_along_dim(heads, gold.clamp_min(0)[..., None], 1)  # (B, N, K) features of the gold heads
        labels = label_scores(self.label_bilinear.to(heads.dtype), dependents[real], chosen[real])
        losses[LABEL] = self._entropy(labels, batch.gold[LABEL][real])
        for head, scores in auxiliary.items():
            losses[head] = self.weights[head] * self._entropy(scores, batch.gold[head])
        if soft is not None:
            losses[HEAD] = losses[HEAD] + soft_entropy(arcs[real], soft, HEAD, real)
            losses[LABEL] = losses[LABEL] + soft_entropy(labels, soft, LABEL, real)
            for head in auxiliary.keys() & soft.ids.keys():
                extra = soft_entropy(auxiliary[head][real], soft, head, real)
                losses[head] = losses[head] + self.weights[head] * extra
        if agreement:
            losses = {name: loss / 2 for name, loss in losses.items()}
            losses["agreement"] = agreement * (divergence(arcs[real]) + divergence(labels))
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
        beyond = (columns > batch.lengths[:, None]).to(arcs.device)  # (B, N+1)
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
