"""train and tag."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from discotree.cli.common import INTERRUPTED, err, out
from discotree.cli.options import check_output, check_output_folder, completing, expand, one_of
from discotree.cli.training_options import (
    DevFiles,
    OptionalRecipe,
    Preset,
    Recipe,
    Settings,
    Start,
    TestFiles,
    TrainFiles,
)
from discotree.cli.training_tables import cell, decoding_table, scores_table, start_lines
from discotree.config import (
    SCENARIOS,
    Config,
    Training,
    load_recipe,
    recipe_path,
    with_settings,
    with_trees,
)
from discotree.errors import requires_extra
from discotree.models.finding import find


def train(
    recipe: OptionalRecipe = "",
    start: Start = "",
    train_files: TrainFiles = None,
    dev_files: DevFiles = None,
    test_files: TestFiles = None,
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
    """Train a model from a recipe, or fine-tune one on trees of yours.

    The same command resumes an interrupted run.
    """
    files = {"train": train_files or [], "dev": dev_files or [], "test": test_files or []}
    chosen = _chosen(recipe, start, settings or [], scenario, preset, files)
    target = Path(output or Path("runs", "-".join(filter(None, (Path(chosen.name).name, preset, scenario)))))
    with requires_extra("train"):
        from discotree.models import RESULTS
        from discotree.training.data import recipe_files, resolve
        from discotree.training.distributed import World
        from discotree.training.run import MODEL, train_seeds
        from discotree.training.run import train as train_one
    sources = [str(recipe_path(recipe)) if recipe else "", *recipe_files(resolve(chosen.data))]
    sources.append(str(find(chosen.training.start)) if chosen.training.start else chosen.network.transformer)
    check_output_folder(str(target), expand([*filter(None, sources)], or_text=True))  # what is missing is told later

    world = World.join(chosen.training.device)
    with TrainingProgress(chosen.training, "dev/las", "LAS", world.is_first, target if tensorboard else None) as watch:
        if seeds:
            names = train_seeds(chosen, target, seeds, watch, compare, world)["seeds"]
        else:
            train_one(chosen, target, watch, compare, world)
            names = [""]
    if not world.is_first:
        return
    runs = [json.loads((target / name / RESULTS).read_text("utf-8")) for name in names]
    console = out()
    console.print(scores_table(runs))
    if compare:
        console.print()
        console.print(decoding_table(runs))
    if "start" in runs[0]:
        console.print()
        for line in start_lines(runs[0]):
            console.print(line, soft_wrap=True)
    skipped = sum(runs[0]["data"].get("skipped", {}).values())
    if skipped:
        console.print(f"\n{skipped:,} broken trees were left out")
    models = ", ".join(str(target / name / MODEL) for name in names)
    console.print(f"\nmodel: {models}", soft_wrap=True)


def _chosen(
    recipe: str, start: str, settings: list[str], scenario: str, preset: str, files: Mapping[str, list[str]]
) -> Config:
    """Return the settings of the run; where a recipe and a model disagree, say on standard error what counts."""
    if not recipe and not start:
        raise typer.BadParameter("name a recipe, or a model to fine-tune (--from) and trees to learn from (--train)")
    if not start:
        chosen = load_recipe(recipe, (), scenario, preset)
        chosen = with_settings(with_trees(chosen, files), settings)
        if not chosen.training.start:
            return chosen
        start = chosen.training.start
    if preset or scenario:
        raise typer.BadParameter(f"--{'preset' if preset else 'scenario'} makes a network, and {start} has its own")
    with requires_extra("train"):
        from discotree.training.fine_tuning import fine_tuning
    tuned = fine_tuning(start, recipe, settings, **files)
    for note in tuned.notes:
        err.print(f"discotree: {note}", style="yellow", markup=False, soft_wrap=True)
    return tuned.config


def tag(
    recipe: Recipe,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="File to write the tags to.")],
    settings: Settings = None,
    preset: Preset = "",
    folds: Annotated[int, typer.Option(min=2, help="Number of folds for jackknifing.")] = 10,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs per model; by default 10, more for few sentences.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Models that learn at the same time, on the same device.")] = 1,
) -> None:
    """Predict the tags of a recipe's sentences, for training with --scenario predicted-pos.

    Training sentences are jackknifed: each fold is tagged by a model trained on the others. Dev and test are tagged by
    a model trained on all training sentences.
    """
    chosen = load_recipe(recipe, settings or (), "", preset)
    with requires_extra("train"):
        from discotree.training.data import recipe_files, resolve
        from discotree.training.distributed import World
        from discotree.training.tagger import tag as tag_all
    check_output(output, [str(recipe_path(recipe)), *expand(recipe_files(resolve(chosen.data)))])

    world = World.join(chosen.training.device)
    with TrainingProgress(chosen.training, "dev/accuracy", "accuracy", world.is_first) as watch:
        accuracies = tag_all(chosen, output, folds, epochs or 0, watch, world, jobs)
    if not world.is_first:
        return
    table = Table("% right", box=None, pad_edge=False)
    for column in ("all", "known words", "unknown words"):
        table.add_column(column, justify="right")
    for split, row in accuracies.items():
        name = f"{split} (jackknifed)" if split == "train" else split
        table.add_row(name, *(cell([row[kind]]) for kind in ("all", "known", "unknown")))
    out().print(table)
    hint = f"discotree train {recipe} --scenario predicted-pos --set data.predicted_tags={output}"
    err.print(f"tags: {output}\nnow: {hint}", style="dim", soft_wrap=True)


class TrainingProgress:
    """Shows training: a bar on a terminal, a line per epoch in a pipe, scalars for TensorBoard.

    Of several processes, only the first one shows anything.
    """

    def __init__(
        self, settings: Training, criterion: str, title: str, is_first: bool = True, folder: Path | None = None
    ) -> None:
        self.settings = settings
        self.criterion = criterion  # the metric of an epoch that is shown, under this title
        self.title = title
        self.is_first = is_first
        self.folder = folder if is_first else None  # where TensorBoard's scalars go
        self.last = ""
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[last]}", markup=False),
            TimeElapsedColumn(),
            console=err,
            transient=True,
            disable=not err.is_terminal or not is_first,
        )
        self.task = self.bar.add_task("reading the treebank", total=None, last="")
        self.writers: dict[Path, Any] = {}

    def __enter__(self) -> "TrainingProgress":
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.bar.stop()
        for writer in self.writers.values():
            writer.close()
        if kind is KeyboardInterrupt:
            if self.is_first:
                resumable = "the same command continues after the last complete epoch"
                lost = "nothing was saved (training.checkpoint_epochs)"
                hint = resumable if self.settings.checkpoint_epochs else lost
                err.print(f"discotree: interrupted; {hint}", style="red", soft_wrap=True)
            raise typer.Exit(INTERRUPTED)

    def __call__(self, event: str, metrics: dict[str, float]) -> None:
        if not self.is_first:
            return
        epochs = metrics.get("epochs", self.settings.epochs)
        if event == "resume":
            err.print("  ".join([*_which(metrics), self.resumed(metrics, epochs)]), style="dim", soft_wrap=True)
            return
        where = "  ".join([*_which(metrics), f"epoch {metrics['epoch']:.0f}/{epochs:.0f}"])
        if event == "step":
            steps = metrics["steps"]
            done = metrics.get("done", (metrics["step"] - 1) % steps + 1)
            self.bar.update(self.task, description=where, completed=done, total=steps, last=self.last)
        elif event == "epoch":
            self.last = f"loss {metrics['loss']:.3f}  dev {self.title} {metrics[self.criterion]:.2f}"
            self.bar.update(self.task, description=where, last=self.last)
            if not err.is_terminal:
                err.print(f"{where}  {self.last}  {metrics['seconds']:.1f} s", soft_wrap=True)
            self.write(metrics)

    def resumed(self, metrics: Mapping[str, float], epochs: float) -> str:
        """Say where a resumed run goes on, and whether its schedule is another one now."""
        done, planned = metrics["epoch"], metrics["planned"]
        if metrics["over"]:
            return f"nothing to train: the run was over after epoch {done:.0f}; training.epochs is {epochs:.0f}"
        changed = f"; the cosine is now one over {epochs:.0f} epochs, not {planned:.0f}"
        follows = changed if planned != epochs and self.settings.schedule == "cosine" else ""
        return f"resuming after epoch {done:.0f}/{epochs:.0f}{follows}"

    def write(self, metrics: dict[str, float]) -> None:
        """Write scalars for TensorBoard, if it is installed."""
        if self.folder is None:
            return
        folder = self.folder / (f"seed-{metrics['seed']:.0f}" if "seed" in metrics else "") / "tensorboard"
        if folder not in self.writers:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                err.print("TensorBoard is missing: pip install 'discotree[train]'", style="dim")
                self.folder = None
                return
            self.writers[folder] = SummaryWriter(str(folder))
        for name, value in metrics.items():
            if name not in ("epoch", "seed"):
                self.writers[folder].add_scalar(name, value, int(metrics["epoch"]))
        self.writers[folder].flush()


def _which(metrics: Mapping[str, float]) -> Iterator[str]:
    """Name the one of several runs that the metrics belong to."""
    if "seed" in metrics:
        yield f"seed {metrics['seed']:.0f}"
    if "fold" in metrics:
        yield f"model {metrics['fold']:.0f}/{metrics['folds']:.0f}"
