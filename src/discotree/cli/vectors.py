"""vectors."""

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discotree.cli.common import INTERRUPTED, err, report_written
from discotree.cli.options import check_output, completing, one_of
from discotree.cli.progress import SECONDS_BETWEEN_UPDATES, new_bar
from discotree.config.vectors import vector_settings
from discotree.errors import requires_extra
from discotree.files.names import STANDARD_STREAM
from discotree.text import LANGUAGES

if TYPE_CHECKING:
    from discotree.training.word_vectors import VectorProgress

SECONDS_BETWEEN_LINES = 30  # in a pipe, where there is no bar


def vectors(
    texts: Annotated[
        list[str],
        typer.Argument(metavar="TEXT…", help="Files of raw text, plain, .gz, .bz2 or .xz; TEXT*8 counts eight times."),
    ],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="File to write: word2vec's text format, binary for .bin."),
    ],
    language: Annotated[
        str,
        typer.Option(
            callback=one_of("language", LANGUAGES),
            autocompletion=completing(LANGUAGES),
            help=f"Tokenise the text, a paragraph on each line, by these rules: {', '.join(LANGUAGES)}. "
            "Otherwise: a sentence on each line, with spaces between the tokens.",
        ),
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="vectors.NAME=VALUE", help="Change a setting: --set vectors.size=200."),
    ] = None,
) -> None:
    """Learn word vectors from raw text: structured skip-gram, as the paper uses them.

    Give the file to `discotree train` as data.vectors. A record of texts and settings is written beside it.
    """
    chosen = vector_settings(settings or ())
    with requires_extra("train"):
        from discotree.training.text_sources import text_sources
        from discotree.training.word_vectors import RECORD_SUFFIX, learn_vectors
    if output == STANDARD_STREAM:
        raise typer.BadParameter("expected the name of a file: a record is written beside it")
    sources = text_sources(texts)
    for written in (output, output + RECORD_SUFFIX):
        check_output(written, [source.path for source in sources])
    with VectorBar(sum(os.path.getsize(source.path) for source in sources)) as bar:
        record = learn_vectors(sources, output, chosen, language, bar)
    rate = record["pairs"] / max(record["seconds"]["learning"], 0.1)
    text = f"{record['text_words']:,} words of text, {record['passes']:g} passes, {rate:,.0f} pairs/s"
    report_written(f"vectors of {record['words']:,} words ({text})", output)
    err.print(f"now: discotree train RECIPE --set data.vectors={output}", style="dim", soft_wrap=True)


class VectorBar:
    """Shows reading and learning: a bar on a terminal, now and then a line in a pipe."""

    def __init__(self, bytes: int) -> None:
        self.bytes = bytes
        self.shown = err.is_terminal
        self.bar = new_bar()
        self.task = self.bar.add_task("", total=None, counted="")
        self.stage = ""
        self.start = self.updated = time.monotonic()

    def __enter__(self) -> "VectorBar":
        if self.shown:
            self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if self.shown:
            self.bar.stop()
        if kind is KeyboardInterrupt:
            err.print("discotree: interrupted; nothing was written", style="red", soft_wrap=True)
            raise typer.Exit(INTERRUPTED)

    def __call__(self, progress: "VectorProgress") -> None:
        now = time.monotonic()
        reading = progress.stage == "reading"
        if progress.stage != self.stage:
            self.stage, self.start = progress.stage, now
            self.bar.reset(self.task, description=progress.stage, total=self.bytes if reading else 1.0)
        elif now < self.updated + (SECONDS_BETWEEN_UPDATES if self.shown else SECONDS_BETWEEN_LINES):
            return
        self.updated = now
        rate = progress.count / max(now - self.start, SECONDS_BETWEEN_UPDATES)
        unit = "words" if reading else "pairs"
        counted = f"{progress.count:,} {unit}, {rate:,.0f}/s" + ("" if reading else f", loss {progress.loss:.3f}")
        if self.shown:
            self.bar.update(self.task, completed=progress.done, counted=counted)
        else:
            share = progress.done / max(1, self.bytes) if reading else progress.done
            err.print(f"{progress.stage} {share:.0%}  {counted}", soft_wrap=True)
