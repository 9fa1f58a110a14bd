"""parse: text or treebanks in, trees or pictures out, as a stream."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer

from discotree.cli.common import INTERRUPTED, err, report_choice, report_written
from discotree.cli.model_options import Device, Engine, Model
from discotree.cli.options import (
    PICTURE_SUFFIXES,
    PICTURES,
    Encoding,
    PictureFormat,
    check_output,
    expand,
    format_option,
    output_option,
)
from discotree.cli.parse_run import FailureReport, ParseRun, parse_trees
from discotree.cli.progress import ProgressBar, size_of
from discotree.config import Method
from discotree.errors import InputError, TreebankError, printable
from discotree.files.names import STANDARD_STREAM, is_archive
from discotree.models import finding
from discotree.models.choice import Candidates, Choice, mismatch
from discotree.parsing.inputs import INPUT_KINDS, SentenceSource, beginning_of, find_sources, text_source
from discotree.parsing.outputs import DRAW, OUTPUTS, PLAIN, OutputFormat, output_for
from discotree.parsing.resumable import ResumableFile, Sink, StreamSink
from discotree.parsing.text_input import LINES, TEXT, DecodingErrors, Sentences
from discotree.parsing.workers import ParseJob, ParseWorker, suitable_workers

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

K_BEST_WINDOW = 16  # sentences per window where each is parsed by itself
FORMATS = (*OUTPUTS, *PICTURES)


def parse(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="INPUT", help="A text, or files, folders, patterns, - for standard input."),
    ] = None,
    text: Annotated[str | None, typer.Option(help="Parse this text, even if it is a single word.")] = None,
    output: Annotated[str, output_option("File to write; standard output if not given.")] = STANDARD_STREAM,
    to: Annotated[
        str | None,
        format_option("--to", FORMATS, f"Format of the output, if not clear: {', '.join(FORMATS)}."),
    ] = None,
    from_: Annotated[
        str | None,
        format_option("--from", INPUT_KINDS, f"Format of the input, if not clear: {', '.join(INPUT_KINDS)}."),
    ] = None,
    model: Model = "",
    device: Device = "",
    engine: Engine = None,
    decode: Annotated[Method | None, typer.Option(help="Method to search for the best tree.")] = None,
    k: Annotated[int, typer.Option(min=0, help="Return the K most probable trees per sentence.")] = 0,
    encoding: Encoding = None,
    errors: Annotated[
        DecodingErrors, typer.Option(help="Leave out sentences that cannot be decoded, or replace bytes by �.")
    ] = "strict",
    resume: Annotated[bool, typer.Option("--resume", help="With -o: resume an interrupted run.")] = False,
    tags: Annotated[bool, typer.Option("--tags", help="Give the model the tags of the treebank.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of processes; by default one, or more for a large input and many cores."),
    ] = None,
) -> None:
    """Parse text, or the sentences of treebanks.

    Text is split into sentences and words. With --from lines there is a sentence on every line, with --from tokens
    also whitespace between the words. The output file appears when it is complete. Exit codes: 0 all sentences were
    parsed, 1 some were not, 130 interrupted.
    """
    paths = expand(inputs or [], or_text=True)
    sources = _sources(paths, text, from_)
    if resume and output == STANDARD_STREAM:
        raise typer.BadParameter("--resume needs a file: -o FILE")
    if k and decode not in (None, "exact"):
        raise typer.BadParameter("--k searches exactly: leave out --decode")
    if tags and not all(source.is_treebank for source in sources):
        raise typer.BadParameter("--tags needs a treebank to take them from")
    on_terminal = output == STANDARD_STREAM and sys.stdout.isatty()
    chosen = to or (DRAW if on_terminal else _format_for(output))
    if chosen in PICTURES and (resume or (workers or 1) > 1):
        raise typer.BadParameter("pictures are drawn by one process in one go: leave out --resume and --workers")
    with _interruptible():
        if not model:
            sample, sources = _beginning(sources, encoding, tags)
            choice = Candidates.installed().choose(sample)
            report_choice(choice)
        folder = finding.find(model or choice.model)
    check_output(output, [*(paths if text is None else []), *([] if paths else [STANDARD_STREAM]), str(folder)])
    colors = on_terminal and "NO_COLOR" not in os.environ
    width = shutil.get_terminal_size().columns if on_terminal else None
    output_format = PLAIN if chosen in PICTURES else chosen
    job = ParseJob(str(folder), device, decode, k, output_format, colors, width, engine or "")
    identity: dict[str, object] = {
        "--from": [source.kind for source in sources],
        "--to": chosen,
        "--k": k,
        "--decode": decode,
        "--errors": errors,
        "--encoding": encoding,
        "--tags": tags,
    }
    with _interruptible():
        worker = ParseWorker(job)
        identity["--engine"] = worker.parser.engine.name
        _check(worker.parser, sources, tags)
        window = K_BEST_WINDOW if k else worker.parser.window
        language = worker.parser.config.language
        if model:
            sample, sources = _beginning(sources, encoding, tags, waits=False)
            report_choice(Choice(model, warning=mismatch(sample, language)))
        bar = ProgressBar("sentences", not on_terminal)
        names = [STANDARD_STREAM if source.text else source.name for source in sources]
        bar.expect("parsing", names)

        def sentences(before_waiting: Callable[[], None] | None = None) -> Sentences:
            return chain.from_iterable(
                source.sentences(language, encoding, errors, tags, before_waiting, bar.on_bytes) for source in sources
            )

        if chosen in PICTURES:
            failed = _draw(worker, sentences(), window, cast(PictureFormat, chosen), output, bar)
        else:
            sink = _sink(output, worker.format, identity, folder, resume, chosen == DRAW)
            processes = workers or suitable_workers(worker.parser.device, size_of(names))
            run = ParseRun(sink, worker, processes, window)
            # A file's windows depend on its sentences alone, so that a run can resume.
            eager = None if sink.is_file or processes > 1 else run.flush
            run(sentences(eager), bar)
            report_written(f"{sink.counts.written:,} sentences", output)
            failed = sink.counts.failed
    if failed:
        err.print(f"discotree: {failed:,} sentences could not be parsed or written", style="red")
        raise typer.Exit(1)


def _sources(inputs: list[str], text: str | None, kind: str | None) -> list[SentenceSource]:
    """Return what is to be parsed."""
    if text is not None:
        if inputs:
            raise typer.BadParameter("--text and an input do not go together")
        return [text_source(text, kind)]
    paths = inputs or [STANDARD_STREAM]
    if paths.count(STANDARD_STREAM) > 1:
        raise typer.BadParameter("standard input can be read only once")
    if STANDARD_STREAM in paths and (sys.stdin is None or (not inputs and sys.stdin.isatty())):
        raise typer.BadParameter("nothing to parse: give a text, a file, or - for standard input")
    return find_sources(paths, kind)


def _format_for(output: str) -> str:
    """Return the format that the suffix of an output asks for."""
    if output == STANDARD_STREAM or (os.path.exists(output) and not os.path.isfile(output)):
        return PLAIN  # the name of a pipe or a device says nothing
    picture = PICTURE_SUFFIXES.get(Path(output).suffix.lower())
    return picture if picture in PICTURES else output_for(output)


@contextmanager
def _interruptible() -> Iterator[None]:
    """End the command after Ctrl-C with the exit code that shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _beginning(
    sources: list[SentenceSource], encoding: str | None, tags: bool, waits: bool = True
) -> tuple[str, list[SentenceSource]]:
    """Look at the beginning of the input, for its language."""
    try:
        return beginning_of(sources, encoding, tags, waits)
    except KeyboardInterrupt:
        err.print("discotree: interrupted; nothing was written", style="red")
        raise


def _check(parser: "Parser", sources: list[SentenceSource], tags: bool) -> None:
    """Refuse what would fail for every single sentence."""
    if any(source.kind in (TEXT, LINES) for source in sources) and not parser.config.language:
        raise InputError("this model has no language to tokenise text by: --from tokens")
    if parser.has_tags and not tags:
        raise InputError("this model needs tags: give it a treebank that has them, and --tags")
    if tags and not parser.has_tags:
        raise InputError("this model takes no tags: leave out --tags")


def _sink(
    output: str, format: OutputFormat, identity: dict[str, object], folder: Path, resume: bool, is_drawn: bool
) -> Sink:
    if output == STANDARD_STREAM:
        shown = printable if sys.stdout.isatty() and not is_drawn else str  # drawings have colours
        return StreamSink(cast(BinaryIO, sys.stdout.buffer), format.header, shown)
    if is_archive(output):
        raise TreebankError("archives can be read but not written", output)
    if os.path.exists(output) and not os.path.isfile(output):  # a pipe or a device cannot be replaced
        return StreamSink(open(output, "wb"), format.header)
    return ResumableFile(output, format.header, identity | {"model": finding.fingerprint(folder)}, resume)


def _draw(
    worker: ParseWorker, sentences: Sentences, window: int, format: PictureFormat, output: str, bar: ProgressBar
) -> int:
    """Draw all trees; return how many sentences failed."""
    from discotree.cli.pictures import TreePair, style_for, write_pictures

    failures = FailureReport()
    with bar:
        pairs = map(TreePair, parse_trees(worker, sentences, window, failures, bar))
        target = None if output == STANDARD_STREAM else output
        write_pictures(pairs, format, style_for(format, None, "auto"), target, Path(output).name)
    return failures.count
