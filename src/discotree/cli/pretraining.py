"""pretrain."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from discotree.cli.common import INTERRUPTED, err, out
from discotree.cli.options import check_output_folder, completing, one_of
from discotree.cli.progress import new_bar
from discotree.cli.training_options import Prepared, folder_option, hold_out_option, texts_argument
from discotree.config.pretraining import SIZES, load_pretraining
from discotree.errors import printable, requires_extra

TOTAL = 1000  # length of a bar that shows a share


def pretrain(
    output: Annotated[str, folder_option("Folder for the encoder.")],
    texts: Annotated[list[str] | None, texts_argument("FILE*8 reads one eight times in a pass.")] = None,
    size: Annotated[
        str,
        typer.Option(
            callback=one_of("size", SIZES),
            autocompletion=completing(SIZES),
            help=f"Start from the settings of this size: {', '.join(SIZES)}.",
        ),
    ] = "small",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.NAME=VALUE", help="Change a setting: --set training.max_seconds=600."),
    ] = None,
    hold_out: Annotated[
        list[str] | None,
        hold_out_option(
            "Leave out lines with a dev or test sentence of this recipe, or with any sentence of this treebank."
        ),
    ] = None,
    start: Annotated[
        str, typer.Option("--from", metavar="FOLDER", help="Go on with this BERT and its vocabulary.")
    ] = "",
    prepared: Prepared = "",
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Only learn the vocabulary and tokenise, for --prepared.")
    ] = False,
) -> None:
    """Pretrain an encoder on raw text.

    Its folder is for --set network.encoder=hf:FOLDER of train, and for the library transformers. The same command
    resumes an interrupted run.
    """
    config = load_pretraining(size, settings or ())
    fixed = [name for name in settings or () if name.startswith("network.") and not name.startswith("network.dropout")]
    if start and fixed:
        raise typer.BadParameter(f"--set {fixed[0]}: the encoder of --from has its own sizes")
    if prepare and prepared:
        raise typer.BadParameter("--prepare and --prepared: expected one of the two")
    with requires_extra("train"):
        from discotree.training.pretraining.pretrain import TextInput, prepare_text
        from discotree.training.pretraining.pretrain import pretrain as train
        from discotree.training.text_sources import text_sources

    inputs = [source.path for source in text_sources(texts or ())]
    check_output_folder(output, [*filter(None, [*inputs, start, prepared])])
    text = TextInput(texts or (), hold_out or (), prepared)
    with PretrainingProgress() as watch:
        if prepare:
            counts: Any = [vars(file) for file in prepare_text(text, output, config, start, watch.reading).files]
        else:
            record = train(text, output, config, start, watch.training, watch.reading)
            counts = record["text"]
    console = out()
    console.print(text_table(counts))
    if prepare:
        console.print(f"\ntext: {output}", soft_wrap=True)
        return
    rate = record["steps"] * config.training.batch * config.text.length / max(record["seconds"], 1e-9)
    console.print(
        f"\n{record['parameters']:,} weights, {record['passes']:.2f} passes, loss {record['loss']:.3f}, "
        f"{record['seconds']:,.0f} s, {rate:,.0f} pieces/s"
    )
    console.print(f"encoder: {output}", soft_wrap=True)


def text_table(files: Sequence[dict[str, Any]]) -> Table:
    """A row per file: its size, and what was held out."""
    table = Table("text", box=None, pad_edge=False)
    for name in ("times", "lines", "words", "pieces", "held-out sentences", "lines dropped"):
        table.add_column(name, justify="right")
    keys = ("repeat", "lines", "words", "pieces", "sentences_found", "lines_dropped")
    for file in files:
        table.add_row(printable(file["name"]), *(f"{file[key]:,}" for key in keys))
    return table


class PretrainingProgress:
    """Shows pretraining: a bar on a terminal, a line per report in a pipe."""

    def __init__(self) -> None:
        self.shown = err.is_terminal
        self.bar = new_bar()
        self.task = self.bar.add_task("", total=None, counted="")
        self.doing = ""

    def __enter__(self) -> "PretrainingProgress":
        if self.shown:
            self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.shown:
            self.bar.stop()
        if kind is KeyboardInterrupt:
            err.print("discotree: interrupted; the same command continues after the last checkpoint", style="red")
            raise typer.Exit(INTERRUPTED)

    def begin(self, what: str) -> None:
        """Start with something else."""
        if what != self.doing:
            self.doing = what
            if self.shown:
                self.bar.reset(self.task, description=what, total=TOTAL, counted="")
            elif what != "training":
                err.print(what, style="dim")

    def reading(self, what: str, done: int, total: int) -> None:
        """Show how much of the text is read."""
        self.begin(what)
        if self.shown:
            self.bar.update(self.task, completed=TOTAL * done / max(1, total), counted=f"{done >> 20:,} MB")

    def training(self, event: str, metrics: dict[str, float]) -> None:
        """Show how far training is."""
        self.begin("training")
        if event == "resume":
            err.print(f"resuming after step {metrics['step']:,.0f}", style="dim")
            return
        rate = f"{metrics['pieces_per_second']:,.0f} pieces/s"
        message = f"step {metrics['step']:,.0f}  pass {metrics['passes']:.2f}  loss {metrics['loss']:.3f}  {rate}"
        if self.shown:
            self.bar.update(self.task, completed=TOTAL * metrics["progress"], counted=message)
        else:
            err.print(f"{message}  {metrics['seconds']:.0f} s", soft_wrap=True)
