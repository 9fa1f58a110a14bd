"""Teachers: trained models that score raw text together, and what is kept of their scores.

Their probabilities are averaged. Heads are decided exactly, on the average; labels are those given these heads. Names
of labels and classes are matched, so two teachers may number them differently, and a teacher that does not know a
label gives it no probability.

Shapes: B sentences, N words in the longest of them, T words of all sentences, U names, k kept ones.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from discotree.config import Config
from discotree.errors import ConfigError
from discotree.models.finding import find, fingerprint
from discotree.models.folder import read_model
from discotree.models.model import Model
from discotree.network.arborescence import arborescence
from discotree.network.batch import HEAD, LABEL, Corpus, Forms, Ints, KnownPieces, by_length
from discotree.network.decode import acyclic
from discotree.network.pytorch.engine import network_of
from discotree.network.pytorch.model import PointerNetwork
from discotree.network.pytorch.scores import TensorScores, label_scores
from discotree.network.pytorch.tensors import TensorBatch
from discotree.network.vocab import Alphabet, Vocab
from discotree.training.distillation.shards import STEPS, Arrays, Sentences, smallest

SCORE_WORDS, SCORE_WORDS_GPU = 4000, 32_000  # words of a batch
LABEL_NUMBERS, LABEL_NUMBERS_GPU = 1 << 24, 1 << 28  # most numbers in an intermediate result
FLOOR = -100.0  # log-probability of an arc that no teacher believes in: decoding wants finite numbers
SAME_NAMES = 0.5  # share of the labels that two schemes must have in common to count as one
SCHEME = ("heads", "marked_heads", "unaries", "punctuation")  # data settings that teachers and pupils share
AHEAD = 2  # batches to begin before the answers for the first one are needed


@dataclass(frozen=True, eq=False)
class Teacher:
    """A trained model, by the name that it was given by."""

    name: str
    model: Model
    fingerprint: str

    @classmethod
    def load(cls, name: str) -> "Teacher":
        folder = find(name)
        return cls(name, read_model(folder), fingerprint(folder))

    @property
    def vocab(self) -> Vocab:
        return self.model.vocab


def check_teachers(teachers: Sequence[Teacher], config: Config) -> None:
    """Refuse teachers that cannot teach the same thing, or not what the recipe is about."""
    if not teachers:
        raise ConfigError("expected at least one teacher")
    names = [teacher.name for teacher in teachers]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"the teacher {name} is named twice")
    for teacher in teachers:
        if teacher.model.has_tags:
            raise ConfigError(f"the teacher {teacher.name} looks at tags, and raw text has none")
        _check_same(teacher, "the recipe", config)
        _check_same(teacher, f"the teacher {names[0]}", teachers[0].model.config)
        check_labels(teacher, f"the teacher {names[0]}", teachers[0].vocab)


def _check_same(teacher: Teacher, other: str, config: Config) -> None:
    """Refuse a teacher of another language, or of another encoding of trees."""
    theirs = scheme_of(config)
    for what, mine in scheme_of(teacher.model.config).items():
        if mine != theirs[what]:
            raise ConfigError(
                f"the teacher {teacher.name} differs from {other}: {what} is {mine!r}, not {theirs[what]!r}"
            )


def scheme_of(config: Config) -> dict[str, object]:
    """Return the settings that decide what heads and labels mean, by name."""
    return {"language": config.language} | {f"data.{name}": getattr(config.data, name) for name in SCHEME}


def check_labels(teacher: Teacher, other: str, vocab: Vocab) -> None:
    """Refuse a teacher whose trees follow another annotation scheme."""
    own, theirs = set(teacher.vocab.labels.symbols), set(vocab.labels.symbols)
    common = len(own & theirs)
    if teacher.vocab.root != vocab.root or common < SAME_NAMES * min(len(own), len(theirs)):
        raise ConfigError(
            f"the teacher {teacher.name} differs from {other}: they have {common} labels in common, of {len(own)} and "
            f"{len(theirs)}, and the roots {teacher.vocab.root!r:.50} and {vocab.root!r:.50}"
        )


class Teachers:
    """Several teachers that score the same sentences, on one device."""

    def __init__(
        self, teachers: Sequence[Teacher], top: int, words: int, autocast: "torch.autocast", device: torch.device
    ) -> None:
        """Each word keeps the ``top`` most probable classes; ``words`` is the size of a batch, 0 chooses."""
        self.teachers = teachers
        self.top = top
        self.autocast: AbstractContextManager[object] = autocast
        self.device = device
        on_gpu = self.device.type == "cuda"
        self.words = words or (SCORE_WORDS_GPU if on_gpu else SCORE_WORDS)
        self.label_numbers = LABEL_NUMBERS_GPU if on_gpu else LABEL_NUMBERS
        models = [teacher.model for teacher in teachers]
        self.pieces = [KnownPieces(model.subwords.pieces, model.vocab) if model.subwords else None for model in models]

    @cached_property
    def networks(self) -> list[PointerNetwork]:
        """The teachers' networks, on the device."""
        networks = []
        for teacher in self.teachers:
            model = teacher.model
            parts = (model.vocab, model.has_tags, model.subwords, model.weights)
            networks.append(network_of(model.config.network, *parts).to(self.device).eval())
        return networks

    @cached_property
    def names(self) -> dict[str, Alphabet]:
        """The names of labels, and of the classes of every auxiliary head: those that any teacher knows."""
        found: dict[str, dict[str, None]] = {}
        for teacher in self.teachers:
            for name, alphabet in {LABEL: teacher.vocab.labels, **teacher.vocab.outputs}.items():
                found.setdefault(name, {}).update(dict.fromkeys(alphabet.symbols))
        return {name: Alphabet(list(symbols)) for name, symbols in found.items()}

    @cached_property
    def columns(self) -> list[dict[str, Tensor]]:
        """For each teacher, the numbers that its labels and classes have among all names."""
        found = []
        for teacher in self.teachers:
            alphabets = {LABEL: teacher.vocab.labels, **teacher.vocab.outputs}
            numbers = {
                name: [self.names[name].ids[symbol] for symbol in alphabet.symbols]
                for name, alphabet in alphabets.items()
            }
            found.append({name: torch.tensor(ids, device=self.device) for name, ids in numbers.items()})
        return found

    def targets(self, sentences: Sentences, done: Callable[[int], None]) -> Arrays:
        """Return the targets of sentences; ``done`` hears how many of them are scored, again and again."""
        corpora = []
        for teacher, pieces in zip(self.teachers, self.pieces, strict=True):
            table = Forms(teacher.vocab, teacher.model.config.network.max_chars, pieces)
            corpora.append(Corpus.numbered(sentences.forms, sentences.form, sentences.lengths, table))
        lengths, starts = corpora[0].lengths, corpora[0].starts
        arrays = self._empty(int(starts[-1]), int(lengths.max(initial=0)))
        started: list[tuple[Ints, Callable[[], Arrays]]] = []

        def finish() -> None:
            numbers, wait = started.pop(0)
            own = lengths[numbers]
            flat = np.repeat(starts[numbers] - np.concatenate([[0], np.cumsum(own)[:-1]]), own) + np.arange(own.sum())
            for name, values in wait().items():
                arrays[name][flat] = values
            done(len(numbers))

        for numbers in by_length(lengths, self.words):
            started.append((numbers, self._start(corpora, numbers)))
            if len(started) == AHEAD:
                finish()
        while started:
            finish()
        return arrays

    def _empty(self, words: int, longest: int) -> Arrays:
        arrays: Arrays = {
            "head": np.zeros(words, smallest(longest + 1)),
            "confidence": np.zeros(words, np.uint8),
            "agreement": np.zeros(words, np.uint8),
        }
        for name, count in {HEAD: longest + 1, **{name: len(names) for name, names in self.names.items()}}.items():
            arrays[f"{name}.ids"] = np.zeros((words, self.top), smallest(count))
            arrays[f"{name}.p"] = np.zeros((words, self.top), np.uint8)
        return arrays

    @torch.inference_mode()
    def _start(self, corpora: Sequence[Corpus], numbers: Ints) -> Callable[[], Arrays]:
        """Begin to score some sentences. On a GPU this returns before the scores are there."""
        scores: list[TensorScores] = []
        for network, corpus in zip(self.networks, corpora, strict=True):
            with self.autocast:
                scores.append(network(TensorBatch.of(corpus.batch(numbers), self.device)))
        lengths = corpora[0].lengths[numbers]
        arcs = torch.stack([one.arcs for one in scores]).exp().mean(0)  # (B, N, N+1)
        arcs.diagonal(1, 1, 2).zero_()  # no word is its own head
        return lambda: self._finish(scores, arcs, lengths)

    @torch.inference_mode()
    def _finish(self, scores: Sequence[TensorScores], arcs: Tensor, lengths: Ints) -> Arrays:
        """Return the targets of a batch's words (T, …), sentence by sentence."""
        columns = torch.from_numpy(decided(arcs, lengths)).to(self.device)  # (B, N)
        inside = torch.arange(arcs.shape[1], device=self.device) < torch.from_numpy(lengths).to(self.device)[:, None]
        head = columns[inside]  # (T,)
        own = arcs[inside]  # (T, N+1)
        found = {HEAD: own, LABEL: self._labels(scores, columns, inside)}
        for name in self.names:
            having = [(one, ids[name]) for one, ids in zip(scores, self.columns, strict=True) if name in one.auxiliary]
            if name != LABEL and having:
                found[name] = self._average([(one.auxiliary[name][inside].exp(), ids) for one, ids in having], name)
        agreed = torch.stack([one.arcs.argmax(-1)[inside] == head for one in scores]).sum(0)
        confidence = own.gather(1, head[:, None])[:, 0] * found[LABEL].amax(1)
        arrays = {"head": head, "confidence": _steps(confidence), "agreement": agreed}
        for name, probabilities in found.items():
            values, ids = probabilities.topk(min(self.top, probabilities.shape[1]), 1)
            values = _steps(values / values.sum(1, keepdim=True).clamp_min(1e-9))
            room = self.top - values.shape[1]
            arrays[f"{name}.ids"] = torch.nn.functional.pad(ids.masked_fill(values == 0, 0), (0, room))
            arrays[f"{name}.p"] = torch.nn.functional.pad(values, (0, room))
        return {name: value.cpu().numpy() for name, value in arrays.items()}

    def _labels(self, scores: Sequence[TensorScores], columns: Tensor, inside: Tensor) -> Tensor:
        """Return the probabilities of all labels (T, U), given the heads (B, N)."""
        parts = []
        for one, ids in zip(scores, self.columns, strict=True):
            heads = torch.take_along_dim(one.heads, columns[..., None], 1)[inside]
            rows = max(1, self.label_numbers // max(1, one.bilinear.shape[0] * one.bilinear.shape[1]))
            pairs = zip(torch.split(one.dependents[inside], rows), torch.split(heads, rows), strict=True)
            logits = torch.cat([label_scores(one.bilinear, *pair).float() for pair in pairs])
            parts.append((logits.softmax(-1), ids[LABEL]))
        return self._average(parts, LABEL)

    def _average(self, parts: Sequence[tuple[Tensor, Tensor]], name: str) -> Tensor:
        """Average probabilities of several teachers (T, their classes), whose names have these numbers."""
        total = torch.zeros(len(parts[0][0]), len(self.names[name]), device=self.device)
        for probabilities, ids in parts:
            total[:, ids] += probabilities.float()
        return total / len(parts)


def decided(arcs: Tensor, lengths: Ints) -> Ints:
    """Return the heads (B, N), as columns, of the most probable trees with one word on the root.

    Mostly the best heads are such a tree; only the other sentences are searched.
    """
    columns: Ints = arcs.argmax(-1).cpu().numpy()
    inside = np.arange(columns.shape[1]) < lengths[:, None]
    columns[~inside] = 0
    wrong = np.flatnonzero(~acyclic(columns) | (((columns == 0) & inside).sum(1) != 1))
    if len(wrong):
        weights = arcs[torch.from_numpy(wrong).to(arcs.device)].double().log().clamp_min(FLOOR).cpu().numpy()
        for row, number in enumerate(wrong.tolist()):
            n = int(lengths[number])
            columns[number, :n] = arborescence(weights[row, :n, : n + 1])
    return columns


def _steps(probabilities: Tensor) -> Tensor:
    return (probabilities * STEPS).round().to(torch.uint8)
