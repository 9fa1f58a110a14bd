"""Text as numbers of words, in a temporary file, so that text of any size can be read again and again.

The file has no name: whatever ends the process, nothing is left behind.
"""

import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from discotree.config.vectors import VectorSettings
from discotree.errors import TreebankError
from discotree.network.vocab import normalized
from discotree.training.text_sources import TextSource

Ints = NDArray[np.int32]
Counts = NDArray[np.int64]
ReadReport = Callable[[int, int], None]  # gets the words and the bytes that have been read

END = -1  # stands between two sentences
MARK = ""  # the same among words
RARE = -2  # a word without a vector
MAX_WORD_CHARS = 100  # longer words are no words
MAX_KNOWN_WORDS = 4_000_000  # distinct words that are counted at a time
BLOCK_WORDS = 1 << 18
BUFFER_WORDS = 1 << 16  # numbered and written together


@dataclass(frozen=True)
class Stretch:
    """The words of one source in the file of numbers."""

    source: TextSource
    begin: int
    end: int
    words: int  # without the marks between sentences


class WordCorpus:
    """The words of texts by falling frequency, how often each occurs, and the texts as numbers of words."""

    def __init__(
        self,
        sources: Sequence[TextSource],
        language: str,
        settings: VectorSettings,
        folder: Path,
        report: ReadReport = lambda _words, _bytes: None,
    ) -> None:
        counter = _WordCounter(settings.zero_digits)
        try:
            self.file: BinaryIO = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed with this object)
            weakref.finalize(self, self.file.close)
            self.stretches = [_append(self.file, source, language, counter, report) for source in sources]
            self.file.flush()
        except OSError as error:
            raise TreebankError(f"cannot be written to: {error.strerror or error}", str(folder)) from None
        self.words, self.counts, self.numbers = counter.chosen(settings.min_count, settings.max_words)
        if not self.words:
            kept = f"{counter.total:,} words, none of which occurs {settings.min_count:,} times"
            raise TreebankError(f"{', '.join(source.path for source in sources)}: {kept} (vectors.min_count)")

    @property
    def total(self) -> int:
        """The words of one pass over all texts, with those that have no vector."""
        return sum(stretch.words * stretch.source.repeat for stretch in self.stretches)

    def blocks(self, order: np.random.Generator) -> Iterator[Ints]:
        """Yield the text of one pass in blocks, in a drawn order, with ``END`` between sentences."""
        starts = [
            (begin, min(begin + BLOCK_WORDS, stretch.end))
            for stretch in self.stretches
            for begin in range(stretch.begin, stretch.end, BLOCK_WORDS)
            for _ in range(stretch.source.repeat)
        ]
        for number in order.permutation(len(starts)):
            begin, end = starts[number]
            self.file.seek(begin * 4)
            block = np.frombuffer(self.file.read((end - begin) * 4), np.int32)
            yield np.where(block == END, END, self.numbers[block])


def _append(file: BinaryIO, source: TextSource, language: str, counter: "_WordCounter", report: ReadReport) -> Stretch:
    """Write the numbers of a source's words behind those of the sources before it."""
    begin, words_before = file.tell() // 4, counter.total
    bytes_read = 0

    def on_bytes(count: int) -> None:
        nonlocal bytes_read
        bytes_read += count

    def flush() -> None:
        nonlocal bytes_read
        file.write(counter.numbered(words, source.repeat).tobytes())
        report(counter.total, bytes_read)
        words.clear()
        bytes_read = 0

    words: list[str] = []
    for sentence in source.sentences(language, on_bytes):
        if sentence:
            words += sentence
            words.append(MARK)
        if len(words) >= BUFFER_WORDS:
            flush()
    flush()
    return Stretch(source, begin, file.tell() // 4, (counter.total - words_before) // source.repeat)


class _Numbers(dict[str, int]):
    """Words and their numbers; a new word gets the next one."""

    def __init__(self) -> None:
        super().__init__({MARK: END})
        self.next = 0

    def __missing__(self, word: str) -> int:
        number = self[word] = self.next
        self.next += 1
        return number


class _WordCounter:
    """Numbers words as they come, and counts them."""

    def __init__(self, zero_digits: bool) -> None:
        self.zero_digits = zero_digits
        self.ids = _Numbers()
        self.counts = np.zeros(BUFFER_WORDS, np.int64)  # by number
        self.total = 0
        self.forgotten = 0  # words that occur no more often were forgotten to save memory

    def numbered(self, words: list[str], times: int) -> Ints:
        """Count words, with marks between sentences, and return their numbers."""
        if self.zero_digits:
            words = normalized("\n".join(words)).split("\n") if words else words  # all at once: no word has a line end
        numbers = np.fromiter(map(self.ids.__getitem__, words), np.int32, len(words))
        inside = numbers[numbers >= 0]
        if self.ids.next > len(self.counts):
            self.counts = np.concatenate([self.counts, np.zeros(self.ids.next, np.int64)])
        self.counts[: self.ids.next] += times * np.bincount(inside, minlength=self.ids.next)
        self.total += times * len(inside)
        if len(self.ids) > MAX_KNOWN_WORDS:
            self.forget_rare()
        return numbers

    def forget_rare(self) -> None:
        """Forget the rarest words. One that comes again is counted from 0, under another number."""
        while len(self.ids) > MAX_KNOWN_WORDS // 2:
            self.forgotten += 1
            for word in [word for word, number in self.ids.items() if number >= 0 and self.is_rare(number)]:
                del self.ids[word]

    def is_rare(self, number: int) -> bool:
        return bool(self.counts[number] <= self.forgotten)

    def chosen(self, min_count: int, max_words: int) -> tuple[list[str], Counts, Ints]:
        """Return the words that get a vector, by falling frequency, their counts, and the new number of each old one.

        The last entry stands for the old number -1, the end of a sentence.
        """
        counts = self.counts.tolist()
        found = [
            (-counts[number], word, number)
            for word, number in self.ids.items()
            if number >= 0 and counts[number] >= min_count and len(word) <= MAX_WORD_CHARS
        ]
        kept = sorted(found)[:max_words]
        numbers = np.full(self.ids.next + 1, RARE, np.int32)
        numbers[[number for _, _, number in kept]] = np.arange(len(kept), dtype=np.int32)
        return [word for _, word, _ in kept], -np.array([count for count, _, _ in kept], np.int64), numbers
