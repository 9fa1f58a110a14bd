"""A cold start: a new process that parses one sentence, with every installed model.

    python benchmarks/start.py [OTHER/src …]

Prints the fastest of --rounds, after one that is not counted: wall time, processor time (user and system) and the
largest memory. Other versions, named by their src folders, alternate with this one, so that all meet the same load;
their output has to be the same. ``--cores`` limits the processes, as ``taskset`` does.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent.parent / "src"
SENTENCES = {
    "nl": "Ik heb het hem niet kunnen zeggen.",
    "de": "Das habe ich ihm nicht sagen können.",
    "de-nc": "Das habe ich ihm nicht sagen können.",
    "en": "That is something which I could not tell him about.",
    "is": "Ég hef ekki getað sagt honum það.",
}


class Cost(NamedTuple):
    """What a process took."""

    wall: float  # seconds
    processor: float  # seconds
    memory: float  # MiB


def run(source: Path, arguments: list[str]) -> tuple[bytes, Cost]:
    """Run a command of one version; return its output and its cost."""
    environment = os.environ | {"PYTHONPATH": str(source)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
    command = [sys.executable, "-m", "discotree", *arguments]
    begin = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    with process.stdout:
        printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begin
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    return printed, Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def compare(name: str, arguments: list[str], sources: list[Path], rounds: int) -> None:
    """Run a command of all versions in turn, and print what each takes."""
    costs: list[list[Cost]] = [[] for _ in sources]
    outputs = set()
    for _ in range(rounds + 1):
        for source, found in zip(sources, costs, strict=True):
            printed, cost = run(source, arguments)
            outputs.add(printed)
            found.append(cost)
    if len(outputs) > 1:
        sys.exit(f"{name}: the versions print different trees")
    for source, found in zip(sources, costs, strict=True):
        wall, processor, _ = map(min, zip(*found[1:], strict=True))
        memory = max(cost.memory for cost in found)
        print(f"{name:8}{wall:6.2f} s, processor {processor:5.2f} s, {memory:4.0f} MiB   {source}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("others", nargs="*", type=Path, help="src folders of other versions")
    parser.add_argument("--models", nargs="*", default=list(SENTENCES), choices=SENTENCES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cores", type=int, default=2, help="cores that the processes may use")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    sources = [*(other.resolve() for other in options.others), HERE]
    compare("--help", ["--help"], [HERE], options.rounds)
    for model in options.models:
        compare(model, ["parse", SENTENCES[model], "--model", model], sources, options.rounds)


if __name__ == "__main__":
    main()
