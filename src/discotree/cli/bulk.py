"""bulk: parse more rows than one process can, into a folder of shards."""

import time
from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from discotree.cli.common import INTERRUPTED, err, report_choice
from discotree.cli.model_options import Engine, Model
from discotree.cli.options import expand
from discotree.errors import DiscotreeError, requires_extra
from discotree.models.choice import Candidates, Choice, mismatch
from discotree.models.finding import find, fingerprint, names
from discotree.models.hub import HUB
from discotree.version import __version__

if TYPE_CHECKING:
    from discotree.integrations.bulk.work import ShardOutcome

SECONDS_BETWEEN_REPORTS = 30.0  # where there is no terminal
MAX_PROBLEMS = 10  # failed shards before the job stops: something else must be wrong


def bulk(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT", help="Text, JSONL or Parquet: files, folders, patterns, addresses (s3://…)."),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="Folder to write the shards to.")],
    to: Annotated[Literal["parquet", "json"], typer.Option(help="Format of the shards.")] = "parquet",
    from_: Annotated[
        Literal["lines", "tokens", "text"],
        typer.Option("--from", help="What a row holds: a sentence, its tokens, or a text."),
    ] = "lines",
    model: Model = "",
    engine: Engine = None,
    column: Annotated[
        str, typer.Option(help="Column of JSONL and Parquet to parse: text, or tokens with --from tokens.")
    ] = "",
    id_column: Annotated[str, typer.Option(help="Column of the ids, if there is one.")] = "id",
    shard_rows: Annotated[int, typer.Option(min=1, help="Approximate number of rows per shard.")] = 10_000,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Number of workers; all that fit by default; 0: this process, no Ray.")
    ] = None,
    address: Annotated[str, typer.Option(help="Address of a Ray cluster, or auto; this machine by default.")] = "",
    cpus: Annotated[float, typer.Option(min=0.01, help="Cores per worker.")] = 1.0,
    gpus: Annotated[
        float | None, typer.Option(min=0, help="GPUs per worker, such as 0.25; by default 1 if there are any.")
    ] = None,
) -> None:
    """Parse very many rows on many cores, GPUs or machines, with Ray.

    Every row of the input gets one row of the output, with a tree or an error. The same command resumes an interrupted
    job. Exit codes: 0 all shards are written, 1 some are missing, 130 interrupted.
    """
    if address and workers == 0:
        raise typer.BadParameter("--workers 0 means this process: leave out --address")
    with requires_extra("ray"):
        from discotree.integrations.bulk.job import Cluster, on_ray
        from discotree.integrations.bulk.plan import ShardPlan, check_column, check_output
        from discotree.integrations.bulk.sentences import sample_of_rows
        from discotree.integrations.bulk.shards import ShardFolder
        from discotree.integrations.bulk.storage import absolute
        from discotree.integrations.bulk.work import BulkTask, ShardWorker
    inputs = expand(inputs)
    column = column or ("tokens" if from_ == "tokens" else "text")
    folder = ShardFolder(absolute(output), to, documents=from_ == "text")
    check_output(inputs, output)
    plan = ShardPlan.of(inputs, shard_rows)
    check_column(plan.files, column)
    sample = sample_of_rows(plan.shards, column, id_column)
    if not model:
        choice = Candidates.installed().choose(sample)
        report_choice(choice)
        model = choice.model
        sample = ""
    name = model if model in names() or model.startswith(HUB) else str(find(model).resolve())  # for any worker
    task = BulkTask(name, fingerprint(find(name)), from_, column, id_column, folder, engine or "")
    job = {
        "discotree": __version__,
        "files": [file.identity for file in plan.files],
        "model": task.fingerprint,
        "--from": from_,
        "--column": column,
        "--id-column": id_column,
        "--to": to,
        "--shard-rows": shard_rows,
        "--engine": engine,
    }
    # Made here even where others do the work: a model that does not fit is refused before anything begins.
    worker = ShardWorker(task, "" if workers == 0 else "cpu")
    report_choice(Choice(model, warning=mismatch(sample, worker.language)))
    interrupted = False
    with folder.begun(job):
        left = folder.missing(plan.shards)
        progress = ShardProgress(len(plan.shards), len(plan.shards) - len(left))
        cluster = Cluster(address, workers, cpus, gpus)
        try:
            if left:
                progress((worker(shard) for shard in left) if workers == 0 else on_ray(task, left, cluster))
        except KeyboardInterrupt:
            interrupted = True
        left = folder.missing(plan.shards)
        if not left:
            folder.finish()
    progress.done = len(plan.shards) - len(left)
    progress.report(f"written to {output}")
    if interrupted:
        err.print("discotree: interrupted; the same command resumes the job", style="red")
        raise typer.Exit(INTERRUPTED)
    if left:
        hint = "the same command tries again" if progress.problems else "do the workers write to other disks?"
        raise DiscotreeError(f"{len(left):,} shards are missing: {hint}")


class ShardProgress:
    """Shows the progress of a job: a bar on a terminal, elsewhere a line from time to time."""

    def __init__(self, shards: int, done: int) -> None:
        self.shards = shards
        self.done = done
        self.rows = self.sentences = self.errors = self.problems = 0
        self.start = self.reported = time.monotonic()

    def __call__(self, outcomes: "Generator[ShardOutcome, None, None]") -> None:
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
                if not err.is_terminal and time.monotonic() - self.reported > SECONDS_BETWEEN_REPORTS:
                    self.report("so far")

    def add(self, outcome: "ShardOutcome") -> None:
        if outcome.problem:
            self.problems += 1
            err.print(f"discotree: {outcome.problem}", style="red", soft_wrap=True)
            if self.problems >= MAX_PROBLEMS:
                raise DiscotreeError(f"{self.problems} shards failed: the job stops")
            return
        self.done += 1
        self.rows += outcome.rows
        self.sentences += outcome.sentences
        self.errors += outcome.errors

    @property
    def summary(self) -> str:
        rate = self.sentences / (time.monotonic() - self.start)
        return f"{self.rows:,} rows, {self.errors:,} with an error, {self.sentences:,} sentences, {rate:,.0f}/s"

    def report(self, state: str) -> None:
        self.reported = time.monotonic()
        text = f"{self.done:,} of {self.shards:,} shards, {self.summary}; {state}"
        err.print(f"discotree: {text}", style="dim", soft_wrap=True)
