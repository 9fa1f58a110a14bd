"""Fine-tuning: combine the settings of a model and a recipe, and extend the model's vocabulary and weights.

    config, notes = fine_tuning("nl", train=["trees.export"], settings=["training.epochs=20"])
    train(config, "runs/nl-trees")

The network, the head rules and the annotation scheme come from the model, and the trees from the recipe; but a recipe
for another language brings its own head rules. The training settings of the model and of the recipe are made for
training from scratch and are ignored, unless the recipe itself names the model (``training.base_model``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from discotree.config.recipes import FINE_TUNING, recipe_path, recipe_table, with_settings, with_trees
from discotree.config.schema import Config
from discotree.encoding.head_rules import HeadRules
from discotree.errors import ConfigError
from discotree.log import logger
from discotree.models import HEAD_RULES
from discotree.models.card import CARD, README, UNMEASURED, Card, Source, SplitMetrics, readme
from discotree.models.finding import announce_licence, find, fingerprint, mismatch, model_packages
from discotree.models.folder import Model, describe, metrics_of, read_config, read_model, treebank_name
from discotree.network.arrays import F32, Array
from discotree.network.transformer import Pretrained
from discotree.network.vocab import UNKNOWN, UNKNOWN_CHAR, Alphabet, Vocab, targets
from discotree.network.weights import dense
from discotree.training.data import Split
from discotree.trees.tree import NONE, Tree
from discotree.validation import updated

HOLD_OUT = 10  # without dev trees, every tenth training sentence
SCHEME = ("heads", "marked_heads", "punctuation", "unaries", "tags", "vectors")  # data settings that are the model's
# Settings that determine the shapes of weights
FIXED = (
    *("word_size", "char_size", "char_filters", "char_window", "tag_size", "lstm_size", "lstm_layers", "decoder_size"),
    *("arc_size", "label_size", "subwords", "encoder", "encoder_layers"),
)


def fine_tuning(
    base_model: str,
    recipe: str | Path = "",
    settings: Sequence[str] = (),
    train: Sequence[str] = (),
    dev: Sequence[str] = (),
    test: Sequence[str] = (),
) -> tuple[Config, list[str]]:
    """Return the settings that fine-tune a model on the trees of a recipe, or on these files instead.

    Without dev trees, every tenth training sentence is held out as dev. The notes are for the user, about settings of
    the recipe that are ignored.
    """
    folder = find(base_model)
    base_config = read_config(folder)
    path = recipe_path(recipe) if recipe else None
    table: dict[str, Any] = {"name": path.stem} | recipe_table(path) if path else {"name": _name(base_model, train)}
    where = str(path or base_model)
    table.pop("preset", None)
    start = Config(
        data=_with_scheme(base_config, folder),
        network=replace(base_config.network, agreement_weight=0.0),  # two passes take twice the time
        training=replace(FINE_TUNING, base_model=base_model),
        decoding=base_config.decoding,
        language=base_config.language,
    )
    wanted = updated(start, table, where)
    is_made_for_this = "base_model" in table.get("training", {})
    scheme = {name: getattr(start.data, name) for name in SCHEME}
    of_recipe = table.get("data", {})
    if wanted.language != base_config.language and "heads" in of_recipe:
        # Head rules go by labels, and a treebank of another language has other labels.
        scheme |= {"heads": wanted.data.heads, "marked_heads": of_recipe.get("marked_heads", False)}
    config = replace(
        wanted,
        data=replace(wanted.data, **scheme),
        network=start.network,
        training=replace(wanted.training, base_model=base_model) if is_made_for_this else start.training,
        decoding=start.decoding,
    )
    notes = _notes(table, wanted, config, settings)
    if config.language != base_config.language:
        notes.append(
            f"the language of the recipe is {config.language!r}, that of {base_model} is {base_config.language!r}"
        )
    config = with_trees(config, {"train": train, "dev": dev, "test": test})
    if not config.data.dev and not config.data.hold_out:
        config = replace(config, data=replace(config.data, hold_out=HOLD_OUT))
    config = with_settings(config, settings)
    if not config.data.train:
        raise ConfigError(f"no training trees: pass a recipe or --train together with --base {base_model}")
    check_network(config, base_config, base_model)
    return config, notes


def check_network(config: Config, base_config: Config, base_model: str) -> None:
    """Refuse settings that do not fit the network of the base model."""
    for section, name in (("data", "tags"), *(("network", name) for name in FIXED)):
        ours, theirs = (getattr(getattr(settings, section), name) for settings in (config, base_config))
        if name == "tags":
            ours, theirs = ours != "none", theirs != "none"
        if ours != theirs:
            raise ConfigError(
                f"{section}.{name}: expected {_format(base_config, section, name)} as in the base model {base_model}, "
                f"got {_format(config, section, name)}; remove the setting, or train without --base"
            )


def _with_scheme(base_config: Config, folder: Path) -> Any:
    """Return the model's data settings without its trees; a model's own head rules are in its folder."""
    heads = base_config.data.heads
    if heads not in HeadRules.names():
        if not (folder / HEAD_RULES).is_file():
            raise ConfigError(f"{folder}: the head rules {heads!r} are neither built in nor in {HEAD_RULES}")
        heads = str(folder / HEAD_RULES)
    return replace(
        base_config.data, folder="", splits="", train=(), dev=(), test=(), predicted_tags="", vectors="", heads=heads,
        drop_repeats=False, hold_out=0,
    )  # fmt: skip


def _name(base_model: str, train: Sequence[str]) -> str:
    trees = Path(train[0]).name.partition(".")[0] if train else ""
    return "-".join(filter(None, (Path(base_model.partition("@")[0]).name, trees.strip("*?"))))


def _notes(table: Mapping[str, Any], wanted: Config, config: Config, settings: Sequence[str]) -> list[str]:
    """Describe the settings of the recipe that are ignored, and the values used instead."""
    differences = []
    set_by_user = {"training.base_model", *(setting.partition("=")[0].strip() for setting in settings)}
    for section in ("data", "network", "training", "decoding"):
        for name in table.get(section, {}):
            value = getattr(getattr(wanted, section), name)
            if value != getattr(getattr(config, section), name) and f"{section}.{name}" not in set_by_user:
                differences.append(f"{section}.{name}={_format(config, section, name)} (the recipe has {value})")
    return [f"fine-tuning keeps {', '.join(differences)}; override with --set"] if differences else []


def _format(config: Config, section: str, name: str) -> str:
    return repr(getattr(getattr(config, section), name)).strip("'") or "none"


MIN_DEV = 200  # sentences; a smaller dev set is used neither to choose the best epoch nor for calibration
LANGUAGE_TREES = 100  # used to detect the language
FINGERPRINT_DIGITS = 16
UNKNOWN_ROWS = {
    "encoder.words.weight": UNKNOWN,
    "encoder.chars.table.weight": UNKNOWN_CHAR,
    "encoder.tags.weight": UNKNOWN,
}
TRANSFORMER = "encoder.pieces.model."
NAMED_HEADS = ("tag", "morph", "function")  # auxiliary heads whose annotation may be missing in a treebank


@dataclass(frozen=True, eq=False)
class BaseModel:
    """The model that fine-tuning starts from."""

    name: str  # as given by the user
    version: str  # of its package; "" without one
    fingerprint: str
    model: Model
    card: Card

    @classmethod
    def read(cls, config: Config) -> "BaseModel":
        """Read the base model of the settings, and check that they fit its network."""
        name = config.training.base_model
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
        """Name, version and beginning of the fingerprint; for a folder, the name on its card or of the folder."""
        name = self.name if self.version or ":" in self.name else self.card.name or Path(self.name).name
        return " ".join(filter(None, (name, self.version, f"({self.fingerprint[:FINGERPRINT_DIGITS]})")))

    def check_language(self, trees: Sequence[Tree]) -> None:
        """Warn if the trees seem to be in another language than the model's."""
        text = " ".join(word for tree in trees[:LANGUAGE_TREES] for word in tree.words)
        if warning := mismatch(text, self.model.config.language):
            logger.warning("%s", warning.replace("this text looks", "the training trees look"))

    def extend_vocab(self, new: Vocab, language: str) -> Vocab:
        """Return the model's vocabulary extended by that of the new trees; lemmas of another language are left out."""
        old = self.model.vocab
        if new.root != old.root:
            raise ConfigError(f"the trees have the root label {new.root!r}; the model {self.name} expects {old.root!r}")
        if language != self.model.config.language:
            old = replace(old, lemmas=None)
        return old.extended(new)

    def weights(self, fresh: Mapping[str, Array]) -> dict[str, F32]:
        """Return the model's weights in the shapes of ``fresh``, whose values are used where the model has none."""
        old = self.model.weights
        return {name: grow(name, dense(old[name]), dense(value)) if name in old else dense(value)
                for name, value in fresh.items()}  # fmt: skip

    def record(self, vocab: Vocab, dev_decides: bool) -> dict[str, Any]:
        """Return the entry of the base model in results.json, with the number of symbols that are new to it."""
        old = self.model.vocab
        sizes = {
            "words": (old.words, vocab.words),
            "characters": (old.chars, vocab.chars),
            "input tags": (old.tags, vocab.tags),
            "labels": (old.labels, vocab.labels),
            **{head: (old.outputs.get(head, Alphabet([])), classes) for head, classes in vocab.outputs.items()},
        }
        new = {name: len(after.symbols) - len(before.symbols) for name, (before, after) in sizes.items()}
        return {
            "name": self.name,
            "version": self.version,
            "fingerprint": self.fingerprint,
            "licence": self.card.licence,
            "commercial": self.card.commercial,
            "treebanks": [treebank.name for treebank in self.card.treebanks],
            "new": {name: count for name, count in new.items() if count},
            "dev_decides": dev_decides,
        }

    def card_files(self, config: Config, sentences: int, scores: Mapping[str, Any], name: str) -> dict[str, str]:
        """Return the card and the README of the fine-tuned model, by file name.

        The card names the treebanks of both trainings. ``name`` is that of the new model in the README.
        """
        measured = {split: metrics_of(of_split) for split, of_split in scores.items()}
        names = dict.fromkeys(map(treebank_name, (*config.data.test, *config.data.train)))
        card = replace(
            self.card,
            name=config.name,
            language=self.card.language if config.language == self.card.code else config.language,
            code=config.language,
            treebanks=(*(Source(name, "", "") for name in names if name), *self.card.treebanks),
            sentences=sentences,
            scores=SplitMetrics(measured.get("dev", UNMEASURED), measured.get("test", UNMEASURED)),
            commit="",
            base=self.described,
            speed=None,
            gpu_speed=None,
            other_scores={},
        )
        made = f"`discotree train --base {self.described.split()[0]}`"
        return {CARD: card.to_json(), README: readme(card, name, made=made)}


def grow(name: str, old: F32, fresh: F32) -> F32:
    """Return a weight with rows added at the end, up to the number of rows of ``fresh``."""
    if old.shape == fresh.shape:
        return old
    if old.shape[1:] != fresh.shape[1:] or len(old) > len(fresh):
        raise ConfigError(f"{name} has the shape {old.shape} in the base model, but {fresh.shape} with these settings")
    row = old[UNKNOWN_ROWS[name]] if name in UNKNOWN_ROWS else old.mean(0)
    new: F32 = fresh.copy()
    new[: len(old)], new[len(old) :] = old, row
    return new


def ignore_missing(split: Split, vocab: Vocab) -> None:
    """Exclude auxiliary heads from training on trees without their annotation.

    Otherwise a model would unlearn its tags on trees without tags.
    """
    missing = [
        head
        for head in NAMED_HEADS
        if head in vocab.outputs
        and all(symbol == NONE for tree in split.annotated(head) for symbol in targets(tree, head))
    ]
    if missing:
        split.sources = [
            replace(source, ignore=cast("Any", tuple(dict.fromkeys((*source.ignore, *missing)))))
            for source in split.sources
        ]
