"""Which engine runs a model: the one that was asked for, or the one that suits this machine."""

import ctypes
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from discotree.errors import ConfigError, requires_extra
from discotree.network.engine import Engine, check_engine
from discotree.network.transformer import Pretrained

if TYPE_CHECKING:
    from discotree.models.model import Model

CPU = "cpu"
TORCH = "torch"
FLOAT32 = "onnx-float32"
CUDA_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


@dataclass(frozen=True)
class EngineChoice:
    """An engine and a device that go together."""

    name: str  # "" chooses
    device: str

    @classmethod
    def of(cls, name: str = "", device: str = "") -> "EngineChoice":
        """Choose what was not named, and check that the device is there."""
        check_engine(name)
        if not device and name in ("", TORCH):
            device = "cuda" if _has_gpu() else CPU
        if (device or CPU) == CPU:
            return cls(name, CPU)
        if name not in ("", TORCH):
            raise ConfigError(f"the engine {name} computes on the CPU: choose the engine torch for {device!r:.50}")
        with requires_extra("gpu"):
            from discotree.network.pytorch.device import usable
        return cls(TORCH, str(usable(device)))

    def engine(self, model: "Model", threads: int = 0) -> Engine:
        """Return the engine with the model's weights; ``threads`` limits those of a CPU."""
        network, parts = model.config.network, (model.vocab, model.has_tags, model.subwords, model.weights)
        unknown = isinstance(model.subwords, Pretrained) and model.subwords.config is None
        if self.name == TORCH or (not self.name and unknown):
            with requires_extra("train"):
                from discotree.network.pytorch.device import limit_threads
                from discotree.network.pytorch.engine import TorchEngine, network_of
            limit_threads(threads)
            return TorchEngine(network_of(network, *parts), self.device)
        from discotree.network.onnx.engine import OnnxEngine

        return OnnxEngine(network, *parts, "float32" if self.name == FLOAT32 else "int8", threads)


def new_engine(model: "Model", name: str = "", device: str = "", threads: int = 0) -> Engine:
    """Return the engine of a model."""
    return EngineChoice.of(name, device).engine(model, threads)


def _has_gpu() -> bool:
    """Tell whether torch is installed and finds a GPU; torch is imported only where there is a driver."""
    if find_spec("torch") is None:
        return False
    try:
        ctypes.CDLL(CUDA_DRIVER)
    except OSError:
        return False
    import torch

    return torch.cuda.is_available()
