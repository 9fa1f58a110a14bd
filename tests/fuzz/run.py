"""Fuzz everything that reads what strangers send.

    python tests/fuzz [--seconds 60] [--count N] [--workers 2] [--seed 1] [--target export …]
    python tests/fuzz --replay FILE …

An input is a damaged copy of a small valid one. Valid is a result, or an error of ours; a finding is any other
exception, a hang, a crash, memory beyond a bound, a tree that a round trip changes, an HTTP 5xx other than 503.
Findings are made as small as they go and put into a folder outside the repository; the files of tests/fuzz/corpus,
which were findings once, come first in every run. The same seed gives the same inputs, whatever the number of workers.
Only numpy, pyarrow, torch, … need to be there for the targets that they belong to.
"""

import argparse
import hashlib
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from fuzz.catalogue import ALL, ready_targets
from fuzz.targets import FOUND, REFUSED, VALID, Outcome, Target, attempt
from fuzz.worker import Plan, Report, work

FINDINGS = Path(tempfile.gettempdir()) / "discotree-fuzz"
MAX_WALL_SECONDS = 60.0  # for one input, before its process is killed


class Run:
    """Workers, and what they report."""

    def __init__(self, targets: Sequence[str], options: argparse.Namespace) -> None:
        self.targets = targets
        self.options = options
        self.context = multiprocessing.get_context("spawn")
        self.positions: list[Any] = []
        self.processes: dict[int, Any] = {}
        self.connections: dict[int, Connection] = {}
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.seconds: Counter[str] = Counter()
        self.peak_bytes = 0
        self.findings: dict[tuple[str, str, str], Path] = {}
        self.deadline = float("inf")

    def start(self, worker: int) -> None:
        """Start a worker, or start it again behind the input that killed it."""
        seconds = max(0.1, self.deadline - time.monotonic()) if self.options.seconds else 0.0
        plan = Plan(self.targets, self.options.seed, seconds, self.options.count, worker, self.options.workers)
        receiving, sending = self.context.Pipe(duplex=False)
        process = self.context.Process(target=work, args=(plan, self.positions[worker], sending))
        process.start()
        sending.close()
        self.processes[worker], self.connections[worker] = process, receiving

    def fuzz(self) -> None:
        """Run all workers to their end."""
        if self.options.seconds:
            self.deadline = time.monotonic() + self.options.seconds
        for worker in range(self.options.workers):
            first = [float(worker)] * len(self.targets)
            self.positions.append(self.context.Array("d", [0.0, 0.0, *first], lock=False))
            self.start(worker)
        while self.connections:
            for connection in wait(list(self.connections.values()), timeout=1.0):
                self.receive(next(worker for worker, one in self.connections.items() if one is connection))
            self.end_hanging()

    def receive(self, worker: int) -> None:
        try:
            report = self.connections[worker].recv()
        except (EOFError, ConnectionResetError):
            self.ended(worker)
        else:
            if report:
                self.add(report)

    def add(self, report: Report) -> None:
        self.counts[report.target].update(report.counts)
        self.seconds[report.target] += report.seconds
        self.peak_bytes = max(self.peak_bytes, report.peak_bytes)
        for number, raw, outcome in report.findings:
            self.found(report.target, raw, outcome, f"input {number}")

    def ended(self, worker: int) -> None:
        """Take leave of a worker; where an input killed it, note that input and go on behind it."""
        process = self.processes.pop(worker)
        self.connections.pop(worker).close()
        process.join()
        position = self.positions[worker]
        if process.exitcode == 0:
            return
        if not position[1]:
            raise SystemExit(f"worker {worker} ended with exit code {process.exitcode} while no input was at work")
        target = self.targets[int(position[0])]
        number = int(position[2 + int(position[0])]) - self.options.workers
        outcome = Outcome(FOUND, f"the process ended with exit code {process.exitcode}")
        self.counts[target][FOUND] += 1
        self.found(target, ALL[target].mutant(self.options.seed, number), outcome, f"input {number}")
        position[1] = 0.0
        self.start(worker)

    def end_hanging(self) -> None:
        now = time.monotonic()
        for worker, process in self.processes.items():
            started = self.positions[worker][1]
            if started and now - started > MAX_WALL_SECONDS:
                process.kill()

    def found(self, target: str, raw: bytes, outcome: Outcome, origin: str) -> None:
        """Keep the first finding of each kind, and say how to see it again."""
        key = (target, *outcome.signature)
        if key in self.findings:
            return
        folder = Path(self.options.findings) / target
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / hashlib.sha256(raw).hexdigest()[:12]
        path.write_bytes(raw)
        self.findings[key] = path
        print(f"\n{target}: {outcome.problem} {outcome.where} ({origin}, seed {self.options.seed})")
        print(f"    {sys.executable} {Path(__file__).parent} --replay {path}", flush=True)

    def print_table(self) -> None:
        print(f"\n{'target':14}{'inputs':>12}{'valid':>12}{'refused':>12}{'findings':>10}{'inputs/s':>10}")
        totals: Counter[str] = Counter()
        for target in self.targets:
            counts = self.counts[target]
            totals.update(counts)
            _print_row(target, counts, self.seconds[target])
        _print_row("all", totals, sum(self.seconds.values()))
        print("inputs/s: of one worker while it works on the target")
        print(f"peak memory of a worker: {self.peak_bytes / 2**20:.0f} MiB")


def _print_row(name: str, counts: Counter[str], seconds: float) -> None:
    total = counts.total()
    rate = total / seconds if seconds else 0.0
    print(f"{name:14}{total:12,}{counts[VALID]:12,}{counts[REFUSED]:12,}{counts[FOUND]:10,}{rate:10,.0f}")


def replay(paths: Sequence[str]) -> int:
    """Run inputs again; the folder of a file names its target."""
    failed = 0
    for path in map(Path, paths):
        name = path.resolve().parent.name
        if name not in ALL:
            raise SystemExit(f"{path}: expected to lie in a folder that is called like a target: {', '.join(ALL)}")
        for target in ready_targets([name], notice=True):
            outcome = attempt(target, path.read_bytes())
            target.close()
            failed += outcome.kind == FOUND
            print(f"{path}: {outcome.kind} {outcome.problem} {outcome.where}\n{outcome.details}".rstrip())
    return min(failed, 1)


def replay_corpus(run: Run, targets: Sequence[Target]) -> None:
    """Try what was once found, before anything new."""
    for target in targets:
        for path in target.corpus():
            outcome = attempt(target, path.read_bytes())
            run.counts[target.name][outcome.kind] += 1
            if outcome.kind == FOUND:
                run.found(target.name, path.read_bytes(), outcome, f"corpus/{target.name}/{path.name}")
        target.close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=0.0, help="duration; 60 unless --count is given")
    parser.add_argument(
        "--count", type=int, default=0, help="inputs per target, fewer for slow ones: the same on every run"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes; one per core by default")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the present time by default")
    parser.add_argument("--target", action="append", choices=list(ALL), help="may be repeated; all by default")
    parser.add_argument("--findings", default=str(FINDINGS), metavar="FOLDER", help=f"{FINDINGS} by default")
    parser.add_argument("--replay", nargs="+", metavar="FILE", help="run these inputs and show what comes of them")
    options = parser.parse_args(arguments)
    if options.replay:
        return replay(options.replay)
    if not options.seconds and not options.count:
        options.seconds = 60.0
    targets = ready_targets(options.target or list(ALL), notice=True)
    run = Run([target.name for target in targets], options)
    print(f"seed {options.seed}, {options.workers} workers, {len(targets)} targets; findings go to {options.findings}")
    replay_corpus(run, targets)
    run.fuzz()
    run.print_table()
    print(f"{len(run.findings)} findings" if run.findings else "nothing found")
    for (target, problem, where), path in run.findings.items():
        print(f"    {path}: {target}: {problem} {where}")
    return 1 if run.findings else 0
