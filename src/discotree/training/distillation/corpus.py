"""What a network learns from in an epoch: the treebank, and a slice of the text with the teachers' targets.

An epoch takes the next sentences, so memory is bounded by one slice, and in the end every sentence was seen about as
often as any other. Which slice an epoch takes depends on its number alone: an interrupted run goes on with the same.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discotree.config import Distillation
from discotree.errors import ConfigError, ModelError
from discotree.network.batch import HEAD, IGNORED, LABEL, Batch, Corpus, Forms, Ints, SoftTargets
from discotree.network.vocab import Alphabet, Vocab, normalized
from discotree.training.distillation.shards import STEPS, Array, Arrays, Sentences, SentenceShards

MAX_CLASSES = 1 << 15  # ids have 16 bits
NEEDED = ("head", "confidence", "agreement", f"{HEAD}.ids", f"{HEAD}.p", f"{LABEL}.ids", f"{LABEL}.p")


@dataclass(frozen=True, eq=False)
class Targets:
    """A folder of text that teachers have scored."""

    shards: SentenceShards
    teachers: Sequence[str]
    names: Mapping[str, Sequence[str]]  # labels, and the classes of auxiliary heads
    sentences: int
    words: int
    facts: Mapping[str, object]
    head_functions: Mapping[str, str]  # the usual functions of head children, as the first teacher knows them
    root: str

    @classmethod
    def open(cls, shards: SentenceShards) -> "Targets":
        """Open a folder that is complete."""
        about = shards.about()
        try:
            names = {str(name): [str(symbol) for symbol in symbols] for name, symbols in about["names"].items()}
            if LABEL not in names:
                raise KeyError(LABEL)
            functions = {str(pair): str(function) for pair, function in about["head_functions"].items()}
            counts = int(about["sentences"]), int(about["words"])
            return cls(
                shards, list(map(str, about["teachers"])), names, *counts, about["facts"], functions, str(about["root"])
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelError(f"{shards.path}: holds no targets: {error!r}") from None

    @cached_property
    def counts(self) -> "Counts":
        """How often the text has each word, and the teachers' best guess each class."""
        words: Counter[str] = Counter()
        classes = {name: np.zeros(len(symbols), np.int64) for name, symbols in self.names.items()}
        lengths = []
        for arrays in self.shards.shards():
            check_shard(arrays, self)
            found = Sentences.from_arrays(arrays)
            often = np.bincount(found.form, minlength=len(found.forms)).tolist()
            for form, count in zip(found.forms, often, strict=True):
                words[normalized(form)] += count
            for name, total in classes.items():
                if f"{name}.ids" in arrays:
                    total += np.bincount(arrays[f"{name}.ids"][:, 0], minlength=len(total))
            lengths.append(len(found))
        by_name = {
            name: Counter(dict(zip(self.names[name], total.tolist(), strict=True))) for name, total in classes.items()
        }
        return Counts(words, by_name, lengths)

    def extended(self, vocab: Vocab, settings: Distillation) -> Vocab:
        """Return the vocabulary of a treebank with the frequent words of the text, and the teachers' frequent labels.

        A word that is frequent in the text is no longer one that training sees once.
        """
        words = self._frequent(self.counts.words, settings.min_count)
        new = [word for word in words if word not in vocab.words.ids][: settings.vocabulary]
        outputs = {head: self._joined(alphabet, head, settings) for head, alphabet in vocab.outputs.items()}
        chars = {char for word in new for char in word} - vocab.chars.ids.keys()
        return replace(
            vocab,
            words=Alphabet([*vocab.words.symbols, *new], vocab.words.reserved),
            singletons=vocab.singletons - set(words),
            chars=Alphabet([*vocab.chars.symbols, *sorted(chars)], vocab.chars.reserved),
            labels=self._joined(vocab.labels, LABEL, settings),
            outputs=outputs,
            head_functions={**self.head_functions, **vocab.head_functions} if "function" in outputs else {},
        )

    def _joined(self, alphabet: Alphabet, name: str, settings: Distillation) -> Alphabet:
        frequent = self._frequent(self.counts.classes.get(name, Counter()), settings.min_count)
        symbols = [*alphabet.symbols, *(symbol for symbol in frequent if symbol not in alphabet.ids)]
        if len(symbols) > MAX_CLASSES:
            raise ConfigError(f"the teachers and the treebank have {len(symbols):,} classes of {name}: too many")
        return Alphabet(symbols, alphabet.reserved)

    @staticmethod
    def _frequent(counts: Counter[str], least: int) -> list[str]:
        return sorted((s for s, count in counts.items() if count >= least), key=lambda s: (-counts[s], s))


@dataclass(frozen=True)
class Counts:
    """Words and classes of a text, and the sentences of its shards."""

    words: Counter[str]
    classes: dict[str, Counter[str]]
    sentences: list[int]


@dataclass(eq=False)
class Slices:
    """The corpora of all epochs: each is the treebank and the next slice of the text."""

    treebank: Corpus
    targets: Targets
    settings: Distillation
    new_forms: Callable[[], Forms]
    seed: int
    ahead: bool = False  # make the next slice while the network learns from this one; there are two in memory then
    _next: "tuple[int, Future[Corpus]] | None" = field(default=None, init=False)

    def __call__(self, epoch: int) -> Corpus:
        """Return the corpus of an epoch, counted from 1."""
        if self._next and self._next[0] == epoch:
            corpus = self._next[1].result()
        else:
            corpus = self.corpus(epoch)
        self._next = None
        if self.ahead:
            self._next = epoch + 1, self._thread.submit(self.corpus, epoch + 1)
        return corpus

    @cached_property
    def _thread(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1)

    def corpus(self, epoch: int) -> Corpus:
        """Make the corpus of an epoch."""
        return SoftCorpus(self.treebank, self.slice(epoch), self.targets, self.settings, self.new_forms())

    def slice(self, epoch: int) -> list[Arrays]:
        """Return the sentences of an epoch, as parts of shards; shards come in another order in every pass."""
        sizes = self.targets.counts.sentences
        total = sum(sizes)
        count = min(total, self.settings.epoch_sentences)
        first = (epoch - 1) * count
        found: list[Arrays] = []
        while count:
            turn, offset = divmod(first, total)
            order = np.random.default_rng([self.seed, turn]).permutation(len(sizes)).tolist()
            for number in order:
                if offset < sizes[number]:
                    taken = min(count, sizes[number] - offset)
                    found.append(part_of(self.targets.shards.read_shard(number), offset, offset + taken))
                    first, count, offset = first + taken, count - taken, 0
                    if not count:
                        break
                else:
                    offset -= sizes[number]
        return found


def part_of(arrays: Arrays, begin: int, end: int) -> Arrays:
    """Return some sentences of a shard."""
    starts = np.concatenate([[0], np.cumsum(arrays["lengths"], dtype=np.int64)])
    words = slice(int(starts[begin]), int(starts[end]))
    own = {name: value[words] for name, value in arrays.items() if name not in ("forms", "lengths")}
    return {"forms": arrays["forms"], "lengths": arrays["lengths"][begin:end], **own}


class SoftCorpus(Corpus):
    """Sentences of a treebank with their trees, then sentences of a text with the targets of teachers."""

    def __init__(
        self, treebank: Corpus, parts: Sequence[Arrays], targets: Targets, settings: Distillation, table: Forms
    ) -> None:
        super().__init__((), table)
        for form in treebank.table.index:  # the same numbers as in the treebank's own table
            table.lookup(form)
        texts, kept = [], []
        for arrays in parts:
            check_shard(arrays, targets)
            found = Sentences.from_arrays(arrays)
            texts.append(Corpus.numbered(found.forms, found.form, found.lengths, table))
            kept.append(_confident(arrays, settings.min_confidence))
        corpora = [treebank, *texts]
        self.treebank_sentences = len(treebank)
        keep = np.concatenate([np.ones(len(treebank), bool), *kept])
        self._set(corpora, keep)
        words = np.repeat(keep, np.concatenate([corpus.lengths for corpus in corpora]))[len(treebank.forms) :]
        self._learn(treebank, _joined(parts), words, targets, settings)

    def _set(self, corpora: Sequence[Corpus], keep: npt.NDArray[np.bool_]) -> None:
        lengths = np.concatenate([corpus.lengths for corpus in corpora])
        words = np.repeat(keep, lengths)
        self.lengths = lengths[keep]
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])
        self.forms = np.concatenate([corpus.forms for corpus in corpora])[words]
        self.tags = np.zeros(len(self.forms), np.int64)

    def _learn(
        self,
        treebank: Corpus,
        arrays: Arrays,
        keep: npt.NDArray[np.bool_],
        targets: Targets,
        settings: Distillation,
    ) -> None:
        """Set the gold of the treebank, and the targets of the words of the text that are kept."""
        arrays = {name: value[keep] for name, value in arrays.items()}
        nothing = np.full(int(keep.sum()), IGNORED)
        for name, own in treebank.gold.items():
            self.gold[name] = np.concatenate([own, arrays["head"].astype(np.int64) if name == HEAD else nothing])
        front = len(treebank.forms)
        agreed = arrays["agreement"] >= settings.min_agreement * len(targets.teachers) - 1e-9
        confidence = (arrays["confidence"] / np.float32(STEPS)) ** settings.confidence_power
        weights = (settings.weight * confidence * agreed).astype(np.float32)
        self.weights = np.concatenate([np.zeros(front, np.float32), weights])
        vocab = self.table.vocab
        alphabets = {HEAD: None, LABEL: vocab.labels, **vocab.outputs}
        self.soft_ids: dict[str, npt.NDArray[np.int16]] = {}
        self.soft_steps: dict[str, npt.NDArray[np.uint8]] = {}
        for name, alphabet in alphabets.items():
            if f"{name}.ids" in arrays:
                ids, steps = arrays[f"{name}.ids"].astype(np.int64), arrays[f"{name}.p"]
                if alphabet is not None:  # a class that the network does not know has no probability
                    number = np.array([alphabet.ids.get(symbol, -1) for symbol in targets.names[name]])[ids]
                    ids, steps = np.maximum(number, 0), np.where(number < 0, 0, steps)
                padding = ((front, 0), (0, 0))
                self.soft_ids[name] = np.pad(ids.astype(np.int16), padding)
                self.soft_steps[name] = np.pad(steps.astype(np.uint8), padding)

    def batch(self, sentences: Ints) -> Batch:
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


def check_shard(arrays: Arrays, targets: Targets) -> None:
    """Refuse targets that do not fit their sentences, or that name a class that there is not."""
    where = targets.shards.path
    if missing := [name for name in NEEDED if name not in arrays]:
        raise ModelError(f"{where}: a shard has no {missing[0]}")
    lengths = arrays["lengths"].astype(np.int64)
    heads = np.repeat(lengths, lengths)
    for name, values in arrays.items():
        if name in ("forms", "lengths"):
            continue
        head, _, kind = name.partition(".")
        if len(values) != len(heads) or values.ndim != 1 + bool(kind) or values.dtype.kind != "u":
            raise ModelError(f"{where}: {name} does not fit the words of its shard")
        if head == HEAD and kind != "p":
            sound = bool((values <= (heads[:, None] if kind else heads)).all())
        else:
            sound = kind != "ids" or int(values.max(initial=0)) < len(targets.names.get(head, ()))
        if not sound:
            raise ModelError(f"{where}: {name} names a head or a class that there is not")


def _confident(arrays: Arrays, least: float) -> npt.NDArray[np.bool_]:
    """Return which sentences (S,) have words of this probability, on average."""
    lengths = arrays["lengths"].astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    sums = np.add.reduceat(arrays["confidence"].astype(np.int64), starts) if len(lengths) else lengths
    enough: npt.NDArray[np.bool_] = sums >= least * STEPS * lengths
    return enough


def _joined(parts: Sequence[Arrays]) -> Arrays:
    """Join the targets of several shards."""
    names = [name for name in parts[0] if name not in ("forms", "form", "lengths")]

    def joined(name: str) -> Array:
        return np.concatenate([arrays[name] for arrays in parts])

    return {name: joined(name) for name in names}
