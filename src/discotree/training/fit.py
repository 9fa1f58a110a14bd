"""The training loop: the same numbers from the same seed, resumable, in one process or many.

Every epoch starts from a seed of its own, made of the run's seed and the epoch's number, so a run that was
interrupted between epochs goes on exactly as if it had not been. Under ``torchrun`` every process takes its
share of each batch and the gradients are added up: the result is that of one process.
"""

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from discotree import config
from discotree.errors import ModelError
from discotree.network.batch import Batch, Corpus, Ints, by_length
from discotree.training.checkpoint import FILE as CHECKPOINT
from discotree.training.checkpoint import load_checkpoint, save_checkpoint

Report = Callable[[str, dict[str, float]], None]  # what happened ("step", "epoch"), and its figures


class Learner(Protocol):
    """What can be trained: a module that knows its losses, summed over the words of a batch.

    Weights that were pretrained may learn at a rate of their own: it names them, with how many layers lie above each.
    """

    def loss(self, batch: Batch) -> dict[str, Tensor]: ...

    def train(self) -> object: ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...

    def pretrained(self) -> dict[str, int]: ...


@dataclass(frozen=True)
class World:
    """The processes that train together; one alone where torchrun has not started more."""

    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls, device: torch.device) -> "World":
        size = int(os.environ.get("WORLD_SIZE", "1"))
        if size == 1:
            return cls()
        if not dist.is_initialized():
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        return cls(dist.get_rank(), dist.get_world_size())

    def add_up(self, tensors: list[Tensor]) -> None:
        """Sum the tensors over all processes, in place and in one message."""
        if self.size > 1:
            flat = torch.cat([tensor.flatten() for tensor in tensors])
            dist.all_reduce(flat)
            for tensor, part in zip(tensors, torch.split(flat, [tensor.numel() for tensor in tensors]), strict=True):
                tensor.copy_(part.view_as(tensor))

    def agree(self, figures: dict[str, float], device: torch.device) -> dict[str, float]:
        """The mean over all processes: no two clocks are the same, and no two GPUs, but all must decide the same."""
        if self.size == 1:
            return figures
        together = torch.tensor(list(figures.values()), dtype=torch.float64, device=device)
        self.add_up([together])
        return {name: float(value) / self.size for name, value in zip(figures, together, strict=True)}

    def wait(self) -> None:
        """Until all processes have come this far."""
        if self.size > 1:
            dist.barrier()


@dataclass
class State:
    """Where a run stands after an epoch: what a checkpoint keeps beside the tensors."""

    epoch: int = 0
    step: int = 0
    learning_rate: float = 0.0
    best: float = -1.0
    best_epoch: int = 0
    waited: int = 0  # epochs since the last better score or decay
    decays: int = 0
    history: list[dict[str, int | float]] = field(default_factory=list)


def fit(
    network: Learner,
    corpus: Corpus,
    validate: Callable[[], dict[str, float]],
    criterion: str,
    settings: config.Training,
    device: torch.device,
    folder: Path | None = None,
    identity: str = "",
    report: Report = lambda *_: None,
) -> State:
    """Train the network; it ends up with the weights of the best epoch.

    ``validate`` gives the figures on dev, of which the ``criterion`` decides. With a folder, every epoch leaves a
    checkpoint there, and a checkpoint that is there already is where training goes on, if it is of the same
    ``identity``.
    """
    world = World.join(device)
    trainer = Trainer(network, settings, device, world)
    state, file = trainer.state, folder / CHECKPOINT if folder else None
    if file and file.exists():
        state = trainer.state = load_checkpoint(file, trainer.tensors(), State, identity)
        trainer.set_learning_rate(state.learning_rate)
    steps = sum(1 for _ in by_length(corpus.lengths, settings.batch_words))
    while not is_over(state, settings):
        state.epoch += 1
        seed(settings.seed, state.epoch, world.rank)
        began = time.perf_counter()
        order = np.random.default_rng([settings.seed, state.epoch])
        losses: list[dict[str, Tensor]] = []
        network.train()
        for sentences in by_length(corpus.lengths, settings.batch_words, order):
            if settings.schedule == "cosine":
                trainer.set_learning_rate(cosine(settings, state.step, steps * settings.epochs))
            losses.append(trainer.step(corpus, sentences))
            state.step += 1
            report("step", {"step": state.step, "epoch": state.epoch, "steps": steps})
        trained = time.perf_counter() - began
        with trainer.averaged():
            figures = world.agree(validate(), device)
            better = figures[criterion] > state.best
            if better:
                state.best, state.best_epoch, state.waited = figures[criterion], state.epoch, 0
                trainer.keep_best()
        if not better:
            state.waited += 1
            if settings.schedule == "plateau" and state.waited >= settings.patience:
                state.decays, state.waited = state.decays + 1, 0
                trainer.back_to_best()
                trainer.set_learning_rate(trainer.learning_rate * settings.decay)
        words = int(corpus.lengths.sum())
        mean = {f"loss/{name}": float(sum(part[name] for part in losses)) / words for name in losses[0]}
        state.learning_rate = trainer.learning_rate
        if not math.isfinite(sum(mean.values())):
            raise ModelError(f"the loss is no number any more in epoch {state.epoch}: {mean}")
        took = {"seconds": trained, "validation_seconds": time.perf_counter() - began - trained}
        state.history.append(
            {
                "epoch": state.epoch,
                "learning_rate": state.learning_rate,
                **world.agree(took, device),
                "loss": sum(mean.values()),
                **mean,
                **{f"dev/{name}": value for name, value in figures.items()},
            }
        )
        report("epoch", state.history[-1])
        if file and world.rank == 0 and settings.checkpoint_epochs and not state.epoch % settings.checkpoint_epochs:
            save_checkpoint(file, trainer.tensors(), state, identity)
    trainer.put(trainer.best)
    return state


def is_over(state: State, settings: config.Training) -> bool:
    spent = sum(epoch["seconds"] + epoch["validation_seconds"] for epoch in state.history)
    too_late = settings.max_seconds and spent > settings.max_seconds
    return bool(too_late) or state.epoch >= settings.epochs or state.decays > settings.max_decays


class Trainer:
    """The network, its optimiser, and the weights that are kept aside: the average and the best ones."""

    def __init__(self, network: Learner, settings: config.Training, device: torch.device, world: World) -> None:
        self.network = network
        self.settings = settings
        self.device = device
        self.world = world
        self.rates = relative_rates(network, settings)
        for name, value in network.named_parameters():
            if not self.rates.get(name, 1.0):
                value.requires_grad_(False)
        self.weights = {name: value for name, value in network.named_parameters() if value.requires_grad}
        self.best = {name: value.detach().clone() for name, value in self.weights.items()}
        self.average = {name: value.clone() for name, value in self.best.items()} if settings.average else {}
        self.state = State(learning_rate=settings.learning_rate)
        self.optimizer = self.new_optimizer(settings.learning_rate)
        bfloat16 = settings.precision == "bfloat16" or (settings.precision == "auto" and device.type == "cuda")
        self.autocast = torch.autocast(device.type, torch.bfloat16, enabled=bfloat16)

    def new_optimizer(self, learning_rate: float) -> torch.optim.AdamW:
        """Adam, as in the paper, unless there is weight decay: that is then kept apart from the gradients."""
        settings = self.settings
        groups: dict[float, list[nn.Parameter]] = {1.0: []}
        for name, weight in self.weights.items():
            groups.setdefault(self.rates.get(name, 1.0), []).append(weight)
        optimizer = torch.optim.AdamW(
            [{"params": some, "lr": rate * learning_rate, "rate": rate} for rate, some in groups.items()],
            learning_rate,
            (settings.beta1, settings.beta2),
            settings.epsilon,
            settings.weight_decay,
            fused=self.device.type == "cuda",
        )
        for weight in self.weights.values():  # so that a checkpoint has somewhere to go before the first step
            optimizer.state[weight] = {
                "step": torch.zeros((), device=self.device if self.device.type == "cuda" else "cpu"),
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
        """Learn from some sentences; gives the losses, summed over them and over all processes."""
        share = sentences[self.world.rank :: self.world.size]
        some = share if len(share) else sentences[:1]  # a process without a share goes through the motions
        with self.autocast:
            losses = self.network.loss(corpus.batch(some).to(self.device))
        if not len(share):
            losses = {name: loss * 0 for name, loss in losses.items()}
        self.optimizer.zero_grad()
        total = torch.stack(list(losses.values())).sum() / int(corpus.lengths[sentences].sum())
        torch.autograd.backward(total)
        self.world.add_up([weight.grad for weight in self.weights.values() if weight.grad is not None])
        nn.utils.clip_grad_norm_(self.weights.values(), self.settings.clip)
        self.optimizer.step()
        if self.average:
            # a young average forgets faster, so that it is not held back by where training began
            keep = min(self.settings.average, (1 + self.state.step) / (10 + self.state.step))
            torch._foreach_lerp_(list(self.average.values()), list(self.weights.values()), 1 - keep)
        losses = {name: loss.detach() for name, loss in losses.items()}
        self.world.add_up(list(losses.values()))
        return losses

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Inside, the network has the averaged weights, where an average is kept."""
        if not self.average:
            yield
            return
        own = {name: weight.detach().clone() for name, weight in self.weights.items()}
        self.put(self.average)
        try:
            yield
        finally:
            self.put(own)

    def put(self, values: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for name, weight in self.weights.items():
                weight.copy_(values[name])

    def keep_best(self) -> None:
        for name, weight in self.weights.items():
            self.best[name].copy_(weight.detach())

    def back_to_best(self) -> None:
        """As the original does on a plateau: the best weights, and an optimiser that remembers nothing else."""
        self.put(self.best)
        for name, value in self.average.items():
            value.copy_(self.best[name])
        self.optimizer = self.new_optimizer(self.learning_rate)

    def tensors(self) -> dict[str, Tensor]:
        """All that a checkpoint must keep, by name; loading writes into these very tensors."""
        result = {f"weights/{name}": weight.detach() for name, weight in self.weights.items()}
        result |= {f"best/{name}": value for name, value in self.best.items()}
        result |= {f"average/{name}": value for name, value in self.average.items()}
        for name, weight in self.weights.items():
            result |= {f"adam/{key}/{name}": value for key, value in self.optimizer.state[weight].items()}
        return result


def relative_rates(network: Learner, settings: config.Training) -> dict[str, float]:
    """How fast pretrained weights learn, by their names, where the others' learning rate is 1."""
    whole = settings.encoder_learning_rate / settings.learning_rate if settings.learning_rate else 0.0
    return {name: whole * settings.layer_decay**above for name, above in network.pretrained().items()}


def seed(run: int, epoch: int, rank: int) -> None:
    """Dropout in every epoch and process has a seed of its own."""
    torch.manual_seed(int(np.random.SeedSequence([run, epoch, rank]).generate_state(1, np.uint64)[0] >> np.uint64(1)))


def cosine(settings: config.Training, step: int, steps: int) -> float:
    """Up in a straight line, then down along half a cosine."""
    if step < settings.warmup:
        return settings.learning_rate * (step + 1) / settings.warmup
    done = (step - settings.warmup) / max(1, steps - settings.warmup)
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
