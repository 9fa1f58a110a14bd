"""Devices: find out whether one is there and can compute what the network needs, before anything is loaded."""

import torch

from discotree.errors import DiscotreeError, ModelError, first_line


def usable(name: str | torch.device = "", error: type[DiscotreeError] = ModelError, where: str = "") -> torch.device:
    """Return the named device, or a GPU where none is named and one is there, after computing something on it."""
    name = name or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        if torch.ones(2, dtype=torch.float64, device=device).sum().item() != 2:  # decoding needs double precision
            raise ValueError("it cannot add")
    except Exception as problem:  # torch's own errors, AssertionError, ImportError: it depends on device and version
        reason = first_line(problem).partition(". ")[0]
        raise error(f"{where}the device {str(name)!r:.50} cannot be used: {reason}; there is {_available()}") from None
    return device


def _available() -> str:
    return ", ".join(["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))])


def limit_threads(threads: int) -> None:
    """Let torch use this many threads on a CPU; 0 leaves it as it is."""
    if threads:
        torch.set_num_threads(threads)
