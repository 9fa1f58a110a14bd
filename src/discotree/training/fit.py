"""The training loop: deterministic from a seed, resumable to the same numbers, in one process or many.

Every epoch starts from a seed of its own, made of the run's seed and the number of the epoch, so a run that is
interrupted between epochs continues exactly as if it had not been. Under ``torchrun`` every process takes its share of
each batch and the gradients are added up: the result is that of one process.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from discotree.config import Training
from discotree.errors import ConfigError, ModelError
from discotree.network.batch import Corpus, by_length
from discotree.training.checkpoint import FILE, load_checkpoint, save_checkpoint
from discotree.training.distributed import World
from discotree.training.trainer import Learner, Trainer, TrainingState

Epochs = Callable[[int], Corpus]  # gives the sentences of an epoch, counted from 1
Report = Callable[[str, dict[str, float]], None]  # gets an event, "resume", "step" or "epoch", and its metrics


def silent(event: str, metrics: dict[str, float]) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Run:
    """One training run: its settings, its processes, and where its checkpoints and reports go."""

    settings: Training
    world: World = field(default_factory=World)
    folder: Path | None = None  # no checkpoints without one
    identity: str = ""  # only a checkpoint with the same identity is resumed
    report: Report = silent
    dev_decides: bool = True  # on the best epoch; otherwise the last one is kept

    def __post_init__(self) -> None:
        if self.settings.schedule == "clock" and not self.settings.max_seconds:
            raise ConfigError("training.schedule: 'clock' needs a limit of time, training.max_seconds")

    @property
    def checkpoint(self) -> Path | None:
        return self.folder / FILE if self.folder else None


def fit(
    network: Learner, corpus: Corpus | Epochs, validate: Callable[[], dict[str, float]], criterion: str, run: Run
) -> TrainingState:
    """Train the network and leave it with the weights of the best epoch.

    An epoch learns from the whole corpus, or from one of its own. ``validate`` returns the metrics on dev; the one
    named ``criterion`` decides which epoch is the best. A run with a folder writes checkpoints there and resumes from
    the one that it finds.
    """
    trainer = Trainer(network, run.settings, run.world)
    resume(trainer, run)
    state = trainer.state
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
            **run.world.mean(times),
            "loss": sum(losses.values()),
            **{f"loss/{name}": loss for name, loss in losses.items()},
            **{f"dev/{name}": value for name, value in metrics.items()},
        }
        state.history.append(epoch)
        run.report("epoch", epoch)
        save(trainer, run)
    trainer.put(trainer.best)
    return state


def resume(trainer: Trainer, run: Run) -> None:
    """Continue from the checkpoint of the run, if there is one, and report after which epoch.

    The number of epochs may have changed since. On a plateau schedule it is only a limit; a cosine goes on as if it had
    been made for the new number from the start.
    """
    if run.checkpoint and run.checkpoint.exists():
        trainer.state = state = load_checkpoint(run.checkpoint, trainer.tensors(), TrainingState, run.identity)
        trainer.set_learning_rate(state.learning_rate)
        over = is_over(state, run.settings)
        run.report("resume", {"epoch": state.epoch, "planned": state.epochs, "over": float(over)})
    trainer.state.epochs = run.settings.epochs


def train_epoch(trainer: Trainer, corpus: Corpus, run: Run) -> dict[str, float]:
    """Learn from all sentences once; return the mean losses per word."""
    settings, state = run.settings, trainer.state
    seed_epoch(settings.seed, state.epoch, run.world.rank)
    order = np.random.default_rng([settings.seed, state.epoch])
    steps = sum(1 for _ in by_length(corpus.lengths, settings.batch_words))
    losses: list[dict[str, Tensor]] = []
    words = 0
    trainer.network.train()
    clock = Clock(settings, state, run.world)
    before = steps * (state.epoch - 1)  # epochs may differ in their steps: each is the same share of the cosine
    for done, sentences in enumerate(by_length(corpus.lengths, settings.batch_words, order), 1):
        if settings.schedule == "cosine":
            trainer.set_learning_rate(cosine(settings, before + done - 1, steps * settings.epochs))
        elif settings.schedule == "clock":
            share = clock.share()
            if share >= 1 and losses:
                break
            trainer.set_learning_rate(by_clock(settings, state.step, share))
        losses.append(trainer.step(corpus, sentences))
        words += int(corpus.lengths[sentences].sum())
        state.step += 1
        run.report("step", {"step": state.step, "epoch": state.epoch, "steps": steps, "done": done})
    mean = {name: float(sum(batch[name] for batch in losses)) / words for name in losses[0]}
    if not math.isfinite(sum(mean.values())):
        raise ModelError(
            f"training diverged in epoch {state.epoch}, lower training.learning_rate: the losses are {mean}"
        )
    return mean


def validate_epoch(
    trainer: Trainer, validate: Callable[[], dict[str, float]], criterion: str, dev_decides: bool = True
) -> dict[str, float]:
    """Score the network on dev; keep its weights if they are the best so far, or else decay on a plateau.

    A dev set that decides nothing leaves the weights of the last epoch.
    """
    state, settings = trainer.state, trainer.settings
    with trainer.averaged():
        with trainer.quantized(scoring=True):
            metrics = trainer.world.mean(validate())
        if metrics[criterion] > state.best or not dev_decides:
            state.best, state.best_epoch, state.waited = metrics[criterion], state.epoch, 0
            trainer.keep_best()
            return metrics
    state.waited += 1
    if settings.schedule == "plateau" and state.waited >= settings.patience:
        state.decays, state.waited = state.decays + 1, 0
        trainer.back_to_best()
        trainer.set_learning_rate(trainer.learning_rate * settings.decay)
    return metrics


def save(trainer: Trainer, run: Run) -> None:
    """Write a checkpoint if one is due after this epoch."""
    every = run.settings.checkpoint_epochs
    if run.checkpoint and run.world.is_first and every and trainer.state.epoch % every == 0:
        save_checkpoint(run.checkpoint, trainer.tensors(), trainer.state, run.identity)


def is_over(state: TrainingState, settings: Training) -> bool:
    """Tell whether a run has reached its limit of time, epochs or decays."""
    too_late = settings.max_seconds and spent(state) > settings.max_seconds
    return bool(too_late) or state.epoch >= settings.epochs or state.decays > settings.max_decays


def seed_epoch(seed: int, epoch: int, rank: int) -> None:
    """Seed dropout, differently in every epoch and process."""
    drawn = np.random.SeedSequence([seed, epoch, rank]).generate_state(1, np.uint64)[0]
    torch.manual_seed(int(drawn >> np.uint64(1)))


def cosine(settings: Training, step: int, steps: int) -> float:
    """Return the learning rate of a step: a linear warm-up, then half a cosine down to 0."""
    if step < settings.warmup:
        return settings.learning_rate * (step + 1) / settings.warmup
    return settings.learning_rate * falling((step - settings.warmup) / max(1, steps - settings.warmup))


def by_clock(settings: Training, step: int, share: float) -> float:
    """Return the learning rate of a step when a share of the time is over; the warm-up still counts steps."""
    return settings.learning_rate * min((step + 1) / max(1, settings.warmup), 1.0) * falling(share)


def falling(share: float) -> float:
    """Return half a cosine, from 1 down to 0."""
    return 0.5 * (1 + math.cos(math.pi * min(1.0, share)))


def spent(state: TrainingState) -> float:
    """Return the seconds of all complete epochs."""
    return sum(epoch["seconds"] + epoch["validation_seconds"] for epoch in state.history)


class Clock:
    """How much of a run's time is over; all processes go by the mean of their clocks."""

    def __init__(self, settings: Training, state: TrainingState, world: World) -> None:
        self.world, self.limit, self.before = world, settings.max_seconds, spent(state)
        self.began = time.perf_counter()

    def share(self) -> float:
        """Return the share of the time that is over: 1 or more when the run has to end."""
        seconds = self.before + time.perf_counter() - self.began
        return self.world.mean({"seconds": seconds})["seconds"] / self.limit
