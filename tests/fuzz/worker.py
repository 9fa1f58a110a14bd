"""One process that fuzzes: it takes its share of every target's inputs, and reports counts and findings.

Input n of a target depends on the seed and on n alone. The process notes what it works on in shared memory, so that
its parent can name the input that killed it.
"""

import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from fuzz.catalogue import ready_targets
from fuzz.targets import FOUND, REFUSED, VALID, Outcome, Target, attempt, peak_bytes, smallest

SLICE_SECONDS = 0.5  # on one target, before the next has its turn
MAX_MEMORY_BYTES = 3 * 2**30  # of address space, beyond what a prepared process has


class Report(NamedTuple):
    """What a slice of work came to; ``findings`` are triples of an input's number, the input and its outcome."""

    target: str
    seconds: float
    counts: dict[str, int]
    findings: list[tuple[int, bytes, Outcome]]
    peak_bytes: int


@dataclass(frozen=True)
class Plan:
    """What a worker is to do: inputs ``worker``, ``worker + workers`` … of every target."""

    targets: Sequence[str]
    seed: int
    seconds: float  # 0: no end
    count: int  # per target; 0: no end
    worker: int
    workers: int


def work(plan: Plan, position: Any, reports: Connection) -> None:
    """Fuzz until the time is over or all inputs are done.

    ``position`` is shared memory: the index of the target in work, when its input started, then the next input of
    every target.
    """
    targets = ready_targets(plan.targets)
    _bound_memory()
    deadline = time.monotonic() + plan.seconds if plan.seconds else float("inf")
    known: set[tuple[str, str, str]] = set()
    reports.send(None)  # ready
    errors = os.dup(2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries print what they make of nonsense
    try:
        active = list(range(len(targets)))
        while active and time.monotonic() < deadline:
            for k in list(active):
                report, is_over = _slice(targets[k], k, plan, position, deadline, known)
                reports.send(report)
                if is_over:
                    active.remove(k)
    finally:
        os.dup2(errors, 2)
        for target in targets:
            target.close()
        reports.close()


def _slice(
    target: Target, index: int, plan: Plan, position: Any, deadline: float, known: set[tuple[str, str, str]]
) -> tuple[Report, bool]:
    start = time.monotonic()
    end = min(deadline, start + SLICE_SECONDS)
    counts = Counter({VALID: 0, REFUSED: 0, FOUND: 0})
    findings: list[tuple[int, bytes, Outcome]] = []
    number = int(position[2 + index])
    position[0] = index
    count = max(1, round(plan.count * target.share)) if plan.count else sys.maxsize
    while (now := time.monotonic()) < end and number < count:
        position[1] = now
        position[2 + index] = number + plan.workers
        raw = target.mutant(plan.seed, number)
        outcome = attempt(target, raw)
        counts[outcome.kind] += 1
        if outcome.kind == FOUND and (target.name, *outcome.signature) not in known:
            known.add((target.name, *outcome.signature))
            findings.append((number, smallest(target, raw, outcome, _alive(position)), outcome))
        number += plan.workers
    position[1] = 0.0
    seconds = time.monotonic() - start
    return Report(target.name, seconds, dict(counts), findings, peak_bytes()), number >= count


def _alive(position: Any) -> Callable[[], None]:
    def note() -> None:
        position[1] = time.monotonic()

    return note


def _bound_memory() -> None:
    """Let an input that asks for the moon fail in its own process, not take the machine down."""
    try:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # not Linux
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MAX_MEMORY_BYTES, hard))
