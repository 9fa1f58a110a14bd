"""The model that fine-tuning starts from: its weights in a larger vocabulary, and what it passes on to the new one.

What the old vocabulary knows keeps its rows. New words, characters and tags start as the unknown one, whose row they
would have been read with; new labels and classes start as the mean of all, so none of them wins before it has learned
to. Untrained, the network finds the trees of the model that it starts from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discotree.config import Config
from discotree.errors import ConfigError
from discotree.models.card import Card, SplitMetrics, Treebank
from discotree.models.choice import announce_licence, logger, mismatch
from discotree.models.description import describe, treebank_name
from discotree.models.finding import find, fingerprint
from discotree.models.folder import read_model
from discotree.models.model import Model
from discotree.models.packages import model_packages
from discotree.network.transformer import Pretrained
from discotree.network.vocab import UNKNOWN, UNKNOWN_CHAR, Alphabet, Vocab, targets
from discotree.network.weights import Array, Floats, dense
from discotree.training.data import Split
from discotree.training.fine_tuning import check_network
from discotree.trees.tree import NONE, Tree

MIN_DEV = 200  # sentences; fewer decide neither on the best epoch nor on prices of gaps and confidences
LANGUAGE_TREES = 100  # their words tell the language
MAX_NAMED = 10  # new symbols that results name
FINGERPRINT_DIGITS = 16
UNKNOWN_ROWS = {
    "encoder.words.weight": UNKNOWN,
    "encoder.chars.table.weight": UNKNOWN_CHAR,
    "encoder.tags.weight": UNKNOWN,
}
TRANSFORMER = "encoder.pieces.model."
NAMED_HEADS = ("tag", "morph", "function")  # auxiliary heads whose annotation a treebank may lack


@dataclass(frozen=True, eq=False)
class Start:
    """A model to start from."""

    name: str  # as it was asked for
    version: str  # its package's; "" where it has none
    fingerprint: str
    model: Model
    card: Card

    @classmethod
    def read(cls, config: Config) -> "Start":
        """Read the model that the settings name, and check that they make the same network."""
        name = config.training.start
        folder = find(name)
        announce_licence(folder)
        model = read_model(folder)
        check_network(config, model.config, name)
        if isinstance(model.subwords, Pretrained):
            model.subwords.weights = {
                key.removeprefix(TRANSFORMER): dense(value)
                for key, value in model.weights.items()
                if key.startswith(TRANSFORMER)
            }
        packages = model_packages().get(name, [])
        version = packages[0].distribution.rpartition(" ")[2] if packages else ""
        return cls(name, version, fingerprint(folder), model, describe(folder, model.config))

    @property
    def described(self) -> str:
        """Its name, its version and the beginning of its fingerprint; of a folder, the card's name or the last part."""
        known = self.name if self.version or ":" in self.name else self.card.name or Path(self.name).name
        return " ".join(filter(None, (known, self.version, f"({self.fingerprint[:FINGERPRINT_DIGITS]})")))

    def check_language(self, trees: Sequence[Tree]) -> None:
        """Warn where trees look like another language than the model's."""
        text = " ".join(word for tree in trees[:LANGUAGE_TREES] for word in tree.words)
        if warning := mismatch(text, self.model.config.language):
            logger.warning("%s", warning.replace("this text looks", "the training trees look"))

    def vocab(self, new: Vocab) -> Vocab:
        """Return the model's vocabulary with what that of the new trees adds."""
        old = self.model.vocab
        if new.root != old.root:
            raise ConfigError(f"the trees have the root {new.root!r}, those of the model {self.name} have {old.root!r}")
        return old.extended(new)

    def weights(self, fresh: Mapping[str, Array]) -> dict[str, Floats]:
        """Return the model's weights in the shapes of fresh ones, which fill in what the model does not have."""
        old = self.model.weights
        return {name: grown(name, dense(old[name]), dense(value)) if name in old else dense(value)
                for name, value in fresh.items()}  # fmt: skip

    def additions(self, vocab: Vocab) -> dict[str, Any]:
        """Return what an extended vocabulary has that the model's has not: counts, and the names of a few."""
        old = self.model.vocab
        found = {
            "words": (old.words, vocab.words),
            "characters": (old.chars, vocab.chars),
            "input tags": (old.tags, vocab.tags),
            "labels": (old.labels, vocab.labels),
            **{head: (old.outputs.get(head, Alphabet([])), classes) for head, classes in vocab.outputs.items()},
        }
        new = {name: after.symbols[len(before.symbols) :] for name, (before, after) in found.items()}
        return {name: {"count": len(some), "first": some[:MAX_NAMED]} for name, some in new.items() if some}

    def about(self, vocab: Vocab, dev_decides: bool) -> dict[str, Any]:
        """Return what results.json says of the start."""
        return {
            "name": self.name,
            "version": self.version,
            "fingerprint": self.fingerprint,
            "licence": self.card.licence,
            "commercial": self.card.commercial,
            "treebanks": [treebank.name for treebank in self.card.treebanks],
            "new": self.additions(vocab),
            "dev_decides": dev_decides,
        }

    def new_card(self, config: Config, sentences: int, scores: SplitMetrics) -> Card:
        """Return the card of the fine-tuned model: it derives from the model and from its own trees."""
        names = dict.fromkeys(map(treebank_name, (*config.data.test, *config.data.train)))
        return replace(
            self.card,
            name=config.name,
            language=self.card.language if config.language == self.card.code else config.language,
            code=config.language,
            treebanks=(*(Treebank(name, "", "") for name in names if name), *self.card.treebanks),
            sentences=sentences,
            scores=scores,
            commit="",
            base=self.described,
            speed=None,
            gpu_speed=None,
            other_scores={},
        )


def grown(name: str, old: Floats, fresh: Floats) -> Floats:
    """Return a weight with rows added at its end, as many as a fresh one has."""
    if old.shape == fresh.shape:
        return old
    if old.shape[1:] != fresh.shape[1:] or len(old) > len(fresh):
        raise ConfigError(f"{name} has the shape {old.shape}, and the settings make it {fresh.shape}")
    row = old[UNKNOWN_ROWS[name]] if name in UNKNOWN_ROWS else old.mean(0)
    new: Floats = fresh.copy()
    new[: len(old)], new[len(old) :] = old, row
    return new


def ignore_missing(split: Split, vocab: Vocab) -> list[str]:
    """Let auxiliary heads learn nothing from trees that have nothing for them; return these heads.

    Without it, a model would unlearn its tags on trees without tags.
    """
    missing = [head for head in NAMED_HEADS if head in vocab.outputs and _lacks(split, head)]
    if missing:
        split.sources = [replace(source, ignore=_with(source.ignore, missing)) for source in split.sources]
    return missing


def _lacks(split: Split, head: str) -> bool:
    return all(symbol == NONE for tree in split.annotated(head) for symbol in targets(tree, head))


def _with(ignored: Sequence[str], missing: Sequence[str]) -> Any:
    return tuple(dict.fromkeys((*ignored, *missing)))
