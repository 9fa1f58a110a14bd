"""The work on a shard: rows in, parsed rows out."""

import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from discotree.errors import DiscotreeError, InputError, ModelError
from discotree.integrations.bulk.plan import Shard
from discotree.integrations.bulk.records import ParsedRow, sentence_id, shorten
from discotree.integrations.bulk.rows import RowError, rows
from discotree.integrations.bulk.sentences import RowKind, Words, sentences_of
from discotree.integrations.bulk.shards import ShardFolder
from discotree.models.finding import find, fingerprint
from discotree.parsing.load import load
from discotree.parsing.resilient import MAX_SENTENCES, Failure, parse_each
from discotree.trees.tree import Tree

MAX_DEATHS = 3  # workers that may die of one shard


@dataclass(frozen=True)
class BulkTask:
    """All that a worker needs to know to work on any shard."""

    model: str
    fingerprint: str  # every machine must have the same model
    kind: RowKind
    column: str
    id_column: str
    output: ShardFolder
    engine: str = ""


class ShardOutcome(NamedTuple):
    """What became of a shard. If there is a problem, the shard is not written."""

    number: int
    rows: int = 0
    sentences: int = 0
    errors: int = 0  # rows with an error
    problem: str = ""


class ShardWorker:
    """A parser that works on shards, one after the other."""

    def __init__(self, task: BulkTask, device: str = "", threads: int = 0) -> None:
        """``threads`` limits those of a worker on a CPU."""
        self.task = task
        if fingerprint(find(task.model)) != task.fingerprint:
            raise ModelError(
                f"{platform.node()} has another model {task.model!r} than the machine that started the job"
            )
        self.parser = load(task.model, device, engine=task.engine, threads=threads)
        self.window_words = self.parser.window_words
        self.language = self.parser.config.language
        if task.kind != "tokens" and not self.language:
            raise InputError("this model has no language to tokenise text by: --from tokens")
        if self.parser.has_tags:
            raise InputError("this model needs tags, which the rows do not have")

    def __call__(self, shard: Shard) -> ShardOutcome:
        """Write a shard, unless it is there already. An error concerns this shard alone."""
        counter, output = RowCounter(), self.task.output
        try:
            if not output.is_there(shard):
                with output.attempt(shard) as deaths:
                    if deaths >= MAX_DEATHS:
                        raise DiscotreeError(f"{deaths} workers died of it")
                    output.write(shard, counter.counted(self.parsed_rows(shard)))
        except Exception as error:
            return ShardOutcome(shard.number, problem=f"{output.name(shard)}: {shorten(error)}")
        return ShardOutcome(shard.number, counter.rows, counter.sentences, counter.errors)

    def parsed_rows(self, shard: Shard) -> Iterator[ParsedRow]:
        """Parse the rows of a shard, a window at a time; every row comes out, in its order."""
        window: list[tuple[str, list[Words] | RowError]] = []
        words = 0
        for row in rows(shard, self.task.column, self.task.id_column):
            try:
                found = sentences_of(row.content, self.task.kind, self.language)
            except RowError as error:
                window.append((row.id, error))
            else:
                window.append((row.id, found))
                words += sum(map(len, found))
            if words >= self.window_words or len(window) >= MAX_SENTENCES:
                yield from self.parsed(window)
                window, words = [], 0
        yield from self.parsed(window)

    def parsed(self, window: Sequence[tuple[str, list[Words] | RowError]]) -> Iterator[ParsedRow]:
        """Parse the rows of a window."""
        sentences = (words for _, found in window if not isinstance(found, RowError) for words in found)
        outcomes = parse_each(self.parser, sentences)
        for id, found in window:
            if isinstance(found, RowError):
                yield ParsedRow(id, problem=shorten(found))
                continue
            parsed: list[Tree | str] = []
            for number, _ in enumerate(found, 1):
                outcome = next(outcomes)
                if isinstance(outcome, Failure):
                    parsed.append(shorten(outcome.error))
                else:
                    name = sentence_id(id, number) if self.task.output.documents else id
                    parsed.append(replace(outcome, id=name))
            yield ParsedRow(id, parsed)


class RowCounter:
    """Counts rows on their way."""

    def __init__(self) -> None:
        self.rows = self.sentences = self.errors = 0

    def counted(self, rows: Iterable[ParsedRow]) -> Iterator[ParsedRow]:
        for row in rows:
            self.rows += 1
            self.sentences += len(row.trees)
            self.errors += row.error is not None
            yield row
