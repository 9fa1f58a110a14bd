"""The loop of pretraining: deterministic for a seed; a resumed run gives the same weights.

Each step has its own random seed, so a resumed run draws the same masks as an uninterrupted one. The loop waits for the
GPU only when it reports.

A sequence is [CLS], a stretch of text, [SEP]. Sequences are never padded: the end of a file is followed by its
beginning. Each pass cuts the text at other positions. Any batch can be made from its number alone.

Muon (Jordan et al. 2024) trains the matrices of layers, AdamW all other weights. Muon moves a matrix by its averaged
gradient after setting all singular values to about 1. Its steps are scaled to the size of AdamW's (Liu et al. 2025), so
both share one learning rate. torch.optim.Muon takes the same steps, one matrix at a time; on a CPU that is two to
three times slower than the batched products here.

Shapes: B sequences of a batch, L pieces of a sequence, M matrices of one shape, R rows, C columns.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from discotree.config.pretraining import SPECIAL_PIECES, PretrainingSettings
from discotree.errors import ModelError, first_line
from discotree.log import logger
from discotree.network.arrays import I64
from discotree.training.fit import Report, create_adam_state, load_checkpoint, save_checkpoint, seed_torch, silent
from discotree.training.pretraining.encoder import MaskedPieces

BETAS = (0.9, 0.98)  # of AdamW
EPSILON = 1e-6  # of AdamW
MOMENTUM = 0.95  # of Muon
WEIGHT_DECAY = 0.01  # of matrices
MAX_NORM = 1.0  # the gradient is clipped to this norm
COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # this polynomial brings singular values near 1
ITERATIONS = 5
ADAM_STEP = 0.2  # usual size of AdamW's steps, per weight
Pieces = npt.NDArray[np.unsignedinteger[Any]]


@dataclass
class Sequences:
    """The sequences of all passes over the text, by number."""

    pieces: Sequence[Pieces]  # one array for each file
    repeats: Sequence[int]  # how many times a pass reads each file
    length: int
    begin: int  # the number of [CLS]
    end: int  # the number of [SEP]
    seed: int
    _cut: dict[int, tuple[I64, I64]] = field(default_factory=dict)

    @property
    def inner(self) -> int:
        """Pieces of text in a sequence."""
        return self.length - SPECIAL_PIECES

    @property
    def per_pass(self) -> int:
        return sum(-(-len(pieces) // self.inner) * n for pieces, n in zip(self.pieces, self.repeats, strict=True))

    def rows(self, first: int, count: int) -> npt.NDArray[np.int32]:
        """Return the sequences with the numbers ``first`` to ``first + count - 1``, (count, L)."""
        result = np.empty((count, self.length), np.int32)
        result[:, 0], result[:, -1] = self.begin, self.end
        numbers = np.arange(first, first + count)
        for number in np.unique(numbers // self.per_pass).tolist():
            files, starts = self._pass(number)
            rows = np.flatnonzero(numbers // self.per_pass == number)
            chosen = numbers[rows] - number * self.per_pass
            for file in np.unique(files[chosen]).tolist():
                of_file = files[chosen] == file
                positions = (starts[chosen[of_file], None] + np.arange(self.inner)) % len(self.pieces[file])
                result[rows[of_file], 1:-1] = self.pieces[file][positions]
        return result

    def _pass(self, number: int) -> tuple[I64, I64]:
        """Return the file and the start of each sequence of a pass, in the order of training."""
        if number not in self._cut:
            draw = np.random.default_rng([self.seed, number])
            files, starts = [], []
            for file, (pieces, repeat) in enumerate(zip(self.pieces, self.repeats, strict=True)):
                for _ in range(repeat):
                    cut = np.arange(0, len(pieces), self.inner, dtype=np.int64) + draw.integers(self.inner)
                    starts.append(cut)
                    files.append(np.full(len(cut), file, np.int64))
            order = draw.permutation(self.per_pass)
            self._cut = {number - 1: self._cut[number - 1]} if number - 1 in self._cut else {}
            self._cut[number] = (np.concatenate(files)[order], np.concatenate(starts)[order])
        return self._cut[number]


class EncoderOptimizer:
    """The optimiser of all weights: Muon for the matrices of layers and AdamW for the others, or AdamW alone."""

    def __init__(self, weights: Mapping[str, nn.Parameter], muon: bool) -> None:
        self.weights = dict(weights)
        # Matrices of layers, not tables of embeddings
        matrices = {name: weight for name, weight in weights.items() if muon and weight.ndim == 2 and "layers." in name}
        self.shapes: dict[tuple[int, ...], list[nn.Parameter]] = {}
        for weight in matrices.values():
            self.shapes.setdefault(tuple(weight.shape), []).append(weight)
        self.momenta = {
            shape: torch.zeros(len(same), *shape, device=same[0].device) for shape, same in self.shapes.items()
        }
        self.adam_weights = {name: weight for name, weight in weights.items() if name not in matrices}
        values = list(self.adam_weights.values())
        groups = [
            {"params": [value for value in values if value.ndim >= 2], "weight_decay": WEIGHT_DECAY},
            {"params": [value for value in values if value.ndim < 2], "weight_decay": 0.0},
        ]
        self.adam = torch.optim.AdamW(groups, betas=BETAS, eps=EPSILON, fused=values[0].device.type == "cuda")
        create_adam_state(self.adam)

    def step(self, learning_rate: float) -> None:
        """Update all weights and clear their gradients."""
        nn.utils.clip_grad_norm_(self.weights.values(), MAX_NORM)
        for group in self.adam.param_groups:
            group["lr"] = learning_rate
        self.adam.step()
        with torch.no_grad():
            for shape, weights in self.shapes.items():
                self._move(weights, self.momenta[shape], learning_rate)
        for weight in self.weights.values():
            weight.grad = None

    def _move(self, weights: list[nn.Parameter], momentum: Tensor, learning_rate: float) -> None:
        """Update matrices of one shape; ``momentum`` (M, R, C) is changed."""
        gradients = torch.stack([weight.grad for weight in weights if weight.grad is not None])  # (M, R, C)
        momentum.lerp_(gradients, 1 - MOMENTUM)
        steps = orthogonal(gradients.lerp_(momentum, MOMENTUM))
        size = ADAM_STEP * math.sqrt(max(momentum.shape[1:]))
        values: list[Tensor] = [*weights]
        torch._foreach_mul_(values, 1 - learning_rate * WEIGHT_DECAY)
        torch._foreach_add_(values, list(steps.to(momentum.dtype).unbind()), alpha=-learning_rate * size)

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors of a checkpoint, by name; loading copies into them."""
        result = {f"weights/{name}": weight.detach() for name, weight in self.weights.items()}
        result |= {f"muon/{'x'.join(map(str, shape))}": momentum for shape, momentum in self.momenta.items()}
        for name, weight in self.adam_weights.items():
            result |= {f"adam/{key}/{name}": value for key, value in self.adam.state[weight].items()}
        return result


def orthogonal(matrices: Tensor) -> Tensor:
    """Return matrices (M, R, C) with the same singular vectors and singular values of about 1 (Newton-Schulz)."""
    first, third, fifth = COEFFICIENTS
    x: Tensor = matrices.bfloat16() if matrices.is_cuda else matrices
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = first * x + (third * square + fifth * square @ square) @ x
    return x.mT if tall else x


@dataclass
class PretrainingState:
    """The state of a run, saved in a checkpoint beside the tensors."""

    step: int = 0
    seconds: float = 0.0  # in the loop, including those of resumed processes
    startup: float = 0.0  # the part spent on compiling the network
    history: list[dict[str, int | float]] = field(default_factory=list)


def learning_rate(settings: PretrainingSettings, progress: float) -> float:
    """Return the learning rate at a share of the run: a linear warm-up, then a linear fall to 0."""
    if progress < settings.warmup:
        return settings.learning_rate * max(progress, 1e-3) / settings.warmup
    return settings.learning_rate * (1 - min(1.0, (progress - settings.warmup) / (1 - settings.warmup)))


class PretrainingLoop:
    """Trains an objective on sequences, with checkpoints and reports."""

    def __init__(
        self,
        objective: MaskedPieces,
        sequences: Sequences,
        settings: PretrainingSettings,
        device: torch.device,
        checkpoint: Path | None = None,
        fingerprint: str = "",
        report: Report = silent,
    ) -> None:
        self.objective = objective.to(device).train()
        self.sequences = sequences
        self.settings = settings
        self.device = device
        self.checkpoint = checkpoint
        self.fingerprint = fingerprint
        self.report = report
        self.optimizer = EncoderOptimizer(dict(objective.named_parameters()), settings.optimizer == "muon")
        passes = max(1, math.ceil(settings.passes * sequences.per_pass / settings.batch))
        self.steps = 0 if settings.max_seconds else settings.steps or passes
        self.state = PretrainingState()
        on_gpu = device.type == "cuda"
        self.autocast = torch.autocast(device.type, torch.bfloat16, enabled=on_gpu)
        self.is_compiled = on_gpu
        self.loss = torch.compile(objective.loss, dynamic=False) if on_gpu else objective.loss
        self.loss_sum = torch.zeros((), device=device)  # since the last report
        self.reported = (0, 0.0)  # step and seconds of the last report

    @property
    def progress(self) -> float:
        """The share of the run that is done. If the clock decides, the time for compiling does not count."""
        if self.steps:
            return self.state.step / self.steps
        left = self.settings.max_seconds - self.state.startup
        return (self.state.seconds - self.state.startup) / left if left > 0 else 1.0

    def run(self) -> PretrainingState:
        """Train to the end, from the checkpoint if there is one."""
        state = self.state
        if self.checkpoint and self.checkpoint.exists():
            tensors = self.optimizer.tensors()
            self.state = state = load_checkpoint(self.checkpoint, tensors, PretrainingState, self.fingerprint)
            self.report("resume", {"step": state.step, "progress": self.progress})
        self.reported = first_step, saved = state.step, state.seconds
        began = time.perf_counter() - state.seconds
        while (progress := self.progress) < 1:
            rate = learning_rate(self.settings, progress)
            compiles = self.is_compiled and state.step == first_step
            try:
                self.learn(rate)
            except Exception as error:  # the error depends on the compilers of the machine
                if not compiles or isinstance(error, torch.cuda.OutOfMemoryError):
                    raise
                logger.warning("training without torch.compile, which failed: %s", first_line(error))
                self.loss = self.objective.loss
                self.objective.zero_grad()
                self.learn(rate)
            if compiles:
                float(self.loss_sum)  # waits for the GPU
                state.startup += time.perf_counter() - began - state.seconds
            state.step, state.seconds = state.step + 1, time.perf_counter() - began
            if state.step % self.settings.report_steps == 0 or self.progress >= 1:
                self.tell(rate)
                state.seconds = time.perf_counter() - began  # the GPU has caught up
                # Only after a report, because the sum of losses is not saved
                due = self.progress < 1 and state.seconds - saved >= self.settings.checkpoint_seconds
                if self.checkpoint and due:
                    save_checkpoint(self.checkpoint, self.optimizer.tensors(), state, self.fingerprint)
                    saved = state.seconds
        return state

    def learn(self, rate: float) -> None:
        """Take a step on the next batch, and add its loss to the sum."""
        size, step = self.settings.batch, self.state.step
        numbers = torch.from_numpy(self.sequences.rows(step * size, size))
        if self.device.type == "cuda":
            numbers = numbers.pin_memory()
        rows = numbers.to(self.device, non_blocking=True).long()  # (B, L)
        seed_torch(self.settings.seed, step)
        drawn = self.objective.draw(rows)
        with self.autocast:
            loss = self.loss(*drawn)
        torch.autograd.backward(loss)
        self.loss_sum += loss.detach()
        self.optimizer.step(rate)

    def tell(self, rate: float) -> None:
        """Report the mean loss since the last report, and the speed."""
        state, (step, seconds) = self.state, self.reported
        steps = state.step - step
        loss = float(self.loss_sum) / steps  # waits for the GPU
        self.loss_sum.zero_()
        if not math.isfinite(loss):
            raise ModelError(
                f"pretraining diverged before step {state.step}: the loss is {loss}; lower training.learning_rate"
            )
        size = self.settings.batch * self.sequences.length
        elapsed = max(state.seconds - seconds, 1e-9)
        metrics: dict[str, int | float] = {
            "step": state.step,
            "passes": state.step * self.settings.batch / self.sequences.per_pass,
            "progress": min(1.0, self.progress),
            "learning_rate": rate,
            "loss": loss,
            "pieces_per_second": steps * size / elapsed,
            "seconds": state.seconds,
        }
        state.history.append(metrics)
        self.reported = (state.step, state.seconds)
        self.report("step", dict(metrics))
