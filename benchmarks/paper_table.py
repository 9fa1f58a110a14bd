"""The paper's Table 1 on Alpino: train its missing runs, several in parallel, and print it.

    discotree pretrain TEXT… --vectors -o nl.bin --language nl
    python benchmarks/paper_table.py tag --tags nl-tags.tsv --jobs 6
    python benchmarks/paper_table.py train --vectors nl.bin --tags nl-tags.tsv --jobs 10
    python benchmarks/paper_table.py table

Six rows are the paper's network with gold, predicted and no tags, each with and without word vectors, five seeds each;
--encoder adds a row with a Transformer. Every run is a process of its own, with a log beside its folder. A run whose
results are in the folder of results already, with the same settings, is not repeated, and an interrupted one continues.
Nothing here needs more than torch, numpy and safetensors, and for --encoder tokenizers and transformers.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from discotree.config.recipes import load_recipe
from discotree.config.schema import Config
from discotree.errors import DiscotreeError
from discotree.files.writing import writable
from discotree.training.run import LIMITS
from discotree.training.run import train as train_one
from discotree.training.tagger import FOLDS
from discotree.training.tagger import tag as tag_all
from discotree.training.text_sources import TextSource

RESULTS = Path(__file__).parents[1] / "docs" / "lab" / "results"
RECIPE = "alpino"
PATIENCE = 2  # of the runs that the table began with
EPOCHS, SECONDS = 41, 600  # where the clock stopped those; and a limit that no run should reach
SETTINGS = "settings.json"  # of a run, in its folder
TAGGER = (
    "network.lstm_size=256",
    "network.lstm_layers=2",
    "training.batch_words=2560",
    "training.learning_rate=0.003",
)
TAGGER_EPOCHS = 15
CHECKPOINT_EPOCHS = 10  # a checkpoint has 370 MB
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Row:
    """A row of the table: the input of the network, and the name of its runs."""

    title: str
    name: str  # of its runs, before the seed
    preset: str
    scenario: str
    vectors: bool = False
    encoder: bool = False


TAGS = {"predicted-pos": "predicted POS", "gold-pos": "gold POS", "no-pos": "no POS"}
PAPER_ROWS = [
    Row(
        f"{title}, {'word vectors' if vectors else 'no vectors'}",
        f"paper-{scenario}{'-vectors' if vectors else ''}",
        "paper",
        scenario,
        vectors,
    )
    for scenario, title in TAGS.items()
    for vectors in (True, False)
]
OTHER_ROWS = [
    Row("`default`: sub-word vectors, no POS", "default", "default", "no-pos"),
    Row("a Transformer, no POS", "large", "bert", "no-pos", encoder=True),
]


# Training


@dataclass(frozen=True)
class Job:
    """One run: a row of the table and a seed."""

    name: str
    config: Config


def jobs_of(row: Row, options: argparse.Namespace) -> Iterator[Job]:
    """Yield the runs of a row, as the command line says."""
    settings = [f"training.max_seconds={options.seconds}", f"training.checkpoint_epochs={CHECKPOINT_EPOCHS}"]
    settings.append("training.calibrate_on_dev=false")  # the paper has no gap penalties
    if row.preset == "paper":
        settings += [f"training.epochs={options.epochs}", f"training.patience={PATIENCE}"]
        settings += [f"data.vectors={Path(options.vectors).absolute()}"] if row.vectors else ["data.vectors="]
    if row.scenario == "predicted-pos":
        settings.append(f"data.predicted_tags={Path(options.tags).absolute()}")
    if row.encoder:
        settings += [f"network.encoder={options.encoder}", *options.encoder_set]
    settings += options.set
    for seed in range(1, options.seeds + 1):
        config = load_recipe(options.recipe, [*settings, f"training.seed={seed}"], row.scenario, row.preset)
        yield Job(f"{config.name}-{row.name}-{seed}", config)


def chosen_rows(options: argparse.Namespace) -> list[Row]:
    """Return the rows that can be trained with what the command line names."""
    rows = [*PAPER_ROWS, *OTHER_ROWS]
    if options.rows:
        unknown = set(options.rows) - {row.name for row in rows}
        if unknown:
            sys.exit(f"unknown row {', '.join(sorted(unknown))}; choose from {', '.join(row.name for row in rows)}")
        rows = [row for row in rows if row.name in options.rows]
    else:
        rows = [*PAPER_ROWS, *([OTHER_ROWS[1]] if options.encoder else [])]
    for row in rows:
        for needed, option in (
            (row.vectors, "vectors"),
            (row.scenario == "predicted-pos", "tags"),
            (row.encoder, "encoder"),
        ):
            if needed and not getattr(options, option):
                sys.exit(f"{row.name} needs --{option}; choose other rows with --rows")
    return rows


def same_run(results: dict[str, Any], config: Config) -> bool:
    """Return whether results come from these settings and files: limits do not count, nor where files lie."""
    found = Config.from_json(json.dumps(results["config"]), "results")
    own = {
        Path(name).name: TextSource(name).sha256() for name in (config.data.vectors, config.data.predicted_tags) if name
    }
    sums = {Path(name).name: checksum for name, checksum in results["data"]["sha256"].items()}
    return comparable(found) == comparable(config) and sums | own == sums


def comparable(config: Config) -> Config:
    data = config.data
    limits: dict[str, Any] = dict.fromkeys(LIMITS, 0)
    files: dict[str, Any] = {name: Path(getattr(data, name)).name for name in ("vectors", "predicted_tags")}
    network = replace(config.network, word_size=1 if data.vectors else config.network.word_size)  # that of the file
    if network.transformer:
        network = replace(network, encoder=f"hf:{Path(network.transformer).name}")
    data = replace(data, folder="", **files)
    return replace(config, data=data, network=network, training=replace(config.training, **limits, device=""))


def train(options: argparse.Namespace) -> int:
    """Train all runs that have no results yet; return the number of those that failed."""
    rows, runs = chosen_rows(options), Path(options.runs)
    runs.mkdir(parents=True, exist_ok=True)
    waiting: list[Job] = []
    for job in (job for row in rows for job in jobs_of(row, options)):
        path = Path(options.results, f"{job.name}.json")
        if path.exists() and not same_run(json.loads(path.read_text("utf-8")), job.config):
            sys.exit(f"{path}: results of other settings: move the file away, or choose other --rows")
        if path.exists():
            print(f"{job.name}: is there")
        else:
            waiting.append(job)
    return run_all(waiting, options, runs)


def run_all(waiting: list[Job], options: argparse.Namespace, runs: Path) -> int:
    """Run jobs in parallel; jobs that are interrupted or too late are left for the next call."""
    running: dict[str, subprocess.Popen[bytes]] = {}
    began, failed = time.monotonic(), 0
    threads = str(max(1, (os.cpu_count() or 1) // options.jobs))
    try:
        while waiting or running:
            late = options.stop_after and time.monotonic() - began > options.stop_after
            if late and waiting:
                print(f"{len(waiting)} runs are left for another time: {', '.join(job.name for job in waiting)}")
                failed, waiting = failed + len(waiting), []
            while waiting and len(running) < options.jobs:
                job = waiting.pop(0)
                folder = runs / job.name
                folder.mkdir(parents=True, exist_ok=True)
                (folder / SETTINGS).write_text(job.config.to_json(), "utf-8")
                with Path(runs, f"{job.name}.log").open("ab") as log:
                    command = [sys.executable, __file__, "run", str(folder)]
                    environment = {**os.environ, "OMP_NUM_THREADS": threads}
                    running[job.name] = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
            time.sleep(POLL_SECONDS)
            for name, process in list(running.items()):
                if process.poll() is not None:
                    del running[name]
                    minutes = (time.monotonic() - began) / 60
                    failed += not finished(name, process.returncode, runs, Path(options.results), minutes)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
    return failed


def run(folder: Path) -> None:
    """Train the run whose settings are in a folder, in this process."""
    config = Config.from_json((folder / SETTINGS).read_text("utf-8"), str(folder / SETTINGS))

    def report(event: str, metrics: dict[str, float]) -> None:
        if event != "step":
            print(event, json.dumps({name: round(value, 4) for name, value in metrics.items()}), flush=True)

    try:
        train_one(config, folder, report)
    except DiscotreeError as error:
        sys.exit(str(error))


def tag(options: argparse.Namespace) -> None:
    """Write predicted tags by a tagger that is smaller than the parser, and learns from larger batches."""
    config = load_recipe(options.recipe, [*TAGGER, *options.set], preset="paper")
    accuracies = tag_all(config, options.tags, options.folds, options.epochs, print_epoch, jobs=options.jobs)
    for split, accuracy in accuracies.items():
        print(f"{split}: {number(accuracy)} %")


def print_epoch(event: str, metrics: dict[str, float]) -> None:
    if event == "epoch":
        accuracy = f"dev {metrics['dev/accuracy']:.2f} %, {metrics['seconds']:.1f} s"
        print(f"model {metrics['fold']:.0f}, epoch {metrics['epoch']:.0f}: {accuracy}", flush=True)


def finished(name: str, code: int, runs: Path, results: Path, minutes: float) -> bool:
    """Keep the results of a run that has ended; return whether it went well."""
    log = runs / f"{name}.log"
    if code:
        last = (log.read_text("utf-8", "replace").strip().splitlines() or [""])[-1]
        print(f"{minutes:.1f} min  {name}: failed with exit code {code} ({log}): {last}", flush=True)
        return False
    results.mkdir(parents=True, exist_ok=True)
    found = public((runs / name / "results.json").read_text("utf-8"))
    with writable(str(results / f"{name}.json")) as stream:
        stream.write((json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode())
    (runs / name / "checkpoint.safetensors").unlink(missing_ok=True)  # of no use any more, and large
    test = found["scores"]["test"]
    f1 = f"{number(test['all']['f1'] or 0)} / {number(test['discontinuous']['f1'] or 0)}"
    print(f"{minutes:.1f} min  {name}: test {f1} after {len(found['history'])} epochs", flush=True)
    return True


def public(text: str) -> dict[str, Any]:
    """Return results without the folders of this machine."""
    results: dict[str, Any] = json.loads(text)
    data, network = results["config"]["data"], results["config"]["network"]
    data |= {"folder": "", **{name: Path(data[name]).name for name in ("vectors", "predicted_tags")}}
    if network["encoder"].startswith("hf:"):
        network["encoder"] = f"hf:{Path(network['encoder'][3:]).name}"
    results["data"]["sha256"] = {
        Path(name).name if Path(name).is_absolute() else name: sum for name, sum in results["data"]["sha256"].items()
    }
    return results


# The table


def table(folder: Path, recipe: str = RECIPE) -> str:
    """Return the table in Markdown, from the results of a folder; rows without results are marked."""
    columns = ["", "F1", "disc. F1", "dev F1", "dev LAS", "dev UAS", "LAS", "UAS", "epochs", "minutes", "runs"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for row in [*PAPER_ROWS, *OTHER_ROWS]:
        runs = results_of(folder, f"{recipe}-{row.name}")
        lines.append(f"| {' | '.join([row.title, *(cells(runs) if runs else untrained())])} |")
    return "\n".join(lines)


def results_of(folder: Path, name: str) -> dict[str, dict[str, Any]]:
    """Return the results of all seeds of a row, by the names of the runs."""
    found = sorted(folder.glob(f"{name}-[0-9].json"))
    return {path.stem: json.loads(path.read_text("utf-8")) for path in found}


def cells(runs: dict[str, dict[str, Any]]) -> Iterator[str]:
    for split, kind, metric in (
        ("test", "all", "f1"),
        ("test", "discontinuous", "f1"),
        ("dev", "all", "f1"),
        ("dev", "attachment", "las"),
        ("dev", "attachment", "uas"),
        ("test", "attachment", "las"),
        ("test", "attachment", "uas"),
    ):
        yield spread([run["scores"][split][kind][metric] or 0.0 for run in runs.values()])
    epochs = sorted(len(run["history"]) for run in runs.values())
    yield str(epochs[0]) if epochs[0] == epochs[-1] else f"{epochs[0]}–{epochs[-1]}"
    yield number(statistics.mean(run["seconds"] for run in runs.values()) / 60)
    names = list(runs)
    yield f"`{names[0]}…{names[-1].rpartition('-')[2]}`" if len(names) > 1 else f"`{names[0]}`"


def untrained() -> Sequence[str]:
    return ["not trained yet", *[""] * 9]


def spread(values: Sequence[float]) -> str:
    """Return the mean and, of several values, the standard deviation."""
    deviation = f" ± {number(statistics.stdev(values))}" if len(values) > 1 else ""
    return f"{number(statistics.mean(values))}{deviation}"


def number(value: float) -> str:
    """Round to one digit, halves up."""
    return str(Decimal(repr(value)).quantize(Decimal("0.1"), ROUND_HALF_UP))


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train", help="train the missing runs")
    training.add_argument(
        "--vectors", metavar="FILE", default="", help="word vectors, as `discotree pretrain --vectors` writes them"
    )
    training.add_argument(
        "--tags", metavar="FILE", default="", help="predicted tags, as train --predict-tags writes them"
    )
    training.add_argument("--encoder", metavar="hf:FOLDER", default="", help="add a row with this Transformer")
    training.add_argument("--encoder-set", metavar="SETTING", action="append", default=[], help="settings of that row")
    training.add_argument("--rows", nargs="+", metavar="ROW", help="train these rows alone")
    training.add_argument("--jobs", type=int, default=5, metavar="N", help="runs side by side on the same device")
    training.add_argument("--seeds", type=int, default=5, metavar="N")
    training.add_argument("--epochs", type=int, default=EPOCHS, help="limit of each run of the paper's network")
    training.add_argument("--seconds", type=float, default=SECONDS, help="limit of each run")
    training.add_argument("--stop-after", type=float, default=0, metavar="SECONDS", help="start no run later than this")
    training.add_argument("--set", action="append", default=[], metavar="SETTING", help="settings of all runs")
    training.add_argument("--runs", default="runs/paper-table", metavar="FOLDER", help="for models, logs, checkpoints")
    tagging = commands.add_parser("tag", help="predict the tags of all sentences")
    tagging.add_argument("--tags", metavar="FILE", required=True, help="file to write")
    tagging.add_argument("--folds", type=int, default=FOLDS, metavar="N")
    tagging.add_argument("--epochs", type=int, default=TAGGER_EPOCHS, help="limit of each model")
    tagging.add_argument("--jobs", type=int, default=6, metavar="N", help="models side by side on the same device")
    tagging.add_argument("--set", action="append", default=[], metavar="SETTING", help="settings of all models")
    alone = commands.add_parser("run", help="train one run, in this process; `train` calls it")
    alone.add_argument("folder", type=Path)
    shown = commands.add_parser("table", help="print the table in Markdown")
    for command in (training, tagging, shown):
        command.add_argument("--recipe", default=RECIPE)
    for command in (training, shown):
        command.add_argument("--results", default=str(RESULTS), metavar="FOLDER", help="one results file for each run")
    return parser.parse_args(arguments)


def main() -> None:
    options = parsed()
    if options.command == "table":
        print(table(Path(options.results), Path(options.recipe).stem))
    elif options.command == "tag":
        tag(options)
    elif options.command == "run":
        run(options.folder)
    else:
        sys.exit(1 if train(options) else 0)


if __name__ == "__main__":
    main()
