"""Treebanks and indexes in parts to work on, and the work on them in one process or in several."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from discotree.errors import DiscotreeError, TreebankError
from discotree.files.reading import ByteCounter
from discotree.processes import OrderedPool
from discotree.queries.index import is_index
from discotree.queries.query import Query
from discotree.queries.work import Found, IndexedTrees, Outcome, Part, TreebankFile, TreeReader, Worker
from discotree.treebanks.pieces import FilePiece, Piece, SentencePiece, read_pieces
from discotree.treebanks.source import stop

PART_SENTENCES, PART_BYTES = 200, 1 << 20  # sentences that are worked on together; far fewer in the beginning
HERE_FIRST = 500  # sentences to work on before it is worth starting other processes
SKIPPED_TOGETHER = 2000  # sentences between two signs of progress, where nothing is found


class Counted(NamedTuple):
    """A part, with the sentences that it stands for and the bytes of the input that were read by then."""

    part: Part | None  # None: nothing to do but to count
    sentences: int
    position: int


@dataclass
class Input:
    """Treebanks and indexes."""

    paths: Sequence[str]
    stems: Sequence[str]
    format: str | None = None
    encoding: str | None = None
    query: Query | None = None  # what is looked up in indexes
    wanted: Callable[[Piece], bool] = field(default=lambda _: True)
    position: int = 0  # bytes read so far

    def on_bytes(self, count: int) -> None:
        self.position += count

    def parts(self, reader: TreeReader, together: bool) -> Iterator[Counted]:
        """Yield the parts of everything; ``together`` makes parts that are worth sending to another process."""
        done = 0
        for path, stem in zip(self.paths, self.stems, strict=True):
            if self.query is not None and is_index(path):
                parts = self._of_index(path, self.query, reader)
            else:
                parts = self._of_treebank(path, stem, together, done)
            for counted in parts:
                done += counted.sentences
                yield counted

    def _of_index(self, path: str, query: Query, reader: TreeReader) -> Iterator[Counted]:
        index = reader.opened(path)
        candidates = index.candidates(query)
        numbers: Sequence[int] = range(1, index.last + 1) if candidates is None else candidates
        start, size = self.position, os.path.getsize(path)
        for begin in range(0, len(numbers), PART_SENTENCES):
            chosen = list(numbers[begin : begin + PART_SENTENCES])
            self.position = start + size * (begin + len(chosen)) // len(numbers)
            yield Counted(IndexedTrees(path, chosen), len(chosen), self.position)
        self.position = start + size

    def _of_treebank(self, path: str, stem: str, together: bool, done: int) -> Iterator[Counted]:
        on_bytes: ByteCounter = self.on_bytes
        pieces: list[SentencePiece] = []
        size = count = 0
        many = os.path.isdir(path) or len(self.paths) > 1
        for piece in read_pieces(path, self.format, encoding=self.encoding, stem=stem, on_bytes=on_bytes):
            if isinstance(piece, FilePiece):
                if pieces:
                    yield Counted(pieces, count, self.position)
                    pieces, size, count = [], 0, 0
                name = piece.source.name
                if together and many and piece.beginning and os.path.isfile(name):
                    part = TreebankFile(name, self.format, self.encoding, piece.source.stem)
                    self.position += os.path.getsize(name)
                    yield Counted(part, 0, self.position)
                else:
                    yield Counted(piece, 0, self.position)
                continue
            count += 1
            if self.wanted(piece):
                pieces.append(piece)
                size += len(piece.sentence.data)
            limit = min(max(done, 1), PART_SENTENCES) if together else 1
            if len(pieces) >= limit or size > PART_BYTES or count >= SKIPPED_TOGETHER:
                yield Counted(pieces or None, count, self.position)
                done += count
                pieces, size, count = [], 0, 0
        if count:
            yield Counted(pieces or None, count, self.position)


def _sentences_of(part: Part | None) -> int:
    """Return how many sentences are to be worked on; a whole file counts as enough for a process of its own."""
    if isinstance(part, list):
        return len(part)
    if isinstance(part, IndexedTrees):
        return len(part.numbers)
    return HERE_FIRST if isinstance(part, TreebankFile) else 0


Progress = Callable[[int, int], None]
"""Gets the number of sentences that are done, and the position in the input."""


@dataclass
class OrderedRun:
    """Works on all parts of an input, in this process or in several; what is found comes in the order of the input."""

    input: Input
    workers: int
    begin: Callable[[], None]  # called in every new process
    progress: Progress
    errors: list[TreebankError] | None  # gets what is left out as broken; None: the first one stops everything

    def found(self, worker: Worker[Found], set_up: Callable[[], Worker[Found]]) -> Generator[Found, None, None]:
        """Yield what is found; ``set_up`` makes the workers of other processes."""
        worker.reader.on_tree = lambda: self.progress(1, self.input.position)
        parts = self.input.parts(worker.reader, self.workers > 1)
        try:
            done = 0
            for counted in parts:
                yield from self._here(worker, counted)
                done += _sentences_of(counted.part)
                if self.workers > 1 and done >= HERE_FIRST:
                    break
            yield from self._elsewhere(worker, set_up, parts)
        finally:
            worker.reader.close()

    def _here(self, worker: Worker[Found], counted: Counted) -> Iterator[Found]:
        if counted.part is not None:
            yield from worker.stream(counted.part, stop if self.errors is None else self.errors.append)
        self.progress(counted.sentences, counted.position)

    def _elsewhere(
        self, worker: Worker[Found], set_up: Callable[[], Worker[Found]], parts: Iterator[Counted]
    ) -> Iterator[Found]:
        first = next(parts, None)
        if first is None:
            return
        waiting: deque[Counted] = deque()
        pool: OrderedPool[Part, Outcome[Found]]
        with OrderedPool(set_up, self.workers, self.begin) as pool:
            counted: Counted | None = first
            failure: DiscotreeError | None = None
            while counted is not None:
                if isinstance(counted.part, FilePiece):  # it is open here and nowhere else
                    yield from self._came_back(pool.rest(), waiting)
                    yield from self._here(worker, counted)
                elif counted.part is None:
                    self.progress(counted.sentences, counted.position)
                else:
                    waiting.append(counted)
                    yield from self._came_back(pool.results(counted.part), waiting)
                try:
                    counted = next(parts, None)
                except DiscotreeError as error:  # first comes what was found before it
                    counted, failure = None, error
            yield from self._came_back(pool.rest(), waiting)
            if failure is not None:
                raise failure

    def _came_back(self, results: Iterator[tuple[Part, Outcome[Found]]], waiting: deque[Counted]) -> Iterator[Found]:
        for _, outcome in results:
            counted = waiting.popleft()
            yield from outcome.found
            if self.errors is not None:
                self.errors += outcome.errors
            for failure in outcome.failures:
                raise failure
            is_file = isinstance(counted.part, TreebankFile)  # nobody knew its trees before
            self.progress(outcome.trees if is_file else counted.sentences, counted.position)
