"""The loop of pretraining: deterministic from a seed, resumable to the same weights.

Each step seeds what it draws with its own number, so a run that goes on after a checkpoint draws what an uninterrupted
one does. The loop asks a GPU for results only when it reports: in between, the two work side by side.
"""

import logging
import math
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from discotree.config.pretraining import PretrainingSettings
from discotree.errors import ModelError, first_line
from discotree.training.checkpoint import load_checkpoint, save_checkpoint
from discotree.training.pretraining.objectives import Objective
from discotree.training.pretraining.optimizers import EncoderOptimizer
from discotree.training.pretraining.sequences import Sequences, batches

logger = logging.getLogger("discotree")
PretrainingReport = Callable[[str, dict[str, float]], None]
"""Gets an event, "resume" or "step", and its metrics."""


def silent_steps(event: str, metrics: dict[str, float]) -> None:
    """Report nothing."""


@dataclass
class PretrainingState:
    """How far a run has come: what a checkpoint keeps beside the tensors."""

    step: int = 0
    seconds: float = 0.0  # in the loop, that of earlier processes included
    startup: float = 0.0  # the part of it in which the network was compiled
    history: list[dict[str, int | float]] = field(default_factory=list)


@dataclass(frozen=True)
class Length:
    """How long a run is: a number of steps, or of seconds."""

    steps: int
    seconds: float

    @classmethod
    def of(cls, settings: PretrainingSettings, sequences: Sequences) -> "Length":
        if settings.max_seconds:
            return cls(0, settings.max_seconds)
        passes = max(1, math.ceil(settings.passes * sequences.per_pass / settings.batch))
        return cls(settings.steps or passes, 0.0)

    def progress(self, state: PretrainingState) -> float:
        """Return the share of the run that is done; compiling takes time, but is no part of the schedule."""
        if self.steps:
            return state.step / self.steps
        left = self.seconds - state.startup
        return (state.seconds - state.startup) / left if left > 0 else 1.0


def learning_rate(settings: PretrainingSettings, progress: float) -> float:
    """Return the learning rate at a share of the run: a linear warm-up, then a fall to 0."""
    if progress < settings.warmup:
        return settings.learning_rate * max(progress, 1e-3) / settings.warmup
    rest = min(1.0, (progress - settings.warmup) / (1 - settings.warmup))
    falling = 1 - rest if settings.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * rest))
    return settings.learning_rate * falling


class PretrainingLoop:
    """An objective in training."""

    def __init__(
        self,
        objective: Objective,
        sequences: Sequences,
        settings: PretrainingSettings,
        device: torch.device,
        checkpoint: Path | None = None,
        identity: str = "",
        report: PretrainingReport = silent_steps,
    ) -> None:
        self.objective = objective.to(device).train()
        self.sequences = sequences
        self.settings = settings
        self.device = device
        self.checkpoint = checkpoint
        self.identity = identity
        self.report = report
        self.optimizer = EncoderOptimizer(dict(objective.named_parameters()), settings)
        self.length = Length.of(settings, sequences)
        self.state = PretrainingState()
        on_gpu = device.type == "cuda"
        bfloat16 = settings.precision == "bfloat16" or (settings.precision == "auto" and on_gpu)
        self.autocast = torch.autocast(device.type, torch.bfloat16, enabled=bfloat16)
        self.is_compiled = settings.compile and on_gpu
        self.losses = torch.compile(objective.losses, dynamic=False) if self.is_compiled else objective.losses
        self.sums: dict[str, Tensor] = {}  # losses since the last report
        self.reported = self.saved = (0, 0.0)  # step and seconds of the last report and the last checkpoint

    def run(self) -> PretrainingState:
        """Train to the end, from the checkpoint if there is one."""
        state = self.state
        if self.checkpoint and self.checkpoint.exists():
            tensors = self.optimizer.tensors()
            self.state = state = load_checkpoint(self.checkpoint, tensors, PretrainingState, self.identity)
            self.report("resume", {"step": state.step, "progress": self.length.progress(state)})
        self.reported = self.saved = (state.step, state.seconds)
        began = time.perf_counter() - state.seconds
        if self.length.progress(state) >= 1:
            return state
        if self.is_compiled:
            self.warm_up()
            state.startup += time.perf_counter() - began - state.seconds
            if state.startup >= self.length.seconds > 0:
                raise ModelError(f"compiling took {state.startup:.0f} s, and so all of training.max_seconds")
        with closing(batches(self.sequences, self.settings.batch, state.step, self.device)) as rows:
            while (progress := self.length.progress(state)) < 1:
                self.backward(next(rows), state.step)
                rate = learning_rate(self.settings, progress)
                self.optimizer.step(rate)
                state.step += 1
                state.seconds = time.perf_counter() - began
                if state.step % self.settings.report_steps == 0 or self.length.progress(state) >= 1:
                    self.tell(rate)
                    state.seconds = time.perf_counter() - began  # the clock of what the GPU has done
                if self.is_due():
                    self.save()
        return state

    def backward(self, rows: Tensor, step: int) -> None:
        """Compute the gradients of a batch (B, L), and add up its losses."""
        seed = np.random.SeedSequence([self.settings.seed, step]).generate_state(1, np.uint64)[0]
        torch.manual_seed(int(seed >> np.uint64(1)))
        drawn = self.objective.draw(rows)
        with self.autocast:
            losses = self.losses(*drawn)
        torch.autograd.backward(losses["loss"])
        for name, loss in losses.items():
            value = loss.detach()
            self.sums[name] = self.sums[name] + value if name in self.sums else value.clone()

    def warm_up(self) -> None:
        """Compile the network, by a batch that nothing is learned from; where that fails, go on without."""
        with closing(batches(self.sequences, self.settings.batch, self.state.step, self.device)) as rows:
            try:
                self.backward(next(rows), self.state.step)
            except torch.cuda.OutOfMemoryError:
                raise
            except Exception as error:  # depends on the compilers of the machine
                logger.warning("the network cannot be compiled, which makes it slower: %s", first_line(error))
                self.losses = self.objective.losses
        self.sums = {}
        for weight in self.optimizer.weights.values():
            weight.grad = None
        torch.cuda.synchronize(self.device)

    def tell(self, rate: float) -> None:
        """Report the mean losses since the last report, and the speed."""
        state, (step, seconds) = self.state, self.reported
        steps = state.step - step
        means = {name: float(value) / steps for name, value in self.sums.items()}  # waits for the GPU
        self.sums = {}
        if not all(map(math.isfinite, means.values())):
            raise ModelError(
                f"pretraining diverged before step {state.step}, lower training.learning_rate: the losses are {means}"
            )
        size = self.settings.batch * self.sequences.length
        elapsed = max(state.seconds - seconds, 1e-9)
        metrics: dict[str, int | float] = {
            "step": state.step,
            "passes": state.step * self.settings.batch / self.sequences.per_pass,
            "progress": min(1.0, self.length.progress(state)),
            "learning_rate": rate,
            **means,
            "pieces_per_second": steps * size / elapsed,
            "seconds": state.seconds,
        }
        state.history.append(metrics)
        self.reported = (state.step, state.seconds)
        self.report("step", dict(metrics))

    def is_due(self) -> bool:
        """Tell whether it is time for a checkpoint; sums of losses are not kept, so only after a report."""
        if self.checkpoint is None or self.reported[0] != self.state.step or self.length.progress(self.state) >= 1:
            return False
        (step, seconds), every = self.saved, self.settings
        by_step = every.checkpoint_steps and self.state.step - step >= every.checkpoint_steps
        return bool(by_step or (every.checkpoint_seconds and self.state.seconds - seconds >= every.checkpoint_seconds))

    def save(self) -> None:
        """Write a checkpoint."""
        if self.checkpoint:
            save_checkpoint(self.checkpoint, self.optimizer.tensors(), self.state, self.identity)
            self.saved = (self.state.step, self.state.seconds)
