"""From raw text to a file of word vectors, and a record of how they were made beside it."""

import json
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from discotree.config.vectors import VectorSettings
from discotree.errors import ModelError
from discotree.files.names import base_name
from discotree.files.writing import writable
from discotree.training.distributed import World
from discotree.training.skipgram import SkipGram
from discotree.training.text_sources import TextSource
from discotree.training.word_corpus import END, Ints, WordCorpus
from discotree.version import __version__

RECORD_SUFFIX = ".json"  # stands behind the whole name of the file
BINARY_SUFFIX = ".bin"
ROWS_TOGETHER = 1024


@dataclass(frozen=True)
class VectorProgress:
    """How far learning has come: what a progress bar shows."""

    stage: str  # "reading" or "learning"
    done: float  # bytes of text, or the share of learning from 0 to 1
    count: int  # words that were read, or pairs that were learned from
    loss: float = 0.0  # per pair, at the beginning of the last block


VectorReport = Callable[[VectorProgress], None]


def learn_vectors(
    sources: Sequence[TextSource],
    path: str,
    settings: VectorSettings | None = None,
    language: str = "",
    report: VectorReport = lambda _: None,
) -> dict[str, Any]:
    """Learn word vectors from texts, write them to a file and return the record that is written beside it.

    A name that ends in ``.bin`` gets word2vec's binary format, any other its text format. The file appears when it is
    complete. On a CPU the same seed gives the same vectors, unless ``max_seconds`` ends learning.
    """
    settings = settings or VectorSettings()
    device = World.join(settings.device).device
    bytes_read = 0

    def on_read(words: int, count: int) -> None:
        nonlocal bytes_read
        bytes_read += count
        report(VectorProgress("reading", bytes_read, words))

    began = time.perf_counter()
    corpus = WordCorpus(sources, language, settings, Path(path).absolute().parent, on_read)
    network = SkipGram(corpus.counts, settings, device)
    read = time.perf_counter()
    history = learn(network, corpus, report)
    learned = time.perf_counter()
    write_vectors(path, corpus.words, network.inputs.cpu().numpy())
    record = {
        "settings": asdict(settings),
        "language": language,
        "sources": [
            {
                "file": Path(stretch.source.path).name,
                "repeat": stretch.source.repeat,
                "words": stretch.words,
                "sha256": stretch.source.sha256(),
            }
            for stretch in corpus.stretches
        ],
        "words": len(corpus.words),
        "text_words": corpus.total,
        "known_text_words": int(corpus.counts.sum()),
        **history,
        "seconds": {"reading": round(read - began, 1), "learning": round(learned - read, 1)},
        "versions": {"discotree": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine(),
    }
    with writable(path + RECORD_SUFFIX) as stream:
        stream.write((json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())
    return record


def learn(network: SkipGram, corpus: WordCorpus, report: VectorReport) -> dict[str, Any]:
    """Learn for the passes or the seconds of the settings; return the passes, the pairs and the loss by pass."""
    settings = network.settings
    began = time.perf_counter()
    done = pairs = 0
    losses: dict[int, list[float]] = {}
    for epoch, block in _passes(corpus, settings):
        share = done / (corpus.total * settings.epochs)
        if settings.max_seconds:
            share = max(share, (time.perf_counter() - began) / settings.max_seconds)
        if share >= 1:
            break
        found, loss = network.learn_block(block, settings.learning_rate * (1 - share))
        done += int((block != END).sum())
        pairs += found
        if found:
            losses.setdefault(epoch, []).append(loss)
        report(VectorProgress("learning", share, pairs, loss))
    if not torch.isfinite(network.inputs).all():
        raise ModelError("learning diverged: lower vectors.learning_rate")
    mean = [round(sum(found) / len(found), 4) for found in losses.values()]
    return {"passes": round(done / corpus.total, 2), "pairs": pairs, "losses": mean}


def _passes(corpus: WordCorpus, settings: VectorSettings) -> Iterator[tuple[int, Ints]]:
    """Yield the blocks of all passes, each with the number of its pass."""
    for epoch in range(settings.epochs):
        for block in corpus.blocks(np.random.default_rng([settings.seed, epoch])):
            yield epoch, block


def write_vectors(path: str, words: Sequence[str], matrix: NDArray[np.float32]) -> None:
    """Write words and their vectors (V, D) in word2vec's text format, or its binary one for ``.bin``."""
    binary = base_name(path).lower().endswith(BINARY_SUFFIX)
    with writable(path) as stream:
        stream.write(f"{len(words)} {matrix.shape[1]}\n".encode())
        for rows in _binary_rows(words, matrix) if binary else _text_rows(words, matrix):
            stream.write(rows)


def _binary_rows(words: Sequence[str], matrix: NDArray[np.float32]) -> Iterator[bytes]:
    for word, row in zip(words, matrix.astype("<f4"), strict=True):
        yield word.encode() + b" " + row.tobytes() + b"\n"


def _text_rows(words: Sequence[str], matrix: NDArray[np.float32]) -> Iterator[bytes]:
    for begin in range(0, len(words), ROWS_TOGETHER):
        part = zip(words[begin : begin + ROWS_TOGETHER], matrix[begin : begin + ROWS_TOGETHER].tolist(), strict=True)
        yield "".join(f"{word} {' '.join(f'{value:.5g}' for value in row)}\n" for word, row in part).encode()
