"""The group of processes that ``torchrun`` starts for data-parallel training, and the device of each."""

import os
import platform
from dataclasses import dataclass, field
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from discotree.errors import ConfigError
from discotree.network.pytorch.engine import usable

TIMEOUT = timedelta(days=2)  # the first process prepares text while the others wait; torchrun ends them if it fails


@dataclass(frozen=True)
class ProcessGroup:
    """The processes that train together; just one without ``torchrun``."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @classmethod
    def join(cls, device: str = "") -> "ProcessGroup":
        """Join the processes that torchrun has started, on the named device, or by default on a GPU if there is one."""
        chosen = usable(choose_device(device), ConfigError, "training.device: ")
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls(device=chosen)
        if not dist.is_initialized():
            dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo", timeout=TIMEOUT)
        return cls(dist.get_rank(), dist.get_world_size(), chosen)

    @property
    def is_first(self) -> bool:
        """Whether this process reports and writes for all of them."""
        return self.rank == 0

    def add_up(self, tensors: list[Tensor]) -> None:
        """Sum the tensors over all processes, in place, with a single reduction."""
        if self.size > 1:
            flat = torch.cat([tensor.flatten() for tensor in tensors])
            dist.all_reduce(flat)
            sums = torch.split(flat, [tensor.numel() for tensor in tensors])
            for tensor, total in zip(tensors, sums, strict=True):
                tensor.copy_(total.view_as(tensor))

    def mean(self, metrics: dict[str, float]) -> dict[str, float]:
        """Average metrics over all processes, so that all of them take the same decisions."""
        if self.size == 1:
            return metrics
        sums = torch.tensor(list(metrics.values()), dtype=torch.float64, device=self.device)
        self.add_up([sums])
        return {name: float(total) / self.size for name, total in zip(metrics, sums, strict=True)}

    def wait(self) -> None:
        """Wait until all processes have reached this point."""
        if self.size > 1:
            dist.barrier()


def choose_device(name: str = "") -> str:
    """Return the named device, or by default a GPU if there is one; under torchrun, each process has its own GPU."""
    name = name or ("cuda" if torch.cuda.is_available() else "cpu")
    return f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if name == "cuda" else name


def device_name(device: torch.device) -> str:
    """Return the name of a GPU, or the architecture of the CPU, for records."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
