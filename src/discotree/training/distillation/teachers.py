"""Teachers: trained models that score raw text together, and the targets made of their scores.

Their probabilities are averaged. Heads are decoded exactly from the mean; labels are those given these heads. Labels
and classes are matched by name, so teachers may number them differently, and a teacher that does not have a label gives
it probability 0.

Shapes: B sentences, N words in the longest of them, T words of all sentences, U names, k stored classes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from discotree.config.schema import Config, Distillation
from discotree.decoding.decode import acyclic, arborescence
from discotree.errors import ConfigError
from discotree.models.finding import find
from discotree.models.finding import fingerprint as model_fingerprint
from discotree.models.folder import Model, read_model
from discotree.network.arrays import I64
from discotree.network.batch import HEAD, LABEL, Corpus, Forms, by_length
from discotree.network.pytorch.engine import network_of
from discotree.network.pytorch.model import PointerNetwork, TensorScores, label_scores
from discotree.network.pytorch.tensors import TensorBatch
from discotree.network.vocab import Alphabet, Vocab
from discotree.training.distillation.targets import TeacherTargets, check_labels
from discotree.training.distillation.text import STEPS, TARGETS, Arrays, SentenceShards, forms_of, smallest_type
from discotree.training.text_sources import TextReport

SCORE_WORDS, SCORE_WORDS_GPU = 4000, 32_000  # words of a batch
LABEL_NUMBERS, LABEL_NUMBERS_GPU = 1 << 24, 1 << 28  # limit for the size of an intermediate result
FLOOR = -100.0  # least log-probability of an arc: decoding requires finite numbers
SCHEME = ("heads", "marked_heads", "unaries", "punctuation")  # data settings in which teachers and student must agree


@dataclass(frozen=True, eq=False)
class Teacher:
    """A trained model, with the name given by the user."""

    name: str
    model: Model
    fingerprint: str

    @classmethod
    def load(cls, name: str) -> "Teacher":
        folder = find(name)
        return cls(name, read_model(folder), model_fingerprint(folder))

    @property
    def vocab(self) -> Vocab:
        return self.model.vocab


def check_teachers(teachers: Sequence[Teacher], config: Config) -> None:
    """Refuse teachers that differ from each other or from the recipe in language, head rules or annotation scheme."""
    names = [teacher.name for teacher in teachers]
    for teacher in teachers:
        if names.count(teacher.name) > 1:
            raise ConfigError(f"the teacher {teacher.name} is given twice")
        if teacher.model.has_tags:
            raise ConfigError(f"the teacher {teacher.name} needs tags as input, but raw text has none")
        check_scheme(f"the teacher {teacher.name}", scheme_of(teacher.model.config), config)
        first = teachers[0].vocab
        check_labels(
            f"the teachers {teacher.name} and {names[0]}", teacher.vocab.labels.symbols, teacher.vocab.root, first
        )


def scheme_of(config: Config) -> dict[str, object]:
    """Return the settings that determine the meaning of heads and labels, by name."""
    return {"language": config.language} | {f"data.{name}": getattr(config.data, name) for name in SCHEME}


def check_scheme(who: str, scheme: Mapping[str, object], config: Config) -> None:
    """Refuse teachers with another language, other head rules or another encoding than the recipe."""
    for name, value in scheme_of(config).items():
        if scheme.get(name, value) != value:
            raise ConfigError(f"{who} and the recipe differ: {name} is {scheme[name]!r} and {value!r}")


class Teachers:
    """Several teachers that score the same sentences, on one device."""

    def __init__(self, teachers: Sequence[Teacher], top: int, autocast: "torch.autocast", device: torch.device) -> None:
        """``top`` is the number of most probable classes stored for each word."""
        self.teachers = teachers
        self.top = top
        self.autocast = autocast
        self.device = device
        on_gpu = self.device.type == "cuda"
        self.batch_words = SCORE_WORDS_GPU if on_gpu else SCORE_WORDS
        self.label_numbers = LABEL_NUMBERS_GPU if on_gpu else LABEL_NUMBERS
        models = [teacher.model for teacher in teachers]
        self.pieces = [model.subwords.pieces if model.subwords else None for model in models]
        alphabets = [{LABEL: model.vocab.labels, **model.vocab.outputs} for model in models]
        symbols_of: dict[str, dict[str, None]] = {}
        for name, alphabet in (pair for of_teacher in alphabets for pair in of_teacher.items()):
            symbols_of.setdefault(name, {}).update(dict.fromkeys(alphabet.symbols))
        # The union of the teachers' labels and of their classes, and where those of each teacher are in it
        self.names = {name: Alphabet(list(symbols)) for name, symbols in symbols_of.items()}
        self.columns = [
            {
                name: torch.tensor([self.names[name].ids[symbol] for symbol in alphabet.symbols], device=device)
                for name, alphabet in of_teacher.items()
            }
            for of_teacher in alphabets
        ]

    @cached_property
    def networks(self) -> list[PointerNetwork]:
        """The teachers' networks, on the device."""
        networks = []
        for teacher in self.teachers:
            model = teacher.model
            parts = (model.vocab, model.has_tags, model.subwords, model.weights)
            networks.append(network_of(model.config.network, *parts).to(self.device).eval())
        return networks

    def targets(self, sentences: Arrays, done: Callable[[int], None]) -> Arrays:
        """Return the targets of a shard; ``done`` is called with the number of sentences of each scored batch."""
        corpora = []
        for teacher, pieces in zip(self.teachers, self.pieces, strict=True):
            table = Forms(teacher.vocab, teacher.model.config.network.max_chars, pieces)
            corpora.append(Corpus.numbered(forms_of(sentences), sentences["form"], sentences["lengths"], table))
        lengths, starts = corpora[0].lengths, corpora[0].starts
        arrays = self._empty(int(starts[-1]), int(lengths.max(initial=0)))
        for numbers in by_length(lengths, self.batch_words):
            counts = lengths[numbers]
            offsets = starts[numbers] - np.concatenate([[0], np.cumsum(counts)[:-1]])
            flat = np.repeat(offsets, counts) + np.arange(counts.sum())
            for name, values in self._score(corpora, numbers).items():
                arrays[name][flat] = values
            done(len(numbers))
        return arrays

    def _empty(self, words: int, longest: int) -> Arrays:
        arrays: Arrays = {
            "head": np.zeros(words, smallest_type(longest + 1)),
            "confidence": np.zeros(words, np.uint8),
            "agreement": np.zeros(words, np.uint8),
        }
        for name, count in {HEAD: longest + 1, **{name: len(names) for name, names in self.names.items()}}.items():
            arrays[f"{name}.ids"] = np.zeros((words, self.top), smallest_type(count))
            arrays[f"{name}.p"] = np.zeros((words, self.top), np.uint8)
        return arrays

    @torch.inference_mode()
    def _score(self, corpora: Sequence[Corpus], numbers: I64) -> Arrays:
        """Return the targets of the words (T, …) of some sentences, sentence by sentence."""
        scores: list[TensorScores] = []
        for network, corpus in zip(self.networks, corpora, strict=True):
            with self.autocast:
                scores.append(network(TensorBatch.of(corpus.batch(numbers), self.device)))
        lengths = corpora[0].lengths[numbers]
        arcs = torch.stack([one.arcs for one in scores]).exp().mean(0)  # (B, N, N+1)
        arcs.diagonal(1, 1, 2).zero_()  # no word is its own head
        columns = torch.from_numpy(decode_heads(arcs, lengths)).to(self.device)  # (B, N)
        inside = torch.arange(arcs.shape[1], device=self.device) < torch.from_numpy(lengths).to(self.device)[:, None]
        head = columns[inside]  # (T,)
        arc_rows = arcs[inside]  # (T, N+1)
        by_name = {HEAD: arc_rows, LABEL: self._labels(scores, columns, inside)}
        for name in self.names:
            having = [(one, ids[name]) for one, ids in zip(scores, self.columns, strict=True) if name in one.auxiliary]
            if name != LABEL and having:
                by_name[name] = self._average([(one.auxiliary[name][inside].exp(), ids) for one, ids in having], name)
        agreed = torch.stack([one.arcs.argmax(-1)[inside] == head for one in scores]).sum(0)
        confidence = arc_rows.gather(1, head[:, None])[:, 0] * by_name[LABEL].amax(1)
        arrays = {"head": head, "confidence": _steps(confidence), "agreement": agreed}
        for name, probabilities in by_name.items():
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


def decode_heads(arcs: Tensor, lengths: I64) -> I64:
    """Return the heads (B, N), as columns, of the most probable trees with one word on the root.

    Only sentences whose most probable heads do not form such a tree are searched.
    """
    columns: I64 = arcs.argmax(-1).cpu().numpy()
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


def score(
    text: SentenceShards, teachers: Teachers, settings: Distillation, folder: Path, report: TextReport
) -> TeacherTargets:
    """Let the teachers score a text, or resume an incomplete folder; return its targets."""
    shards, summary = SentenceShards(folder, TARGETS), text.read_summary()
    names = [teacher.name for teacher in teachers.teachers]
    fingerprint = {  # batch size and precision only change the rounding
        **summary["facts"],
        "teachers": [[teacher.name, teacher.fingerprint] for teacher in teachers.teachers],
        "distillation.top": settings.top,
    }
    shards.begin(fingerprint)
    if shards.is_complete:
        return TeacherTargets(shards)
    total, done = int(summary["sentences"]), 0

    def on_done(count: int) -> None:
        nonlocal done
        done += count
        report("scoring", done, total)

    for number, arrays in enumerate(text.shards()):
        if shards.shard(number).exists():
            done += len(arrays["lengths"])
        else:
            shards.write_shard(number, {**arrays, **teachers.targets(arrays, on_done)})
    first = teachers.teachers[0]
    shards.finish(
        {
            "facts": fingerprint,
            "shards": summary["shards"],
            "sentences": total,
            "words": summary["words"],
            "text": {key: summary[key] for key in ("held_out", "repeated", "length")},
            "teachers": names,
            "names": {name: alphabet.symbols for name, alphabet in teachers.names.items()},
            "head_functions": first.vocab.head_functions,
            "root": first.vocab.root,
            "scheme": scheme_of(first.model.config),
        }
    )
    return TeacherTargets(shards)
