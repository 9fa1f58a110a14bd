"""Predict part-of-speech tags by jackknifing, so that no sentence is tagged by a model that was trained on it.

The tagger is the parser's encoder with one layer on top. Its output is the file of ``data.predicted_tags``: a parser
that gets predicted tags as input should be trained on tags of about the same quality.
"""

import math
import shutil
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from discotree.config.schema import Config, Data, NetworkSettings, Training
from discotree.encoding.dependencies import Dependencies
from discotree.errors import ConfigError, TreebankError
from discotree.evaluation.parseval import percent
from discotree.files.jobs import Fingerprint
from discotree.files.writing import write_bytes
from discotree.network.batch import IGNORED, Corpus, Forms, by_length
from discotree.network.pytorch.engine import BATCH_WORDS
from discotree.network.pytorch.model import Encoder, pretrained_pieces
from discotree.network.pytorch.tensors import TensorBatch
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab
from discotree.training.data import Split, checksums, format_tags, load_splits, read_tags, resolve, words_of
from discotree.training.distributed import ProcessGroup
from discotree.training.fit import Report, Run, fit, silent
from discotree.training.run import copy_vectors, labelled, remove_folder_on_error, with_vectors

TAG = "tag"  # the auxiliary head
STRETCHES_PER_FOLD = 10  # neighbouring sentences stay together, and every fold has parts of every text

FOLDS = 10
STEPS = 3000  # of training; enough for a tagger
MIN_EPOCHS = 10
WORK_SUFFIX = ".folds"  # of the folder with the tags of finished folds, beside the output
JOB = "job.json"


class Fold(NamedTuple):
    """The sentences that a model is trained on, and those that it tags."""

    seen: list[Dependencies]
    unseen: list[Dependencies]


def jackknife(splits: dict[str, Split], count: int) -> list[Fold]:
    """Divide the training split into folds; a last fold trains on all of it and tags dev and test.

    Sentences whose source ignores tags are tagged, but not trained on.
    """
    train = splits["train"].encoded
    has_tags = [TAG not in source.ignore for source in splits["train"].sources]
    if not 2 <= count <= len(train):
        raise ConfigError(f"{len(train):,} training sentences cannot be divided into {count} folds")
    stretches = min(len(train), STRETCHES_PER_FOLD * count)
    fold_of = [number * stretches // len(train) % count for number in range(len(train))]
    folds = [
        Fold(
            [tree for tree, number, known in zip(train, fold_of, has_tags, strict=True) if number != fold and known],
            [tree for tree, number in zip(train, fold_of, strict=True) if number == fold],
        )
        for fold in range(count)
    ]
    return [*folds, Fold(splits["train"].annotated(TAG), splits["dev"].encoded + splits["test"].encoded)]


def check_ids(splits: dict[str, Split]) -> None:
    """Refuse sentences with the same id, because tags are stored by id."""
    counts = Counter(tree.id for split in splits.values() for tree in split.trees)
    id, count = counts.most_common(1)[0]
    if count > 1:
        raise TreebankError(
            f"predicting tags requires unique ids, but {count} sentences have the id {id!r}; "
            "put the files into one folder, or merge them into one file with ids"
        )


def accuracies(splits: dict[str, Split], tags: dict[str, Sequence[str]]) -> dict[str, float]:
    """Return the percentage of right tags in each split, without sentences whose source ignores tags."""
    result = {}
    for name, split in splits.items():
        pairs = [pair for tree in split.annotated(TAG) for pair in zip(tree.tokens, tags[tree.id], strict=True)]
        if pairs:
            result[name] = percent(sum(token.tag == tag for token, tag in pairs), len(pairs))
    return result


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
    process_group: ProcessGroup | None = None,
    jobs: int = 1,
) -> dict[str, float]:
    """Write predicted tags for all sentences of a recipe and return the accuracy of each split.

    Without ``epochs``, the number is chosen by the size of the treebank, up to that of the recipe. The tags of finished
    folds are stored in a folder beside the file, so an interrupted call continues when it is repeated. ``jobs`` is the
    number of models that are trained at the same time, each in its own process, on the same device.
    """
    process_group = process_group or ProcessGroup.join(config.training.device)
    if jobs > 1 and process_group.size > 1:
        raise ConfigError("several jobs cannot be combined with torchrun; use one of the two")
    config = replace(config, data=replace(config.data, tags="none", predicted_tags=""))
    data = resolve(config.data)
    splits = load_splits(data)
    check_ids(splits)
    epochs = epochs or enough_epochs(splits["train"], config.training)
    config = replace(config, training=replace(config.training, epochs=epochs))
    fingerprint = Fingerprint({"settings": asdict(config), "data": checksums(config.data, data), "folds": folds})
    parts = jackknife(splits, folds)
    work = Path(f"{path}{WORK_SUFFIX}")
    numbers = range(1, len(parts) + 1)
    with remove_folder_on_error(work):
        if process_group.is_first:
            fingerprint.claim(work / JOB, "remove the folder to start over")
        missing = [number for number in numbers if not tags_file(work, number).exists()]
        process_group.wait()  # no process may write before all have checked which folds are missing
        if jobs > 1:
            threads = max(1, torch.get_num_threads() // jobs)
            # CUDA cannot be used after a fork
            pool = ProcessPoolExecutor(jobs, get_context("spawn"), torch.set_num_threads, (threads,))
            try:
                tasks = [pool.submit(tag_fold_alone, config, folds, number, work) for number in missing]
                for task in as_completed(tasks):
                    report("epoch", task.result())
            finally:
                pool.shutdown(cancel_futures=True)
        elif missing:
            tag_folds(config, data, splits, parts, missing, work, process_group, report)
        process_group.wait()  # until the first process has written
        tags: dict[str, Sequence[str]] = {}
        for number in numbers:
            tags |= read_tags(tags_file(work, number))
    if process_group.is_first:
        trees = [tree for split in splits.values() for tree in split.trees]
        write_bytes(path, format_tags((tree.id, tags[tree.id]) for tree in trees).encode())
        shutil.rmtree(work)
    return accuracies(splits, tags)


def tag_fold_alone(config: Config, folds: int, number: int, work: Path) -> dict[str, float]:
    """Read the treebank and tag one fold of it, in a separate process; return the metrics of the last epoch."""
    data = resolve(config.data)
    splits = load_splits(data)
    process_group = ProcessGroup.join(config.training.device)
    return tag_folds(config, data, splits, jackknife(splits, folds), [number], work, process_group)


def tag_folds(
    config: Config,
    data: Data,
    splits: dict[str, Split],
    folds: Sequence[Fold],
    numbers: Sequence[int],
    work: Path,
    process_group: ProcessGroup,
    report: Report = silent,
) -> dict[str, float]:
    """Train taggers for some of the folds, counted from 1, and write their tags; return the last epoch's metrics."""
    config, vectors = with_vectors(config, data.vectors, words_of(splits))
    network, training, device = config.network, config.training, process_group.device
    pieces = pretrained_pieces(network)
    dev_trees = splits["dev"].annotated(TAG)
    metrics: dict[str, float] = {}
    for number in numbers:
        fold = folds[number - 1]
        vocab = Vocab.build(
            fold.seen,
            [TAG],
            also={token.form for trees in (fold.unseen, dev_trees) for tree in trees for token in tree.tokens},
            pretrained=lambda word: vectors is not None and vectors.lookup(word) is not None,
        )
        torch.manual_seed(training.seed)
        tagger = Tagger(network, vocab, pieces).to(device)
        if vectors is not None and tagger.encoder.words is not None:
            copy_vectors(vectors, vocab, tagger.encoder.words)
        forms = Forms(vocab, network.max_chars, pieces.pieces if pieces else None)
        train, dev, unseen = (
            Corpus([tree.tokens for tree in trees], forms) for trees in (fold.seen, dev_trees, fold.unseen)
        )
        train.learn(fold.seen)

        def validate(tagger: Tagger = tagger, dev: Corpus = dev) -> dict[str, float]:
            pairs = zip(dev_trees, tagger.predict(dev, device), strict=True)
            right = sum(token.tag == tag for tree, row in pairs for token, tag in zip(tree.tokens, row, strict=True))
            return {"accuracy": percent(right, int(dev.lengths.sum()))}

        folder = work / str(number)
        folder.mkdir(exist_ok=True)
        labels = {"fold": number, "folds": len(folds), "epochs": training.epochs}
        run = Run(training, process_group, folder, str(number), labelled(report, **labels))
        metrics = {**fit(tagger, train, validate, "accuracy", run).history[-1], **labels}
        tags = zip([tree.id for tree in fold.unseen], tagger.predict(unseen, device), strict=True)
        process_group.wait()  # until no process needs the checkpoint
        if process_group.is_first:
            write_bytes(tags_file(work, number), format_tags(tags).encode())
            shutil.rmtree(folder)
    return metrics


def tags_file(work: Path, number: int) -> Path:
    """Return the file with the tags of a finished fold."""
    return work / f"{number}.tsv"


def enough_epochs(train: Split, training: Training) -> int:
    """Return the number of epochs that takes about ``STEPS`` steps: few on a large treebank, more on a small one."""
    lengths = np.array([len(tree.tokens) for tree in train.trees])
    steps = sum(1 for _ in by_length(lengths, training.batch_words))
    return min(training.epochs, max(MIN_EPOCHS, math.ceil(STEPS / steps)))
