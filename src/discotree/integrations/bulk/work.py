"""The work on a shard: rows in, records out."""

import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from discotree.errors import SENTENCE_ERRORS, DiscotreeError, ModelError, TreebankError
from discotree.integrations.bulk.plan import Shard
from discotree.integrations.bulk.records import Record, failed, of_document, of_tree, reason
from discotree.integrations.bulk.rows import RowError, rows
from discotree.integrations.bulk.sentences import Input, Words, sentences_of
from discotree.integrations.bulk.shards import Output
from discotree.models import finding as bundled
from discotree.parsing.load import load
from discotree.trees.tree import Token, Tree

BATCHES = 5  # of the network that are parsed together, about
MAX_ROWS = 10_000  # that are parsed together, if there is little in them
MAX_DEATHS = 3  # of workers by one shard
PROBE = "."  # a sentence that every parser can parse


@dataclass(frozen=True)
class Task:
    """All that has to be known to work on any shard."""

    model: str
    fingerprint: str  # of the model: every machine has to have the same
    input: Input
    column: str
    id_column: str
    output: Output


class Outcome(NamedTuple):
    """What became of a shard. If there is a problem, the shard is not there."""

    number: int
    rows: int = 0
    sentences: int = 0
    errors: int = 0  # rows that have one
    problem: str = ""


class Worker:
    """A parser that works on shards, one after the other."""

    def __init__(self, task: Task, device: str = "", threads: int = 0) -> None:
        """``threads``: those of torch, if that is not to decide by itself."""
        self.task = task
        if bundled.fingerprint(bundled.find(task.model)) != task.fingerprint:
            raise ModelError(
                f"{platform.node()} has another model {task.model!r} than the machine that the job is from"
            )
        self.parser = load(task.model, device)
        if threads:
            import torch

            torch.set_num_threads(threads)
        self.most_words = BATCHES * self.parser.batch_words
        self.language = self.parser.config.language
        if task.input != "tokens" and not self.language:
            raise ModelError("this model has no language to tokenise text by: --from tokens")
        if self.parser.has_tags:
            raise ModelError("this model looks at tags, which the rows do not have")

    def __call__(self, shard: Shard) -> Outcome:
        """Write a shard, unless it is there already. Whatever goes wrong concerns this shard alone."""
        count, output = _Count(), self.task.output
        try:
            if not output.is_there(shard):
                with output.attempt(shard) as died:
                    if died >= MAX_DEATHS:
                        raise DiscotreeError(f"{died} workers died of it")
                    output.write(shard, count(self.records(shard)))
        except Exception as error:
            return Outcome(shard.number, problem=f"{output.name(shard)}: {reason(error)}")
        return Outcome(shard.number, count.rows, count.sentences, count.errors)

    def records(self, shard: Shard) -> Iterator[Record]:
        """A record for every row, in their order."""
        window: list[tuple[str, list[Words] | RowError]] = []
        size = 0
        for row in rows(shard, self.task.column, self.task.id_column):
            try:
                found = sentences_of(row.content, self.task.input, self.language)
            except RowError as error:
                window.append((row.id, error))
            else:
                window.append((row.id, found))
                size += sum(map(len, found))
            if size >= self.most_words or len(window) >= MAX_ROWS:
                yield from self.finished(window)
                window, size = [], 0
        yield from self.finished(window)

    def finished(self, window: Sequence[tuple[str, list[Words] | RowError]]) -> Iterator[Record]:
        """The records of some rows."""
        trees = self.trees([words for _, found in window if not isinstance(found, RowError) for words in found])
        for id, found in window:
            if isinstance(found, RowError):
                yield failed(id, found)
            else:
                records = [_record(id, next(trees)) for _ in found]
                yield of_document(id, records) if self.task.output.documents else records[0]

    def trees(self, sentences: Sequence[Words]) -> Iterator[Tree | Exception]:
        """The trees of sentences, or why there are none, some sentences at a time."""
        begin = size = 0
        for end, words in enumerate(sentences, 1):
            size += len(words)
            if size >= self.most_words or end == len(sentences):
                yield from self.parsed(sentences[begin:end])
                begin, size = end, 0

    def parsed(self, sentences: Sequence[Words]) -> list[Tree | Exception]:
        """If some cannot be parsed, the others still can: look for those by halves."""
        try:
            return [*self.parser.parse_tokens([[Token(word) for word in words] for words in sentences])]
        except SENTENCE_ERRORS as error:
            if len(sentences) == 1:
                self.check(error)
                return [error]
        half = len(sentences) // 2
        return self.parsed(sentences[:half]) + self.parsed(sentences[half:])

    def check(self, error: Exception) -> None:
        """Is it the sentence? If nothing can be parsed any more, all rows from here on would be blamed."""
        try:
            self.parser.parse_tokens([[Token(PROBE)]])
        except SENTENCE_ERRORS:
            raise ModelError(f"the parser does not work any more: {reason(error)}") from None


def _record(id: str, outcome: Tree | Exception) -> Record:
    if isinstance(outcome, Exception):
        return failed(id, outcome)
    try:
        return of_tree(id, outcome)
    except TreebankError as error:
        return failed(id, RowError(str(error).removeprefix("sentence : ")))  # the record has its id


class _Count:
    """Counts records on their way."""

    def __init__(self) -> None:
        self.rows = self.sentences = self.errors = 0

    def __call__(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self.rows += 1
            trees = record["tree"] if isinstance(record["tree"], list) else [record["tree"]]
            self.sentences += sum(tree is not None for tree in trees)
            self.errors += record["error"] is not None
            yield record
