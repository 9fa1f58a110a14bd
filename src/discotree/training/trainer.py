"""The network in training: its optimiser, a step of it, and the weights that are kept aside."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn

from discotree.config import HALF, Training
from discotree.models.folder import stored_name
from discotree.network.batch import Corpus, Ints
from discotree.network.pytorch.quantized import rounded_rows
from discotree.network.pytorch.tensors import TensorBatch
from discotree.training.distributed import World


class Learner(Protocol):
    """A module that can be trained."""

    def loss(self, batch: TensorBatch) -> dict[str, Tensor]:
        """Return the losses, each summed over the words of the batch."""

    def train(self) -> object: ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...

    def pretrained(self) -> dict[str, int]:
        """Return the names of the pretrained weights, which learn at a rate of their own, and the layers above each."""


@dataclass
class TrainingState:
    """How far a run has come after an epoch: what a checkpoint keeps beside the tensors."""

    epoch: int = 0
    epochs: int = 0  # length of the schedule that the learning rate follows
    step: int = 0
    learning_rate: float = 0.0
    best: float = -1.0
    best_epoch: int = 0
    waited: int = 0  # epochs since the last better score or decay
    decays: int = 0
    history: list[dict[str, int | float]] = field(default_factory=list)


class Trainer:
    """The network, its optimiser, the average and the best of its weights, and the state of the run."""

    def __init__(self, network: Learner, settings: Training, world: World) -> None:
        self.network = network
        self.settings = settings
        self.world = world
        self.rates = relative_rates(network, settings)
        for name, value in network.named_parameters():
            if not self.rates.get(name, 1.0):
                value.requires_grad_(False)
        self.weights = {name: value for name, value in network.named_parameters() if value.requires_grad}
        self.best = {name: value.detach().clone() for name, value in self.weights.items()}
        self.origin = {name: value.clone() for name, value in self.best.items()} if settings.pull else {}
        self.average = {name: value.clone() for name, value in self.best.items()} if settings.average else {}
        self.state = TrainingState(learning_rate=settings.learning_rate)
        self.optimizer = self.new_optimizer(settings.learning_rate)
        self.autocast = autocast(settings, world.device)

    def new_optimizer(self, learning_rate: float) -> torch.optim.AdamW:
        """Return AdamW, which without weight decay is the paper's Adam."""
        settings, device = self.settings, self.world.device
        groups: dict[float, list[nn.Parameter]] = {1.0: []}
        for name, weight in self.weights.items():
            groups.setdefault(self.rates.get(name, 1.0), []).append(weight)
        optimizer = torch.optim.AdamW(
            [{"params": weights, "lr": rate * learning_rate, "rate": rate} for rate, weights in groups.items()],
            learning_rate,
            (settings.beta1, settings.beta2),
            settings.epsilon,
            settings.weight_decay,
            fused=device.type == "cuda",
        )
        for weight in self.weights.values():  # a checkpoint is loaded into these tensors before the first step
            optimizer.state[weight] = {
                "step": torch.zeros((), device=device if device.type == "cuda" else "cpu"),
                "exp_avg": torch.zeros_like(weight),
                "exp_avg_sq": torch.zeros_like(weight),
            }
        return optimizer

    @property
    def learning_rate(self) -> float:
        return float(self.optimizer.param_groups[0]["lr"])

    def set_learning_rate(self, learning_rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * learning_rate

    def step(self, corpus: Corpus, sentences: Ints) -> dict[str, Tensor]:
        """Learn from a batch of sentences; return the losses, summed over its words and all processes."""
        with self.quantized():  # gradients at the rounded weights move the exact ones (straight-through)
            losses = self.losses(corpus, sentences)
            self.optimizer.zero_grad()
            total = torch.stack(list(losses.values())).sum() / int(corpus.lengths[sentences].sum())
            torch.autograd.backward(total)
        self.world.add_up([weight.grad for weight in self.weights.values() if weight.grad is not None])
        nn.utils.clip_grad_norm_(self.weights.values(), self.settings.clip)
        self.optimizer.step()
        self.pull_back()
        self.update_average()
        losses = {name: loss.detach() for name, loss in losses.items()}
        self.world.add_up(list(losses.values()))
        return losses

    def losses(self, corpus: Corpus, sentences: Ints) -> dict[str, Tensor]:
        """Return the losses on this process's share of a batch.

        A process without a share computes the losses of one sentence and multiplies them by 0: every process needs
        gradients to add up.
        """
        share = sentences[self.world.rank :: self.world.size]
        batch = corpus.batch(share if len(share) else sentences[:1])
        with self.autocast:
            losses = self.network.loss(TensorBatch.of(batch, self.world.device))
        return losses if len(share) else {name: loss * 0 for name, loss in losses.items()}

    def pull_back(self) -> None:
        """Move the weights a little towards those that training started from, if the settings want that."""
        for name, start in self.origin.items():
            rate = self.rates.get(name, 1.0) * self.learning_rate
            self.weights[name].data.lerp_(start, min(1.0, rate * self.settings.pull))

    def update_average(self) -> None:
        if self.average:
            # A young average forgets faster, so that the initial weights do not hold it back.
            keep = min(self.settings.average, (1 + self.state.step) / (10 + self.state.step))
            torch._foreach_lerp_(list(self.average.values()), list(self.weights.values()), 1 - keep)

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Give the network the averaged weights, if there is an average, inside the block."""
        if not self.average:
            yield
            return
        own = {name: weight.detach().clone() for name, weight in self.weights.items()}
        self.put(self.average)
        try:
            yield
        finally:
            self.put(own)

    @contextmanager
    def quantized(self, scoring: bool = False) -> Iterator[None]:
        """Give the network its weights as they will be saved, inside the block, if it is time for that.

        On dev it is always time: an epoch with exact weights must not win over those that know of the rounding.
        """
        settings = self.settings
        first = 0.0 if scoring and settings.quantize_from < 1 else settings.quantize_from * settings.epochs
        if settings.weight_bits == HALF or self.state.epoch <= first:
            yield
            return
        own = {name: weight.detach().clone() for name, weight in self.weights.items()}
        self.put({name: rounded_rows(weight, settings.weight_bits) for name, weight in own.items()})
        try:
            yield
        finally:
            self.put(own)

    def put(self, values: dict[str, Tensor]) -> None:
        """Give the network these weights."""
        with torch.no_grad():
            for name, weight in self.weights.items():
                weight.copy_(values[name])

    def keep_best(self) -> None:
        """Remember the network's weights as the best ones."""
        for name, weight in self.weights.items():
            self.best[name].copy_(weight.detach())

    def back_to_best(self) -> None:
        """Return to the best weights with a fresh optimiser, as the original system does on a plateau."""
        self.put(self.best)
        for name, value in self.average.items():
            value.copy_(self.best[name])
        self.optimizer = self.new_optimizer(self.learning_rate)

    def tensors(self) -> dict[str, Tensor]:
        """Return everything that a checkpoint keeps, by name; loading writes into these very tensors."""
        result = {f"weights/{stored_name(name)}": weight.detach() for name, weight in self.weights.items()}
        result |= {f"best/{stored_name(name)}": value for name, value in self.best.items()}
        result |= {f"average/{stored_name(name)}": value for name, value in self.average.items()}
        for name, weight in self.weights.items():
            state = self.optimizer.state[weight]
            result |= {f"adam/{key}/{stored_name(name)}": value for key, value in state.items()}
        return result


def autocast(settings: Training, device: torch.device) -> torch.autocast:
    """Return the context of a forward pass in the precision that the settings ask for."""
    bfloat16 = settings.precision == "bfloat16" or (settings.precision == "auto" and device.type == "cuda")
    return torch.autocast(device.type, torch.bfloat16, enabled=bfloat16)


def relative_rates(network: Learner, settings: Training) -> dict[str, float]:
    """Return the learning rates of pretrained weights, by name, relative to that of all others."""
    top = settings.encoder_learning_rate / settings.learning_rate if settings.learning_rate else 0.0
    return {name: top * settings.layer_decay**above for name, above in network.pretrained().items()}
