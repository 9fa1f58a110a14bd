"""Fine-tuning: the settings of a run that starts from a model, made of the model's and the recipe's.

    chosen = fine_tuning("nl", train=["trees.export"], settings=["training.epochs=20"])
    train(chosen.config, "runs/nl-trees")

The model brings its network, its head rules and its scheme; the recipe brings trees. How to train comes from neither:
both are about training from nothing. Only a recipe that names the model itself (``training.start``) is made for this,
and its section ``training`` counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discotree.config import Config, recipe_path, recipe_table, with_settings, with_trees
from discotree.config.presets import FINE_TUNING
from discotree.encoding.head_rules import HeadRules
from discotree.errors import ConfigError
from discotree.models import HEAD_RULES
from discotree.models.finding import find
from discotree.models.folder import read_config
from discotree.validation import updated

HOLD_OUT = 10  # without dev trees, every tenth training sentence
SCHEME = ("heads", "marked_heads", "punctuation", "unaries", "tags", "vectors")  # data settings that are the model's
# What decides on the shapes of weights: another value would make another network.
FIXED = (
    *("word_size", "char_size", "char_filters", "char_window", "tag_size", "lstm_size", "lstm_layers", "decoder_size"),
    *("arc_size", "label_size", "subwords", "encoder", "encoder_layers"),
)


@dataclass(frozen=True)
class FineTuning:
    """The settings of a run that starts from a model, and what there is to say about them."""

    config: Config
    notes: tuple[str, ...] = ()  # where model and recipe disagree


def fine_tuning(
    start: str,
    recipe: str | Path = "",
    settings: Sequence[str] = (),
    train: Sequence[str] = (),
    dev: Sequence[str] = (),
    test: Sequence[str] = (),
) -> FineTuning:
    """Return the settings that fine-tune a model on the trees of a recipe, or on these files in their place.

    Trees without dev trees give every tenth sentence to dev.
    """
    folder = find(start)
    base = read_config(folder)
    path = recipe_path(recipe) if recipe else None
    table = recipe_table(path) if path else {}
    where = str(path or start)
    table.pop("preset", None)
    own = {name: table.pop(name, {}) for name in ("data", "network", "training", "decoding")}
    name = table.pop("name", "") or (path.stem if path else _name(start, train))
    config = Config(
        name=name,
        data=_with_scheme(base, folder),
        network=replace(base.network, agreement_weight=0.0),  # two passes take twice the time
        training=replace(FINE_TUNING, start=start),
        decoding=base.decoding,
        language=base.language,
    )
    trees = {key: value for key, value in _table(own["data"], where).items() if key not in SCHEME}
    config = updated(config, table | {"data": trees}, where)
    if "start" in _table(own["training"], where):
        own["training"]["start"] = start
        config = updated(config, {"training": own["training"]}, where)
    config = with_trees(config, {"train": train, "dev": dev, "test": test})
    if not config.data.dev and not config.data.hold_out:
        config = replace(config, data=replace(config.data, hold_out=HOLD_OUT))
    notes = _notes(config, {**own, "language": table.get("language", base.language)}, base, start, where)
    config = with_settings(config, settings)
    if not config.data.train:
        raise ConfigError(f"nothing to learn from: name a recipe, or trees with --train, beside --from {start}")
    check_network(config, base, start)
    return FineTuning(config, tuple(notes))


def check_network(config: Config, base: Config, start: str) -> None:
    """Refuse settings that make another network than that of the model to start from."""
    for section, name in (("data", "tags"), *(("network", name) for name in FIXED)):
        ours, theirs = (getattr(getattr(settings, section), name) for settings in (config, base))
        if name == "tags":
            ours, theirs = ours != "none", theirs != "none"
        if ours != theirs:
            raise ConfigError(
                f"{section}.{name}: {_shown(config, section, name)} makes another network than that of the model "
                f"{start}, which has {_shown(base, section, name)}: leave it as it is, or train without --from"
            )


def _with_scheme(base: Config, folder: Path) -> Any:
    """Return data settings without trees, prepared as the model's were; rules of its own lie in its folder."""
    heads = base.data.heads
    if heads not in HeadRules.names():
        if not (folder / HEAD_RULES).is_file():
            raise ConfigError(f"{folder}: its head rules, {heads}, are neither ours nor in its folder")
        heads = str(folder / HEAD_RULES)
    return replace(
        base.data, folder="", splits="", train=(), dev=(), test=(), predicted_tags="", vectors="", heads=heads,
        drop_repeats=False, hold_out=0,
    )  # fmt: skip


def _name(start: str, train: Sequence[str]) -> str:
    trees = Path(train[0]).name.partition(".")[0] if train else ""
    return "-".join(filter(None, (Path(start.partition("@")[0]).name, trees.strip("*?"))))


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: expected a table, got {value!r:.50}")
    return value


def _notes(config: Config, own: Mapping[str, Any], base: Config, start: str, where: str) -> list[str]:
    """Say which settings of the recipe do not count, and what is there in their place."""
    replaced = {
        "data": [name for name in own["data"] if name in SCHEME],
        "network": list(_table(own["network"], where)),
        "training": [] if "start" in own["training"] else list(own["training"]),
        "decoding": list(_table(own["decoding"], where)),
    }
    lost = []
    for section, names in replaced.items():
        asked = updated(getattr(config, section), {name: own[section][name] for name in names}, f"{where}: {section}")
        lost += [
            f"{section}.{name}={_shown(config, section, name)} (the recipe has {getattr(asked, name)})"
            for name in names
            if getattr(asked, name) != getattr(getattr(config, section), name)
        ]
    notes = [f"fine-tuning keeps {', '.join(lost)}; --set changes what can be changed"] if lost else []
    if own["language"] != base.language:
        notes.append(f"the recipe is for the language {own['language']!r}, the model {start} for {base.language!r}")
    return notes


def _shown(config: Config, section: str, name: str) -> str:
    return repr(getattr(getattr(config, section), name)).strip("'") or "none"
