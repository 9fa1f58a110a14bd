"""parse: text or a treebank in, trees out, as a stream."""

import hashlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer

from discotree import bundled
from discotree.cli.common import Bar, Encoding, err
from discotree.cli.inputs import INPUTS, LINES, TEXT, Errors, Input, Sentence, Sentences
from discotree.cli.journal import Counts, File, Sink, Stream
from discotree.cli.outputs import DRAW, JSON, OUTPUTS, PLAIN, Output, drawings, json_lines, output_for, treebank
from discotree.cli.training import INTERRUPTED
from discotree.config import Data, Method
from discotree.errors import DiscotreeError, HeadRuleError, ModelError, TreebankError
from discotree.heads import HeadRules
from discotree.tree import Tree
from discotree.treebank.source import STANDARD_STREAM, is_archive

if TYPE_CHECKING:
    from discotree.parser import Parser

WINDOW = 1000  # sentences that are parsed together, at most
K_WINDOW = 16  # the same where each is parsed by itself
SHOWN = 20  # errors that are said one by one
LONGEST_REASON = 200  # characters; some quote a whole sentence
CANNOT = (DiscotreeError, RuntimeError, ValueError, MemoryError)  # what one sentence may do to the parser


def known_input(name: str | None) -> str | None:
    if name is not None and name not in INPUTS:
        raise typer.BadParameter(f"there is no input {name!r}; there are {', '.join(INPUTS)}")
    return name


def known_output(name: str | None) -> str | None:
    if name is not None and name not in OUTPUTS:
        raise typer.BadParameter(f"there is no output {name!r}; there are {', '.join(OUTPUTS)}")
    return name


def parse(
    source: Annotated[
        str | None, typer.Argument(metavar="TEXT|FILE|-", help="A text, a file, or - for standard input.")
    ] = None,
    model: Annotated[
        str, typer.Option(envvar="DISCOTREE_MODEL", help="A name (discotree models), a folder, or hub:ORG/NAME.")
    ] = "nl",
    input: Annotated[
        str | None, typer.Option(callback=known_input, help=f"What the input is: {', '.join(INPUTS)}.")
    ] = None,
    output: Annotated[
        str | None, typer.Option(callback=known_output, help=f"What to write: {', '.join(OUTPUTS)}.")
    ] = None,
    target: Annotated[
        str, typer.Option("-o", metavar="FILE", help="Where it goes; standard output if not named.")
    ] = STANDARD_STREAM,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …; a GPU if there is one.")] = "",
    decode: Annotated[Method | None, typer.Option(help="How trees are searched for.")] = None,
    k: Annotated[int, typer.Option(min=0, help="So many trees for every sentence, the most probable first.")] = 0,
    encoding: Encoding = None,
    errors: Annotated[Errors, typer.Option(help="Leave out what cannot be decoded, or replace it (�).")] = "strict",
    resume: Annotated[bool, typer.Option("--resume", help="With -o: go on where an interrupted run was.")] = False,
    tags: Annotated[bool, typer.Option("--tags", help="Let the model look at the tags of a treebank.")] = False,
) -> None:
    """Parse text, or the sentences of a treebank.

    Text is cut into sentences and words; lines and tokens have a sentence on every line, tokens with blanks between the
    words. With -o the file appears when it is complete. Exit codes: 0 all sentences were parsed, 1 some were not, 130
    interrupted.
    """
    nobody_writes = sys.stdin is None or (source is None and sys.stdin.isatty())
    if source in (None, STANDARD_STREAM) and nobody_writes:
        raise typer.BadParameter("what is to be parsed? A text, a file, or - for standard input")
    if resume and target == STANDARD_STREAM:
        raise typer.BadParameter("--resume needs a file: -o FILE")
    if k and decode not in (None, "exact"):
        raise typer.BadParameter("--k searches exactly: leave out --decode")
    given = Input.of(source, input)
    if tags and not given.is_treebank:
        raise typer.BadParameter("--tags needs a treebank to take them from")
    if given.looks_like_a_file:
        err.print(f"discotree: {source} is no file here: it is taken as text", style="dim", markup=False)
    on_terminal = target == STANDARD_STREAM and sys.stdout.isatty()
    if output is None:
        output = DRAW if on_terminal else PLAIN if target == STANDARD_STREAM else output_for(target)
    job: dict[str, object] = {"input": given.name, "kind of input": given.kind, "output": output, "--k": k}
    job |= {"--decode": decode, "--errors": errors, "--encoding": encoding, "--tags": tags}
    with _interruptible():
        folder = bundled.find(model)
        parser = bundled.load(str(folder), device)
        _check(parser, given, tags)
        form = _output(output, parser.config.data, k > 0, on_terminal)
        sink = _sink(target, form, job, folder, resume)
        run = _Run(sink, form, _analyser(parser, decode, k), K_WINDOW if k else WINDOW)
        hurry = None if sink.is_file else run.flush  # a file's windows depend on its sentences, not on the time
        run(given.sentences(parser.config.language, encoding, errors, tags, hurry), Bar("sentences", not on_terminal))
    if target != STANDARD_STREAM:
        err.print(f"{sink.counts.written:,} sentences written to {target}", style="dim", markup=False, soft_wrap=True)
    if sink.counts.failed:
        err.print(f"discotree: {sink.counts.failed:,} sentences could not be parsed or written", style="red")
        raise typer.Exit(1)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends the command with the exit code that shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _check(parser: "Parser", given: Input, tags: bool) -> None:
    """Refuse what would fail for every single sentence."""
    if given.kind in (TEXT, LINES) and not parser.config.language:
        raise ModelError("this model has no language to cut text by: --input tokens")
    if parser.has_tags and not tags:
        raise ModelError("this model looks at tags: give it a treebank that has them, and --tags")
    if tags and not parser.has_tags:
        raise ModelError("this model looks at no tags: leave out --tags")


def _output(name: str, data: Data, several: bool, on_terminal: bool) -> Output:
    if name == DRAW:
        width = shutil.get_terminal_size().columns if on_terminal else None
        return drawings(several, on_terminal and "NO_COLOR" not in os.environ, width)
    if name == JSON:
        return json_lines(several)
    try:
        heads = HeadRules.load(data.heads, marked_first=data.marked_heads)
    except HeadRuleError:  # a file that stayed where the model was trained
        return treebank(name)
    return treebank(name, heads)


def _sink(target: str, form: Output, job: dict[str, object], folder: Path, resume: bool) -> Sink:
    if target == STANDARD_STREAM:
        return Stream(cast(BinaryIO, sys.stdout.buffer), form.begin)
    if is_archive(target):
        raise TreebankError("archives can be read but not written", target)
    if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device cannot be replaced
        return Stream(open(target, "wb"), form.begin)
    model = hashlib.sha256()
    for path in [folder / "config.json", *sorted(folder.glob("*.safetensors"))]:
        model.update(path.read_bytes())
    return File(target, form.begin, job | {"model": model.hexdigest()}, resume)


Analyser = Callable[[Sequence[Sentence]], list[list[Tree]]]


def _analyser(parser: "Parser", decode: Method | None, k: int) -> Analyser:
    """Sentences → the trees of each, with the ids of the sentences."""
    settings = replace(parser.config.decoding, method=decode) if decode else parser.config.decoding

    def analyse(sentences: Sequence[Sentence]) -> list[list[Tree]]:
        if k:
            return [
                [replace(tree, id=f"{one.id}.{rank}") for rank, tree in enumerate(parser.k_best(one.tokens, k), 1)]
                for one in sentences
            ]
        trees = parser.parse([one.tokens for one in sentences], settings)
        return [[replace(tree, id=one.id)] for one, tree in zip(sentences, trees, strict=True)]

    return analyse


class _Run:
    """One pass over the sentences, window by window.

    How many sentences a window has follows from how many came before it: one at first, so that something is seen at
    once, then more and more. So a run that goes on after any window does what an undisturbed one does, to the
    digit: the numbers that a network computes depend a little on what is computed together.
    """

    def __init__(self, sink: Sink, form: Output, analyse: Analyser, most: int) -> None:
        self.sink = sink
        self.form = form
        self.analyse = analyse
        self.most = most
        self.window: list[Sentence | TreebankError] = []
        self.said = 0  # errors
        self.bar = Bar()

    def __call__(self, sentences: Sentences, bar: Bar) -> None:
        self.bar = bar
        try:
            with bar:
                for sentence in islice(sentences, self.sink.counts.done, None):
                    self.window.append(sentence)
                    if len(self.window) >= min(max(self.sink.counts.done, 1), self.most):
                        self.flush()
                self.flush()
            with _uninterrupted():
                self.sink.finish(self.form.end)
        except BrokenPipeError:
            raise
        except (KeyboardInterrupt, DiscotreeError, OSError) as error:
            with _uninterrupted():
                said = self.sink.stop(self.form.end)
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else "stopped"
            err.print(f"discotree: {reason}; {said}", style="red", markup=False, soft_wrap=True)
            raise

    def flush(self) -> None:
        """Parse and write the sentences that have been read."""
        if not self.window:
            return
        texts = []
        done, written, failed = self.sink.counts
        outcomes = iter(self.parsed([item for item in self.window if isinstance(item, Sentence)]))
        for item in self.window:
            done += 1
            try:
                if isinstance(item, TreebankError):
                    raise item
                texts.append(self.text(item, next(outcomes), written + 1))
                written += 1
            except CANNOT as error:
                failed += 1
                self.say(error, item.where if isinstance(item, Sentence) else "")
        with _uninterrupted():
            self.sink.write("".join(texts), Counts(done, written, failed))
        self.bar.advance(len(self.window))
        self.window.clear()

    def parsed(self, sentences: Sequence[Sentence]) -> list[list[Tree] | Exception]:
        """The trees of every sentence, or why there are none: if some cannot be parsed, the others still can."""
        try:
            return [*self.analyse(sentences)]
        except CANNOT as error:
            if len(sentences) == 1:
                return [error]
            return [self.parsed([sentence])[0] for sentence in sentences]

    def text(self, sentence: Sentence, outcome: list[Tree] | Exception, number: int) -> str:
        if isinstance(outcome, Exception):
            raise outcome
        text = self.form.sentence(sentence, outcome, number)
        text.encode()  # or what cannot be encoded would take the others with it
        return text

    def say(self, error: Exception, where: str) -> None:
        self.said += 1
        if self.said <= SHOWN:
            reason = str(error).partition("\n")[0] or type(error).__name__
            if len(reason) > LONGEST_REASON:
                reason = f"{reason[: LONGEST_REASON // 2]} … {reason[-LONGEST_REASON // 2 :]}"
            message = f"{where}: {reason}" if where else reason
            err.print(f"discotree: {message}", style="red", markup=False, soft_wrap=True)
        if self.said == SHOWN:
            err.print("discotree: further errors are only counted", style="red")


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block is done; where it is ignored, as in the background, it still is."""
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting and before is not signal.SIG_IGN:
        raise KeyboardInterrupt
