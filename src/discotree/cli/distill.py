"""distill: train a small model on the predictions of large models."""

import json
import time
from pathlib import Path
from typing import Any

import click

from discotree.cli.console import SECONDS_BETWEEN_LINES, SECONDS_BETWEEN_UPDATES, err, out
from discotree.cli.options import (
    check_output_folder,
    complete_model,
    complete_recipe,
    examples,
    expand,
    settings_option,
)
from discotree.cli.pretrain import hold_out_option, prepare_options
from discotree.cli.train import RECIPES, TrainingProgress, scores_table
from discotree.config.recipes import load_recipe, recipe_path
from discotree.errors import requires_extra

READING = "reading text"  # the stage that is counted in bytes


@click.command(
    epilog=RECIPES
    + examples(
        "discotree distill news.txt.bz2 'novels.txt*8' --teacher nl-large --recipe alpino -o runs/small",
        "discotree distill news.txt --recipe alpino -o sentences --prepare",
        "discotree distill --prepared sentences -t one -t two --recipe alpino -o targets --prepare",
        "discotree distill --prepared targets --recipe alpino -o runs/small --set network.lstm_size=256",
    )
)
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option("--output", "-o", metavar="FOLDER", required=True, help="Folder for the model and its results.")
@click.option(
    "--recipe",
    "-r",
    shell_complete=complete_recipe,
    metavar="RECIPE",
    required=True,
    help="Recipe of the small model: a file, or the name of a recipe below.",
)
@click.option(
    "--teacher",
    "-t",
    "teachers",
    shell_complete=complete_model,
    metavar="MODEL",
    multiple=True,
    help="A model to learn from. May be repeated; several teachers are averaged.",
)
@settings_option("training.epochs=20")
@hold_out_option("Drop the dev and test sentences of this recipe as well, or all sentences of this treebank.")
@prepare_options("Only select sentences and, with teachers, score them, for --prepared.")
def distill(
    texts: tuple[str, ...],
    output: str,
    recipe: str,
    teachers: tuple[str, ...],
    settings: tuple[str, ...],
    hold_out: tuple[str, ...],
    prepare: bool,
    prepared: str | None,
) -> None:
    """Train a small model on the predictions of large models.

    The small model, the student, learns from the trees that its teachers predict for raw text, and from the treebank
    of the recipe. TEXT is a file with a paragraph or sentence per line, plain or compressed (.gz, .bz2, .xz). A
    sentence of TEXT*8 is eight times as likely to be selected. Run the same command again to resume an interrupted run.
    """
    config = load_recipe(recipe, settings)
    if prepare and not texts and not teachers:
        raise click.UsageError("--prepare needs TEXT to prepare, or --teacher to score text that is prepared")
    with requires_extra("train"):
        from discotree.models import RESULTS
        from discotree.training.data import recipe_files, resolve
        from discotree.training.distillation import distill as training
        from discotree.training.distributed import ProcessGroup
        from discotree.training.run import MODEL
        from discotree.training.text_sources import text_sources
    source = training.DistillationInput(texts, teachers, prepared or "", hold_out)
    inputs = [str(recipe_path(recipe)), *recipe_files(resolve(config.data)), config.network.transformer, prepared]
    inputs += [name for name in teachers if Path(name).is_dir()]
    inputs += [text.path for text in text_sources(texts)]
    check_output_folder(output, expand([*filter(None, inputs)], or_text=True))

    process_group = ProcessGroup.join(config.training.device)
    folder = None if prepare else Path(output)
    watch = DistillationProgress(config.training, "dev/las", "LAS", process_group.is_first, folder)
    with watch:
        if prepare:
            about = training.prepare(config, source, output, watch.text, process_group)
        else:
            training.distill(config, source, output, watch, watch.text, process_group)
    if not process_group.is_first:
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
    """Describe how much text there is, and which teachers scored it."""
    by = f", scored by {', '.join(about['teachers'])}" if "teachers" in about else ""
    return f"{about['sentences']:,} sentences of text, {about['words']:,} words{by}"


class DistillationProgress(TrainingProgress):
    """Shows how text is read and scored, then training: a bar on a terminal, lines in a pipe."""

    def text(self, stage: str, done: int, total: int) -> None:
        """Show how much of the text is done: megabytes read, or sentences scored."""
        now = time.monotonic()
        pause = SECONDS_BETWEEN_UPDATES if self.shown else SECONDS_BETWEEN_LINES
        if not self.is_first or (stage == self.stage and now < self.updated + pause):
            return
        unit = "sentences"
        if stage == READING:
            done, total, unit = done >> 20, max(1, total >> 20), "MB"
        self.updated = now
        self.show(stage, done, total, f"{done:,}/{total:,} {unit}")
        if not self.shown:
            err.print(f"{stage}  {done:,} of {total:,} {unit}", style="dim")
