"""Train the large models: encoders on raw text, then the parsers on top of them, side by side on one GPU.

    discotree pretrain TEXT… -o prepared/nl --prepare --hold-out alpino   (one line per language: docs/lab/results.md)
    python tools/train_large.py prepared -o large --minilm minilm

Every step is a discotree command in a process of its own, with a log beside its folder. A step starts when the encoder
or the text that it needs is there. Only one large encoder learns at a time, because it keeps a GPU busy; trainings of
parsers leave most of it idle. Those that take longest come first. The same command goes on where an earlier one was
interrupted. With --wait, text may arrive while it runs.
"""

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Encoder:
    """An encoder: what ``discotree pretrain`` needs to know."""

    name: str
    settings: tuple[str, ...]
    from_minilm: bool = False
    fills_gpu: bool = True


@dataclass(frozen=True)
class Parser:
    """A parser on top of an encoder, trained with several seeds."""

    recipe: str
    encoder: str
    seeds: int


@dataclass(frozen=True)
class Step:
    """A command, what it needs, and the file that is there when it has ended."""

    name: str
    command: tuple[str, ...]
    needs: Path
    makes: Path
    fills_gpu: bool = False


ENCODERS = (
    Encoder(
        "en",
        ("training.steps=2500", "training.optimizer=adamw", "training.learning_rate=0.0003"),
        from_minilm=True,
    ),
    Encoder(
        "is",
        (
            "training.steps=4000",
            "training.learning_rate=0.002",
            "training.batch=192",
            "network.layers=6",
            "network.dropout=0.1",
        ),
        fills_gpu=False,
    ),
    Encoder("nl", ("training.steps=5000",)),
    Encoder("de", ("training.steps=4500",)),
)
PARSERS = (
    Parser("en-large", "en", 1),
    Parser("is-large", "is", 1),
    Parser("nl-large", "nl", 2),
    Parser("alpino-large", "nl", 3),
    Parser("de-large", "de", 2),
    Parser("de-free-large", "de", 2),
)


def steps(options: argparse.Namespace) -> Iterator[Step]:
    """Yield all steps, in the order in which they are started where several can be."""
    out, prepared = Path(options.output), Path(options.prepared)
    discotree = (sys.executable, "-m", "discotree")
    for encoder in ENCODERS:
        folder = out / "encoders" / encoder.name
        yield Step(
            encoder.name,
            (
                *discotree,
                *("pretrain", "--prepared", str(prepared / encoder.name), "-o", str(folder)),
                *(("--from", options.minilm) if encoder.from_minilm else ()),
                *_set([*encoder.settings, *options.pretrain_set]),
            ),
            prepared / encoder.name / "text.json",
            folder / "pretraining.json",
            encoder.fills_gpu,
        )
    for parser in PARSERS:
        encoder_folder = out / "encoders" / parser.encoder
        for seed in range(1, parser.seeds + 1):
            folder = out / "runs" / f"{parser.recipe}-{seed}"
            settings = [
                f"network.encoder=hf:{encoder_folder}",
                f"training.seed={seed}",
                "training.calibrate_on_dev=false",
            ]
            yield Step(
                folder.name,
                (*discotree, "train", parser.recipe, "-o", str(folder), *_set([*settings, *options.set])),
                encoder_folder / "pretraining.json",
                folder / "results.json",
            )


def _set(settings: Sequence[str]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def chosen(options: argparse.Namespace) -> list[Step]:
    """Return the steps to make: all, or those of --only, given by their names or by the recipes of parsers."""
    found = list(steps(options))
    if not options.only:
        return found
    wanted = [step for step in found if {step.name, step.name.rpartition("-")[0]} & {*options.only}]
    unknown = {*options.only} - {name for step in wanted for name in (step.name, step.name.rpartition("-")[0])}
    if unknown:
        sys.exit(f"there is no step {', '.join(sorted(unknown))}; there are {', '.join(step.name for step in found)}")
    return wanted


def run_all(waiting: list[Step], options: argparse.Namespace) -> int:
    """Make all steps whose inputs are there or arrive in time; return how many failed or did not start."""
    logs = Path(options.output) / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    waiting = [step for step in waiting if not step.makes.exists()]
    running: dict[str, tuple[Step, subprocess.Popen[bytes]]] = {}
    began = last_change = time.monotonic()
    environment = {**os.environ, "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // options.jobs))}
    failed = 0
    try:
        while waiting or running:
            for step in startable(waiting, [step for step, _ in running.values()], options.jobs):
                waiting.remove(step)
                with (logs / f"{step.name}.log").open("ab") as log:
                    log.write(f"$ {shlex.join(step.command)}\n".encode())
                    log.flush()
                    running[step.name] = step, subprocess.Popen(step.command, stdout=log, stderr=log, env=environment)
                say(began, f"{step.name}: started")
            for step, process in list(running.values()):
                if process.poll() is not None:
                    del running[step.name]
                    last_change = time.monotonic()
                    failed += process.returncode != 0
                    say(began, f"{step.name}: {ending(process.returncode, logs / f'{step.name}.log')}")
            if waiting and not running and time.monotonic() - last_change > options.wait:
                for step in waiting:
                    say(began, f"{step.name}: not started, {step.needs} is missing")
                return failed + len(waiting)
            time.sleep(POLL_SECONDS)
    finally:
        for _, process in running.values():
            process.terminate()
        for _, process in running.values():
            process.wait()
    return failed


def startable(waiting: Sequence[Step], running: Sequence[Step], jobs: int) -> list[Step]:
    """Return the steps that can start now: their inputs are there, and no two of the running ones fill the GPU."""
    found: list[Step] = []
    for step in waiting:
        current = [*running, *found]
        is_free = len(current) < jobs and not (step.fills_gpu and any(other.fills_gpu for other in current))
        if is_free and step.needs.exists():
            found.append(step)
    return found


def ending(code: int, log: Path) -> str:
    last = (log.read_text("utf-8", "replace").strip().splitlines() or [""])[-1]
    return f"failed with exit code {code} ({log}): {last}" if code else f"done. {last}"


def say(began: float, text: str) -> None:
    print(f"{time.monotonic() - began:6.0f} s  {text}", flush=True)


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prepared", help="a folder with the prepared text of each encoder: nl, de, en, is")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="for encoders, runs and logs")
    parser.add_argument("--minilm", default="minilm", metavar="FOLDER", help="the encoder that English goes on with")
    parser.add_argument("--only", nargs="+", default=[], metavar="STEP", help="nl, de-large, alpino-large-2 …")
    parser.add_argument("--jobs", type=int, default=8, metavar="N", help="steps side by side")
    parser.add_argument("--wait", type=float, default=0, metavar="SECONDS", help="wait this long for what is missing")
    parser.add_argument("--set", action="append", default=[], metavar="SETTING", help="settings of all parsers")
    parser.add_argument("--pretrain-set", action="append", default=[], metavar="SETTING", help="of all encoders")
    return parser.parse_args(arguments)


def main() -> None:
    options = parsed()
    sys.exit(1 if run_all(chosen(options), options) else 0)


if __name__ == "__main__":
    main()
