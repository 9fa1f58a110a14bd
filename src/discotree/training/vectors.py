"""Learn word vectors from raw text, and write them to a file with a record of how they were made.

The method is structured skip-gram with negative sampling (Ling et al. 2015): a word predicts its neighbours, with
separate output vectors for each relative position. The words drawn as negatives are shared by a batch, so nearly all
of the work is matrix products. The text is kept in memory as word numbers of four bytes.

Shapes: V words, D vector size, O relative positions, B words per batch, P pairs of a word and a neighbour, M words
drawn for each position.
"""

import math
import platform
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import softplus

from discotree.config.pretraining import VectorSettings
from discotree.errors import ModelError, TreebankError
from discotree.files.reading import ByteCounter
from discotree.files.writing import base_name, writable
from discotree.network.arrays import F32, I64
from discotree.network.vocab import normalized
from discotree.text import sentences
from discotree.text.streams import TOKEN
from discotree.training.distributed import ProcessGroup, device_name
from discotree.training.fit import Report, silent
from discotree.training.results import write_results
from discotree.training.text_sources import TextReport, TextSource, byte_counter, silent_text
from discotree.version import __version__

Ints = NDArray[np.int32]

END = -1  # number of the mark between two sentences
MARK = ""  # the mark itself, among words
RARE = -2  # a word without a vector
MAX_WORD_CHARS = 100  # longer words get no vector
BLOCK_WORDS = 1 << 18
EPSILON = 1e-8
NEGATIVES = 5  # weight of the negative samples of a pair
SHARED_NEGATIVES = 32  # words drawn for each position, shared by a batch
POWER = 0.75  # words are drawn by their frequency to this power
CPU_BATCH, GPU_BATCH = 1024, 16384
REPORT_SECONDS = 5.0  # between two reports, at least
RECORD_SUFFIX = ".json"  # appended to the name of the file of vectors
BINARY_SUFFIX = ".bin"


class WordCorpus:
    """The words of texts by falling frequency, how often each occurs, and the texts as numbers of words."""

    def __init__(
        self, sources: Sequence[TextSource], language: str, settings: VectorSettings, report: TextReport = silent_text
    ) -> None:
        self.sources = sources
        ids: dict[str, int] = defaultdict(count().__next__, {MARK: END})  # words in the order of first occurrence
        on_bytes = byte_counter(report, "reading", sum(source.size for source in sources))
        texts = [_numbers(source, language, ids, on_bytes) for source in sources]
        self.sizes = [int((text != END).sum()) for text in texts]  # words of each text
        self.total = sum(size * source.repeat for size, source in zip(self.sizes, sources, strict=True))  # of a pass
        counts = np.zeros(len(ids) - 1, np.int64)
        for text, source in zip(texts, sources, strict=True):
            counts += source.repeat * np.bincount(text[text != END], minlength=len(counts))
        frequent = [
            (-frequency, word, ids[word])
            for word, frequency in zip([word for word in ids if word != MARK], counts.tolist(), strict=True)
            if frequency >= settings.min_count and len(word) <= MAX_WORD_CHARS
        ]
        chosen = sorted(frequent)[: settings.max_words]
        self.words = [word for _, word, _ in chosen]
        self.counts = -np.array([negative for negative, _, _ in chosen], np.int64)
        if not self.words:
            names = ", ".join(source.path for source in sources)
            limit = f"{settings.min_count:,} times (vectors.min_count)"
            raise TreebankError(f"{names}: {self.total:,} words, none of which occurs {limit}")
        numbers = np.full(len(ids), RARE, np.int32)  # by old number; the last entry is that of END, -1
        numbers[[number for _, _, number in chosen]] = np.arange(len(chosen), dtype=np.int32)
        numbers[END] = END
        self.texts = [numbers[text] for text in texts]

    def blocks(self, order: np.random.Generator) -> Iterator[Ints]:
        """Yield the text of one pass in blocks, in a drawn order, with ``END`` between sentences."""
        blocks = [
            text[begin : begin + BLOCK_WORDS]
            for text, source in zip(self.texts, self.sources, strict=True)
            for begin in range(0, len(text), BLOCK_WORDS)
            for _ in range(source.repeat)
        ]
        for number in order.permutation(len(blocks)):
            yield blocks[number]


def _numbers(source: TextSource, language: str, ids: dict[str, int], on_bytes: ByteCounter) -> Ints:
    """Return the numbers of a source's words, with ``END`` after each sentence; digits are replaced by 0.

    With a language, every line is a paragraph, split into sentences and tokens by the rules of that language. Without
    one, every line is a sentence with tokens separated by spaces.
    """
    parts = [np.zeros(0, np.int32)]
    for _, lines in source.blocks(on_bytes):
        words: list[str] = []
        for line in lines:
            if language:
                for sentence in sentences(line, language):
                    words += [*(word.form for word in sentence), MARK]
            elif tokens := TOKEN.findall(line):
                words += [*tokens, MARK]
        if words:
            words = normalized("\n".join(words)).split("\n")  # all at once: no word has a line end
            parts.append(np.fromiter(map(ids.__getitem__, words), np.int32, len(words)))
    return np.concatenate(parts)


class SkipGram:
    """The vectors that are learned, with Adagrad's sums of squared gradients, one for each row."""

    def __init__(self, counts: I64, settings: VectorSettings, device: torch.device) -> None:
        self.settings, self.device = settings, device
        self.random = torch.Generator(device).manual_seed(settings.seed)
        words, size = len(counts), settings.size
        window = settings.window
        self.offsets = torch.tensor([d for d in range(-window, window + 1) if d], device=device)  # (O,)
        self.first_rows = torch.arange(len(self.offsets), device=device) * words  # (O,): first output row per position
        self.inputs = (torch.rand(words, size, generator=self.random, device=device) - 0.5) / size  # (V, D)
        self.outputs = torch.zeros(len(self.offsets) * words, size, device=device)  # (O·V, D)
        self.input_squares = torch.zeros(words, device=device)
        self.output_squares = torch.zeros(len(self.offsets) * words, device=device)
        frequency = torch.from_numpy(counts).double().to(device)
        self.drawn_below = torch.cumsum(frequency**POWER, 0)  # (V,): word k is drawn up to here
        self.keep_probability = keep_probability(frequency / frequency.sum(), settings.subsample)  # (V,)

    def learn_block(self, block: Ints, learning_rate: float) -> tuple[int, float]:
        """Learn from a stretch of text; return the number of pairs and the mean loss of those of its first batch."""
        numbers = torch.from_numpy(block).to(self.device).long()
        sentence = torch.cumsum(numbers == END, 0)
        numbers, sentence = numbers[numbers >= 0], sentence[numbers >= 0]
        chosen = self.uniform(len(numbers)) < self.keep_probability[numbers]
        numbers, sentence = numbers[chosen], sentence[chosen]
        # The window of each word is drawn at random, so near neighbours count more.
        reach = (self.uniform(len(numbers)) * self.settings.window).long() + 1
        order = torch.randperm(len(numbers), generator=self.random, device=self.device)
        pairs, loss = 0, 0.0
        size = GPU_BATCH if self.device.type == "cuda" else CPU_BATCH
        for begin in range(0, len(order), size):
            positions = order[begin : begin + size]  # (B,)
            near = positions[:, None] + self.offsets  # (B, O)
            inside = (near >= 0) & (near < len(numbers)) & (self.offsets.abs() <= reach[positions, None])
            near = near.clamp(0, len(numbers) - 1)
            inside &= sentence[near] == sentence[positions, None]
            count = int(inside.sum())
            if count:
                losses = self.step(numbers[positions], numbers[near], inside, learning_rate, measured=not pairs)
                loss = loss if pairs else float(losses) / count
                pairs += count
        return pairs, loss

    def step(self, words: Tensor, near: Tensor, inside: Tensor, learning_rate: float, measured: bool = True) -> Tensor:
        """Learn from words (B,) and their neighbours (B, O), where these are inside; return the loss if asked to."""
        size = self.settings.size
        h = self.inputs[words]  # (B, D)
        pair_word, pair_offset = inside.nonzero(as_tuple=True)  # (P,)
        right_rows = near[pair_word, pair_offset] + self.first_rows[pair_offset]
        drawn_rows = (self.draw(SHARED_NEGATIVES) + self.first_rows[:, None]).flatten()  # (O·M,)

        right = self.outputs[right_rows]  # (P, D)
        paired = h[pair_word]  # (P, D)
        right_scores = (paired * right).sum(-1)  # (P,)
        drawn = self.outputs[drawn_rows]  # (O·M, D)
        drawn_scores = (h @ drawn.T).view(len(words), -1, SHARED_NEGATIVES)  # (B, O, M)
        weight = inside[:, :, None] * (NEGATIVES / SHARED_NEGATIVES)  # (B, O, 1)

        right_slope = torch.sigmoid(-right_scores)[:, None]  # (P, 1)
        drawn_slope = (torch.sigmoid(drawn_scores) * -weight).view(len(words), -1)  # (B, O·M)
        loss = right_scores.new_zeros(())
        if measured:  # costs as much as the step itself
            loss = softplus(-right_scores).sum() + (softplus(drawn_scores) * weight).sum()
        gradient = drawn_slope @ drawn  # (B, D)
        gradient.index_add_(0, pair_word, right_slope * right)
        climb(self.outputs, self.output_squares, torch.cat([right_rows, drawn_rows]),
              torch.cat([right_slope * paired, drawn_slope.T @ h]), learning_rate)  # fmt: skip
        climb(self.inputs, self.input_squares, words, gradient.view(-1, size), learning_rate)
        return loss

    def draw(self, count: int) -> Tensor:
        """Draw words for every position: (O, M)."""
        shape = (len(self.offsets), count)
        drawn = torch.rand(shape, generator=self.random, device=self.device, dtype=torch.float64)
        words = torch.searchsorted(self.drawn_below, drawn * self.drawn_below[-1], right=True)
        return words.clamp(max=len(self.drawn_below) - 1)

    def uniform(self, count: int) -> Tensor:
        return torch.rand(count, generator=self.random, device=self.device)


def climb(matrix: Tensor, squares: Tensor, rows: Tensor, gradients: Tensor, learning_rate: float) -> None:
    """Take a step of Adagrad up the gradients (R, D) of some rows, with one rate for each row; rows may repeat."""
    distinct, place = rows.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    total = torch.zeros(len(distinct), matrix.shape[1], device=matrix.device).index_add_(0, place, gradients)
    squares.index_add_(0, distinct, total.square().mean(1))
    matrix.index_add_(0, distinct, total * (learning_rate / (squares[distinct].sqrt() + EPSILON))[:, None])


def keep_probability(frequency: Tensor, threshold: float) -> Tensor:
    """Return the probability of keeping an occurrence of each word, as in word2vec."""
    if not threshold:
        return torch.ones_like(frequency)
    share = threshold / frequency
    return (share.sqrt() + share).clamp(max=1)


def learn_vectors(
    sources: Sequence[TextSource],
    path: str,
    settings: VectorSettings | None = None,
    language: str = "",
    report: Report = silent,
    text_report: TextReport = silent_text,
) -> dict[str, Any]:
    """Learn word vectors from texts, write them to a file and return the record that is written beside it.

    A name that ends in ``.bin`` gets word2vec's binary format, any other its text format. The file appears when it is
    complete. On a CPU the same seed gives the same vectors, unless ``max_seconds`` ends learning.
    """
    settings = settings or VectorSettings()
    device = ProcessGroup.join(settings.device).device
    if not Path(path).absolute().parent.is_dir():
        raise TreebankError("no such folder", str(Path(path).parent))
    began = time.perf_counter()
    corpus = WordCorpus(sources, language, settings, text_report)
    network = SkipGram(corpus.counts, settings, device)
    read = time.perf_counter()
    history = learn(network, corpus, report)
    learned = time.perf_counter()
    write_vectors(path, corpus.words, network.inputs.cpu().numpy())
    record = {
        "settings": asdict(settings),
        "language": language,
        "sources": [
            {"file": source.name, "repeat": source.repeat, "words": words, "sha256": source.sha256()}
            for source, words in zip(sources, corpus.sizes, strict=True)
        ],
        "words": len(corpus.words),
        "text_words": corpus.total,
        "known_text_words": int(corpus.counts.sum()),
        **history,
        "seconds": {"reading": round(read - began, 1), "learning": round(learned - read, 1)},
        "versions": {"discotree": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "device": device_name(device),
    }
    write_results(Path(path + RECORD_SUFFIX), record)
    return record


def learn(network: SkipGram, corpus: WordCorpus, report: Report) -> dict[str, Any]:
    """Learn for the passes or the seconds of the settings; return the passes, the pairs and the loss by pass."""
    settings = network.settings
    began = time.perf_counter()
    reported = -math.inf
    done = pairs = 0
    losses: dict[int, list[float]] = {}
    passes = range(settings.epochs)
    blocks = ((k, block) for k in passes for block in corpus.blocks(np.random.default_rng([settings.seed, k])))
    for number, block in blocks:
        seconds = time.perf_counter() - began
        share = done / (corpus.total * settings.epochs)
        share = max(share, seconds / settings.max_seconds) if settings.max_seconds else share
        if share >= 1:
            break
        block_pairs, loss = network.learn_block(block, settings.learning_rate * (1 - share))
        done += int((block != END).sum())
        pairs += block_pairs
        if block_pairs:
            losses.setdefault(number, []).append(loss)
        if seconds >= reported + REPORT_SECONDS:
            report("step", {"progress": share, "pairs": pairs, "loss": loss, "seconds": seconds})
            reported = seconds
    if not torch.isfinite(network.inputs).all():
        raise ModelError("learning diverged; lower vectors.learning_rate")
    mean = [round(sum(of_pass) / len(of_pass), 4) for of_pass in losses.values()]
    return {"passes": round(done / corpus.total, 2), "pairs": pairs, "losses": mean}


def write_vectors(path: str, words: Sequence[str], matrix: F32) -> None:
    """Write words and their vectors (V, D) in word2vec's text format, or its binary one for ``.bin``."""
    binary = base_name(path).lower().endswith(BINARY_SUFFIX)
    with writable(path) as stream:
        stream.write(f"{len(words)} {matrix.shape[1]}\n".encode())
        for word, row in zip(words, matrix.astype("<f4"), strict=True):
            numbers = row.tobytes() if binary else " ".join(f"{value:.5g}" for value in row.tolist()).encode()
            stream.write(word.encode() + b" " + numbers + b"\n")
