"""Predicted tags: a tagger, and jackknifing, so that no sentence is tagged by a model that has seen it.

The tagger is the parser's encoder with one layer on top. It writes the file that ``data.predicted_tags`` names: a
parser that will get predicted tags has to learn from tags of about the same quality.
"""

import hashlib
import json
import math
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from discotree.config import Config, Data, NetworkSettings, Training
from discotree.encoding.dependencies import Dependencies
from discotree.errors import ConfigError, ModelError, TreebankError
from discotree.evaluation.score import percent
from discotree.files.writing import writable
from discotree.network.batch import IGNORED, Corpus, Forms, by_length
from discotree.network.pytorch.encoder import Encoder, pretrained_pieces
from discotree.network.pytorch.engine import BATCH_WORDS
from discotree.network.pytorch.tensors import TensorBatch
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vectors import Vectors
from discotree.network.vocab import Vocab, normalized
from discotree.training.data import Split, checksums, load_splits, resolve, words_of
from discotree.training.distributed import World
from discotree.training.fit import Report, Run, fit, silent
from discotree.training.predicted_tags import format_tags, read_tags
from discotree.training.run import copy_vectors, labelled, with_vectors

TAG = "tag"
FOLDS = 10
STEPS = 3000  # enough to learn to tag
MIN_EPOCHS = 10
STRETCHES_PER_FOLD = 10  # neighbouring sentences stay together, and every fold has some of every text
WORK_SUFFIX = ".folds"  # the folder of unfinished work, beside the output
IDENTITY = "identity"

Accuracies = dict[str, dict[str, float]]  # by split, then for all, known and unknown words


class Tagger(nn.Module):
    """Batch → a score for every tag of every word (B, N, tags), and the loss."""

    def __init__(self, settings: NetworkSettings, vocab: Vocab, subwords: Subwords | Pretrained | None) -> None:
        super().__init__()
        self.encoder = Encoder(settings, vocab, False, subwords)
        self.layer = nn.Linear(self.encoder.size, len(vocab.outputs[TAG]))
        self.smoothing = settings.label_smoothing

    def forward(self, batch: TensorBatch) -> Tensor:
        vectors, _ = self.encoder(batch)
        scores: Tensor = self.layer(vectors[:, 1:])
        return scores

    def loss(self, batch: TensorBatch) -> dict[str, Tensor]:
        """Return the cross-entropy, summed over the words."""
        scores, gold = self(batch).flatten(0, 1).float(), batch.gold[TAG].flatten()
        loss = nn.functional.cross_entropy(
            scores, gold, ignore_index=IGNORED, reduction="sum", label_smoothing=self.smoothing
        )
        return {TAG: loss}

    def pretrained(self) -> dict[str, int]:
        """Return the names of a Transformer's weights and the number of its layers above each."""
        return {f"encoder.{name}": above for name, above in self.encoder.pretrained().items()}

    def predict(self, corpus: Corpus, device: torch.device) -> list[list[str]]:
        """Return the best tags of all sentences, in their order."""
        self.eval()
        names = corpus.table.vocab.outputs[TAG]
        rows: list[list[str]] = [[] for _ in range(len(corpus))]
        with torch.inference_mode():
            for sentences in by_length(corpus.lengths, BATCH_WORDS):
                best = self(TensorBatch.of(corpus.batch(sentences), device)).argmax(-1).tolist()
                for number, row in zip(sentences.tolist(), best, strict=True):
                    rows[number] = [names[k] for k in row[: corpus.lengths[number]]]
        return rows


class Fold(NamedTuple):
    """The sentences that a model learns from, and those that it then tags."""

    seen: list[Dependencies]
    unseen: list[Dependencies]


def jackknife(splits: dict[str, Split], count: int) -> list[Fold]:
    """Return every fold of the training split with the rest of it, and finally dev and test with all of it."""
    train = splits["train"].encoded
    if not 2 <= count <= len(train):
        raise ConfigError(f"{len(train):,} training sentences cannot be divided into {count} folds")
    stretches = min(len(train), STRETCHES_PER_FOLD * count)
    fold_of = [number * stretches // len(train) % count for number in range(len(train))]
    folds = [
        Fold(
            [tree for tree, own in zip(train, fold_of, strict=True) if own != fold],
            [tree for tree, own in zip(train, fold_of, strict=True) if own == fold],
        )
        for fold in range(count)
    ]
    return [*folds, Fold(train, splits["dev"].encoded + splits["test"].encoded)]


def tag(
    config: Config,
    path: str | Path,
    folds: int = FOLDS,
    epochs: int = 0,
    report: Report = silent,
    world: World | None = None,
) -> Accuracies:
    """Write predicted tags for all sentences of a recipe and return their accuracies.

    Without ``epochs``, every model trains for as many as learning to tag takes, up to those of the recipe. The tags of
    every finished model are kept beside the file until all are there: an interrupted call continues when it is
    repeated.
    """
    world = world or World.join(config.training.device)
    config = replace(config, data=replace(config.data, tags="none", predicted_tags=""))
    data = resolve(config.data)
    splits = load_splits(data)
    check_ids(splits)
    epochs = epochs or enough_epochs(splits["train"], config.training)
    config = replace(config, training=replace(config.training, epochs=epochs))
    sha256 = checksums(config.data, data)
    identity = hashlib.sha256(f"{config.to_json()} {json.dumps(sha256)} {folds}".encode()).hexdigest()
    jobs = jackknife(splits, folds)
    work = Path(f"{path}{WORK_SUFFIX}")
    with no_empty_work(work):
        tags = tags_of_folds(config, data, splits, jobs, Run(config.training, world, work, identity, report))
    if world.is_first:
        trees = [tree for split in splits.values() for tree in split.trees]
        write_text(Path(path), format_tags((tree.id, tags[tree.id]) for tree in trees))
        shutil.rmtree(work)
    return accuracies(splits, jobs, tags)


def tags_of_folds(
    config: Config, data: Data, splits: dict[str, Split], jobs: Sequence[Fold], run: Run
) -> dict[str, Sequence[str]]:
    """Return the tags of all sentences by id. The run's folder keeps those of finished models."""
    work, world, epochs = cast(Path, run.folder), run.world, config.training.epochs
    begin(work, run.identity, world)
    finished = {number: work / f"{number}.tsv" for number in range(1, len(jobs) + 1)}
    missing = {number for number, file in finished.items() if not file.exists()}
    world.wait()  # until all processes have looked, before any of them writes
    learner = None
    if missing:
        config, vectors = with_vectors(config, data.vectors, words_of(splits))
        learner = FoldLearner(config, splits["dev"].encoded, vectors, pretrained_pieces(config.network))
    tags: dict[str, Sequence[str]] = {}
    for number, job in enumerate(jobs, 1):
        if learner is None or number not in missing:
            tags |= read_tags(finished[number])
            continue
        labels = labelled(run.report, fold=number, folds=len(jobs), epochs=epochs)
        own = replace(run, folder=work / str(number), identity=f"{run.identity} {number}", report=labels)
        found = learner.tags(job, own)
        tags |= found
        world.wait()  # until no process needs the checkpoint any more
        if world.is_first:
            write_text(finished[number], format_tags(found.items()))
            shutil.rmtree(work / str(number), ignore_errors=True)
    return tags


@contextmanager
def no_empty_work(work: Path) -> Iterator[None]:
    """If the block fails before any work is worth keeping, remove the folder for unfinished work."""
    is_new = not work.exists()
    try:
        yield
    except BaseException:
        if is_new and not any(file.name != IDENTITY for file in work.rglob("*") if not file.is_dir()):
            shutil.rmtree(work, ignore_errors=True)
        raise


@dataclass(frozen=True)
class FoldLearner:
    """Everything that the models of all folds share."""

    config: Config
    dev: Sequence[Dependencies]
    vectors: Vectors | None
    subwords: Subwords | Pretrained | None

    def tags(self, fold: Fold, run: Run) -> dict[str, list[str]]:
        """Train a tagger on one side of a fold and return the tags of the other side, by sentence id."""
        network, device = self.config.network, run.world.device
        vocab = self.vocab(fold)
        torch.manual_seed(run.settings.seed)
        tagger = Tagger(network, vocab, self.subwords).to(device)
        if self.vectors is not None and tagger.encoder.words is not None:
            copy_vectors(self.vectors, vocab, tagger.encoder.words)
        forms = Forms(vocab, network.max_chars, self.subwords.pieces if self.subwords else None)
        train, dev, unseen = (
            Corpus([tree.tokens for tree in trees], forms) for trees in (fold.seen, self.dev, fold.unseen)
        )
        train.learn(fold.seen)

        def validate() -> dict[str, float]:
            pairs = zip(self.dev, tagger.predict(dev, device), strict=True)
            right = sum(token.tag == tag for tree, row in pairs for token, tag in zip(tree.tokens, row, strict=True))
            return {"accuracy": percent(right, int(dev.lengths.sum()))}

        if run.folder:
            run.folder.mkdir(parents=True, exist_ok=True)
        fit(tagger, train, validate, "accuracy", run)
        return dict(zip([tree.id for tree in fold.unseen], tagger.predict(unseen, device), strict=True))

    def vocab(self, fold: Fold) -> Vocab:
        """Return the vocabulary of the seen sentences, and further words that have pretrained vectors."""
        vectors = self.vectors
        further = {token.form for trees in (fold.unseen, self.dev) for tree in trees for token in tree.tokens}
        return Vocab.build(
            fold.seen,
            [TAG],
            also=further if vectors else (),
            pretrained=lambda word: vectors is not None and vectors.lookup(word) is not None,
        )


def enough_epochs(train: Split, training: Training) -> int:
    """Return the epochs that learning to tag takes: a few on a large treebank, more on a small one."""
    lengths = np.array([len(tree.tokens) for tree in train.trees])
    steps = sum(1 for _ in by_length(lengths, training.batch_words))
    return min(training.epochs, max(MIN_EPOCHS, math.ceil(STEPS / steps)))


def begin(work: Path, identity: str, world: World) -> None:
    """Make the folder for unfinished work; refuse one that belongs to other work."""
    note = work / IDENTITY
    if note.exists():
        if note.read_text("utf-8") != identity:
            raise ModelError(f"{work}: tags of another run (other settings or data); remove the folder to start over")
    elif world.is_first:
        work.mkdir(parents=True, exist_ok=True)
        write_text(note, identity)


def write_text(path: Path, text: str) -> None:
    with writable(str(path)) as stream:
        stream.write(text.encode())


def check_ids(splits: dict[str, Split]) -> None:
    """Refuse sentences that share an id: the tags of a sentence are found by it."""
    counts = Counter(tree.id for split in splits.values() for tree in split.trees)
    id, count = counts.most_common(1)[0]
    if count > 1:
        raise TreebankError(
            f"predicted tags need unique ids, but {count} sentences have the id {id!r}; "
            "put the files into one folder, or merge them into one file with ids"
        )


def accuracies(splits: dict[str, Split], folds: Sequence[Fold], tags: dict[str, Sequence[str]]) -> Accuracies:
    """Return the percentage of right tags in each split; a word is known if the model that tagged it has seen it."""
    right: dict[str, Counter[str]] = {name: Counter() for name in splits}
    words: dict[str, Counter[str]] = {name: Counter() for name in splits}
    split_of = {tree.id: name for name, split in splits.items() for tree in split.trees}
    for fold in folds:
        known = {normalized(token.form) for tree in fold.seen for token in tree.tokens}
        for tree in fold.unseen:
            split = split_of[tree.id]
            for token, tag in zip(tree.tokens, tags[tree.id], strict=True):
                kinds = ["all", "known" if normalized(token.form) in known else "unknown"]
                words[split].update(kinds)
                right[split].update(kinds if token.tag == tag else [])
    return {
        split: {kind: percent(right[split][kind], words[split][kind]) for kind in ("all", "known", "unknown")}
        for split in splits
        if words[split]
    }
