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
from discotree.errors import DiscotreeError, InputError, TreebankError, printable
from discotree.files.names import STANDARD_STREAM, is_archive
from discotree.models import finding
from discotree.models.choice import Candidates, Choice, mismatch
from discotree.parsing.inputs import INPUT_KINDS, SentenceSource, beginning_of, find_sources, text_source
from discotree.parsing.outputs import DRAW, OUTPUTS, PLAIN, OutputFormat, output_for
from discotree.parsing.resumable import ResumableFile, Sink, StreamSink
from discotree.parsing.text_input import LINES, TEXT, DecodingErrors, Sentences
from discotree.parsing.workers import ParseJob, ParseWorker, suitable_workers
from discotree.treebanks import guess_format

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
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, help="Leave out sentences whose tree has a lower expected F1, from 0 to 1.")
    ] = 0,
    uncertain: Annotated[
        str, typer.Option(metavar="FILE", help="With --min-confidence: write the sentences that it leaves out.")
    ] = "",
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
    _check_uncertain(uncertain, min_confidence, chosen)
    with _interruptible():
        if not model:
            sample, sources = _beginning(sources, encoding, tags)
            choice = Candidates.installed().choose(sample)
            report_choice(choice)
        folder = finding.find(model or choice.model)
    used = [*(paths if text is None else []), *([] if paths else [STANDARD_STREAM]), str(folder)]
    check_output(output, used)
    if uncertain:
        check_output(uncertain, [*used, output])
        if os.path.realpath(uncertain) == os.path.realpath(output):
            raise typer.BadParameter(f"--uncertain {uncertain}: is also the output: choose another name")
    colors = on_terminal and "NO_COLOR" not in os.environ
    width = shutil.get_terminal_size().columns if on_terminal else None
    output_format = PLAIN if chosen in PICTURES else chosen
    job = ParseJob(str(folder), device, decode, k, output_format, colors, width, engine or "", 0, min_confidence)
    identity: dict[str, object] = {
        "--from": [source.kind for source in sources],
        "--to": chosen,
        "--k": k,
        "--min-confidence": min_confidence,
        "--uncertain": bool(uncertain),
        "--decode": decode,
        "--errors": errors,
        "--encoding": encoding,
        "--tags": tags,
    }
    with _interruptible():
        worker = ParseWorker(job)
        identity["--engine"] = worker.parser.engine.name
        _check(worker.parser, sources, tags)
        if min_confidence and not worker.parser.model.calibration:
            err.print(
                "discotree: this model is not calibrated: its confidences are too low or too high", style="yellow"
            )
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
            failures = _draw(worker, sentences(), window, cast(PictureFormat, chosen), output, bar)
            failed, left_out = failures.count, failures.uncertain
        else:
            sink = _sink(output, worker.format, identity, folder, resume, chosen == DRAW)
            processes = workers or suitable_workers(worker.parser.device, size_of(names))
            beside = None
            if uncertain:
                try:
                    beside = ResumableFile(uncertain, worker.format.header, identity | _own(folder), resume, sink)
                except DiscotreeError:
                    sink.stop(worker.format.footer)
                    raise
            run = ParseRun(sink, worker, processes, window, beside)
            # A file's windows depend on its sentences alone, so that a run can resume.
            eager = None if sink.is_file or processes > 1 else run.flush
            run(sentences(eager), bar)
            failed, left_out = sink.counts.failed, sink.counts.uncertain
            report_written(f"{sink.counts.written - left_out:,} sentences", output)
    if left_out:
        where = f"written to {uncertain}" if uncertain else "left out"
        err.print(f"discotree: {left_out:,} sentences below --min-confidence {min_confidence} {where}", soft_wrap=True)
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
    return ResumableFile(output, format.header, identity | _own(folder), resume)


def _own(folder: Path) -> dict[str, object]:
    """Return what tells the model of a run from others."""
    return {"model": finding.fingerprint(folder)}


def _check_uncertain(uncertain: str, min_confidence: float, chosen: str) -> None:
    """Refuse what is no confidence, and a file that nothing goes to or that cannot be like the output."""
    if min_confidence != min_confidence:
        raise typer.BadParameter("--min-confidence: expected a number from 0 to 1")
    if not uncertain:
        return
    if not min_confidence:
        raise typer.BadParameter("--uncertain needs --min-confidence")
    if chosen in PICTURES:
        raise typer.BadParameter("--uncertain is for trees: pictures of uncertain ones are only left out")
    is_other = os.path.exists(uncertain) and not os.path.isfile(uncertain)
    if uncertain == STANDARD_STREAM or is_archive(uncertain) or is_other:
        raise typer.BadParameter(f"--uncertain {uncertain}: expected the name of a file")
    if guess_format(uncertain) not in (None, chosen):
        raise typer.BadParameter(f"--uncertain {uncertain}: expected the format of the output, {chosen}")


def _draw(
    worker: ParseWorker, sentences: Sentences, window: int, format: PictureFormat, output: str, bar: ProgressBar
) -> FailureReport:
    """Draw all trees; return which sentences failed."""
    from discotree.cli.pictures import TreePair, style_for, write_pictures

    failures = FailureReport()
    with bar:
        pairs = map(TreePair, parse_trees(worker, sentences, window, failures, bar))
        target = None if output == STANDARD_STREAM else output
        write_pictures(pairs, format, style_for(format, None, "auto"), target, Path(output).name)
    return failures
