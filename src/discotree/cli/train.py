"""train: train or fine-tune a model, or predict the tags of a treebank."""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from discotree.cli.console import INTERRUPTED, ProgressBar, err, number, out, table, warn
from discotree.cli.options import (
    Choice,
    Decorator,
    check_output,
    check_output_folder,
    complete_model,
    complete_recipe,
    examples,
    expand,
    output_option,
    settings_option,
)
from discotree.config.recipes import (
    PRESETS,
    SCENARIOS,
    load_recipe,
    recipe_names,
    recipe_path,
    with_settings,
    with_trees,
)
from discotree.config.schema import Config, Training
from discotree.errors import counted, requires_extra
from discotree.models.finding import find

if TYPE_CHECKING:
    from rich.table import Table

METRICS = {  # columns of the table, and their keys in results.json
    "F1": ("all", "f1"),
    "disc. F1": ("discontinuous", "f1"),
    "exact match": ("all", "exact_match"),
    "LAS": ("attachment", "las"),
}
FITTED = "gap penalties and confidences"
RECIPES = f"Recipes: {', '.join(recipe_names())}.\n\n"


def trees_option(flag: str, help: str) -> Decorator:
    return click.option(flag, f"{flag[2:]}_files", metavar="TREEBANK", multiple=True, help=f"{help} May be repeated.")


@click.command(
    epilog=RECIPES
    + examples(
        "discotree train alpino --set data.folder=/my/treebanks",
        "discotree train negra --preset paper --scenario gold-pos --seeds 5 -o runs/negra-paper",
        "discotree train --base nl --train trees.export -o mine",
        "discotree train pcc --base de --set training.epochs=30",
        "discotree train negra --predict-tags negra-tags.tsv --jobs 6",
    )
)
@click.argument("recipe", shell_complete=complete_recipe, metavar="[RECIPE]", required=False)
@click.option(
    "--base",
    shell_complete=complete_model,
    metavar="MODEL",
    help="Fine-tune this model: an installed model (see discotree models), a folder, or hub:ORG/NAME.",
)
@trees_option("--train", "Training trees, instead of those of the recipe.")
@trees_option("--dev", "Dev trees. With --base and without dev trees, every tenth training tree is held out.")
@trees_option("--test", "Test trees; they are only scored.")
@settings_option("training.epochs=20")
@click.option("--preset", type=Choice(tuple(PRESETS)), help="Start from these settings instead of those of the recipe.")
@click.option("--scenario", type=Choice(tuple(SCENARIOS)), help="Input of the network in addition to the words.")
@output_option("Folder for the model and its results. By default, runs/RECIPE.", default=None, metavar="FOLDER")
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Train N models with different seeds.")
@click.option(
    "--predict-tags",
    metavar="FILE",
    help="Do not train a parser. Predict the tags of the recipe's sentences, and write them to FILE for training with "
    "--scenario predicted-pos.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="With --predict-tags, the number of taggers to train at the same time on one device.",
)
def train(
    recipe: str | None,
    base: str | None,
    train_files: tuple[str, ...],
    dev_files: tuple[str, ...],
    test_files: tuple[str, ...],
    settings: tuple[str, ...],
    preset: str | None,
    scenario: str | None,
    output: str | None,
    seeds: int | None,
    predict_tags: str | None,
    jobs: int,
) -> None:
    """Train a model from a recipe, or fine-tune an existing model.

    RECIPE is a file or the name of a recipe below; it is not needed with --base and --train. Run the same command
    again to resume an interrupted run.

    With --predict-tags, training sentences are jackknifed: each of ten folds is tagged by a model trained on the
    others. Dev and test sentences are tagged by a model trained on all training sentences.
    """
    files = {"train": train_files, "dev": dev_files, "test": test_files}
    if predict_tags is not None:
        if not recipe or base or any(files.values()) or scenario or output or seeds:
            raise click.UsageError("--predict-tags needs a recipe, and takes only --set, --preset and --jobs")
        _predict_tags(load_recipe(recipe, settings, preset=preset or ""), recipe, predict_tags, jobs)
        return
    config = _config(recipe, base, settings, scenario, preset, files)
    target = Path(output or Path("runs", "-".join(filter(None, (Path(config.name).name, preset, scenario)))))
    with requires_extra("train"):
        from discotree.models import RESULTS
        from discotree.training.data import recipe_files, resolve
        from discotree.training.distributed import ProcessGroup, device_name
        from discotree.training.run import MODEL, labelled
        from discotree.training.run import train as train_one
    sources = [str(recipe_path(recipe)) if recipe else "", *recipe_files(resolve(config.data))]
    sources.append(str(find(config.training.base_model)) if config.training.base_model else config.network.transformer)
    check_output_folder(str(target), expand([*filter(None, sources)], or_text=True))  # training reports missing files

    process_group = ProcessGroup.join(config.training.device)
    with TrainingProgress(config.training, "dev/las", "LAS", process_group.is_first, target) as watch:
        watch.device = f"{process_group.device.type} ({device_name(process_group.device)})"
        names = [""]
        if seeds:
            first = config.training.seed
            names = [f"seed-{seed}" for seed in range(first, first + seeds)]
            for seed, name in enumerate(names, first):
                seeded = replace(config, training=replace(config.training, seed=seed))
                train_one(seeded, target / name, labelled(watch, seed=seed), process_group)
        else:
            train_one(config, target, watch, process_group)
    if not process_group.is_first:
        return
    runs = [json.loads((target / name / RESULTS).read_text("utf-8")) for name in names]
    console = out()
    console.print(scores_table(runs))
    if "start" in runs[0]:
        console.print()
        for line in fine_tuning_lines(runs[0]):
            console.print(line, soft_wrap=True)
    skipped = sum(runs[0]["data"].get("skipped", {}).values())
    if skipped:
        console.print(f"\n{counted(skipped, 'broken tree')} skipped")
    models = ", ".join(str(target / name / MODEL) for name in names)
    console.print(f"\nmodel: {models}", soft_wrap=True)
    best = max(zip(runs, names, strict=True), key=lambda run: run[0]["scores"]["dev"]["attachment"]["las"])[1]
    what = "TREEBANK --tags" if config.data.tags != "none" else "FILE" if config.language else "FILE --from tokens"
    err.print(f"next: discotree parse {what} --model {quote(str(target / best / MODEL))}", style="dim", soft_wrap=True)


def _config(
    recipe: str | None,
    base: str | None,
    settings: Sequence[str],
    scenario: str | None,
    preset: str | None,
    files: Mapping[str, Sequence[str]],
) -> Config:
    """Return the settings of the run; warn if a recipe and a base model disagree."""
    if not recipe and not base:
        raise click.UsageError("pass a RECIPE, or --base MODEL to fine-tune a model on --train TREEBANK")
    if not base:
        config = load_recipe(recipe or "", (), scenario or "", preset or "")
        config = with_settings(with_trees(config, files), settings)
        if not config.training.base_model:
            return config
        base = config.training.base_model
    if preset or scenario:
        option = "--preset" if preset else "--scenario"
        raise click.UsageError(f"{option} cannot be combined with --base: {base} already defines the network")
    with requires_extra("train"):
        from discotree.training.fine_tuning import fine_tuning
    config, notes = fine_tuning(base, recipe or "", settings, **files)
    for note in notes:
        warn(note)
    return config


def _predict_tags(config: Config, recipe: str, output: str, jobs: int) -> None:
    with requires_extra("train"):
        from discotree.training.data import recipe_files, resolve
        from discotree.training.distributed import ProcessGroup
        from discotree.training.tagger import tag
    check_output(output, [str(recipe_path(recipe)), *expand(recipe_files(resolve(config.data)))])

    process_group = ProcessGroup.join(config.training.device)
    with TrainingProgress(config.training, "dev/accuracy", "accuracy", process_group.is_first) as watch:
        accuracies = tag(config, output, report=watch, process_group=process_group, jobs=jobs)
    if not process_group.is_first:
        return
    rows = [
        [f"{split} (jackknifed)" if split == "train" else split, cell([accuracy])]
        for split, accuracy in accuracies.items()
    ]
    out().print(table(["", "% correct"], rows, left=[""]))
    hint = f"discotree train {recipe} --scenario predicted-pos --set data.predicted_tags={output}"
    err.print(f"tags: {output}\nnext: {hint}", style="dim", soft_wrap=True)


class TrainingProgress(ProgressBar):
    """Shows the progress of training: a bar on a terminal, a line per epoch in a pipe, scalars for TensorBoard.

    If there are several processes, only the first one shows anything.
    """

    def __init__(
        self, settings: Training, criterion: str, title: str, is_first: bool = True, folder: Path | None = None
    ) -> None:
        resumable = "run the same command to continue after the last complete epoch"
        lost = "nothing was saved, because training.checkpoint_epochs is 0"
        super().__init__(shown=is_first, interrupted=resumable if settings.checkpoint_epochs else lost)
        self.settings = settings
        self.criterion = criterion  # the metric to show for an epoch, under this title
        self.title = title
        self.is_first = is_first
        self.folder = folder if is_first else None  # for TensorBoard
        self.device = ""  # printed once, with the sizes of the data and the network
        self.last = ""
        self.writers: dict[Path, Any] = {}
        self.show("reading the treebank", 0, None, "")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is KeyboardInterrupt and not self.is_first:
            raise click.exceptions.Exit(INTERRUPTED)
        super().__exit__(kind)

    def __call__(self, event: str, metrics: dict[str, float]) -> None:
        if not self.is_first:
            return
        epochs = metrics.get("epochs", self.settings.epochs)
        if event == "start":
            if self.device:
                sizes = [f"{size:,.0f} {name}" for name, size in metrics.items() if name != "seed"]
                err.print(", ".join([*sizes[1:], sizes[0], self.device]), soft_wrap=True)
            self.device = ""
            return
        if event == "resume":
            err.print("  ".join([*_which(metrics), self.resumed(metrics, epochs)]), style="dim", soft_wrap=True)
            return
        where = "  ".join([*_which(metrics), f"epoch {metrics['epoch']:.0f}/{epochs:.0f}"])
        if event == "step":
            steps = metrics["steps"]
            done = metrics.get("done", (metrics["step"] - 1) % steps + 1)
            self.show(where, done, steps, f"{done:.0f}/{steps:.0f}  {self.last}")
        elif event == "epoch":
            self.last = f"loss {metrics['loss']:.3f}  dev {self.title} {metrics[self.criterion]:.2f}"
            if not err.is_terminal:
                err.print(f"{where}  {self.last}  {metrics['seconds']:.1f} s", soft_wrap=True)
            self.write(metrics)

    def resumed(self, metrics: Mapping[str, float], epochs: float) -> str:
        """Describe where a run resumes, and whether its schedule has changed."""
        done, planned = metrics["epoch"], metrics["planned"]
        if metrics["over"]:
            return f"nothing to train: the run ended after epoch {done:.0f}; training.epochs is {epochs:.0f}"
        changed = f"; the cosine schedule now covers {epochs:.0f} epochs, not {planned:.0f}"
        note = changed if planned != epochs and self.settings.schedule == "cosine" else ""
        return f"resuming after epoch {done:.0f}/{epochs:.0f}{note}"

    def write(self, metrics: dict[str, float]) -> None:
        """Write scalars for TensorBoard, if it is installed."""
        if self.folder is None:
            return
        folder = self.folder / (f"seed-{metrics['seed']:.0f}" if "seed" in metrics else "") / "tensorboard"
        if folder not in self.writers:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                err.print("TensorBoard is not installed: pip install 'discotree[train]'", style="dim")
                self.folder = None
                return
            self.writers[folder] = SummaryWriter(str(folder))
        for name, value in metrics.items():
            if name not in ("epoch", "seed"):
                self.writers[folder].add_scalar(name, value, int(metrics["epoch"]))
        self.writers[folder].flush()


def _which(metrics: Mapping[str, float]) -> Iterator[str]:
    """Name the run that the metrics belong to, if there are several."""
    if "seed" in metrics:
        yield f"seed {metrics['seed']:.0f}"
    if "fold" in metrics:
        yield f"model {metrics['fold']:.0f}/{metrics['folds']:.0f}"


# Tables


def scores_table(runs: Sequence[dict[str, Any]]) -> "Table":
    """Return a row per split and named source, with means and standard deviations of several runs."""
    rows = []
    for split in runs[0]["scores"]:
        scores = [run["scores"][split] for run in runs]
        if "start" in runs[0]:
            rows.append([f"{split}, before", *_cells([runs[0]["start"]["scores"][split]])])
        rows.append([split, *_cells(scores)])
        sources = scores[0].get("sources", ())
        rows += [[f"  {source}", *_cells([score["sources"][source] for score in scores])] for source in sources]
    return table(["", *METRICS], rows, left=[""])


def _cells(scores: Sequence[dict[str, Any]]) -> list[str]:
    return [cell([run[kind][name] for run in scores]) for kind, name in METRICS.values()]


def cell(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None and value == value]
    if not known:
        return number(None)
    spread = f" ± {statistics.stdev(known):.2f}" if len(known) > 1 else ""
    return number(statistics.mean(known), 2) + spread


def fine_tuning_lines(results: dict[str, Any]) -> Iterator[str]:
    """Describe what is new in a fine-tuned model, how the dev set was used, and which licences apply."""
    start = results["start"]
    dev, name = results["data"]["sentences"]["dev"], start["name"]
    new = [f"{count:,} {kind}" for kind, count in start["new"].items()]
    yield f"new to {name}: {', '.join(new) or 'nothing'}"
    if not start["dev_decides"]:
        yield (
            f"the {dev:,} dev sentences are too few to select an epoch or to fit {FITTED}: "
            f"the last epoch is used, with the {FITTED} of {name}"
        )
    elif results["config"]["training"]["calibrate_on_dev"]:
        yield f"{FITTED} are fitted on the {dev:,} dev sentences"
    terms = start["licence"] or "unknown: ask its authors"
    use = "" if start["commercial"] or not start["licence"] else ", non-commercial use only"
    yield f"licence: those of {name} ({terms}{use}) and of your trees both apply to this model"
