"""The work of `discotree parse` on windows of sentences, in this process or in several.

A window becomes a text for each sentence, or the reason why there is none. Windows that are worked on side by side come
back in their order.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from discotree.config import Method
from discotree.errors import SENTENCE_ERRORS, TreebankError, first_line
from discotree.network.cores import usable_cores
from discotree.parsing.garbage_collection import uncollected
from discotree.parsing.load import load
from discotree.parsing.outputs import DRAW, JSON, OutputFormat, drawings, json_lines, treebank
from discotree.parsing.resilient import Failure, ParseOptions, k_best_each
from discotree.parsing.text_input import InputItem, InputLine, InputSentence
from discotree.processes import OrderedPool
from discotree.trees.tree import Tree

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

CORES_PER_PROCESS = 4  # on a CPU: what one process can keep busy, with the time that trees take it
CPU_BYTES, GPU_BYTES = 2_000_000, 20_000_000  # an input of so many bytes is worth starting several processes

Window = list[InputItem]


@dataclass(frozen=True)
class FailedSentence:
    """Why there is nothing to write for a sentence, with its address."""

    reason: str


class UncertainText(str):
    """The text of a sentence whose tree has less confidence than was asked for."""

    __slots__ = ()


Texts = list[str | FailedSentence]


@dataclass(frozen=True)
class ParseJob:
    """All that a process needs to know to work on a window."""

    model: str  # its folder
    device: str
    decode: Method | None
    k: int
    output: str
    color: bool = False
    width: int | None = None  # columns of the terminal
    engine: str = ""
    threads: int = 0  # for each process, on a CPU
    min_confidence: float = 0.0  # sentences below are uncertain

    def is_uncertain(self, trees: Sequence[Tree]) -> bool:
        """Return whether the best of a sentence's trees has less confidence than was asked for."""
        return (trees[0].confidence or 0.0) < self.min_confidence

    def format(self, parser: "Parser") -> OutputFormat:
        """Return how trees are written."""
        if self.output == DRAW:
            return drawings(self.k > 0, self.color, self.width)
        if self.output == JSON:
            return json_lines()
        return treebank(self.output, parser.head_rules)


class ParseWorker:
    """A parser, and the format that its trees are written in."""

    def __init__(self, job: ParseJob) -> None:
        self.job = job
        self.parser = load(job.model, job.device, engine=job.engine, threads=job.threads)
        self.format = job.format(self.parser)
        decoding = self.parser.config.decoding
        self.decoding = replace(decoding, method=job.decode) if job.decode else decoding

    def __call__(self, window: Window, number: int) -> Texts:
        """Return the text of every sentence; ``number`` is the number of the first one in the file."""
        texts: Texts = []
        with uncollected():
            with_offsets = self.job.output == JSON  # no other format holds them
            for sentence, trees in self.parse(window, with_offsets):
                if isinstance(trees, FailedSentence) or isinstance(sentence, TreebankError):
                    texts.append(cast(FailedSentence, trees))
                    continue
                try:
                    text = self.format.sentence(sentence, trees, number)
                    text.encode()  # fail here for this sentence, not later for all of the window
                except SENTENCE_ERRORS as error:
                    texts.append(_failed(sentence, error))
                else:
                    texts.append(UncertainText(text) if self.job.is_uncertain(trees) else text)
                    number += 1
        return texts

    def parse(
        self, window: Window, with_offsets: bool = False
    ) -> Iterator[tuple[InputSentence | TreebankError, list[Tree] | FailedSentence]]:
        """Yield the trees of every sentence of a window, or why there are none."""
        items = [item.tokenise(with_offsets) if isinstance(item, InputLine) else item for item in window]
        sentences = [item for item in items if isinstance(item, InputSentence)]
        options = ParseOptions(self.decoding, self.job.k, [sentence.id for sentence in sentences])
        outcomes = k_best_each(self.parser, [sentence.tokens for sentence in sentences], options)
        for item in items:
            if isinstance(item, TreebankError):
                yield item, FailedSentence(first_line(item))
                continue
            outcome = next(outcomes)
            yield item, _failed(item, outcome.error) if isinstance(outcome, Failure) else outcome


def _failed(sentence: InputSentence, error: Exception) -> FailedSentence:
    return FailedSentence(f"{sentence.where}: {first_line(error)}")


def suitable_workers(device: str, size: int | None) -> int:
    """Return how many processes suit a device and an input of so many bytes, if its size is known."""
    cores = usable_cores()
    if device == "cpu":
        return max(1, cores // CORES_PER_PROCESS) if (size or 0) >= CPU_BYTES else 1
    return cores if (size or 0) >= GPU_BYTES else 1


def side_by_side(
    job: ParseJob, workers: int, windows: Iterable[tuple[Window, int]], begin: Callable[[], None]
) -> Generator[tuple[Window, int, Texts], None, None]:
    """Work on windows, each with the number of its first sentence, in several processes.

    Each process calls ``begin`` first.
    """
    threads = max(1, usable_cores() // workers)
    pool: OrderedPool[tuple[Window, int], Texts]
    with OrderedPool(partial(_set_up, replace(job, threads=threads)), workers, begin) as pool:
        for numbered in windows:
            for (window, number), texts in pool.results(numbered):
                yield window, number, texts
        for (window, number), texts in pool.rest():
            yield window, number, texts


def _set_up(job: ParseJob) -> Callable[[tuple[Window, int]], Texts]:
    worker = ParseWorker(job)
    return lambda numbered: worker(*numbered)
