"""What an encoder learns from: guessing masked pieces, or telling replaced ones (after ELECTRA).

An objective works in two steps: ``draw`` chooses what to mask, at random, and ``losses`` computes, without drawing
anything (``encoder.dropout`` aside), so that it can be compiled. Neither waits for a GPU. Every sequence has the same
number of masked pieces, so shapes never change and logits are computed only for these.

Shapes: B sequences, L pieces of each, K masked ones, H numbers of a vector, V pieces of the vocabulary.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from discotree.config.pretraining import SPECIAL_PIECES, ObjectiveSettings
from discotree.network.encoder_config import EncoderConfig
from discotree.training.pretraining.bert import Bert, BertLayer, MaskedHead, fresh

AS_MASK, AS_RANDOM = 0.8, 0.1  # what becomes of a chosen piece; else it stays as it is
IGNORED = -100  # target of a position that does not count


@dataclass(frozen=True)
class PieceKinds:
    """What an objective knows of the vocabulary."""

    mask: int
    special: Sequence[int]  # never masked, never guessed
    inside: Sequence[bool]  # for each piece, whether it continues a word


class Objective(nn.Module, ABC):
    """An encoder, with what it takes to train it."""

    special: Tensor
    inside: Tensor

    def __init__(self, encoder: Bert, settings: ObjectiveSettings, kinds: PieceKinds) -> None:
        super().__init__()
        self.encoder = encoder
        self.settings = settings
        self.mask = kinds.mask
        special = torch.zeros(encoder.config.vocab, dtype=torch.bool)
        special[list(kinds.special)] = True
        inside = torch.zeros(encoder.config.vocab, dtype=torch.bool)
        inside[: len(kinds.inside)] = torch.tensor(kinds.inside, dtype=torch.bool)
        self.register_buffer("special", special, persistent=False)  # (V,)
        self.register_buffer("inside", inside, persistent=False)  # (V,)

    @abstractmethod
    def draw(self, rows: Tensor) -> tuple[Tensor, ...]:
        """Choose at random what to change in sequences (B, L)."""

    @abstractmethod
    def losses(self, *drawn: Tensor) -> dict[str, Tensor]:
        """Return the losses by name, ``loss`` first: the one to minimise."""

    @abstractmethod
    def named_weights(self) -> dict[str, nn.Parameter]:
        """Return the weights that are worth keeping, under the names of the library transformers."""

    def choose(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Choose columns of each sequence (B, K), and say which of them count: a sequence may have too few pieces."""
        scores = torch.rand(rows.shape, device=rows.device)
        if self.settings.whole_words:
            words = (~self.inside[rows]).cumsum(1)  # (B, L) pieces of a word share a number; [CLS] has 1
            scores = scores.gather(1, words - 1)
        scores = scores.masked_fill(self.special[rows], -1.0)
        count = max(1, round(self.settings.share * (rows.shape[1] - SPECIAL_PIECES)))
        best, where = scores.topk(count, dim=1)
        return where, best >= 0


class Masked(Objective):
    """Guess masked pieces."""

    def __init__(self, encoder: Bert, settings: ObjectiveSettings, kinds: PieceKinds) -> None:
        super().__init__(encoder, settings, kinds)
        self.head = MaskedHead(encoder.config.hidden, encoder.config)

    def draw(self, rows: Tensor) -> tuple[Tensor, ...]:
        where, counts = self.choose(rows)
        gold = rows.gather(1, where)  # (B, K)
        fate = torch.rand(where.shape, device=rows.device)
        other = torch.randint(self.encoder.config.vocab, where.shape, device=rows.device)
        shown = gold.masked_fill(fate < AS_MASK, self.mask)
        shown = torch.where((fate >= AS_MASK) & (fate < AS_MASK + AS_RANDOM), other, shown)
        changed = rows.scatter(1, where, torch.where(counts, shown, gold))
        return changed, where, gold.masked_fill(~counts, IGNORED)

    def losses(self, *drawn: Tensor) -> dict[str, Tensor]:
        changed, where, gold = drawn
        vectors = picked(self.encoder(changed), where)
        logits = self.head(vectors, self.encoder.embeddings.words.weight)  # (B, K, V)
        return {"loss": guessing_loss(logits, gold)}

    def named_weights(self) -> dict[str, nn.Parameter]:
        body = {f"bert.{name}": weight for name, weight in self.encoder.named_weights().items()}
        return body | self.head.named_weights()


class Replaced(Objective):
    """Tell the pieces that a smaller network, which learns to guess masked ones, has replaced."""

    def __init__(self, encoder: Bert, settings: ObjectiveSettings, kinds: PieceKinds) -> None:
        super().__init__(encoder, settings, kinds)
        config = generator_config(encoder.config, settings.generator)
        self.narrow = nn.Linear(encoder.config.hidden, config.hidden)
        self.layers = nn.ModuleList(BertLayer(config, 0.0) for _ in range(config.layers))
        self.head = MaskedHead(config.hidden, encoder.config)
        self.judge = nn.Linear(encoder.config.hidden, 1)
        for part in (self.narrow, self.layers, self.judge):
            part.apply(fresh)

    def draw(self, rows: Tensor) -> tuple[Tensor, ...]:
        where, counts = self.choose(rows)
        gold = rows.gather(1, where)
        masked = rows.scatter(1, where, gold.masked_fill(counts, self.mask))
        luck = torch.rand(where.shape, device=rows.device)  # (B, K) decides which piece the generator samples
        return rows, masked, where, gold.masked_fill(~counts, IGNORED), luck

    def losses(self, *drawn: Tensor) -> dict[str, Tensor]:
        rows, masked, where, gold, luck = drawn
        vectors = self.narrow(self.encoder.embeddings(masked))  # the two networks share these
        for layer in self.layers:
            vectors = layer(vectors)
        logits = self.head(picked(vectors, where), self.encoder.embeddings.words.weight)  # (B, K, V)
        generator = guessing_loss(logits, gold)
        sampled = torch.where(gold == IGNORED, rows.gather(1, where), sample(logits.detach(), luck))
        corrupted = rows.scatter(1, where, sampled)
        verdicts = self.judge(self.encoder(corrupted)).squeeze(-1).float()  # (B, L)
        right = (corrupted != rows).float()
        counts = (~self.special[rows]).float()
        each = functional.binary_cross_entropy_with_logits(verdicts, right, reduction="none")
        judged = (each * counts).sum() / counts.sum().clamp_min(1.0)
        return {
            "loss": generator + self.settings.replaced_weight * judged,
            "generator": generator,
            "replaced": judged,
        }

    def named_weights(self) -> dict[str, nn.Parameter]:
        return {f"bert.{name}": weight for name, weight in self.encoder.named_weights().items()}


OBJECTIVES: Mapping[str, type[Objective]] = {"masked": Masked, "replaced": Replaced}


def picked(vectors: Tensor, where: Tensor) -> Tensor:
    """Return the vectors (B, K, H) of some columns (B, K)."""
    return vectors.gather(1, where[..., None].expand(-1, -1, vectors.shape[-1]))


def guessing_loss(logits: Tensor, gold: Tensor) -> Tensor:
    """Return the cross-entropy of ``logits`` (B, K, V) and pieces (B, K), per piece that counts."""
    each = functional.cross_entropy(logits.flatten(0, 1).float(), gold.flatten(), ignore_index=IGNORED, reduction="sum")
    return each / (gold != IGNORED).sum().clamp_min(1)


def sample(logits: Tensor, luck: Tensor) -> Tensor:
    """Draw a piece by its probability: the first at which the sum of probabilities passes a number from 0 to 1."""
    sums = logits.float().softmax(-1).cumsum(-1)  # (B, K, V)
    return torch.searchsorted(sums, luck[..., None] * sums[..., -1:]).squeeze(-1).clamp_max(logits.shape[-1] - 1)


def generator_config(config: EncoderConfig, share: float) -> EncoderConfig:
    """Return the sizes of the generator: as deep as the encoder, with fewer attention heads of the same size."""
    size = config.hidden // config.heads
    heads = max(1, round(share * config.heads))
    inner = max(1, config.inner * heads // config.heads)
    return replace(config, hidden=heads * size, embedding=heads * size, heads=heads, inner=inner)
