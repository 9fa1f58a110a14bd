"""Jackknifing: the training sentences in folds, each tagged by a model of the others, and how good the tags are."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from discotree.encoding.dependencies import Dependencies
from discotree.errors import ConfigError, TreebankError
from discotree.evaluation.score import percent
from discotree.network.vocab import normalized
from discotree.training.data import Split

TAG = "tag"  # the auxiliary head
STRETCHES_PER_FOLD = 10  # neighbouring sentences stay together, and every fold has some of every text

Accuracies = dict[str, dict[str, float]]  # by split, then for all, known and unknown words


class Fold(NamedTuple):
    """The sentences that a model learns from, and those that it then tags."""

    seen: list[Dependencies]
    unseen: list[Dependencies]


def jackknife(splits: dict[str, Split], count: int) -> list[Fold]:
    """Return every fold of the training split with the rest of it, and finally dev and test with all of it.

    Sentences whose source ignores tags are tagged, but nothing is learned from them.
    """
    train = splits["train"].encoded
    has_tags = [TAG not in source.ignore for source in splits["train"].sources]
    if not 2 <= count <= len(train):
        raise ConfigError(f"{len(train):,} training sentences cannot be divided into {count} folds")
    stretches = min(len(train), STRETCHES_PER_FOLD * count)
    fold_of = [number * stretches // len(train) % count for number in range(len(train))]
    folds = [
        Fold(
            [tree for tree, own, known in zip(train, fold_of, has_tags, strict=True) if own != fold and known],
            [tree for tree, own in zip(train, fold_of, strict=True) if own == fold],
        )
        for fold in range(count)
    ]
    return [*folds, Fold(splits["train"].annotated(TAG), splits["dev"].encoded + splits["test"].encoded)]


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
    split_of = {tree.id: name for name, split in splits.items() for tree in split.annotated(TAG)}
    for fold in folds:
        known = {normalized(token.form) for tree in fold.seen for token in tree.tokens}
        for tree in fold.unseen:
            if tree.id not in split_of:
                continue
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
