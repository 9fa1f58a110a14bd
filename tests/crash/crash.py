"""Kill commands at random moments and fill their disks; the results must be those of an undisturbed run, byte for byte.

    make crash                         # 100 kills and 20 full disks
    make crash KILLS=1000 SEED=7

A command is killed (kill -9) up to six times at random moments while it writes, then runs to its end, and its output is
compared. A full disk is a limit on the size of every file, drawn up to the largest file of the output: the command must
fail without a traceback, and then, given room, run to its end.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "src")]

from support.models import saved_model  # noqa: E402
from support.networks import TREES  # noqa: E402
from support.tiny import TINY, set_all, small_recipe  # noqa: E402

import discotree as dt  # noqa: E402

MAX_KILLS_IN_A_ROW = 6
TIMEOUT_SECONDS = 300.0
COUNTED = ("kills", "unfinished", "full disks", "compared")  # columns of the report


def plain(path: Path) -> bytes:
    return path.read_bytes()


def without_times(path: Path) -> bytes:
    """Return the results of a training without what differs between two undisturbed runs."""
    return json.dumps(json.loads(path.read_bytes())["scores"], sort_keys=True).encode()


@dataclass
class Command:
    """A command to disturb. ``results`` are patterns of the files to compare."""

    name: str
    arguments: list[str]
    results: dict[str, Callable[[Path], bytes]]
    first: float = 0.0  # seconds until it begins to write
    seconds: float = 0.0  # until it ends
    expected: dict[str, bytes] = field(default_factory=dict)
    max_bytes: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    problems: list[str] = field(default_factory=list)


def commands() -> list[Command]:
    epochs = ["--set", "training.epochs=5"]
    return [
        Command(
            "parse",
            ["parse", "in.txt", "--from", "tokens", "-m", "model", "-o", "out/a.export", "--resume"],
            {"a.export": plain},
        ),
        Command("convert", ["convert", "many.export", "-o", "out/a.tiger.xml"], {"a.tiger.xml": plain}),
        Command(
            "bulk",
            ["bulk", "in.txt", "--from", "tokens", "-m", "model", "-o", "out/b", "--workers", "0", "--shard-rows", "2"],
            {"b/part-*": plain, "b/_SUCCESS": plain},
        ),
        Command(
            "train",
            ["train", "small.toml", "-o", "out/run", *set_all(TINY), *epochs],
            {"run/model/*": plain, "run/results.json": without_times},
        ),
    ]


def prepare(folder: Path) -> None:
    saved_model(folder / "model")
    small_recipe(folder)
    dt.write(TREES * 150, folder / "many.export")
    lines = [" ".join(tree.words) for tree in TREES * 15]
    (folder / "in.txt").write_text("\n".join(lines) + "\n")


class Crasher:
    """Runs commands in a folder, each with an ``out`` of its own."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)

    def start(self, command: Command, max_bytes: int | None = None) -> "subprocess.Popen[bytes]":
        def limit() -> None:
            if max_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, max_bytes))

        return subprocess.Popen(
            [sys.executable, "-m", "discotree", *command.arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=limit,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(TESTS.parent / "src"), "OMP_NUM_THREADS": "1"},
        )

    def clean(self) -> None:
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        (self.folder / "out").mkdir()

    def state(self) -> set[tuple[str, int, int]]:
        """Return the files of the output with their sizes and times."""
        found = set()
        for folder, _, names in os.walk(self.folder / "out"):  # other than rglob, it bears folders that vanish
            for name in names:
                with suppress(FileNotFoundError):
                    about = os.stat(path := os.path.join(folder, name))
                    found.add((path, about.st_size, about.st_mtime_ns))
        return found

    def wait_for_writing(self, process: "subprocess.Popen[bytes]") -> None:
        before = self.state()
        while process.poll() is None and self.state() == before:
            time.sleep(0.005)

    def content(self, command: Command) -> dict[str, bytes]:
        """Return the files of the output that count, by their names."""
        out = self.folder / "out"
        return {
            str(path.relative_to(out)): read(path)
            for pattern, read in command.results.items()
            for path in sorted(out.glob(pattern))
            if path.is_file()
        }

    def undisturbed(self, command: Command) -> None:
        self.clean()
        begin = time.monotonic()
        process = self.start(command)
        self.wait_for_writing(process)
        command.first = time.monotonic() - begin
        _, messages = process.communicate(timeout=TIMEOUT_SECONDS)
        command.seconds = time.monotonic() - begin
        command.expected = self.content(command)
        command.max_bytes = max(path.stat().st_size for path in (self.folder / "out").rglob("*") if path.is_file())
        if not command.expected:
            raise SystemExit(f"{command.name} writes nothing: {messages.decode()}")

    def finish(self, command: Command) -> None:
        """Run a command to its end and compare."""
        process = self.start(command)
        _, messages = process.communicate(timeout=TIMEOUT_SECONDS)
        if process.returncode:
            command.problems.append(f"exit code {process.returncode}: {messages.decode()[-2000:]}")
        self.compare(command)

    def compare(self, command: Command) -> None:
        command.counts["compared"] += 1
        found = self.content(command)
        differing = [name for name in found | command.expected if found.get(name) != command.expected.get(name)]
        if differing:
            command.problems.append(f"other results: {', '.join(differing)}")

    def kill(self, command: Command, kills: int) -> None:
        """Kill a command some times in a row, then let it finish."""
        self.clean()
        for _ in range(kills):
            process = self.start(command)
            self.wait_for_writing(process)
            try:
                moment = self.random.uniform(0, command.seconds - command.first)
                _, messages = process.communicate(timeout=moment)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                _, messages = process.communicate()
                command.counts["kills"] += 1
                command.counts["unfinished"] += any((self.folder / "out").iterdir())
                self.check_messages(command, messages)
            else:
                self.check_messages(command, messages)
                self.compare(command)  # it was faster than its killer
                self.clean()
        self.finish(command)

    def fill_disk(self, command: Command) -> None:
        self.clean()
        process = self.start(command, self.random.randrange(command.max_bytes))
        _, messages = process.communicate(timeout=TIMEOUT_SECONDS)
        command.counts["full disks"] += 1
        if process.returncode != 1:
            command.problems.append(f"exit code {process.returncode} on a full disk: {messages.decode()[-2000:]}")
        self.check_messages(command, messages)
        self.finish(command)

    def check_messages(self, command: Command, messages: bytes) -> None:
        if b"Traceback" in messages:
            command.problems.append(messages.decode()[-3000:])


def crash(kills: int, disks: int, seed: int, seconds: float = 1e9, names: tuple[str, ...] = ()) -> list[Command]:
    """Disturb all commands in turn; ``kills`` and ``disks`` are totals, ``seconds`` ends it earlier."""
    chosen = [command for command in commands() if not names or command.name in names]
    with tempfile.TemporaryDirectory(prefix="crash-") as folder:
        prepare(Path(folder))
        crasher = Crasher(Path(folder), seed)
        for command in chosen:
            crasher.undisturbed(command)
        end = time.monotonic() + seconds
        for command in cycle(chosen):
            kills_left = kills - sum(other.counts["kills"] for other in chosen)
            disks_left = disks - sum(other.counts["full disks"] for other in chosen)
            if time.monotonic() > end or (kills_left <= 0 and disks_left <= 0):
                return chosen
            if kills_left > 0:
                crasher.kill(command, min(kills_left, crasher.random.randint(1, MAX_KILLS_IN_A_ROW)))
            if disks_left > 0:
                crasher.fill_disk(command)
    return chosen


def report(done: list[Command]) -> str:
    """Return a table with a row for each command."""
    rows = [["command", "seconds", *COUNTED, "problems"]]
    for command in done:
        counts = [str(command.counts[name]) for name in COUNTED]
        rows.append([command.name, f"{command.seconds:.1f}", *counts, str(len(command.problems))])
    totals = [str(sum(command.counts[name] for command in done)) for name in COUNTED]
    rows.append(["all", "", *totals, str(sum(len(command.problems) for command in done))])
    return "\n".join("| " + " | ".join(row) + " |" for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--disks", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--only", action="append", default=[], metavar="COMMAND")
    options = parser.parse_args()
    done = crash(options.kills, options.disks, options.seed, options.seconds, tuple(options.only))
    print(report(done))
    for command in done:
        for problem in command.problems:
            print(f"\n{command.name}: {problem}")
    sys.exit(any(command.problems for command in done))


if __name__ == "__main__":
    main()
