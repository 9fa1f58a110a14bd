"""A job for a process of its own, which can be imported by its name."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from discotree.errors import TreebankError


def work(folder: Path, number: int, way: str, report: Callable[[str, dict[str, float]], None]) -> None:
    """Do one job: leave a file and a report, after whatever the test wants to go wrong."""
    tries = folder / f"{number}.tries"
    tries.write_text(tries.read_text() + "x" if tries.exists() else "x")
    if way == "refused":
        raise TreebankError("there are no trees", "nowhere.export", 7)
    if way == "killed" or (way == "killed once" and tries.read_text() == "x"):
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.time()
    time.sleep(0.3)
    report("step", {"epoch": 1.0})
    report("epoch", {"number": float(number), "began": began, "ended": time.time()})
    (folder / str(number)).write_text("done")
