"""The training data of distillation: each epoch is the treebank and a slice of the text with the teachers' targets.

Each epoch takes the next sentences, so one slice is in memory at a time and all sentences are seen about equally
often. The slice depends only on the number of the epoch, so an interrupted run continues with the same slices.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discotree.config.schema import Config, Distillation
from discotree.errors import ConfigError, ModelError
from discotree.network.arrays import I64, Bool
from discotree.network.batch import HEAD, IGNORED, LABEL, Batch, Corpus, Forms, SoftTargets
from discotree.network.vocab import Alphabet, Vocab, normalized
from discotree.parsing.parser import Parser
from discotree.training.distillation.text import STEPS, Arrays, SentenceShards, forms_of
from discotree.training.fit import Epochs

MAX_CLASSES = 1 << 15  # ids have 16 bits
TARGET_SETTINGS = ("sentences", "seed", "top")  # settings that are part of the fingerprint of the targets
SAME_NAMES = 0.5  # share of labels in common below which two annotation schemes count as different
SENTENCE_ARRAYS = ("forms", "form", "lengths")  # the arrays of a shard that are not targets


class TeacherTargets:
    """A folder of text with the teachers' targets."""

    def __init__(self, shards: SentenceShards) -> None:
        summary = shards.read_summary()
        self.shards = shards
        try:
            self.facts: dict[str, object] = summary["facts"]  # settings and inputs of the targets
            self.teachers: list[str] = summary["teachers"]
            self.names: dict[str, list[str]] = summary["names"]  # labels, and the classes of auxiliary heads
            self.sentences, self.words = int(summary["sentences"]), int(summary["words"])
            self.head_functions: dict[str, str] = summary["head_functions"]  # of the first teacher
            self.root: str = summary["root"]
        except KeyError as error:
            raise ModelError(f"{shards.path}: not a folder of targets: {error} is missing") from None

    @cached_property
    def counts(self) -> tuple[Counter[str], dict[str, Counter[str]], list[int]]:
        """Frequencies of words and of the teachers' most probable classes, and the number of sentences per shard."""
        words: Counter[str] = Counter()
        classes = {name: np.zeros(len(symbols), np.int64) for name, symbols in self.names.items()}
        sizes = []
        for arrays in self.shards.shards():
            forms = forms_of(arrays)
            for form, count in zip(forms, np.bincount(arrays["form"], minlength=len(forms)).tolist(), strict=True):
                words[normalized(form)] += count
            for name, total in classes.items():
                total += np.bincount(arrays[f"{name}.ids"][:, 0], minlength=len(total))
            sizes.append(len(arrays["lengths"]))
        by_name = {
            name: Counter(dict(zip(self.names[name], total.tolist(), strict=True))) for name, total in classes.items()
        }
        return words, by_name, sizes

    def slice(self, epoch: int, count: int, seed: int) -> list[Arrays]:
        """Return the sentences of an epoch, as parts of shards. Each pass over the text shuffles the shards."""
        _, _, sizes = self.counts
        total = sum(sizes)
        count = min(total, count)
        first = (epoch - 1) * count
        parts: list[Arrays] = []
        while count:
            number_of_pass, offset = divmod(first, total)
            order = np.random.default_rng([seed, number_of_pass]).permutation(len(sizes)).tolist()
            for number in order:
                if offset < sizes[number]:
                    taken = min(count, sizes[number] - offset)
                    parts.append(part_of(self.shards.read_shard(number), offset, offset + taken))
                    first, count, offset = first + taken, count - taken, 0
                    if not count:
                        break
                else:
                    offset -= sizes[number]
        return parts

    def extend_vocab(self, vocab: Vocab, settings: Distillation) -> Vocab:
        """Return the vocabulary of a treebank with the frequent words of the text and labels of the teachers added.

        Words that are frequent in the text no longer count as singletons.
        """
        words = _frequent(self.counts[0], settings.min_count)
        new = [word for word in words if word not in vocab.words.ids][: settings.vocabulary]
        outputs = {head: self._extend(alphabet, head, settings) for head, alphabet in vocab.outputs.items()}
        chars = {char for word in new for char in word} - vocab.chars.ids.keys()
        return replace(
            vocab,
            words=Alphabet([*vocab.words.symbols, *new], vocab.words.reserved),
            singletons=vocab.singletons - set(words),
            chars=Alphabet([*vocab.chars.symbols, *sorted(chars)], vocab.chars.reserved),
            labels=self._extend(vocab.labels, LABEL, settings),
            outputs=outputs,
            head_functions={**self.head_functions, **vocab.head_functions} if "function" in outputs else {},
        )

    def _extend(self, alphabet: Alphabet, name: str, settings: Distillation) -> Alphabet:
        frequent = _frequent(self.counts[1].get(name, Counter()), settings.min_count)
        symbols = [*alphabet.symbols, *(symbol for symbol in frequent if symbol not in alphabet.ids)]
        if len(symbols) > MAX_CLASSES:
            raise ConfigError(
                f"the teachers and the treebank have {len(symbols):,} classes of {name}; the limit is {MAX_CLASSES:,}"
            )
        return Alphabet(symbols, alphabet.reserved)


def _frequent(counts: Counter[str], least: int) -> list[str]:
    return sorted((symbol for symbol, count in counts.items() if count >= least), key=lambda s: (-counts[s], s))


def part_of(arrays: Arrays, begin: int, end: int) -> Arrays:
    """Return some sentences of a shard."""
    starts = np.concatenate([[0], np.cumsum(arrays["lengths"], dtype=np.int64)])
    words = slice(int(starts[begin]), int(starts[end]))
    per_word = {name: value[words] for name, value in arrays.items() if name not in ("forms", "lengths")}
    return {"forms": arrays["forms"], "lengths": arrays["lengths"][begin:end], **per_word}


class SoftCorpus(Corpus):
    """The sentences of a treebank with gold trees, followed by sentences of text with the teachers' targets."""

    def __init__(
        self, treebank: Corpus, parts: Sequence[Arrays], targets: TeacherTargets, settings: Distillation, table: Forms
    ) -> None:
        super().__init__((), table)
        for form in treebank.table.index:  # gives words the same numbers as in the treebank's table
            table.lookup(form)
        texts = [Corpus.numbered(forms_of(part), part["form"], part["lengths"], table) for part in parts]
        lengths = np.concatenate([corpus.lengths for corpus in (treebank, *texts)])
        confident = [_confident(part, settings.min_confidence) for part in parts]
        chosen = np.concatenate([np.ones(len(treebank), bool), *confident])  # sentences
        words = np.repeat(chosen, lengths)
        self.treebank_sentences = len(treebank)
        self.lengths = lengths[chosen]
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])
        self.forms = np.concatenate([corpus.forms for corpus in (treebank, *texts)])[words]
        self.tags = np.zeros(len(self.forms), np.int64)

        front = len(treebank.forms)
        arrays = {
            name: np.concatenate([part[name] for part in parts])[words[front:]]
            for name in parts[0]
            if name not in SENTENCE_ARRAYS
        }
        nothing = np.full(len(self.forms) - front, IGNORED)
        for name, gold in treebank.gold.items():
            self.gold[name] = np.concatenate([gold, arrays["head"].astype(np.int64) if name == HEAD else nothing])
        agreed = arrays["agreement"] >= settings.min_agreement * len(targets.teachers) - 1e-9
        weights = (arrays["confidence"] / np.float32(STEPS) * agreed).astype(np.float32)
        self.weights = np.concatenate([np.zeros(front, np.float32), weights])
        self.soft_ids: dict[str, npt.NDArray[np.int16]] = {}
        self.soft_steps: dict[str, npt.NDArray[np.uint8]] = {}
        for name, alphabet in {HEAD: None, LABEL: table.vocab.labels, **table.vocab.outputs}.items():
            if f"{name}.ids" in arrays:
                ids, steps = arrays[f"{name}.ids"].astype(np.int64), arrays[f"{name}.p"]
                if alphabet is not None:  # classes that are not in the vocabulary get probability 0
                    number = np.array([alphabet.ids.get(symbol, -1) for symbol in targets.names[name]])[ids]
                    ids, steps = np.maximum(number, 0), np.where(number < 0, 0, steps)
                padding = ((front, 0), (0, 0))
                self.soft_ids[name] = np.pad(ids.astype(np.int16), padding)
                self.soft_steps[name] = np.pad(steps.astype(np.uint8), padding)

    def batch(self, sentences: I64) -> Batch:
        """Return the batch of the sentences with these numbers."""
        batch = super().batch(sentences)
        n = batch.words.shape[1]
        inside = np.arange(n) < batch.lengths[:, None]
        flat = np.where(inside, self.starts[sentences][:, None] + np.arange(n), 0)  # (B, N)
        soft = SoftTargets(
            text=sentences >= self.treebank_sentences,
            weights=np.where(inside, self.weights[flat], np.float32(0)),
            ids={name: values[flat] for name, values in self.soft_ids.items()},
            steps={name: values[flat] for name, values in self.soft_steps.items()},
        )
        return replace(batch, soft=soft)


def _confident(arrays: Arrays, least: float) -> Bool:
    """Return which sentences (S,) have at least this mean confidence."""
    lengths = arrays["lengths"].astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    sums = np.add.reduceat(arrays["confidence"].astype(np.int64), starts) if len(lengths) else lengths
    enough: Bool = sums >= least * STEPS * lengths
    return enough


@dataclass(eq=False)
class ScoredText:
    """Text with targets, as training data beside the treebank."""

    targets: TeacherTargets
    config: Config

    @property
    def fingerprint(self) -> str:
        """Added to the fingerprint of the run: only a checkpoint with the same one is resumed."""
        settings = {key: value for key, value in asdict(self.config.distillation).items() if key not in TARGET_SETTINGS}
        return hashlib.sha256(json.dumps([settings, self.targets.facts]).encode()).hexdigest()

    def extend_vocab(self, vocab: Vocab) -> Vocab:
        """Return the treebank's vocabulary with the words and labels of this text added."""
        check_labels("the teachers and the treebank", self.targets.names["label"], self.targets.root, vocab)
        return self.targets.extend_vocab(vocab, self.config.distillation)

    def epochs(self, treebank: Corpus, parser: Parser) -> Epochs:
        """Return the function that gives the training data of each epoch: the treebank and the next slice of text."""
        settings, seed = self.config.distillation, self.config.training.seed

        def corpus(epoch: int) -> Corpus:
            part = self.targets.slice(epoch, settings.epoch_sentences, seed)
            return SoftCorpus(treebank, part, self.targets, settings, parser._forms())

        return corpus

    def record(self) -> dict[str, Any]:
        """Return the entry of this text in results.json."""
        targets = self.targets
        sizes = {"sentences": targets.sentences, "words": targets.words}
        return {**sizes, "teachers": targets.teachers, "facts": targets.facts}


def check_labels(who: str, symbols: Sequence[str], root: str, vocab: Vocab) -> None:
    """Refuse labels that belong to another annotation scheme than those of the vocabulary."""
    common, fewer = len({*symbols} & vocab.labels.ids.keys()), min(len(symbols), len(vocab.labels))
    if root != vocab.root or common < SAME_NAMES * fewer:
        raise ConfigError(
            f"{who} have different annotation schemes: they share {common} labels of {len(symbols)} and "
            f"{len(vocab.labels)}, and the roots are {root!r:.50} and {vocab.root!r:.50}"
        )
