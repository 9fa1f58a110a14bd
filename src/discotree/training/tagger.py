"""Predicted tags: a tagger, and jackknifing, so that no sentence is tagged by a model that has seen it.

The tagger is the parser's encoder with one layer on top. It writes the file that ``data.predicted_tags`` names: a
parser that will get predicted tags has to learn from tags of about the same quality.
"""

import hashlib
import json
import math
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from discotree.config import Config, Data, NetworkSettings, Training
from discotree.encoding.dependencies import Dependencies
from discotree.errors import ConfigError, ModelError
from discotree.evaluation.score import percent
from discotree.files.writing import writable
from discotree.network.batch import IGNORED, Corpus, Forms, by_length
from discotree.network.pytorch.encoder import Encoder, pretrained_pieces
from discotree.network.pytorch.engine import BATCH_WORDS
from discotree.network.pytorch.tensors import TensorBatch
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vectors import Vectors
from discotree.network.vocab import Vocab
from discotree.training.data import Split, checksums, load_splits, resolve, words_of
from discotree.training.distributed import World
from discotree.training.fit import Report, Run, fit, silent
from discotree.training.folds import TAG, Accuracies, Fold, accuracies, check_ids, jackknife
from discotree.training.predicted_tags import format_tags, read_tags
from discotree.training.run import copy_vectors, labelled, with_vectors
from discotree.training.side_by_side import side_by_side

FOLDS = 10
STEPS = 3000  # enough to learn to tag
MIN_EPOCHS = 10
WORK_SUFFIX = ".folds"  # the folder of unfinished work, beside the output
IDENTITY = "identity"


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


def tag(
    config: Config,
    path: str | Path,
    folds: int = FOLDS,
    epochs: int = 0,
    report: Report = silent,
    world: World | None = None,
    jobs: int = 1,
) -> Accuracies:
    """Write predicted tags for all sentences of a recipe and return their accuracies.

    Without ``epochs``, every model trains for as many as learning to tag takes, up to those of the recipe. The tags of
    every finished model are kept beside the file until all are there: an interrupted call continues when it is
    repeated. With several ``jobs``, that many models learn at the same time, each in a process of its own, on the same
    device.
    """
    world = world or World.join(config.training.device)
    if jobs > 1 and world.size > 1:
        raise ConfigError("models learn side by side, or in several processes each (torchrun), but not both")
    config = replace(config, data=replace(config.data, tags="none", predicted_tags=""))
    data = resolve(config.data)
    splits = load_splits(data)
    check_ids(splits)
    epochs = epochs or enough_epochs(splits["train"], config.training)
    config = replace(config, training=replace(config.training, epochs=epochs))
    sha256 = checksums(config.data, data)
    identity = hashlib.sha256(f"{config.to_json()} {json.dumps(sha256)} {folds}".encode()).hexdigest()
    parts = jackknife(splits, folds)
    work = Path(f"{path}{WORK_SUFFIX}")
    with no_empty_work(work):
        run = Run(config.training, world, work, identity, report)
        tags = tags_of_folds(config, data, splits, parts, run, jobs)
    if world.is_first:
        trees = [tree for split in splits.values() for tree in split.trees]
        write_text(Path(path), format_tags((tree.id, tags[tree.id]) for tree in trees))
        shutil.rmtree(work)
    return accuracies(splits, parts, tags)


def tags_of_folds(
    config: Config, data: Data, splits: dict[str, Split], folds: Sequence[Fold], run: Run, jobs: int = 1
) -> dict[str, Sequence[str]]:
    """Return the tags of all sentences by id. The run's folder keeps those of finished models."""
    work = cast(Path, run.folder)
    begin(work, run.identity, run.world)
    missing = [number for number in range(1, len(folds) + 1) if not tags_file(work, number).exists()]
    run.world.wait()  # until all processes have looked, before any of them writes
    if jobs > 1:
        threads = max(1, torch.get_num_threads() // jobs)
        arguments = {number: (number, config, work, run.identity, len(folds) - 1, threads) for number in missing}
        side_by_side(tag_fold_alone, arguments, jobs, run.report)
    elif missing:
        learner = FoldLearner.of(config, data, splits)
        for number in missing:
            learner.tag_fold(folds, number, run)
    run.world.wait()  # until the first process has written
    return {id: tags for number in range(1, len(folds) + 1) for id, tags in read_tags(tags_file(work, number)).items()}


def tag_fold_alone(
    number: int, config: Config, work: Path, identity: str, folds: int, threads: int, report: Report
) -> None:
    """Read the treebank and tag one fold of it, in a process of its own."""
    torch.set_num_threads(threads)
    data = resolve(config.data)
    splits = load_splits(data)
    run = Run(config.training, World.join(config.training.device), work, identity, report)
    FoldLearner.of(config, data, splits).tag_fold(jackknife(splits, folds), number, run)


def tags_file(work: Path, number: int) -> Path:
    """Return the file with the tags of a finished fold."""
    return work / f"{number}.tsv"


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

    @classmethod
    def of(cls, config: Config, data: Data, splits: dict[str, Split]) -> "FoldLearner":
        config, vectors = with_vectors(config, data.vectors, words_of(splits))
        return cls(config, splits["dev"].annotated(TAG), vectors, pretrained_pieces(config.network))

    def tag_fold(self, folds: Sequence[Fold], number: int, run: Run) -> None:
        """Train a tagger for one of the folds, counted from 1, and write its tags into the folder of the run."""
        work = cast(Path, run.folder)
        labels = labelled(run.report, fold=number, folds=len(folds), epochs=run.settings.epochs)
        own = replace(run, folder=work / str(number), identity=f"{run.identity} {number}", report=labels)
        found = self.tags(folds[number - 1], own)
        run.world.wait()  # until no process needs the checkpoint any more
        if run.world.is_first:
            write_text(tags_file(work, number), format_tags(found.items()))
            shutil.rmtree(work / str(number), ignore_errors=True)

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
