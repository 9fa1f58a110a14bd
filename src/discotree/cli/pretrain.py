"""pretrain: learn an encoder or word vectors from raw text."""

from collections.abc import Sequence

import click

from discotree.cli.console import ProgressBar, err, out, report_written, table
from discotree.cli.options import Decorator, F, check_output, check_output_folder, examples, settings_option
from discotree.config.pretraining import SIZES, load_pretraining, vector_settings
from discotree.errors import printable, requires_extra
from discotree.files.writing import STANDARD_STREAM
from discotree.text import LANGUAGES

DEFAULT_SIZE = "small"
COLUMNS = {  # of the table of texts, and their keys in the record
    "times": "repeat",
    "lines": "lines",
    "words": "words",
    "pieces": "pieces",
    "held-out sentences": "sentences_found",
    "lines dropped": "lines_dropped",
}


def hold_out_option(help: str) -> Decorator:
    """Return the option for sentences that are removed from the text."""
    return click.option("--hold-out", metavar="TREEBANK", multiple=True, help=f"{help} May be repeated.")


def prepare_options(help: str) -> Decorator:
    """Return the options for preparing text in one run and using it in another."""

    def add(function: F) -> F:
        function = click.option("--prepared", metavar="FOLDER", help="Use the text in this folder from --prepare.")(
            function
        )
        return click.option("--prepare", is_flag=True, help=help)(function)

    return add


@click.command(
    epilog=examples(
        "discotree pretrain news.txt.bz2 'novels.txt*8' -o encoder --hold-out alpino",
        "discotree pretrain news.txt -o encoder --continue bert --set training.max_seconds=600",
        "discotree train alpino --preset bert --set network.encoder=hf:encoder",
        "discotree pretrain news.txt.bz2 --vectors --language nl -o vectors.txt",
    )
)
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@click.option("--output", "-o", metavar="PATH", required=True, help="Folder for the encoder, or file for the vectors.")
@click.option(
    "--size",
    type=click.Choice(tuple(SIZES)),
    help=f"Start from the settings of this size. By default, {DEFAULT_SIZE}.",
)
@settings_option("training.max_seconds=600")
@hold_out_option("Drop lines that contain a dev or test sentence of this recipe, or any sentence of this treebank.")
@click.option("--continue", "base", metavar="FOLDER", help="Continue training this BERT encoder, with its vocabulary.")
@prepare_options("Only learn the vocabulary and tokenise the text, for --prepared.")
@click.option(
    "--vectors",
    is_flag=True,
    help="Learn word vectors by structured skip-gram instead of an encoder. Settings are called vectors.NAME.",
)
@click.option(
    "--language",
    type=click.Choice(tuple(LANGUAGES)),
    help="With --vectors, tokenise the text by the rules of this language. By default, lines are sentences and tokens "
    "are separated by spaces.",
)
def pretrain(
    texts: tuple[str, ...],
    output: str,
    size: str | None,
    settings: tuple[str, ...],
    hold_out: tuple[str, ...],
    base: str | None,
    prepare: bool,
    prepared: str | None,
    vectors: bool,
    language: str | None,
) -> None:
    """Pretrain an encoder, or word vectors, on raw text.

    TEXT is a file with a paragraph or sentence per line, plain or compressed (.gz, .bz2, .xz). TEXT*8 is read eight
    times in each pass. Run the same command again to resume an interrupted run.

    Pass the folder to discotree train as --set network.encoder=hf:FOLDER, or load it with the library transformers.
    With --vectors, pass the file (text, or binary if it ends in .bin) as --set data.vectors=FILE.
    """
    if vectors:
        if size or hold_out or base or prepare or prepared or not texts:
            raise click.UsageError("--vectors needs TEXT, and takes only -o, --language and --set")
        _learn_vectors(texts, output, settings, language)
        return
    if language:
        raise click.UsageError("--language needs --vectors")
    config = load_pretraining(size or DEFAULT_SIZE, settings)
    fixed = [name for name in settings if name.startswith("network.") and not name.startswith("network.dropout")]
    if base and fixed:
        raise click.UsageError(f"--set {fixed[0]} cannot be combined with --continue: {base} already defines its sizes")
    if prepare and (prepared or not texts):
        raise click.UsageError("--prepare needs TEXT, and cannot be combined with --prepared")
    with requires_extra("train"):
        from discotree.training.pretraining.pretrain import prepare_text
        from discotree.training.pretraining.pretrain import pretrain as train
        from discotree.training.text_sources import text_sources

    inputs = [source.path for source in text_sources(texts)]
    check_output_folder(output, [*filter(None, [*inputs, base, prepared])])
    with PretrainingProgress(interrupted="run the same command to continue after the last checkpoint") as watch:
        if prepare:
            counts = prepare_text(texts, output, config, hold_out, base or "", watch.reading).files
        else:
            record = train(texts, output, config, hold_out, prepared or "", base or "", watch.training, watch.reading)
            counts = record["text"]
    console = out()
    rows = [[printable(file["name"]), *(f"{file[key]:,}" for key in COLUMNS.values())] for file in counts]
    console.print(table(["text", *COLUMNS], rows, left=["text"]))
    if prepare:
        console.print(f"\ntext: {output}", soft_wrap=True)
        return
    rate = record["steps"] * config.training.batch * config.text.length / max(record["seconds"], 1e-9)
    console.print(
        f"\n{record['parameters']:,} weights, {record['passes']:.2f} passes, loss {record['loss']:.3f}, "
        f"{record['seconds']:,.0f} s, {rate:,.0f} pieces/s"
    )
    console.print(f"encoder: {output}", soft_wrap=True)


def _learn_vectors(texts: Sequence[str], output: str, settings: Sequence[str], language: str | None) -> None:
    config = vector_settings(settings)
    with requires_extra("train"):
        from discotree.training.text_sources import text_sources
        from discotree.training.vectors import RECORD_SUFFIX, learn_vectors
    if output == STANDARD_STREAM:
        raise click.UsageError("-o must be a file: a record of the texts and settings is written next to it")
    sources = text_sources(texts)
    for path in (output, output + RECORD_SUFFIX):
        check_output(path, [source.path for source in sources])
    with PretrainingProgress(interrupted="nothing was written") as watch:
        record = learn_vectors(sources, output, config, language or "", watch.learning, watch.reading)
    rate = record["pairs"] / max(record["seconds"]["learning"], 0.1)
    text = f"{record['text_words']:,} words of text, {record['passes']:g} passes, {rate:,.0f} pairs/s"
    report_written(f"vectors of {record['words']:,} words ({text})", output)
    err.print(f"next: discotree train RECIPE --set data.vectors={output}", style="dim", soft_wrap=True)


class PretrainingProgress(ProgressBar):
    """Shows the progress of pretraining: a bar on a terminal, a line per report in a pipe."""

    def reading(self, stage: str, done: int, total: int) -> None:
        """Show how much of the text has been read."""
        if stage != self.stage and not self.shown:
            err.print(stage, style="dim")
        self.show(stage, done, max(1, total), f"{done >> 20:,} MB")

    def training(self, event: str, metrics: dict[str, float]) -> None:
        """Show the progress of an encoder."""
        if event == "resume":
            err.print(f"resuming after step {metrics['step']:,.0f}", style="dim")
            return
        rate = f"{metrics['pieces_per_second']:,.0f} pieces/s"
        self.step(
            metrics, f"step {metrics['step']:,.0f}  pass {metrics['passes']:.2f}  loss {metrics['loss']:.3f}  {rate}"
        )

    def learning(self, _: str, metrics: dict[str, float]) -> None:
        """Show the progress of vectors."""
        self.step(metrics, f"{metrics['pairs']:,.0f} pairs  loss {metrics['loss']:.3f}")

    def step(self, metrics: dict[str, float], message: str) -> None:
        self.show("training", metrics["progress"], 1, message)
        if not self.shown:
            err.print(f"{metrics['progress']:.0%}  {message}  {metrics['seconds']:.0f} s", soft_wrap=True)
