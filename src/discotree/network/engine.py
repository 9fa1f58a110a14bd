"""Engines: they compute the scores of a batch. Everything after the scores is numpy, and the same for all.

onnx           ONNX Runtime with int8 weights: the fastest on a CPU
onnx-float32   ONNX Runtime in single precision: the same trees as torch
torch          PyTorch: for GPUs, and for training
"""

from collections.abc import Callable
from typing import Protocol, get_args

from discotree.config import EngineName
from discotree.errors import ConfigError
from discotree.network.batch import Batch
from discotree.network.scores import Scores

ENGINES: tuple[str, ...] = get_args(EngineName)


class Engine(Protocol):
    """What a parser needs to score its sentences."""

    @property
    def name(self) -> str:
        """One of ENGINES."""

    batch_words: int  # words of a batch that it is fastest with
    ahead: int  # batches to begin before the scores of the first are used
    read_ahead: int  # batches to make of one group of sentences, so that each holds sentences of similar length

    @property
    def device(self) -> str:
        """Where it computes: "cpu", "cuda", "cuda:1"."""

    def forked(self) -> None:
        """Make it work in a forked process, where the threads of the first one do not exist."""

    def start(self, batch: Batch) -> Callable[[], Scores]:
        """Begin to score a batch, and return what waits for the scores."""


def check_engine(name: str) -> None:
    """Refuse a name that no engine has."""
    if name not in ("", *ENGINES):
        raise ConfigError(f"unknown engine {name!r:.50}, expected one of {', '.join(ENGINES)}")
