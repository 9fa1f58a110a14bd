"""The processes that train together, as ``torchrun`` starts them, and the device of each."""

import os
from dataclasses import dataclass, field
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from discotree.errors import ConfigError
from discotree.network.pytorch.device import usable

PATIENCE = timedelta(days=2)  # the first process prepares text while the others wait; torchrun ends them if it fails


@dataclass(frozen=True)
class World:
    """The processes that train together; a single one without ``torchrun``."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @classmethod
    def join(cls, device: str = "") -> "World":
        """Join the processes that torchrun has started, on the named device or else on a GPU if there is one."""
        chosen = usable(choose_device(device), ConfigError, "training.device: ")
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls(device=chosen)
        if not dist.is_initialized():
            dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo", timeout=PATIENCE)
        return cls(dist.get_rank(), dist.get_world_size(), chosen)

    @property
    def is_first(self) -> bool:
        """Whether this process reports and writes for all of them."""
        return self.rank == 0

    def add_up(self, tensors: list[Tensor]) -> None:
        """Sum the tensors over all processes, in place and in one message."""
        if self.size > 1:
            flat = torch.cat([tensor.flatten() for tensor in tensors])
            dist.all_reduce(flat)
            sums = torch.split(flat, [tensor.numel() for tensor in tensors])
            for tensor, total in zip(tensors, sums, strict=True):
                tensor.copy_(total.view_as(tensor))

    def mean(self, metrics: dict[str, float]) -> dict[str, float]:
        """Average over all processes: clocks and GPUs differ slightly, but all processes must decide alike."""
        if self.size == 1:
            return metrics
        sums = torch.tensor(list(metrics.values()), dtype=torch.float64, device=self.device)
        self.add_up([sums])
        return {name: float(total) / self.size for name, total in zip(metrics, sums, strict=True)}

    def wait(self) -> None:
        """Wait until all processes have come this far."""
        if self.size > 1:
            dist.barrier()


def choose_device(name: str = "") -> torch.device:
    """Return the named device, or else a GPU if there is one; under torchrun every process gets its own GPU."""
    name = name or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if name == "cuda" else name)
    except RuntimeError as error:
        raise ConfigError(f"training.device: {error}") from None
