"""bulk: parse more rows than one process can, and write them to a folder of shards."""

import os
import time
from collections.abc import Generator
from contextlib import closing
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from discotree.cli.console import INTERRUPTED, SECONDS_BETWEEN_LINES, complain, err, note, report_choice
from discotree.cli.options import examples, expand, model_option
from discotree.errors import DiscotreeError, counted, requires_extra
from discotree.models import HUB
from discotree.models.finding import Candidates, Choice, find, fingerprint, mismatch, names
from discotree.version import __version__

MAX_PROBLEMS = 10  # failed shards before the job stops, because the cause is probably not the data


@click.command(
    epilog=examples(
        "discotree bulk corpus/ -o parsed",
        "discotree bulk s3://mine/corpus -o s3://mine/parsed --address auto --workers 400",
    )
)
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True)
@click.option("--output", "-o", metavar="FOLDER", required=True, help="Folder to write the shards to.")
@click.option(
    "--from",
    "kind",
    type=click.Choice(["lines", "tokens", "text"]),
    default="lines",
    help="Content of a row: a sentence, its tokens, or a text.",
)
@model_option
@click.option(
    "--column",
    metavar="NAME",
    help="Column of JSONL and Parquet to parse. By default text, or tokens with --from tokens.",
)
@click.option("--id-column", metavar="NAME", default="id", help="Column with the ids, if there is one.")
@click.option(
    "--shard-rows",
    type=click.IntRange(min=1),
    metavar="N",
    default=10_000,
    help="Approximate number of rows per shard.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=0),
    metavar="N",
    help="Number of workers; 0 parses in this process, without Ray. By default, as many as fit.",
)
@click.option(
    "--address", metavar="ADDRESS", help="Address of a Ray cluster, or auto. By default, this machine is used."
)
@click.option(
    "--gpus",
    type=click.FloatRange(min=0),
    metavar="N",
    help="GPUs per worker, such as 0.25. By default 1 if there is one.",
)
def bulk(
    inputs: tuple[str, ...],
    output: str,
    kind: str,
    model: str | None,
    column: str | None,
    id_column: str,
    shard_rows: int,
    workers: int | None,
    address: str | None,
    gpus: float | None,
) -> None:
    """Parse a large corpus on many cores, GPUs or machines with Ray.

    INPUT is text, JSONL or Parquet: a file, a folder, a pattern, or an address such as s3://….

    Every input row becomes one output row, with a tree or an error. Run the same command again to resume an interrupted
    job. Exit codes: 0 if all shards are written, 1 if some are missing, 130 if interrupted.
    """
    if address and workers == 0:
        raise click.UsageError("--workers 0 parses in this process and cannot be combined with --address")
    with requires_extra("ray"):
        from discotree.integrations.ray import (
            DONE,
            BulkJob,
            ShardWorker,
            check_output,
            parse_on_ray,
            plan_shards,
            sample_text,
        )
    paths = expand(inputs)
    column = column or ("tokens" if kind == "tokens" else "text")
    check_output(paths, output)
    files, shards = plan_shards(paths, shard_rows, column)
    sample = sample_text(shards, column, id_column)
    if not model:
        choice = Candidates.installed().choose(sample)
        report_choice(choice)
        model = choice.model
        sample = ""
    name = model if model in names() or model.startswith(HUB) else str(find(model).resolve())  # for any worker
    checksum = fingerprint(find(name))
    output_folder = output if "://" in output else os.path.abspath(output)
    job = BulkJob(name, checksum, kind, column, id_column, output_folder)
    settings = {
        "discotree": __version__,
        "files": files,
        "model": checksum,
        "--from": kind,
        "--column": column,
        "--id-column": id_column,
        "--shard-rows": shard_rows,
    }
    # Loaded here even if other machines parse, so that an unsuitable model is refused before anything starts.
    worker = ShardWorker(job, None if workers == 0 else "cpu")
    report_choice(Choice(model, warning=mismatch(sample, worker.language)))
    interrupted = False
    with job.start(settings):
        missing = job.missing(shards)
        progress = ShardProgress(len(shards), len(shards) - len(missing))
        try:
            if missing:
                progress(
                    (worker(shard._asdict()) for shard in missing)
                    if workers == 0
                    else parse_on_ray(job, missing, address or "", workers, gpus)
                )
        except KeyboardInterrupt:
            interrupted = True
        missing = job.missing(shards)
        if not missing:
            job.write(DONE, b"")
    progress.done = len(shards) - len(missing)
    progress.report(f"written to {output}")
    if interrupted:
        complain("interrupted; run the same command to resume the job")
        raise click.exceptions.Exit(INTERRUPTED)
    if missing:
        first = ", ".join(shard.output for shard in missing[:MAX_PROBLEMS])
        hint = "" if progress.problems else "; check that all workers write to the same disk and have enough memory"
        raise DiscotreeError(
            f"{counted(len(missing), 'missing shard')} ({first}); run the same command to try again{hint}"
        )


class ShardProgress:
    """Shows the progress of a job: a bar on a terminal, a line now and then in a pipe."""

    def __init__(self, shards: int, done: int) -> None:
        self.shards = shards
        self.done = done
        self.rows = self.sentences = self.errors = self.problems = 0
        self.start = self.reported = time.monotonic()

    def __call__(self, outcomes: Generator[dict[str, Any], None, None]) -> None:
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("shards, {task.description}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with closing(outcomes), Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
            task = bar.add_task("starting workers", total=self.shards, completed=self.done)
            for outcome in outcomes:
                self.add(outcome)
                bar.update(task, completed=self.done, description=self.summary)
                if not err.is_terminal and time.monotonic() - self.reported > SECONDS_BETWEEN_LINES:
                    self.report("so far")

    def add(self, outcome: dict[str, Any]) -> None:
        if outcome["problem"]:
            self.problems += 1
            complain(outcome["problem"])
            if self.problems >= MAX_PROBLEMS:
                raise DiscotreeError(f"{self.problems} shards failed; the job was stopped")
            return
        self.done += 1
        self.rows += outcome["rows"]
        self.sentences += outcome["sentences"]
        self.errors += outcome["errors"]

    @property
    def summary(self) -> str:
        rate = self.sentences / (time.monotonic() - self.start)
        rows, sentences = counted(self.rows, "row"), counted(self.sentences, "sentence")
        return f"{rows}, {self.errors:,} with an error, {sentences}, {rate:,.0f}/s"

    def report(self, state: str) -> None:
        self.reported = time.monotonic()
        note(f"{self.done:,} of {self.shards:,} shards, {self.summary}; {state}")
