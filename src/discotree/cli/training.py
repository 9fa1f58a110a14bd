"""train and tag."""

import json
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from discotree.cli.common import INTERRUPTED, err, number, out
from discotree.cli.options import completing, one_of
from discotree.config import PRESETS, SCENARIOS, Training, load_recipe, recipe_names
from discotree.errors import requires_extra

FIGURES = {  # of results.json, by the heads of the columns
    "F1": ("all", "f1"),
    "disc. F1": ("discontinuous", "f1"),
    "exact match": ("all", "exact_match"),
    "LAS": ("attachment", "las"),
}


Recipe = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE",
        autocompletion=completing(recipe_names()),
        help=f"A file, or one of {', '.join(recipe_names())}.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.NAME=VALUE", help="Change a setting: --set training.epochs=20."),
]
Preset = Annotated[
    str,
    typer.Option(
        callback=one_of("preset", PRESETS),
        autocompletion=completing(PRESETS),
        help=f"Start from these settings instead of the recipe's: {', '.join(PRESETS)}.",
    ),
]


def train(
    recipe: Recipe,
    settings: Settings = None,
    preset: Preset = "",
    scenario: Annotated[
        str,
        typer.Option(
            callback=one_of("scenario", SCENARIOS),
            autocompletion=completing(SCENARIOS),
            help=f"What the network sees beside the words: {', '.join(SCENARIOS)}.",
        ),
    ] = "",
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Folder for the model and its results; runs/RECIPE if not given."
        ),
    ] = "",
    seeds: Annotated[int, typer.Option(min=0, help="Train this many models, each with a seed of its own.")] = 0,
    compare: Annotated[bool, typer.Option("--compare", help="Score every decoding method.")] = False,
    tensorboard: Annotated[bool, typer.Option(help="Write scalars to FOLDER/tensorboard.")] = True,
) -> None:
    """Train a model from a recipe.

    The same command resumes an interrupted run.
    """
    chosen = load_recipe(recipe, settings or (), scenario, preset)
    target = Path(output or Path("runs", "-".join(filter(None, (Path(chosen.name).name, preset, scenario)))))
    with requires_extra("parser"):
        from discotree.models import RESULTS
        from discotree.training.run import MODEL, train_seeds
        from discotree.training.run import train as train_one

    with Watch(chosen.training, "dev/las", "LAS", target if tensorboard else None) as watch:
        if seeds:
            names = train_seeds(chosen, target, seeds, watch, compare)["seeds"]
        else:
            train_one(chosen, target, watch, compare)
            names = [""]
    if not is_first():
        return
    runs = [json.loads((target / name / RESULTS).read_text("utf-8")) for name in names]
    console = out()
    console.print(_scores(runs))
    if compare:
        console.print()
        console.print(_decoding(runs))
    skipped = sum(runs[0]["data"].get("skipped", {}).values())
    if skipped:
        console.print(f"\n{skipped:,} broken trees were left out")
    models = ", ".join(str(target / name / MODEL) for name in names)
    console.print(f"\nmodel: {models}", markup=False, soft_wrap=True)


def tag(
    recipe: Recipe,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="File to write the tags to.")],
    settings: Settings = None,
    preset: Preset = "",
    folds: Annotated[int, typer.Option(min=2, help="Number of folds for jackknifing.")] = 10,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs per model; by default 10, more for few sentences.")
    ] = None,
) -> None:
    """Predict the tags of a recipe's sentences, for training with --scenario predicted-pos.

    Training sentences are jackknifed: each fold is tagged by a model trained on the others. Dev and test are tagged by
    a model trained on all training sentences.
    """
    chosen = load_recipe(recipe, settings or (), "", preset)
    with requires_extra("parser"):
        from discotree.training.tagger import tag as tag_all

    with Watch(chosen.training, "dev/accuracy", "accuracy") as watch:
        accuracies = tag_all(chosen, output, folds, epochs or 0, watch)
    if not is_first():
        return
    table = Table("% right", box=None, pad_edge=False)
    for column in ("all", "known words", "unknown words"):
        table.add_column(column, justify="right")
    for part, row in accuracies.items():
        name = f"{part} (jackknifed)" if part == "train" else part
        table.add_row(name, *(_cell([row[kind]]) for kind in ("all", "known", "unknown")))
    out().print(table)
    hint = f"discotree train {recipe} --scenario predicted-pos --set data.predicted_tags={output}"
    err.print(f"tags: {output}\nnow: {hint}", style="dim", markup=False, soft_wrap=True)


def is_first() -> bool:
    """Whether this process is the one that talks; torchrun starts several."""
    return os.environ.get("RANK", "0") == "0"


class Watch:
    """What is seen of training: a bar on a terminal, a line for every epoch in a pipe, scalars for TensorBoard."""

    def __init__(self, settings: Training, criterion: str, title: str, folder: Path | None = None) -> None:
        self.settings = settings
        self.criterion = criterion  # among the figures of an epoch
        self.title = title  # of the criterion
        self.folder = folder if is_first() else None
        self.last = ""
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[last]}"),
            TimeElapsedColumn(),
            console=err,
            transient=True,
            disable=not err.is_terminal or not is_first(),
        )
        self.task = self.bar.add_task("reading the treebank", total=None, last="")
        self.writers: dict[Path, Any] = {}

    def __enter__(self) -> "Watch":
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.bar.stop()
        for writer in self.writers.values():
            writer.close()
        if kind is KeyboardInterrupt:
            if is_first():
                kept = "the same command goes on after the last complete epoch"
                lost = "nothing was kept (training.checkpoint_epochs)"
                said = kept if self.settings.checkpoint_epochs else lost
                err.print(f"discotree: interrupted; {said}", style="red", soft_wrap=True)
            raise typer.Exit(INTERRUPTED)

    def __call__(self, event: str, figures: dict[str, float]) -> None:
        if not is_first():
            return
        epochs = figures.get("epochs", self.settings.epochs)
        where = "  ".join([*_which(figures), f"epoch {figures['epoch']:.0f}/{epochs:.0f}"])
        if event == "step":
            steps = figures["steps"]
            done = (figures["step"] - 1) % steps + 1
            self.bar.update(self.task, description=where, completed=done, total=steps, last=self.last)
        elif event == "epoch":
            self.last = f"loss {figures['loss']:.3f}  dev {self.title} {figures[self.criterion]:.2f}"
            if not err.is_terminal:
                err.print(f"{where}  {self.last}  {figures['seconds']:.1f} s", soft_wrap=True)
            self.write(figures)

    def write(self, figures: dict[str, float]) -> None:
        """Scalars for TensorBoard, if somebody wants them and has it."""
        if self.folder is None:
            return
        folder = self.folder / (f"seed-{figures['seed']:.0f}" if "seed" in figures else "") / "tensorboard"
        if folder not in self.writers:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                err.print("no TensorBoard here: pip install discotree[train]", style="dim", markup=False)
                self.folder = None
                return
            self.writers[folder] = SummaryWriter(str(folder))
        for name, value in figures.items():
            if name not in ("epoch", "seed"):
                self.writers[folder].add_scalar(name, value, int(figures["epoch"]))
        self.writers[folder].flush()


def _which(figures: Mapping[str, float]) -> Iterator[str]:
    """Which of several runs the figures belong to."""
    if "seed" in figures:
        yield f"seed {figures['seed']:.0f}"
    if "fold" in figures:
        yield f"model {figures['fold']:.0f}/{figures['folds']:.0f}"


def _scores(runs: Sequence[dict[str, Any]]) -> Table:
    """A row for dev and one for test; of several runs the mean and the standard deviation."""
    table = Table("", box=None, pad_edge=False)
    for name in FIGURES:
        table.add_column(name, justify="right")
    for part in runs[0]["scores"]:
        cells = [_cell([run["scores"][part][kind][name] for run in runs]) for kind, name in FIGURES.values()]
        table.add_row(part, *cells)
    return table


def _decoding(runs: Sequence[dict[str, Any]]) -> Table:
    """What every way of decoding is worth."""
    columns = {"F1": "f1", "disc. F1": "discontinuous_f1", "seconds": "seconds"}
    table = Table("", "decoding", box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right")
    for part, scores in runs[0]["scores"].items():
        for way in scores["decoding"]:
            found = [run["scores"][part]["decoding"][way] for run in runs]
            table.add_row(part, way, *(_cell([figures[name] for figures in found]) for name in columns.values()))
    return table


def _cell(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None and value == value]
    if not known:
        return number(None)
    spread = f" ± {statistics.stdev(known):.2f}" if len(known) > 1 else ""
    return number(statistics.mean(known), 2) + spread
