"""The training loop: deterministic for a seed, in one process or many; a resumed run gives the same numbers.

Every epoch has its own random seed, made of the run's seed and the number of the epoch, so a run that is interrupted
between epochs continues exactly as if it had not been. Under ``torchrun`` every process takes its share of
each batch and the gradients are added up, so the result is that of one process.
"""

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from discotree.config.schema import HALF_PRECISION_BITS, Training
from discotree.errors import ConfigError, ModelError
from discotree.files.writing import write_bytes
from discotree.models.folder import stored_name
from discotree.network.arrays import I64
from discotree.network.batch import Batch, Corpus, by_length
from discotree.network.pytorch.model import rounded_rows
from discotree.network.pytorch.tensors import TensorBatch
from discotree.training.distributed import ProcessGroup
from discotree.validation import from_table

Epochs = Callable[[int], Corpus]  # gives the sentences of an epoch, counted from 1
Report = Callable[[str, dict[str, float]], None]  # gets an event, "start", "resume", "step" or "epoch", and its metrics
T = TypeVar("T")
CHECKPOINT = "checkpoint.safetensors"
BETA1 = 0.9  # of Adam
MAX_NORM = 5.0  # the gradient is clipped to this norm


def silent(event: str, metrics: dict[str, float]) -> None:
    """Report nothing."""


class Learner(Protocol):
    """A module that can be trained."""

    def loss(self, batch: TensorBatch) -> dict[str, Tensor]:
        """Return the losses, each summed over the words of the batch."""

    def train(self) -> object: ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...

    def pretrained(self) -> dict[str, int]:
        """Return the pretrained weights, which have their own learning rate, with the number of layers above each."""


@dataclass(frozen=True, eq=False)
class Share:
    """The sentences of a batch that one process learns from."""

    batch: Batch
    words: int  # of the whole batch, in all processes
    counts: bool  # False if the batch has too few sentences for this process


@dataclass
class TrainingState:
    """The state of a run after an epoch, saved in a checkpoint beside the tensors."""

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
    """The network in training: its optimiser, the average and the best of its weights, and the state of the run."""

    def __init__(self, network: Learner, settings: Training, process_group: ProcessGroup) -> None:
        self.network = network
        self.settings = settings
        self.process_group = process_group
        # The learning rates of pretrained weights, by name, relative to that of all others
        top = settings.encoder_learning_rate / settings.learning_rate if settings.learning_rate else 0.0
        self.rates = {name: top * settings.layer_decay**above for name, above in network.pretrained().items()}
        for name, value in network.named_parameters():
            if not self.rates.get(name, 1.0):
                value.requires_grad_(False)
        self.weights = {name: value for name, value in network.named_parameters() if value.requires_grad}
        self.best = {name: value.detach().clone() for name, value in self.weights.items()}
        self.origin = {name: value.clone() for name, value in self.best.items()} if settings.l2_sp else {}
        self.average = {name: value.clone() for name, value in self.best.items()} if settings.ema_decay else {}
        self.state = TrainingState(learning_rate=settings.learning_rate)
        self.optimizer = self.new_optimizer(settings.learning_rate)
        self.autocast = autocast(settings, process_group.device)

    def new_optimizer(self, learning_rate: float) -> torch.optim.AdamW:
        """Return AdamW without weight decay, which is the paper's Adam; it has no state yet."""
        settings, device = self.settings, self.process_group.device
        groups: dict[float, list[nn.Parameter]] = {1.0: []}
        for name, weight in self.weights.items():
            groups.setdefault(self.rates.get(name, 1.0), []).append(weight)
        optimizer = torch.optim.AdamW(
            [{"params": weights, "lr": rate * learning_rate, "rate": rate} for rate, weights in groups.items()],
            learning_rate,
            (BETA1, settings.beta2),
            settings.epsilon,
            weight_decay=0.0,
            fused=device.type == "cuda",
        )
        create_adam_state(optimizer)
        return optimizer

    @property
    def learning_rate(self) -> float:
        return float(self.optimizer.param_groups[0]["lr"])

    def set_learning_rate(self, learning_rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * learning_rate

    def share(self, corpus: Corpus, sentences: I64) -> Share:
        """Return this process's share of a batch of sentences.

        If there is none for it, the share is a sentence that does not count, because every process must contribute
        gradients.
        """
        own = sentences[self.process_group.rank :: self.process_group.size]
        batch = corpus.batch(own if len(own) else sentences[:1])
        return Share(batch, int(corpus.lengths[sentences].sum()), len(own) > 0)

    def step(self, share: Share) -> dict[str, Tensor]:
        """Take a step on this process's share of a batch.

        Returns the losses, summed over the words of the batch and over all processes.
        """
        with self.using(self.rounded()):  # gradients at the rounded weights move the exact ones (straight-through)
            losses = self.losses(share)
            self.optimizer.zero_grad()
            total = torch.stack(list(losses.values())).sum() / share.words
            torch.autograd.backward(total)
        self.process_group.add_up([weight.grad for weight in self.weights.values() if weight.grad is not None])
        nn.utils.clip_grad_norm_(self.weights.values(), MAX_NORM)
        self.optimizer.step()
        for name, base in self.origin.items():  # move towards the weights of the base model (L2-SP)
            rate = self.rates.get(name, 1.0) * self.learning_rate
            self.weights[name].data.lerp_(base, min(1.0, rate * self.settings.l2_sp))
        if self.average:
            # The decay is lower in the first steps, so that the initial weights are soon forgotten.
            decay = min(self.settings.ema_decay, (1 + self.state.step) / (10 + self.state.step))
            torch._foreach_lerp_(list(self.average.values()), list(self.weights.values()), 1 - decay)
        losses = {name: loss.detach() for name, loss in losses.items()}
        self.process_group.add_up(list(losses.values()))
        return losses

    def losses(self, share: Share) -> dict[str, Tensor]:
        """Return the losses on this process's share of a batch."""
        with self.autocast:
            losses = self.network.loss(TensorBatch.of(share.batch, self.process_group.device))
        return losses if share.counts else {name: loss * 0 for name, loss in losses.items()}

    @contextmanager
    def using(self, values: dict[str, Tensor]) -> Iterator[None]:
        """Temporarily replace the weights by these values, if there are any."""
        exact = {name: weight.detach().clone() for name, weight in self.weights.items()} if values else {}
        self.put(values)
        try:
            yield
        finally:
            self.put(exact)

    def rounded(self, scoring: bool = False) -> dict[str, Tensor]:
        """Return the quantised weights once quantisation-aware training has started.

        For scoring on dev, the weights are quantised from the first epoch: otherwise an early epoch with exact weights
        could beat later ones that are trained with the rounding.
        """
        settings = self.settings
        first = 0.0 if scoring and settings.quantize_from < 1 else settings.quantize_from * settings.epochs
        if settings.weight_bits == HALF_PRECISION_BITS or self.state.epoch <= first:
            return {}
        return {name: rounded_rows(weight.detach(), settings.weight_bits) for name, weight in self.weights.items()}

    def put(self, values: dict[str, Tensor]) -> None:
        """Copy these values into the weights of the network."""
        with torch.no_grad():
            for name, value in values.items():
                self.weights[name].copy_(value)

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors of a checkpoint, by name; loading copies into them."""
        result = {f"weights/{stored_name(name)}": weight.detach() for name, weight in self.weights.items()}
        result |= {f"best/{stored_name(name)}": value for name, value in self.best.items()}
        result |= {f"average/{stored_name(name)}": value for name, value in self.average.items()}
        for name, weight in self.weights.items():
            state = self.optimizer.state[weight]
            result |= {f"adam/{key}/{stored_name(name)}": value for key, value in state.items()}
        return result


def autocast(settings: Training, device: torch.device) -> torch.autocast:
    """Return the context manager that runs a forward pass in the precision of the settings."""
    bfloat16 = settings.precision == "bfloat16" or (settings.precision == "auto" and device.type == "cuda")
    return torch.autocast(device.type, torch.bfloat16, enabled=bfloat16)


@dataclass(frozen=True)
class Run:
    """One training run: its settings, its processes, and where its checkpoints and reports go."""

    settings: Training
    process_group: ProcessGroup = field(default_factory=ProcessGroup)
    folder: Path | None = None  # no checkpoints without one
    fingerprint: str = ""  # only a checkpoint with the same fingerprint is resumed
    report: Report = silent
    dev_decides: bool = True  # on the best epoch; otherwise the last one is kept

    def __post_init__(self) -> None:
        if self.settings.schedule == "clock" and not self.settings.max_seconds:
            raise ConfigError("training.schedule: 'clock' requires training.max_seconds")

    @property
    def checkpoint(self) -> Path | None:
        return self.folder / CHECKPOINT if self.folder else None


def fit(
    network: Learner, corpus: Corpus | Epochs, validate: Callable[[], dict[str, float]], criterion: str, run: Run
) -> TrainingState:
    """Train the network and leave it with the weights of the best epoch.

    ``corpus`` is the training data of every epoch, or a function that returns the data of an epoch. ``validate``
    returns the metrics on dev; the one named ``criterion`` decides which epoch is the best. A run with a folder writes
    checkpoints there and resumes from the latest one.
    """
    trainer = Trainer(network, run.settings, run.process_group)
    if run.checkpoint and run.checkpoint.exists():
        trainer.state = state = load_checkpoint(run.checkpoint, trainer.tensors(), TrainingState, run.fingerprint)
        trainer.set_learning_rate(state.learning_rate)
        over = is_over(state, run.settings)
        run.report("resume", {"epoch": state.epoch, "planned": state.epochs, "over": float(over)})
    # The number of epochs may have changed since. On a plateau schedule it is only a limit; a cosine schedule
    # continues as if it had had the new length from the beginning.
    state = trainer.state
    state.epochs = run.settings.epochs
    while not is_over(state, run.settings):
        state.epoch += 1
        began = time.perf_counter()
        losses = train_epoch(trainer, corpus if isinstance(corpus, Corpus) else corpus(state.epoch), run)
        trained = time.perf_counter()
        metrics = validate_epoch(trainer, validate, criterion, run.dev_decides)
        state.learning_rate = trainer.learning_rate
        times = {"seconds": trained - began, "validation_seconds": time.perf_counter() - trained}
        epoch: dict[str, float] = {
            "epoch": state.epoch,
            "learning_rate": state.learning_rate,
            **run.process_group.mean(times),
            "loss": sum(losses.values()),
            **{f"loss/{name}": loss for name, loss in losses.items()},
            **{f"dev/{name}": value for name, value in metrics.items()},
        }
        state.history.append(epoch)
        run.report("epoch", epoch)
        every = run.settings.checkpoint_epochs
        if run.checkpoint and run.process_group.is_first and every and state.epoch % every == 0:
            save_checkpoint(run.checkpoint, trainer.tensors(), state, run.fingerprint)
    trainer.put(trainer.best)
    return state


def train_epoch(trainer: Trainer, corpus: Corpus, run: Run) -> dict[str, float]:
    """Train on all sentences once; return the mean losses per word."""
    settings, state = run.settings, trainer.state
    seed_torch(settings.seed, state.epoch, run.process_group.rank)
    order = np.random.default_rng([settings.seed, state.epoch])
    steps = sum(1 for _ in by_length(corpus.lengths, settings.batch_words))
    losses: list[dict[str, Tensor]] = []
    words = 0
    trainer.network.train()
    began = time.perf_counter() - elapsed(state)
    before = steps * (state.epoch - 1)  # epochs may differ in steps; each is an equal share of the cosine
    batches = by_length(corpus.lengths, settings.batch_words, order)
    for done, share in enumerate(one_ahead(lambda sentences: trainer.share(corpus, sentences), batches), 1):
        if settings.schedule == "cosine":
            trainer.set_learning_rate(cosine(settings, before + done - 1, steps * settings.epochs))
        elif settings.schedule == "clock":
            seconds = run.process_group.mean({"seconds": time.perf_counter() - began})["seconds"]
            used = seconds / settings.max_seconds
            if used >= 1 and losses:
                break
            trainer.set_learning_rate(by_clock(settings, state.step, used))
        losses.append(trainer.step(share))
        words += share.words
        state.step += 1
        run.report("step", {"step": state.step, "epoch": state.epoch, "steps": steps, "done": done})
    mean = {name: float(sum(batch[name] for batch in losses)) / words for name in losses[0]}
    if not math.isfinite(sum(mean.values())):
        raise ModelError(
            f"training diverged in epoch {state.epoch}: the losses are {mean}; lower training.learning_rate"
        )
    return mean


def one_ahead(function: Callable[[I64], T], items: Iterable[I64]) -> Iterator[T]:
    """Apply a function to all items, in a thread that is one item ahead of the loop."""
    with ThreadPoolExecutor(1) as thread:
        waiting = None
        for item in items:
            ready, waiting = waiting, thread.submit(function, item)
            if ready is not None:
                yield ready.result()
        if waiting is not None:
            yield waiting.result()


def validate_epoch(
    trainer: Trainer, validate: Callable[[], dict[str, float]], criterion: str, dev_decides: bool = True
) -> dict[str, float]:
    """Score the network on dev; store the best weights so far, and lower the learning rate on a plateau.

    If dev does not decide on the best epoch, the weights of the last epoch are stored.
    """
    state, settings = trainer.state, trainer.settings
    with trainer.using(trainer.average):
        with trainer.using(trainer.rounded(scoring=True)):
            metrics = trainer.process_group.mean(validate())
        if metrics[criterion] > state.best or not dev_decides:
            state.best, state.best_epoch, state.waited = metrics[criterion], state.epoch, 0
            for name, weight in trainer.weights.items():
                trainer.best[name].copy_(weight.detach())
            return metrics
    state.waited += 1
    if settings.schedule == "plateau" and state.waited >= settings.patience:
        state.decays, state.waited = state.decays + 1, 0
        # Return to the best weights with a fresh optimiser, as the paper's code does.
        trainer.put(trainer.best)
        for name, value in trainer.average.items():
            value.copy_(trainer.best[name])
        trainer.optimizer = trainer.new_optimizer(trainer.learning_rate * settings.plateau_factor)
    return metrics


def is_over(state: TrainingState, settings: Training) -> bool:
    """Tell whether a run has reached its limit of time, epochs or decays."""
    too_late = settings.max_seconds and elapsed(state) > settings.max_seconds
    return bool(too_late) or state.epoch >= settings.epochs or state.decays > settings.max_decays


def seed_torch(*numbers: int) -> None:
    """Seed dropout by several numbers, such as the seed of the run, the epoch and the rank of the process."""
    drawn = np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]
    torch.manual_seed(int(drawn >> np.uint64(1)))


def cosine(settings: Training, step: int, steps: int) -> float:
    """Return the learning rate of a step: a linear warm-up, then half a cosine down to 0."""
    if step < settings.warmup:
        return settings.learning_rate * (step + 1) / settings.warmup
    return settings.learning_rate * half_cosine((step - settings.warmup) / max(1, steps - settings.warmup))


def by_clock(settings: Training, step: int, share: float) -> float:
    """Return the learning rate after a share of the time; the warm-up is counted in steps."""
    return settings.learning_rate * min((step + 1) / max(1, settings.warmup), 1.0) * half_cosine(share)


def half_cosine(share: float) -> float:
    """Return half a cosine, from 1 down to 0."""
    return 0.5 * (1 + math.cos(math.pi * min(1.0, share)))


def elapsed(state: TrainingState) -> float:
    """Return the seconds of all complete epochs."""
    return sum(epoch["seconds"] + epoch["validation_seconds"] for epoch in state.history)


# Checkpoints


def create_adam_state(optimizer: torch.optim.AdamW) -> None:
    """Create the state of the optimiser before its first step, so that a checkpoint can be loaded into it."""
    for group in optimizer.param_groups:
        for weight in group["params"]:
            optimizer.state[weight] = {
                "step": torch.zeros((), device=weight.device if weight.is_cuda else "cpu"),
                "exp_avg": torch.zeros_like(weight),
                "exp_avg_sq": torch.zeros_like(weight),
            }


def save_checkpoint(path: Path, tensors: dict[str, Tensor], state: Any, fingerprint: str) -> None:
    """Write a checkpoint, atomically. It can only be loaded with the same fingerprint of the run."""
    about = {"state": json.dumps(asdict(state)), "fingerprint": fingerprint}
    write_bytes(path, save({name: value.contiguous() for name, value in tensors.items()}, about))


def load_checkpoint(path: Path, tensors: dict[str, Tensor], kind: type[T], fingerprint: str) -> T:
    """Fill the tensors from a checkpoint with this fingerprint; return its state, a dataclass of type ``kind``."""
    try:
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
            if about.get("fingerprint") != fingerprint:
                raise ModelError(f"{path}: written with different settings or data; remove it to start over")
            if set(file.keys()) != tensors.keys():
                raise ModelError(f"{path}: written for a different network; remove it to start over")
            with torch.no_grad():
                for name, value in tensors.items():
                    saved = file.get_tensor(name)
                    if (saved.shape, saved.dtype) != (value.shape, value.dtype):
                        raise ValueError(f"{name} is {tuple(saved.shape)}, {saved.dtype}")
                    value.copy_(saved)
            return from_table(kind, json.loads(about["state"]), "state", complete=True)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ModelError(f"{path}: cannot read the checkpoint; remove it to start over: {error}") from None
