"""Predicted tags: a tagger of our own, and jackknifing, so that no sentence is tagged by a model that has seen it.

The tagger is the parser's encoder with one layer on top. What it writes is what ``data.predicted_tags`` reads: a parser
that will be given predicted tags has to learn from tags that are about as good as those it will be given.
"""

import dataclasses
import hashlib
import json
import math
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from discotree import config
from discotree.encoding.dependencies import Dependencies
from discotree.errors import ModelError, TreebankError
from discotree.evaluation.score import percent
from discotree.files import writable
from discotree.network.batch import IGNORED, Batch, Corpus, Forms, by_length
from discotree.network.encoder import Encoder, pretrained_pieces
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vectors import Vectors
from discotree.network.vocab import Vocab, normalized
from discotree.parsing.parser import BATCH_WORDS
from discotree.training import data
from discotree.training.fit import Report, World, fit
from discotree.training.run import chosen_device, labelled, pretrained, put_vectors

TAG = "tag"
FOLDS = 10
STEPS = 3000  # that are enough to learn to tag
LEAST_EPOCHS = 10
STRETCHES = 10  # that every fold is made of: neighbours stay together, and each fold has some of every text
WORK = ".folds"  # what a folder beside the output is called while there is work to do
IDENTITY = "identity"

Accuracies = dict[str, dict[str, float]]  # of train, dev and test: of all, of known and of unknown words


class Tagger(nn.Module):
    """Batch → a score for every tag of every word (B, N, tags), and the loss."""

    def __init__(self, settings: config.NetworkSettings, vocab: Vocab, subwords: Subwords | Pretrained | None) -> None:
        super().__init__()
        self.encoder = Encoder(settings, vocab, False, subwords)
        self.layer = nn.Linear(self.encoder.size, len(vocab.outputs[TAG]))
        self.smoothing = settings.label_smoothing

    def forward(self, batch: Batch) -> Tensor:
        vectors, _ = self.encoder(batch)
        scores: Tensor = self.layer(vectors[:, 1:])
        return scores

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The summed cross-entropy; divide by the number of words."""
        scores, gold = self(batch).flatten(0, 1).float(), batch.gold[TAG].flatten()
        loss = nn.functional.cross_entropy(
            scores, gold, ignore_index=IGNORED, reduction="sum", label_smoothing=self.smoothing
        )
        return {TAG: loss}

    def pretrained(self) -> dict[str, int]:
        """The names of a Transformer's weights, and how many of its layers lie above each."""
        return {f"encoder.{name}": above for name, above in self.encoder.pretrained().items()}

    def predict(self, corpus: Corpus, device: torch.device) -> list[list[str]]:
        """The best tags of all sentences, in their order."""
        self.eval()
        names = corpus.table.vocab.outputs[TAG]
        rows: list[list[str]] = [[] for _ in range(len(corpus))]
        with torch.inference_mode():
            for sentences in by_length(corpus.lengths, BATCH_WORDS):
                best = self(corpus.batch(sentences).to(device)).argmax(-1).tolist()
                for number, row in zip(sentences.tolist(), best, strict=True):
                    rows[number] = [names[k] for k in row[: corpus.lengths[number]]]
        return rows


class Fold(NamedTuple):
    """A model to train: what it learns from, and what it then tags."""

    seen: list[Dependencies]
    unseen: list[Dependencies]


def jackknifed(parts: dict[str, data.Part], count: int) -> list[Fold]:
    """Every fold of the training part with the rest of it; at last dev and test with all of it."""
    train = parts["train"].encoded
    if not 2 <= count <= len(train):
        raise ModelError(f"{len(train):,} training sentences cannot be cut into {count} folds")
    stretches = min(len(train), STRETCHES * count)
    fold_of = [number * stretches // len(train) % count for number in range(len(train))]
    folds = [
        Fold(
            [tree for tree, own in zip(train, fold_of, strict=True) if own != fold],
            [tree for tree, own in zip(train, fold_of, strict=True) if own == fold],
        )
        for fold in range(count)
    ]
    return [*folds, Fold(train, parts["dev"].encoded + parts["test"].encoded)]


def tag(
    settings: config.Config,
    path: str | Path,
    folds: int = FOLDS,
    epochs: int = 0,
    report: Report = lambda *_: None,
) -> Accuracies:
    """Write predicted tags for all sentences of a recipe, and say how good they are.

    Without ``epochs``, there are as many as it takes to learn to tag, but no more than the recipe says. Every model's
    tags are kept beside the file until all are there, so that nothing is lost when the work is
    interrupted: the same call goes on.
    """
    settings = dataclasses.replace(
        settings,
        data=dataclasses.replace(settings.data, tags="none", predicted_tags=""),
    )
    parts = data.load(settings.data)
    check_ids(parts)
    epochs = epochs or enough_epochs(parts["train"], settings.training)
    settings = dataclasses.replace(settings, training=dataclasses.replace(settings.training, epochs=epochs))
    checksums = data.checksums(settings.data)
    identity = hashlib.sha256(f"{settings.to_json()} {json.dumps(checksums)} {folds}".encode()).hexdigest()
    jobs = jackknifed(parts, folds)
    device = chosen_device(settings.training)
    world = World.join(device)
    first = world.rank == 0
    work = Path(f"{path}{WORK}")
    begin(work, identity, first)
    names = [work / f"{number}.tsv" for number in range(1, len(jobs) + 1)]
    missing = [name for name in names if not name.exists()]  # asked before any process writes
    world.wait()
    vectors, subwords = None, None
    if missing:
        settings, vectors = pretrained(settings, data.words_of(parts))
        subwords = pretrained_pieces(settings.network)
    tags: dict[str, Sequence[str]] = {}
    for number, (name, job) in enumerate(zip(names, jobs, strict=True), 1):
        if name not in missing:
            tags |= data.read_tags(name)
            continue
        checkpoints = work / str(number)
        found = learned(
            settings,
            job,
            parts["dev"].encoded,
            (vectors, subwords),
            device,
            checkpoints,
            f"{identity} {number}",
            labelled(report, fold=number, folds=len(jobs), epochs=epochs),
        )
        tags |= found
        world.wait()  # until nobody needs the checkpoint any more
        if first:
            write(name, data.write_tags(found.items()))
            shutil.rmtree(checkpoints, ignore_errors=True)
    accuracies = scored(parts, jobs, tags)
    if first:
        trees = [tree for part in parts.values() for tree in part.trees]
        write(Path(path), data.write_tags((tree.id, tags[tree.id]) for tree in trees))
        shutil.rmtree(work)
    return accuracies


def learned(
    settings: config.Config,
    job: Fold,
    dev: Sequence[Dependencies],
    known: tuple[Vectors | None, Subwords | Pretrained | None],
    device: torch.device,
    folder: Path,
    identity: str,
    report: Report,
) -> dict[str, list[str]]:
    """Train a tagger on the one side of a fold and tag the other: the tags of every sentence, by its id."""
    vectors, subwords = known
    further = {token.form for trees in (job.unseen, dev) for tree in trees for token in tree.tokens} if vectors else ()
    vocab = Vocab.build(
        job.seen,
        [TAG],
        also=further,
        pretrained=lambda word: vectors is not None and vectors.lookup(word) is not None,
    )
    torch.manual_seed(settings.training.seed)
    tagger = Tagger(settings.network, vocab, subwords).to(device)
    if vectors is not None and tagger.encoder.words is not None:
        put_vectors(vectors, vocab, tagger.encoder.words)
    forms = Forms(vocab, settings.network.max_chars, subwords.pieces if subwords else None)
    train, held_out, unseen = (Corpus([tree.tokens for tree in trees], forms) for trees in (job.seen, dev, job.unseen))
    train.learn(job.seen)

    def validate() -> dict[str, float]:
        pairs = zip(dev, tagger.predict(held_out, device), strict=True)
        right = sum(token.tag == tag for tree, row in pairs for token, tag in zip(tree.tokens, row, strict=True))
        return {"accuracy": percent(right, int(held_out.lengths.sum()))}

    folder.mkdir(parents=True, exist_ok=True)
    fit(tagger, train, validate, "accuracy", settings.training, device, folder, identity, report)
    return dict(zip([tree.id for tree in job.unseen], tagger.predict(unseen, device), strict=True))


def enough_epochs(train: data.Part, training: config.Training) -> int:
    """A large treebank shows a tagger enough in a few epochs, a small one does not."""
    lengths = np.array([len(tree.tokens) for tree in train.trees])
    steps = sum(1 for _ in by_length(lengths, training.batch_words))
    return min(training.epochs, max(LEAST_EPOCHS, math.ceil(STEPS / steps)))


def begin(work: Path, identity: str, first: bool) -> None:
    """Make the folder for what is done so far, or see whether one that is there belongs to the same work."""
    note = work / IDENTITY
    if note.exists():
        if note.read_text("utf-8") != identity:
            raise ModelError(f"{work}: holds tags of another run (other settings or data); remove it to start anew")
    elif first:
        work.mkdir(parents=True, exist_ok=True)
        write(note, identity)


def write(path: Path, text: str) -> None:
    with writable(str(path)) as stream:
        stream.write(text.encode())


def check_ids(parts: dict[str, data.Part]) -> None:
    """A line of the file is found by its sentence's id."""
    times = Counter(tree.id for part in parts.values() for tree in part.trees)
    id, count = times.most_common(1)[0]
    if count > 1:
        raise TreebankError(
            f"predicted tags need ids that are unique, and {count} sentences have the id {id!r}; "
            "in one folder, or in one file with ids, they would differ"
        )


def scored(parts: dict[str, data.Part], jobs: Sequence[Fold], tags: dict[str, Sequence[str]]) -> Accuracies:
    """How many tags of each part are right; a word is known if the model that tagged it has learned from it."""
    right: dict[str, Counter[str]] = {name: Counter() for name in parts}
    words: dict[str, Counter[str]] = {name: Counter() for name in parts}
    part_of = {tree.id: name for name, part in parts.items() for tree in part.trees}
    for job in jobs:
        known = {normalized(token.form) for tree in job.seen for token in tree.tokens}
        for tree in job.unseen:
            part = part_of[tree.id]
            for token, tag in zip(tree.tokens, tags[tree.id], strict=True):
                kind = "known" if normalized(token.form) in known else "unknown"
                words[part].update(["all", kind])
                right[part].update(["all", kind] if token.tag == tag else [])
    return {
        part: {kind: percent(right[part][kind], words[part][kind]) for kind in ("all", "known", "unknown")}
        for part in parts
        if words[part]
    }
