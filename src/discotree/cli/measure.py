"""measure: syntactic complexity of texts and treebanks as CSV."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from os import path

import click

from discotree.cli.console import ProgressBar, complain, report_choice, report_written, warn, with_language_warnings
from discotree.cli.options import (
    check_output,
    encoding_option,
    examples,
    expand,
    format_option,
    model_option,
    output_option,
)
from discotree.cli.parse import FailureReport, check_model_input, find_inputs, windows_of
from discotree.cli.search import write_lines
from discotree.errors import counted
from discotree.evaluation.measures import MEASURES, count, divide, guess_common_scheme, summarise
from discotree.files.writing import base_name
from discotree.models.finding import Candidates, Choice, find, mismatch
from discotree.parsing.inputs import INPUT_KINDS, SentenceSource, beginning_of
from discotree.parsing.outputs import DEFAULT_FORMAT, FailedSentence, ParseJob, ParseWorker
from discotree.queries.rows import csv_lines
from discotree.treebanks import read
from discotree.trees.labels import SCHEMES
from discotree.trees.tree import Tree


@click.command(epilog=examples("discotree measure essays/ -o essays.csv", "discotree measure tiger.xml --sentences"))
@click.argument("inputs", metavar="[INPUT]...", nargs=-1)
@click.option("--text", metavar="TEXT", help="Measure this text, even if it looks like the name of a file.")
@output_option("CSV file to write. By default, standard output.")
@click.option("--sentences", "by_sentence", is_flag=True, help="Write a row for every sentence instead of every file.")
@format_option("--from", INPUT_KINDS, "Format of the input, if it cannot be detected")
@model_option
@encoding_option
def measure(
    inputs: tuple[str, ...],
    text: str | None,
    output: str,
    by_sentence: bool,
    from_: str | None,
    model: str | None,
    encoding: str | None,
) -> None:
    """Measure clauses, T-units, dependency length and gaps of texts or treebanks.

    INPUT is a text, or a file, a folder, a pattern, or - for standard input. Texts are parsed; the trees of treebanks
    are measured as they are. The output has a row for every file, with 95 % confidence intervals. A folder of texts
    has a row for each text, and a folder of trees has one row.
    """
    sources = find_inputs(expand(inputs, or_text=True), text, from_)
    check_output(output, [source.name for source in sources])
    if path.splitext(base_name(output))[1].lower() not in ("", ".csv", ".txt"):
        raise click.UsageError(f"{output}: the table is written as CSV; use the suffix .csv")
    texts = [source for source in sources if not source.is_treebank]
    unread: Iterator[SentenceSource] = iter(())
    if texts:
        sample, texts = beginning_of(texts, encoding, waits=not model)
        choice = Choice(model) if model else Candidates.installed().choose(sample)
        worker = ParseWorker(ParseJob(str(find(choice.model)), DEFAULT_FORMAT))
        language = worker.parser.config.language
        if len(texts) > 1:
            choice = choice._replace(warning="")
        elif model:
            choice = Choice(model, warning=mismatch(sample, language))
        report_choice(choice)
        check_model_input(worker.parser, texts, tags=False)
        unread = with_language_warnings(texts, encoding, language)
    failures = FailureReport()

    def trees_of(source: SentenceSource) -> Iterator[Tree]:
        if source.is_treebank:
            trees = read(source.name, source.kind, encoding=encoding, stem=source.stem, on_bytes=bar.on_bytes)
            yield from bar.track(trees)
            return
        sentences = next(unread).sentences(language, encoding, on_bytes=bar.on_bytes)
        for window in windows_of(sentences, worker.parser._window):
            for _, outcome in worker.parse(window):
                if isinstance(outcome, FailedSentence):
                    failures.add(outcome.reason)
                else:
                    yield from outcome
            bar.advance(len(window), bar.bytes)

    def rows() -> Iterator[list[object]]:
        for source in sources:
            scheme, trees = guess_common_scheme(trees_of(source))
            counts = []
            for tree in trees:
                counts.append(count(tree, scheme))
                if by_sentence:
                    yield [source.name, tree.id, *map(_cell, divide(counts[-1]).values())]
            total = sum(counts, Counter[str]())
            if not by_sentence:
                yield [source.name, total["sentences"], *map(_cell, chain.from_iterable(summarise(counts).values()))]
            if total["with_scheme"] < total["sentences"]:
                warn(f"{source.name}: clauses and dependencies need labels of one of the schemes {', '.join(SCHEMES)}")

    endings = [""] if by_sentence else ["", "_low", "_high"]
    header: list[object] = ["file", "id" if by_sentence else "sentences"]
    header += [name + ending for name in MEASURES for ending in endings]
    with ProgressBar("sentence") as bar:
        bar.expect("measuring", [source.name for source in sources if source.text is None])
        write_lines(csv_lines(chain([header], rows()), "csv"), output)
    report_written(counted(bar.count, "sentence"), output)
    if failures.count:
        complain(f"{counted(failures.count, 'sentence')} could not be parsed")
        raise click.exceptions.Exit(1)


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
