"""distill."""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from discotree.cli.common import err, out
from discotree.cli.options import check_output_folder, completing, expand
from discotree.cli.progress import SECONDS_BETWEEN_UPDATES
from discotree.cli.training import TrainingProgress
from discotree.cli.training_options import Prepared, Preset, Settings, folder_option, hold_out_option, texts_argument
from discotree.cli.training_tables import scores_table
from discotree.config import load_recipe, recipe_names, recipe_path
from discotree.errors import requires_extra

READING = "reading text"  # what is counted in bytes
SECONDS_BETWEEN_LINES = 30  # in a pipe, where there is no bar


def distill(
    output: Annotated[str, folder_option("Folder for the model.")],
    recipe: Annotated[
        str,
        typer.Option(
            "--recipe",
            "-r",
            metavar="RECIPE",
            autocompletion=completing(recipe_names()),
            show_default=False,
            help=f"What the small network is and its treebank: a file, or one of {', '.join(recipe_names())}.",
        ),
    ],
    texts: Annotated[
        list[str] | None, texts_argument("A sentence of FILE*8 is eight times as likely to be chosen.")
    ] = None,
    teachers: Annotated[
        list[str] | None,
        typer.Option("--teacher", "-t", metavar="MODEL", help="A model to learn from; several score together."),
    ] = None,
    settings: Settings = None,
    preset: Preset = "",
    hold_out: Annotated[
        list[str] | None,
        hold_out_option("Leave out dev and test of this recipe, too, or all sentences of this treebank."),
    ] = None,
    prepare: Annotated[
        bool,
        typer.Option("--prepare", help="Only choose sentences and, with teachers, score them, for --prepared."),
    ] = False,
    prepared: Prepared = "",
    tensorboard: Annotated[bool, typer.Option(help="Write scalars to FOLDER/tensorboard.")] = True,
) -> None:
    """Train a small network on the trees that large models, its teachers, give raw text, and on a treebank.

    The same command resumes an interrupted run.
    """
    config = load_recipe(recipe, settings or (), "", preset)
    if prepare and not texts and not teachers:
        raise typer.BadParameter("--prepare: expected text to prepare, or teachers to score what is prepared")
    with requires_extra("train"):
        from discotree.models import RESULTS
        from discotree.training.data import recipe_files, resolve
        from discotree.training.distillation import distill as training
        from discotree.training.distributed import World
        from discotree.training.run import MODEL
        from discotree.training.text_sources import text_sources
    source = training.DistillationInput(texts or (), teachers or (), prepared, hold_out or ())
    inputs = [str(recipe_path(recipe)), *recipe_files(resolve(config.data)), config.network.transformer, prepared]
    inputs += [name for name in teachers or () if Path(name).is_dir()]
    inputs += [text.path for text in text_sources(texts or ())]
    check_output_folder(output, expand([*filter(None, inputs)], or_text=True))

    world = World.join(config.training.device)
    folder = Path(output) if tensorboard and not prepare else None
    watch = DistillationProgress(config.training, "dev/las", "LAS", world.is_first, folder)
    with watch:
        if prepare:
            about = training.prepare(config, source, output, watch.text, world)
        else:
            training.distill(config, source, output, watch, watch.text, world)
    if not world.is_first:
        return
    console = out()
    if prepare:
        console.print(_counts(about))
        console.print(f"{'targets' if 'teachers' in about else 'text'}: {output}", soft_wrap=True)
        return
    results = json.loads((Path(output) / RESULTS).read_text("utf-8"))
    console.print(scores_table([results]))
    console.print(f"\n{_counts(results['distillation'])}", soft_wrap=True)
    console.print(f"model: {Path(output) / MODEL}", soft_wrap=True)


def _counts(about: dict[str, Any]) -> str:
    """Say how much text there is, and who has scored it."""
    by = f", scored by {', '.join(about['teachers'])}" if "teachers" in about else ""
    return f"{about['sentences']:,} sentences of text, {about['words']:,} words{by}"


class DistillationProgress(TrainingProgress):
    """Shows how text is read and scored, then training: a bar on a terminal, a line now and then in a pipe."""

    updated = 0.0
    stage = ""

    def text(self, what: str, done: int, total: int) -> None:
        """Show how much of the text is done: megabytes that are read, or sentences."""
        now = time.monotonic()
        shown = err.is_terminal
        if not self.is_first or (
            what == self.stage and now < self.updated + (SECONDS_BETWEEN_UPDATES if shown else SECONDS_BETWEEN_LINES)
        ):
            return
        self.updated, self.stage = now, what
        if what == READING:
            done, total = done >> 20, max(1, total >> 20)
        unit = "MB" if what == READING else "sentences"
        if shown:
            self.bar.update(self.task, description=what, completed=done, total=total, last=unit)
        else:
            err.print(f"{what}  {done:,} of {total:,} {unit}", style="dim")
